# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Monotone cubics through measured points: C1, without overshoot, straight beyond the ends."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array


def monotone_slopes(x: Array, y: Array) -> Array:
    """Return slopes (n,) at points: weighted harmonic means of the neighbouring chords.

    Fritsch and Butland 1984; none where the curve turns. The end slopes are those of the end
    chords, so that the straight continuation is increasing.
    """
    width = np.diff(x)
    chord = np.diff(y) / width
    slopes = np.zeros(len(x))
    slopes[0], slopes[-1] = chord[0], chord[-1]
    first = 2.0 * width[1:] + width[:-1]
    second = width[1:] + 2.0 * width[:-1]
    turns = chord[:-1] * chord[1:] <= 0.0
    before, after = np.where(turns, 1.0, chord[:-1]), np.where(turns, 1.0, chord[1:])
    slopes[1:-1] = np.where(turns, 0.0, (first + second) / (first / before + second / after))
    return slopes


def pchip_slopes(x: Array, y: Array) -> Array:
    """Return slopes (n,) at three points or more, as SciPy's `PchipInterpolator` has them.

    Those at the ends are of the parabola through three points: nothing continues the curve.
    """
    width = np.diff(x)
    chord = np.diff(y) / width
    slopes = monotone_slopes(x, y)
    slopes[0] = _end_slope(width[:2], chord[:2])
    slopes[-1] = _end_slope(width[:-3:-1], chord[:-3:-1])
    return slopes


def _end_slope(width: Array, chord: Array) -> float:
    """Return the slope at an end, from the parabola through three points, kept monotone."""
    slope = ((2.0 * width[0] + width[1]) * chord[0] - width[0] * chord[1]) / (width[0] + width[1])
    if slope * chord[0] <= 0.0:
        return 0.0
    if chord[0] * chord[1] < 0.0 and abs(slope) > 3.0 * abs(chord[0]):
        return float(3.0 * chord[0])
    return float(slope)


def curve_at(curve: Array, at: Array | float) -> tuple[Array, Array]:
    """Return values and slopes of a curve, points (n, 2), at places of any shape."""
    x, y = curve.T
    return cubic_at(x, y, monotone_slopes(x, y), at)


def cubic_at(x: Array, y: Array, slopes: Array, at: Array | float) -> tuple[Array, Array]:
    """Return values and slopes, at places of any shape, of the cubics between points (n,)."""
    inside = np.clip(at, x[0], x[-1])
    i = np.clip(np.searchsorted(x, inside) - 1, 0, len(x) - 2)
    h = x[i + 1] - x[i]
    t = (inside - x[i]) / h
    start, end, left, right = y[i], y[i + 1], h * slopes[i], h * slopes[i + 1]
    value = start * (1 + 2 * t) * (1 - t) ** 2 + end * t**2 * (3 - 2 * t)
    value += left * t * (1 - t) ** 2 + right * t**2 * (t - 1)
    rate = 6 * t * (t - 1) * (start - end) + left * (1 - t) * (1 - 3 * t) + right * t * (3 * t - 2)
    rate = rate / h
    return value + rate * (at - inside), rate
