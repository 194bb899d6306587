# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Through a snap: the robot sinks in a viscous fluid until it rests somewhere else.

At a limit point the branch that a continuation follows ends, and a real robot jumps. Here every
frame of the mesh is dragged by a fluid and implicit Euler follows the motion,

    (K + mu D) eta = -r,

with D = diag(EI/L^3, EI/L) of each frame and 1/mu the time step. mu grows until the matrix is
positive definite, so that a step goes down in energy, and fades as the robot comes to rest: the
last steps are Newton's. What it finds is an equilibrium like any other, checked by its residual.

So a robot also leaves an unstable equilibrium. A push at the tip does not show the way where a rod
buckles between its ends: the nodes inside the rods are moved a little at random, integrated pieces
cut into their steps first.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import (
    copy_state,
    Inputs,
    new_state,
    State,
    Structure,
    Work,
)
from soro_mechanics.models.network.kernels import system_kernels as kernels
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import copy_into
from soro_mechanics.numerics.dense_kernels import negative_pivots

MAX_STEPS = 200
STEP = 0.1  # largest turn [rad] and move [characteristic lengths] of a frame in one step
START = 1.0  # drag at the beginning
FADED = 1e-3  # drag below which there is none
THICKEST = 1e4  # drag that must be enough
LOST = 1e6  # scaled residual from which nothing comes back
NUDGE = 1e-3  # of the rods' mean length


def relax(
    s: Structure, x: Inputs, start: State, scratch: tuple[Work, State], tolerance: float
) -> tuple[bool, State, int, float]:
    """Let the robot come to rest; return (converged, state, steps, scaled residual)."""
    w, old = scratch
    state = copy_state(start)
    held = np.zeros((s.counts.rods, 2))
    drag = np.tile(np.repeat([s.scale[1] / s.scale[0], s.scale[1] * s.scale[0]], 3), 2)
    mu, error = START, np.inf
    for step in range(MAX_STEPS):
        error = float(kernels.evaluate(s, x, state, w, False, False, LANES))
        if error <= tolerance:
            return True, state, step, error
        if not error < LOST:
            return False, start, step, error
        found = _drag_until_definite(s, x, state, w, drag, mu)
        if found is None or kernels.solve_bodies(w) == 0:
            return False, start, step, error
        mu, tangent = found
        # the drag holds the frames back; the rods' wrenches follow their own law
        w.tangent[:] = tangent
        kernels.back_substitute(s, x, state, w, 0, held, 1.0)
        _, turn, shift = kernels.largest_step(s, w)
        wanted = max(turn, shift / s.scale[0])
        part = 1.0 if wanted <= STEP else STEP / wanted
        copy_into(state, old)
        kernels.move(s, old, w, part, state)
        mu *= 0.5 if part == 1.0 else 2.0
        if mu < FADED:
            mu = 0.0
    return False, start, MAX_STEPS, error


def _drag_until_definite(
    s: Structure, x: Inputs, state: State, w: Work, drag: np.ndarray, mu: float
) -> tuple[float, np.ndarray] | None:
    """Eliminate with enough drag; return it and the pieces' tangents without it."""
    tangent = w.tangent.copy()
    diagonal = np.arange(12)
    while mu <= THICKEST:
        w.tangent[:] = tangent
        w.tangent[:, diagonal, diagonal] += mu * drag
        negative = kernels.condense(s, x, state, w, False, True)
        if negative == 0 and negative_pivots(w.matrix, len(w.matrix), w.dense) == 0:
            return mu, tangent
        if negative == kernels.SINGULAR and not np.isfinite(tangent).all():
            return None
        mu = max(4.0 * mu, FADED)
    return None


def release(
    layout: lay.Layout, x: Inputs, start: State, tolerance: float, side: float
) -> State | None:
    """Return where the motion from an unstable state ends; None where it does not settle.

    side, 1 or -1, tells which of the two ways to leave.
    """
    s, rng = layout.structure, np.random.default_rng(0)
    state = copy_state(start)
    size = side * NUDGE * float(s.scale[0])
    for nodes in layout.rod_nodes:
        for node in range(nodes.start + 1, nodes.stop - 1):
            state.node[node, :3, 3] += size * rng.normal(size=3)
    work = layout.work()
    converged, state, _, _ = relax(s, x, state, (work, new_state(s)), tolerance)
    return state if converged else None
