# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of monotone cubics through measured points x, y (n,), straight beyond the ends.

Source: slopes (n,) of Fritsch and Butland (1984), see `monotone_slopes`, checked by scipy in
test_monotone_curve.py; values and inverse in test_ancf.py.
"""

from soro_mechanics.compilation.kernels import kernel


@kernel
def curve_value(x, y, slopes, at):
    """Return value and slope of a curve x, y, slopes at a place."""
    last = x.shape[0] - 1
    if at <= x[0]:
        return y[0] + slopes[0] * (at - x[0]), slopes[0]
    if at >= x[last]:
        return y[last] + slopes[last] * (at - x[last]), slopes[last]
    k = 0
    while at > x[k + 1]:
        k += 1
    return _hermite(x, y, slopes, k, at)


@kernel
def curve_values(curves, first, at, found):
    """Write found (2, n), `curve_value` at[k] of x, y, slopes = curves[:, first[k]:first[k+1]]."""
    for k in range(at.shape[0]):
        i, j = first[k], first[k + 1]
        found[:, k] = curve_value(curves[0, i:j], curves[1, i:j], curves[2, i:j], at[k])


@kernel
def _hermite(x, y, slopes, k, at):
    """Return value and slope at a place in interval k of a cubic Hermite spline x, y, slopes."""
    width = x[k + 1] - x[k]
    t = (at - x[k]) / width
    rise = y[k + 1] - y[k]
    m0 = slopes[k] * width
    m1 = slopes[k + 1] * width
    c2 = 3.0 * rise - 2.0 * m0 - m1
    c3 = m0 + m1 - 2.0 * rise
    value = y[k] + t * (m0 + t * (c2 + t * c3))
    return value, (m0 + t * (2.0 * c2 + 3.0 * t * c3)) / width


@kernel
def place_of(x, y, slopes, value):
    """Return where a monotone curve x, y, slopes has a value: Newton kept inside a bracket."""
    last = x.shape[0] - 1
    sign = 1.0 if y[last] > y[0] else -1.0
    if sign * (value - y[0]) <= 0.0:
        return x[0] + (value - y[0]) / slopes[0]
    if sign * (value - y[last]) >= 0.0:
        return x[last] + (value - y[last]) / slopes[last]
    k = 0
    while sign * (value - y[k + 1]) > 0.0:
        k += 1
    low, high = x[k], x[k + 1]
    guess = low + (high - low) * (value - y[k]) / (y[k + 1] - y[k])
    for _ in range(60):
        found, slope = _hermite(x, y, slopes, k, guess)
        error = found - value
        if sign * error > 0.0:
            high = guess
        else:
            low = guess
        following = guess - error / slope if sign * slope > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - guess) <= 1e-15 * (x[last] - x[0]):
            return following
        guess = following
    return guess
