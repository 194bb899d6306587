# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The derivative of what `integrate_lanes` computes, step by step, for eight pieces at once.

`integrate_lanes` carries the variation of the rod along with its shape: both are integrated, and
they agree to the order of the method. Here every stage of the method is differentiated instead,
so that Jacobians and compliances are the slopes of the discrete solution, at any number of steps.
The rotation is varied with its nine entries, as it is integrated; at the end they are turned into
a twist. That costs more, and Newton's method does not need it.

A column holds the components of the base (dR, dp, dM, dQ). One column more than is driven is
carried, and written last: the derivative by the length of the piece, at a constant number of steps
and sections that stretch with it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.models.network.kernels.lane_kernels import (
    AHEAD,
    BASE,
    base_rate,
    COLUMN,
    LANES,
    orthonormalise,
    rotation_of,
    section_parts,
    WEIGHT,
)
from soro_mechanics.numerics.kernels import fused_kernel, makes_arrays

STAGES = 4  # of Runge-Kutta
PARTS = 12  # n (3), u (3), strain (6) of a section
SIZE = BASE * LANES  # of a state, and of a column
STAGE = 2 * SIZE + PARTS * LANES  # state, parts, rate of one stage
NOTHING = 6 * LANES  # zeros, for what a column does not drive


class Push(NamedTuple):
    """What changes along one column."""

    drive: NDArray[np.float64]  # (9,) the wrench at A and the weight
    bend: NDArray[np.float64]  # (6 LANES,) the rest strain
    growth: float  # the step [m]


def variation_size(columns: int) -> int:
    """Return the length of `work` for so many driven columns."""
    return NOTHING + STAGES * STAGE + 5 * SIZE + (columns + 1) * SIZE


def result_size(columns: int) -> int:
    """Return the length of `out`: base, columns of (v, w, dM), and dQ for the length."""
    return (BASE + COLUMN * (columns + 1) + 1) * LANES


@fused_kernel
def _keep_parts(y, load, table, out, lanes):
    """Write `section_parts` of every lane."""
    for k in range(lanes):
        n0, n1, n2, u0, u1, u2, v0, v1, v2, w0, w1, w2 = section_parts(y, load, table, k)
        out[k] = n0
        out[8 + k] = n1
        out[16 + k] = n2
        out[24 + k] = u0
        out[32 + k] = u1
        out[40 + k] = u2
        out[48 + k] = v0
        out[56 + k] = v1
        out[64 + k] = v2
        out[72 + k] = w0
        out[80 + k] = w1
        out[88 + k] = w2


