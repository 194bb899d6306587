# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of a haptic device on the beam network: its ports at one equilibrium.

After an elimination with motor columns every rod knows its stiffness between its motor and the
handle, so motors and handle together make one small matrix; its inverse gives every block of W.
Coordinates are ordered motors, then the six motions of the handle in its own axes.

Source: Koehler 2023, eqs (8), (16); the elimination is derived here and checked by differences in
test_haptic_device.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.arrays import State
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.elimination_kernels import KEPT
from soro_mechanics.models.network.kernels.newton_kernels import copy_into
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    clear_slots,
    condense,
    evaluate,
    largest_step,
    move,
    SINGULAR,
)
from soro_mechanics.numerics.dense_kernels import cholesky, solve_in_place, solve_lower
from soro_mechanics.numerics.lie_kernels import (
    compose,
    se3_exp,
    so3_log,
    so3_right_jacobian_inverse,
)

# How a solution ends, or that there is more to do; NOT_THERE: a state that is no equilibrium yet.
DONE, NOT_STABLE, NOT_FINITE, NOT_THERE, UNDER_WAY = 0, 1, 2, 3, 4

STEP, ELIMINATE, READ = 0, 1, 2  # what is to be done next
NO_RESIDUAL = 1e300  # `evaluate` returns this where something is not finite


@by_reference
class Progress(NamedTuple):
    """How far a solution is, all (1,)."""

    next: NDArray[np.int64]  # STEP, ELIMINATE or READ
    reached: NDArray[np.float64]  # by the last step, part of what was asked for
    residual: NDArray[np.float64]  # scaled, after that step
    steps: NDArray[np.int64]  # taken


@by_reference
class Device(NamedTuple):
    """Motors (na,), sensors (ns,) and handle of a device, and what is asked of it."""

    body: int  # the handle
    motor_rod: NDArray[np.int64]  # (na,)
    motor_axis: NDArray[np.float64]  # (na, 3) in the rods' first frames
    sensor_rod: NDArray[np.int64]  # (ns,)
    sensor_motor: NDArray[np.int64]  # (ns,)
    nodes: NDArray[np.int64]  # (ns, 2) under a sensor, counted along its rod
    weights: NDArray[np.float64]  # (ns, 2) of their rotations about the motor axis (16)
    across: NDArray[np.float64]  # (3, 2) directions across the handle's axis, in the tip frame
    angle: NDArray[np.float64]  # (na,) of the motors
    wrench: NDArray[np.float64]  # (6,) on the handle
    old: State  # scratch
    progress: Progress
    work: NDArray[np.float64]  # (`ports_workspace`,)


@kernel
def ports_workspace(na, ns, ne):
    """Return the length of the float workspace of `read_ports`: na motors, ns sensors, ne axes."""
    n = na + 6
    return 2 * n * n + 2 * n * (na + ne + ns) + 200  # 187 for the sensors


@kernel
def _stiffness(w, motor_rod, k):
    """Write the stiffness between motors and handle, symmetric part: (k + k^T) / 2.

    w: Work, eliminated with motor columns; motor_rod (na,); k (na + 6, na + 6): out [N m/rad, N/m,
    N].
    """
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
def _sensor_row(s, w, state, d, q, rates, rest, out):
    """Write the gradient of sensor q: sum of weight * rotation about the motor axis (16).

    d log(R) = J_r^-1 (own turn of the node - turn of the base seen from it). Returns the value [m]
    with the correction of the inner nodes, that of the handle left out. s: Structure; w: Work;
    state: State; d: Device; out (na + 6,); rates (3, 6, 8), rest (7, 3): scratch, columns of rates
    are the handle (6), the motor, and the correction that the last assembly still asks for.
    """
    r, a, na = d.sensor_rod[q], d.sensor_motor[q], d.motor_rod.shape[0]
    nodes, weights, motor_axis = d.nodes[q], d.weights[q], d.motor_axis[a]
    motion, first, here = rates[0], rates[1], rates[2]
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
        for e in range(nodes.shape[0]):
            if n0 + nodes[e] != node or weights[e] == 0.0:
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
                value += weights[e] * motor_axis[i] * vector[i]
            for c in range(8):
                for i in range(3):
                    # d log(R) = J_r^-1 (own turn of the node - turn of the base seen from it)
                    v = 0.0
                    for j in range(3):
                        turn = motion[3 + j, c]
                        for m in range(3):
                            turn -= relative[m, j] * first[3 + m, c]
                        v += inverse[i, j] * turn
                    v *= weights[e] * motor_axis[i]
                    if c < 6:
                        out[na + c] += v
                    elif c == 6:
                        out[a] += v
                    else:
                        value += v
    return value


