# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Statics of eight rod pieces at once: Runge-Kutta 4 of the rod and of its variation.

A piece is integrated in the frame of its first end A, h = g_A^-1 g. W = (n, m) is the wrench that
the part beyond a section exerts on the part before it, about the origin of A in the axes of A.
Without weight W is constant and

    h' = h hat(xi),   xi = e0 + c F,   F = Ad_h^T W,                       c diagonal (flexibility)
    zeta' = Ad_h (c Ad_h^T (dW + B(W) zeta) + de0)

where zeta is the spatial twist of the variation and B((n, m)) (v, w) = (n x w, n x v + m x w).
Weight per length mu q adds n = n0 - Q q, m = m0 - M with Q' = mu, M' = mu p x q.

Every array is flat with the lane as the last, contiguous index, so that the compiler turns each
inner loop into vector instructions. Components of the state y: R (9, row by row), p (3) [m], M (3)
[kg m], Q (1) [kg], then per column of the variation v (3), w (3), dM (3). Below load (LOAD LANES,)
is n0 [N], m0 [N m], q [m/s^2] and the step [m]; table (TABLE LANES,) the section e0, c, mu [kg/m];
k a lane; lanes is LANES.

Source: rod of Shi (2023), eqs 8-11, in these coordinates; weight and variation are derived here,
checked by differences and order in test_network_kernels.py and test_network_variation.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import fused_kernel, merged_kernel
from soro_mechanics.numerics.vector_kernels import (
    cross,
    dot,
    each,
    minus,
    number_at,
    plus,
    plus_cross,
    put_number,
    put_vector,
    times,
    turned,
    turned_back,
    vector_at,
)

LANES = 8
BASE = 16  # components before the first column
COLUMN = 9  # components of a column
TABLE = 13  # rest strain (6), flexibility (6), mass per length (1)
LOAD = 10  # n0 (3), m0 (3), q (3), step (1)
# Of Runge-Kutta's four stages: share of the step, and how far ahead the next one looks.
WEIGHT = (1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0)
AHEAD = (0.5, 0.5, 1.0, 0.0)


class Variation(NamedTuple):
    """The columns of the variation that are carried along."""

    columns: int  # 0 integrates the shape alone
    drive: NDArray[np.float64]  # (columns, 9) change of the wrench at A (6) and of the weight (3)
    shift: NDArray[np.float64]  # (columns * 6 * LANES,) change of the rest strain
    heavy: bool


@merged_kernel
def rotation_of(y, k):
    """Return R of lane k of the state y, row by row."""
    return vector_at(y, k, 8) + vector_at(y, 24 + k, 8) + vector_at(y, 48 + k, 8)


@merged_kernel
def section_parts(y, load, table, k):
    """Return force n and moment u = m - p x n at the section of lane k, axes of A; its strain.

    n = n0 - Q q, m = m0 - M [N, N m]; e0 + c (R' n, R' u) in two parts; y, load, table: above.
    """
    r = rotation_of(y, k)
    n = minus(vector_at(load, k, 8), times(number_at(y, 120 + k), vector_at(load, 48 + k, 8)))
    m = minus(vector_at(load, 24 + k, 8), vector_at(y, 96 + k, 8))
    u = plus_cross(m, n, vector_at(y, 72 + k, 8))
    v = each(vector_at(table, 48 + k, 8), turned_back(r, n))
    w = each(vector_at(table, 72 + k, 8), turned_back(r, u))
    return n, u, plus(vector_at(table, k, 8), v), plus(vector_at(table, 24 + k, 8), w)


@fused_kernel
def base_rate(y, load, table, rate, lanes):
    """Write step (R hat(w), R v, mu p x q, mu) of all lanes to rate; y, load, table, lanes."""
    for k in range(lanes):
        step = number_at(load, 72 + k)
        _, _, v, w = section_parts(y, load, table, k)
        w = times(step, w)
        put_vector(rate, k, 8, cross(vector_at(y, k, 8), w))
        put_vector(rate, 24 + k, 8, cross(vector_at(y, 24 + k, 8), w))
        put_vector(rate, 48 + k, 8, cross(vector_at(y, 48 + k, 8), w))
        put_vector(rate, 72 + k, 8, times(step, turned(rotation_of(y, k), v)))
        mu = step * number_at(table, 96 + k)
        moment = cross(vector_at(y, 72 + k, 8), vector_at(load, 48 + k, 8))
        put_vector(rate, 96 + k, 8, times(mu, moment))
        put_number(rate, 120 + k, mu)


