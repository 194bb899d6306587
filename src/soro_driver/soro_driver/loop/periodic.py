# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A thread that runs a step at absolute deadlines of CLOCK_MONOTONIC."""

from __future__ import annotations

from collections.abc import Callable
import os
import threading
import time

from soro_driver.loop.loop_statistics import LoopStatistics


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
