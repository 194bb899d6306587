# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One implicit step of a network of two-node elements: the static Newton step plus inertia.

Unknowns and elimination are those of statics. Inertia adds to every frame a wrench and a (6, 6)
tangent; Kelvin-Voigt damping changes the law of an element only: with the rate of its twist d
linear in d (`law`), the stress K (d - h e0 + tau d') is again a stiffness, (1 + tau law) K, times
a twist from a rest twist, so that force, tangent and stress follow from the static kernels. Such
is a Maxwell branch g K b, b' = d' - b / theta, too, where d grows evenly in a step (Taylor, Pister
and Goudreau 1970, Int. J. Numer. Methods Eng. 2(1)).

A rod that is fed has nodes at fixed fractions of its length: d' is taken without L'/L d, which is
what feeding alone would make, and the inertia of the material that slides past a node is left out.

Source: Taylor, Pister and Goudreau 1970 (branch); Bruels and Cardona 2010, J. Comput. Nonlinear
Dyn. 5(3) (law of a step); the discrete law is derived here: test_dynamics.py,
test_dynamics_history.py.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.dynamics.contact_kernels import add_contacts
from soro_mechanics.dynamics.drive_kernels import drive_inputs
from soro_mechanics.dynamics.inertia_kernels import (
    append_step,
    free_motion,
    inertial_wrench,
    new_motion,
)
from soro_mechanics.models.network.kernels.element_kernels import relative_twist
from soro_mechanics.models.network.kernels.newton_kernels import (
    CONVERGED,
    copy_into,
    NOT_SOLVABLE,
    SLOW,
)
from soro_mechanics.models.network.kernels.rod_kernels import (
    add_element_weight,
    assemble_elements,
    place_ends,
    subtract_load,
)
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    clear_slots,
    condense,
    largest_step,
    move,
    residual,
    SINGULAR,
    solve_bodies,
)
from soro_mechanics.models.network.kernels.tendon_kernels import add_tendons
from soro_mechanics.numerics.dense_kernels import larger

MAX_TURN = 0.5 * math.pi  # about an axis of a frame's own
SMALL_TURN = 1e-3  # of a Newton step, below which moves are added up instead of measured [rad]


