# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernels of haptic rendering (Koehler 2023, eqs 23-30); words and checks in `rendering`.

Source: Koehler 2023, eqs (8), (23)-(30); the energy limit is derived here and checked against
balances in test_rendering.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, makes_arrays
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.haptics.sensing_kernels import sense_effector, SENSED, weigh_sensors
from soro_mechanics.haptics.watch_kernels import follow_strips
from soro_mechanics.numerics.dense_kernels import cholesky, solve_lower, solve_upper
from soro_mechanics.numerics.lie_kernels import pose_error, so3_exp
from soro_mechanics.numerics.qp_kernels import Bounds, OPTIMAL, solve_qp, workspace_size

RENDERED = 0
LIMITS_CONTRADICT = 1
NOT_SOLVED = 2

Floats = NDArray[np.float64]


@by_reference
class Rendered(NamedTuple):
    """What one rendering knows beside the sample, and what it finds."""

    weight: Floats  # (ne,) of the squared errors along the effector directions
    regularisation: float  # alpha of alpha/2 lambda_a.W_aa.lambda_a, relative to both traces
    low_torque: Floats  # (na,) limits of the total torque; may be infinite
    high_torque: Floats
    low_angle: Floats
    high_angle: Floats
    torque_change: Floats  # (na,) d_lambda_a of (28)
    angle: Floats  # (na,) theta_a of (29)
    multiplier: Floats  # (2 na,) of the torque limits, then of the angle limits
    work: Floats
    index: NDArray[np.int64]  # (na,)


@by_reference
class Monitor(NamedTuple):
    """State of the energy monitor, all (1,), energies [J]; see `EnergyMonitor`."""

    tank: Floats  # what the motors may give, what the legs store included
    left: Floats  # of it at the last tick, without that
    received: Floats  # what the hand gave since the start
    lowest: Floats  # least of that
    limited: Floats  # steps that were shortened
    started: Floats  # 0 until the first sample


@by_reference
class Felt(NamedTuple):
    """What is kept of the hand from sample to sample."""

    monitor: Monitor
    last_pose: Floats  # (4, 4)
    last_wrench: Floats  # (6,)
    moved: Floats  # (6,) twist since the last sample
    speed: Floats  # (6,)
    smoothing: float  # of it
    drift: Floats  # (ns,) by how much strips may err beside what is known of them


@by_reference
class Commanded(NamedTuple):
    """What limits commands, and the last one."""

    capacity: float  # of the tank
    monitor: Monitor
    command: Floats  # (na,)
    step: Floats  # (na,)
    work: Floats


@kernel
def rendering_workspace(na, ne):
    """Return the length of the float workspace of `render`: na motors, ne directions."""
    return 3 * na * na + 9 * na + 2 * ne + 46 + workspace_size(na, 2 * na)


@kernel
def _goal_offset(p, hand, goal, scratch, offset):
    """Write delta_e^0 of (26) without the force term: linearisation minus goal, along the axes.

    offset = -axes^T (twist from p.pose to the hand moved by goal). p: Ports; hand (4, 4): pose;
    goal (6,): twist from it [m, rad]; scratch (31,); offset (ne,): out.
    """
    target = scratch[:16].reshape((4, 4))
    turn = scratch[16:25].reshape((3, 3))
    twist = scratch[25:31]
    so3_exp(goal[3:], turn)
    for i in range(3):
        target[i, 3] = hand[i, 3] + goal[i]
        for j in range(3):
            s = 0.0
            for k in range(3):
                s += turn[i, k] * hand[k, j]
            target[i, j] = s
    pose_error(p.pose, target, twist)
    for e in range(p.force.shape[0]):
        s = 0.0
        for k in range(6):
            s += p.axes[k, e] * twist[k]
        offset[e] = -s


