# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What proves the solution of a quadratic program: the residuals of its KKT conditions."""

import numpy as np


def kkt_residuals(h, g, c, low, high, x, multiplier):
    """Return stationarity, infeasibility and complementarity of a candidate solution.

    Largest entry of ``h x + g - c.T multiplier``, largest violation of a bound, largest product of
    a multiplier with the distance to its bound.
    """
    value = c @ x
    stationarity = float(np.abs(h @ x + g - c.T @ multiplier).max())
    outside = np.maximum(low - value, value - high)
    infeasibility = float(max(0.0, outside.max(initial=0.0)))
    # A multiplier that pushes from a bound must have that bound touch.
    distance = np.where(multiplier > 0.0, value - low, high - value)
    held = multiplier != 0.0
    complementarity = float(np.abs(multiplier[held] * distance[held]).max(initial=0.0))
    return stationarity, infeasibility, complementarity
