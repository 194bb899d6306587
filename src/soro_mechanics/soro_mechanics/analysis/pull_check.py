# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pulls on a tip beside a model's full solves under them: what does not fit, and what cannot be.

What the model leaves, r = measured - predicted, is fitted by the symmetric compliance that it
lacks. The scatter of that fit is the error of everything said here: a pull that the others do not
expect (deleted residual, studentised) is named; a tip that moves against a force, and a skew part
beyond its error, are refused, since no stable elastic robot has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations, product
from typing import Any

import numpy as np

from soro_mechanics.analysis.measured_compliance import fit_compliance, symmetric_rows
from soro_mechanics.core.array_input import finite_array, finite_rows
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput

ROUNDING = 1e-4  # of the displacements: scatter below it is not believed
SUSPECT = 0.01  # chance of naming any pull of a good table
REVERSED = 3.0  # standard deviations below zero that a compliance is refused at
SKEWED = 1e-3  # chance of refusing a good table for its skew part
SMALL_SKEW = 0.02  # of the norm: what pulls of finite size alone may leave
NEEDED = 4  # pulls that are kept at least


@dataclass(frozen=True, eq=False)
class PullCheck:
    """What a model leaves of the pulls."""

    predicted: Array  # (n, 3) displacements by the model, solved under each pull [m]
    residual: Array  # (n, 3) measured less predicted [m]
    rms: float  # of the residuals, per coordinate [m]
    # standard deviation per coordinate that is left after the best symmetric compliance [m]
    scatter: float
    outliers: tuple[int, ...]  # pulls that the others do not expect, the worst first
    # norm of the skew part of a fit without symmetry, over the norm of the compliance, and what
    # the scatter alone makes of it; NaN with three pulls
    skew: float
    skew_error: float


def check_pulls(forces: Any, displacements: Any, predicted: Any) -> PullCheck:
    """Compare pulls (n, 3) [N], [m] with a model's displacements (n, 3) [m] under the same forces.

    Raises
    ------
    InvalidInput
        The tip moves against the forces, or the displacements have a skew part beyond its error.
        Outliers are left out of both verdicts.
    """
    f = finite_rows('forces', forces, 3)
    count = len(f)
    d = finite_array('displacements', displacements, (count, 3))
    p = finite_array('predicted', predicted, (count, 3))
    fit_compliance(f, d)  # refuses forces in one plane
    left = d - p
    floor = ROUNDING * float(np.sqrt(np.mean(d**2)))
    outliers = _outliers(f, left, floor)
    kept = np.setdiff1d(np.arange(count), outliers)
    scatter = _scatter(symmetric_rows(f[kept]), left[kept].ravel(), floor)
    _refuse_reversed(f[kept], d[kept], p[kept], scatter)
    skew, error = _skew(f[kept], left[kept], floor, d[kept], p[kept])
    return PullCheck(p, left, float(np.sqrt(np.mean(left**2))), scatter, outliers, skew, error)


def _scatter(rows: Array, values: Array, floor: float) -> float:
    """Return the standard deviation that a linear fit leaves."""
    fit = np.linalg.lstsq(rows, values, rcond=None)[0]
    free = len(values) - int(np.linalg.matrix_rank(rows))
    rest = values - rows @ fit
    return max(floor, float(np.sqrt(rest @ rest / free))) if free > 0 else floor


def _outliers(f: Array, left: Array, floor: float) -> tuple[int, ...]:
    """Name the pulls that all others do not expect, one after the other, by an F test of each."""
    from scipy.stats import f as f_distribution

    kept, named = list(range(len(f))), []
    while len(kept) > NEEDED:
        tests = np.array([_deleted(f, left, kept, i, floor) for i in kept])
        free = 3 * (len(kept) - 1) - 6
        worst = int(np.nanargmax(np.append(tests, 0.0)))
        if not tests[worst : worst + 1].sum() > f_distribution.isf(SUSPECT / len(kept), 3, free):
            break
        named.append(kept.pop(worst))
    return tuple(named)


