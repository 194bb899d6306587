# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The condensed system of a rod whose muscles bend its modules.

Stationary is E(q) - F . (sum weight R e3 - rho) + mu . (c - wanted) - give / 2 mu . mu. Unknowns
per module t: z = (rho, F), the vector from disk to disk and its multiplier. Unknowns per disk: y =
(eta, mu), its body rotation increment and the multipliers of the two bends of the module below it.
Interior nodes are eliminated per module, then z, then disk by disk to the tip.

Source: derived here from the energy of Chen (2022), see `rod_kernels`; checked by differences and
by the inertia of the full system in test_kirchhoff_tangent.py. hold: HoldWork.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.kirchhoff.muscle_kernels import bend_constraints, bends_of
from soro_mechanics.models.kirchhoff.rod_kernels import (
    eliminate_module,
    module_vectors,
    rod_system,
    rotation_of,
)
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    dot,
    dot_six,
    row_at,
    six_in_column,
    six_in_row,
    times,
)


class HoldWork(NamedTuple):
    """The systems of the modules (m,)."""

    local: NDArray[np.float64]  # (m, 6, 6) of z
    inverse: NDArray[np.float64]  # (m, 6, 6) of it
    ends: NDArray[np.float64]  # (m, 6, 8) coupling of z to eta below, eta above and mu
    reduced: NDArray[np.float64]  # (m, 6, 8) local^-1 ends
    pivots: NDArray[np.float64]  # (m + 1, 5, 5) of y
    across: NDArray[np.float64]  # (m, 5, 5) couplings of y
    right_z: NDArray[np.float64]  # (m, 6, 1)
    right_e: NDArray[np.float64]  # (m + 1, 5, 1)
    lengths: NDArray[np.float64]  # (m, 3) of the muscles [m]


@kernel
def make_hold_work(modules):
    """Return the scratch of the systems of so many modules."""
    return HoldWork(
        np.zeros((modules, 6, 6)),
        np.zeros((modules, 6, 6)),
        np.zeros((modules, 6, 8)),
        np.zeros((modules, 6, 8)),
        np.zeros((modules + 1, 5, 5)),
        np.zeros((modules, 5, 5)),
        np.zeros((modules, 6, 1)),
        np.zeros((modules + 1, 5, 1)),
        np.zeros((modules, 3)),
    )


