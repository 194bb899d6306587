# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What signals do meanwhile, and what they did before again afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
import signal
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
