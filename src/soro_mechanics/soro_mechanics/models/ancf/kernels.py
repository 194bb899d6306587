# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of legs of ANCF elements between a base and one rigid platform (Huang 2022).

Every leg is a chain of 12-coordinate nodes; it is eliminated node by node towards the platform, so
that Newton's step (35) needs one 6 x 6 system. Unknowns of the platform: position of the tip [m],
then rotation increment in base axes [rad]. Arguments: nodes (legs, n, 12), their rows
(legs, n, 12, 26) of blocks D (own columns) and C (of the next node), gradient g [N, N m] and dg/ds
by the stretch (legs,) s; position (3,) [m], rotation (3, 3) of the tip, base axes; structure: of
`make_structure`; tangent (6, 6), gradient (6,), by_stretch (6, legs): of the platform.

Source: Huang (2022), IEEE Trans. Robotics, eqs (14), (30), (32), (35); elimination and tangent
derived here, checked by differences and by the full matrix in test_ancf.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel, makes_arrays, merged_kernel
from soro_mechanics.models.ancf.element_kernels import add_constraints, add_element
from soro_mechanics.models.ancf.shape_kernels import shapes
from soro_mechanics.numerics.lie_kernels import so3_exp
from soro_mechanics.numerics.vector_kernels import (
    add_hat,
    column_at,
    cross,
    dot,
    minus,
    out_of_axes,
    plus,
    put_vector,
    row_at,
    times,
    vector_at,
)


@kernel
def place_ends(nodes, structure, position, rotation):
    """Write the last of nodes: q_c = (p + R point, R frame) of structure, position, rotation."""
    _, points, frames, _, _ = structure
    last = nodes.shape[1] - 1
    for leg in range(nodes.shape[0]):
        place = plus(vector_at(position, 0, 1), out_of_axes(rotation, row_at(points, leg, 0)))
        put_vector(nodes[leg, last], 0, 1, place)
        for axis in range(3):
            turned = out_of_axes(rotation, column_at(frames[leg], 0, axis))
            put_vector(nodes[leg, last], 3 + 3 * axis, 1, turned)


@makes_arrays
@kernel
def linearise(nodes, stretch, structure, leg_loads, rows, scratch):
    """Fill `rows` with gradient and Hessian of the energy (27) less the loads' work (30).

    Weight w of an element acts as w / 2 on r, +-w L / 12 on x at its ends, a force at X = t L as
    s_i(t) times it. The base row is not used. nodes, stretch, structure; leg_loads: weight of a
    leg (3,) [N]; leg, element, t (k,), force (k, 3) [N]; scratch: flaw, (grad_b, grad_s, hess).
    """
    _, _, _, rigidity, rest = structure
    weight, at_leg, at_element, at_xi, at_force = leg_loads
    flaw, element_work = scratch
    elements = nodes.shape[1] - 1
    rows[:] = 0.0
    for leg in range(nodes.shape[0]):
        length = stretch[leg] * rest
        for e in range(elements):
            if e > 0:
                add_constraints(nodes[leg, e], length, rigidity[3], rows[leg, e], flaw)
            add_element(
                nodes[leg, e],
                nodes[leg, e + 1],
                length,
                (rigidity[0], rigidity[1], rigidity[2]),
                rows[leg, e],
                rows[leg, e + 1],
                element_work,
            )
            for i in range(3):
                w = weight[i] / elements
                rows[leg, e, i, 24] -= 0.5 * w
                rows[leg, e + 1, i, 24] -= 0.5 * w
                rows[leg, e, 3 + i, 24] -= w * length / 12.0
                rows[leg, e + 1, 3 + i, 24] += w * length / 12.0
                rows[leg, e, 3 + i, 25] -= w / 12.0
                rows[leg, e + 1, 3 + i, 25] += w / 12.0
    for k in range(at_leg.shape[0]):
        leg, e, t = at_leg[k], at_element[k], at_xi[k]
        length = stretch[leg] * rest
        (s1, s2, s5, s6), _ = shapes(t, 1.0)
        for i in range(3):
            force = at_force[k, i]
            rows[leg, e, i, 24] -= s1 * force
            rows[leg, e + 1, i, 24] -= s5 * force
            rows[leg, e, 3 + i, 24] -= s2 * length * force
            rows[leg, e + 1, 3 + i, 24] -= s6 * length * force
            rows[leg, e, 3 + i, 25] -= s2 * force
            rows[leg, e + 1, 3 + i, 25] -= s6 * force
    rows[:, :, :, 25] *= rest


