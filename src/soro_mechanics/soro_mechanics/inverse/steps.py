# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps of the inverse kinematics of any model: quadratic programs within limits and trust region.

The *landing* step meets the linearised task exactly with the least actuator energy; where no such
step exists, the *approach* step goes as near as it can. `z` are actuations in units of their
ranges, `rows` and `residual` the linearised task in units of its tolerances.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soro_mechanics.core.actuation_limits import Limits
from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics import qp_kernels as kernels
from soro_mechanics.numerics.dense_kernels import convex, largest_part, least_squares
from soro_mechanics.numerics.qp import solve_qp
from soro_mechanics.numerics.qp_kernels import OPTIMAL

WEAK = 1e-6  # relative; what moves the task less is no way to meet it: far for little
DAMPING = 1e-10  # relative; makes the approach program strictly convex and vanishes with the step


class Factored(NamedTuple):
    """A Hessian (n, n) and its upper Cholesky factor, empty where it is not convex."""

    whole: Array
    upper: Array


def factored(whole: Array) -> Factored:
    """Return a Hessian with its factor."""
    return Factored(whole, kernels.upper_of(whole))


def flat(size: int) -> Factored:
    """Return the Hessian of a squared distance."""
    return Factored(np.eye(size), np.eye(size))


def free_step(
    limits: Limits, rows: Array, z: Array, residual: Array, trust: float
) -> Array | None:
    """Return the step that leaves the least of the task, where no limit or trust region binds."""
    step: Array = np.empty(z.size)
    if not least_squares(np.concatenate([rows, residual[:, None]], axis=1), step):
        step = np.asarray(np.linalg.lstsq(rows, residual, rcond=WEAK)[0], float)
    return step if largest_part(step) <= trust and limits.kept(z + step, exactly=True) else None


def landing_step(
    limits: Limits,
    rows: Array,
    z: Array,
    residual: Array,
    trust: float,
    curvature: Factored,
    slope: Array,
) -> tuple[Array | None, Array, float, bool]:
    """Return the step of least energy that meets the linearised task, and its multipliers.

    And how large these are, and whether nothing else bounds the step.
    """
    task, size = rows.shape
    step, force = np.empty(size), np.empty(task)
    if task > size:
        return None, force, 0.0, False
    within = limits.rows, z, limits.low, limits.high, trust
    energy = *curvature, z - slope
    status, pull, alone = kernels.least_energy(energy, rows, residual, within, step, force)
    return step if status == OPTIMAL else None, force, pull, alone


def least_energy(
    energy: tuple[Array, Array], rows: Array, residual: Array, within: tuple[Array, Array, Array]
) -> tuple[Array | None, Array]:
    """Return the step of least energy (Hessian, slope) that meets a task, and its multipliers.

    `within`: rows of the step, their least and their largest values.
    """
    h, g, rows, residual, c, low, high = map(
        np.ascontiguousarray, (*energy, rows, residual, *within)
    )
    bounds, step, force = (c, 0.0 * g, low, high, np.inf), np.empty(g.size), np.empty(len(rows))
    status, _, _ = kernels.least_energy((*factored(h), -g), rows, residual, bounds, step, force)
    return step if status == OPTIMAL else None, force


def approach_step(
    limits: Limits, rows: Array, z: Array, residual: Array, trust: float, bend: Array | float = 0.0
) -> Array:
    """Return the step within limits and trust region that leaves the least; see `learn_bend`."""
    size = z.size
    gain = rows.T @ rows
    if np.any(bend):
        gain = convex(gain + bend)
    largest = float(np.diag(gain).max())
    if not largest > 0.0:
        return np.zeros(size)
    c, z = limits.rows, np.ascontiguousarray(z)
    low, high = kernels.step_bounds(c, z, limits.low, limits.high, trust)
    low, high = np.minimum(low, 0.0), np.maximum(high, 0.0)
    h = gain / largest + DAMPING * np.eye(size)
    status, step, _ = solve_qp(h, -(rows.T @ residual) / largest, c, low, high)
    return step if status == OPTIMAL else np.zeros(size)


def learn_bend(bend: Array, step: Array, rows: Array, before: Array, residual: Array) -> None:
    """Update the curvature of half the squared residual by rows after and before a step.

    The structured secant of J. E. Dennis, D. M. Gay, R. E. Welsch, ACM TOMS 7 (1981), 348.
    """
    seen = -(rows - before).T @ residual
    slope = seen + before.T @ (before @ step)  # of the gradient, to first order
    along, old = float(slope @ step), float(step @ bend @ step)
    if along > 0.0:
        bend *= min(1.0, abs(float(step @ seen) / old)) if old else 1.0
        gap = (seen - bend @ step) / along
        bend += np.outer(gap, slope) + np.outer(slope, gap)
        bend -= float(gap @ step) / along * np.outer(slope, slope)


def nearest_allowed(limits: Limits, z: Array) -> Array | None:
    """Return the nearest actuation that keeps every limit, None where there is none."""
    status, x, _ = solve_qp(np.eye(z.size), -z, limits.rows, limits.low, limits.high)
    return x if status == OPTIMAL else None


def inside(limits: Limits, z: Array) -> Array:
    """Return the nearest actuation within the limits: z, wherever a step has left none."""
    clipped = np.minimum(np.maximum(z, limits.low[: z.size]), limits.high[: z.size])
    nearest = None if limits.kept(clipped) else nearest_allowed(limits, z)
    return clipped if nearest is None else nearest
