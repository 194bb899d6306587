# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the muscles between two constraint disks: lengths (54), bends and derivatives.

Muscle i of a module joins points at the same radius and angle beta_i on the disks at both ends of
the module (`MuscleBackbone.muscle_angles`). Three lengths over-determine the two bends of an
inextensible backbone, so that two combinations constrain the shape: c1 = 2/3 sum l_i cos(beta_i),
c2 = 2/3 sum l_i sin(beta_i); their mean is free. `combine` (2, 3) holds these factors of a module.
start, end (3, 3): rotations of its disks; rho (3,): the vector between them [m], base axes.

Source: Chen (2022), Front. Mech. Eng. 17(2), eqs (52)-(54); bends and derivatives derived here,
checked by differences in test_kirchhoff_rod.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.models.kirchhoff.rod_kernels import module_vectors, rotation_of
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    dot,
    in_axes,
    minus,
    plus,
    row_at,
    times,
    vector_at,
)


@merged_kernel
def _muscle(rho, start, end, x, y):
    """Return rho + (end - start) u, u = (x, y, 0) [m]: the vector along a muscle, base axes."""
    along_x = minus(column_at(end, 0, 0), column_at(start, 0, 0))
    along_y = minus(column_at(end, 0, 1), column_at(start, 0, 1))
    return plus(plus(vector_at(rho, 0, 1), times(x, along_x)), times(y, along_y))


@kernel
def muscle_lengths(rho, start, end, combine, radius, lengths):
    """Write three lengths |`_muscle`| [m], u = 1.5 radius combine[:, i], of rho, start, end."""
    for i in range(3):
        d = _muscle(rho, start, end, 1.5 * radius * combine[0, i], 1.5 * radius * combine[1, i])
        lengths[i] = math.sqrt(dot(d, d))


@kernel
def shape_lengths(q, h, radius, combine, lengths):
    """Write the muscle lengths (m, 3) of q, h, radius, eqs (52)-(54); combine (m, 2, 3)."""
    modules = lengths.shape[0]
    per = (q.shape[0] - 1) // modules
    rho, start, end = np.empty((modules, 3)), np.empty((3, 3)), np.empty((3, 3))
    module_vectors(q, h, modules, rho)
    for t in range(modules):
        rotation_of(q[t * per], start)
        rotation_of(q[(t + 1) * per], end)
        muscle_lengths(rho[t], start, end, combine[t], radius, lengths[t])


@kernel
def bends_of(lengths, combine):
    """Return (c1, c2) of three lengths, combine lengths."""
    return dot(row_at(combine, 0, 0), lengths), dot(row_at(combine, 1, 0), lengths)


@kernel
def by_lengths(by_bend, combine, out):
    """Write out (n, 3 m) = by_bend (n, m, 2) combine (m, 2, 3): what lengths change."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            bends, factors = by_bend[i, j // 3], combine[j // 3]
            out[i, j] = bends[0] * factors[0, j % 3] + bends[1] * factors[1, j % 3]


@kernel
def bend_constraints(rho, start, end, combine, radius, multiplier, lengths, out):
    """Write lengths (3,), d(c1, c2) (2, 9) and sum of multiplier times second derivatives (9, 9).

    The latter two are `out`. Variables: rho in base axes, then the body increments of the first
    and of the last disk (start, end). D = dd, d = `_muscle`: dl = d . D / l, d2l = (D^T D - dl^T
    dl + d . d2d) / l. combine; radius [m]; multiplier (2,) [N].
    """
    gradient, hessian = out
    gradient[:] = hessian[:] = 0.0
    motion = np.zeros((3, 9))
    along = np.empty(9)
    for i in range(3):
        c, s = combine[0, i], combine[1, i]
        x, y = 1.5 * radius * c, 1.5 * radius * s
        d = _muscle(rho, start, end, x, y)
        length = lengths[i] = math.sqrt(dot(d, d))
        for k in range(3):
            for j in range(3):
                motion[k, j] = 1.0 if k == j else 0.0
            # R (eta x u): columns R (e_j x u), u = (x, y, 0)
            motion[k, 3] = -start[k, 2] * y
            motion[k, 4] = start[k, 2] * x
            motion[k, 5] = start[k, 0] * y - start[k, 1] * x
            motion[k, 6] = end[k, 2] * y
            motion[k, 7] = -end[k, 2] * x
            motion[k, 8] = end[k, 1] * x - end[k, 0] * y
        for j in range(9):
            along[j] = dot(d, column_at(motion, 0, j)) / length
        for j in range(9):
            gradient[0, j] += c * along[j]
            gradient[1, j] += s * along[j]
        weight = c * multiplier[0] + s * multiplier[1]
        for a in range(9):
            for b in range(9):
                inner = dot(column_at(motion, 0, a), column_at(motion, 0, b))
                hessian[a, b] += weight / length * (inner - along[a] * along[b])
        _add_turn(hessian, 3, start, d, x, y, -weight / length)
        _add_turn(hessian, 6, end, d, x, y, weight / length)


@kernel
def _add_turn(hessian, at, rotation, d, x, y, weight):
    """Add weight ((m u^T + u m^T) / 2 - m . u) at hessian's `at`, m = rotation^T d, u = (x, y, 0).

    This is d2 of d . R exp(eta) u.
    """
    m0, m1, m2 = in_axes(rotation, d)
    hessian[at, at] -= weight * m1 * y
    hessian[at + 1, at + 1] -= weight * m0 * x
    hessian[at + 2, at + 2] -= weight * (m0 * x + m1 * y)
    cross = 0.5 * weight * (m0 * y + m1 * x)
    hessian[at, at + 1] += cross
    hessian[at + 1, at] += cross
    hessian[at, at + 2] += 0.5 * weight * m2 * x
    hessian[at + 2, at] += 0.5 * weight * m2 * x
    hessian[at + 1, at + 2] += 0.5 * weight * m2 * y
    hessian[at + 2, at + 1] += 0.5 * weight * m2 * y
