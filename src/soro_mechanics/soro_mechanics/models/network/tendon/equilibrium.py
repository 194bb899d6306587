# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium with tendons whose lengths are held: their tensions are unknown and pull only.

For every such tendon, with path length l, wanted length l0 (at rest, minus the pull), tension T
and flexibility c of the tendon itself,

    T >= 0,   gap = l0 + c T - l >= 0,   T gap = 0                 (a slack tendon has a gap)

beside the balance of the network. Every step of Newton's method linearises both: the elimination
with tensions as parameters gives how the lengths follow, and what is left is a small linear
complementarity problem for the new tensions (Josephy 1979). A tension by tension control may be at
a limit point that the held length is not: both are solved in one step for that reason.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import copy_state, Inputs, State, Work
from soro_mechanics.models.network.kernels import system_kernels as kernels
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import copy_into, MIN_PART
from soro_mechanics.models.network.layout import Layout

MAX_FLIPS = 100
GROWTH = 10.0  # a step after which the residual grew more than this is halved


def solve_held_tendons(
    layout: Layout,
    x: Inputs,
    start: State,
    scratch: tuple[Work, State],
    tolerance: float,
    most: int,
) -> tuple[bool, State, int, float]:
    """Solve from a start; return (converged, state, steps, scaled residual)."""
    s, tendons = layout.structure, layout.tendons
    w, old = scratch
    state = copy_state(start)
    length, force = s.scale
    held = np.flatnonzero(tendons.held)
    wanted = tendons.rest[held] - x.pull[:, 0]
    tension = tendons.held_tensions(state)[held]
    before, change = tension, np.zeros_like(tension)
    best, part, error = np.inf, 1.0, np.inf
    for step in range(most + 1):
        error = float(kernels.evaluate(s, x, state, w, True, False, LANES))
        lengths = tendons.lengths(state)[held]
        gap = wanted + tendons.soft[held] * tension - lengths
        error = max(error, float(np.abs(np.minimum(tension / force, gap / length)).max()))
        if error <= tolerance:
            return True, state, step, error
        if step == most:
            break
        if step > 0 and not error <= GROWTH * best:
            if part <= MIN_PART:
                break
            part *= 0.5
        else:
            found = newton_step(layout, x, state, w, gap, tension)
            if found is None:
                return False, state, step, error
            change, before, best = found, tension, error
            part, _, _ = kernels.largest_step(s, w)
            copy_into(state, old)
        kernels.move(s, old, w, part, state)
        tension = before + part * change
        full = np.zeros(len(tendons.held))
        full[held] = tension
        tendons.put(state, full)
    return False, state, most, error


def newton_step(
    layout: Layout,
    x: Inputs,
    state: State,
    w: Work,
    gap: Array,
    tension: Array,
    motion: tuple[Inputs, Array] | None = None,
) -> Array | None:
    """Write the step of all unknowns, return that of the tensions; None where there is none.

    `gap` and `tension` (h,) are those of the tendons that are held. In `motion`: the inputs with
    the law of damped elements, and the tangents (bodies, 6, 6) of the bodies' inertia.
    """
    s, tendons = layout.structure, layout.tendons
    held = np.flatnonzero(tendons.held)
    if kernels.condense(s, x, state, w, True, False) == kernels.SINGULAR:
        return None
    law = x
    if motion is not None:
        law, tangents = motion
        for b in range(1, len(tangents)):
            rows = slice(6 * b - 6, 6 * b)
            w.matrix[rows, rows] += tangents[b]
    own = tendons.actuators[held]
    try:
        both = np.column_stack([w.vector, w.columns[:, own]])
        bodies = np.asarray(-np.linalg.solve(w.matrix, both), dtype=float)
    except np.linalg.LinAlgError:
        return None
    count = len(held)
    rates = np.empty((count, count + 1))
    for j in range(count + 1):
        unit = np.zeros(layout.actuators)
        unit[own[j - 1 : j]] = 1.0  # none for j = 0: the step with all tensions held
        follow(layout, law, state, w, bodies[:, j], unit, float(j == 0))
        rates[:, j] = tendons.rates(w, w.step_node[:, :, None])[held, 0]
    matrix = np.diag(tendons.soft[held]) - rates[:, 1:]
    if not np.isfinite(matrix).all():
        return None
    rest = gap - rates[:, 0] - matrix @ tension
    found = solve_complementarity(matrix, rest, tension > 0.0)
    if found is None:
        return None
    change, whole = found - tension, np.zeros(layout.actuators)
    whole[own] = change
    follow(layout, law, state, w, bodies @ np.append(1.0, change), whole, 1.0)
    return change


def follow(
    layout: Layout, x: Inputs, state: State, w: Work, body: Array, change: Array, one: float
) -> None:
    """Write the step of every unknown for one of the bodies (n,) and of the actuators (m,)."""
    s = layout.structure
    kernels.set_slots(s, x, w, change)
    w.step_body[0] = 0.0
    w.step_body[1:] = body.reshape(-1, 6)
    kernels.back_substitute(s, x, state, w, 1 + s.counts.slots, w.slots, one)


def solve_complementarity(matrix: Array, rest: Array, start: NDArray[np.bool_]) -> Array | None:
    """Return z >= 0 with matrix z + rest >= 0 and z (matrix z + rest) = 0; None if not found.

    Principal pivoting from the set `start` where z > 0: all wrong signs change at once, and after
    some rounds the first one only (Murty 1974), which ends for every positive definite matrix.
    """
    size = len(rest)
    taut = start.copy()
    for flip in range(MAX_FLIPS):
        z = np.zeros(size)
        if taut.any():
            try:
                z[taut] = np.linalg.solve(matrix[np.ix_(taut, taut)], -rest[taut])
            except np.linalg.LinAlgError:
                return None
        wrong = np.where(taut, z < 0.0, matrix @ z + rest < 0.0)
        if not wrong.any():
            return z
        if flip >= size:
            wrong[int(np.argmax(wrong)) + 1 :] = False
        taut = taut ^ wrong
    return None
