# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the 24-coordinate beam element of Huang 2022: gradient and Hessian of eq (27).

A node has the coordinates q (12,) = (r, x, y, z) = (r, r_X, r_Y, r_Z) of eq (1), r [m], base axes.
Bending and stretch depend on d = (r2 - r1) / L, x1 and x2 only, torsion on the y and z of both
nodes, and the constraints (24) on one node each, so that the 24 x 24 Hessian is never formed. A
node's row (12, 26): its own 12 columns of the Hessian, the next node's, gradient, its d/dL.

Source: Huang (2022), IEEE Trans. Robotics, eqs (5), (7), (24)-(27); derivatives derived here,
checked by differences in test_ancf_element.py.
"""

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    cross,
    dot,
    minus,
    plus,
    plus_cross,
    put_vector,
    row_at,
    times,
    vector_at,
)

# Five Gauss points: the Green strain squared is a polynomial of degree 8, so this is exact.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)
_XI = 0.5 * (_NODES + 1.0)
_WEIGHT = 0.5 * _WEIGHTS
# r_X = slope[0] d + slope[1] x1 + slope[2] x2: derivatives of the shape functions (7)
_SLOPE = np.stack(
    [6.0 * _XI * (1.0 - _XI), 1.0 - 4.0 * _XI + 3.0 * _XI**2, 3.0 * _XI**2 - 2.0 * _XI]
)
# L int |r_XX|^2 dX = a^T BENDING a with a = (d, x1, x2): exact
_BENDING = np.array([[12.0, -6.0, -6.0], [-6.0, 4.0, 2.0], [-6.0, 2.0, 4.0]])


@kernel
def centreline(q1, q2, length, ei, ea, grad_b, grad_s, hess):
    """Write gradients and Hessian [N m] of bending and stretch by a = (d, x1, x2).

    Energy EI / (2 L) a^T _BENDING a + EA L / 2 sum_k _WEIGHT_k e_k^2, e = (v . v - 1) / 2 (26)
    with v = r_X = sum_m _SLOPE_mk a_m at Gauss point k. q1, q2 (12,): nodes; length: L [m]; ei: EI
    [N m^2]; ea: EA [N]; grad_b, grad_s (3, 3): out, of bending, of stretch, rows by a; hess
    (3, 3, 3, 3): out, of both, hess[m, n] a symmetric 3 x 3 block, m <= n only.
    """
    way = minus(vector_at(q2, 0, 1), vector_at(q1, 0, 1))
    d, x1, x2 = times(1.0 / length, way), vector_at(q1, 3, 1), vector_at(q2, 3, 1)
    per_length = ei / length
    for m in range(3):
        bent = plus(times(_BENDING[m, 0], d), times(_BENDING[m, 1], x1))
        bent = plus(bent, times(_BENDING[m, 2], x2))
        put_vector(grad_b[m], 0, 1, times(per_length, bent))
        put_vector(grad_s[m], 0, 1, (0.0, 0.0, 0.0))
        for n in range(m, 3):
            for i in range(3):
                for j in range(3):
                    hess[m, n, i, j] = per_length * _BENDING[m, n] if i == j else 0.0
    for k in range(5):
        v = plus(times(_SLOPE[0, k], d), times(_SLOPE[1, k], x1))
        v = plus(v, times(_SLOPE[2, k], x2))
        strain = 0.5 * (dot(v, v) - 1.0)
        weight = _WEIGHT[k] * ea * length
        for m in range(3):
            scaled = weight * _SLOPE[m, k]
            for i in range(3):
                grad_s[m, i] += scaled * strain * v[i]
            for n in range(m, 3):
                c = scaled * _SLOPE[n, k]
                for i in range(3):
                    hess[m, n, i, i] += c * strain
                    for j in range(3):
                        hess[m, n, i, j] += c * v[i] * v[j]


@kernel
def add_element(q1, q2, length, rigidity, first, second, work):
    """Add bending, stretch and torsion, eq (27) without alpha, of one element to its nodes' rows.

    The gradient by r2 is g_d / L, that by r1 its opposite; d/dL moves d too. q1, q2 (12,): nodes;
    length: L [m]; rigidity: EI, GI [N m^2], EA [N]; first, second (12, 26): rows of the nodes, of
    `second` its own columns and the last two only; work: scratch grad_b, grad_s (3, 3), hess
    (3, 3, 3, 3).
    """
    ei, gi, ea = rigidity
    grad_b, grad_s, hess = work
    centreline(q1, q2, length, ei, ea, grad_b, grad_s, hess)
    inverse = 1.0 / length
    square = inverse * inverse
    for i in range(3):
        for j in range(3):
            dd = hess[0, 0, i, j] * square
            d1 = hess[0, 1, i, j] * inverse
            d2 = hess[0, 2, i, j] * inverse
            x1 = hess[1, 1, i, j]
            x2 = hess[2, 2, i, j]
            x12 = hess[1, 2, i, j]
            first[i, j] += dd
            first[i, 3 + j] -= d1
            first[3 + i, 3 + j] += x1
            first[3 + i, j] -= d1
            first[i, 12 + j] -= dd
            first[i, 15 + j] -= d2
            first[3 + i, 12 + j] += d1
            first[3 + i, 15 + j] += x12
            second[i, j] += dd
            second[i, 3 + j] += d2
            second[3 + i, j] += d2
            second[3 + i, 3 + j] += x2
    d = times(inverse, minus(vector_at(q2, 0, 1), vector_at(q1, 0, 1)))
    for i in range(3):
        # total derivative of (g_d, g_x1, g_x2) by the length: d = (r2 - r1) / L moves too
        by_d = (grad_s[0, i] - grad_b[0, i] - dot(row_at(hess[0, 0], i, 0), d)) * inverse
        by_1 = (grad_s[1, i] - grad_b[1, i] - dot(row_at(hess[0, 1], i, 0), d)) * inverse
        by_2 = (grad_s[2, i] - grad_b[2, i] - dot(row_at(hess[0, 2], i, 0), d)) * inverse
        force = (grad_b[0, i] + grad_s[0, i]) * inverse
        force_by = (by_d - force) * inverse
        first[i, 24] -= force
        first[i, 25] -= force_by
        first[3 + i, 24] += grad_b[1, i] + grad_s[1, i]
        first[3 + i, 25] += by_1
        second[i, 24] += force
        second[i, 25] += force_by
        second[3 + i, 24] += grad_b[2, i] + grad_s[2, i]
        second[3 + i, 25] += by_2
    _add_torsion(q1, q2, length, gi, first, second)


@kernel
def _add_torsion(q1, q2, length, gi, first, second):
    """Add torsion GI / 2 k_t^2 L with k_t = (z1.y2 - z2.y1) / (2 L): gi; rest as `add_element`.

    This is the skew part of R^T R' in eq (25) for the linear interpolation of (5); it is constant
    along the element (q1, q2, length, first, second).
    """
    y1, z1 = vector_at(q1, 6, 1), vector_at(q1, 9, 1)
    y2, z2 = vector_at(q2, 6, 1), vector_at(q2, 9, 1)
    by_first, by_second = times(-1.0, z2) + y2, z1 + times(-1.0, y1)  # of the turn
    c = gi / (4.0 * length)
    g = c * (dot(z1, y2) - dot(z2, y1))
    for i in range(6):
        first[6 + i, 24] += g * by_first[i]
        second[6 + i, 24] += g * by_second[i]
        first[6 + i, 25] -= g / length * by_first[i]
        second[6 + i, 25] -= g / length * by_second[i]
        for j in range(6):
            first[6 + i, 6 + j] += c * by_first[i] * by_first[j]
            first[6 + i, 18 + j] += c * by_first[i] * by_second[j]
            second[6 + i, 6 + j] += c * by_second[i] * by_second[j]
    for i in range(3):
        first[6 + i, 21 + i] -= g
        first[9 + i, 18 + i] += g


@kernel
def constraints(q, out):
    """Write F (6,) of eq (24) of a node q (12,) to out: y.y - 1, z.z - 1, y.z, y x z - x."""
    y, z = vector_at(q, 6, 1), vector_at(q, 9, 1)
    out[0], out[1], out[2] = dot(y, y) - 1.0, dot(z, z) - 1.0, dot(y, z)
    put_vector(out, 3, 1, minus(cross(y, z), vector_at(q, 3, 1)))


@kernel
def add_constraints(q, length, alpha, row, flaw):
    """Add the penalty alpha L |F|^2 of an interior node: half from each of its two elements.

    Gradient 2 alpha L J^T F, Hessian 2 alpha L (J^T J + sum_i F_i d2F_i), J = dF/dq. q (12,);
    length: L; alpha [N]; row: added to; flaw: out, F.
    """
    constraints(q, flaw)
    y, z, h = vector_at(q, 6, 1), vector_at(q, 9, 1), vector_at(flaw, 3, 1)
    c = 2.0 * alpha * length
    by_y = plus_cross(plus(times(2.0 * flaw[0], y), times(flaw[2], z)), z, h)
    by_z = plus_cross(plus(times(2.0 * flaw[1], z), times(flaw[2], y)), h, y)
    for i in range(3):
        row[3 + i, 24] -= c * h[i]
        row[6 + i, 24] += c * by_y[i]
        row[9 + i, 24] += c * by_z[i]
        row[3 + i, 25] -= c / length * h[i]
        row[6 + i, 25] += c / length * by_y[i]
        row[9 + i, 25] += c / length * by_z[i]
    # J^T J + sum F d2F, where y.z of the one cancels F2 of the other
    own_y = 2.0 * flaw[0] + dot(z, z)
    own_z = 2.0 * flaw[1] + dot(y, y)
    for i in range(3):
        row[3 + i, 3 + i] += c
        row[6 + i, 6 + i] += c * own_y
        row[9 + i, 9 + i] += c * own_z
        for j in range(3):
            row[6 + i, 6 + j] += 4.0 * c * q[6 + i] * q[6 + j]
            row[9 + i, 9 + j] += 4.0 * c * q[9 + i] * q[9 + j]
            mixed = c * (q[9 + i] * q[6 + j] + q[6 + i] * q[9 + j])
            row[6 + i, 9 + j] += mixed
            row[9 + j, 6 + i] += mixed
    for i, j, a in ((3, 6, times(c, z)), (3, 9, times(-c, y)), (6, 9, times(-c, h))):
        add_hat(row, i, j, a)
        add_hat(row, j, i, times(-1.0, a))
