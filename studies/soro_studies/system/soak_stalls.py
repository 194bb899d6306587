# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tell whether the computer itself stood still: how late a thread woke that had nothing to do.

A device counts as lost after 250 ms of silence. On shared cores that can be the computer rather
than the robot; what is seen here is kept beside every problem of a soak.
"""

from __future__ import annotations

from collections import deque
import os
from pathlib import Path
import threading
import time

PERIOD = 0.02  # s between wake-ups
LOOK_BACK = 5.0  # s before a problem is said: a loss is noticed late, and told later
STAT = Path('/proc/stat')
STEAL = 8  # column: time in which the host ran others (man 5 proc_stat)


def stolen() -> float:
    """Return the time [s] that the host has taken from all cores since it started."""
    columns = STAT.read_text(encoding='ascii').split('\n', 1)[0].split()
    return float(columns[STEAL]) / float(os.sysconf('SC_CLK_TCK'))


class Stalls:
    """Wakes up all the time, from its start to its end, and remembers the last seconds."""

    def __init__(self) -> None:
        self._rows: deque[tuple[float, float, float]] = deque(maxlen=int(LOOK_BACK / PERIOD))
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name='stalls', daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop watching."""
        self._ending.set()
        self._thread.join()

    def lately(self) -> tuple[float, float]:
        """Return the latest wake-up and the time stolen [s] of the last `LOOK_BACK` seconds."""
        rows = [r for r in tuple(self._rows) if r[0] >= time.monotonic() - LOOK_BACK]
        if not rows:
            return LOOK_BACK, 0.0
        return max(late for _, late, _ in rows), stolen() - rows[0][2]

    def _watch(self) -> None:
        due = time.monotonic() + PERIOD
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            now = time.monotonic()
            self._rows.append((now, max(0.0, now - due), stolen()))
            due = now + PERIOD