@kernel
def read_ports(s, x, w, state, d, p):
    """Write `Ports` p from an assembly with gradients: W = H k^-1 H^T.

    H (na + 5 + ns, na + 6): rows of motors, effector and sensors; k: `_stiffness`. Torques,
    sensors and pose are corrected to first order by what the assembly lacks to equilibrium. s:
    Structure; x: Inputs; w: Work; state: State; d: Device. Returns DONE or NOT_STABLE.
    """
    na, ns, ne, work = d.motor_rod.shape[0], d.sensor_rod.shape[0], 5, d.work
    n, total = na + 6, na + ne + ns
    k, work = work[: n * n].reshape((n, n)), work[n * n :]
    factor, work = work[: n * n].reshape((n, n)), work[n * n :]
    h, work = work[: total * n].reshape((total, n)), work[total * n :]
    solved, work = work[: total * n].reshape((total, n)), work[total * n :]
    rates, work = work[:144].reshape((3, 6, 8)), work[144:]
    rest, twist, move = work[:21].reshape((7, 3)), work[21:27], work[27:43].reshape((4, 4))
    # What the last assembly still lacks to equilibrium moves the handle by this.
    for i in range(6):
        twist[i] = 0.0
    if not _correction(w, twist):
        return NOT_STABLE
    se3_exp(twist, move)
    g = state.body[d.body]
    compose(g, move, p.pose)
    for i in range(6):
        for e in range(5):
            p.axes[i, e] = 1.0 if i == e and i < 3 else 0.0
    for i in range(3):
        for e in range(2):
            v = 0.0
            for j in range(3):
                v += g[i, j] * d.across[j, e]
            p.axes[3 + i, 3 + e] = v
    for e in range(5):  # the handle may have turned: the same wrench along the new axes
        p.force[e] = 0.0
        for i in range(6):
            p.force[e] += p.axes[i, e] * x.dead[d.body, i]
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
            h[na + 3 + e, na + 3 + j] = d.across[j, e]
    for q in range(ns):
        p.sensor[q] = _sensor_row(s, w, state, d, q, rates, rest, h[na + ne + q])
        for j in range(6):
            p.sensor[q] += h[na + ne + q, na + j] * twist[j]
    _stiffness(w, d.motor_rod, k)
    for a in range(na):
        p.angle[a] = x.theta[d.motor_rod[a], 0]
        p.torque[a] = w.rod[d.motor_rod[a], KEPT - 1, 2 * KEPT]
        for j in range(6):
            p.torque[a] += k[a, na + j] * twist[j]
    if not cholesky(k, factor, 0):
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
            p.compliance[i, j] = v
            p.compliance[j, i] = v
    return DONE


@kernel
def _correction(w, twist):
    """Write the step of the handle that the last assembly asks for, motors and load held.

    twist (6,): a wrench in its axes, then K^-1 (wrench - residual), out [m, rad]; w: Work, with K.
    Returns False where K is singular.
    """
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
def take_step(s, x, w, state, d):
    """Step from the last assembly towards the motor angles and the wrench on the handle in `d`.

    What was reached is in x: all of it, or a part where the step would be too long. s: Structure;
    x: Inputs; w: Work; state: State, out; d: Device. Returns DONE, NOT_STABLE or NOT_FINITE, and
    the part.
    """
    g, body, motor_rod, angle, wrench = state.body[d.body], d.body, d.motor_rod, d.angle, d.wrench
    params = 1 + s.counts.slots
    if not (_finite(angle) and _finite(wrench)):
        return NOT_FINITE, 0.0
    clear_slots(w)
    twist = w.step_body[body]
    for i in range(6):
        twist[i] = 0.0
    for i in range(3):
        for j in range(3):
            twist[i] += g[j, i] * (wrench[j] - x.dead[body, j])
            twist[3 + i] += g[j, i] * (wrench[3 + j] - x.dead[body, 3 + j])
    for a in range(motor_rod.shape[0]):
        turn = angle[a] - x.theta[motor_rod[a], 0]
        w.slots[motor_rod[a], params] = turn
        for i in range(6):
            twist[i] -= w.columns[i, a] * turn
    if not (_correction(w, twist) and _finite(twist)):
        return NOT_STABLE, 0.0
    back_substitute(s, x, state, w, params, w.slots, 1.0)
    part, _, _ = largest_step(s, w)
    copy_into(state, d.old)
    move(s, d.old, w, part, state)
    rest = 1.0 - part
    for a in range(motor_rod.shape[0]):
        x.theta[motor_rod[a], 0] = angle[a] - rest * (angle[a] - x.theta[motor_rod[a], 0])
    for i in range(6):
        x.dead[body, i] = wrench[i] - rest * (wrench[i] - x.dead[body, i])
    return DONE, part


@kernel
def go_on(s, x, w, state, d, p, ends, whole):
    """Do the next part of a solution, or with `whole` all the rest of it, see `Progress`.

    A step, its elimination, both again until the residual is below `ends[0]` or after `ends[1]`
    steps, the ports. s: Structure; x: Inputs; w: Work; state: State; d: Device; p: Ports, out.
    Returns how it ended: DONE, NOT_STABLE, NOT_FINITE, NOT_THERE, or UNDER_WAY.
    """
    progress = d.progress
    while True:
        if progress.next[0] == STEP:  # along the last linearisation
            status, progress.reached[0] = take_step(s, x, w, state, d)
            if status != DONE:
                return status
            progress.steps[0] += 1
            progress.residual[0] = evaluate(s, x, state, w, True, False, LANES)
            progress.next[0] = ELIMINATE
        else:
            arrived = progress.reached[0] == 1.0 and progress.residual[0] <= ends[0]
            if progress.next[0] == READ:
                if read_ports(s, x, w, state, d, p) != DONE:
                    return NOT_STABLE
                return DONE if arrived else NOT_THERE
            good = progress.residual[0] < NO_RESIDUAL  # one that is no number shows here too
            if not good or condense(s, x, state, w, True, False) == SINGULAR:
                return NOT_STABLE
            done = arrived or progress.steps[0] >= ends[1]
            progress.next[0] = READ if done else STEP
        if not whole:
            return UNDER_WAY


@kernel
def _finite(vector):
    """Whether every number of a vector (n,) is finite."""
    for i in range(vector.shape[0]):
        if not math.isfinite(vector[i]):
            return False
    return True


@kernel
def free_wrench(axes, force, wrench):
    """Write the wrench (6,) [N, N m], out, of a force (ne,) along axes (6, ne): axes force."""
    for i in range(6):
        wrench[i] = 0.0
        for e in range(force.shape[0]):
            wrench[i] += axes[i, e] * force[e]
