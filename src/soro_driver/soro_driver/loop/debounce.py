# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Conditions that count only once they have lasted."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Conditions = NDArray[np.bool_]


class Debounce:
    """Per actuator: for how long has a condition held without a break.

    `count`: of the actuators; `hold`: after which it counts [s]. `waits`: whether it held last.
    """

    def __init__(self, count: int, hold: float) -> None:
        self._since = np.full(count, math.nan)
        self._hold, self.waits = hold, False
        self._never = np.zeros(count, bool)

    def update(self, condition: Conditions, now: float) -> Conditions:
        """Return for which actuators it counts, shape (count,)."""
        any_holds = np.count_nonzero(condition) > 0  # `any` takes five times as long
        if not any_holds and not self.waits:
            return self._never.copy()
        self.waits = any_holds
        self._since[~condition] = math.nan
        self._since[condition & np.isnan(self._since)] = now
        with np.errstate(invalid='ignore'):
            return np.asarray(now - self._since >= self._hold)
