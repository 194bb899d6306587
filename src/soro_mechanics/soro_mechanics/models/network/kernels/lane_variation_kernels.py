# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The derivative of what `integrate_lanes` computes, step by step, for eight pieces at once.

`integrate_lanes` carries the variation of the rod along with its shape: both are integrated, and
they agree to the order of the method. Here every stage of the method is differentiated instead, so
that Jacobians and compliances are the slopes of the discrete solution, at any number of steps. The
rotation is varied with its nine entries, as it is integrated; at the end they are turned into a
twist. That costs more, and Newton's method does not need it.

A column holds the components of the base (dR, dp, dM, dQ). One column more than is driven is
carried, and written last: the derivative by the length of the piece, at a constant number of steps
and sections that stretch with it. Below y (SIZE,) is the state, z (SIZE,) a column; load, table
and lanes as in `lane_kernels`, tables (2 steps + 1, TABLE LANES); stages (STAGES, STAGE).

Source: the formulas of `lane_kernels` differentiated here, checked by differences in
test_network_variation.py.
"""

from soro_mechanics.compilation.kernels import fused_kernel, makes_arrays, merged_kernel
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
from soro_mechanics.numerics.vector_kernels import (
    cross,
    dot,
    each,
    minus,
    number_at,
    plus,
    plus_cross,
    plus_dot,
    put_number,
    put_vector,
    times,
    turned,
    turned_back,
    vector_at,
)

STAGES = 4  # of Runge-Kutta
PARTS = 12  # n (3), u (3), strain (6) of a section
SIZE = BASE * LANES  # of a state, and of a column
STAGE = 2 * SIZE + PARTS * LANES  # state, parts, rate of one stage
NOTHING = 6 * LANES  # zeros, for what a column does not drive


def variation_size(columns: int) -> int:
    """Return the length of `work` for so many driven columns."""
    return NOTHING + STAGES * STAGE + 5 * SIZE + (columns + 1) * SIZE


def result_size(columns: int) -> int:
    """Return the length of `out`: base, columns of (v, w, dM), and dQ for the length."""
    return (BASE + COLUMN * (columns + 1) + 1) * LANES


@fused_kernel
def _keep_parts(y, load, table, out, lanes):
    """Write `section_parts` (PARTS,) of every lane to out; y, load, table, lanes: above."""
    for k in range(lanes):
        n, u, v, w = section_parts(y, load, table, k)
        put_vector(out, k, 8, n)
        put_vector(out, 24 + k, 8, u)
        put_vector(out, 48 + k, 8, v)
        put_vector(out, 72 + k, 8, w)


@merged_kernel
def _put_grown(rate, base, at, grown, size, change):
    """Write grown * base + size * change (3,) to rate: three numbers of a lane from `at` on."""
    put_vector(rate, at, 8, plus(times(grown, vector_at(base, at, 8)), times(size, change)))


@fused_kernel
def _column_rate(stage, z, load, table, push, rate, lanes):
    """Write the derivative of the rate of the base along the column z; stage (STAGE,).

    With dn = dn0 - dQ q - Q dq, du = dm0 - dM - dp x n - p x dn, (v, w) the strain and (dv, dw) =
    de0 + c (dR' n + R' dn, dR' u + R' du): step (dR hat(w) + R hat(dw), dR v + R dv,
    mu (dp x q + p x dq), 0) + dstep / step times the rate. push: what changes along the column:
    wrench at A and weight (9,), rest strain (6 LANES,), the step [m]; load, table, lanes: above;
    rate: out.
    """
    y, base, part = stage[0:SIZE], stage[SIZE : 2 * SIZE], stage[2 * SIZE : STAGE]
    drive, bend, growth = push
    by_force, by_moment = vector_at(drive, 0, 1), vector_at(drive, 3, 1)
    turn = vector_at(drive, 6, 1)  # of the weight
    for k in range(lanes):
        step, q = number_at(load, 72 + k), vector_at(load, 48 + k, 8)
        grown = growth / step if step > 0.0 else 0.0
        n, u = vector_at(part, k, 8), vector_at(part, 24 + k, 8)
        v, w = vector_at(part, 48 + k, 8), vector_at(part, 72 + k, 8)
        r, p = rotation_of(y, k), vector_at(y, 72 + k, 8)
        dr, x = rotation_of(z, k), vector_at(z, 72 + k, 8)
        f = minus(
            minus(by_force, times(number_at(z, 120 + k), q)), times(number_at(y, 120 + k), turn)
        )
        m = minus(by_moment, vector_at(z, 96 + k, 8))
        m = plus_cross(plus_cross(m, n, x), f, p)
        e = each(vector_at(table, 48 + k, 8), plus(turned_back(dr, n), turned_back(r, f)))
        a = each(vector_at(table, 72 + k, 8), plus(turned_back(dr, u), turned_back(r, m)))
        e = plus(vector_at(bend, k, 8), e)
        a = plus(vector_at(bend, 24 + k, 8), a)
        _put_grown(rate, base, k, grown, step, plus_cross(cross(dr[0:3], w), r[0:3], a))
        _put_grown(rate, base, 24 + k, grown, step, plus_cross(cross(dr[3:6], w), r[3:6], a))
        _put_grown(rate, base, 48 + k, grown, step, plus_cross(cross(dr[6:9], w), r[6:9], a))
        _put_grown(rate, base, 72 + k, grown, step, plus(turned(dr, v), turned(r, e)))
        moment = plus_cross(cross(x, q), p, turn)
        _put_grown(rate, base, 96 + k, grown, step * number_at(table, 96 + k), moment)
        put_number(rate, 120 + k, grown * number_at(base, 120 + k))


@fused_kernel
def _orthonormalise_column(y, z, rows, lanes):
    """Replace dR of a column by the derivative of `orthonormalise`; rows (SIZE,): scratch.

    (3 dR - dR R' R - R dR' R - R R' dR) / 2; y: state before it; z: column, out; lanes: LANES.
    """
    for k in range(lanes):
        for row in range(3):
            r, t = vector_at(y, 24 * row + k, 8), vector_at(z, 24 * row + k, 8)
            s = times(1.5, t)
            for i in range(3):
                a, b = vector_at(y, 24 * i + k, 8), vector_at(z, 24 * i + k, 8)
                along, across = 0.5 * plus_dot(dot(t, a), r, b), 0.5 * dot(r, a)
                s = minus(s, plus(times(along, a), times(across, b)))
            put_vector(rows, 24 * row + k, 8, s)
        for j in range(9):
            z[8 * j + k] = rows[8 * j + k]


@fused_kernel
def _write_column(y, z, out, lanes):
    """Write (v, w, dM) of a column to out: w = 1/2 sum r_j x dr_j, v = dp + p x w; y, z, lanes."""
    for k in range(lanes):
        w = 0.0, 0.0, 0.0
        for j in range(0, 24, 8):  # columns of R
            w = plus_cross(w, vector_at(y, j + k, 24), vector_at(z, j + k, 24))
        w = times(0.5, w)
        put_vector(out, k, 8, plus_cross(vector_at(z, 72 + k, 8), vector_at(y, 72 + k, 8), w))
        put_vector(out, 24 + k, 8, w)
        put_vector(out, 48 + k, 8, vector_at(z, 96 + k, 8))


@fused_kernel
def _go_through_stages(y, load, tables, i, stages, total, lanes):
    """Make step i of the base from y to total; keep state, rate and parts of its stages.

    total = y + (k1 + 2 k2 + 2 k3 + k4) / 6 by `base_rate`; load, tables, stages, lanes: above.
    """
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
    """Make step i of a column, with the stages of the base; scratch (3 SIZE,).

    As `integrate_lanes`, slopes by `_column_rate` with push; z: out; load, tables, stages, lanes.
    """
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

    load, tables, steps, v, lanes: as for `integrate_lanes`; work (variation_size(columns),):
    scratch, its first NOTHING numbers are zero and stay so; out (result_size(columns),) at least:
    base and columns as `integrate_lanes` leaves them in work[0], then the column of the piece's
    length (v, w, dM, dQ), per length.
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
                push = v.drive[c], v.shift[c * NOTHING : (c + 1) * NOTHING], 0.0
            else:
                push = nothing[0:9], nothing, 1.0 / steps
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
