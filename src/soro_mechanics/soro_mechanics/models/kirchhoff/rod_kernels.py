# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the inextensible rod of Chen 2022: energy in unit quaternions, scalar first.

Curvature of an element by the finite difference w = 2 vec(q* q') at its middle, which for nodes a,
b is 2 vec(a* b) / h; positions by Simpson's rule along R e3, eqs (46)-(47). Rotations change by
increments in the body frame, q <- q exp(eta / 2), so that every quaternion keeps its norm (39).

The rod is cut into modules between constraint disks. Multipliers F, one vector per module, hold
rho = sum weight R e3, the vector from disk to disk: they are the internal force that acts beside
the known loads. A module's interior nodes are eliminated onto (first node, last node, F).
Arguments: q (n, 4); h: of an element [m]; stiffness (3,): A, B, C [N m^2]; force (m, 3): F [N].

Source: Chen (2022), Front. Mech. Eng. 17(2), eqs (39), (42), (46)-(47); derivatives and
elimination derived here, checked by differences and the dense system in test_kirchhoff_rod.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.numerics.dense_kernels import invert_three
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    column_at,
    cross,
    dot,
    each,
    in_axes,
    minus,
    plus,
    plus_cross,
    put_vector,
    row_at,
    times,
    vector_at,
)

MAX_TURN = 0.6  # rad: a Newton step that turns any node further is scaled down


class RodWork(NamedTuple):
    """The tangent of the nodes (n,)."""

    gradient: NDArray[np.float64]  # (n, 3)
    diagonal: NDArray[np.float64]  # (n, 3, 3)
    coupling: NDArray[np.float64]  # (n, 3, 3) to the next node
    # (n, 3, 3) d gradient / d F = -weight [e3]x R^T; at a disk for one of the two modules that
    # meet there (they are equal)
    lever: NDArray[np.float64]
    factor: NDArray[np.float64]  # (n, 3, 10) P^-1 [first, F, next, gradient] where eliminated
    step: NDArray[np.float64]  # (n, 3)


