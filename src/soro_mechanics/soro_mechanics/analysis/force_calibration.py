# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a force sensor reads without a load: its zero, and the weight of a tool, from postures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.analysis.tracker_calibration import LEAST, LEVEL, SINGULAR, TURN_MORE
from soro_mechanics.core.array_input import finite_rows
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.numerics import lie

LIMIT = 0.05  # N (assumed): half interval of the zero that is still of use


@dataclass(frozen=True, eq=False)
class ForceCalibration:
    """`half`: of intervals that hold 95 % each; without a weight that shows mass is zero."""

    zero: Array  # (6,) [N, N m]
    mass: float  # kg
    centre: Array  # (3,) of the mass, in the frame of the sensor [m]
    half: Array  # (7,) of the zero and of the mass
    left: Array  # (2,) RMS of what the fit leaves [N, N m]


def calibrate_force(gravity: Array, wrenches: Array, limit: float = LIMIT) -> ForceCalibration:
    """Find ``force = zero + mass g``, ``moment = zero + centre x mass g`` of an unloaded sensor.

    Parameters
    ----------
    gravity, wrenches : ndarray, shapes (n, 3) [m/s^2] and (n, 6) [N, N m]
        In the axes of the sensor.
    limit : float
        Half interval of the zero of the force [N] that is still accepted.

    Raises
    ------
    InvalidInput
        Too few postures, or such that cannot tell zero and weight apart (POOR_FIT).
    """
    g, w = finite_rows('gravity', gravity, 3), finite_rows('wrenches', wrenches, 6)
    unit = np.tile(np.eye(3), (len(g), 1))
    found, half, left = _fit(np.column_stack([unit, g.ravel()]), w[:, :3].ravel())
    if half[:3].max() > limit:
        told = f'zero +-{half[:3].max():.2g} N'
        raise InvalidInput('postures', told, f'at most {limit:g} N: {TURN_MORE}', Code.POOR_FIT)
    mass = float(found[3]) if found[3] > half[3] else 0.0
    force = found[:3] if mass else w[:, :3].mean(axis=0)
    arms = -np.vstack([lie.hat3(row) for row in g])
    found, other, rest = _fit(np.hstack([unit, arms]) if mass else unit, w[:, 3:].ravel())
    zero, centre = np.append(force, found[:3]), found[3:] / mass if mass else np.zeros(3)
    halves = np.concatenate([half[:3], other[:3], half[3:]])
    return ForceCalibration(zero, mass, centre, halves, np.array([left, rest]))


def _fit(design: Array, values: Array) -> tuple[Array, Array, float]:
    """Return the solution, its half intervals, and the RMS of what is left over three axes."""
    from scipy.stats import t as student

    free = len(values) - design.shape[1]
    if free < LEAST:
        raise InvalidInput('postures', len(values) // 3, TURN_MORE, Code.INVALID_SIZE)
    weak, axes = np.linalg.eigh(design.T @ design)
    if weak[0] < SINGULAR * weak[-1]:
        raise InvalidInput('postures', len(values) // 3, TURN_MORE, Code.POOR_FIT)
    inverse = (axes / weak) @ axes.T
    found = inverse @ (design.T @ values)
    left = values - design @ found
    half = student.ppf(0.5 + 0.5 * LEVEL, free) * np.sqrt(left @ left / free * np.diag(inverse))
    return found, half, float(np.sqrt(3.0 * np.mean(left**2)))
