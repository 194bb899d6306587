# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The last seconds of a few numbers, for the small plots."""

from __future__ import annotations

import numpy as np

from soro_visualization.drawing.shape import Array


class History:
    """Rows of numbers over time, in a ring of fixed size.

    - `duration` [s]
    - `rate`: rows kept per second; more are left out.
    """

    def __init__(self, columns: int, duration: float, rate: float) -> None:
        self._period, self._duration = 1.0 / rate, duration
        self._rows = np.full((int(duration * rate), columns + 1), np.nan)
        self._count = 0

    def add(self, time: float, values: Array) -> None:
        """Keep a row, unless the last one is too young; time that jumps back starts anew."""
        if self._count:
            last = self._rows[(self._count - 1) % len(self._rows), 0]
            if time < last:
                self._count = 0
            elif time - last < self._period * 0.9:
                return
        self._rows[self._count % len(self._rows)] = (time, *values)
        self._count += 1

    def table(self, now: float) -> Array:
        """Return rows (n, 1 + columns), oldest first; the first column is seconds before now."""
        size = len(self._rows)
        if self._count <= size:
            rows = self._rows[: self._count].copy()
        else:
            rows = np.roll(self._rows, -(self._count % size), axis=0)
        rows[:, 0] -= now
        return rows[rows[:, 0] >= -self._duration]