@kernel
def begin_step(s, x, damped, state, m):
    """Keep the state, and write the law of the damped elements into `damped`.

    K -> c K and e0 -> (e0 + kept / h) / c, with c = 1 + tau (speed - growth) + gain added, speed
    law[0, 0], growth L'/L; kept: what twist and branch at the beginning leave of rate and stress
    (see above). s: Structure; x: Inputs at the end; damped: Inputs, out; state: State; m: Motion,
    free parts out.
    """
    copy_into(state, m.start)
    for k in range(s.counts.nodes):
        free_motion(m.law, m.node_past[k], m.node_free[k])
    for b in range(s.counts.bodies):
        free_motion(m.law, m.body_past[b], m.body_free[b])
    _stay(m)
    speed = m.law[0, 0]
    gain, kept_part, added = m.prony.gain[0], m.prony.kept[0], m.prony.added[0]
    for r in range(s.counts.rods):
        free_motion(m.law, m.length_past[r], m.length_free[r])
        rate = speed * (x.length[r] - m.length[r]) + m.length_free[r, 0, 0]
        growth = rate / x.length[r]
        grown = gain * x.length[r] / m.length[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            free_motion(m.law, m.twist_past[p], m.twist_free[p])
            h = x.length[r] * s.share[p]
            tau = m.retardation[p]
            scale = 1.0 + tau * (speed - growth) + gain * added
            for i in range(6):
                kept = tau * (speed * m.twist[p, i] - m.twist_free[p, 0, i])
                kept += grown * (added * m.twist[p, i] - kept_part * m.branch[p, i])
                damped.section[p, i] = (x.section[p, i] + kept / h) / scale
                for j in range(6):
                    damped.stiffness[p, i, j] = scale * x.stiffness[p, i, j]


@kernel
def _stay(m):
    """Let no frame have moved: node_move and body_move of m (Motion) are zero."""
    m.node_move[:] = 0.0
    m.body_move[:] = 0.0


@kernel
def predict(s, state, w, m, ratio):
    """Move the state to where the step would end if accelerations stayed.

    D = (a_n - a_free) / law[1, 0]; joints and wrenches go on as in the last step. Returns whether:
    a frame would turn further than frames can tell otherwise. s: Structure; state: State, out; w:
    Work, steps out; m: Motion; ratio: of this step and the last one.
    """
    most = 0.0
    copy_into(state, m.old)
    for k in range(s.counts.nodes):
        for i in range(6):
            w.step_node[k, i] = -m.node_free[k, 1, i] / m.law[1, 0]
            w.step_node[k, i] += m.node_past[k, 1, i] / m.law[1, 0]
            m.node_move[k, i] = w.step_node[k, i]
            most = larger(most, abs(w.step_node[k, i]) if i > 2 else 0.0)
    for b in range(s.counts.bodies):
        for i in range(6):
            v = m.body_past[b, 1, i] - m.body_free[b, 1, i]
            w.step_body[b, i] = v / m.law[1, 0]
            m.body_move[b, i] = w.step_body[b, i]
            most = larger(most, abs(w.step_body[b, i]) if i > 2 else 0.0)
    for r in range(s.counts.rods):
        for e in range(2):
            for i in range(3):
                w.step_joint[r, e, i] = ratio * m.joint_move[r, e, i]
    for p in range(s.counts.pieces):
        for i in range(6):
            w.step_wrench[p, i] = ratio * m.wrench_move[p, i]
    if most <= MAX_TURN:
        move(s, m.old, w, 1.0, state)
    return most <= MAX_TURN


@kernel
def _add_inertia(s, x, state, w, m):
    """Add the inertial wrenches of the nodes to their pieces, those of bodies to x.follower.

    Of the first and last node of a rod, which the bodies move, `node_move` is measured here. s:
    Structure; x: Inputs; state: State; w: Work, force, raw and tangent out; m: Motion,
    body_tangent out.
    """
    work = w.scratch[8:16, 0:6]
    force = w.scratch[30, 0:6]
    tangent = w.scratch[32:38, 0:6]
    for r in range(s.counts.rods):
        n0 = s.rod_node[r]
        last = s.rod_node[r + 1] - 1
        for k in range(n0, last + 1):
            if k == n0 or k == last:
                relative_twist(m.start.node[k], state.node[k], w.scratch[0:4, 0:4], m.node_move[k])
            mass, free, moved = m.node_mass[k], m.node_free[k], m.node_move[k]
            inertial_wrench(mass, m.drag[0], m.law, free, moved, work, force, tangent)
            # node k is the second end of the piece before it, the first node the first end of its
            p = s.rod_piece[r] + max(k - n0 - 1, 0)
            o = 6 if k > n0 else 0
            for i in range(6):
                w.force[p, o + i] += force[i]
                w.raw[p, o + i] += force[i]
                for j in range(6):
                    w.tangent[p, o + i, o + j] += tangent[i, j]
    for b in range(1, s.counts.bodies):
        mass, free, moved = m.body_mass[b], m.body_free[b], m.body_move[b]
        inertial_wrench(mass, m.drag[0], m.law, free, moved, work, force, m.body_tangent[b])
        for i in range(6):
            x.follower[b, i] = m.load[b, i] - force[i]
    if m.ball.body.shape[0] > 0:
        add_contacts(state, x, m)


@kernel
def assemble_motion(s, x, damped, state, w, m, lanes):
    """Write force and tangent of every piece in motion, and the wrenches on the bodies.

    s: Structure; x: Inputs; damped: Inputs of `begin_step`; state: State; w: Work, out; m: Motion,
    out; lanes: LANES.
    """
    place_ends(s, x, state, w)
    assemble_elements(s, damped, state, w, False, lanes)
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            b = state.node[first + p + 1]
            if x.heavy:
                add_element_weight(s, x, state.node[first + p], b, r, p, w)
            if x.node_dead.shape[0] > 0:
                dead = x.node_dead[first + p + 1]
                follower = x.node_follower[first + p + 1]
                subtract_load(b, dead, follower, w.force[p, 6:], w.tangent[p, 6:, 6:])
                subtract_load(b, dead, follower, w.raw[p, 6:], w.scratch[0:6, 0:6])
    if s.tendon.shape[0] > 0:
        add_tendons(s, x, state, w, lanes)
    _add_inertia(s, x, state, w, m)


@kernel
def advance(s, x, damped, state, w, m, most, lanes):
    """Solve for the state at the end of a step that was begun, by Newton's method.

    s: Structure; x: Inputs at the end of the step; damped: the same with what `begin_step` wrote;
    state: State, start and result; w: Work; m: Motion, with its limits; most: largest number of
    Newton steps; lanes: LANES. Returns CONVERGED, NOT_SOLVABLE or SLOW, the steps, and the last
    scaled residual that was computed.
    """
    clear_slots(w)
    error = 0.0
    for step in range(most + 1):
        assemble_motion(s, x, damped, state, w, m, lanes)
        error = residual(s, x, state, w)
        if error <= m.limits.tolerance[0]:
            return CONVERGED, step, error
        if step == most or not error < 1e300:
            return SLOW, step, error
        if condense(s, x, state, w, False, False) == SINGULAR:
            return NOT_SOLVABLE, step, error
        for b in range(1, s.counts.bodies):
            o = 6 * (b - 1)
            for i in range(6):
                for j in range(6):
                    w.matrix[o + i, o + j] += m.body_tangent[b, i, j]
        if solve_bodies(w) == 0:
            return NOT_SOLVABLE, step, error
        back_substitute(s, damped, state, w, 0, w.slots, 1.0)
        part, turn, _ = largest_step(s, w)
        copy_into(state, m.old)
        move(s, m.old, w, part, state)
        small = part * turn < SMALL_TURN
        _follow_moves(s, state, w, m, part, small)
        if part == 1.0 and error <= m.limits.trusted[0]:
            _measure_ends(s, x, state, w, m, small)
            return CONVERGED, step + 1, error
    return SLOW, most, error


@kernel
def _follow_moves(s, state, w, m, part, small):
    """Bring the moves of bodies and inner nodes to where a Newton step has led.

    D = log(g_n^-1 g), or where it was small D of before with the step appended. s: Structure;
    state: State; w: Work; m: Motion, out; part: of the step; small: whether it was.
    """
    h = w.scratch[0:4, 0:4]
    work = w.scratch[4, 0:6]
    for b in range(1, s.counts.bodies):
        relative_twist(m.start.body[b], state.body[b], h, m.body_move[b])
    for r in range(s.counts.rods):
        for k in range(s.rod_node[r] + 1, s.rod_node[r + 1] - 1):
            if small:
                append_step(m.node_move[k], w.step_node[k], part, work)
            else:
                relative_twist(m.start.node[k], state.node[k], h, m.node_move[k])


@kernel
def _measure_ends(s, x, state, w, m, small):
    """Write the moves of the rods' ends and the twists w.twist of the elements of a state.

    After a small step the twists are linear in it: += strain (step_a, step_b). s: Structure; x:
    Inputs; state: State; w: Work, out; m: Motion, out; small: whether the step was.
    """
    place_ends(s, x, state, w)
    h = w.scratch[0:4, 0:4]
    for r in range(s.counts.rods):
        first = s.rod_node[r] - s.rod_piece[r]
        for k in (s.rod_node[r], s.rod_node[r + 1] - 1):
            relative_twist(m.start.node[k], state.node[k], h, m.node_move[k])
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            a = first + p
            if not small:
                relative_twist(state.node[a], state.node[a + 1], h, w.twist[p])
                continue
            for i in range(6):
                v = 0.0
                for j in range(6):
                    v += w.strain[p, i, j] * w.step_node[a, j]
                    v += w.strain[p, i, 6 + j] * w.step_node[a + 1, j]
                w.twist[p, i] += v


@kernel
def _change(mass, law, move, free, past):
    """Return the largest |law[2, 0] move + free[2] - past[2]| of translations; 0 without mass."""
    if not mass[0, 0] > 0.0:
        return 0.0
    worst = 0.0
    for i in range(3):
        worst = larger(worst, abs(law[2, 0] * move[i] + free[2, i] - past[2, i]))
    return worst


@kernel
def take_step(of, lanes):
    """Drive, and take a step: from the prediction, or if that fails from where everything is.

    of: Moving, its motion's `limits` say which step is taken; lanes: LANES. Returns outcome, steps
    and residual as `advance`; an estimate of what the step adds to the error of positions [m],
    limits.error times the largest `_change`; and whether it was taken: otherwise the state is
    where it was.
    """
    s, x, damped, state, w, m = of.structure, of.inputs, of.damped, of.state, of.work, of.motion
    drive_inputs(s, x, m, of.drives, w.scratch)
    limits, most = m.limits, m.limits.most[0]
    begin_step(s, x, damped, state, m)
    outcome, steps, found = SLOW, 0, 0.0
    if predict(s, state, w, m, limits.ratio[0]):
        outcome, steps, found = advance(s, x, damped, state, w, m, most, lanes)
    if outcome != CONVERGED:
        copy_into(m.start, state)
        _stay(m)
        before = steps
        outcome, steps, found = advance(s, x, damped, state, w, m, most, lanes)
        steps += before
    error = 0.0
    for k in range(s.counts.nodes):
        change = _change(m.node_mass[k], m.law, m.node_move[k], m.node_free[k], m.node_past[k])
        error = larger(error, change)
    for b in range(1, s.counts.bodies):
        change = _change(m.body_mass[b], m.law, m.body_move[b], m.body_free[b], m.body_past[b])
        error = larger(error, change)
    error *= limits.error[0]
    taken = outcome == CONVERGED and error <= limits.max_error[0]
    if taken:
        end_step(s, x, state, w, m)
    else:
        copy_into(m.start, state)
    return outcome, steps, found, error, taken


@kernel
def end_step(s, x, state, w, m):
    """Make the end of a solved step the beginning of the next one.

    b = grown (kept b - added d_n) + added d of the branch, grown L / L_n; rates by `new_motion`.
    s: Structure; x: Inputs; state: State; w: Work; m: Motion, out.
    """
    for k in range(s.counts.nodes):
        new_motion(m.law, m.node_free[k], m.node_move[k], m.node_past[k])
    for b in range(s.counts.bodies):
        new_motion(m.law, m.body_free[b], m.body_move[b], m.body_past[b])
    moved, kept_part, added = w.scratch[0, 0:6], m.prony.kept[0], m.prony.added[0]
    for r in range(s.counts.rods):
        grown = x.length[r] / m.length[r]
        for p in range(s.rod_piece[r], s.rod_piece[r + 1]):
            for i in range(6):
                twist = w.twist[p, i]
                moved[i] = twist - m.twist[p, i]
                kept = kept_part * m.branch[p, i] - added * m.twist[p, i]
                m.branch[p, i] = grown * kept + added * twist
                m.twist[p, i] = twist
                m.wrench_move[p, i] = state.wrench[p, i] - m.start.wrench[p, i]
            new_motion(m.law, m.twist_free[p], moved, m.twist_past[p])
        for i in range(6):
            moved[i] = 0.0
        moved[0] = x.length[r] - m.length[r]
        m.length[r] = x.length[r]
        new_motion(m.law, m.length_free[r], moved, m.length_past[r])
        for e in range(2):
            for i in range(3):
                m.joint_move[r, e, i] = state.joint[r, e, i] - m.start.joint[r, e, i]
