# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The monotone cubic through points (Fritsch and Butland 1984), without loading SciPy.

Its slopes are those of SciPy's `PchipInterpolator`; a driver process stays small without that.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def monotone_cubic(x: Array, y: Array, at: Array) -> Array:
    """Return the values (k,) at `at` of a curve that never turns between its points.

    - `x`, `y` (n,): at least three points; x grows.
    - `at` (k,): within x.
    """
    h = np.diff(x)
    slope = np.diff(y) / h
    derivative = _derivatives(h, slope)
    i = np.clip(np.searchsorted(x, at, side='right') - 1, 0, h.size - 1)
    t = (at - x[i]) / h[i]
    value = (1.0 + 2.0 * t) * (1.0 - t) ** 2 * y[i] + t**2 * (3.0 - 2.0 * t) * y[i + 1]
    turn = t * (1.0 - t) * ((1.0 - t) * derivative[i] - t * derivative[i + 1])
    result: Array = value + h[i] * turn
    return result


def _derivatives(h: Array, slope: Array) -> Array:
    """Return the derivatives at the points: weighted harmonic means, none where it turns."""
    before, after = slope[:-1], slope[1:]
    first, second = h[:-1] + 2.0 * h[1:], 2.0 * h[:-1] + h[1:]
    same = before * after > 0.0
    inside = np.zeros(same.size)
    first, second, before, after = first[same], second[same], before[same], after[same]
    inside[same] = (first + second) / (first / before + second / after)
    ends = _end(h[:2], slope[:2]), _end(h[:-3:-1], slope[:-3:-1])
    return np.concatenate([[ends[0]], inside, [ends[1]]])


def _end(h: Array, slope: Array) -> float:
    """Return the derivative at an end, from the parabola through three points, kept monotone."""
    value = ((2.0 * h[0] + h[1]) * slope[0] - h[0] * slope[1]) / (h[0] + h[1])
    if value * slope[0] <= 0.0:
        return 0.0
    if slope[0] * slope[1] < 0.0 and abs(value) > 3.0 * abs(slope[0]):
        return float(3.0 * slope[0])
    return float(value)
