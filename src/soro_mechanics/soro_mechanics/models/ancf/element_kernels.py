# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the 24-coordinate beam element of Huang 2022: gradient and Hessian of eq (27).

A node has the coordinates (r, x, y, z) = (r, r_X, r_Y, r_Z) of eq (1). Bending and stretch depend
on d = (r2 - r1) / L, x1 and x2 only, torsion on the y and z of both nodes, and the constraints
(24) on one node each, so that the 24 x 24 Hessian is never formed.
"""

import numpy as np

from soro_mechanics.numerics.kernels import kernel
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    cross,
    dot,
    minus,
    plus,
    plus_cross,
    put_vector,
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
    """Bending and stretch in a = (d, x1, x2).

    Writes the gradients (3, 3) of both energies and the Hessian (3, 3, 3, 3) of their sum,
    hess[a, b] being a symmetric 3 x 3 block; only a <= b is written.
    """
    a = np.empty((3, 3))
    for i in range(3):
        a[0, i] = (q2[i] - q1[i]) / length
        a[1, i] = q1[3 + i]
        a[2, i] = q2[3 + i]
    per_length = ei / length
    for m in range(3):
        for i in range(3):
            total = 0.0
            for n in range(3):
                total += _BENDING[m, n] * a[n, i]
            grad_b[m, i] = per_length * total
            grad_s[m, i] = 0.0
        for n in range(m, 3):
            diagonal = per_length * _BENDING[m, n]
            for i in range(3):
                for j in range(3):
                    hess[m, n, i, j] = 0.0
                hess[m, n, i, i] = diagonal
    for k in range(5):
        s0 = _SLOPE[0, k]
        s1 = _SLOPE[1, k]
        s2 = _SLOPE[2, k]
        v0 = s0 * a[0, 0] + s1 * a[1, 0] + s2 * a[2, 0]
        v1 = s0 * a[0, 1] + s1 * a[1, 1] + s2 * a[2, 1]
        v2 = s0 * a[0, 2] + s1 * a[1, 2] + s2 * a[2, 2]
        strain = 0.5 * (v0 * v0 + v1 * v1 + v2 * v2 - 1.0)
        weight = _WEIGHT[k] * ea * length
        for m in range(3):
            scaled = weight * _SLOPE[m, k]
            grad_s[m, 0] += scaled * strain * v0
            grad_s[m, 1] += scaled * strain * v1
            grad_s[m, 2] += scaled * strain * v2
            for n in range(m, 3):
                c = scaled * _SLOPE[n, k]
                hess[m, n, 0, 0] += c * (v0 * v0 + strain)
                hess[m, n, 0, 1] += c * v0 * v1
                hess[m, n, 0, 2] += c * v0 * v2
                hess[m, n, 1, 1] += c * (v1 * v1 + strain)
                hess[m, n, 1, 2] += c * v1 * v2
                hess[m, n, 2, 2] += c * (v2 * v2 + strain)
    for m in range(3):
        for n in range(m, 3):
            hess[m, n, 1, 0] = hess[m, n, 0, 1]
            hess[m, n, 2, 0] = hess[m, n, 0, 2]
            hess[m, n, 2, 1] = hess[m, n, 1, 2]


@kernel
def add_element(q1, q2, length, rigidity, first, second, work):
    """Add one element to the rows of its two nodes.

    Parameters
    ----------
    rigidity : tuple
        Bending, torsional, axial.
    first : ndarray, shape (12, 26)
        Row of node 1: its 12 columns, the 12 columns of node 2, gradient, d gradient / d length.
    second : ndarray, shape (12, 26)
        Row of node 2, in the same layout; only its own 12 columns and the last two change.
    work : tuple
        Scratch: grad_b (3, 3), grad_s (3, 3), hess (3, 3, 3, 3).
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
    for i in range(3):
        # total derivative of (g_d, g_x1, g_x2) by the length: d = (r2 - r1) / L moves too
        moved_d = moved_1 = moved_2 = 0.0
        for j in range(3):
            d = (q2[j] - q1[j]) * inverse
            moved_d += hess[0, 0, i, j] * d
            moved_1 += hess[0, 1, i, j] * d
            moved_2 += hess[0, 2, i, j] * d
        g_d = grad_b[0, i] + grad_s[0, i]
        by_d = (grad_s[0, i] - grad_b[0, i] - moved_d) * inverse
        by_1 = (grad_s[1, i] - grad_b[1, i] - moved_1) * inverse
        by_2 = (grad_s[2, i] - grad_b[2, i] - moved_2) * inverse
        force = g_d * inverse
        force_by = (by_d - g_d * inverse) * inverse
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
    """Torsion GI / 2 k_t^2 L with k_t = (z1.y2 - z2.y1) / (2 L).

    This is the skew part of R^T R' in eq (25) for the linear interpolation of (5); it is
    constant along the element.
    """
    turn = 0.0
    for i in range(3):
        turn += q1[9 + i] * q2[6 + i] - q2[9 + i] * q1[6 + i]
    c = gi / (4.0 * length)
    g = c * turn
    for i in range(3):
        y1, z1, y2, z2 = q1[6 + i], q1[9 + i], q2[6 + i], q2[9 + i]
        first[6 + i, 24] -= g * z2
        first[9 + i, 24] += g * y2
        second[6 + i, 24] += g * z1
        second[9 + i, 24] -= g * y1
        first[6 + i, 25] += g * z2 / length
        first[9 + i, 25] -= g * y2 / length
        second[6 + i, 25] -= g * z1 / length
        second[9 + i, 25] += g * y1 / length
        for j in range(3):
            y1j, z1j, y2j, z2j = q1[6 + j], q1[9 + j], q2[6 + j], q2[9 + j]
            first[6 + i, 6 + j] += c * z2 * z2j
            first[6 + i, 9 + j] -= c * z2 * y2j
            first[9 + i, 6 + j] -= c * y2 * z2j
            first[9 + i, 9 + j] += c * y2 * y2j
            first[6 + i, 18 + j] -= c * z2 * z1j
            first[6 + i, 21 + j] += c * z2 * y1j
            first[9 + i, 18 + j] += c * y2 * z1j
            first[9 + i, 21 + j] -= c * y2 * y1j
            second[6 + i, 6 + j] += c * z1 * z1j
            second[6 + i, 9 + j] -= c * z1 * y1j
            second[9 + i, 6 + j] -= c * y1 * z1j
            second[9 + i, 9 + j] += c * y1 * y1j
        first[6 + i, 21 + i] -= g
        first[9 + i, 18 + i] += g


@kernel
def constraints(q, out):
    """Write F of eq (24) for one node: y.y - 1, z.z - 1, y.z, y x z - x."""
    out[0] = out[1] = -1.0
    out[2] = 0.0
    for i in range(3):
        out[0] += q[6 + i] * q[6 + i]
        out[1] += q[9 + i] * q[9 + i]
        out[2] += q[6 + i] * q[9 + i]
    flaw = minus(cross(vector_at(q, 6, 1), vector_at(q, 9, 1)), vector_at(q, 3, 1))
    put_vector(out, 3, 1, flaw)


@kernel
def add_constraints(q, length, alpha, row, flaw):
    """Add the penalty alpha L |F|^2 of an interior node: half from each of its two elements."""
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