@merged_kernel
def _arm(end, part, position):
    """Return the part-th vector of an end, r less position: a turn om moves it by om x arm."""
    arm = vector_at(end, 3 * part, 1)
    return minus(arm, vector_at(position, 0, 1)) if part == 0 else arm


@kernel
def platform_system(nodes, position, rotation, rows, body_loads, tangent, gradient, ends):
    """Write the platform's own part: external wrenches and the geometric terms of the leg ends.

    The tangent is that of the residual itself (rotation increments on the left), so it is not
    symmetric under dead moments; terms: `_add_force`. nodes, position, rotation, rows: before
    `eliminate`, which changes the end rows; body_loads: points (k, 3) [m] in the tip's axes,
    wrenches (k, 6), local (k,): turn along; tangent, gradient, ends (legs, 12), their g: out.
    """
    points, wrenches, local = body_loads
    tangent[:] = gradient[:] = 0.0
    last = nodes.shape[1] - 1
    for leg in range(nodes.shape[0]):
        for part in range(4):
            force = column_at(rows[leg, last], 3 * part, 24)
            arm = _arm(nodes[leg, last], part, position)
            put_vector(ends[leg], 3 * part, 1, force)
            if part == 0:
                put_vector(gradient, 0, 1, plus(vector_at(gradient, 0, 1), force))
            _add_force(arm, force, 1.0, False, tangent, gradient)
    for k in range(points.shape[0]):
        arm = out_of_axes(rotation, row_at(points, k, 0))
        force, moment = row_at(wrenches, k, 0), row_at(wrenches, k, 3)
        if local[k]:
            force, moment = out_of_axes(rotation, force), out_of_axes(rotation, moment)
        put_vector(gradient, 0, 1, minus(vector_at(gradient, 0, 1), force))
        put_vector(gradient, 3, 1, minus(vector_at(gradient, 3, 1), moment))
        _add_force(arm, force, -1.0, local[k], tangent, gradient)
        if local[k]:
            add_hat(tangent, 0, 3, force)
            add_hat(tangent, 3, 3, moment)


@kernel
def _add_force(arm, force, sign, follows, tangent, gradient):
    """Add sign arm x force (3,) to the gradient and its derivative by a rotation to the tangent.

    sign (a f^T - (a . f) 1), where the force `follows` sign (a f^T - f a^T), a = arm, f = force.
    """
    moment = times(sign, cross(arm, force))
    put_vector(gradient, 3, 1, plus(vector_at(gradient, 3, 1), moment))
    inner = dot(arm, force)
    for i in range(3):
        for j in range(3):
            tangent[3 + i, 3 + j] += sign * arm[i] * force[j]
            if follows:
                tangent[3 + i, 3 + j] -= sign * force[i] * arm[j]
        if not follows:
            tangent[3 + i, 3 + i] -= sign * inner


@kernel
def scaled_residual(rows, gradient, rigidity, rest, elements):
    """Return the norm of all generalised forces over EI / L^2; slopes and moments over L_e.

    rows: before `eliminate`, without ends; gradient; EI: rigidity[0]; L_e: rest; L: elements rest.
    """
    total = 0.0
    for leg in range(rows.shape[0]):
        for n in range(1, elements):
            for i in range(3):
                total += rows[leg, n, i, 24] ** 2
            for i in range(3, 12):
                total += (rows[leg, n, i, 24] / rest) ** 2
    for i in range(3):
        total += gradient[i] ** 2 + (gradient[3 + i] / rest) ** 2
    full = rest * elements
    return math.sqrt(total) * full * full / rigidity[0]