@kernel
def render(p, hand, goal, goal_force, r):
    """Find motor angles that bring the hand to the goal while it keeps the goal force.

    (26)-(28): the torques' change x of least 1/2 |w^1/2 (W_ea x + offset)|^2 + alpha/2
    lambda.W_aa.lambda within the limits; (29) gives the angles. p: Ports; hand (4, 4): sensed
    pose; goal, goal_force (6,): twist from it to the goal, and force of the hand assumed there; r:
    Rendered, `torque_change` and `angle` out. Returns RENDERED, LIMITS_CONTRADICT or NOT_SOLVED.
    """
    na, ne = p.angle.shape[0], p.force.shape[0]
    w, axes, weight, work = p.compliance, p.axes, r.weight, r.work
    h, work = work[: na * na].reshape((na, na)), work[na * na :]
    rows, work = work[: 2 * na * na].reshape((2 * na, na)), work[2 * na * na :]
    g, work = work[:na], work[na:]
    low, work = work[: 2 * na], work[2 * na :]
    high, work = work[: 2 * na], work[2 * na :]
    pushed, work = work[:na], work[na:]
    offset, work = work[:ne], work[ne:]
    force, work = work[:ne], work[ne:]
    _goal_offset(p, hand, goal, work, offset)
    for e in range(ne):
        s = 0.0
        for k in range(6):
            s += axes[k, e] * goal_force[k]
        force[e] = s - p.force[e]
    for e in range(ne):
        for f in range(ne):
            offset[e] += w[na + e, na + f] * force[f]
    motion, work_aa = 0.0, 0.0
    for i in range(na):
        for e in range(ne):
            motion += weight[e] * w[na + e, i] * w[na + e, i]
        work_aa += w[i, i]
    alpha = r.regularisation * motion / work_aa
    for i in range(na):
        g[i] = 0.0
        for e in range(ne):
            g[i] += weight[e] * w[na + e, i] * offset[e]
        pushed[i] = p.angle[i]
        for e in range(ne):
            pushed[i] += w[i, na + e] * force[e]
        for j in range(na):
            s = alpha * w[i, j]
            # Energy of the total torque, not of its change: else the redundant direction drifts.
            g[i] += s * p.torque[j]
            for e in range(ne):
                s += weight[e] * w[na + e, i] * w[na + e, j]
            h[i, j] = s
            rows[i, j] = 1.0 if i == j else 0.0
            rows[na + i, j] = w[i, j]
        low[i], high[i] = r.low_torque[i] - p.torque[i], r.high_torque[i] - p.torque[i]
        low[na + i], high[na + i] = r.low_angle[i] - pushed[i], r.high_angle[i] - pushed[i]
    bounds = Bounds(rows, low, high)
    status, _ = solve_qp(h, g, bounds, r.torque_change, r.multiplier, work, r.index)
    if status != OPTIMAL:
        return LIMITS_CONTRADICT if status == 1 else NOT_SOLVED
    for i in range(na):
        s = pushed[i]
        for j in range(na):
            s += w[i, j] * r.torque_change[j]
        r.angle[i] = s
    return RENDERED


@kernel
def limit_workspace(na, ne):
    """Return the length of the float workspace of `limit_command`: na motors, ne directions."""
    return na * na + ne * na + 2 * ne * ne + na + 3 * ne


@kernel
def stored_energy(p, z, wrench, command, step, work):
    """Return the energy [J] the hand gets if it relaxes once the motors are at the command.

    With J = W_ea W_aa^-1 (8) and C = W_ee - J W_ae the compliance of the hand with the motors
    held, the motors' lag changes the hand's force to f - C^-1 J (command - angle), and that stores
    1/2 f.C.f. A further step s adds -f.J s + 1/2 (J s).C^-1 J s: its linear and quadratic part are
    returned too, for a share of the step; NaN where W is not positive definite. p: Ports; z (nz,):
    see `Sensed`; wrench (6,): of the hand; command, step (na,) [rad]; work: see `limit_workspace`.
    """
    na, ne, w = p.angle.shape[0], p.force.shape[0], p.compliance
    chol, work = work[: na * na].reshape((na, na)), work[na * na :]
    jacobian, work = work[: ne * na].reshape((ne, na)), work[ne * na :]
    held, work = work[: ne * ne].reshape((ne, ne)), work[ne * ne :]
    factor, work = work[: ne * ne].reshape((ne, ne)), work[ne * ne :]
    lag, work = work[:na], work[na:]
    force, lagging, moved = work[:ne], work[ne : 2 * ne], work[2 * ne : 3 * ne]
    if not cholesky(w[:na, :na], chol, 0):
        return np.nan, np.nan, np.nan
    for i in range(na):
        lag[i] = command[i] - p.angle[i]
        for k in range(na + ne):
            lag[i] -= w[i, k] * z[k]
    for e in range(ne):
        row = jacobian[e]
        for i in range(na):
            row[i] = w[na + e, i]
        solve_lower(chol, row)
        solve_upper(chol, row)
        force[e], lagging[e], moved[e] = 0.0, 0.0, 0.0
        for k in range(6):
            force[e] += p.axes[k, e] * wrench[k]
        for i in range(na):
            lagging[e] += row[i] * lag[i]
            moved[e] += row[i] * step[i]
        for f in range(ne):
            held[e, f] = w[na + e, na + f]
            for i in range(na):
                held[e, f] -= row[i] * w[i, na + f]
    if not cholesky(held, factor, 0):
        return np.nan, np.nan, np.nan
    solve_lower(factor, lagging)
    solve_upper(factor, lagging)
    stored, linear, quadratic = 0.0, 0.0, 0.0
    for e in range(ne):
        force[e] -= lagging[e]
        linear -= force[e] * moved[e]
    for e in range(ne):
        for f in range(ne):
            stored += 0.5 * force[e] * held[e, f] * force[f]
    solve_lower(factor, moved)
    for e in range(ne):
        quadratic += 0.5 * moved[e] * moved[e]
    return stored, linear, quadratic


