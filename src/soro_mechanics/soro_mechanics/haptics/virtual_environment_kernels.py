# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernel of virtual environments: from the sensed hand to the goal that rendering shall reach.

Every object gives rows: a unit direction of motion of the tip (axes of base_link, purely linear or
purely angular), and how far along it the goal lies. Along rows the goal force is the measured one
(step 2b of Koehler 2023), in all other directions goal and hand coincide without force (step 2a).

Source: Koehler 2023, steps 2a and 2b of the environment; springs, contact and admittance are
derived here and checked in test_virtual_environment.py.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, makes_arrays
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.numerics.dense_kernels import inner
from soro_mechanics.numerics.lie_kernels import so3_log

HOLD, WALL, BOX, LINE, CIRCLE, ANGLE_LIMIT = 1, 2, 3, 4, 5, 6
HYBRID, ADMITTANCE = 0, 1
X, Y, Z = 0, 1, 2

# rad: the goal on a circle is never farther round it than this, also on a small one.
MAX_TURN = 0.5

ROWS = (6, 6), 6, 6, 6, 6, 2, 6, 3, 3, (3, 3), (3, 3)  # shapes of `Rows`

# Squared sine of the angle to the earlier rows below which a row adds no direction of its own:
# half a degree, where its distance would be magnified a hundredfold.
DEPENDENT = 1e-4

Floats = NDArray[np.float64]


@by_reference
class Feel(NamedTuple):
    """How contact begins and ends, and how an admittance slides; see `ContactFeel`."""

    linear_margin: float
    angular_margin: float
    release_force: float
    release_torque: float
    default_damping: float
    longest_lead: float
    coupling: float


@by_reference
class Rows(NamedTuple):
    """Orthonormal directions, and what is wanted along them."""

    rows: Floats  # (6, 6)
    targets: Floats  # (6,) motion
    forces: Floats  # (6,)
    free: Floats  # (6,) force of damping in free directions
    aside: Floats  # (6,) of the targets, what slides
    apart: Floats  # (2,) how far hand and goal are apart, sliding aside [m, rad]
    vector: Floats  # (6,) scratch, as the others
    local: Floats  # (3,) place in an object's frame
    turn: Floats  # (3,) from an object to the hand
    polar: Floats  # (3, 3) frame of a circle at the hand
    relative: Floats  # (3, 3) orientation in an object's frame


@by_reference
class Objects(NamedTuple):
    """The objects (n,), and how they are felt."""

    shapes: NDArray[np.int64]
    controls: NDArray[np.int64]
    frames: Floats  # (n, 4, 4)
    size: Floats  # (n, 3)
    stiffness: Floats  # (n,)
    rotational_stiffness: Floats  # (n,)
    damping: Floats  # (n,) along the surface
    surface_damping: Floats  # (n,) across it
    # Kept between calls: touched sides of one-sided surfaces, 0 or the side, (n, 3) by axis; where
    # the proxies of two directions of sliding are [m], (n, 2), and whether they are anywhere yet
    contact: Floats
    proxy: Floats
    seeded: NDArray[np.bool_]
    feel: Feel
    # (4, 4) orientation from which ANGLE_LIMIT measures, and which objects other than HOLD hold
    # where they have a rotational stiffness
    neutral: Floats
    found: Rows


class Hand(NamedTuple):
    """The hand at the tip, axes of base_link."""

    pose: Floats  # (4, 4)
    wrench: Floats  # (6,)
    speed: Floats  # (6,)
    dt: float  # since the last sample [s]


@makes_arrays
@kernel
def _add(g, count, direction, target, force):
    """Add a row to the orthonormal ones (Gram-Schmidt); the earlier row wins where two disagree.

    g: Rows, out; count: of its rows; direction (6,); target, force: motion [m, rad] and goal force
    [N, N m] along it. Returns the number of rows.
    """
    if count == 6:
        return count
    row = g.rows[count]
    row[:] = direction
    for i in range(count):
        along = 0.0
        for k in range(6):
            along += g.rows[i, k] * direction[k]
        for k in range(6):
            row[k] -= along * g.rows[i, k]
        target -= along * g.targets[i]
        force -= along * g.forces[i]
    square = 0.0
    for k in range(6):
        square += row[k] * row[k]
    if square < DEPENDENT:
        return count
    length = math.sqrt(square)
    for k in range(6):
        row[k] /= length
    g.targets[count] = target / length
    g.forces[count] = force / length
    return count + 1