@fused_kernel
def _column_rate(stage, z, load, table, push, rate, lanes):
    """Write the derivative of the rate of the base along the column z; stage (STAGE,)."""
    y, base, part = stage[0:SIZE], stage[SIZE : 2 * SIZE], stage[2 * SIZE : STAGE]
    drive, bend, growth = push.drive, push.bend, push.growth
    d0, d1, d2 = drive[0], drive[1], drive[2]
    d3, d4, d5 = drive[3], drive[4], drive[5]
    d6, d7, d8 = drive[6], drive[7], drive[8]
    for k in range(lanes):
        q0 = load[48 + k]
        q1 = load[56 + k]
        q2 = load[64 + k]
        step = load[72 + k]
        grown = growth / step if step > 0.0 else 0.0
        weight = y[120 + k]
        n0 = part[k]
        n1 = part[8 + k]
        n2 = part[16 + k]
        u0 = part[24 + k]
        u1 = part[32 + k]
        u2 = part[40 + k]
        v0 = part[48 + k]
        v1 = part[56 + k]
        v2 = part[64 + k]
        w0 = part[72 + k]
        w1 = part[80 + k]
        w2 = part[88 + k]
        p0 = y[72 + k]
        p1 = y[80 + k]
        p2 = y[88 + k]
        x0 = z[72 + k]
        x1 = z[80 + k]
        x2 = z[88 + k]
        f0 = d0 - z[120 + k] * q0 - weight * d6
        f1 = d1 - z[120 + k] * q1 - weight * d7
        f2 = d2 - z[120 + k] * q2 - weight * d8
        m0 = d3 - z[96 + k] - (x1 * n2 - x2 * n1) - (p1 * f2 - p2 * f1)
        m1 = d4 - z[104 + k] - (x2 * n0 - x0 * n2) - (p2 * f0 - p0 * f2)
        m2 = d5 - z[112 + k] - (x0 * n1 - x1 * n0) - (p0 * f1 - p1 * f0)
        r00, r01, r02, r10, r11, r12, r20, r21, r22 = rotation_of(y, k)
        t00, t01, t02, t10, t11, t12, t20, t21, t22 = rotation_of(z, k)
        e0 = bend[k] + table[48 + k] * (
            t00 * n0 + t10 * n1 + t20 * n2 + r00 * f0 + r10 * f1 + r20 * f2
        )
        e1 = bend[8 + k] + table[56 + k] * (
            t01 * n0 + t11 * n1 + t21 * n2 + r01 * f0 + r11 * f1 + r21 * f2
        )
        e2 = bend[16 + k] + table[64 + k] * (
            t02 * n0 + t12 * n1 + t22 * n2 + r02 * f0 + r12 * f1 + r22 * f2
        )
        a0 = bend[24 + k] + table[72 + k] * (
            t00 * u0 + t10 * u1 + t20 * u2 + r00 * m0 + r10 * m1 + r20 * m2
        )
        a1 = bend[32 + k] + table[80 + k] * (
            t01 * u0 + t11 * u1 + t21 * u2 + r01 * m0 + r11 * m1 + r21 * m2
        )
        a2 = bend[40 + k] + table[88 + k] * (
            t02 * u0 + t12 * u1 + t22 * u2 + r02 * m0 + r12 * m1 + r22 * m2
        )
        rate[k] = grown * base[k] + step * (t01 * w2 - t02 * w1 + r01 * a2 - r02 * a1)
        rate[8 + k] = grown * base[8 + k] + step * (t02 * w0 - t00 * w2 + r02 * a0 - r00 * a2)
        rate[16 + k] = grown * base[16 + k] + step * (t00 * w1 - t01 * w0 + r00 * a1 - r01 * a0)
        rate[24 + k] = grown * base[24 + k] + step * (t11 * w2 - t12 * w1 + r11 * a2 - r12 * a1)
        rate[32 + k] = grown * base[32 + k] + step * (t12 * w0 - t10 * w2 + r12 * a0 - r10 * a2)
        rate[40 + k] = grown * base[40 + k] + step * (t10 * w1 - t11 * w0 + r10 * a1 - r11 * a0)
        rate[48 + k] = grown * base[48 + k] + step * (t21 * w2 - t22 * w1 + r21 * a2 - r22 * a1)
        rate[56 + k] = grown * base[56 + k] + step * (t22 * w0 - t20 * w2 + r22 * a0 - r20 * a2)
        rate[64 + k] = grown * base[64 + k] + step * (t20 * w1 - t21 * w0 + r20 * a1 - r21 * a0)
        rate[72 + k] = grown * base[72 + k] + step * (
            t00 * v0 + t01 * v1 + t02 * v2 + r00 * e0 + r01 * e1 + r02 * e2
        )
        rate[80 + k] = grown * base[80 + k] + step * (
            t10 * v0 + t11 * v1 + t12 * v2 + r10 * e0 + r11 * e1 + r12 * e2
        )
        rate[88 + k] = grown * base[88 + k] + step * (
            t20 * v0 + t21 * v1 + t22 * v2 + r20 * e0 + r21 * e1 + r22 * e2
        )
        mu = step * table[96 + k]
        rate[96 + k] = grown * base[96 + k] + mu * (x1 * q2 - x2 * q1 + p1 * d8 - p2 * d7)
        rate[104 + k] = grown * base[104 + k] + mu * (x2 * q0 - x0 * q2 + p2 * d6 - p0 * d8)
        rate[112 + k] = grown * base[112 + k] + mu * (x0 * q1 - x1 * q0 + p0 * d7 - p1 * d6)
        rate[120 + k] = grown * base[120 + k]


@fused_kernel
def _orthonormalise_column(y, z, turned, lanes):
    """Replace dR of a column by the derivative of `orthonormalise`; turned (SIZE,): scratch."""
    for k in range(lanes):
        for row in range(3):
            o = 24 * row + k
            r0 = y[o]
            r1 = y[o + 8]
            r2 = y[o + 16]
            t0 = z[o]
            t1 = z[o + 8]
            t2 = z[o + 16]
            s0 = 1.5 * t0
            s1 = 1.5 * t1
            s2 = 1.5 * t2
            for i in range(3):
                a0 = y[24 * i + k]
                a1 = y[24 * i + 8 + k]
                a2 = y[24 * i + 16 + k]
                b0 = z[24 * i + k]
                b1 = z[24 * i + 8 + k]
                b2 = z[24 * i + 16 + k]
                along = 0.5 * (t0 * a0 + t1 * a1 + t2 * a2 + r0 * b0 + r1 * b1 + r2 * b2)
                across = 0.5 * (r0 * a0 + r1 * a1 + r2 * a2)
                s0 -= along * a0 + across * b0
                s1 -= along * a1 + across * b1
                s2 -= along * a2 + across * b2
            turned[o] = s0
            turned[o + 8] = s1
            turned[o + 16] = s2
        for j in range(9):
            z[8 * j + k] = turned[8 * j + k]


