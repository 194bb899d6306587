# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Flex sensors after an elimination with parameter columns: values, and what they follow.

A sensor measures the turn between two nodes of a rod about an axis: a row vector on the motion of
these two nodes. The row is carried back through the elimination (the adjoint of following every
node), which costs one pass along the rod for each sensor.

Of a rod that is clamped at both ends the elimination has all that its sensors feel of each other:
with the blocks D of the inner nodes, K = (1 + L D^-1) D (1 + D^-1 U), and the row carried back is
r (1 + D^-1 U)^-1. Rods with joints, which give way when their nodes push, are eliminated again.
Below s: Structure; w: Work of the elimination; r: rod; params: its columns of parameters; row_a,
row_b (3,) of w.scratch are rows on the rotations of both nodes.

Source: Koehler (2023), eq. 16, for sensors as rows on rotations of nodes; the adjoint is derived
here, compared with an elimination from both ends and with loads in test_network_sensors.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, makes_arrays, merged_kernel
from soro_mechanics.models.network.kernels.elimination_kernels import KEPT
from soro_mechanics.models.network.kernels.end_kernels import CLAMPED
from soro_mechanics.models.network.kernels.response_kernels import (
    inner_columns,
    one_side_stiffness,
)
from soro_mechanics.numerics.dense_kernels import substitute_six
from soro_mechanics.numerics.lie_kernels import so3_log, so3_right_jacobian_inverse
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    dot,
    dot_six,
    in_axes,
    out_of_axes,
    put_vector,
    six_in_column,
    times,
)


class Sensors(NamedTuple):
    """Sensors (k,), those of one rod after each other, and their response."""

    rod: NDArray[np.int64]  # (k,)
    nodes: NDArray[np.int64]  # (k, 2) counted through the network
    axis: NDArray[np.float64]  # (k, 3)
    sides: NDArray[np.float64]  # (2, nodes of a rod, 6, 6) scratch
    columns: NDArray[np.float64]  # (nodes of a rod, 6, k) scratch
    work: NDArray[np.float64]  # (6, 6 + k) scratch
    value: NDArray[np.float64]  # (k,) [rad]
    bodies: NDArray[np.float64]  # (k, n) per motion of the bodies, own axes
    actuators: NDArray[np.float64]  # (k, m)
    inner: NDArray[np.float64]  # (k, k) per generalised force of sensors


@kernel
def _turn(ga, gb, axis, scratch, row_a, row_b):
    """Return the turn axis . log(R_a' R_b) [rad]; write its derivatives by both frames' rotations.

    row_a = -J_l^-T axis, row_b = J_r^-T axis (3,): out; ga, gb (4, 4); axis (3,); scratch (4, 3).
    """
    for i in range(3):
        for j in range(3):
            scratch[i, j] = dot(column_at(ga, 0, i), column_at(gb, 0, j))
    turn = scratch[3]
    so3_log(scratch, turn)
    so3_right_jacobian_inverse(turn, scratch)
    put_vector(row_b, 0, 1, in_axes(scratch, axis))
    # J_l is the transpose of J_r
    put_vector(row_a, 0, 1, times(-1.0, out_of_axes(scratch, axis)))
    return dot(axis, turn)


@merged_kernel
def _carry_loads(s, w, r, first, columns, solved):
    """Replace loads P on the inner nodes of rod r by D^-1 (1 + L D^-1)^-1 P.

    u_k = D_k^-1 (P_k - L u_k-1). columns (nodes of the rod, 6, k): P, zero before node `first`,
    out: u; solved (6, k): scratch; s, w: above.
    """
    n0 = s.rod_node[r]
    last = s.rod_node[r + 1] - 1
    many = columns.shape[2]
    for node in range(max(first, n0 + 1), last):
        own = columns[node - n0]
        d = w.factor[node]
        if node > first and node > n0 + 1:
            lower = w.tangent[s.rod_piece[r] + node - n0 - 1]
            before = columns[node - n0 - 1]
            for i in range(6):
                for m in range(6):
                    for j in range(many):
                        own[i, j] -= lower[6 + i, m] * before[m, j]
        for i in range(6):
            row = int(d[i, 6])
            for j in range(many):
                solved[i, j] = own[row, j]
        substitute_six(d, solved, 0, many)
        for i in range(6):
            for j in range(many):
                own[i, j] = solved[i, j]