@fused_kernel
def _light_rate(y, load, table, columns, drive, shift, rate, lanes):
    """Write step * d/ds of (v, w) of every column, as without weight: the formula of zeta' above.

    y, load, table, lanes: above; columns: how many; drive (columns, 9): dW [N, N m] and dq of
    each; shift (columns 6 LANES,): de0; rate, like y: out.
    """
    for c in range(columns):
        z = y[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        out = rate[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        bend = shift[c * 48 : c * 48 + 48]
        push = drive[c, 0], drive[c, 1], drive[c, 2]
        turn = drive[c, 3], drive[c, 4], drive[c, 5]
        for k in range(lanes):
            r, p, h = rotation_of(y, k), vector_at(y, 72 + k, 8), number_at(load, 72 + k)
            v, w = vector_at(z, k, 8), vector_at(z, 24 + k, 8)
            n = minus(
                vector_at(load, k, 8), times(number_at(y, 120 + k), vector_at(load, 48 + k, 8))
            )
            m = minus(vector_at(load, 24 + k, 8), vector_at(y, 96 + k, 8))
            f = plus_cross(push, n, w)
            u = plus_cross(plus_cross(plus_cross(turn, n, v), m, w), f, p)
            e = each(vector_at(table, 48 + k, 8), turned_back(r, f))
            a = each(vector_at(table, 72 + k, 8), turned_back(r, u))
            e = turned(r, plus(vector_at(bend, k, 8), e))
            a = turned(r, plus(vector_at(bend, 24 + k, 8), a))
            put_vector(out, k, 8, times(h, plus_cross(e, p, a)))
            put_vector(out, 24 + k, 8, times(h, a))


@fused_kernel
def _weight_rate(y, load, table, columns, drive, rate, lanes):
    """Add what the weight does to every column: dW lacks (-Q dq, -dM) so far.

    dM' = mu ((v + w x p) x q + p x dq); y, load, table, columns, drive, rate, lanes: as there.
    """
    for c in range(columns):
        z = y[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        out = rate[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        turn = drive[c, 6], drive[c, 7], drive[c, 8]
        for k in range(lanes):
            r, p, h = rotation_of(y, k), vector_at(y, 72 + k, 8), number_at(load, 72 + k)
            f = times(-number_at(y, 120 + k), turn)
            u = minus(cross(f, p), vector_at(z, 48 + k, 8))
            e = turned(r, each(vector_at(table, 48 + k, 8), turned_back(r, f)))
            a = times(h, turned(r, each(vector_at(table, 72 + k, 8), turned_back(r, u))))
            put_vector(out, 24 + k, 8, plus(vector_at(out, 24 + k, 8), a))
            put_vector(out, k, 8, plus(vector_at(out, k, 8), plus_cross(times(h, e), p, a)))
            # the point moves by v + w x p
            x = plus_cross(vector_at(z, k, 8), vector_at(z, 24 + k, 8), p)
            moment = plus_cross(cross(x, vector_at(load, 48 + k, 8)), p, turn)
            put_vector(out, 48 + k, 8, times(h * number_at(table, 96 + k), moment))


@fused_kernel
def orthonormalise(y, lanes):
    """Pull each R in y back to a rotation: (3 - R R') R / 2, a Newton step; lanes: LANES."""
    for k in range(lanes):
        a, b, c = vector_at(y, k, 8), vector_at(y, 24 + k, 8), vector_at(y, 48 + k, 8)
        ab, ac, bc = -0.5 * dot(a, b), -0.5 * dot(a, c), -0.5 * dot(b, c)
        aa, bb, cc = 1.5 - 0.5 * dot(a, a), 1.5 - 0.5 * dot(b, b), 1.5 - 0.5 * dot(c, c)
        put_vector(y, k, 8, plus(times(aa, a), plus(times(ab, b), times(ac, c))))
        put_vector(y, 24 + k, 8, plus(times(ab, a), plus(times(bb, b), times(bc, c))))
        put_vector(y, 48 + k, 8, plus(times(ac, a), plus(times(bc, b), times(cc, c))))


@fused_kernel
def integrate_lanes(load, tables, steps, v, work, path, lanes):
    """Integrate eight pieces from A to B; the result stands in work[0].

    The classical method: y + (k1 + 2 k2 + 2 k3 + k4) / 6. load: above; tables (2 steps + 1, TABLE
    LANES): section at every half step; v: Variation; work (4, (BASE + COLUMN columns) LANES); path
    (steps + 1, size): first components of the state after every step (R and p where size = 12
    LANES), size 0: not kept; lanes: LANES, an argument, because a trip count known at compile time
    is unrolled into scalar instructions instead of vector ones.
    """
    size = (BASE + COLUMN * v.columns) * LANES
    y = work[0, :size]
    stage = work[1, :size]
    rate = work[2, :size]
    total = work[3, :size]
    y[:] = 0.0
    for k in range(lanes):
        y[k] = y[32 + k] = y[64 + k] = 1.0
    keep = path.shape[1]
    for j in range(keep):
        path[0, j] = y[j]
    for i in range(steps):
        for j in range(size):
            stage[j] = y[j]
            total[j] = y[j]
        for part in range(4):
            table = tables[2 * i + (part + 1) // 2]
            base_rate(stage, load, table, rate, lanes)
            _light_rate(stage, load, table, v.columns, v.drive, v.shift, rate, lanes)
            if v.heavy:
                _weight_rate(stage, load, table, v.columns, v.drive, rate, lanes)
            weight = WEIGHT[part]
            ahead = AHEAD[part]
            for j in range(size):
                total[j] += weight * rate[j]
                stage[j] = y[j] + ahead * rate[j]
        for j in range(size):
            y[j] = total[j]
        orthonormalise(y, lanes)
        for j in range(keep):
            path[i + 1, j] = y[j]


def unit_drive(heavy: bool, shifts: int) -> np.ndarray:
    """Return `drive` for the six wrench components, the weight if any, and rest strains."""
    return np.vstack([np.eye(6 + 3 * heavy, 9), np.zeros((shifts, 9))])
