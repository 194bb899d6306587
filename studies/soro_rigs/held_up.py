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
import itertools
import math
import os
from pathlib import Path
import threading
import time
from typing import Any

PERIOD, RELATED = 0.2, 0.5  # s, between two looks, and two looks for new processes
DISTURBS = 0.1  # s, without a processor: the shortest watchdogs of emulated devices last 0.2 s
STOLEN, TICKS = 8, os.sysconf('SC_CLK_TCK')  # by the host: column of /proc/stat, per second
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

    - `longest`: that a thread waited for a processor between two looks, that the host took the
      processors for itself, or that the looks themselves came late (it stood still) [s].
    """

    def __init__(self) -> None:
        self.longest = 0.0
        self._pids: list[int] = []
        self._listed = -math.inf
        self._waited: dict[str, float] = {}
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
        now = time.monotonic()
        if now - self._listed > RELATED:  # to list them takes longer than to look at them
            self._pids, self._listed = list(family(os.getpid())), now
        for pid in self._pids:
            with suppress(OSError):  # it has just ended
                for task in os.listdir(f'/proc/{pid}/task'):
                    self._note(f'/proc/{pid}/task/{task}/schedstat')

        with suppress(OSError), open('/proc/stat', 'rb') as stream:
            self._keep('stolen', float(stream.readline().split()[STOLEN]) / TICKS)

    def _note(self, file: str) -> None:
        with suppress(OSError), open(file, 'rb') as stream:
            self._keep(file, 1e-9 * float(stream.read().split()[1]))

    def _keep(self, key: str, waited: float) -> None:
        self.longest = max(self.longest, waited - self._waited.get(key, waited))
        self._waited[key] = waited


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


def empty_folders(named: dict[str, Any]) -> Callable[[], None]:
    """Return what gives the arguments of a test an empty `tmp_path` for one more attempt."""
    folder, numbers = named.get('tmp_path'), itertools.count(2)

    def again() -> None:
        if folder is not None:
            named['tmp_path'] = folder / f'attempt_{next(numbers)}'
            named['tmp_path'].mkdir()

    return again


def undisturbed(test: Callable[..., None]) -> Callable[..., None]:
    """Let a test be judged by an attempt in which nothing was held up; it begins by itself."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        judged(lambda: test(*arguments, **named), empty_folders(named))

    return run
