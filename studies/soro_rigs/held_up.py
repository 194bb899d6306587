# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether this computer kept processes from running, by the kernel's own account (proc(5)).

A driver that gets no processor for longer than its watchdogs last trips, and is right to. What a
test asks of a robot then was not asked: it is judged where nothing was held up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
import functools
import os
from pathlib import Path
import threading
import time
from typing import Any

PERIOD = 0.1  # s, between two looks
DISTURBS = 0.1  # s, without a processor: the shortest watchdogs of emulated devices last 0.2 s
TRIES = 5  # then this computer is too busy to say anything


def family(pid: int) -> Iterable[int]:
    """Yield a process and everything below it."""
    yield pid
    for file in Path(f'/proc/{pid}/task').glob('*/children'):
        with suppress(OSError):
            for child in file.read_text().split():
                yield from family(int(child))


class HeldUp(AbstractContextManager['HeldUp']):
    """Watches this process and all that it started, from `with` to its end.

    - `longest`: that a thread waited for a processor between two looks, or that the looks
      themselves came late (a host that stood still) [s].
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._waited: dict[Path, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name='held up', daemon=True)

    def __enter__(self) -> HeldUp:
        self._look()
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        self._look()

    def _run(self) -> None:
        due = time.monotonic() + PERIOD
        while not self._stop.wait(max(0.0, due - time.monotonic())):
            self.longest = max(self.longest, time.monotonic() - due)
            self._look()
            due = time.monotonic() + PERIOD

    def _look(self) -> None:
        for pid in family(os.getpid()):
            for file in Path(f'/proc/{pid}/task').glob('*/schedstat'):
                with suppress(OSError, IndexError):  # it has just ended
                    waited = 1e-9 * float(file.read_text().split()[1])
                    self.longest = max(self.longest, waited - self._waited.get(file, waited))
                    self._waited[file] = waited


def judged(
    attempt: Callable[[], Any],
    again: Callable[[], Any] = lambda: None,
    said: Callable[[str], Any] = print,
) -> None:
    """Make an attempt; what fails while something was held up is made again, after `again`.

    `said` gets a sentence about every attempt that was not judged.
    """
    for left in reversed(range(TRIES)):
        with HeldUp() as held:
            try:
                attempt()
                return
            except AssertionError as error:
                failed = error
        if not left or held.longest < DISTURBS:
            raise failed
        said(f'held up for {held.longest:.2f} s, made again: {str(failed).partition(chr(10))[0]}')
        again()


def undisturbed(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test be judged by an attempt in which nothing was held up; it begins by itself."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        judged(lambda: test(*arguments, **named))

    return run