@kernel
def rotation_of(q, out):
    """Write the rotation matrix of a unit quaternion q (4,), eq (42), to out (3, 3) or larger."""
    w, x, y, z = q[0], q[1], q[2], q[3]
    out[0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[0, 1] = 2.0 * (x * y - w * z)
    out[0, 2] = 2.0 * (x * z + w * y)
    out[1, 0] = 2.0 * (x * y + w * z)
    out[1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[1, 2] = 2.0 * (y * z - w * x)
    out[2, 0] = 2.0 * (x * z - w * y)
    out[2, 1] = 2.0 * (y * z + w * x)
    out[2, 2] = 1.0 - 2.0 * (x * x + y * y)


@merged_kernel
def axis_of(q, n):
    """Return R e3 of node n of q (nodes, 4)."""
    w, x, y, z = q[n, 0], q[n, 1], q[n, 2], q[n, 3]
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@kernel
def turn_quaternion(q, turn):
    """Apply the body rotation vector `turn` (3,) to q in place and normalise: q exp(turn / 2)."""
    half = 0.5 * math.sqrt(dot(turn, turn))
    c = math.cos(half)
    p = times(0.5 * (math.sin(half) / half if half > 1e-8 else 1.0), turn)
    w, v = q[0], vector_at(q, 1, 1)
    w, v = w * c - dot(v, p), plus_cross(plus(times(w, p), times(c, v)), v, p)
    norm = 1.0 / math.sqrt(w * w + dot(v, v))
    q[0] = norm * w
    put_vector(q, 1, 1, times(norm, v))


@kernel
def turn_nodes(q, step):
    """Turn all nodes of q by a step, by less where too long; return its part, 0 where absurd."""
    largest = 0.0
    for n in range(1, q.shape[0]):
        turn = row_at(step, n, 0)
        largest = max(largest, dot(turn, turn))
    largest = math.sqrt(largest)
    if not largest < 1e6:
        return 0.0
    part = 1.0 if largest <= MAX_TURN else MAX_TURN / largest
    for n in range(1, q.shape[0]):
        turn_quaternion(q[n], times(part, row_at(step, n, 0)))
    return part


@kernel
def simpson_weight(place):
    """Return the weight, in units of h / 3, of an interior node by its place in the module."""
    return 4.0 if place % 2 == 1 else 2.0


@kernel
def module_vectors(q, h, modules, rho):
    """Write rho (modules, 3), h / 3 sum w R e3 of q over every module, w = 1, 4, 2, ... 4, 1."""
    per = (q.shape[0] - 1) // modules
    for t in range(modules):
        total = 0.0, 0.0, 0.0
        for k in range(per + 1):
            weight = 1.0 if k == 0 or k == per else simpson_weight(k)
            total = plus(total, times(weight, axis_of(q, t * per + k)))
        for i in range(3):
            rho[t, i] = total[i] * h / 3.0


@kernel
def _add_element(a, b, stiffness, h, e, gradient, diagonal, coupling):
    """Add 2 / h v . S v, S = diag(stiffness), v = vec(a* b), to gradient and Hessian (exact).

    Body increments: dv = M eta_b - M^T eta_a, M = (p + [v]x) / 2, p the scalar of a* b. a, b:
    nodes e, e + 1; gradient (n, 3), diagonal (n, 3, 3): added to; coupling (n, 3, 3): out at e.
    """
    start, end = vector_at(a, 1, 1), vector_at(b, 1, 1)
    p = a[0] * b[0] + dot(start, end)
    v = minus(minus(times(a[0], end), times(b[0], start)), cross(start, end))
    d = times(4.0 / h, vector_at(stiffness, 0, 1))
    f = each(d, v)
    # dv = M_a eta_a + M_b eta_b, M_b = (p + [v]x) / 2, M_a = -M_b^T
    x, y, z = times(0.5, v)
    p *= 0.5
    m = ((p, -z, y), (z, p, -x), (-y, x, p))
    back = ((p, z, -y), (-z, p, x), (y, -x, p))
    bend = -0.25 * dot(f, v)
    for i in range(3):
        gradient[e, i] -= dot(m[i], f)
        gradient[e + 1, i] += dot(back[i], f)
        diagonal[e, i, i] += bend
        diagonal[e + 1, i, i] += bend
        for j in range(3):
            diagonal[e, i, j] += dot(each(d, m[i]), m[j])
            diagonal[e + 1, i, j] += dot(each(d, back[i]), back[j])
            coupling[e, i, j] = 0.25 * (v[i] * f[j] + f[i] * v[j])
            coupling[e, i, j] -= dot(each(d, m[i]), back[j])
        coupling[e, i, i] += bend
    add_hat(coupling[e], 0, 0, times(0.5 * p, f))


@kernel
def rod_system(q, stiffness, h, dead, force, work):
    """Fill gradient, Hessian blocks, couplings and d gradient / d F of `RodWork`, work.

    Elements, and -p . R e3 of nodes with p = dead + weight F; gradient (R^T p) x e3. q, stiffness,
    h, force; dead (n, 3) [N m]: known loads, Simpson weight times the force beyond a node.
    """
    gradient, diagonal, coupling, lever, _, _ = work
    count = q.shape[0]
    modules = force.shape[0]
    per = (count - 1) // modules
    gradient[:] = diagonal[:] = 0.0
    for e in range(count - 1):
        _add_element(q[e], q[e + 1], stiffness, h, e, gradient, diagonal, coupling)
    r = np.empty((3, 3))
    third = h / 3.0
    for n in range(count):
        k = n % per
        t = n // per
        weight = third if k == 0 else third * simpson_weight(k)
        load = row_at(dead, n, 0)
        if k == 0 and n > 0:
            load = plus(load, times(third, row_at(force, t - 1, 0)))
        if n < count - 1:
            load = plus(load, times(weight, row_at(force, t, 0)))
        rotation_of(q[n], r)
        p0, p1, p2 = in_axes(r, load)
        gradient[n, 0] += p1
        gradient[n, 1] -= p0
        diagonal[n, 0, 0] += p2
        diagonal[n, 1, 1] += p2
        diagonal[n, 0, 2] -= 0.5 * p0
        diagonal[n, 2, 0] -= 0.5 * p0
        diagonal[n, 1, 2] -= 0.5 * p1
        diagonal[n, 2, 1] -= 0.5 * p1
        for j in range(3):
            lever[n, 0, j] = weight * r[j, 1]
            lever[n, 1, j] = -weight * r[j, 0]
            lever[n, 2, j] = 0.0


@merged_kernel
def _inner(a, i, b, j):
    """Return a[:, i] . b[:, j], columns of three numbers."""
    return dot(column_at(a, 0, i), column_at(b, 0, j))


@kernel
def eliminate_module(first, per, work, matrix, right):
    """Eliminate a module's interior nodes onto (first node, last node, F) of `RodWork`, work.

    Writes matrix (9, 9) and right (9,), which hold what elimination adds to the three blocks and
    the direct couplings, but not the end nodes' own diagonal blocks, and `factor` of the interior
    nodes; first: of nodes; per: elements. Returns the negative pivots.
    """
    gradient, diagonal, coupling, lever, factor, _ = work
    matrix[:] = right[:] = 0.0
    pivot = diagonal[first + 1].copy()
    inverse = np.empty((3, 3))
    row = np.zeros((3, 10))
    following = np.empty((3, 10))
    for i in range(3):
        for j in range(3):
            row[i, j] = coupling[first, j, i]
            row[i, 3 + j] = lever[first + 1, i, j]
        row[i, 9] = gradient[first + 1, i]
    negative = 0
    for k in range(1, per):
        n = first + k
        inner = k + 1 < per
        for i in range(3):
            for j in range(3):
                row[i, 6 + j] = coupling[n, i, j]
        negative += invert_three(pivot, inverse)
        x = factor[n]
        for i in range(3):
            for j in range(10):
                x[i, j] = _inner(inverse, i, row, j)  # of a symmetric matrix
        # onto first (rows 0-2) and F (rows 6-8 of the result)
        for i in range(3):
            for j in range(i, 3):
                matrix[i, j] -= _inner(row, i, x, j)
                matrix[6 + i, 6 + j] -= _inner(row, 3 + i, x, 3 + j)
            for j in range(3):
                matrix[i, 6 + j] -= _inner(row, i, x, 3 + j)
            right[i] -= _inner(row, i, x, 9)
            right[6 + i] -= _inner(row, 3 + i, x, 9)
        # the next node's row
        for i in range(3):
            for j in range(3):
                following[i, j] = -_inner(row, 6 + i, x, j)
                following[i, 3 + j] = -_inner(row, 6 + i, x, 3 + j)
                pivot[i, j] = -_inner(row, 6 + i, x, 6 + j)
                if inner:
                    following[i, 3 + j] += lever[n + 1, i, j]
                    pivot[i, j] += diagonal[n + 1, i, j]
            following[i, 9] = -_inner(row, 6 + i, x, 9)
            if inner:
                following[i, 9] += gradient[n + 1, i]
        row, following = following, row
    last = first + per
    for i in range(3):
        for j in range(3):
            matrix[3 + i, 3 + j] = pivot[i, j]
            matrix[j, 3 + i] = row[i, j]
            matrix[3 + i, 6 + j] = row[i, 3 + j] + lever[last, i, j]
            matrix[i, 6 + j] += lever[first, i, j]
        right[3 + i] = row[i, 9]
    for i in range(9):
        for j in range(i):
            matrix[i, j] = matrix[j, i]
    return negative


@kernel
def back_substitute(first, per, factor, start, end, force, out):
    """Write the increments out (n, 3) of a module's interior nodes for known ends and dF.

    out_n = -factor_n (start, force, out_(n+1), 1); first, per, factor: as of `eliminate_module`;
    start, end (3,).
    """
    for j in range(3):
        out[first + per, j] = end[j]
    for k in range(per - 1, 0, -1):
        n = first + k
        x = factor[n]
        for i in range(3):
            total = -x[i, 9]
            for j in range(3):
                total -= x[i, j] * start[j] + x[i, 3 + j] * force[j] + x[i, 6 + j] * out[n + 1, j]
            out[n, i] = total


@kernel
def station_poses(q, h, every, poses):
    """Write the poses (stations, 4, 4) of every so many nodes of q, h."""
    points = np.empty((q.shape[0], 3))
    positions(q, h, points)
    for k in range(poses.shape[0]):
        rotation_of(q[k * every], poses[k])
        for i in range(3):
            poses[k, i, 3] = points[k * every, i]
            poses[k, 3, i] = 0.0
        poses[k, 3, 3] = 1.0


@kernel
def positions(q, h, out):
    """Write node positions out (n, 3) by q, h: Simpson over pairs, its half-step rule between."""
    out[0] = 0.0
    for n in range(0, q.shape[0] - 2, 2):
        a, b, c = axis_of(q, n), axis_of(q, n + 1), axis_of(q, n + 2)
        for i in range(3):
            out[n + 1, i] = out[n, i] + h / 12.0 * (5.0 * a[i] + 8.0 * b[i] - c[i])
            out[n + 2, i] = out[n, i] + h / 3.0 * (a[i] + 4.0 * b[i] + c[i])