@fused_kernel
def _write_column(y, z, out, lanes):
    """Write (v, w, dM): the twist in space of a column's dR and dp."""
    for k in range(lanes):
        w0 = w1 = w2 = 0.0
        for j in range(3):
            w0 += z[48 + 8 * j + k] * y[24 + 8 * j + k] - z[24 + 8 * j + k] * y[48 + 8 * j + k]
            w1 += z[8 * j + k] * y[48 + 8 * j + k] - z[48 + 8 * j + k] * y[8 * j + k]
            w2 += z[24 + 8 * j + k] * y[8 * j + k] - z[8 * j + k] * y[24 + 8 * j + k]
        w0 *= 0.5
        w1 *= 0.5
        w2 *= 0.5
        p0 = y[72 + k]
        p1 = y[80 + k]
        p2 = y[88 + k]
        out[k] = z[72 + k] - (w1 * p2 - w2 * p1)
        out[8 + k] = z[80 + k] - (w2 * p0 - w0 * p2)
        out[16 + k] = z[88 + k] - (w0 * p1 - w1 * p0)
        out[24 + k] = w0
        out[32 + k] = w1
        out[40 + k] = w2
        out[48 + k] = z[96 + k]
        out[56 + k] = z[104 + k]
        out[64 + k] = z[112 + k]


@fused_kernel
def _go_through_stages(y, load, tables, i, stages, total, lanes):
    """Make step i of the base from y to total; keep state, rate and parts of its stages."""
    for j in range(SIZE):
        total[j] = y[j]
    for part in range(STAGES):
        state = stages[part, 0:SIZE]
        rate = stages[part, SIZE : 2 * SIZE]
        table = tables[2 * i + (part + 1) // 2]
        if part == 0:
            for j in range(SIZE):
                state[j] = y[j]
        else:
            before = stages[part - 1, SIZE : 2 * SIZE]
            ahead = AHEAD[part - 1]
            for j in range(SIZE):
                state[j] = y[j] + ahead * before[j]
        base_rate(state, load, table, rate, lanes)
        _keep_parts(state, load, table, stages[part, 2 * SIZE : STAGE], lanes)
        weight = WEIGHT[part]
        for j in range(SIZE):
            total[j] += weight * rate[j]


@fused_kernel
def _follow_stages(z, load, tables, i, stages, push, scratch, lanes):
    """Make step i of a column, with the stages of the base; scratch (3 SIZE,)."""
    change = scratch[0:SIZE]
    ahead_of_z = scratch[SIZE : 2 * SIZE]
    slope = scratch[2 * SIZE : 3 * SIZE]
    for j in range(SIZE):
        change[j] = z[j]
        ahead_of_z[j] = z[j]
    for part in range(STAGES):
        table = tables[2 * i + (part + 1) // 2]
        _column_rate(stages[part], ahead_of_z, load, table, push, slope, lanes)
        weight = WEIGHT[part]
        ahead = AHEAD[part]
        for j in range(SIZE):
            change[j] += weight * slope[j]
            ahead_of_z[j] = z[j] + ahead * slope[j]
    for j in range(SIZE):
        z[j] = change[j]


@makes_arrays
@fused_kernel
def differentiate_lanes(load, tables, steps, v, work, out, lanes):
    """Integrate eight pieces from A to B and differentiate what comes out.

    Parameters
    ----------
    load, tables, steps, v, lanes
        As for `integrate_lanes`.
    work : ndarray, shape (variation_size(columns),)
        Its first NOTHING numbers are zero and stay so.
    out : ndarray, shape (result_size(columns),) at least
        Base and columns as `integrate_lanes` leaves them in work[0]; then the column of the
        piece's length (v, w, dM, dQ), per length.
    """
    nothing, columns = work[0:NOTHING], v.columns
    o = NOTHING + STAGES * STAGE
    stages = work[NOTHING:o].reshape(STAGES, STAGE)
    y = work[o : o + SIZE]
    total = work[o + SIZE : o + 2 * SIZE]
    scratch = work[o + 2 * SIZE : o + 5 * SIZE]
    cols = work[o + 5 * SIZE : o + (6 + columns) * SIZE].reshape(columns + 1, SIZE)
    cols[:] = y[:] = 0.0
    for k in range(lanes):
        y[k] = y[32 + k] = y[64 + k] = 1.0
    for i in range(steps):
        _go_through_stages(y, load, tables, i, stages, total, lanes)
        for c in range(columns + 1):
            if c < columns:
                push = Push(v.drive[c], v.shift[c * NOTHING : (c + 1) * NOTHING], 0.0)
            else:
                push = Push(nothing[0:9], nothing, 1.0 / steps)
            _follow_stages(cols[c], load, tables, i, stages, push, scratch, lanes)
            _orthonormalise_column(total, cols[c], scratch, lanes)
        y[:] = total
        orthonormalise(y, lanes)
    out[0:SIZE] = y
    for c in range(columns + 1):
        a = (BASE + COLUMN * c) * LANES
        _write_column(y, cols[c], out[a : a + COLUMN * LANES], lanes)
    a = (BASE + COLUMN * (columns + 1)) * LANES
    out[a : a + LANES] = cols[columns, 120:128]
