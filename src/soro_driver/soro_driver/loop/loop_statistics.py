# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How well a periodic loop keeps time: lateness, work, missed slots; nothing is allocated."""

from __future__ import annotations

from array import array
from dataclasses import dataclass

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
    """Collects the figures of one loop; whoever runs it counts `missed` slots without a tick."""

    def __init__(self, period: float, window: int = WINDOW) -> None:
        self.period = period
        self.ticks = 0
        self.missed = 0
        # An element of an array of NumPy takes four times as long.
        self._lateness, self._work = (array('d', bytes(8 * window)) for _ in range(2))

    def add(self, lateness: float, work: float) -> None:
        """Note one tick [s]."""
        i = self.ticks % len(self._work)
        self._lateness[i] = lateness
        self._work[i] = work
        self.ticks += 1

    def figures(self) -> LoopFigures:
        """Compute the figures; may be called from another thread."""
        count = min(self.ticks, len(self._work))
        late, work = np.array(self._lateness[:count]), np.array(self._work[:count])
        return LoopFigures(self.period, _four(late), _four(work), self.ticks, self.missed)


def _four(values: np.ndarray) -> tuple[float, float, float, float]:
    if not values.size:
        return (0.0, 0.0, 0.0, 0.0)
    p50, p99, p999 = np.percentile(values, (50.0, 99.0, 99.9))
    return (float(p50), float(p99), float(p999), float(values.max()))