@kernel
def _spring(distance, stiffness, drag, force):
    """Return distance + (force - drag) / stiffness, a row's goal; stiffness 0: distance."""
    if stiffness == 0.0:
        return distance
    return distance + (force - drag) / stiffness


@kernel
def _touching(before, depth, push, margin, release):
    """Whether depth > 0, or it touched before and depth > -margin and the push > release."""
    if depth > 0.0:
        return True
    return before and depth > -margin and push > release


@kernel
def _direction(frame, axis, angular, out):
    """Write axis of frame (3 or more, 3 or more) as a linear or angular direction out (6,)."""
    for k in range(6):
        out[k] = 0.0
    for k in range(3):
        out[k + (3 if angular else 0)] = frame[k, axis]


@kernel
def _hold_rotation(frame, stiffness, turn, hand, g, count):
    """Add the three rows that hold an orientation; return the number of rows.

    frame (3 or more, 3 or more): its axes; stiffness [N m/rad]; turn (3,) [rad]: from it to the
    hand, its axes; hand: Hand; g: Rows, out; count: of rows.
    """
    for axis in range(3):
        _direction(frame, axis, True, g.vector)
        force = inner(g.vector, hand.wrench)
        goal = _spring(-turn[axis], 0.0 if math.isinf(stiffness) else stiffness, 0.0, force)
        count = _add(g, count, g.vector, goal, force)
    return count


@kernel
def _resist(frame, axis, damping, hand, g):
    """Damp hand along an axis of frame (hybrid): g.free += damping [N s/m] times its speed."""
    _direction(frame, axis, False, g.vector)
    pull = damping * inner(g.vector, hand.speed)
    for k in range(6):
        g.free[k] += pull * g.vector[k]


@kernel
def _lead(e, n, slot, place, push, dt, longest):
    """Move a proxy by the push over the damping; return how far the goal is ahead of the hand.

    x += push dt / damping; the proxy is kept between calls, so that what the motors still lag
    behind is not lost. The hand hangs on it by a spring, the coupling: the goal is where that
    spring holds the push. e: Objects, proxy out; n, slot: object and proxy; place [m]: of the
    hand; push [N]; dt [s]; longest: lead [m].
    """
    damping = e.damping[n] if e.damping[n] > 0.0 else e.feel.default_damping
    stretch = push / e.feel.coupling
    if not e.seeded[n, slot]:
        e.seeded[n, slot] = True
        e.proxy[n, slot] = place - stretch
    lead = e.proxy[n, slot] + push * dt / damping + stretch - place
    lead = min(max(lead, -longest), longest)
    e.proxy[n, slot] = place + lead - stretch
    return lead


@kernel
def _advance(e, n, axis, place, hand, slot, g, count):
    """Move the hand along an axis as it pushes (admittance); return the number of rows.

    e: Objects; n, axis, slot: object, axis of its frame, proxy; place [m]: where the hand is
    there; hand: Hand; g: Rows, out; count: of rows.
    """
    _direction(e.frames[n], axis, False, g.vector)
    push = inner(g.vector, hand.wrench)
    lead = _lead(e, n, slot, place, push, hand.dt, e.feel.longest_lead)
    before = count
    count = _add(g, count, g.vector, lead, push)
    if count > before:
        g.aside[before] = g.targets[before]
    else:
        e.seeded[n, slot] = False  # an earlier object has this direction
    return count


