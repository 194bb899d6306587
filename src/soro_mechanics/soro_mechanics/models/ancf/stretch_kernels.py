# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the stretch curves lambda(P), eq (19): monotone cubics through measured points."""

from soro_mechanics.numerics.kernels import kernel


@kernel
def stretch_at(pressures, values, slopes, pressure):
    """Return (lambda, d lambda / dP); straight beyond the first and the last point."""
    last = pressures.shape[0] - 1
    if pressure <= pressures[0]:
        return values[0] + slopes[0] * (pressure - pressures[0]), slopes[0]
    if pressure >= pressures[last]:
        return values[last] + slopes[last] * (pressure - pressures[last]), slopes[last]
    k = 0
    while pressure > pressures[k + 1]:
        k += 1
    return _hermite(pressures, values, slopes, k, pressure)


@kernel
def _hermite(pressures, values, slopes, k, pressure):
    width = pressures[k + 1] - pressures[k]
    t = (pressure - pressures[k]) / width
    rise = values[k + 1] - values[k]
    m0 = slopes[k] * width
    m1 = slopes[k + 1] * width
    c2 = 3.0 * rise - 2.0 * m0 - m1
    c3 = m0 + m1 - 2.0 * rise
    value = values[k] + t * (m0 + t * (c2 + t * c3))
    return value, (m0 + t * (2.0 * c2 + 3.0 * t * c3)) / width


@kernel
def pressure_at(pressures, values, slopes, stretch):
    """Return the pressure of a stretch: Newton kept inside a shrinking bracket."""
    last = pressures.shape[0] - 1
    if stretch <= values[0]:
        return pressures[0] + (stretch - values[0]) / slopes[0]
    if stretch >= values[last]:
        return pressures[last] + (stretch - values[last]) / slopes[last]
    k = 0
    while stretch > values[k + 1]:
        k += 1
    low = pressures[k]
    high = pressures[k + 1]
    guess = low + (high - low) * (stretch - values[k]) / (values[k + 1] - values[k])
    for _ in range(60):
        value, slope = _hermite(pressures, values, slopes, k, guess)
        error = value - stretch
        if error > 0.0:
            high = guess
        else:
            low = guess
        following = guess - error / slope if slope > 0.0 else low
        if not low < following < high:
            following = 0.5 * (low + high)
        if abs(following - guess) <= 1e-15 * (pressures[last] - pressures[0]):
            return following
        guess = following
    return guess
