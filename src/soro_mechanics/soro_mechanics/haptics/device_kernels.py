# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a haptic device on the beam network: its ports at one equilibrium.

After an elimination with motor columns every rod knows its stiffness between its motor and the
handle, so motors and handle together make one small matrix; its inverse gives every block of W.
Coordinates are ordered motors, then the six motions of the handle in its own axes.
"""

import math

from soro_mechanics.models.network.kernels.elimination_kernels import KEPT
from soro_mechanics.models.network.kernels.newton_kernels import copy_into, STEP_MOVE, STEP_TURN
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    condense,
    evaluate,
    largest_step,
    move,
    SINGULAR,
)
from soro_mechanics.numerics.dense_kernels import solve_in_place
from soro_mechanics.numerics.kernels import kernel, NO, YES
from soro_mechanics.numerics.lie_kernels import (
    compose,
    se3_exp,
    so3_log,
    so3_right_jacobian_inverse,
)
from soro_mechanics.numerics.qp_kernels import cholesky, solve_lower

DONE = 0
NOT_SOLVED = 1
NOT_STABLE = 2
NOT_FINITE = 3


@kernel
def ports_workspace(na, ns, ne):
    """Return the length of the float workspace of `read_ports`."""
    n = na + 6
    return 2 * n * n + 2 * n * (na + ne + ns) + 200  # 187 for the sensors


@kernel
def _stiffness(s, w, motor_rod, k):
    """Write the stiffness between motors and handle, symmetric part."""
    na = motor_rod.shape[0]
    n = na + 6
    for i in range(n):
        for j in range(n):
            k[i, j] = 0.0
    for i in range(6):
        for j in range(6):
            k[na + i, na + j] = 0.5 * (w.matrix[i, j] + w.matrix[j, i])
    for a in range(na):
        m = w.rod[motor_rod[a]]
        k[a, a] = m[KEPT - 1, KEPT - 1]
        for j in range(6):
            cross = 0.5 * (m[KEPT - 1, KEPT + j] + m[KEPT + j, KEPT - 1])
            k[a, na + j] = cross
            k[na + j, a] = cross


@kernel
def _sensor_row(s, w, state, r, motor_axis, nodes, weights, a, na, motion, first, here, rest, out):
    """Write value and gradient of one sensor: sum of weight * rotation about the motor axis (16).

    nodes counts along the rod. Columns of motion, first, here (6, 8) are the handle (6), the
    motor, and the correction that the last assembly still asks for; rest (7, 3) is scratch.
    Returns the value with the correction of the inner nodes, that of the handle left out.
    """
    n0, last = s.rod_node[r], s.rod_node[r + 1] - 1
    relative, vector, inverse = rest[0:3], rest[3], rest[4:7]
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(6):
        for c in range(8):
            first[i, c] = 0.0
            motion[i, c] = w.basis[r, 1, i, c] if c < 6 else 0.0
        first[i, 6] = w.basis[r, 0, i, 6]
    value = 0.0
    for node in range(last, n0, -1):
        if node < last:
            b = w.chain[node]
            for i in range(6):
                for c in range(8):
                    v = -b[i, 12] if c == 7 else 0.0
                    for j in range(6):
                        v -= b[i, j] * first[j, c] + b[i, 6 + j] * motion[j, c]
                    here[i, c] = v
            for i in range(6):
                for c in range(8):
                    motion[i, c] = here[i, c]
        for q in range(nodes.shape[0]):
            if n0 + nodes[q] != node or weights[q] == 0.0:
                continue
            for i in range(3):
                for j in range(3):
                    v = 0.0
                    for m in range(3):
                        v += state.node[n0, m, i] * state.node[node, m, j]
                    relative[i, j] = v
            so3_log(relative, vector)
            so3_right_jacobian_inverse(vector, inverse)
            for i in range(3):
                value += weights[q] * motor_axis[i] * vector[i]
            for c in range(8):
                for i in range(3):
                    # d log(R) = J_r^-1 (own turn of the node - turn of the base seen from it)
                    v = 0.0
                    for j in range(3):
                        turn = motion[3 + j, c]
                        for m in range(3):
                            turn -= relative[m, j] * first[3 + m, c]
                        v += inverse[i, j] * turn
                    v *= weights[q] * motor_axis[i]
                    if c < 6:
                        out[na + c] += v
                    elif c == 6:
                        out[a] += v
                    else:
                        value += v
    return value


@kernel
def read_ports(
    s,
    w,
    state,
    body,
    motor_rod,
    motor_axis,
    sensor_rod,
    sensor_motor,
    nodes,
    weights,
    across,
    compliance,
    torque,
    pose,
    axes,
    sensor,
    work,
):
    """Write everything of `CondensedPorts` from an assembly with gradients.

    Parameters
    ----------
    motor_rod : (na,) int64; motor_axis : (na, 3) axes in the rods' first frames
    sensor_rod, sensor_motor : (ns,) int64
    nodes : (ns, 2) int64, weights : (ns, 2)
        Of the sensors.
    across : (3, 2)
        Two directions across the handle's axis, in the tip frame.
    """
    na, ns, ne = motor_rod.shape[0], sensor_rod.shape[0], 5
    n, total = na + 6, na + ne + ns
    k, work = work[: n * n].reshape((n, n)), work[n * n :]
    factor, work = work[: n * n].reshape((n, n)), work[n * n :]
    h, work = work[: total * n].reshape((total, n)), work[total * n :]
    solved, work = work[: total * n].reshape((total, n)), work[total * n :]
    motion, work = work[:48].reshape((6, 8)), work[48:]
    first, work = work[:48].reshape((6, 8)), work[48:]
    here, work = work[:48].reshape((6, 8)), work[48:]
    rest, twist, move = work[:21].reshape((7, 3)), work[21:27], work[27:43].reshape((4, 4))
    # What the last assembly still lacks to equilibrium moves the handle by this.
    for i in range(6):
        twist[i] = 0.0
    if not _correction(w, twist):
        return NOT_STABLE
    se3_exp(twist, move)
    g = state.body[body]
    compose(g, move, pose)
    for i in range(6):
        for e in range(5):
            axes[i, e] = 1.0 if i == e and i < 3 else 0.0
    for i in range(3):
        for e in range(2):
            v = 0.0
            for j in range(3):
                v += g[i, j] * across[j, e]
            axes[3 + i, 3 + e] = v
    for i in range(total):
        for j in range(n):
            h[i, j] = 0.0
    for a in range(na):
        h[a, a] = 1.0
    for i in range(3):
        for j in range(3):
            h[na + i, na + j] = g[i, j]
    for e in range(2):
        for j in range(3):
            h[na + 3 + e, na + 3 + j] = across[j, e]
    for q in range(ns):
        a = sensor_motor[q]
        sensor[q] = _sensor_row(
            s, w, state, sensor_rod[q], motor_axis[a], nodes[q], weights[q], a, na, motion, first,
            here, rest, h[na + ne + q],
        )  # fmt: skip
        for j in range(6):
            sensor[q] += h[na + ne + q, na + j] * twist[j]
    _stiffness(s, w, motor_rod, k)
    for a in range(na):
        torque[a] = w.rod[motor_rod[a], KEPT - 1, 2 * KEPT]
        for j in range(6):
            torque[a] += k[a, na + j] * twist[j]
    if not cholesky(k, factor):
        return NOT_STABLE
    for i in range(total):
        for j in range(n):
            solved[i, j] = h[i, j]
        solve_lower(factor, solved[i])
    for i in range(total):
        for j in range(i + 1):
            v = 0.0
            for m in range(n):
                v += solved[i, m] * solved[j, m]
            compliance[i, j] = v
            compliance[j, i] = v
    return DONE


@kernel
def _correction(w, twist):
    """Write the step of the handle that the last assembly asks for, motors and load held."""
    a = w.dense
    for i in range(6):
        for j in range(6):
            a[i, j] = w.matrix[i, j]
        a[i, 6] = twist[i] - w.vector[i]
    if solve_in_place(a, 6, a[:, 6:], 1) == 0:
        return False
    for i in range(6):
        twist[i] = a[i, 6]
    return True


@kernel
def assemble(s, x, w, state, lanes):
    """Assemble and eliminate with motor columns; returns status and residual."""
    error = evaluate(s, x, state, w, YES, NO, lanes)
    if error >= 1e300:
        return NOT_SOLVED, error
    if condense(s, x, state, w, YES, NO) == SINGULAR:
        return NOT_STABLE, error
    return DONE, error


@kernel
def follow(s, x, w, state, old, slots, motor_rod, angle, body, wrench, tolerance, most, lanes):
    """Follow motor angles and the wrench on the handle from the last solution.

    The last assembly's linearisation takes the step, so that one assembly per tick does; further
    ones only where the residual is above the tolerance, or where the step is so long that it is
    taken in parts. What was reached is in `x`: of a way that is not done, some of it.

    Returns
    -------
    status, assemblies, residual
    """
    g = state.body[body]
    params = 1 + s.counts[5]
    error = 0.0
    if not (_finite(angle) and _finite(wrench)):
        return NOT_FINITE, 0, error
    for step in range(most):
        for r in range(slots.shape[0]):
            for j in range(slots.shape[1]):
                slots[r, j] = 0.0
        twist = w.step_body[body]
        for i in range(6):
            twist[i] = 0.0
        for i in range(3):
            for j in range(3):
                twist[i] += g[j, i] * (wrench[j] - x.dead[body, j])
                twist[3 + i] += g[j, i] * (wrench[3 + j] - x.dead[body, 3 + j])
        for a in range(motor_rod.shape[0]):
            turn = angle[a] - x.theta[motor_rod[a], 0]
            slots[motor_rod[a], params] = turn
            for i in range(6):
                twist[i] -= w.columns[i, a] * turn
        if not (_correction(w, twist) and _finite(twist)):
            return NOT_STABLE, step, error
        back_substitute(s, x, state, w, params, slots, 1.0)
        turned, shifted = largest_step(s, w)
        part = 1.0
        if turned > STEP_TURN:
            part = STEP_TURN / turned
        if shifted * part > STEP_MOVE * s.scale[0]:
            part = STEP_MOVE * s.scale[0] / shifted
        copy_into(state, old)
        move(s, old, w, part, state)
        rest = 1.0 - part
        for a in range(motor_rod.shape[0]):
            x.theta[motor_rod[a], 0] = angle[a] - rest * (angle[a] - x.theta[motor_rod[a], 0])
        for i in range(6):
            x.dead[body, i] = wrench[i] - rest * (wrench[i] - x.dead[body, i])
        status, error = assemble(s, x, w, state, lanes)
        if status != DONE or (part == 1.0 and error <= tolerance):
            return status, step + 1, error
    return NOT_SOLVED, most, error


@kernel
def _finite(vector):
    """Whether every number of a vector is finite."""
    for i in range(vector.shape[0]):
        if not math.isfinite(vector[i]):
            return False
    return True


@kernel
def free_wrench(axes, force, wrench):
    """Write the wrench (6,) of a force along the effector directions."""
    for i in range(6):
        wrench[i] = 0.0
        for e in range(force.shape[0]):
            wrench[i] += axes[i, e] * force[e]
