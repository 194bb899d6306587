# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a motion begins: a static equilibrium of the moving mesh, near one of the model's own."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.network.arrays import Inputs, new_state, State
from soro_mechanics.models.network.bundles import Bundles, MAX_ROUNDS
from soro_mechanics.models.network.equilibrium import Equilibrium, Outcome, Problem
from soro_mechanics.models.network.layout import Layout
from soro_mechanics.numerics import lie_kernels

SAME_PLACE = 1e-9  # of two nodes, in lengths of their rod


def state_near(q: Configuration, equilibrium: Equilibrium, problem: Problem) -> State | None:
    """Return the state of another mesh in the shape of a solution; None where nodes are missing.

    `q`: of model network; `problem`: that of q.
    """
    layout, x = equilibrium.layout, equilibrium.inputs(problem)
    s, of, other = layout.structure, q.state.equilibrium.layout, q.state.state
    state = new_state(s)
    for name in ('body', 'joint', 'spin', 'tension'):
        if getattr(state, name).shape != getattr(other, name).shape:
            return None
        getattr(state, name)[:] = getattr(other, name)
    for r, rod in enumerate(layout.spec.rods):
        gaps = np.abs(rod.fractions[:, None] - of.spec.rods[r].fractions)
        if gaps.min(axis=1).max() > SAME_PLACE:
            return None
        state.node[layout.rod_nodes[r]] = other.node[of.rod_nodes[r]][gaps.argmin(axis=1)]
    owner = np.repeat(np.arange(len(layout.rods)), np.diff(s.rod_piece))
    twist = np.empty(6)
    for p, rod_index in enumerate(owner.tolist()):
        first = p + rod_index
        a, b = state.node[first], state.node[first + 1]
        lie_kernels.se3_log(np.ascontiguousarray(np.linalg.inv(a) @ b), twist)
        strain = twist - x.length[rod_index] * s.share[p] * x.section[p, :6]
        state.wrench[p] = x.stiffness[p] @ strain
    return state


def settle(
    equilibrium: Equilibrium, problem: Problem, rest: Array, near: State | None
) -> tuple[Outcome, Array]:
    """Return the static equilibrium, and the actuation with the means that its bundles have.

    Raises InvalidInput: none was found.
    """
    bundles = Bundles(equilibrium.layout.spec)
    search = bundles.search(problem.actuation, None) if bundles else None
    held = problem
    for _ in range(MAX_ROUNDS):
        if search is not None:
            held = Problem(search.lengths, problem.load)
        x = equilibrium.inputs(held)
        outcome = None if near is None else equilibrium.newton(x, near)
        if outcome is None or not outcome.converged:
            outcome = equilibrium.solve(held, rest, None)
        if not outcome.converged:
            break
        near = outcome.state
        if search is None or search.balanced(equilibrium, x, outcome.state):
            return outcome, held.actuation
    remedy = 'a start in equilibrium: none was found'
    raise InvalidInput('actuation', problem.actuation.tolist(), remedy)


class Means:
    """The common lengths of bundles, which follow the frames with the lag of a step.

    Statics asks that no bundle is pressed in the mean; in motion each step ends by making the
    means so for the frames as they are.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._bundles = Bundles(layout.spec)
        self.shift = np.zeros(len(layout.spec.bundles))

    def begin(self, commanded: Array, held: Array) -> None:
        """Start with the lengths that hold at rest."""
        self.shift = self._bundles.means(held) - self._bundles.means(commanded)

    def lengths(self, commanded: Array) -> Array:
        """Return the lengths of the muscles at a commanded actuation."""
        if not self._bundles:
            return commanded
        return self._bundles.with_means(commanded, self._bundles.means(commanded) + self.shift)

    def follow(self, x: Inputs, state: State) -> None:
        """Let the means follow a step."""
        if not self._bundles:
            return
        slope, second, _ = self._bundles.pressed(self._layout, x, state)
        self.shift = self.shift - slope / second


def distance(q: Configuration, tip: Array) -> float:
    """Return how far a tip is from that of a solution [m]."""
    return math.dist(q.tip[:3, 3], tip[:3, 3])
