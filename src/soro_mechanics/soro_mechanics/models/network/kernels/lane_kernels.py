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
inner loop into vector instructions. Components of the state: R (9, row by row), p (3), M (3),
Q (1), then per column of the variation v (3), w (3), dM (3).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.numerics.kernels import fused_kernel, merged_kernel

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
    """Return R of lane k, row by row."""
    return (
        y[k],
        y[8 + k],
        y[16 + k],
        y[24 + k],
        y[32 + k],
        y[40 + k],
        y[48 + k],
        y[56 + k],
        y[64 + k],
    )


@merged_kernel
def section_parts(y, load, table, k):
    """Return force n and moment u = m - p x n at the section of lane k, axes of A; its strain."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
    p0 = y[72 + k]
    p1 = y[80 + k]
    p2 = y[88 + k]
    weight = y[120 + k]
    n0 = load[k] - weight * load[48 + k]
    n1 = load[8 + k] - weight * load[56 + k]
    n2 = load[16 + k] - weight * load[64 + k]
    m0 = load[24 + k] - y[96 + k]
    m1 = load[32 + k] - y[104 + k]
    m2 = load[40 + k] - y[112 + k]
    u0 = m0 - (p1 * n2 - p2 * n1)
    u1 = m1 - (p2 * n0 - p0 * n2)
    u2 = m2 - (p0 * n1 - p1 * n0)
    v0 = table[k] + table[48 + k] * (r00 * n0 + r10 * n1 + r20 * n2)
    v1 = table[8 + k] + table[56 + k] * (r01 * n0 + r11 * n1 + r21 * n2)
    v2 = table[16 + k] + table[64 + k] * (r02 * n0 + r12 * n1 + r22 * n2)
    w0 = table[24 + k] + table[72 + k] * (r00 * u0 + r10 * u1 + r20 * u2)
    w1 = table[32 + k] + table[80 + k] * (r01 * u0 + r11 * u1 + r21 * u2)
    w2 = table[40 + k] + table[88 + k] * (r02 * u0 + r12 * u1 + r22 * u2)
    return n0, n1, n2, u0, u1, u2, v0, v1, v2, w0, w1, w2


@fused_kernel
def base_rate(y, load, table, rate, lanes):
    """Write step * d/ds of the 16 base components."""
    for k in range(lanes):
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
        p0 = y[72 + k]
        p1 = y[80 + k]
        p2 = y[88 + k]
        q0 = load[48 + k]
        q1 = load[56 + k]
        q2 = load[64 + k]
        step = load[72 + k]
        _, _, _, _, _, _, v0, v1, v2, w0, w1, w2 = section_parts(y, load, table, k)
        w0 *= step
        w1 *= step
        w2 *= step
        rate[k] = r01 * w2 - r02 * w1
        rate[8 + k] = r02 * w0 - r00 * w2
        rate[16 + k] = r00 * w1 - r01 * w0
        rate[24 + k] = r11 * w2 - r12 * w1
        rate[32 + k] = r12 * w0 - r10 * w2
        rate[40 + k] = r10 * w1 - r11 * w0
        rate[48 + k] = r21 * w2 - r22 * w1
        rate[56 + k] = r22 * w0 - r20 * w2
        rate[64 + k] = r20 * w1 - r21 * w0
        rate[72 + k] = step * (r00 * v0 + r01 * v1 + r02 * v2)
        rate[80 + k] = step * (r10 * v0 + r11 * v1 + r12 * v2)
        rate[88 + k] = step * (r20 * v0 + r21 * v1 + r22 * v2)
        mu = step * table[96 + k]
        rate[96 + k] = mu * (p1 * q2 - p2 * q1)
        rate[104 + k] = mu * (p2 * q0 - p0 * q2)
        rate[112 + k] = mu * (p0 * q1 - p1 * q0)
        rate[120 + k] = mu


@fused_kernel
def _light_rate(y, load, table, columns, drive, shift, rate, lanes):
    """Write step * d/ds of (v, w) of every column, as without weight."""
    step = load[72:80]
    for c in range(columns):
        z = y[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        out = rate[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        bend = shift[c * 48 : c * 48 + 48]
        d0, d1, d2 = drive[c, 0], drive[c, 1], drive[c, 2]
        d3, d4, d5 = drive[c, 3], drive[c, 4], drive[c, 5]
        for k in range(lanes):
            w0 = z[24 + k]
            w1 = z[32 + k]
            w2 = z[40 + k]
            weight = y[120 + k]
            n0 = load[k] - weight * load[48 + k]
            n1 = load[8 + k] - weight * load[56 + k]
            n2 = load[16 + k] - weight * load[64 + k]
            f0 = d0 + n1 * w2 - n2 * w1
            f1 = d1 + n2 * w0 - n0 * w2
            f2 = d2 + n0 * w1 - n1 * w0
            m0 = load[24 + k] - y[96 + k]
            m1 = load[32 + k] - y[104 + k]
            m2 = load[40 + k] - y[112 + k]
            v0 = z[k]
            v1 = z[8 + k]
            v2 = z[16 + k]
            p0 = y[72 + k]
            p1 = y[80 + k]
            p2 = y[88 + k]
            u0 = d3 + n1 * v2 - n2 * v1 + m1 * w2 - m2 * w1 - (p1 * f2 - p2 * f1)
            u1 = d4 + n2 * v0 - n0 * v2 + m2 * w0 - m0 * w2 - (p2 * f0 - p0 * f2)
            u2 = d5 + n0 * v1 - n1 * v0 + m0 * w1 - m1 * w0 - (p0 * f1 - p1 * f0)
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
            e0 = bend[k] + table[48 + k] * (r00 * f0 + r10 * f1 + r20 * f2)
            e1 = bend[8 + k] + table[56 + k] * (r01 * f0 + r11 * f1 + r21 * f2)
            e2 = bend[16 + k] + table[64 + k] * (r02 * f0 + r12 * f1 + r22 * f2)
            a0 = bend[24 + k] + table[72 + k] * (r00 * u0 + r10 * u1 + r20 * u2)
            a1 = bend[32 + k] + table[80 + k] * (r01 * u0 + r11 * u1 + r21 * u2)
            a2 = bend[40 + k] + table[88 + k] * (r02 * u0 + r12 * u1 + r22 * u2)
            b0 = r00 * a0 + r01 * a1 + r02 * a2
            b1 = r10 * a0 + r11 * a1 + r12 * a2
            b2 = r20 * a0 + r21 * a1 + r22 * a2
            h = step[k]
            out[24 + k] = h * b0
            out[32 + k] = h * b1
            out[40 + k] = h * b2
            out[k] = h * (r00 * e0 + r01 * e1 + r02 * e2 + p1 * b2 - p2 * b1)
            out[8 + k] = h * (r10 * e0 + r11 * e1 + r12 * e2 + p2 * b0 - p0 * b2)
            out[16 + k] = h * (r20 * e0 + r21 * e1 + r22 * e2 + p0 * b1 - p1 * b0)


@fused_kernel
def _weight_rate(y, load, table, columns, drive, rate, lanes):
    """Add what the weight does to every column: dW lacks (-Q dq, -dM) so far."""
    for c in range(columns):
        z = y[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        out = rate[(BASE + COLUMN * c) * LANES : (BASE + COLUMN * (c + 1)) * LANES]
        d6, d7, d8 = drive[c, 6], drive[c, 7], drive[c, 8]
        for k in range(lanes):
            p0 = y[72 + k]
            p1 = y[80 + k]
            p2 = y[88 + k]
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
            weight = y[120 + k]
            f0 = -weight * d6
            f1 = -weight * d7
            f2 = -weight * d8
            u0 = -z[48 + k] - (p1 * f2 - p2 * f1)
            u1 = -z[56 + k] - (p2 * f0 - p0 * f2)
            u2 = -z[64 + k] - (p0 * f1 - p1 * f0)
            e0 = table[48 + k] * (r00 * f0 + r10 * f1 + r20 * f2)
            e1 = table[56 + k] * (r01 * f0 + r11 * f1 + r21 * f2)
            e2 = table[64 + k] * (r02 * f0 + r12 * f1 + r22 * f2)
            a0 = table[72 + k] * (r00 * u0 + r10 * u1 + r20 * u2)
            a1 = table[80 + k] * (r01 * u0 + r11 * u1 + r21 * u2)
            a2 = table[88 + k] * (r02 * u0 + r12 * u1 + r22 * u2)
            h = load[72 + k]
            b0 = h * (r00 * a0 + r01 * a1 + r02 * a2)
            b1 = h * (r10 * a0 + r11 * a1 + r12 * a2)
            b2 = h * (r20 * a0 + r21 * a1 + r22 * a2)
            out[24 + k] += b0
            out[32 + k] += b1
            out[40 + k] += b2
            out[k] += h * (r00 * e0 + r01 * e1 + r02 * e2) + p1 * b2 - p2 * b1
            out[8 + k] += h * (r10 * e0 + r11 * e1 + r12 * e2) + p2 * b0 - p0 * b2
            out[16 + k] += h * (r20 * e0 + r21 * e1 + r22 * e2) + p0 * b1 - p1 * b0
            # the point moves by v + w x p
            x0 = z[k] + z[32 + k] * p2 - z[40 + k] * p1
            x1 = z[8 + k] + z[40 + k] * p0 - z[24 + k] * p2
            x2 = z[16 + k] + z[24 + k] * p1 - z[32 + k] * p0
            q0 = load[48 + k]
            q1 = load[56 + k]
            q2 = load[64 + k]
            mu = h * table[96 + k]
            out[48 + k] = mu * (x1 * q2 - x2 * q1 + p1 * d8 - p2 * d7)
            out[56 + k] = mu * (x2 * q0 - x0 * q2 + p2 * d6 - p0 * d8)
            out[64 + k] = mu * (x0 * q1 - x1 * q0 + p0 * d7 - p1 * d6)


@fused_kernel
def orthonormalise(y, lanes):
    """Pull each R back to a rotation: one Newton step of the polar decomposition."""
    for k in range(lanes):
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
        g00 = 1.5 - 0.5 * (r00 * r00 + r10 * r10 + r20 * r20)
        g11 = 1.5 - 0.5 * (r01 * r01 + r11 * r11 + r21 * r21)
        g22 = 1.5 - 0.5 * (r02 * r02 + r12 * r12 + r22 * r22)
        g01 = -0.5 * (r00 * r01 + r10 * r11 + r20 * r21)
        g02 = -0.5 * (r00 * r02 + r10 * r12 + r20 * r22)
        g12 = -0.5 * (r01 * r02 + r11 * r12 + r21 * r22)
        y[k] = r00 * g00 + r01 * g01 + r02 * g02
        y[8 + k] = r00 * g01 + r01 * g11 + r02 * g12
        y[16 + k] = r00 * g02 + r01 * g12 + r02 * g22
        y[24 + k] = r10 * g00 + r11 * g01 + r12 * g02
        y[32 + k] = r10 * g01 + r11 * g11 + r12 * g12
        y[40 + k] = r10 * g02 + r11 * g12 + r12 * g22
        y[48 + k] = r20 * g00 + r21 * g01 + r22 * g02
        y[56 + k] = r20 * g01 + r21 * g11 + r22 * g12
        y[64 + k] = r20 * g02 + r21 * g12 + r22 * g22


@fused_kernel
def integrate_lanes(load, tables, steps, v, work, path, lanes):
    """Integrate eight pieces from A to B; the result stands in work[0].

    Parameters
    ----------
    load : ndarray, shape (LOAD * LANES,)
        Wrench at A, direction of the weight, length of one step.
    tables : ndarray, shape (2 steps + 1, TABLE * LANES)
        Section at every half step.
    v : Variation
    work : ndarray, shape (4, (BASE + COLUMN * columns) * LANES)
    path : ndarray, shape (steps + 1, size)
        First components of the state after every step (R and p where size = 12 * LANES);
        size 0: not kept.
    lanes : int
        LANES. An argument, because a trip count known at compile time is unrolled into scalar
        instructions instead of vector ones.
    """
    size = (BASE + COLUMN * v.columns) * LANES
    y = work[0, :size]
    stage = work[1, :size]
    rate = work[2, :size]
    total = work[3, :size]
    for i in range(size):
        y[i] = 0.0
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
