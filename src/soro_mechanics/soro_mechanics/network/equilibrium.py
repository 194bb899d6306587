# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of a network: assembly from straight rods, continuation in load and actuation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import threading

import numpy as np

from soro_mechanics import lie_kernels
from soro_mechanics.configuration import Array, Load
from soro_mechanics.network import layout as lay
from soro_mechanics.network.arrays import copy_state, Inputs, new_state, State, Work
from soro_mechanics.network.lane_kernels import LANES
from soro_mechanics.network.newton_kernels import CONVERGED, solve_held
from soro_mechanics.network.rod_kernels import place_ends
from soro_mechanics.network.system_kernels import condense, evaluate

TOLERANCE = 1e-9  # scaled residual; see `tolerance_of` for two-node elements
MOST_STEPS = 25
SHORTEST_PART = 1.0 / 256.0  # of a continuation


@dataclass(frozen=True)
class Problem:
    """What is prescribed in one equilibrium."""

    actuation: Array
    wrench: Array
    loads: tuple[Load, ...]
    gravity: Array


@dataclass(frozen=True)
class Outcome:
    """How a solve ended; `state` is the last good one where it failed."""

    converged: bool
    state: State
    iterations: int
    residual: float


class Equilibrium:
    """Solves one layout. Safe to call from several threads: each has its own scratch."""

    def __init__(self, layout: lay.Layout) -> None:
        self.layout = layout
        self.tolerance = tolerance_of(layout)
        self._rest = lay.rest_inputs(layout)
        self._no_params = np.zeros((int(layout.structure.counts[1]), 2))
        self._local = threading.local()
        self._assembled: Outcome | None = None

    @property
    def scratch(self) -> tuple[Work, State]:
        """Work arrays and a spare state of the calling thread."""
        if not hasattr(self._local, 'work'):
            self._local.work = self.layout.work()
            self._local.old = new_state(self.layout.structure)
        return self._local.work, self._local.old

    def inputs(self, problem: Problem) -> Inputs:
        """Return the kernels' inputs for a problem."""
        x = lay.actuate(self.layout, self._rest, problem.actuation)
        return lay.load(self.layout, x, problem.wrench, problem.loads, problem.gravity)

    def newton(self, x: Inputs, start: State, most: int = MOST_STEPS) -> Outcome:
        """Solve from a start; the actuators are held."""
        work, old = self.scratch
        state = copy_state(start)
        outcome, steps, error = solve_held(
            self.layout.structure, x, state, old, work, self._no_params, self.tolerance, most,
            LANES,
        )  # fmt: skip
        return Outcome(outcome == CONVERGED, state, steps, error)

    def march(self, inputs_at: Callable[[float], Inputs], start: State) -> Outcome:
        """Follow a path of inputs from 0 (solved by `start`) to 1 with step control."""
        at, part, iterations = 0.0, 1.0, 0
        state = start
        last = Outcome(False, start, 0, np.inf)
        while at < 1.0:
            goal = min(1.0, at + part)
            last = self.newton(inputs_at(goal), state)
            iterations += last.iterations
            if last.converged:
                state, at = last.state, goal
                part *= 2.0
            else:
                part *= 0.5
                if part < SHORTEST_PART:
                    return Outcome(False, state, iterations, last.residual)
        return Outcome(True, state, iterations, last.residual)

    def assembled(self, rest: Array) -> Outcome:
        """Return the unloaded robot at its rest actuation, rods bent into the bodies; cached."""
        if self._assembled is None:
            self._assembled = self._assemble(rest)
        return self._assembled

    def solve(self, problem: Problem, rest: Array, near: tuple[Problem, State] | None) -> Outcome:
        """Solve a problem from an earlier solution, or from the assembled robot."""
        goal = self.inputs(problem)
        spent = 0
        if near is not None:
            outcome = self.newton(goal, near[1])
            if outcome.converged:
                return outcome
            spent = outcome.iterations
            outcome = self.march(self._between(near[0], problem), near[1])
            if outcome.converged:
                return Outcome(True, outcome.state, spent + outcome.iterations, outcome.residual)
            spent += outcome.iterations
        base = self.assembled(rest)
        if not base.converged:
            return base
        zero = Problem(rest, np.zeros(6), (), np.zeros(3))
        outcome = self.march(self._between(zero, problem), base.state)
        return Outcome(
            outcome.converged, outcome.state, spent + outcome.iterations, outcome.residual
        )

    def _between(self, a: Problem, b: Problem) -> Callable[[float], Inputs]:
        def inputs_at(t: float) -> Inputs:
            loads = tuple(
                Load(weight * item.wrench, item.on, item.arc_length, item.axes)
                for weight, group in ((1.0 - t, a.loads), (t, b.loads))
                for item in group
            )
            return self.inputs(
                Problem(
                    (1.0 - t) * a.actuation + t * b.actuation,
                    (1.0 - t) * a.wrench + t * b.wrench,
                    loads,
                    (1.0 - t) * a.gravity + t * b.gravity,
                )
            )

        return inputs_at

    def _assemble(self, rest: Array) -> Outcome:
        """Bend the rods into their bodies: the gap at every second end closes.

        The bodies float meanwhile. Held in place they would press the rods, and a pressed rod
        buckles into a branch that nobody wants.
        """
        x = lay.actuate(self.layout, self._rest, rest)
        state, gap = self._rest_shape(x)
        twist = np.zeros((gap.shape[0], 6))
        for r in range(gap.shape[0]):
            lie_kernels.se3_log(gap[r], twist[r])

        def closing(t: float) -> Inputs:
            part = np.empty_like(gap)
            for r in range(gap.shape[0]):
                lie_kernels.se3_exp((1.0 - t) * twist[r], part[r])
            return x._replace(gap=part)

        return self.march(closing, state)

    def _rest_shape(self, x: Inputs) -> tuple[State, Array]:
        """Return rods in their rest shapes from their first ends, and the gaps at their second."""
        s = self.layout.structure
        work, _ = self.scratch
        state = new_state(s)
        gap = np.tile(np.eye(4), (int(s.counts[1]), 1, 1))
        placed = {0}
        for i, b in enumerate(self.layout.spec.bodies):
            if b.pose is not None and i > 0:
                state.body[i] = b.pose
                placed.add(i)
        waiting = list(range(int(s.counts[1])))
        while waiting:
            ready = [r for r in waiting if int(s.rod_body[r, 0]) in placed]
            r = ready[0] if ready else waiting[0]
            waiting.remove(r)
            place_ends(s, x, state, work)
            end = self._lay_out(x, r, state)
            second = int(s.rod_body[r, 1])
            if second not in placed:
                state.body[second] = end @ np.linalg.inv(work.end[r, 1])
                placed.add(second)
            place_ends(s, x, state, work)
            gap[r] = np.linalg.inv(state.node[s.rod_node[r + 1] - 1]) @ end
        return state, gap

    def _lay_out(self, x: Inputs, r: int, state: State) -> Array:
        """Put the nodes of a rod on its rest shape; return its end frame."""
        s = self.layout.structure
        n0, p0 = int(s.rod_node[r]), int(s.rod_piece[r])
        g = state.node[n0].copy()
        step = np.empty((4, 4))
        for p in range(p0, int(s.rod_piece[r + 1])):
            rest = x.section[p, :6]
            if s.lane[p] >= 0:
                table = x.table[s.lane[p] // LANES].reshape(-1, 13, LANES)
                rest = table[:, :6, s.lane[p] % LANES]
                h = x.length[r] * s.share[p] / s.counts[4]
                for k in range(int(s.counts[4])):
                    lie_kernels.se3_exp(h * np.ascontiguousarray(rest[2 * k + 1]), step)
                    g = g @ step
            else:
                lie_kernels.se3_exp(x.length[r] * s.share[p] * rest, step)
                g = g @ step
            state.node[n0 + 1 + p - p0] = g
        return g

    def inspect(self, x: Inputs, state: State, gradient: bool) -> int:
        """Assemble at a state and eliminate; return the negative pivots of the rods."""
        work, _ = self.scratch
        evaluate(self.layout.structure, x, state, work, gradient, True, LANES)
        return int(condense(self.layout.structure, x, state, work, gradient, True))


def tolerance_of(layout: lay.Layout) -> float:
    """Return the residual that double precision can reach, at least TOLERANCE.

    A two-node element's force is a stiffness times a difference of positions, so round-off of
    coordinates of the size of a rod costs eps EA, and more on shorter elements. Measured floors
    stay below half of what is returned, from 2 to 300 elements.
    """
    s = layout.structure
    pieces = np.repeat(s.rod_macro, np.diff(s.rod_piece)) == 0
    if not pieces.any():
        return TOLERANCE
    stiffest = float(np.max(1.0 / layout.sections[:, :, 6:9]))
    noise = float(np.finfo(float).eps) * stiffest / float(s.scale[1])
    return max(TOLERANCE, noise * (2.0 + 0.2 / float(s.share[pieces].min())))
