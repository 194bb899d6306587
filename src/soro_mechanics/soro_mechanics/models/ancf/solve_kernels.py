# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Newton's method for forward and inverse of Huang 2022: eqs (33)-(35), Algorithms 1-3.

Forward and inverse are the same iteration with knowns and unknowns swapped: stretches are given
and the platform's position is free, or the other way round. Arguments as in `kernels`; state:
(nodes, stretch, position, rotation), changed in place; mode: FORWARD or INVERSE; target: stretches
(legs,), or the position (3,) [m].

Source: Huang (2022), IEEE Trans. Robotics, eqs (33)-(35), Algorithms 1-3; sensitivities derived
here, checked by differences in test_ancf.py.
"""

import math

import numpy as np

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.models.ancf.kernels import (
    back_substitute,
    condense,
    eliminate,
    linearise,
    place_ends,
    platform_system,
    scaled_residual,
    turn,
)
from soro_mechanics.numerics.dense_kernels import solve_in_place

FORWARD = 0
INVERSE = 1
_MAX_TURN = 0.5  # rad: a longer Newton step is scaled down to this
_HOPELESS = 1e9  # scaled residual: the iteration has left the basin of attraction


@kernel
def make_work(legs, nodes):
    """Return the scratch arrays of `newton` for so many legs of so many nodes."""
    element = (np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3, 3)))
    return (
        np.empty((legs, nodes, 12, 26)),
        np.empty((legs, 12)),
        (np.empty(6), element),
        np.empty((6, 6)),
        np.empty(6),
        np.empty((6, legs)),
        np.zeros((legs, nodes, 12)),
        np.empty((2, 3, 3)),
    )


@kernel
def _platform_step(mode, tangent, gradient, by_stretch, move, step, stretch_step):
    """Solve the platform's tangent step + by_stretch stretch_step = -gradient; False if singular.

    move: what the mode knows, stretch_step (legs,) or step[:3] [m]; step (6,), stretch_step: out.
    """
    legs = by_stretch.shape[1]
    right = np.empty((6, 1))
    matrix = np.empty((6, 6))
    for i in range(6):
        total = -gradient[i]
        if mode == FORWARD:
            for j in range(legs):
                total -= by_stretch[i, j] * move[j]
            for j in range(6):
                matrix[i, j] = tangent[i, j]
        else:
            for j in range(3):
                total -= tangent[i, j] * move[j]
                matrix[i, j] = tangent[i, 3 + j]
                matrix[i, 3 + j] = by_stretch[i, j]
        right[i, 0] = total
    if solve_in_place(matrix, 6, right, 1) == 0:
        return False
    if mode == FORWARD:
        for i in range(6):
            step[i] = right[i, 0]
        for j in range(legs):
            stretch_step[j] = move[j]
    else:
        for i in range(3):
            step[i] = move[i]
            step[3 + i] = right[i, 0]
            stretch_step[i] = right[3 + i, 0]
    return True


@kernel
def _apply(state, structure, step, stretch_step, changes, scratch):
    """Take a step of a state, scaled down where it turns the platform too far; return by how much.

    structure; step (6,), stretch_step (legs,), changes (legs, n, 12): of all; scratch (2, 3, 3).
    """
    nodes, stretch, position, rotation = state
    size = math.sqrt(step[3] ** 2 + step[4] ** 2 + step[5] ** 2)
    scale = 1.0 if size <= _MAX_TURN else _MAX_TURN / size
    for leg in range(nodes.shape[0]):
        stretch[leg] += scale * stretch_step[leg]
        for n in range(1, nodes.shape[1] - 1):
            for i in range(12):
                nodes[leg, n, i] += scale * changes[leg, n, i]
    increment = np.empty(3)
    for i in range(3):
        position[i] += scale * step[i]
        increment[i] = scale * step[3 + i]
    turn(rotation, increment, scratch)
    place_ends(nodes, structure, position, rotation)
    return scale


@kernel
def predict(state, sensitivity, structure, mode, target):
    """Move a converged state of structure along its own linearisation to the target of mode.

    sensitivity: of `sensitivity_of`; nothing moves where its d(position) / d(stretch) is singular.
    """
    nodes, stretch, position, rotation = state
    by_nodes, by_platform = sensitivity
    legs = nodes.shape[0]
    change = np.empty((legs, 1))
    if mode == FORWARD:
        for j in range(legs):
            change[j, 0] = target[j] - stretch[j]
    else:
        matrix = np.empty((3, 3))
        for i in range(3):
            change[i, 0] = target[i] - position[i]
            for j in range(3):
                matrix[i, j] = by_platform[i, j]
        if solve_in_place(matrix, 3, change, 1) == 0:
            return
    step = np.zeros(6)
    changes = np.zeros(nodes.shape)
    for j in range(legs):
        for i in range(6):
            step[i] += by_platform[i, j] * change[j, 0]
        for leg in range(legs):
            for n in range(1, nodes.shape[1] - 1):
                for i in range(12):
                    changes[leg, n, i] += by_nodes[j, leg, n, i] * change[j, 0]
    _apply(state, structure, step, change[:, 0].copy(), changes, np.empty((2, 3, 3)))


@kernel
def newton(state, structure, loads, mode, target, tolerance, limit, work):
    """Iterate to equilibrium; return (converged, iterations, scaled residual, negative pivots).

    state, structure; loads: leg_loads, body_loads; mode; target: reached in full unless the
    iteration fails; tolerance: of `scaled_residual`; limit: of iterations; work: of `make_work`,
    with the eliminated rows, the platform's tangent and by_stretch at the solution after success.
    """
    nodes, stretch, position, rotation = state
    rows, ends, scratch, tangent, gradient, by_stretch, changes, rotations = work
    leg_loads, body_loads = loads
    legs = nodes.shape[0]
    known = legs if mode == FORWARD else 3
    move = np.empty(known)
    step = np.empty(6)
    stretch_step = np.empty(legs)
    residual = 0.0
    for iteration in range(limit + 1):
        linearise(nodes, stretch, structure, leg_loads, rows, scratch)
        platform_system(nodes, position, rotation, rows, body_loads, tangent, gradient, ends)
        elements = nodes.shape[1] - 1
        residual = scaled_residual(rows, gradient, structure[3], structure[4], elements)
        if not residual < _HOPELESS:
            return False, iteration, residual, 0
        far = 0.0
        for i in range(known):
            move[i] = target[i] - (stretch[i] if mode == FORWARD else position[i])
            far = max(far, abs(move[i]))
        negative = eliminate(rows)
        condense(nodes, position, rows, ends, tangent, gradient, by_stretch)
        if residual <= tolerance and far <= 1e-15:
            return True, iteration, residual, negative
        if iteration == limit or not _platform_step(
            mode, tangent, gradient, by_stretch, move, step, stretch_step
        ):
            break
        back_substitute(nodes, position, rows, step, stretch_step, 1.0, changes)
        if _apply(state, structure, step, stretch_step, changes, rotations) == 1.0:
            # round-off of x + (target - x) must not ask for another step
            for i in range(known):
                if mode == FORWARD:
                    stretch[i] = target[i]
                else:
                    position[i] = target[i]
            place_ends(nodes, structure, position, rotation)
    return False, limit, residual, 0


@kernel
def sensitivity_of(nodes, position, rows, tangent, by_stretch):
    """Return d(nodes) / d(stretch) (legs, legs, n, 12), d(platform) = -tangent^-1 by_stretch.

    nodes, position; rows: eliminated; zeros where the tangent is singular.
    """
    legs = nodes.shape[0]
    by_platform = -by_stretch.copy()
    by_nodes = np.zeros((legs, legs, nodes.shape[1], 12))
    if solve_in_place(tangent.copy(), 6, by_platform, legs) == 0:
        by_platform[:] = 0.0
        return by_nodes, by_platform
    unit = np.zeros(legs)
    for j in range(legs):
        unit[:] = 0.0
        unit[j] = 1.0
        back_substitute(nodes, position, rows, by_platform[:, j].copy(), unit, 0.0, by_nodes[j])
    return by_nodes, by_platform


@kernel
def increment(good, structure, loads, mode, target, tolerance, limit):
    """Solve from an `AncfState`, which stays; return what is found like it, and how that ended.

    good: the state; structure, loads, mode, target, tolerance, limit: as of `newton`.
    """
    nodes, stretch = good[0].copy(), good[1].copy()
    position, rotation = good[2].copy(), good[3].copy()
    state = nodes, stretch, position, rotation
    nodes[:, 0] = structure[0]  # clamped, also where a like robot's state is the start
    predict(state, (good[5], good[6]), structure, mode, target)
    work = make_work(nodes.shape[0], nodes.shape[1])
    ended = newton(state, structure, loads, mode, target, tolerance, limit, work)
    response = good[5], good[6]
    if ended[0]:
        response = sensitivity_of(nodes, position, work[0], work[3], work[5])
    return (*state, work[3], *response), ended
