# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Newton's method on the manifold, with guarded steps; of equilibrium, or of a task with it.

Below s: Structure; x: Inputs; state: State; w: Work; aim: Aim; driven (m,): what the actuators of
a task drive, da (m,) their step in w.scratch[FIRST + 1]; n = 6 (bodies - 1).

Source: Newton's method on frames g exp(eta); Koehler (2023), section III, for the least energy of
the actuators; the steps are derived here, compared with a general search in
test_network_prediction.py and test_network_redundancy.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.network.kernels.element_flexibility_kernels import stiffen_elements
from soro_mechanics.models.network.kernels.element_kernels import relative_twist
from soro_mechanics.models.network.kernels.linear_kernels import eliminate
from soro_mechanics.models.network.kernels.path_memory_kernels import (
    foresee,
    learn_lack,
    PathMemory,
)
from soro_mechanics.models.network.kernels.rod_kernels import length_force
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    clear_slots,
    condense,
    evaluate,
    follow_bodies,
    largest_step,
    motor_efforts,
    move,
    set_slots,
    SINGULAR,
    solve_bodies,
)
from soro_mechanics.numerics.dense_kernels import negative_pivots, solve_in_place

CONVERGED = 0
NOT_SOLVABLE = 1
SLOW = 2

MIN_PART = 1.0 / 64.0
STEP_RANGE = 0.3  # largest step of an actuator, in parts of its range
SHORT = 1e-5  # way to a target, in lengths and rad, of which round-off is most of the lack
SETTLED = 1e-5  # the same, of actuators more than the task has rows: the least energy is found
ANGLES, RODS, MIDDLE = 0, 1, 2  # whose energy that is; the last: from the middle of the ranges
FIRM = 1e4  # of a squared task, so that only what it leaves free tells whether an energy is convex
FIRST = 53  # row of the scratch from which assembly and elimination leave it free
MAX_ACTUATORS = 48  # of a task: a row of it


class Aim(NamedTuple):
    """When a solve ends, and with what."""

    most: int  # largest number of steps
    tolerances: tuple[float, float, float]  # scaled residual, position [m], rotation [rad]
    #: after a step residual or error, scaled, may have grown so much, or be so small; else it is
    #: halved
    growth: float
    nearly: float
    tangent: bool  # leave what `linearise` leaves of the tangent that Newton uses
    known: bool  # the first step is by what is linear at the start
    rows: int  # of the task; 0: the actuators are held, 3: position, 5: with axis, 6: pose
    body: int  # that has to meet it
    pose: NDArray  # (4, 4) of it
    range: NDArray  # (m,) of the actuators; at least as many as rows, none where they are held
    energy: int  # that more of them choose by: ANGLES, RODS or MIDDLE
    middle: NDArray  # (m,) what they drive there
    bend: NDArray  # (m, m) what the task's own curvature adds to that energy's Hessian, or none
    path: PathMemory  # of the start, of all unknowns; receives the one of the end
    lanes: int  # LANES, see `element_lane_kernels`


@kernel
def copy_into(source, target):
    """Copy the state source to target."""
    # element by element: arrays that may lie over each other take half as long again
    for b in range(source.body.shape[0]):
        for i in range(4):
            for j in range(4):
                target.body[b, i, j] = source.body[b, i, j]
    for k in range(source.node.shape[0]):
        for i in range(4):
            for j in range(4):
                target.node[k, i, j] = source.node[k, i, j]
    for p in range(source.wrench.shape[0]):
        for i in range(6):
            target.wrench[p, i] = source.wrench[p, i]
    for r in range(source.joint.shape[0]):
        for e in range(2):
            for i in range(3):
                target.joint[r, e, i] = source.joint[r, e, i]
                for j in range(3):
                    target.spin[r, e, i, j] = source.spin[r, e, i, j]
    for p in range(source.tension.shape[0]):
        for k in range(source.tension.shape[1]):
            target.tension[p, k] = source.tension[p, k]