@makes_arrays
@merged_kernel
def _carry_back(s, w, r, first, second, params, solved, inner):
    """Turn a row on the rotations of two nodes into one on what the rod follows; return it.

    That is (15 + params,): body a (6), motor a, body b, motor b, one, parameters; from node first
    or second on, row_k+1 -= row_k C_k[next]. solved (nodes of the rod, 6, k) is of `_carry_loads`:
    inner (k,) receives what these loads do to the row with the ends held. s, w, r: above.
    """
    row_a = w.scratch[40, 0:3]
    row_b = w.scratch[41, 0:3]
    z = w.scratch[52, 0 : 15 + params]
    at = w.scratch[53:56, 0:6]  # rows on the first node, the present node and the next one
    n0 = s.rod_node[r]
    last = s.rod_node[r + 1] - 1
    at[:] = 0.0
    z[:] = 0.0
    start, here, ahead = at[0], at[1], at[2]
    low = min(first, second)
    for node in range(low, last):
        if node == first:
            for j in range(3):
                here[3 + j] += row_a[j]
        if node == second:
            for j in range(3):
                here[3 + j] += row_b[j]
        if node == n0:
            for j in range(6):
                start[j] += here[j]
                here[j] = 0.0
            continue
        for i in range(6):
            for j in range(solved.shape[2]):
                inner[j] += here[i] * solved[node - n0, i, j]
        b = w.chain[node]
        for j in range(6):
            ahead[j] = 0.0
        for i in range(6):
            c = here[i]
            for j in range(6):
                start[j] -= c * b[i, j]
                ahead[j] -= c * b[i, 6 + j]
            for j in range(params):
                z[15 + j] -= c * b[i, 13 + j]
        for j in range(6):
            here[j] = ahead[j]
    for j in range(3):
        if first == last:
            here[3 + j] += row_a[j]
        if second == last:
            here[3 + j] += row_b[j]
    _through_ends(s, w, r, start, here, z)
    return z


@merged_kernel
def _through_ends(s, w, r, start, end, z):
    """Add rows on both end nodes to z: by their bodies and motors, and by the joints' angles.

    start, end (6,): rows; z (15 + params,): out; row basis, of an angle -w.joints z; s, w, r.
    """
    for e in range(2):
        row = start if e == 0 else end
        basis = w.basis[r, e]
        for j in range(7):
            z[KEPT * e + j] += dot_six(row, six_in_column(basis, 0, j))
        for k in range(s.joint_kind[r, e]):
            index = k if e == 0 else s.joint_kind[r, 0] + k
            c = dot_six(row, six_in_column(basis, 0, 7 + k))
            for j in range(z.shape[0]):
                z[j] -= c * w.joints[r, index, j]


@merged_kernel
def _spread(s, x, r, z, params, bodies, actuators):
    """Add a row z on what rod r follows to rows on all bodies (n,) and, by x.map_gain, actuators.

    z (15 + params,): of `_carry_back`; actuators (m,); s, params: above.
    """
    for e in range(2):
        column = 6 * (s.rod_body[r, e] - 1)
        if column >= 0:
            for i in range(6):
                bodies[column + i] += z[KEPT * e + i]
    for k in range(s.counts.maps):
        if s.map_index[k, 1] == r:
            slot = s.map_index[k, 2]
            column = 15 + slot if slot < params else (6 if slot == params else KEPT + 6)
            actuators[s.map_index[k, 0]] += x.map_gain[k] * z[column]


@makes_arrays
@kernel
def sensor_response(s, x, state, w, q):
    """Write values [rad] of all sensors and their derivatives into q: Sensors, after `linearise`.

    Of the row c_i of a sensor by bodies and actuators; inner[i, k] = c_i K^-1 c_k', bodies held.
    s, w: above; x: Inputs; state: State.
    """
    rod, nodes, axis, columns, inner = q.rod, q.nodes, q.axis, q.columns, q.inner
    params = 1 + s.counts.slots
    row_a = w.scratch[40, 0:3]
    row_b = w.scratch[41, 0:3]
    turning = w.scratch[42:46, 0:3]
    count = rod.shape[0]
    q.bodies[:] = q.actuators[:] = inner[:] = 0.0
    i = 0
    while i < count:
        r = rod[i]
        n0 = s.rod_node[r]
        length = s.rod_node[r + 1] - n0
        many = 0
        while i + many < count and rod[i + many] == r:
            many += 1
        own = columns[0:length, :, 0:many]
        own[:] = 0.0
        lowest = n0 + length
        for k in range(many):
            a, b = nodes[i + k]
            turn = _turn(state.node[a], state.node[b], axis[i + k], turning, row_a, row_b)
            q.value[i + k] = turn
            for j in range(3):
                own[b - n0, 3 + j, k] += row_b[j]
                own[a - n0, 3 + j, k] += row_a[j]
            lowest = min(lowest, a, b)
        clamped = s.joint_kind[r, 0] == CLAMPED and s.joint_kind[r, 1] == CLAMPED
        if clamped:
            _carry_loads(s, w, r, lowest, own, q.work)
        else:
            one_side_stiffness(s, w, r, 0, length, q.sides[0])
            one_side_stiffness(s, w, r, 1, 1, q.sides[1])
            inner_columns(s, w, r, q.sides[0], q.sides[1], own, q.work[:, 0 : 6 + many])
        for k in range(many):
            a, b = nodes[i + k]
            _turn(state.node[a], state.node[b], axis[i + k], turning, row_a, row_b)
            solved = own[:, :, 0 : many if clamped else 0]
            z = _carry_back(s, w, r, a, b, params, solved, inner[i + k, i : i + many])
            _spread(s, x, r, z, params, q.bodies[i + k], q.actuators[i + k])
            if clamped:
                continue
            for m in range(many):
                v = dot(row_b, column_at(own[b - n0], 3, m))
                inner[i + k, i + m] = v + dot(row_a, column_at(own[a - n0], 3, m))
        i += many
