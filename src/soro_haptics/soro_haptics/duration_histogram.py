# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Percentiles of durations over a whole run, without keeping the durations."""

from __future__ import annotations

from array import array
import math

import numpy as np

BIN = 2e-6  # s, resolution
BINS = 25_000  # up to 50 ms; what is longer counts as that


class DurationHistogram:
    """Counts durations in bins; adding one allocates nothing."""

    def __init__(self) -> None:
        self._bins = array('q', bytes(8 * BINS))  # elements of arrays cost four times as much
        self._counts = np.frombuffer(self._bins, np.int64)
        self.largest = 0.0
        self.count = 0

    def add(self, seconds: float) -> None:
        """Count one duration [s]; NaN counts as nothing."""
        if not seconds >= 0.0:
            return
        self._bins[min(int(seconds / BIN), BINS - 1)] += 1
        self.count += 1
        self.largest = max(self.largest, seconds)

    def percentiles(self, *shares: float) -> tuple[float, ...]:
        """Return the durations below which the given shares (0 to 1) lie [s]; NaN when empty.

        Upper edges of bins: never better than it was. Safe from another thread.
        """
        used = min(int(self.largest / BIN), BINS - 1) + 1
        total = np.cumsum(self._counts[:used])
        if total[-1] == 0:
            return tuple(math.nan for _ in shares)
        places = np.searchsorted(total, [share * total[-1] for share in shares])
        return tuple(float(BIN * (min(int(p), BINS - 1) + 1)) for p in places)

    def clear(self) -> None:
        """Forget everything."""
        self._counts[:] = 0
        self.largest, self.count = 0.0, 0