@kernel
def _surface(e, n, axis, side, depth, hand, g, count):
    """Add the row of a one-sided surface while it is touched; return the number of rows.

    e: Objects, contact out; n, axis: object, axis of its frame; side: 1 or -1, points out of the
    wall; depth: of the hand in it [m, rad]; hand: Hand; g: Rows, out; count: of rows.
    """
    angular = e.shapes[n] == ANGLE_LIMIT
    _direction(e.frames[n], axis, angular, g.vector)
    for k in range(6):
        g.vector[k] *= side
    force = inner(g.vector, hand.wrench)
    margin = e.feel.angular_margin if angular else e.feel.linear_margin
    release = e.feel.release_torque if angular else e.feel.release_force
    slot = 0 if angular else axis
    was = e.contact[n, slot] == side
    if not _touching(was, depth, -force, margin, release):
        if was:
            e.contact[n, slot] = 0.0
        return count
    e.contact[n, slot] = side
    stiffness = e.rotational_stiffness[n] if angular else e.stiffness[n]
    drag = 0.0 if angular else e.surface_damping[n] * inner(g.vector, hand.speed)
    if drag > 0.0:  # the hand leaves: damping takes from the push, and never pulls
        drag = min(drag, max(stiffness * depth, 0.0))
    goal = _spring(depth, stiffness, drag, force)
    return _add(g, count, g.vector, goal, force)


@kernel
def _fixed_axis(e, n, frame, axis, position, hand, g, count):
    """Add the row that holds one coordinate of a frame at zero; return the number of rows.

    e: Objects; n: object; frame, axis: see `_direction`; position [m]: of the hand; hand: Hand; g:
    Rows, out; count: of rows.
    """
    _direction(frame, axis, False, g.vector)
    force = inner(g.vector, hand.wrench)
    drag = e.surface_damping[n] * inner(g.vector, hand.speed)
    goal = _spring(-position, e.stiffness[n], drag, force)
    return _add(g, count, g.vector, goal, force)


@kernel
def _circle(e, n, local, hand, g, count):
    """Add radial and axial rows of a circle, and let the hand slide round it.

    e: Objects; n: object; local (3,): the hand in its frame [m]; hand: Hand; g: Rows, out; count:
    of rows. Returns the number of rows.
    """
    frame, polar = e.frames[n], g.polar
    radius, distance = e.size[n, 0], math.hypot(local[0], local[1])
    cosine, sine = 1.0, 0.0
    if distance > 0.0:
        cosine, sine = local[0] / distance, local[1] / distance
    for k in range(3):
        polar[k, 0] = cosine * frame[k, 0] + sine * frame[k, 1]
        polar[k, 1] = -sine * frame[k, 0] + cosine * frame[k, 1]
        polar[k, 2] = frame[k, 2]
    count = _fixed_axis(e, n, polar, Z, local[2], hand, g, count)
    offset, inward = distance - radius, 0.0
    if e.controls[n] == HYBRID:
        _resist(polar, Y, e.damping[n], hand, g)
    else:
        _direction(polar, Y, False, g.vector)
        push = inner(g.vector, hand.wrench)
        longest = min(e.feel.longest_lead, MAX_TURN * radius)
        round_it = 2.0 * math.pi * radius
        place = radius * math.atan2(sine, cosine)
        # The proxy counts turns, so the hand is where it is nearest to it.
        place += round_it * math.floor((e.proxy[n, X] - place) / round_it + 0.5)
        angle = _lead(e, n, X, place, push, hand.dt, longest) / radius
        before = count
        count = _add(g, count, g.vector, radius * math.sin(angle), push)
        if count > before:
            g.aside[before] = g.targets[before]
            inward = radius * (1.0 - math.cos(angle))  # the goal stays on the circle
        else:
            e.seeded[n, X] = False
    before = count
    count = _fixed_axis(e, n, polar, X, offset + inward, hand, g, count)
    if count > before:
        g.aside[before] = -inward
    return count


@kernel
def twist_angle(frame, neutral, pose):
    """Return the rotation from neutral to pose about the z axis of a frame (swing and twist).

    2 atan2 of the quaternion's part along the axis and its scalar, in (-pi, pi]; a further turn
    about the axis adds to it exactly. frame, neutral, pose (3 or more, 3 or more).
    """
    along, trace = 0.0, 0.0
    for axis in range(3):
        # The rotation is D = pose neutral^T; its skew part carries the axis.
        j, k = (axis + 1) % 3, (axis + 2) % 3
        for c in range(3):
            trace += pose[axis, c] * neutral[axis, c]
            skew = pose[k, c] * neutral[j, c] - pose[j, c] * neutral[k, c]
            along += skew * frame[axis, 2]
    return 2.0 * math.atan2(along, 1.0 + trace)


