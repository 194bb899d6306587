# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Responses after an elimination with parameter columns: nodes to bodies and loads.

Below s: Structure; w: Work of that elimination; r: rod, T its tangents; left, right
(nodes of the rod, 6, 6) [N/m, N, N m]: of `side_stiffness`; wrenches and motions are in the nodes'
own axes.

Source: block elimination from both ends, derived here; test_network_sensors.py compares with the
other elimination and with loads, test_network_robots.py with solving again.
"""

from soro_mechanics.compilation.kernels import fused_kernel, merged_kernel
from soro_mechanics.models.network.kernels.end_kernels import CLAMPED, joint_geometry
from soro_mechanics.models.network.kernels.system_kernels import back_substitute, clear_slots
from soro_mechanics.numerics.dense_kernels import (
    factorise_six,
    row_times,
    solve_in_place,
    substitute_six,
)
from soro_mechanics.numerics.vector_kernels import dot_six, six_in_column, six_in_row


@fused_kernel
def body_response(s, x, state, w, params, out):
    """Write the motion of every node (nodes, 6, n) per unit motion of every body to out.

    s, w: above; x: Inputs; state: State; params: columns that the elimination carried.
    """
    clear_slots(w)
    for k in range(out.shape[2]):
        for b in range(s.counts.bodies):
            for i in range(6):
                w.step_body[b, i] = 1.0 if 6 * (b - 1) + i == k else 0.0
        back_substitute(s, x, state, w, params, w.slots, 0.0)
        for node in range(out.shape[0]):
            for i in range(6):
                out[node, i, k] = w.step_node[node, i]


@fused_kernel
def joint_block(s, w, r, e, block, q, turn, free):
    """Write what the joint of an end makes of its end node; return the number of its angles.

    Only the joint's angles q can move the end while bodies and motors are held. `free` receives
    S (S' T S + G)^-1 S' (6, 6), the end's flexibility against the stiffness T = `block` (6, 6), S
    the joint's columns of the basis. w, r, s: above; e: end; q (3, 9): scratch; turn (10, 10): G.
    """
    kind = s.joint_kind[r, e]
    basis = w.basis[r, e]
    free[:] = 0.0
    if kind == CLAMPED:
        return kind
    for i in range(kind):
        for j in range(kind):
            v, angle = turn[7 + i, 7 + j], six_in_column(basis, 0, 7 + j)
            for a in range(6):
                v += basis[a, 7 + i] * dot_six(six_in_row(block, a, 0), angle)
            q[i, j] = v
        for j in range(6):
            q[i, 3 + j] = basis[j, 7 + i]
    solve_in_place(q, kind, q[:, 3:9], 6)
    for i in range(6):
        for j in range(6):
            v = 0.0
            for k in range(kind):
                v += basis[i, 7 + k] * q[k, 3 + j]
            free[i, j] = v
    return kind


@merged_kernel
def one_side_stiffness(s, w, r, direction, most, out):
    """Write what nodes of rod r feel of the rod before them (direction 0) or behind them (1).

    k_j = T_nn - T_nf (T_ff + k_j-1)^-1 T_fn, n the near and f the far end of a piece, from the
    joint (`joint_block`) on. out (nodes of the rod, 6, 6): for the first `most` nodes beyond the
    far end, whose body is held and whose joint is free. s, w: above.
    """
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    block = w.scratch[0:6, 0:6]
    free = w.scratch[6:12, 0:6]
    rhs = w.scratch[12:18, 0:6]
    turn = w.scratch[18:28, 0:10]
    q = w.scratch[28:31, 0:9]
    row = w.scratch[31, 0:6]
    # row and column offsets in a piece: the far node, the near node
    far = 0 if direction == 0 else 6
    near = 6 - far
    for k in range(1, min(count, most) + 1):
        p = p0 + k - 1 if direction == 0 else p0 + count - k
        here = k if direction == 0 else count - k
        t = w.tangent[p]
        if k == 1:
            for i in range(6):
                for j in range(6):
                    block[i, j] = t[far + i, far + j]
            joint_geometry(
                w.basis[r, direction], s.joint_kind[r, direction], w.raw[p, far : far + 6], turn
            )
            joint_block(s, w, r, direction, block, q, turn, free)
            for i in range(6):
                row_times(free, i, 0, t[far : far + 6, near : near + 6], rhs[i])
        else:
            before = out[here - 1 if direction == 0 else here + 1]
            _add_blocks(t[far : far + 6, far : far + 6], before, block)
            for i in range(6):
                for j in range(6):
                    rhs[i, j] = t[far + i, near + j]
            factorise_six(block, rhs)
            substitute_six(block, rhs, 0, 6)
        for i in range(6):
            row_times(t, near + i, far, rhs, row)
            for j in range(6):
                out[here, i, j] = t[near + i, near + j] - row[j]


@fused_kernel
def side_stiffness(s, w, r, left, right):
    """Write `one_side_stiffness` of rod r, before all nodes to left, behind to right; s, w."""
    count = s.rod_piece[r + 1] - s.rod_piece[r]
    for direction in range(2):
        one_side_stiffness(s, w, r, direction, count, left if direction == 0 else right)


@fused_kernel
def inner_compliance(s, w, r, left, right, out):
    """Write (left + right)^-1 (6, 6) of the nodes of rod r, own axes, the bodies held, to out.

    The compliance [m/N, rad/(N m)], of end nodes by their joints; out (nodes, 6, 6); s, w, left,
    right: above, the latter two out.
    """
    n0 = s.rod_node[r]
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    side_stiffness(s, w, r, left, right)
    block = w.scratch[0:6, 0:6]
    for k in range(1, count):
        for i in range(6):
            for j in range(6):
                block[i, j] = left[k, i, j] + right[k, i, j]
                out[n0 + k, i, j] = 1.0 if i == j else 0.0
        solve_in_place(block, 6, out[n0 + k], 6)
    turn = w.scratch[18:28, 0:10]
    for e in range(2):
        # an end node moves by its joint alone
        piece, node = (p0, 0) if e == 0 else (p0 + count - 1, count)
        force = w.raw[piece, 6 * e : 6 * e + 6]
        joint_geometry(w.basis[r, e], s.joint_kind[r, e], force, turn)
        rest = right[node] if e == 0 else left[node]
        joint_block(s, w, r, e, rest, w.scratch[28:31, 0:9], turn, out[n0 + node])


@merged_kernel
def inner_columns(s, w, r, left, right, columns, work):
    """Replace loads on inner nodes of rod r by the motion they cause, the bodies held.

    columns (nodes of the rod, 6, k): wrenches; work (6, 6 + k): scratch. left as `side_stiffness`
    writes it; of right only the last inner node is read. Loads on the end nodes are ignored. s, w:
    above. With D = left + T_aa: P_k -= T_ba D_k-1^-1 P_k-1, then u_k = D_k^-1 (P_k - T_ab u_k+1).
    """
    p0 = s.rod_piece[r]
    count = s.rod_piece[r + 1] - p0
    many = columns.shape[2]
    block = work[:, 0:6]
    rhs = work[:, 6:]
    columns[0, :] = 0.0
    columns[count, :] = 0.0
    for k in range(2, count):
        _add_blocks(w.tangent[p0 + k - 1], left[k - 1], block)
        for i in range(6):
            for j in range(many):
                rhs[i, j] = columns[k - 1, i, j]
        factorise_six(block, rhs)
        substitute_six(block, rhs, 0, many)
        t = w.tangent[p0 + k - 1]
        for i in range(6):
            for m in range(6):
                for j in range(many):
                    columns[k, i, j] -= t[6 + i, m] * rhs[m, j]
    for k in range(count - 1, 0, -1):
        if k == count - 1:
            _add_blocks(right[k], left[k], block)
        else:
            t = w.tangent[p0 + k]
            _add_blocks(t, left[k], block)
            for i in range(6):
                for m in range(6):
                    for j in range(many):
                        columns[k, i, j] -= t[i, 6 + m] * columns[k + 1, m, j]
        factorise_six(block, columns[k])
        substitute_six(block, columns[k], 0, many)


@merged_kernel
def _add_blocks(t, left, block):
    """Write the sum of two (6, 6) blocks, t and left, to block."""
    for i in range(6):
        for j in range(6):
            block[i, j] = left[i, j] + t[i, j]