def _deleted(f: Array, left: Array, kept: list[int], i: int, floor: float) -> float:
    """Return the studentised square of a pull that the fit has not seen; NaN: it needs it."""
    others = [k for k in kept if k != i]
    rows, values = symmetric_rows(f[others]), left[others].ravel()
    if np.linalg.matrix_rank(rows, tol=1e-6 * float(np.abs(f).max())) < 6:
        return float('nan')
    own = symmetric_rows(f[[i]])
    fit = np.linalg.lstsq(rows, values, rcond=None)[0]
    missed = left[i] - own @ fit
    spread = np.eye(3) + own @ np.linalg.solve(rows.T @ rows, own.T)
    variance = _scatter(rows, values, floor) ** 2
    return float(missed @ np.linalg.solve(spread, missed)) / (3.0 * variance)


def _refuse_reversed(f: Array, d: Array, p: Array, scatter: float) -> None:
    """Refuse a compliance with a direction that is negative beyond its error."""
    values, axes = np.linalg.eigh(fit_compliance(f, d).matrix)
    rows = symmetric_rows(f)
    x, y, z = axes[:, 0]
    along = np.array([x * x, y * y, z * z, 2.0 * x * y, 2.0 * x * z, 2.0 * y * z])
    error = scatter * float(np.sqrt(along @ np.linalg.solve(rows.T @ rows, along)))
    if values[0] >= -REVERSED * error:
        return
    what = 'forces act on the robot, not on the gauge'
    which = (
        'against every force' if values[2] < 0.0 else f'against a force along {_words(axes[:, 0])}'
    )
    raise InvalidInput(
        'displacements',
        f'{1e3 * values[0]:.3g} +- {1e3 * error:.2g} mm/N: the tip moves {which}',
        f'a tip that gives way to the force ({what}); check signs and columns{_hint(d, p)}',
    )


def _skew(f: Array, left: Array, floor: float, d: Array, p: Array) -> tuple[float, float]:
    """Return the skew part of what the model leaves, relative, and its error; refuse too much."""
    from scipy.stats import f as f_distribution

    size = float(np.linalg.norm(fit_compliance(f, d).matrix))
    general = np.linalg.lstsq(f, left, rcond=None)[0].T
    turn = 0.5 * (general - general.T)[[2, 0, 1], [1, 2, 0]]
    share = float(np.sqrt(2.0) * np.linalg.norm(turn)) / size
    free = 3 * len(f) - 9
    if free <= 0:
        return share, float('nan')
    scatter = _scatter(np.asarray(np.kron(f, np.eye(3)), np.float64), left.ravel(), floor)
    inverse = np.linalg.inv(f.T @ f)
    covariance = 0.25 * scatter**2 * (np.trace(inverse) * np.eye(3) - inverse)
    error = float(np.sqrt(2.0 * np.trace(covariance))) / size
    test = float(turn @ np.linalg.solve(covariance, turn)) / 3.0
    if share > SMALL_SKEW and test > f_distribution.isf(SKEWED, 3, free):
        raise InvalidInput(
            'displacements',
            f'a skew part of {share:.1%} +- {error:.1%}',
            'that of a compliance, which is symmetric: forces and places in the same axes '
            f'(base_link), and of the same point{_hint(d, p)}',
        )
    return share, error


def _hint(d: Array, p: Array) -> str:
    """Say which exchange of columns or signs meets the model much better, if any does."""
    best, least = None, 0.3 * float(np.linalg.norm(d - p))
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            off = float(np.linalg.norm(np.array(signs) * d[:, order] - p))
            if off < least:
                best, least = (order, signs), off
    if best is None:
        return ''
    names = ' '.join(f'{"-" if s < 0.0 else ""}{"xyz"[k]}' for k, s in zip(*best, strict=True))
    return f'; the model is met with {names} in the place of x y z'


def _words(axis: Array) -> str:
    return '(' + ' '.join(f'{value:+.2f}' for value in axis) + ')'
