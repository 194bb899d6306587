# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The last seconds of a few numbers, for the small plots."""

from __future__ import annotations

from collections import deque

import numpy as np

from soro_visualization.drawing.shape import Array


class History:
    """Rows of numbers over time, in a ring of fixed size.

    - `duration` [s]
    - `rate`: rows kept per second; more are left out.
    """

    def __init__(self, columns: int, duration: float, rate: float) -> None:
        self._period, self._duration, self._columns = 1.0 / rate, duration, columns
        self._rows: deque[tuple[float, ...]] = deque(maxlen=int(duration * rate))

    def add(self, time: float, values: Array) -> None:
        """Keep a row, unless the last one is too young; time that jumps back starts anew."""
        if self._rows:
            last = self._rows[-1][0]
            if time < last:
                self._rows.clear()
            elif time - last < self._period * 0.9:
                return
        self._rows.append((time, *values))

    def table(self, now: float) -> Array:
        """Return rows (n, 1 + columns), oldest first; the first column is seconds before now."""
        rows = np.array(self._rows, dtype=float).reshape(-1, 1 + self._columns)
        rows[:, 0] -= now
        return rows[rows[:, 0] >= -self._duration]