@kernel
def _interior_balance(gradient, diagonal, per, pivots, right_e):
    """Hand the disks their own blocks; return the squared moments of the interior nodes.

    gradient, diagonal: of RodWork, those of every per-th node to right_e and pivots of HoldWork.
    """
    balance = 0.0
    for n in range(1, gradient.shape[0]):
        if n % per != 0:
            balance += dot(row_at(gradient, n, 0), row_at(gradient, n, 0))
        else:
            for i in range(3):
                right_e[n // per, i, 0] = gradient[n, i]
                for j in range(3):
                    pivots[n // per, i, j] = diagonal[n, i, j]
    return balance


@kernel
def _fill_module(t, matrix, slope, second, hold):
    """Write module t's blocks in hold, of matrix (9, 9), bends' slope (2, 9), second (9, 9)."""
    pivots, across = hold.pivots, hold.across
    a, b = hold.local[t], hold.ends[t]
    for i in range(3):
        for j in range(3):
            a[i, j] = second[i, j]
            a[i, 3 + j] = 1.0 if i == j else 0.0
            a[3 + i, j] = 1.0 if i == j else 0.0
            a[3 + i, 3 + j] = matrix[6 + i, 6 + j]
            b[i, j] = second[i, 3 + j]
            b[i, 3 + j] = second[i, 6 + j]
            b[3 + i, j] = matrix[6 + i, j]
            b[3 + i, 3 + j] = matrix[6 + i, 3 + j]
            pivots[t, i, j] += matrix[i, j] + second[3 + i, 3 + j]
            pivots[t + 1, i, j] += matrix[3 + i, 3 + j] + second[6 + i, 6 + j]
            across[t, i, j] = matrix[i, 3 + j] + second[3 + i, 6 + j]
        for c in range(2):
            b[i, 6 + c] = slope[c, i]
            b[3 + i, 6 + c] = 0.0
            across[t, i, 3 + c] = slope[c, 3 + i]
            pivots[t + 1, i, 3 + c] += slope[c, 6 + i]
            pivots[t + 1, 3 + c, i] += slope[c, 6 + i]


@kernel
def _reduce_module(t, hold):
    """Eliminate z of module t of hold, reduced = local^-1 ends; False when local is singular."""
    inverse, pivots, across = hold.inverse, hold.pivots, hold.across
    b, x = hold.ends[t], hold.reduced[t]
    inverse[t] = 0.0
    for i in range(6):
        inverse[t, i, i] = 1.0
    if solve_in_place(hold.local[t].copy(), 6, inverse[t], 6) == 0:
        return False
    for j in range(8):
        for i in range(6):
            x[i, j] = dot_six(six_in_row(inverse[t], i, 0), six_in_column(b, 0, j))
    for i in range(8):
        for j in range(8):
            total = dot_six(six_in_column(b, 0, i), six_in_column(x, 0, j))
            if i < 3 and j < 3:
                pivots[t, i, j] -= total
            elif i < 3:
                across[t, i, j - 3] -= total
            elif j >= 3:
                pivots[t + 1, i - 3, j - 3] -= total
    return True


@kernel
def hold_system(state, rod_data, dead, body, wanted, rod, hold):
    """Assemble and condense everything onto the disks.

    state: quaternions, forces, and the multipliers mu (m, 2) [N] of the bends; rod_data:
    (stiffness, element, muscle radius, give of a bend per mu [m/N], `combine` of all modules), c =
    wanted + give mu; dead: see `rod_system`; body (3,) [N m]: dead tip moment in the tip's axes;
    wanted (m, 2): commanded bends [m]; rod: RodWork; hold: HoldWork, out. Returns (singular,
    negative interior pivots, squared moments, squared bend errors).
    """
    stiffness, h, radius, give, combine = rod_data
    q, force, bend = state
    gradient, diagonal, lengths = rod.gradient, rod.diagonal, hold.lengths
    pivots, right_z, right_e = hold.pivots, hold.right_z, hold.right_e
    modules = force.shape[0]
    per = (q.shape[0] - 1) // modules
    rod_system(q, stiffness, h, dead, force, rod)
    rho = np.empty((modules, 3))
    module_vectors(q, h, modules, rho)
    matrix, right = np.empty((9, 9)), np.empty(9)
    slope, second = np.empty((2, 9)), np.empty((9, 9))
    start, end = np.empty((3, 3)), np.empty((3, 3))
    disks = np.zeros((modules + 1, 3))
    pivots[:] = right_e[:] = 0.0
    balance = _interior_balance(gradient, diagonal, per, pivots, right_e)
    negative = 0
    missed = 0.0
    rotation_of(q[0], end)
    for t in range(modules):
        start[:] = end
        rotation_of(q[(t + 1) * per], end)
        negative += eliminate_module(t * per, per, rod, matrix, right)
        bend_constraints(
            rho[t], start, end, combine[t], radius, bend[t], lengths[t], (slope, second)
        )
        _fill_module(t, matrix, slope, second, hold)
        for i in range(3):
            pull = bend[t, 0] * slope[0, i] + bend[t, 1] * slope[1, i] + force[t, i]
            below = bend[t, 0] * slope[0, 3 + i] + bend[t, 1] * slope[1, 3 + i]
            above = bend[t, 0] * slope[0, 6 + i] + bend[t, 1] * slope[1, 6 + i]
            balance += (pull * per * h) ** 2
            disks[t, i] += below
            disks[t + 1, i] += above + gradient[(t + 1) * per, i]
            right_z[t, i, 0] = pull
            right_z[t, 3 + i, 0] = right[6 + i]
            right_e[t, i, 0] += right[i] + below
            right_e[t + 1, i, 0] += right[3 + i] + above
        c1, c2 = bends_of(lengths[t], combine[t])
        right_e[t + 1, 3, 0] = c1 - wanted[t, 0] - give * bend[t, 0]
        right_e[t + 1, 4, 0] = c2 - wanted[t, 1] - give * bend[t, 1]
        for c in range(3, 5):
            pivots[t + 1, c, c] -= give
            missed += right_e[t + 1, c, 0] ** 2
        if not _reduce_module(t, hold):
            return True, negative, balance, missed
    for i in range(3):
        right_e[modules, i, 0] -= body[i]
        disks[modules, i] -= body[i]
    for t in range(1, modules + 1):
        balance += dot(row_at(disks, t, 0), row_at(disks, t, 0))
    return False, negative, balance, missed


@kernel
def hold_solve(hold, body, sign, right_z, right_e, disk_pivots):
    """Solve hold's condensed system in place for right_z (m, 6, k) and right_e (m + 1, 5, k).

    `sign` is 1, or -1 for the transposed system (a dead moment `body` makes them differ).
    `disk_pivots` (m + 1, 5, 5) receives the pivot blocks as they are eliminated; the inertia of
    the system is theirs and the modules'. Returns False when singular.
    """
    inverse, reduced, across = hold.inverse, hold.reduced, hold.across
    modules = across.shape[0]
    columns = right_z.shape[2]
    disk_pivots[:] = hold.pivots
    add_hat(disk_pivots[modules], 0, 0, times(-0.5 * sign, body))
    for t in range(modules):
        for c in range(columns):
            for k in range(6):
                value = right_z[t, k, c]
                for j in range(3):
                    right_e[t, j, c] -= reduced[t, k, j] * value
                for j in range(5):
                    right_e[t + 1, j, c] -= reduced[t, k, 3 + j] * value
    scaled = np.zeros((modules + 1, 5, 5 + columns))
    for t in range(1, modules + 1):
        for i in range(5):
            for c in range(columns):
                scaled[t, i, 5 + c] = right_e[t, i, c]
            if t < modules:
                for j in range(5):
                    scaled[t, i, j] = across[t, i, j]
        if solve_in_place(disk_pivots[t].copy(), 5, scaled[t], 5 + columns) == 0:
            return False
        if t < modules:
            for k in range(3):
                for i in range(5):
                    weight = across[t, k, i]
                    for j in range(5):
                        disk_pivots[t + 1, i, j] -= weight * scaled[t, k, j]
                    for c in range(columns):
                        right_e[t + 1, i, c] -= weight * scaled[t, k, 5 + c]
    for t in range(modules, 0, -1):
        for i in range(5):
            for c in range(columns):
                total = scaled[t, i, 5 + c]
                if t < modules:
                    for j in range(5):
                        total -= scaled[t, i, j] * right_e[t + 1, j, c]
                right_e[t, i, c] = total
    right_e[0] = 0.0
    for t in range(modules):
        for c in range(columns):
            own = six_in_column(right_z[t], 0, c)
            for i in range(6):
                total = dot_six(six_in_row(inverse[t], i, 0), own)
                for j in range(3):
                    total -= reduced[t, i, j] * right_e[t, j, c]
                for j in range(5):
                    total -= reduced[t, i, 3 + j] * right_e[t + 1, j, c]
                right_z[t, i, c] = total
    return True
