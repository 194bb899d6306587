# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One rod: end frames, pieces, elimination of its inner nodes and of its joint angles."""

from soro_mechanics.lie_kernels import compose, kernel
from soro_mechanics.network.dense_kernels import negative_pivots, solve_in_place
from soro_mechanics.network.element_kernels import element, relative_twist
from soro_mechanics.network.end_kernels import end_frame, joint_geometry
from soro_mechanics.network.lane_kernels import integrate_lanes
from soro_mechanics.network.piece_kernels import condense_piece, end_forces


@kernel
def place_ends(s, x, state, w):
    """Write the end frames of every rod from bodies, motors and joints."""
    for r in range(s.counts[1]):
        for e in range(2):
            node = s.rod_node[r] if e == 0 else s.rod_node[r + 1] - 1
            gap = x.gap[r] if e == 1 else state.body[0]
            end_frame(
                s.attach[r, e], s.motor_axis[r, e], x.theta[r, e], s.offset[r, e],
                s.joint_kind[r, e], s.joint_axes[r, e], state.joint[r, e], state.spin[r, e],
                gap, w.scratch[0:13, 0:4], w.end[r, e], w.basis[r, e],
            )  # fmt: skip
            compose(state.body[s.rod_body[r, e]], w.end[r, e], state.node[node])


