# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How fast the computer is in each slot of a loop: memory of one's own is read, as much each time.

A neighbour on the same host can take caches and memory from a virtual machine for tens of
milliseconds. No processor time is missing then and nobody waits, so that neither /proc/stat nor a
thread that only looks at the clock sees it; but whatever reads memory takes up to ten times as
long. The yardstick sees it, in the very slots that are judged, and knows nothing of the program.
"""

from __future__ import annotations

import mmap
import time

import numpy as np
from numpy.typing import NDArray

PAGE, LINE = mmap.PAGESIZE, 64  # bytes
YARD = 500  # pages, one line of each: 5 us
LIMITS = 1.5, 3.0  # times the median: from the first on the computer is slow, then very slow
NEAR = 5e-3  # s: what is slow lasts for tens of milliseconds, the yardstick is a sample of 5 us

Speeds = dict[str, list[int]]  # of `missed_by_speed`


class MemoryReads:
    """Reads `lines` lines of the cache in each of `pages` pages, which are no huge ones."""

    def __init__(self, pages: int, lines: int = 1) -> None:
        memory = mmap.mmap(-1, pages * PAGE)
        memory.madvise(mmap.MADV_NOHUGEPAGE)
        self._memory = np.frombuffer(memory, np.uint8)
        self._memory[:] = 1
        page, per_page = np.arange(pages), PAGE // LINE
        # Another line in each page: those of one number would share a set of the cache.
        turns = [PAGE * page + LINE * ((7 * page + 5 * k) % per_page) for k in range(lines)]
        self._where = np.concatenate(turns)
        self._found = np.empty(self._where.size, np.uint8)

    def read(self) -> None:
        """Read them all."""
        np.take(self._memory, self._where, out=self._found, mode='clip')


class SlotGauge:
    """Notes when every slot of a loop began, and how long the yardstick took in it [s]."""

    def __init__(self, slots: int) -> None:
        self._reads, self._table, self._count = MemoryReads(YARD), np.zeros((slots, 2)), 0

    def look(self, lateness: float) -> float:
        """Measure in this slot, which began `lateness` after its time; returns how long [s]."""
        begin = time.monotonic()
        self._reads.read()
        took = time.monotonic() - begin
        self._table[self._count % len(self._table)] = begin - lateness, took
        self._count += 1
        return took

    def since(self, begin: float, period: float) -> Speeds:
        """Return `missed_by_speed` of the slots since a time of CLOCK_MONOTONIC [s]."""
        table = self._table[: min(self._count, len(self._table))]
        table = table[np.argsort(table[:, 0])]
        return missed_by_speed(*table[table[:, 0] >= begin].T, period)


def missed_by_speed(due: NDArray[np.float64], yard: NDArray[np.float64], period: float) -> Speeds:
    """Count the slots of a loop by how fast the computer was in them.

    Parameters
    ----------
    due, yard : NDArray
        When each tick was due, ascending, and how long the yardstick took in it, both shape (n,)
        [s].
    period : float
        Of the loop [s].

    Returns
    -------
    dict of str to list of int
        `slots` and `missed`: all, and those of them without a tick, one number per class: below,
        between and above `LIMITS` times the median of the yardstick. A tick has the class of the
        slowest one within `NEAR`, a missed slot that of the slower tick beside it.
    """
    gaps = np.maximum(np.rint(np.diff(due) / period) - 1.0, 0.0)
    kind = np.zeros(len(due), int)
    for limit in LIMITS:
        slow = np.concatenate([[-np.inf], due[yard > limit * np.median(yard)], [np.inf]])
        after = np.searchsorted(slow, due)
        kind += np.minimum(due - slow[after - 1], slow[after] - due) <= NEAR
    beside = np.maximum(kind[:-1], kind[1:])
    missed = [int(gaps[beside == k].sum()) for k in range(1 + len(LIMITS))]
    ticks = np.bincount(kind, minlength=1 + len(LIMITS)).tolist()
    return {'slots': [a + b for a, b in zip(ticks, missed, strict=True)], 'missed': missed}
