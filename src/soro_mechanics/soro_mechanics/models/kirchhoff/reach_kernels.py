# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rod of least energy through a prescribed end point, and attitude where asked (Chen 2022).

The reaction at the end point is a multiplier, so that equilibrium holds exactly; the end position
is row (48), the attitude rows are (49). Arguments: see `rod_kernels`.

Source: Chen (2022), Front. Mech. Eng. 17(2), eqs (48)-(49); solved by Newton's method instead of
(51), checked by rods of scipy in test_kirchhoff_inverse.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.kirchhoff.rod_kernels import (
    back_substitute,
    eliminate_module,
    module_vectors,
    rod_system,
    RodWork,
    rotation_of,
    turn_nodes,
)
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.lie_kernels import so3_log
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    column_at,
    dot,
    in_axes,
    minus,
    row_at,
    times,
    vector_at,
)

FREE = 0
AXIS = 1
FULL = 2


class Goal(NamedTuple):
    """What the end of a rod shall meet."""

    moment: NDArray[np.float64]  # (3,) dead [N m]
    target: NDArray[np.float64]  # (3,) [m]
    wanted: NDArray[np.float64]  # (3, 3) orientation
    attitude: int  # FREE, AXIS or FULL: what of it counts


@kernel
def make_rod_work(nodes):
    """Return the scratch for `nodes` nodes."""
    return RodWork(
        np.zeros((nodes, 3)),
        np.zeros((nodes, 3, 3)),
        np.zeros((nodes, 3, 3)),
        np.zeros((nodes, 3, 3)),
        np.zeros((nodes, 3, 10)),
        np.zeros((nodes, 3)),
    )


@kernel
def _attitude_error(rotation, wanted, attitude, out):
    """Write the body rotation vector that is missing, out; return how many rows are prescribed.

    FULL attitude: log(rotation^T wanted), (3, 3); AXIS: the shortest turn of z, about x and y.
    """
    out[:] = 0.0
    if attitude == FREE:
        return 0
    relative = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            relative[i, j] = dot(column_at(rotation, 0, i), column_at(wanted, 0, j))
    if attitude == FULL:
        so3_log(relative, out)
        return 3
    x, y, z = relative[0, 2], relative[1, 2], relative[2, 2]
    sine = math.sqrt(x * x + y * y)
    scale = math.atan2(sine, z) / sine if sine > 0.0 else 1.0
    out[0] = -y * scale
    out[1] = x * scale
    return 2


@kernel
def _end_system(q, matrix9, right9, work, goal, rho, matrix, right):
    """Write the 6 x 6 system of (end increment, dF): matrix (6, 6), right (6, 1).

    Rows: end moment = that of goal: Goal, or increment = `_attitude_error`; rho (1, 3) = target.
    Returns (rows prescribed, squared errors of turn and moment). q; matrix9, right9: of
    `eliminate_module`; work: RodWork.
    """
    gradient, diagonal = work.gradient, work.diagonal
    last = q.shape[0] - 1
    rotation = np.empty((3, 3))
    rotation_of(q[last], rotation)
    error = np.empty(3)
    rows = _attitude_error(rotation, goal.wanted, goal.attitude, error)
    body = in_axes(rotation, goal.moment)
    for i in range(6):
        for j in range(6):
            matrix[i, j] = matrix9[3 + i, 3 + j]
    for i in range(3):
        for j in range(3):
            matrix[i, j] += diagonal[last, i, j]
        right[i, 0] = -(right9[3 + i] + gradient[last, i] - body[i])
        right[3 + i, 0] = -(right9[6 + i] + goal.target[i] - rho[0, i])
    # a dead moment turns with nothing: half of its cross product remains in the tangent
    add_hat(matrix, 0, 0, times(-0.5, body))
    turned = unbalanced = 0.0
    for i in range(3):
        if i < rows:
            for j in range(6):
                matrix[i, j] = 0.0
            matrix[i, i] = 1.0
            right[i, 0] = error[i]
            turned += error[i] * error[i]
        else:
            unbalanced += (gradient[last, i] - body[i]) ** 2
    return rows, turned, unbalanced


@kernel
def reach_newton(q, force, rod, dead, goal, tolerance, limit, work):
    """Iterate in place; return (converged, iterations, residual, negative pivots, matrix (6, 6)).

    The residual is the norm of moments over A / L, of the missed distance over L and of the missed
    angle. The matrix is the last end system, before it was solved. q, force (1, 3); rod:
    stiffness, h; dead: see `rod_system`; goal; tolerance; limit; work: RodWork.
    """
    stiffness, h = rod
    gradient, factor, step = work.gradient, work.factor, work.step
    count = q.shape[0]
    length = h * (count - 1)
    unit = stiffness[0] / length
    matrix9 = np.empty((9, 9))
    right9 = np.empty(9)
    matrix = np.empty((6, 6))
    kept = np.empty((6, 6))
    right = np.empty((6, 1))
    rho = np.empty((1, 3))
    zero = np.zeros(3)
    residual = 0.0
    for iteration in range(limit + 1):
        rod_system(q, stiffness, h, dead, force, work)
        module_vectors(q, h, 1, rho)
        negative = eliminate_module(0, count - 1, work, matrix9, right9)
        _, turned, total = _end_system(q, matrix9, right9, work, goal, rho, matrix, right)
        for n in range(1, count - 1):
            total += dot(row_at(gradient, n, 0), row_at(gradient, n, 0))
        gap = minus(vector_at(goal.target, 0, 1), row_at(rho, 0, 0))
        missed = dot(gap, gap) / (length * length)
        residual = math.sqrt(total / (unit * unit) + missed + turned)
        kept[:] = matrix
        if residual <= tolerance:
            return True, iteration, residual, negative, kept
        if iteration == limit or not residual < 1e12:
            break
        if solve_in_place(matrix, 6, right, 1) == 0:
            break
        back_substitute(0, count - 1, factor, zero, right[:3, 0], right[3:, 0], step)
        part = turn_nodes(q, step)
        if part == 0.0:
            break
        for i in range(3):
            force[0, i] += part * right[3 + i, 0]
    return False, limit, residual, 0, kept