@kernel
def fill_loads(s, x, state, w):
    """Write wrench, weight direction and step of every integrated piece into its lane."""
    steps = s.counts[4]
    for r in range(s.counts[1]):
        if s.rod_macro[r] == 0:
            continue
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = state.node[s.rod_node[r] + p - s.rod_piece[r]]
            load = w.load[s.lane[p] // 8]
            k = s.lane[p] % 8
            for i in range(6):
                load[8 * i + k] = state.wrench[p, i]
            for i in range(3):
                load[48 + 8 * i + k] = (
                    a[0, i] * x.gravity[0] + a[1, i] * x.gravity[1] + a[2, i] * x.gravity[2]
                )
            load[72 + k] = x.length[r] * s.share[p] / steps


@kernel
def integrate_pieces(s, x, state, w, gradient, path, lanes):
    """Integrate all pieces; columns for W0 always, for the weight and rest strains if needed."""
    fill_loads(s, x, state, w)
    shifts = s.counts[5] if gradient else 0
    for b in range(s.counts[7]):
        if x.heavy:
            columns = 9 + shifts
            integrate_lanes(
                w.load[b], x.table[b], s.counts[4], columns, s.drive, s.lane_shift[b], True,
                w.lanes[b], path, lanes,
            )  # fmt: skip
        else:
            columns = 6 + shifts
            integrate_lanes(
                w.load[b], x.table[b], s.counts[4], columns, s.light_drive, s.light_shift[b],
                False, w.lanes[b], path, lanes,
            )  # fmt: skip


@kernel
def assemble_pieces(s, x, state, w, gradient, exact):
    """Write force, tangent and parameter columns of every piece. False: singular somewhere."""
    good = True
    steps = s.counts[4]
    shifts = s.counts[5] if gradient else -1
    for r in range(s.counts[1]):
        first = s.rod_node[r] - s.rod_piece[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = state.node[first + p]
            b = state.node[first + p + 1]
            if s.rod_macro[r] == 1:
                batch = s.lane[p] // 8
                lane = s.lane[p] % 8
                relative_twist(a, b, w.h[p], w.closure[p])
                y = w.lanes[batch, 0]
                w.signs[p] = condense_piece(
                    y, w.load[batch], x.table[batch, 2 * steps], lane, w.h[p], x.heavy, shifts,
                    s.share[p], w.scratch, w.closure[p], w.force[p], w.tangent[p], w.params[p],
                )  # fmt: skip
                end_forces(y, w.load[batch], lane, w.h[p], w.scratch[0:1, 0:6], w.raw[p])
                good = good and w.signs[p] != 0
            else:
                _two_node(s, x, state, r, p, a, b, w, gradient, exact)
            if x.node_dead.shape[0] > 0:
                # on the second end's rows: the first end's rows give back the wrench W0
                node = first + p + 1
                dead = x.node_dead[node]
                follower = x.node_follower[node]
                subtract_load(b, dead, follower, w.force[p, 6:], w.tangent[p, 6:, 6:])
                subtract_load(b, dead, follower, w.raw[p, 6:], w.scratch[0:6, 0:6])
    return good


@kernel
def _two_node(s, x, state, r, p, a, b, w, gradient, exact):
    length = x.length[r] * s.share[p]
    work = w.scratch[0:40, 0:6]
    matrix = w.strain[p]
    given = state.wrench[p, 0 : 0 if exact else 6]
    rest = x.section[p, 0:6]
    flexibility = x.section[p, 6:12]
    force = w.force[p]
    element(
        a, b, length, rest, flexibility, given, force, w.raw[p], w.closure[p], w.tangent[p],
        w.twist[p], matrix, work,
    )  # fmt: skip
    if gradient:
        for k in range(12):
            v = 0.0
            for i in range(6):
                v -= matrix[i, k] * w.twist[p, i] / flexibility[i]
            w.params[p, k, 0] = v * s.share[p] / (length * length)
            for j in range(s.counts[5]):
                v = 0.0
                for i in range(6):
                    v -= matrix[i, k] * s.shift[p, j, i] / flexibility[i]
                w.params[p, k, 1 + j] = v
    if x.heavy:
        mass = 0.5 * x.section[p, 12] * length
        for e in range(2):
            g = a if e == 0 else b
            o = 6 * e
            f0 = mass * (g[0, 0] * x.gravity[0] + g[1, 0] * x.gravity[1] + g[2, 0] * x.gravity[2])
            f1 = mass * (g[0, 1] * x.gravity[0] + g[1, 1] * x.gravity[1] + g[2, 1] * x.gravity[2])
            f2 = mass * (g[0, 2] * x.gravity[0] + g[1, 2] * x.gravity[1] + g[2, 2] * x.gravity[2])
            _subtract_dead(f0, f1, f2, o, force, w.tangent[p])
            w.raw[p, o] -= f0
            w.raw[p, o + 1] -= f1
            w.raw[p, o + 2] -= f2
            if gradient:
                w.params[p, o, 0] -= f0 * s.share[p] / length
                w.params[p, o + 1, 0] -= f1 * s.share[p] / length
                w.params[p, o + 2, 0] -= f2 * s.share[p] / length


@kernel
def _subtract_dead(f0, f1, f2, o, force, tangent):
    """Take a force fixed in space, seen in the frame's axes, off the internal force."""
    force[o] -= f0
    force[o + 1] -= f1
    force[o + 2] -= f2
    # d(R' F) = (R' F) x theta
    tangent[o, o + 4] += f2
    tangent[o, o + 5] -= f1
    tangent[o + 1, o + 3] -= f2
    tangent[o + 1, o + 5] += f0
    tangent[o + 2, o + 3] += f1
    tangent[o + 2, o + 4] -= f0


@kernel
def subtract_load(g, dead, follower, force, tangent):
    """Take a dead wrench (base axes) and a following one (own axes) off a frame's residual."""
    f = dead[0:3]
    m = dead[3:6]
    for part in range(2):
        v = f if part == 0 else m
        o = 3 * part
        a = g[0, 0] * v[0] + g[1, 0] * v[1] + g[2, 0] * v[2]
        b = g[0, 1] * v[0] + g[1, 1] * v[1] + g[2, 1] * v[2]
        c = g[0, 2] * v[0] + g[1, 2] * v[1] + g[2, 2] * v[2]
        force[o] -= a
        force[o + 1] -= b
        force[o + 2] -= c
        tangent[o, 4] += c
        tangent[o, 5] -= b
        tangent[o + 1, 3] -= c
        tangent[o + 1, 5] += a
        tangent[o + 2, 3] += b
        tangent[o + 2, 4] -= a
    for i in range(6):
        force[i] -= follower[i]


@kernel
def _couple_previous(lower, before, d, b, begin, columns):
    """Add what the eliminated node before does to this node's rows (lower[6:12, 0:6])."""
    for i in range(6):
        for m in range(6):
            c = lower[6 + i, m]
            for j in range(6):
                d[i, j] -= c * before[m, 6 + j]
            if begin == 0:
                for j in range(6):
                    b[i, j] -= c * before[m, j]
            for j in range(12, columns):
                b[i, j] -= c * before[m, j]


@kernel
def _reduce_first(out, couple, b, columns, t):
    """Take an eliminated node out of the first node's rows."""
    for i in range(6):
        for m in range(6):
            c = couple[i, m]
            t[i, m] = 0.0
            for j in range(6):
                out[i, j] -= c * b[m, j]
            for j in range(12, columns):
                out[i, j] -= c * b[m, j]
        for j in range(6):
            v = 0.0
            for m in range(6):
                v -= couple[i, m] * b[m, 6 + j]
            t[i, j] = v
    for i in range(6):
        for j in range(6):
            couple[i, j] = t[i, j]


@kernel
def eliminate_chain(s, w, r, params, inspect):
    """Eliminate the inner nodes of rod r towards its second end; the result is w.super[r].

    Columns of w.super and w.chain: first node (6), next or last node (6), one, parameters. A node
    moves by minus its chain row times what the columns stand for.

    Returns
    -------
    int
        Negative pivots met (counted when `inspect`), or -1 where a block is singular.
    """
    n0 = s.rod_node[r]
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    out = w.super[r]
    keep = s.keep_first[r] == 2 or (params > 0 and s.keep_first[r] == 1)
    begin = 0 if keep else 6
    columns = 13 + params
    negative = 0
    couple = w.scratch[0:6, 0:6]  # rows of the first node against the present one
    d = w.scratch[6:12, 0:6]
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
        for i in range(6):
            for j in range(6):
                d[i, j] = w.tangent[p, 6 + i, 6 + j]
                b[i, j] = w.tangent[p, 6 + i, j] if k == 1 else 0.0
            b[i, 12] = w.force[p, 6 + i]
            for j in range(params):
                b[i, 13 + j] = w.params[p, 6 + i, j]
        if k > 1:
            _couple_previous(w.tangent[p], w.chain[n0 + k - 1], d, b, begin, columns)
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
        if solve_in_place(d, 6, b[:, begin:], columns - begin) == 0:
            return -1
        if keep:
            _reduce_first(out, couple, b, columns, w.scratch[12:18, 0:6])
    last = w.chain[n0 + count]
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


@kernel
def _to_coordinates(s, w, r, params, m):
    """Write the rod's (20, 21 + params) system in bodies, motors and joints into m."""
    z = w.super[r]
    columns = 13 + params
    half = w.scratch[20:32, 0:32]  # the (12, ...) system with its columns transformed
    for i in range(12):
        for e in range(2):
            basis = w.basis[r, e]
            for j in range(10):
                v = 0.0
                for k in range(6):
                    v += z[i, 6 * e + k] * basis[k, j]
                half[i, SIDE * e + j] = v
        for j in range(12, columns):
            half[i, 8 + j] = z[i, j]
    width = 21 + params
    for e in range(2):
        basis = w.basis[r, e]
        for i in range(10):
            for j in range(width):
                m[SIDE * e + i, j] = 0.0
            for k in range(6):
                c = basis[k, i]
                for j in range(width):
                    m[SIDE * e + i, j] += c * half[6 * e + k, j]
    turn = w.scratch[20:30, 0:10]
    force = w.scratch[30, 0:6]
    for e in range(2):
        for i in range(6):
            force[i] = z[6 * e + i, 12]
        joint_geometry(w.basis[r, e], s.joint_kind[r, e], force, turn)
        for i in range(10):
            for j in range(6, 10):
                m[SIDE * e + i, SIDE * e + j] += turn[i, j]


@kernel
def eliminate_joints(s, w, r, params, inspect):
    """Bring the rod to bodies and motors (w.rod[r]); w.joints[r] keeps how its joints follow.

    Columns of both: body a (6), motor a, body b (6), motor b, one, parameters.
    Returns the negative pivots, or -1 where the joints are not held by anything.
    """
    m = w.scratch[32:52, 0:32]
    _to_coordinates(s, w, r, params, m)
    a = w.scratch[0:6, 0:6]
    b = w.joints[r]
    kinds = s.joint_kind[r]
    size = kinds[0] + kinds[1]
    width = 15 + params
    for i in range(size):
        row = 7 + i if i < kinds[0] else SIDE + 7 + i - kinds[0]
        for j in range(size):
            a[i, j] = m[row, 7 + j if j < kinds[0] else SIDE + 7 + j - kinds[0]]
        for j in range(width):
            b[i, j] = m[row, _column(j)]
    negative = 0
    if size > 0:
        if inspect:
            negative = negative_pivots(a, size, w.scratch[12:18, 0:6])
        if solve_in_place(a, size, b, width) == 0:
            return -1
    out = w.rod[r]
    for i in range(2 * KEPT):
        row = _column(i)
        for j in range(width):
            v = m[row, _column(j)]
            for k in range(size):
                c = 7 + k if k < kinds[0] else SIDE + 7 + k - kinds[0]
                v -= m[row, c] * b[k, j]
            out[i, j] = v
    return negative


@kernel
def _column(j):
    """Return where the j-th kept coordinate, one or parameter stands among the 20 and more."""
    if j < KEPT:
        return j
    if j < 2 * KEPT:
        return SIDE + j - KEPT
    return 2 * SIDE + j - 2 * KEPT