@makes_arrays
@kernel
def watch_energy(monitor, last_pose, last_wrench, pose, wrench, moved):
    """Add the energy that the hand gave since the last sample to the tank [J].

    (wrench + last_wrench).moved / 2: the trapezoidal rule on force and sensed motion, in which
    independent noise of successive samples has zero mean. monitor: Monitor; last_pose (4, 4),
    last_wrench (6,): replaced by pose and wrench; moved (6,): twist since then, out.
    """
    if monitor.started[0] == 0.0:
        monitor.started[0] = 1.0
        moved[:] = 0.0
    else:
        pose_error(last_pose, pose, moved)
        given = 0.0
        for k in range(6):
            given += 0.5 * (wrench[k] + last_wrench[k]) * moved[k]
        monitor.received[0] += given
        monitor.lowest[0] = min(monitor.lowest[0], monitor.received[0])
        monitor.tank[0] += given
    for i in range(4):
        for j in range(4):
            last_pose[i, j] = pose[i, j]
    last_wrench[:] = wrench


@kernel
def feel(p, s, t, f, encoder, sensor, used, times):
    """Follow strips, sense, watch energy and speed: one call of every tick; as `sense_effector`.

    p: Ports; s: Sensed; t: Strips; f: Felt; encoder (na,) [rad]; sensor (ns,) [m]; used (ns,):
    zero leaves one out; times: since the last sample, and since an estimate [s].
    """
    follow_strips(t, sensor, times[0])
    weigh_sensors(s, used, t.deviation, t.unseen, f.drift)
    status, bounded = sense_effector(p, encoder, t.elongation, s)
    if status == SENSED:
        watch_energy(f.monitor, f.last_pose, f.last_wrench, s.pose, s.wrench, f.moved)
        smooth_speed(f.moved, times[1], f.smoothing, f.speed)
    return status, bounded


@kernel
def limit_command(p, s, target, smoothing, largest_step, c):
    """Move the command towards the target: low-pass (30), rate limit, energy limit.

    What the motors may still give is the tank less what the legs store against the hand, which
    comes back whatever the motors do. Of a step that would store more than is left the share x is
    taken with quadratic x^2 + linear x = left; with nothing left the motors only yield, and the
    device is a passive spring. p: Ports; s: Sensed; target (na,) [rad]; smoothing: share of the
    way to it; largest_step (na,) [rad]; c: Commanded, command out.
    """
    step, monitor = c.step, c.monitor
    share = 1.0
    for i in range(step.shape[0]):
        step[i] = smoothing * (target[i] - c.command[i])
        if abs(step[i]) > largest_step[i]:
            share = min(share, largest_step[i] / abs(step[i]))
    for i in range(step.shape[0]):
        step[i] *= share
    stored, linear, quadratic = stored_energy(p, s.z, s.wrench, c.command, step, c.work)
    # A surplus from long ago is not kept: it could be spent at once.
    monitor.tank[0] = min(monitor.tank[0], c.capacity + stored)
    monitor.left[0] = monitor.tank[0] - stored
    left = max(monitor.left[0], 0.0)
    share = 1.0
    if not linear + quadratic <= left:
        # The larger root of quadratic x^2 + linear x = left, written without cancellation.
        root = np.sqrt(linear * linear + 4.0 * quadratic * left)
        if linear > 0.0:
            share = 2.0 * left / (linear + root)
        elif quadratic > 0.0:
            share = (root - linear) / (2.0 * quadratic)
        else:
            share = 0.0  # not a number: W is not that of a stable device
        monitor.limited[0] += 1.0
    for i in range(step.shape[0]):
        c.command[i] += share * step[i]


@kernel
def smooth_speed(twist, dt, smoothing, speed):
    """Update speed (6,): += smoothing (twist / dt - speed); twist (6,) in the time dt [s]."""
    for k in range(6):
        speed[k] += smoothing * (twist[k] / dt - speed[k])
