# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How late drives follow what they are commanded, by what their sensors say while they move.

Of a drive of first order ``commanded - measured = T d(measured)/dt + zero of its sensor``, both
filtered alike: least squares with forgetting, all drives alike in parts of their ranges.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array

FILTER, FORGET = 0.5, 3.0  # s (assumed): of both; in which what was seen counts less by e
SLOW = 0.01  # 1/s (assumed): of the ranges; below it a motion says little


class DriveLag:
    """The lag of a robot's drives: `seconds`, zero where they are not measured."""

    def __init__(self, ranges: Array) -> None:
        self._ranges, self.seconds = ranges, 0.0
        self._last: tuple[int, Array] | None = None
        self._smooth: Array = np.zeros((2, len(ranges)))  # speed, what is behind, of the ranges
        self._means: Array = np.zeros((2, len(ranges)))
        self._squares, self._weight = np.zeros(2), 1e-9

    def see(self, stamp: int, commanded: Array, measured: Array) -> None:
        """Take (m,) [SI] of the driver's newest state and its stamp [ns]."""
        last, self._last = self._last, (stamp, measured)
        seconds = 0.0 if last is None else (stamp - last[0]) * 1e-9
        if last is None or not (0.0 < seconds < FILTER and np.isfinite(commanded).all()):
            return
        now = np.array([(measured - last[1]) / seconds, commanded - measured]) / self._ranges
        self._smooth += (1.0 - math.exp(-seconds / FILTER)) * (now - self._smooth)
        speed, kept = self._smooth[0], math.exp(-seconds / FORGET)
        self._weight = kept * self._weight + 1.0 - kept
        self._means = kept * self._means + (1.0 - kept) * self._smooth
        self._squares = kept * self._squares + (1.0 - kept) * self._smooth @ speed
        size, along = self._squares - self._means @ self._means[0] / self._weight
        self.seconds = max(0.0, float(along / (size + SLOW**2)))