@kernel
def solve(s, x, state, old, w, near, aim, driven):
    """Solve the equilibrium with the actuators held, or with what they must be for a task.

    Of a task every step obeys K eta + P da = -r and A eta = c, what the body still lacks; where
    that leaves a choice, at the least energy of the actuators (motors' work). s, w, aim: above;
    x: Inputs, lengths, rest strains and motor angles follow the actuators of a task; state: start,
    and result; old: State, scratch; near: Work of the network linearised at the start, where
    `aim.known`; driven (m,): of a task start, and result, else how far the actuators have moved
    since the start, where `aim.known`. Returns CONVERGED, NOT_SOLVABLE or SLOW; steps; scaled
    residual (the last assembly in `w` belongs to `state`); position [m] and rotation [rad] that
    the task still lacks; of the tangent, where it was asked for, what `eliminate` returns.
    """
    error = away = turn = 0.0
    best = 1e300
    aim.path.now[:] = 0.0
    first = _first_step(s, x, state, old, near, aim, driven) if aim.known else 0
    chosen = aim.range.shape[0] == aim.rows
    last, size = 1.0, _size(near, aim) if first == 1 else 1.0  # of steps, in parts of the ranges
    clear_slots(w)
    part = 1.0
    for step in range(first, aim.most + 1):
        error = evaluate(s, x, state, w, aim.tangent or aim.rows > 0, False, aim.lanes)
        if aim.rows > 0:
            away, turn = _lacking(state.body[aim.body], aim, w.scratch[FIRST:])
        met = error <= aim.tolerances[0] and away <= aim.tolerances[1]
        still = chosen or step > 0 and size * min(1.0, size / last) < SETTLED
        if met and turn <= aim.tolerances[2] and still:
            negative = eliminate(s, x, state, w) if aim.tangent else 0
            if aim.path.pose.shape[0] > 0:
                # what is left within the tolerances would spoil the next prediction
                if aim.tangent and _step(s, x, state, w, aim, True, driven, 1.0):
                    exchange_lack(w, aim.range.shape[0], aim.path.now, 0.0, 1.0)
                way = aim.path.square[0] ** 0.5
                learn_lack(aim.path, aim.pose, first == 1 and way > SHORT * s.scale[0])
            return CONVERGED, step, error, away, turn, negative
        if step == aim.most:
            break
        merit = max(error, away / s.scale[0], turn)
        if step > first and not merit <= max(aim.growth * best, aim.nearly):
            if part <= MIN_PART:
                break
            part *= 0.5
            taken = -part
        else:
            best = merit
            singular = condense(s, x, state, w, aim.rows > 0, False) == SINGULAR
            if singular or not _step(s, x, state, w, aim, aim.rows > 0, driven, 1.0):
                return NOT_SOLVABLE, step, error, away, turn, 0
            part = _part(s, w, aim)
            last, size = size, _size(w, aim)
            taken = part
            copy_into(state, old)
        move(s, old, w, part, state)
        _drive(s, x, w, aim, driven, taken)
        if aim.path.pose.shape[0] > 0:
            exchange_lack(w, aim.range.shape[0], aim.path.now, 0.0, taken)
    return SLOW, aim.most, error, away, turn, 0


@kernel
def _first_step(s, x, state, old, near, aim, driven):
    """Take the step that is known at the start; return whether it was one.

    By the elimination in near: Work, and `foresee`; s, x, state, aim, driven: above; old: start.
    """
    copy_into(state, old)
    if aim.rows > 0:
        away, turn = _lacking(state.body[aim.body], aim, near.scratch[FIRST:])
        met = away <= aim.tolerances[1] and turn <= aim.tolerances[2]
        if met and aim.range.shape[0] == aim.rows:
            return 0
    clear_slots(near)
    if not _step(s, x, state, near, aim, aim.rows > 0, driven, 1.0 if aim.rows > 0 else 0.0):
        return 0
    if aim.path.pose.shape[0] > 0:
        place = near.scratch[FIRST + 2 : FIRST + 4]
        if foresee(aim.path, aim.pose, place[0], place[1]):
            exchange_lack(near, aim.range.shape[0], aim.path.now, 1.0, 0.0)
            set_slots(s, x, near, near.scratch[FIRST + 1])
    part = _part(s, near, aim)
    if part < 1.0:
        if aim.rows == 0:
            return 0
        aim.path.square[:] = 0.0  # what is left of the step is no lack
    move(s, old, near, part, state)
    _drive(s, x, near, aim, driven, part)
    return 1


