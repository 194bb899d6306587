# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The whole network: residual, elimination onto the bodies, and the step of all unknowns.

Below s: Structure; x: Inputs; state: State; w: Work; r: rod; lanes: LANES; params: columns of
parameters that the elimination carried, 0 or 1 + slots.

Source: Newton's method and block elimination, derived here; checked by differences in
test_network_robots.py and test_network_symmetries.py.
"""

from soro_mechanics.compilation.kernels import kernel, merged_kernel
from soro_mechanics.models.network.kernels.elimination_kernels import (
    eliminate_chain,
    eliminate_joints,
    is_driven,
    KEPT,
)
from soro_mechanics.models.network.kernels.end_kernels import SPHERICAL
from soro_mechanics.models.network.kernels.rod_kernels import (
    assemble_pieces,
    place_ends,
    subtract_load,
    subtract_weight,
)
from soro_mechanics.models.network.kernels.tendon_kernels import by_ends
from soro_mechanics.numerics.dense_kernels import larger, solve_in_place
from soro_mechanics.numerics.lie_kernels import compose, se3_exp, so3_exp
from soro_mechanics.numerics.vector_kernels import (
    column_at,
    dot,
    dot_six,
    row_at,
    six_in_column,
    six_in_row,
)

SINGULAR = -1
MAX_TURN = 0.6  # of a frame in one step [rad]
MAX_MOVE = 0.3  # of a frame in one step, in characteristic lengths


@kernel
def residual(s, x, state, w):
    """Return the largest scaled residual, or NaN: nodes, joints, unknown bodies, closures.

    Forces by s.scale[1], moments by s.scale[0] s.scale[1], closures by s.scale[0] and 1 rad.
    w.balance (bodies, 6) is left with the internal minus the applied wrench on every body, in the
    body's axes at its origin [N, N m]. x, state: above.
    """
    length = s.scale[0]
    size = s.scale[1]
    worst = 0.0
    t = w.scratch[0:6, 0:6]
    f = w.scratch[6, 0:6]
    w.balance[:] = 0.0
    for b in range(s.counts.bodies):
        subtract_load(state.body[b], x.dead[b], x.follower[b], w.balance[b], t)
        subtract_weight(
            state.body[b], s.body_mass[b], s.body_centre[b], x.gravity, w.balance[b], t
        )
    for r in range(s.counts.rods):
        p0 = s.rod_piece[r]
        last = s.rod_piece[r + 1] - 1
        for p in range(p0, last + 1):
            for i in range(3):
                worst = larger(worst, abs(w.closure[p, i]) / length)
                worst = larger(worst, abs(w.closure[p, 3 + i]))
            if p < last:
                for i in range(6):
                    f[i] = w.raw[p, 6 + i] + w.raw[p + 1, i]
                for i in range(3):
                    worst = larger(worst, abs(f[i]) / size)
                    worst = larger(worst, abs(f[3 + i]) / (size * length))
        for e in range(2):
            b = s.rod_body[r, e]
            p = p0 if e == 0 else last
            push = six_in_row(w.raw, p, 6 * e)
            for j in range(7 + s.joint_kind[r, e]):
                v = dot_six(six_in_column(w.basis[r, e], 0, j), push)
                if j < 6:
                    w.balance[b, j] += v
                elif j > 6:
                    worst = larger(worst, abs(v) / (size * length))
    for b in range(1, s.counts.bodies):
        for i in range(3):
            worst = larger(worst, abs(w.balance[b, i]) / size)
            worst = larger(worst, abs(w.balance[b, 3 + i]) / (size * length))
    return worst


@kernel
def evaluate(s, x, state, w, gradient, exact, lanes):
    """Place the ends, compute every element, return the residual.

    After an overflow on the way it is NaN, which is not below a tolerance. `exact` asks for the
    exact tangents of elements instead of those that Newton uses, gradient for columns of
    parameters. s, x, state, w, lanes: above.
    """
    place_ends(s, x, state, w)
    assemble_pieces(s, x, state, w, gradient, exact, lanes)
    return residual(s, x, state, w)


@merged_kernel
def _scatter(s, x, w, r, params):
    """Add condensed rod r to matrix, vector and (times x.map_gain) columns of w; s, x, params."""
    m = w.rod[r]
    first = 2 * KEPT
    for e in range(2):
        row0 = 6 * (s.rod_body[r, e] - 1)
        if row0 < 0:
            continue
        for i in range(6):
            row = m[KEPT * e + i]
            w.vector[row0 + i] += row[first]
            for f in range(2):
                column0 = 6 * (s.rod_body[r, f] - 1)
                if column0 < 0:
                    continue
                for j in range(6):
                    w.matrix[row0 + i, column0 + j] += row[KEPT * f + j]
    if params == 0:
        return
    for k in range(s.counts.maps):
        if s.map_index[k, 1] != r:
            continue
        actuator = s.map_index[k, 0]
        column = slot_column(s.map_index[k, 2], params)
        for e in range(2):
            row0 = 6 * (s.rod_body[r, e] - 1)
            if row0 >= 0:
                for i in range(6):
                    w.columns[row0 + i, actuator] += x.map_gain[k] * m[KEPT * e + i, column]


@kernel
def motor_efforts(s, x, w):
    """Write w.effort after an elimination with parameters: torque of every motor on the robot.

    Row a: derivative by the bodies' motion (n), by every actuator (m), and the torque itself
    [N m]. Rows of other actuators are zero. s, x: above.
    """
    n = w.matrix.shape[0]
    params = 1 + s.counts.slots
    w.effort[:] = 0.0
    for k in range(s.counts.maps):
        slot = s.map_index[k, 2]
        if slot < params:
            continue
        a = s.map_index[k, 0]
        r = s.map_index[k, 1]
        row = w.rod[r, slot_column(slot, params)]
        gain = x.map_gain[k]
        w.effort[a, w.effort.shape[1] - 1] += gain * row[2 * KEPT]
        for e in range(2):
            column0 = 6 * (s.rod_body[r, e] - 1)
            if column0 >= 0:
                for j in range(6):
                    w.effort[a, column0 + j] += gain * row[KEPT * e + j]
        for i in range(s.counts.maps):
            if s.map_index[i, 1] == r:
                column = slot_column(s.map_index[i, 2], params)
                w.effort[a, n + s.map_index[i, 0]] += gain * x.map_gain[i] * row[column]


@kernel
def slot_column(slot, params):
    """Return the column of w.rod that belongs to a slot: length, rest strains, motors; params."""
    if slot < params:
        return 2 * KEPT + 1 + slot
    return KEPT - 1 if slot == params else 2 * KEPT - 1


@kernel
def condense(s, x, state, w, gradient, inspect):
    """Eliminate all rods onto the bodies: w.matrix, w.vector, w.columns.

    Returns the negative pivots met in the rods (when `inspect`), or SINGULAR. s, x, state: above;
    gradient: with columns of parameters.
    """
    params = 1 + s.counts.slots if gradient else 0
    w.vector[:] = 0.0
    w.matrix[:] = 0.0
    w.columns[:] = 0.0
    negative = 0
    for r in range(s.counts.rods):
        chain = eliminate_chain(s, w, r, params, inspect, w.factor.shape[2])
        joints = eliminate_joints(s, w, r, params, inspect) if chain >= 0 else chain
        if joints < 0:
            return SINGULAR
        negative += chain + joints
        _scatter(s, x, w, r, params)
    for b in range(1, s.counts.bodies):
        o = 6 * (b - 1)
        block = w.matrix[o : o + 6, o : o + 6]
        force = w.vector[o : o + 6]
        subtract_load(state.body[b], x.dead[b], x.follower[b], force, block)
        subtract_weight(state.body[b], s.body_mass[b], s.body_centre[b], x.gravity, force, block)
    return negative


@kernel
def solve_bodies(w):
    """Write w.step_body = -w.matrix^-1 w.vector; return the determinant's sign, 0 singular."""
    n, a = w.matrix.shape[0], w.dense
    for i in range(n):
        for j in range(n):
            a[i, j] = w.matrix[i, j]
        a[i, n] = -w.vector[i]
    sign = solve_in_place(a, n, a[:, n:], 1)
    w.step_body[0, :] = 0.0
    for i in range(n):
        w.step_body[1 + i // 6, i % 6] = a[i, n]
    return sign


@kernel
def back_substitute(s, x, state, w, params, step_param, one):
    """Follow the bodies' step (and parameters' change) through joints, nodes and wrenches.

    q = -w.joints z, z = (eta_a, theta_a, eta_b, theta_b, one, step_param) of a rod; end nodes by
    w.basis (eta, theta, q). s, x, state, w, params: above; step_param (rods, params + 2): change
    of every slot, motors last; one: 1: the Newton step; 0: the derivative along the others.
    """
    for r in range(s.counts.rods):
        follow_bodies(s, x, state, w, r, params, step_param[r], one)


@kernel
def follow_bodies(s, x, state, w, r, params, step_param, one):
    """Do as `back_substitute` for rod r, of which step_param (params + 2,) is.

    s, x, state, w, params, one: as there.
    """
    z = w.scratch[0, 0 : 15 + params]
    for e in range(2):
        for i in range(6):
            z[KEPT * e + i] = w.step_body[s.rod_body[r, e], i]
        z[KEPT * e + 6] = step_param[params + e]
    z[2 * KEPT] = one
    for j in range(params):
        z[2 * KEPT + 1 + j] = step_param[j]
    first_joint = s.joint_kind[r, 0]
    w.step_joint[r, :] = 0.0
    for i in range(first_joint + s.joint_kind[r, 1]):
        v = 0.0
        for j in range(15 + params):
            v -= w.joints[r, i, j] * z[j]
        if i < first_joint:
            w.step_joint[r, 0, i] = v
        else:
            w.step_joint[r, 1, i - first_joint] = v
    n0 = s.rod_node[r]
    last = s.rod_node[r + 1] - 1
    for e in range(2):
        node = n0 if e == 0 else last
        for i in range(6):
            v = w.basis[r, e, i, 6] * z[KEPT * e + 6]
            v += dot_six(six_in_row(w.basis[r, e], i, 0), z[KEPT * e :])
            for j in range(s.joint_kind[r, e]):
                v += w.basis[r, e, i, 7 + j] * w.step_joint[r, e, j]
            w.step_node[node, i] = v
    _back_substitute_nodes(s, x, state, w, r, params, step_param, one)


@merged_kernel
def _back_substitute_nodes(s, x, state, w, r, params, step_param, one):
    """Write the steps of the inner nodes and of the stresses of rod r, its ends being known.

    ``step_n = -(B [step_first, step_n+1] + one b + P step_param)`` with the elimination of node n;
    that of an element's stress is K (one (d - h e0) + B eta - g dp) - one stress, g: w.grown.
    s, x, state, w, params: above.
    """
    n0 = s.rod_node[r]
    first = w.step_node[n0]
    for node in range(s.rod_node[r + 1] - 2, n0, -1):
        b = w.chain[node]
        for i in range(6):
            v = b[i, 12] * one + dot_six(six_in_row(b, i, 0), first)
            v += dot_six(six_in_row(b, i, 6), w.step_node[node + 1])
            for j in range(params):
                v += b[i, 13 + j] * step_param[j]
            w.step_node[node, i] = -v
    grown = min(params, 1 + s.shift.shape[1]) if is_driven(s, r, 1 + s.shift.shape[1]) else 0
    strain = w.scratch[1, 0:6]
    for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
        length = x.length[r] * s.share[p]
        for i in range(6):
            strain[i] = one * (w.twist[p, i] - length * x.section[p, i])
            strain[i] += by_ends(w.strain[p], i, w.step_node, n0 + p - s.rod_piece[r])
            for j in range(grown):
                strain[i] -= w.grown[p, i, j] * step_param[j]
        for i in range(6):
            stress = dot_six(six_in_row(x.stiffness[p], i, 0), strain)
            w.step_wrench[p, i] = stress - one * state.wrench[p, i]


@kernel
def move(s, old, w, part, new):
    """Write new = old moved by `part` of the step; end nodes follow in `place_ends`.

    g exp(part eta) of frames and spherical joints, all else by addition; s, w: above.
    """
    twist = w.scratch[0, 0:6]
    g = w.scratch[1:5, 0:4]
    for b in range(1, s.counts.bodies):
        for i in range(6):
            twist[i] = part * w.step_body[b, i]
        se3_exp(twist, g)
        compose(old.body[b], g, new.body[b])
    for r in range(s.counts.rods):
        for node in range(s.rod_node[r] + 1, s.rod_node[r + 1] - 1):
            for i in range(6):
                twist[i] = part * w.step_node[node, i]
            se3_exp(twist, g)
            compose(old.node[node], g, new.node[node])
        for e in range(2):
            for i in range(3):
                new.joint[r, e, i] = old.joint[r, e, i] + part * w.step_joint[r, e, i]
                twist[i] = part * w.step_joint[r, e, i]
            if s.joint_kind[r, e] == SPHERICAL:
                so3_exp(twist, g)
                for i in range(3):
                    row = row_at(old.spin[r, e], i, 0)
                    for j in range(3):
                        new.spin[r, e, i, j] = dot(row, column_at(g, 0, j))
    for p in range(s.counts.pieces):
        for i in range(6):
            new.wrench[p, i] = old.wrench[p, i] + part * w.step_wrench[p, i]


@kernel
def largest_step(s, w):
    """Return what part of a step is taken at once, its largest turn [rad], move [m]; s, w."""
    turn = shift = 0.0
    for k in range(s.counts.nodes):
        for i in range(3):
            shift = max(shift, abs(w.step_node[k, i]))
            turn = max(turn, abs(w.step_node[k, 3 + i]))
    for b in range(1, s.counts.bodies):
        for i in range(3):
            shift = max(shift, abs(w.step_body[b, i]))
            turn = max(turn, abs(w.step_body[b, 3 + i]))
    part = 1.0
    if turn > MAX_TURN:
        part = MAX_TURN / turn
    if shift * part > MAX_MOVE * s.scale[0]:
        part = MAX_MOVE * s.scale[0] / shift
    return part, turn, shift


@merged_kernel
def set_slots(s, x, w, change):
    """Write to w.slots how parameters of all rods of s, x change by change (m,) of actuators."""
    clear_slots(w)
    for k in range(s.counts.maps):
        w.slots[s.map_index[k, 1], s.map_index[k, 2]] += x.map_gain[k] * change[s.map_index[k, 0]]


@merged_kernel
def clear_slots(w):
    """Let no parameter of a rod change: w.slots = 0."""
    w.slots[:] = 0.0
