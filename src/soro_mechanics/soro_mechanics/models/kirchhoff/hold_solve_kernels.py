# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics from muscle lengths: rod and muscles of least energy.

Source: Newton's method on `hold_kernels`, derived here; checked by a general optimiser in
test_kirchhoff.py and by differences in test_kirchhoff_tangent.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.kirchhoff.hold_kernels import hold_solve, hold_system, make_hold_work
from soro_mechanics.models.kirchhoff.reach_kernels import make_rod_work
from soro_mechanics.models.kirchhoff.rod_kernels import back_substitute, rotation_of, turn_nodes
from soro_mechanics.numerics.dense_kernels import negative_pivots
from soro_mechanics.numerics.vector_kernels import in_axes


@kernel
def _apply(q, force, bend, right_z, right_e, factor, step):
    """Take a Newton step, scaled down where it would turn a node too far; False when absurd.

    q, force, bend: state; right_z, right_e: solved; factor: of RodWork; step (n, 3): scratch.
    """
    modules = force.shape[0]
    per = (q.shape[0] - 1) // modules
    for t in range(modules):
        start, end, change = right_e[t, :3, 0], right_e[t + 1, :3, 0], right_z[t, 3:, 0]
        back_substitute(t * per, per, factor, start, end, change, step)
    part = turn_nodes(q, step)
    for t in range(modules):
        for i in range(3):
            force[t, i] += part * right_z[t, 3 + i, 0]
        for i in range(2):
            bend[t, i] += part * right_e[t + 1, 3 + i, 0]
    return part > 0.0


@kernel
def hold_newton(start, rod_data, loads, wanted, tolerance, limit):
    """Solve from a shape (q, F, mu), start, which stays.

    Returns shape, muscle lengths (m, 3) [m], `tip_response` (zero where it has not converged) and
    (converged, iterations, residual, negative eigenvalues). The residual is the norm of moments
    over A / L and of missed bends over the disk radius, below tolerance; limit: of iterations.
    rod_data, wanted: as of `hold_system`; loads: dead, tip moment (3,) [N m], base axes.
    """
    state = q, force, bend = start[0].copy(), start[1].copy(), start[2].copy()
    rod, hold = make_rod_work(q.shape[0]), make_hold_work(force.shape[0])
    stiffness, h, radius, _, _ = rod_data
    dead, moment = loads
    unit = stiffness[0] / (h * (q.shape[0] - 1))
    right_z, right_e = hold.right_z, hold.right_e
    rotation, disk_pivots = np.empty((3, 3)), np.empty(hold.pivots.shape)
    residual = 0.0
    for iteration in range(limit + 1):
        rotation_of(q[q.shape[0] - 1], rotation)
        body = in_axes(rotation, moment)
        singular, negative, balance, missed = hold_system(
            state, rod_data, dead, body, wanted, rod, hold
        )
        residual = math.sqrt(balance / (unit * unit) + missed / (radius * radius))
        if singular or not residual < 1e12:
            break
        if residual <= tolerance:
            compliance, by_bend, below = tip_response(q, moment, force.shape[0], hold)
            response = compliance, by_bend
            return state, hold.lengths, response, (True, iteration, residual, negative + below)
        if iteration == limit:
            break
        right_z *= -1.0
        right_e *= -1.0
        if not hold_solve(hold, body, 1.0, right_z, right_e, disk_pivots):
            break
        if not _apply(q, force, bend, right_z, right_e, rod.factor, rod.step):
            break
    response = np.zeros((6, 6)), np.zeros((6, force.shape[0], 2))
    return state, hold.lengths, response, (False, limit, residual, 0)


@kernel
def tip_response(q, moment, modules, scratch):
    """Return what a unit tip wrench (base axes) does: compliance, by_bend, below.

    compliance (6, 6): tip twist per tip wrench; by_bend (6, m, 2): tip twist per commanded bend,
    by the transposed system; below: negative eigenvalues of the pivot blocks: with the interior
    ones they are the inertia. q; moment (3,): dead [N m]; modules: m; scratch: HoldWork.
    """
    rotation, disk_pivots = np.empty((3, 3)), np.empty((modules + 1, 5, 5))
    rotation_of(q[q.shape[0] - 1], rotation)
    body = in_axes(rotation, moment)
    compliance = np.zeros((6, 6))
    by_bend = np.zeros((6, modules, 2))
    for side in range(2):
        right_z = np.zeros((modules, 6, 6))
        right_e = np.zeros((modules + 1, 5, 6))
        for i in range(3):
            for t in range(modules):
                right_z[t, i, i] = 1.0
            for j in range(3):
                right_e[modules, j, 3 + i] = rotation[i, j]
        sign = 1.0 if side == 0 else -1.0
        hold_solve(scratch, body, sign, right_z, right_e, disk_pivots)
        for c in range(6):
            if side == 0:
                for i in range(3):
                    for t in range(modules):
                        compliance[i, c] += right_z[t, i, c]
                    for j in range(3):
                        compliance[3 + i, c] += rotation[i, j] * right_e[modules, j, c]
            else:
                for t in range(modules):
                    by_bend[c, t, 0] = right_e[t + 1, 3, c]
                    by_bend[c, t, 1] = right_e[t + 1, 4, c]
    below, work = 0, np.empty((5, 5))
    for t in range(modules):
        below += _negative_pairs(scratch.local[t])
        below += negative_pivots(disk_pivots[t + 1], 5, work)
    return compliance, by_bend, below


@kernel
def _negative_pairs(local):
    """Count the negative eigenvalues of a module's symmetric local, by inertia; it is destroyed.

    A pivot is a pair of rho and F: alone neither has one in a straight module without load.
    """
    count = 0
    for i in range(3):
        rho, both, force = local[i, i], local[i, 3 + i], local[3 + i, 3 + i]
        determinant = rho * force - both * both
        if not determinant > 0.0:
            count += 1
        elif rho < 0.0:
            count += 2
        for r in range(6):
            if r % 3 > i:
                x = (force * local[r, i] - both * local[r, 3 + i]) / determinant
                y = (rho * local[r, 3 + i] - both * local[r, i]) / determinant
                for k in range(6):
                    local[r, k] -= x * local[i, k] + y * local[3 + i, k]
    return count