@kernel
def eliminate(rows):
    """Eliminate the interior nodes of every leg, base to platform; return the negative pivots.

    rows, in place: D_(n+1) -= C_n^T D_n^-1 C_n, g and dg/ds alike; D upper triangular then.
    """
    negative = 0
    last = rows.shape[1] - 1
    for leg in range(rows.shape[0]):
        for n in range(1, last):
            own = rows[leg, n]
            following = rows[leg, n + 1]
            for k in range(12):
                pivot = own[k, k]
                if pivot < 0.0:
                    negative += 1
                inverse = 1.0 / pivot
                for i in range(k + 1, 12):
                    factor = own[k, i] * inverse
                    if factor != 0.0:
                        for j in range(i, 26):
                            own[i, j] -= factor * own[k, j]
                for i in range(12):
                    factor = own[k, 12 + i] * inverse
                    if factor != 0.0:
                        for j in range(i, 12):
                            following[i, j] -= factor * own[k, 12 + j]
                        following[i, 24] -= factor * own[k, 24]
                        following[i, 25] -= factor * own[k, 25]
    return negative


@kernel
def condense(nodes, position, rows, ends, tangent, gradient, by_stretch):
    """Add the eliminated legs: M^T D M to tangent, M^T (g - ends) to gradient; write by_stretch.

    by_stretch = M^T dg/ds, M: `end_motion` of nodes, position; rows: eliminated; ends: g before.
    """
    last = nodes.shape[1] - 1
    motion = np.empty((12, 6))
    product = np.empty((12, 6))
    full = np.empty((12, 12))
    for leg in range(nodes.shape[0]):
        end = rows[leg, last]
        end_motion(nodes[leg, last], position, motion)
        for i in range(12):
            for j in range(i, 12):
                full[i, j] = end[i, j]
                full[j, i] = end[i, j]
        for i in range(12):
            for j in range(6):
                total = 0.0
                for k in range(12):
                    total += full[i, k] * motion[k, j]
                product[i, j] = total
        for i in range(6):
            for j in range(6):
                total = 0.0
                for k in range(12):
                    total += motion[k, i] * product[k, j]
                tangent[i, j] += total
            force = slope = 0.0
            for k in range(12):
                force += motion[k, i] * (end[k, 24] - ends[leg, k])
                slope += motion[k, i] * end[k, 25]
            gradient[i] += force
            by_stretch[i, leg] = slope


@kernel
def end_motion(end, position, motion):
    """Write d(end (12,)) / d(position (3,), rotation) to motion (12, 6): -[arm]x, for r also 1."""
    motion[:] = 0.0
    for part in range(4):
        add_hat(motion, 3 * part, 3, times(-1.0, _arm(end, part, position)))
    for i in range(3):
        motion[i, i] = 1.0


@kernel
def back_substitute(nodes, position, rows, step, stretch_step, with_force, out):
    """Write the nodes' change, out (legs, n, 12), by step (6,) [m, rad] and stretch_step ds.

    D dq_n = -with_force g - dg/ds ds - C dq_(n+1), `with_force` 1 for a Newton step, 0 for a pure
    sensitivity; nodes, position; rows: eliminated.
    """
    last = nodes.shape[1] - 1
    motion = np.empty((12, 6))
    for leg in range(nodes.shape[0]):
        end_motion(nodes[leg, last], position, motion)
        for i in range(12):
            total = 0.0
            for j in range(6):
                total += motion[i, j] * step[j]
            out[leg, last, i] = total
        for n in range(last - 1, 0, -1):
            own = rows[leg, n]
            for k in range(11, -1, -1):
                total = -with_force * own[k, 24] - own[k, 25] * stretch_step[leg]
                for j in range(k + 1, 12):
                    total -= own[k, j] * out[leg, n, j]
                for j in range(12):
                    total -= own[k, 12 + j] * out[leg, n + 1, j]
                out[leg, n, k] = total / own[k, k]


@makes_arrays
@kernel
def turn(rotation, increment, scratch):
    """Turn in base axes, rotation <- exp([increment]x) rotation (3, 3); scratch (2, 3, 3)."""
    so3_exp(increment, scratch[0])
    for i in range(3):
        for j in range(3):
            scratch[1, i, j] = dot(row_at(scratch[0], i, 0), column_at(rotation, 0, j))
    rotation[:] = scratch[1]
