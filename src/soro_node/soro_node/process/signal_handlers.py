# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What signals do meanwhile, and what they did before again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
import signal
import threading
from typing import Any


@contextmanager
def handled(numbers: Iterable[int], handler: Callable[..., Any]) -> Iterator[None]:
    """Have signals call a handler; in the main thread only, as Python demands."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


@contextmanager
def interrupts_held_back() -> Iterator[list[int]]:
    """Collect the signals that would raise KeyboardInterrupt, and raise it where the context ends.

    An executor of rclpy that is cut in the middle of a callback never executes another one of the
    same group: no answer is heard any more. Nor is one to a request that was cut on its way.
    """
    come: list[int] = []
    every = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    main = threading.current_thread() is threading.main_thread()
    numbers = [n for n in every if main and signal.getsignal(n) is signal.default_int_handler]
    with handled(numbers, lambda number, frame: come.append(number)):
        yield come
    if come:
        raise KeyboardInterrupt