@kernel
def exchange_lack(w, m, lack, given, learned):
    """Add a part of what a step lacks to it, and a part of the step to what is lacking.

    Of bodies, nodes, wrenches, joints, and of m actuators (da), in that order: step += given lack,
    lack += learned step. w: Work, out: steps; lack (6 (bodies + nodes + pieces + rods) + m,): out.
    """
    k = 0
    for steps in (w.step_body, w.step_node, w.step_wrench):
        for i in range(steps.shape[0]):
            for j in range(6):
                steps[i, j] += given * lack[k]
                lack[k] += learned * steps[i, j]
                k += 1
    for r in range(w.step_joint.shape[0]):
        for j in range(6):
            w.step_joint[r, j // 3, j % 3] += given * lack[k]
            lack[k] += learned * w.step_joint[r, j // 3, j % 3]
            k += 1
    for j in range(m):
        w.scratch[FIRST + 1, j] += given * lack[k + j]
        lack[k + j] += learned * w.scratch[FIRST + 1, j]


@kernel
def _part(s, w, aim):
    """Return what part of a step is taken: `largest_step`, STEP_RANGE of a range; s, w, aim."""
    return min(largest_step(s, w)[0], STEP_RANGE / _size(w, aim))


@kernel
def _size(w, aim):
    """Return the largest step of an actuator in parts of its range: da of w, range of aim."""
    size = 1e-300
    for k in range(aim.range.shape[0]):
        size = max(size, abs(w.scratch[FIRST + 1, k]) / aim.range[k])
    return size


@kernel
def _drive(s, x, w, aim, driven, taken):
    """Let driven and x follow a part `taken` of the step da of a task; s, w, aim: above."""
    for k in range(aim.range.shape[0]):
        driven[k] += taken * w.scratch[FIRST + 1, k]
    if aim.rows > 0:
        _drive_rods(s, x, w.slots, taken)
        stiffen_elements(s, x.length, x.section, s.restiffened, w.scratch[0:6, 0:6], x.stiffness)


@kernel
def drive_to(s, x, value, slots):
    """Put every drive of a network at rest to its value (drives,); slots as in `Work`, out.

    s: Structure; x: Inputs at rest, out. Lengths become value, all else grows by it.
    """
    slots[:] = 0.0
    for k in range(s.counts.maps):
        r, slot = s.map_index[k, 1], s.map_index[k, 2]
        slots[r, slot] = value[k] - (x.length[r] if slot == 0 else 0.0)
    _drive_rods(s, x, slots, 1.0)


@kernel
def _drive_rods(s, x, slots, part):
    """Let lengths, rest strains, tensions and motor angles change by a part of `slots`.

    Of a rod that keeps its mass, dilution becomes dilution L / L_new. slots (rods, 3 +
    s.counts.slots) [m; own units; rad]; s: Structure; x: Inputs, out.
    """
    for r in range(s.counts.rods):
        length = x.length[r] + part * slots[r, 0]
        if s.keeps_mass[r] == 1:
            x.dilution[r] *= x.length[r] / length
        x.length[r] = length
        for e in range(2):
            x.theta[r, e] += part * slots[r, 1 + s.counts.slots + e]
        for j in range(s.counts.slots):
            change = part * slots[r, 1 + j]
            if change != 0.0:
                _drive_pieces(s, x, r, j, change)


@kernel
def _drive_pieces(s, x, r, j, change):
    """Let the j-th of rest strains and tensions of rod r of s change by `change`; x: out."""
    shifts = s.shift.shape[1]
    for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
        if j >= shifts:
            x.tension[p, j - shifts] += change * s.tendon[p, j - shifts, 2]
            continue
        for i in range(6):
            x.section[p, i] += change * s.shift[p, j, i]


@kernel
def _lacking(g, aim, scratch):
    """Write what a body at g lacks, its own axes, to scratch[0]; return it in [m] and [rad].

    R' (p_aim - p), log(R' R_aim), no turn of a task without, of an axis the shortest turn of its z
    axis, about its own x and y; g (4, 4); aim: above; scratch (6, 6).
    """
    lacking, h = scratch[0], scratch[2:6, 0:4]
    relative_twist(g, aim.pose, h, lacking)
    if aim.rows == 5:
        sine = math.hypot(h[0, 2], h[1, 2])
        unit = math.atan2(sine, h[2, 2]) / sine if sine > 0.0 else 0.0
        lacking[3], lacking[4], lacking[5] = -unit * h[1, 2], unit * h[0, 2], 0.0
        if sine == 0.0 and h[2, 2] < 0.0:
            lacking[3] = math.pi
    away = turn = 0.0
    for i in range(3):
        lacking[i] = h[i, 3]
        away += lacking[i] ** 2
        turn += lacking[3 + i] ** 2
    return away**0.5, turn**0.5 if aim.rows > 3 else 0.0


@kernel
def _step(s, x, state, w, aim, task, change, one):
    """Write the step of all unknowns by the last elimination; return False where it is singular.

    (K P; A 0) (eta, da) = (-one r, c) of a task, K eta = -one r - P change where the actuators
    move by a given `change` (m,), or not at all. s, x, state, w, aim: above; task: whether there
    is one; one: as in `back_substitute`.
    """
    n, m = w.matrix.shape[0], aim.range.shape[0] if task else 0
    da = w.scratch[FIRST + 1]
    if m == 0 and one == 1.0:
        good = solve_bodies(w) != 0
        back_substitute(s, x, state, w, 0, w.slots, 1.0)
        return good
    w.step_body[0, :] = 0.0
    if m > aim.rows:
        if not _least_energy(s, x, state, w, aim, change):
            return False
    else:
        a = np.zeros((n + m, n + m + 1))
        for i in range(n):
            for j in range(n):
                a[i, j] = w.matrix[i, j]
            for k in range(m):
                a[i, n + k] = w.columns[i, k] * aim.range[k]
            a[i, n + m] = -one * w.vector[i]
            for k in range(change.shape[0] if m == 0 else 0):
                a[i, n] -= w.columns[i, k] * change[k]
        for i in range(m):  # in the body's axes, to first order of what is lacking
            a[n + i, 6 * (aim.body - 1) + i] = 1.0
            a[n + i, n + m] = w.scratch[FIRST, i]
        if solve_in_place(a, n + m, a[:, n + m :], 1) == 0:
            return False
        for i in range(n):
            w.step_body[1 + i // 6, i % 6] = a[i, n + m]
        for k in range(m):
            da[k] = a[n + k, n + m] * aim.range[k]
    set_slots(s, x, w, da if m > 0 else change)
    back_substitute(s, x, state, w, 1 + s.counts.slots, w.slots, one)
    return True


@kernel
def _least_energy(s, x, state, w, aim, driven):
    """Write the step of bodies and actuators that meets the task at the least energy.

    With F = K^-1 P, f = K^-1 r, J = -A F, and da in parts of the ranges,

        (H  J^T) (da)   (  -g   )
        (J   0 ) (l ) = (c + A f)

    and eta = -f - F da. Not where H is not convex in what the task leaves free: a step would lead
    to no minimum (returns False). s, x, state, w, aim, driven: above.
    """
    n, m, rows = w.matrix.shape[0], aim.range.shape[0], aim.rows
    end, da = m + rows, w.scratch[FIRST + 1]
    system, follow, a = w.matrix.copy(), np.empty((n, m + 1)), np.zeros((end, end + 1))
    for i in range(n):
        for j in range(m):
            follow[i, j] = w.columns[i, j]
        follow[i, m] = w.vector[i]
    if solve_in_place(system, n, follow, m + 1) == 0:
        return False
    most = energy(s, x, state, w, aim, driven, follow, a)
    for i in range(m):
        a[i, end] /= most
        for j in range(m):
            a[i, j] /= most
    most = 1e-300
    for i in range(rows):
        for j in range(m):
            a[m + i, j] = -follow[6 * (aim.body - 1) + i, j] * aim.range[j]
            most = max(most, abs(a[m + i, j]))
        a[m + i, end] = w.scratch[FIRST, i] + follow[6 * (aim.body - 1) + i, m]
    for i in range(m, end):
        for j in range(m):
            a[i, j] /= most
            a[j, i] = a[i, j]
        a[i, end] /= most
    h, work = a[:m, :m].copy(), np.empty((m, m))
    for i in range(m):
        for j in range(m):
            for k in range(m, end):
                h[i, j] += FIRM * a[k, i] * a[k, j]
    if negative_pivots(h, m, work) > 0:
        return False
    if solve_in_place(a, end, a[:, end:], 1) == 0:
        return False
    for k in range(m):
        da[k] = a[k, end] * aim.range[k]
    for i in range(n):
        step = -follow[i, m]
        for k in range(m):
            step -= follow[i, k] * da[k]
        w.step_body[1 + i // 6, i % 6] = step
    return True


@kernel
def energy(s, x, state, w, aim, driven, follow, a):
    """Write the Hessian of the actuators' energy to a, its gradient, negative, to the last column.

    In parts of the ranges; returns the Hessian's largest entry. ANGLES: g = torque tau at
    eta = -f, H = dtau/da - dtau/deta F; MIDDLE: g = (driven - middle) / range, H = 1; RODS:
    `_length_energy`; `aim.bend` is added to H. follow (n, m + 1): F, f; a (at least m, m + 1):
    out; s, x, state, w, aim, driven: above.
    """
    n, m, end = w.matrix.shape[0], aim.range.shape[0], a.shape[1] - 1
    h, scale = np.zeros((m, m)), aim.range.copy()
    if aim.energy == ANGLES:
        motor_efforts(s, x, w)
    for j in range(m):
        if aim.energy == RODS:
            _length_energy(s, x, state, w, follow, j, h, a)
        elif aim.energy == ANGLES:
            for i in range(m):
                h[i, j] = w.effort[i, n + j]
                for k in range(n):
                    h[i, j] -= w.effort[i, k] * follow[k, j]
            a[j, end] = -w.effort[j, n + m]
            for k in range(n):
                a[j, end] += w.effort[j, k] * follow[k, m]
        else:
            h[j, j] = 1.0
            a[j, end] = (aim.middle[j] - driven[j]) / aim.range[j]
            scale[j] = 1.0
    most = 1e-300
    for i in range(m):
        a[i, end] *= scale[i]
        for j in range(i + 1):
            h[i, j] = 0.5 * (h[i, j] + h[j, i]) * scale[i] * scale[j]
            if aim.bend.shape[0] > 0:
                h[i, j] += aim.bend[i, j]
            a[i, j] = a[j, i] = h[i, j]
            most = max(most, abs(h[i, j]))
    return most


@kernel
def _length_energy(s, x, state, w, follow, j, h, a):
    """Write column j of the Hessian, and the gradient, of the energy of driven lengths.

    dU/dL by `length_force`; h_ij = P_i . dbodies/dL_j, and of h_jj besides -sum g . dF/dL_j with
    the bodies held, g = share (e0 + D' F): w.grown (D'' is left out). follow (n, m + 1): of
    `energy`; h (m, m) [N/m]: out; a: its last column receives -dU/dL [N]; s, x, state, w: above.
    """
    n, m, da, params = w.matrix.shape[0], h.shape[0], w.scratch[FIRST + 1], 1 + s.counts.slots
    for k in range(m):
        da[k] = 1.0 if k == j else 0.0
        for i in range(n):
            h[k, j] -= w.columns[i, k] * follow[i, j]
    w.step_body[:] = 0.0
    set_slots(s, x, w, da)
    for k in range(s.counts.maps):
        r = s.map_index[k, 1]
        if s.map_index[k, 0] == j:
            a[j, a.shape[1] - 1] -= length_force(s, x, state, r)
            follow_bodies(s, x, state, w, r, params, w.slots[r], 0.0)
            for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
                for e in range(6):
                    h[j, j] -= w.grown[p, e, 0] * w.step_wrench[p, e]
