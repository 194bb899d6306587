# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Elimination of one rod: its inner nodes, then its joint angles, onto bodies and motors.

Of inner node k, between the pieces p and p + 1 with the tangents T, forces f and columns P:

    L eta_k-1 + (T_bb + T_aa) eta_k + U eta_k+1 + r + P dp = 0,   L = T_ba of p, U = T_ab of p + 1
    D_k = T_bb + T_aa - L C_k-1[next],   C_k = D_k^-1 (F, U, r - L C_k-1[one], P - L C_k-1[dp])

where F is what couples it to the first node (L of the first piece, then -L C_k-1[first]), and
eta_k = -C_k (eta_first, eta_k+1, 1, dp). w.chain has C_k, w.factor the factors of D_k. Below
s: Structure; w: Work; r: rod; params: columns of parameters, 0 or 1 + slots; lanes: LANES.

Source: Gauss's elimination of a block tridiagonal matrix; test_network_kernels.py compares it with
that of the whole matrix, test_network_symmetries.py checks rods with joints by differences.
"""

from soro_mechanics.compilation.kernels import fused_kernel, merged_kernel
from soro_mechanics.models.network.kernels.end_kernels import joint_geometry
from soro_mechanics.numerics.dense_kernels import (
    factorise_six,
    negative_pivots,
    row_times,
    solve_in_place,
    substitute_six,
)
from soro_mechanics.numerics.vector_kernels import dot_six, six_in_column, six_in_row

NONE, PARAMETER, MOTOR = 0, 1, 2  # what drives a rod besides its bodies


@merged_kernel
def keeps_first(s, r, params):
    """Return whether rod r of s carries its first node: a body or (params > 0) motor moves it."""
    return s.keep_first[r] == 2 or (params > 0 and s.keep_first[r] == 1)


@merged_kernel
def is_driven(s, r, params):
    """Return whether a drive changes one of the first params slots of rod r; s: Structure."""
    for k in range(s.counts.maps):
        if s.map_index[k, 1] == r and s.map_index[k, 2] < params:
            return True
    return False


@fused_kernel
def _node_rows(t, force, before, d, coupled, lanes):
    """Write stiffness, force (column 6) and drive (7) of a node behind an element: d (6, 8).

    T_bb and f_b, less T_ba times the row of the node before where coupled. t (12, 12), force
    (12,): of the element; before (6, 14): row of the node at its first end; lanes: LANES.
    """
    for i in range(6):
        for j in range(6):
            d[i, j] = t[6 + i, 6 + j]
        d[i, 6] = force[6 + i]
        d[i, 7] = 0.0
        if coupled:
            left = six_in_row(t, 6 + i, 0)
            for j in range(lanes):
                d[i, j] -= dot_six(left, six_in_column(before, 0, 6 + j))


@merged_kernel
def _eliminate_narrow(s, w, r, drive, inspect, lanes):
    """Eliminate a rod whose first end is held but for one drive at most, as `eliminate_chain`.

    Eight columns at once: the next node (6), one, the drive (NONE; PARAMETER, the rod's first; or
    MOTOR, which turns the first node). By a motor's angle a the first node moves by m a: column c
    of the motor becomes c m' / m'm of that node, its row m c / m'm. s, w, r, lanes: above;
    inspect: count negative pivots.
    """
    n0 = s.rod_node[r]
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    out = w.super[r]
    m = w.scratch[0, 0:6]
    row = w.scratch[1, 0:8]  # of the motor: against the present node (6), one, the motor
    old = w.scratch[2, 0:6]
    square = 0.0
    row[:] = 0.0
    for i in range(6):
        m[i] = w.basis[r, 0, i, 6]
        square += m[i] * m[i]
        for j in range(6 if drive == MOTOR else 0):
            row[j] += m[i] * w.tangent[p0, i, 6 + j]
            row[7] += m[i] * w.tangent[p0, i, j] * w.basis[r, 0, j, 6]
        row[6] += m[i] * w.force[p0, i]
    negative = 0
    for k in range(1, count + 1):
        p = p0 + k - 1
        b = w.chain[n0 + k]
        d = w.factor[n0 + k]
        _node_rows(w.tangent[p], w.force[p], w.chain[n0 + k - 1], d, k > 1, lanes)
        for i in range(6):
            if drive == PARAMETER:
                d[i, 7] += w.params[p, 6 + i, 0]
            for j in range(6 if drive == MOTOR and k == 1 else 0):
                d[i, 7] += w.tangent[p, 6 + i, j] * m[j]
        if k == count:
            break
        after = w.tangent[p + 1]
        for i in range(6):
            for j in range(6):
                d[i, j] += after[i, j]
                b[i, j] = 0.0
                b[i, 6 + j] = after[i, 6 + j]
            b[i, 12] = d[i, 6] + w.force[p + 1, i]
            b[i, 13] = d[i, 7]
            if drive == PARAMETER:
                b[i, 13] += w.params[p + 1, i, 0]
            d[i, 6] = i
        if inspect:
            negative += negative_pivots(d, 6, w.scratch[12:18, 0:6])
        if factorise_six(d, b) == 0:
            return -1
        substitute_six(d, b, 6, lanes)
        if drive == MOTOR:
            for i in range(6):
                old[i] = row[i]
                row[i] = 0.0
            for i in range(6):
                for j in range(lanes):
                    row[j] -= old[i] * b[i, 6 + j]
    d = w.factor[n0 + count]
    for i in range(6):
        for j in range(6):
            out[6 + i, 6 + j] = d[i, j]
        out[6 + i, 12] = d[i, 6]
        if drive == PARAMETER:
            out[6 + i, 13] = d[i, 7]
    if drive == MOTOR:
        _spread_motor(w, r, n0, count, row, m, 1.0 / square)
    return negative


@merged_kernel
def _spread_motor(w, r, n0, count, row, m, scale):
    """Write column and row of a motor as those of the first node that it turns, as said there.

    w, r: above; n0: the first node; count: pieces; row (8,): the motor's against the last node
    (6), one, the motor; m (6,); scale: 1 / m'm.
    """
    out, last = w.super[r], w.factor[n0 + count]
    for k in range(1, count):
        b = w.chain[n0 + k]
        for i in range(6):
            v = scale * b[i, 13]
            b[i, 13] = 0.0
            for j in range(6):
                b[i, j] = v * m[j]
    for i in range(6):
        v = scale * m[i]
        for j in range(6):
            out[i, j] = v * row[7] * scale * m[j]
            out[i, 6 + j] = v * row[j]
            out[6 + i, j] = scale * last[i, 7] * m[j]
        out[i, 12] = v * row[6]


@merged_kernel
def _couple_previous(lower, before, d, b, row):
    """Subtract L C_k-1 from this node's rows: L = lower[6:12, 0:6], C_k-1 = before (6, n).

    lower (12, 12): piece between; d (6, 8): D_k, b (6, n): its right, out; row (n,): scratch.
    """
    for i in range(6):
        row_times(lower, 6 + i, 0, before, row)
        for j in range(6):
            d[i, j] -= row[6 + j]
            row[6 + j] = 0.0
        for j in range(b.shape[1]):
            b[i, j] -= row[j]


@merged_kernel
def _reduce_first(out, couple, b, columns, row):
    """Take an eliminated node out of the first node's rows: out -= couple C.

    couple (6, 6): these rows against the node, out: -couple C[next], against the next one; b
    (6, n): C; columns: used ones of out (12, ...); row (n,): scratch.
    """
    for i in range(6):
        row_times(couple, i, 0, b, row)
        for j in range(6):
            couple[i, j] = -row[6 + j]
            out[i, j] -= row[j]
        for j in range(12, columns):
            out[i, j] -= row[j]


@merged_kernel
def eliminate_chain(s, w, r, params, inspect, lanes):
    """Eliminate the inner nodes of rod r towards its second end; return the negative pivots met.

    Formulas above; -1 where a block is singular. Columns of w.super (12, ...), the result, and of
    w.chain: first node (6), next or last node (6), one, parameters. The factors of every block are
    left in w.factor. s, w, params, lanes: above; inspect: count pivots.
    """
    keep = keeps_first(s, r, params)
    driven = params > 0 and is_driven(s, r, params)
    if not (keep and (driven or s.keep_first[r] == 2) or driven and params > 1):
        drive = MOTOR if keep else PARAMETER if driven else NONE
        return _eliminate_narrow(s, w, r, drive, inspect, lanes)
    n0 = s.rod_node[r]
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    out = w.super[r]
    columns = 13 + params
    negative = 0
    couple = w.scratch[0:6, 0:6]  # rows of the first node against the present one
    row = w.scratch[6, 0 : w.chain.shape[2]]
    for i in range(6):
        for j in range(6):
            out[i, j] = w.tangent[p0, i, j]
            couple[i, j] = w.tangent[p0, i, 6 + j]
        out[i, 12] = w.force[p0, i]
        for j in range(params):
            out[i, 13 + j] = w.params[p0, i, j]
    for k in range(1, count + 1):
        p = p0 + k - 1
        b = w.chain[n0 + k]
        d = w.factor[n0 + k]
        b[:] = 0.0
        for i in range(6):
            d[i, 6] = i
            for j in range(6):
                d[i, j] = w.tangent[p, 6 + i, 6 + j]
                if k == 1:
                    b[i, j] = w.tangent[p, 6 + i, j]
            b[i, 12] = w.force[p, 6 + i]
            for j in range(params):
                b[i, 13 + j] = w.params[p, 6 + i, j]
        if k > 1:
            _couple_previous(w.tangent[p], w.chain[n0 + k - 1], d, b, row)
        if k == count:
            break
        for i in range(6):
            for j in range(6):
                d[i, j] += w.tangent[p + 1, i, j]
                b[i, 6 + j] = w.tangent[p + 1, i, 6 + j]
            b[i, 12] += w.force[p + 1, i]
            for j in range(params):
                b[i, 13 + j] += w.params[p + 1, i, j]
        if inspect:
            negative += negative_pivots(d, 6, w.scratch[12:18, 0:6])
        if factorise_six(d, b) == 0:
            return -1
        substitute_six(d, b, 0, b.shape[1])
        if keep:
            _reduce_first(out, couple, b, columns, row)
    last = w.chain[n0 + count]
    d = w.factor[n0 + count]
    for i in range(6):
        for j in range(6):
            out[6 + i, j] = last[i, j]
            out[6 + i, 6 + j] = d[i, j]
            out[i, 6 + j] = couple[i, j]
        for j in range(12, columns):
            out[6 + i, j] = last[i, j]
    return negative


# Where (eta_body, theta, q) of the first and of the second end stand among the 20 coordinates of
# a rod, and the same after its joint angles were eliminated: (body a, motor a, body b, motor b).
SIDE = 10
KEPT = 7


# The next four take plain arrays and make no view: one made inside a merged kernel costs the
# counting of its references, here more than the arithmetic on a row of it.
@fused_kernel
def _transform_columns(z, basis, begin, e, half):
    """Write columns of end e in its coordinates: half = z basis, rows from `begin` to 12 of both.

    z (12, ...): w.super[r]; basis (6, 10): of the end; half (12, ...): out, from column SIDE e.
    """
    for i in range(begin, 12):
        left = six_in_row(z, i, 6 * e)
        for j in range(SIDE):
            half[i, SIDE * e + j] = dot_six(left, six_in_column(basis, 0, j))


@fused_kernel
def _transform_rows(half, basis, rows, begin, width, e, m):
    """Write m = basis' half: so many rows of end e, of the columns from `begin` to `width`.

    half (12, width): of `_transform_columns`; basis (6, 10): of the end; m (20, width): out.
    """
    for i in range(rows):
        left = six_in_column(basis, 0, i)
        for j in range(begin, width):
            m[SIDE * e + i, j] = dot_six(left, six_in_column(half, 6 * e, j))


@fused_kernel
def _add_turn(turn, rows, o, m):
    """Add turn (rows, rows), the geometric part of an end from coordinate o on, to m (20, ...)."""
    for i in range(rows):
        for j in range(6, rows):
            m[o + i, o + j] += turn[i, j]


@merged_kernel
def _column(j):
    """Return where the j-th kept coordinate, one or parameter stands among the 20 and more."""
    if j < KEPT:
        return j
    if j < 2 * KEPT:
        return SIDE + j - KEPT
    return 2 * SIDE + j - 2 * KEPT


@fused_kernel
def _without_joints(m, b, first, size, begin, width, out):
    """Write rows and columns of bodies and motors, after the joints were eliminated.

    out_ij = m_ij - sum_q m_iq b_qj. m (20, ...); first: joint angles of the first end; b
    (size, width): how all of them follow; begin: first row and column; out (14, width).
    """
    for i in range(begin, 2 * KEPT):
        row = _column(i)
        for j in range(begin, width):
            out[i, j] = m[row, _column(j)]
        for k in range(size):
            c = m[row, 7 + k if k < first else SIDE + 7 + k - first]
            for j in range(begin, width):
                out[i, j] -= c * b[k, j]


@merged_kernel
def _to_coordinates(s, w, r, params, m):
    """Write the rod's (20, 21 + params) system in bodies, motors and joints into m.

    basis' w.super basis of both ends, and their `joint_geometry`. Rows and columns of a first end
    that is not kept, and rows of joint angles that there are not, are left as they were; columns
    of such angles are zero. s, w, r: above.
    """
    z = w.super[r]
    begin = 0 if keeps_first(s, r, params) else 1
    half = w.scratch[20:32, 0:48]  # the (12, ...) system with its columns transformed
    for i in range(6 * begin, 12):
        for j in range(12, 13 + params):
            half[i, 8 + j] = z[i, j]
    for e in range(begin, 2):
        _transform_columns(z, w.basis[r, e], 6 * begin, e, half)
    turn = w.scratch[0:10, 0:10]
    for e in range(begin, 2):
        basis = w.basis[r, e]
        kind = s.joint_kind[r, e]
        _transform_rows(half, basis, 7 + kind, SIDE * begin, 21 + params, e, m)
        # The force that is there, without what closing the rod would add to it: only that turns.
        p = s.rod_piece[r] if e == 0 else s.rod_piece[r + 1] - 1
        joint_geometry(basis, kind, w.raw[p, 6 * e : 6 * e + 6], turn)
        _add_turn(turn, 7 + kind, SIDE * e, m)


@merged_kernel
def eliminate_joints(s, w, r, params, inspect):
    """Bring the rod to bodies and motors (w.rod[r]); w.joints[r] keeps how its joints follow.

    q = -K_qq^-1 (K_qx, ...) x: rod = K_xx - K_xq K_qq^-1 K_qx. Columns of both: body a (6), motor
    a, body b (6), motor b, one, parameters. Returns the negative pivots, or -1 where the joints
    are not held by anything. s, params: above; inspect: count pivots.
    """
    kinds = s.joint_kind[r]
    size = kinds[0] + kinds[1]
    m = w.scratch[32:52, 0:48]
    _to_coordinates(s, w, r, params, m)
    a = w.scratch[0:6, 0:6]
    b = w.joints[r]
    width = 15 + params
    begin = 0 if keeps_first(s, r, params) else KEPT
    for i in range(size):
        row = 7 + i if i < kinds[0] else SIDE + 7 + i - kinds[0]
        for j in range(size):
            a[i, j] = m[row, 7 + j if j < kinds[0] else SIDE + 7 + j - kinds[0]]
        for j in range(width):
            b[i, j] = m[row, _column(j)] if j >= begin else 0.0
    negative = 0
    if size > 0:
        if inspect:
            negative = negative_pivots(a, size, w.scratch[12:18, 0:6])
        if solve_in_place(a, size, b, width) == 0:
            return -1
    out = w.rod[r]
    _without_joints(m, b, kinds[0], size, begin, width, out)
    return negative
