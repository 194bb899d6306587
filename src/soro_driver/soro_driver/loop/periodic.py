# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A thread that runs a step at absolute deadlines of CLOCK_MONOTONIC, and how it keeps time."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass
import os
import threading
import time

import numpy as np

WINDOW = 8192  # ticks kept: 82 s at 100 Hz, 16 s at 500 Hz


@dataclass(frozen=True)
class LoopFigures:
    """Figures of the ticks in the window; times in s."""

    period: float  #: nominal
    #: start of a tick after its deadline: p50, p99, p99.9, largest
    lateness: tuple[float, float, float, float]
    #: duration of a tick, input and output included: p50, p99, p99.9, largest
    work: tuple[float, float, float, float]
    #: ticks, missed: since the start: done, and slots that passed without a tick
    ticks: int
    missed: int

    @property
    def missed_part(self) -> float:
        """Missed slots as a part of all slots."""
        total = self.ticks + self.missed
        return self.missed / total if total else 0.0


class LoopStatistics:
    """Collects lateness and work of one loop; nothing is allocated.

    Whoever runs it counts `missed` slots without a tick.
    """

    def __init__(self, period: float, window: int = WINDOW) -> None:
        self.period = period
        self.ticks = 0
        self.missed = 0
        # An element of an array of NumPy takes four times as long.
        self._lateness, self._work = (array('d', bytes(8 * window)) for _ in range(2))
        self._known, self._due = ((0.0,) * 4,) * 2, 0  # ticks, when these are computed anew

    def add(self, lateness: float, work: float) -> None:
        """Note one tick [s]."""
        i = self.ticks % len(self._work)
        self._lateness[i] = lateness
        self._work[i] = work
        self.ticks += 1

    def figures(self) -> LoopFigures:
        """Compute the figures; may be called from another thread.

        To sort the window takes half a millisecond, so times are those of at most a second ago.
        """
        if self.ticks >= self._due:
            self._due = self.ticks + 1 + int(1.0 / self.period)
            count = min(self.ticks, len(self._work))
            late, work = np.array(self._lateness[:count]), np.array(self._work[:count])
            self._known = _four(late), _four(work)
        return LoopFigures(self.period, *self._known, self.ticks, self.missed)


def _four(values: np.ndarray) -> tuple[float, float, float, float]:
    if not values.size:
        return (0.0, 0.0, 0.0, 0.0)
    # As np.percentile, which takes longer and imports a part of NumPy that no driver needs.
    places = np.array((0.5, 0.99, 0.999, 1.0)) * (values.size - 1)
    p50, p99, p999, largest = np.interp(places, np.arange(values.size), np.sort(values)).tolist()
    return p50, p99, p999, largest


class PeriodicThread:
    """Calls ``step(lateness)`` once per slot; slots that have passed are counted, never made up.

    - `name`: of the thread.
    - `period` [s]
    - `step`: gets how late it was called [s]. An exception ends the thread.
    - `failed`: gets that exception, in the thread; the last thing the thread does.
    - `priority`: SCHED_FIFO priority; 0: the normal scheduler. Without the right to use it, `note`
      says so.
    - `ended`: called in the thread after the last step when it was told to stop; the last thing it
      does, however long that step took.
    """

    def __init__(
        self,
        name: str,
        period: float,
        step: Callable[[float], None],
        failed: Callable[[BaseException], None],
        priority: int = 0,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.statistics = LoopStatistics(period)
        self.note = ''
        self._period = period
        self._step = step
        self._failed = failed
        self._priority = priority
        self._ended = ended
        self._stop = threading.Event()
        self._over = threading.Event()  # no step runs any more
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @property
    def running(self) -> bool:
        """Whether the thread is alive."""
        return self._thread.is_alive()

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stop.is_set()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Ask it to end after the present step; whether that took no longer than `timeout` [s].

        Then the thread has ended, with what `ended` or `failed` does, which nothing cuts short.
        """
        self._stop.set()
        if self._thread.ident is None:
            return True
        if self._thread is threading.current_thread() or not self._over.wait(timeout):
            return False
        self._thread.join()
        return True

    def _run(self) -> None:
        try:
            try:
                self._set_priority()
                self._loop()
            finally:
                self._over.set()
            self._ended()
        except BaseException as error:  # noqa: BLE001 - a thread is a process boundary
            self._failed(error)

    def _loop(self) -> None:
        deadline = time.monotonic()
        while not self._stop.is_set():
            wait = deadline - time.monotonic()
            if wait > 0.0:
                time.sleep(wait)
            start = time.monotonic()
            lateness = start - deadline
            if lateness >= self._period:
                slots = int(lateness / self._period)
                self.statistics.missed += slots
                deadline += slots * self._period
            self._step(lateness)
            self.statistics.add(lateness, time.monotonic() - start)
            deadline += self._period

    def _set_priority(self) -> None:
        if not self._priority:
            return
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self._priority))
        except OSError as error:
            self.note = f'no real-time priority: {error.strerror}'
