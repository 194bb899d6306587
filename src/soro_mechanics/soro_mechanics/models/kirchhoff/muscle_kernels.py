# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the muscles between two constraint disks: lengths (54), bends and derivatives.

Muscle i of module t joins points at the same radius and angle beta_i = 120 i + 60 (t mod 2) deg
on the disks at both ends of the module (t counts from 1, i from 0). Three lengths over-determine
the two bends of an inextensible backbone, so that two combinations constrain the shape:
c1 = 2/3 sum l_i cos(beta_i), c2 = 2/3 sum l_i sin(beta_i); their mean is free.
"""

import math

import numpy as np

from soro_mechanics.models.kirchhoff.rod_kernels import module_vectors, rotation_of
from soro_mechanics.numerics.kernels import kernel


@kernel
def muscle_angle(module, i):
    """Return beta_i of a module counted from 0 [rad]."""
    return math.radians(120.0 * i + 60.0 * ((module + 1) % 2))


@kernel
def muscle_lengths(rho, start, end, module, radius, lengths):
    """Write three lengths for disk rotations `start`, `end` and the vector rho between them."""
    for i in range(3):
        beta = muscle_angle(module, i)
        x = radius * math.cos(beta)
        y = radius * math.sin(beta)
        total = 0.0
        for k in range(3):
            d = rho[k] + (end[k, 0] - start[k, 0]) * x + (end[k, 1] - start[k, 1]) * y
            total += d * d
        lengths[i] = math.sqrt(total)


@kernel
def shape_lengths(q, h, radius, lengths):
    """Write the muscle lengths (modules, 3) of a shape, eqs (52)-(54)."""
    modules = lengths.shape[0]
    per = (q.shape[0] - 1) // modules
    rho, start, end = np.empty((modules, 3)), np.empty((3, 3)), np.empty((3, 3))
    module_vectors(q, h, modules, rho)
    for t in range(modules):
        rotation_of(q[t * per], start)
        rotation_of(q[(t + 1) * per], end)
        muscle_lengths(rho[t], start, end, t, radius, lengths[t])


@kernel
def bends_of(lengths, module):
    """Return (c1, c2) of three lengths."""
    c1 = c2 = 0.0
    for i in range(3):
        beta = muscle_angle(module, i)
        c1 += lengths[i] * math.cos(beta)
        c2 += lengths[i] * math.sin(beta)
    return 2.0 / 3.0 * c1, 2.0 / 3.0 * c2


@kernel
def bend_constraints(rho, start, end, module, radius, multiplier, lengths, out):
    """Write lengths (3,), d(c1, c2) (2, 9) and sum of multiplier times second derivatives (9, 9).

    The latter two are `out`.

    Variables: rho in base axes, then the body increments of the first and of the last disk.
    """
    gradient, hessian = out
    gradient[:] = hessian[:] = 0.0
    d = np.empty(3)
    motion = np.zeros((3, 9))
    along = np.empty(9)
    for i in range(3):
        beta = muscle_angle(module, i)
        x = radius * math.cos(beta)
        y = radius * math.sin(beta)
        total = 0.0
        for k in range(3):
            d[k] = rho[k] + (end[k, 0] - start[k, 0]) * x + (end[k, 1] - start[k, 1]) * y
            total += d[k] * d[k]
        length = math.sqrt(total)
        lengths[i] = length
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
            along[j] = (d[0] * motion[0, j] + d[1] * motion[1, j] + d[2] * motion[2, j]) / length
        c = 2.0 / 3.0 * math.cos(beta)
        s = 2.0 / 3.0 * math.sin(beta)
        for j in range(9):
            gradient[0, j] += c * along[j]
            gradient[1, j] += s * along[j]
        weight = c * multiplier[0] + s * multiplier[1]
        for a in range(9):
            for b in range(9):
                inner = (
                    motion[0, a] * motion[0, b]
                    + motion[1, a] * motion[1, b]
                    + motion[2, a] * motion[2, b]
                )
                hessian[a, b] += weight / length * (inner - along[a] * along[b])
        _add_turn(hessian, 3, start, d, x, y, -weight / length)
        _add_turn(hessian, 6, end, d, x, y, weight / length)


@kernel
def _add_turn(hessian, at, rotation, d, x, y, weight):
    """Add d2 of d . R exp(eta) u: (m u^T + u m^T) / 2 - (m . u) I with m = R^T d."""
    m0 = rotation[0, 0] * d[0] + rotation[1, 0] * d[1] + rotation[2, 0] * d[2]
    m1 = rotation[0, 1] * d[0] + rotation[1, 1] * d[1] + rotation[2, 1] * d[2]
    m2 = rotation[0, 2] * d[0] + rotation[1, 2] * d[1] + rotation[2, 2] * d[2]
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
