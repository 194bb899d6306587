# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Identification of lambda(P), eq (19) of Huang 2022, from a recorded table; refuses bad data.

The curve that is fitted is the one the model uses: a monotone cubic through knots. Its values at
the knots are found by least squares, so loading and unloading count alike and the curve lies
between them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.identification.stretch_table import StretchTable
from soro_mechanics.models.ancf.schema import StretchCurve
from soro_mechanics.numerics.monotone_curve import curve_at, monotone_slopes

KNOTS = 7
FEWEST = 10  # measurements per leg
REST_BAND = 0.03  # of the stretch at zero pressure about one
PLAUSIBLE = (0.8, 3.0)  # stretches of a rubber leg under pressure
COVERED = 0.9  # of the actuator's range that must have been measured
SCATTER = 0.08  # rms residual allowed, as a part of the leg's largest lambda - 1
OUTLIER = 6.0  # times the robust deviation, and more than OUTLIER_PART of the largest lambda - 1
OUTLIER_PART = 0.15
MIN_RISE = 1e-6  # per knot: a curve has to rise to be inverted


@dataclass(frozen=True)
class LegFit:
    """The curve of one leg and how good it is."""

    leg: str
    curve: StretchCurve
    points: int
    rms: float  # of the residual [1]
    largest: float  # residual [1]
    hysteresis: float  # mean difference between falling and rising pressure [1]; NaN without both
    r_squared: float


def identify_stretch(
    table: StretchTable, maximum: Array, knots: int = KNOTS
) -> tuple[LegFit, ...]:
    """Fit lambda(P) of every leg by evenly spaced knots from zero to `maximum` (legs,) [Pa].

    Raises InvalidInput: with the leg and what is wrong with its data: too few, not finite, a
    stretch no leg has, pressures that do not cover the range or leave a knot without data, a rest
    length that is not one, an outlier, or scatter no monotone curve explains.
    """
    if knots < 3:
        raise InvalidInput('knots', knots, 'three or more')
    return tuple(
        _fit_leg(leg, p, s, float(most), knots)
        for leg, p, s, most in zip(
            table.legs, table.pressures, table.stretches, maximum, strict=True
        )
    )


def _fit_leg(leg: str, pressure: Array, stretch: Array, maximum: float, knots: int) -> LegFit:
    _check(leg, pressure, stretch, maximum, knots)
    at = np.linspace(0.0, maximum, knots)
    values = _least_squares(at, pressure, stretch)
    residual = stretch - _evaluate(at, values, pressure)
    height = float(values[-1] - values[0])
    _check_residual(leg, pressure, stretch, residual, height)
    if abs(values[0] - 1.0) > REST_BAND:
        raise InvalidInput(
            f'stretch of {leg} at zero pressure',
            round(float(values[0]), 4),
            'one: check the rest length, or wait longer between measurements',
        )
    total = float(np.sum((stretch - stretch.mean()) ** 2))
    return LegFit(
        leg,
        StretchCurve(at, values, monotone_slopes(at, values)),
        len(pressure),
        float(np.sqrt(np.mean(residual**2))),
        float(np.max(np.abs(residual))),
        _hysteresis(pressure, residual),
        1.0 - float(np.sum(residual**2)) / total,
    )


def _check(leg: str, pressure: Array, stretch: Array, maximum: float, knots: int) -> None:
    if len(pressure) < FEWEST:
        expected = f'at least {FEWEST} measurements'
        raise InvalidInput(f'table, {leg}', len(pressure), expected, Code.INVALID_SIZE)
    if not (np.all(np.isfinite(pressure)) and np.all(np.isfinite(stretch))):
        raise InvalidInput(f'table, {leg}', 'NaN', 'finite numbers', Code.NOT_FINITE)
    low, high = PLAUSIBLE
    if stretch.min() < low or stretch.max() > high:
        worst = float(stretch.min() if stretch.min() < low else stretch.max())
        raise InvalidInput(f'stretch of {leg}', worst, f'{low} to {high} (units? rest length?)')
    slack = (1.0 - COVERED) * maximum
    if pressure.min() < -slack or pressure.max() > maximum + slack:
        worst = float(pressure.min() if pressure.min() < -slack else pressure.max())
        raise InvalidInput(f'pressure of {leg}', worst, f'0 to {maximum:g} Pa (units?)')
    if pressure.min() > slack or pressure.max() < maximum - slack:
        found = f'{pressure.min():g} to {pressure.max():g} Pa'
        raise InvalidInput(f'pressures of {leg}', found, f'to cover 0 to {maximum:g} Pa')
    widest = float(np.max(np.diff(np.sort(pressure))))
    allowed = maximum / (knots - 1)
    if widest > 1.05 * allowed:
        expected = f'no gap wider than {allowed:g} Pa, one knot of the curve'
        raise InvalidInput(f'pressures of {leg}', f'a gap of {widest:g} Pa', expected)
    correlation = float(np.corrcoef(pressure, stretch)[0, 1]) if np.ptp(stretch) > 0.0 else 0.0
    if correlation < 0.5:
        found = f'correlation {correlation:.2f}'
        raise InvalidInput(f'stretch of {leg}', found, 'a stretch that rises with the pressure')


def _check_residual(
    leg: str, pressure: Array, stretch: Array, residual: Array, height: float
) -> None:
    deviation = 1.4826 * float(np.median(np.abs(residual - np.median(residual))))
    worst = int(np.argmax(np.abs(residual)))
    off = abs(float(residual[worst]))
    if off > max(OUTLIER * deviation, OUTLIER_PART * height):
        found = f'{stretch[worst]:.4f} at {pressure[worst]:g} Pa'
        expected = f'near {stretch[worst] - residual[worst]:.4f} as its neighbours (outlier?)'
        raise InvalidInput(f'stretch of {leg}', found, expected)
    rms = float(np.sqrt(np.mean(residual**2)))
    if rms > SCATTER * height:
        found = f'scatter {rms:.4f} about a curve of height {height:.4f}'
        raise InvalidInput(f'stretch of {leg}', found, f'at most {SCATTER * height:.4f}')


def _least_squares(at: Array, pressure: Array, stretch: Array) -> Array:
    from scipy.optimize import least_squares

    # Unknowns: the first value, then rises that stay positive.
    start = np.interp(at, *_bin_means(at, pressure, stretch))
    rises = np.maximum(np.diff(start), 10.0 * MIN_RISE)
    low = np.r_[-np.inf, np.full(len(rises), MIN_RISE)]
    found = least_squares(
        lambda x: _evaluate(at, np.cumsum(x), pressure) - stretch,
        np.r_[start[0], rises],
        bounds=(low, np.inf),
        x_scale=np.r_[0.01, np.maximum(rises, 1e-3)],
    )
    return np.cumsum(found.x)


def _bin_means(at: Array, pressure: Array, stretch: Array) -> tuple[Array, Array]:
    nearest = np.argmin(np.abs(pressure[:, None] - at[None, :]), axis=1)
    used = np.unique(nearest)
    return (
        np.array([pressure[nearest == k].mean() for k in used]),
        np.array([stretch[nearest == k].mean() for k in used]),
    )


def _evaluate(at: Array, values: Array, pressure: Array) -> Array:
    return curve_at(np.column_stack([at, values]), pressure)[0]


def _hysteresis(pressure: Array, residual: Array) -> float:
    change = np.gradient(pressure)
    rising, falling = change > 0.0, change < 0.0
    if not (rising.any() and falling.any()):
        return float('nan')
    return float(residual[falling].mean() - residual[rising].mean())