@kernel
def goal_of_environment(e, hand, goal, force):
    """Write what rendering shall reach: a motion of the hand, and the force to hold meanwhile.

    e: Objects, found out; hand: Hand; goal (6,): out, twist from the hand to the goal [m, rad];
    force (6,): out, the goal force [N, N m]. Returns the number of constrained directions.
    """
    g, pose = e.found, hand.pose
    local, turn, relative = g.local, g.turn, g.relative
    count = 0
    for k in range(6):
        g.free[k], g.aside[k] = 0.0, 0.0
    for n in range(e.shapes.shape[0]):
        shape, control, frame = e.shapes[n], e.controls[n], e.frames[n]
        for i in range(3):
            local[i] = 0.0
            for k in range(3):
                local[i] += frame[k, i] * (pose[k, 3] - frame[k, 3])
        if shape == HOLD or shape == LINE:
            for axis in range(3 if shape == HOLD else 2):
                count = _fixed_axis(e, n, frame, axis, local[axis], hand, g, count)
            if shape == LINE and control == ADMITTANCE:
                count = _advance(e, n, Z, local[2], hand, X, g, count)
            elif shape == LINE:
                _resist(frame, Z, e.damping[n], hand, g)
        elif shape == CIRCLE:
            count = _circle(e, n, local, hand, g, count)
        elif shape == ANGLE_LIMIT:
            angle = twist_angle(frame, e.neutral, pose)
            side = -1.0 if angle > 0.0 else 1.0
            count = _surface(e, n, Z, side, abs(angle) - e.size[n, 2], hand, g, count)
        else:
            first = 2 if shape == WALL else 0
            for axis in range(first, 3):
                side, depth = 1.0, -local[axis]
                if shape == BOX:
                    side = -1.0 if local[axis] > 0.0 else 1.0
                    depth = abs(local[axis]) - 0.5 * e.size[n, axis]
                before = count
                count = _surface(e, n, axis, side, depth, hand, g, count)
                if shape == WALL and control == ADMITTANCE:
                    touched = count > before
                    for other in range(2):
                        if touched:
                            count = _advance(e, n, other, local[other], hand, other, g, count)
                        else:
                            e.seeded[n, other] = False
        if shape != ANGLE_LIMIT and e.rotational_stiffness[n] > 0.0:
            held = frame if shape == HOLD else e.neutral
            for i in range(3):
                for k in range(3):
                    relative[i, k] = 0.0
                    for j in range(3):
                        relative[i, k] += held[j, i] * pose[j, k]
            so3_log(relative, turn)
            count = _hold_rotation(held, e.rotational_stiffness[n], turn, hand, g, count)
    _assemble(g, count, goal, force)
    _measure(g, count, g.apart)
    return count


@kernel
def _assemble(g, count, goal, force):
    """Sum the rows; damping of free directions counts only outside their span.

    goal = sum target_i r_i, force = free + sum (force_i - r_i.free) r_i; g: Rows; count: of rows;
    goal, force (6,): out.
    """
    for k in range(6):
        goal[k] = 0.0
        force[k] = g.free[k]
    for i in range(count):
        inside = 0.0
        for k in range(6):
            inside += g.rows[i, k] * g.free[k]
        for k in range(6):
            goal[k] += g.targets[i] * g.rows[i, k]
            force[k] += (g.forces[i] - inside) * g.rows[i, k]


@kernel
def _measure(g, count, apart):
    """Write how far hand and goal are apart, linear [m] and angular [rad], sliding aside.

    g: Rows; count: of rows; apart (2,): out, roots of the sums of (target - aside)^2.
    """
    apart[:] = 0.0
    for i in range(count):
        held = g.targets[i] - g.aside[i]
        share = g.rows[i, 0] ** 2 + g.rows[i, 1] ** 2 + g.rows[i, 2] ** 2
        apart[0] += share * held**2
        apart[1] += (1.0 - share) * held**2
    apart[0], apart[1] = math.sqrt(apart[0]), math.sqrt(max(apart[1], 0.0))
