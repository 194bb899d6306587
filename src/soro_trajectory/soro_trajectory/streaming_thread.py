# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A thread that calls a function at a fixed rate of the steady clock.

A timer of the executor would wait for the inverse solve that its thread is busy with.
"""

from __future__ import annotations

from collections.abc import Callable
import threading
import time


class StreamingThread:
    """Calls ``step(now)`` at absolute deadlines; deadlines that have passed are left out.

    `period`: [s]. `step`: gets the steady time [s]. `failed`: gets the exception that ended the
    thread. `name`: of the thread. `missed`: deadlines left out. `latest`: the longest that a call
    came after its deadline [s].
    """

    def __init__(
        self,
        period: float,
        step: Callable[[float], None],
        failed: Callable[[Exception], None],
        name: str = 'command stream',
    ) -> None:
        self.missed = 0
        self.latest = 0.0
        self._period = period
        self._step = step
        self._failed = failed
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Ask it to end; whether it did within `timeout` [s]."""
        self._stop.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        deadline = time.monotonic()
        try:
            while not self._stop.wait(max(0.0, deadline - time.monotonic())):
                now = time.monotonic()
                self.latest = max(self.latest, now - deadline)
                self._step(now)
                deadline += self._period
                late = int((time.monotonic() - deadline) / self._period)
                if late > 0:
                    self.missed += late
                    deadline += late * self._period
        except Exception as error:  # noqa: BLE001 - the boundary of the thread
            self._failed(error)
