# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of a network: assembly from straight rods, continuation in load and actuation."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
from dataclasses import dataclass, replace
import functools
import math
from operator import sub
import threading
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, new_state, State, Work
from soro_mechanics.models.network.drive_values import driven_range
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import Aim, CONVERGED, solve
from soro_mechanics.models.network.kernels.path_memory_kernels import new_path_memory
from soro_mechanics.models.network.kernels.rod_kernels import place_ends
from soro_mechanics.models.network.relaxation import relax
from soro_mechanics.models.network.tendon.equilibrium import solve_held_tendons
from soro_mechanics.numerics import lie_kernels

TOLERANCE = 1e-9  # scaled residual; see `tolerance_of`
MAX_STEPS = 25
PATH_STEPS = 12  # the same within a continuation: a step that needs more is better halved
MIN_PART = 1.0 / 256.0  # of a continuation
MAX_TURN = 0.5 * math.pi  # of a motor in one step: frames are known modulo one turn
LEAPS = (1.0, 4.0, 16.0)  # shortest parts by which a snap is tried
AFTER_SNAP = 1.0 / 32.0  # part of a continuation tried after a snap
MAX_SNAPS = 40
GROWTH = 4.0  # of the residual in a step, above which it is halved
NO_POSE, NO_RANGE, NO_BEND = np.eye(4), np.empty(0), np.empty((0, 0))
NO_PATH = new_path_memory(0, 0)
UNLOCKED = contextlib.nullcontext()
Near = tuple[Any, Array]  # `Linearisation` there (whoever reads its work keeps it), and change


@dataclass(eq=False)
class Problem:
    """What is prescribed in one equilibrium."""

    actuation: Array
    load: LoadCase
    permanent: float = 1.0  # part of the robot file's own loads, and of all tensions


@dataclass(eq=False)
class Outcome:
    """How a solve ended; `state` is the last good one where it failed."""

    converged: bool
    state: State
    iterations: int
    residual: float
    #: where it was asked for: what the tangent there lies in, and what `linearise` says of it
    tangent: tuple[Work, tuple[float, int]] | None = None


class Equilibrium:
    """Solves one layout. Safe to call from several threads: each has its own scratch."""

    def __init__(self, layout: lay.Layout) -> None:
        self.layout = layout
        self.tolerance = tolerance_of(layout)
        self._turning = [d for d in layout.spec.drives if d.kind == 'angle']
        self._local = threading.local()
        self.posed: Any = None  # an inverse problem: what all of this network have in common
        self.guard: Any = None  # what checks its solutions
        self.mesh_check: Any = None  # what estimates their mesh error
        self._assembled: Outcome | None = None

    def __reduce__(self) -> tuple[type[Equilibrium], tuple[lay.Layout]]:
        """Cross a wire as the layout: scratch belongs to threads."""
        return type(self), (self.layout,)

    @property
    def scratch(self) -> tuple[Work, State]:
        """Work arrays and a spare state of the calling thread."""
        if not hasattr(self._local, 'work'):
            self._local.work = self.layout.work()
            self._local.old = new_state(self.layout.structure)
        return self._local.work, self._local.old

    def tangent_work(self) -> Work | None:
        """Return scratch for the tangent that a solve leaves; None where that says too little."""
        return None if self.layout.holds_tendons else self.layout.spare_work()

    def inputs(self, problem: Problem) -> Inputs:
        """Return the kernels' inputs for a problem; a thread's last ones are kept."""
        known: tuple[Problem, Inputs] | None = getattr(self._local, 'inputs', None)
        if known is not None and known[0] is problem:
            return known[1]
        if problem.permanent == 1.0:
            x = lay.actuate(self.layout, self.loaded(problem.load), problem.actuation)
        else:
            x = lay.actuate(self.layout, self.layout.rest, problem.actuation)
            x = lay.load(self.layout, x, problem.load, problem.permanent)
        return self.keep(problem, x)

    def keep(self, problem: Problem, x: Inputs) -> Inputs:
        """Keep what the inputs of a problem are known to be, for this thread."""
        self._local.inputs = problem, x
        return x

    def loaded(self, load: LoadCase) -> Inputs:
        """Return the inputs at rest with a load, not to be written to; the last are kept."""
        known: tuple[LoadCase, Inputs] | None = getattr(self._local, 'loaded', None)
        if known is None or not load.like(known[0]):
            known = self._local.loaded = load, lay.load(self.layout, self.layout.rest, load)
        return known[1]

    def newton(
        self,
        x: Inputs,
        start: State,
        most: int = MAX_STEPS,
        tolerance: float | None = None,
        tangent: Work | None = None,
        near: Near | None = None,
    ) -> Outcome:
        """Solve from a start; the actuators are held. The tangent is left in `tangent`.

        The first step is by `near`: what is linear at the start, how far the actuators have moved.
        """
        wanted = self.tolerance if tolerance is None else tolerance
        work, old = self.scratch
        if len(x.pull) and np.isfinite(x.pull[:, 0]).any():
            return Outcome(*solve_held_tendons(self.layout, x, start, (work, old), wanted, most))
        state, w = self.layout.start_from(start), work if tangent is None else tangent
        linear, change = near or (None, NO_RANGE)
        at, lock = (linear.work, linear.lock) if linear else (w, UNLOCKED)
        aim = _aim(most, wanted, tangent is not None, near is not None)
        with lock:
            outcome, steps, error, _, _, *found = solve(
                self.layout.structure, x, state, old, w, at, aim, change
            )
        left = None if tangent is None else (tangent, (error, *found))
        return Outcome(outcome == CONVERGED, state, steps, error, left)

    def march(
        self,
        inputs_at: Callable[[float], Inputs],
        start: State,
        snaps: int = 0,
        most: int = PATH_STEPS,
        longest: float = 1.0,
    ) -> Outcome:
        """Follow a path of inputs from 0 (solved by `start`) to 1 with step control.

        Where the branch ends the robot may snap through to another one, `snaps` times. No step is
        longer than the part `longest`.
        """
        at, part, iterations = 0.0, longest, 0
        state = start
        last = Outcome(False, start, 0, np.inf)
        while at < 1.0:
            goal = min(1.0, at + part)
            last = self.newton(inputs_at(goal), state, most)
            iterations += last.iterations
            if last.converged:
                state, at = last.state, goal
                part = min(2.0 * part, longest)
                continue
            part *= 0.5
            if part >= MIN_PART:
                continue
            if snaps == 0 or len(self.layout.rest.pull):  # a snap lets no tendon keep its length
                return Outcome(False, state, iterations, last.residual)
            snaps -= 1
            last, goal = self._snap(inputs_at, at, state)
            iterations += last.iterations
            if not last.converged:
                return Outcome(False, state, iterations, last.residual)
            state, at, part = last.state, goal, AFTER_SNAP
        return Outcome(True, state, iterations, last.residual)

    def _snap(
        self, inputs_at: Callable[[float], Inputs], at: float, start: State
    ) -> tuple[Outcome, float]:
        """Return where the robot comes to rest a little farther along a path, and how far."""
        spent, goal = 0, at
        last = Outcome(False, start, 0, np.inf)
        for leap in LEAPS:
            goal = min(1.0, at + leap * MIN_PART)
            x = inputs_at(goal)
            found = relax(self.layout.structure, x, start, self.scratch, self.tolerance)
            spent += found[2]
            last = Outcome(found[0], found[1], spent, found[3])
            if last.converged:
                break
        return last, goal

    def assembled(self, rest: Array) -> Outcome:
        """Return the unloaded robot at its rest actuation, rods bent into the bodies; cached."""
        if self._assembled is None:
            self._assembled = self._assemble(rest)
        return self._assembled

    def solve(
        self,
        problem: Problem,
        rest: Array,
        near: tuple[Problem, State] | None,
        tangent: Work | None = None,
    ) -> Outcome:
        """Solve a problem from an earlier solution, or from the assembled robot."""
        spent = 0
        if near is not None:
            outcome = self.follow(problem, near, tangent)
            if outcome.converged:
                return outcome
            spent = outcome.iterations
        base = self.assembled(rest)
        if not base.converged:
            return base
        zero = Problem(rest, LoadCase(), 0.0)
        path, longest = self._between(zero, problem), self.longest_step(rest, problem.actuation)
        outcome = self.march(path, base.state, MAX_SNAPS, longest=longest)
        spent += outcome.iterations
        if outcome.converged:  # one more step: differences are taken from a cold solution
            again = self.newton(self.inputs(problem), outcome.state, 1, 0.0)
            if again.residual < outcome.residual:
                outcome = replace(again, converged=True)
        return replace(outcome, iterations=spent)

    def follow(
        self, problem: Problem, near: tuple[Problem, State], tangent: Work | None = None
    ) -> Outcome:
        """Solve a problem from an earlier solution, along the branch that it lies on."""
        longest, spent = self.longest_step(near[0].actuation, problem.actuation), 0
        if longest == 1.0:
            first = self.newton(self.inputs(problem), near[1], tangent=tangent)
            if first.converged:
                return first
            spent = first.iterations
        outcome = self.march(self._between(near[0], problem), near[1], longest=longest)
        return replace(outcome, iterations=spent + outcome.iterations)

    def longest_step(self, before: Array, after: Array) -> float:
        """Return the part of a change of actuation in which no motor turns beyond `MAX_TURN`.

        A solution holds frames, and a frame does not tell one turn of a motor from two: from a
        state that is farther away the rods would be twisted by the turn that is left over.
        """
        if not self._turning:
            return 1.0
        ends = before.tolist(), after.tolist()
        if 'map_gain' not in self.layout.driven and max(map(abs, map(sub, *ends))) <= MAX_TURN:
            return 1.0  # motors turn as actuators do, whatever else these drive
        first, last = ([driven_range(d, x[d.actuator])[0] for d in self._turning] for x in ends)
        largest = max(map(abs, map(sub, last, first)))
        return 1.0 if largest <= MAX_TURN else MAX_TURN / largest

    def same_mesh(self, other: Equilibrium) -> bool:
        """Return whether states of another network fit this one."""
        a, b = self.layout.structure, other.layout.structure
        alike = ('counts', 'rod_node', 'rod_piece', 'rod_body', 'joint_kind')
        same = all(np.array_equal(getattr(a, k), getattr(b, k)) for k in alike)
        return same and a.tendon.shape == b.tendon.shape

    def adopt(self, problem: Problem, other: Inputs, state: State) -> State:
        """Return a start from a state of a robot with other rods: the strain is kept.

        Wrenches of the other robot would bend rods of another stiffness or rest shape elsewhere
        than their frames are.
        """
        start = copy_state(state)
        old, new = (x.section for x in (other, self.inputs(problem)))
        strain = old[:, :6] + old[:, 6:12] * state.wrench
        start.wrench[:] = (strain - new[:, :6]) / new[:, 6:12]
        return start

    def _between(self, a: Problem, b: Problem) -> Callable[[float], Inputs]:
        def inputs_at(t: float) -> Inputs:
            actuation = (1.0 - t) * a.actuation + t * b.actuation
            permanent = (1.0 - t) * a.permanent + t * b.permanent
            return self.inputs(Problem(actuation, a.load.mixed(b.load, t), permanent))

        return inputs_at

    def _assemble(self, rest: Array) -> Outcome:
        """Bend the rods into their bodies: the gap at every second end closes.

        The bodies float meanwhile. Held in place they would press the rods, and a pressed rod
        buckles into a branch that nobody wants.
        """
        x = lay.actuate(self.layout, self.layout.rest, rest)
        loose = np.tile([-np.inf, 0.0], (len(x.pull), 1))
        x = x._replace(tension=np.zeros_like(x.tension), pull=loose)
        state, gap = self._rest_shape(x)
        twist = np.zeros((gap.shape[0], 6))
        for r in range(gap.shape[0]):
            lie_kernels.se3_log(gap[r], twist[r])

        def closing(t: float) -> Inputs:
            part = np.empty_like(gap)
            for r in range(gap.shape[0]):
                lie_kernels.se3_exp((1.0 - t) * twist[r], part[r])
            return x._replace(gap=part)

        return self.march(closing, state, most=MAX_STEPS)

    def _rest_shape(self, x: Inputs) -> tuple[State, Array]:
        """Return rods in their rest shapes from their first ends, and the gaps at their second."""
        s = self.layout.structure
        work, _ = self.scratch
        state = new_state(s)
        gap = np.tile(np.eye(4), (s.counts.rods, 1, 1))
        placed = {0}
        for i, b in enumerate(self.layout.spec.bodies):
            if b.pose is not None and i > 0:
                state.body[i] = b.pose
                placed.add(i)
        waiting = list(range(s.counts.rods))
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
        nodes, pieces = self.layout.rod_nodes[r], self.layout.rod_pieces[r]
        g = state.node[nodes.start].copy()
        step = np.empty((4, 4))
        for n, p in enumerate(range(pieces.start, pieces.stop), nodes.start + 1):
            lie_kernels.se3_exp(x.length[r] * s.share[p] * x.section[p, :6], step)
            state.node[n] = g = g @ step
        return g


def tolerance_of(layout: lay.Layout) -> float:
    """Return the residual that double precision can reach, at least TOLERANCE.

    A two-node element's force is a stiffness times a difference of positions, so round-off of
    coordinates of the size of a rod costs eps EA, and more on shorter elements. Measured floors
    stay below half of what is returned, from 2 to 300 elements.
    """
    s, stiffest = layout.structure, float(np.max(1.0 / layout.sections[:, 6:9]))
    noise = float(np.finfo(float).eps) * stiffest / float(s.scale[1])
    return max(TOLERANCE, noise * (2.0 + 0.2 / float(s.share.min())))


@functools.lru_cache
def _aim(most: int, wanted: float, asked: bool, known: bool) -> Aim:
    """Return what a solve aims at whose actuators are held."""
    none = NO_POSE, NO_RANGE, 0, NO_RANGE, NO_BEND, NO_PATH, LANES
    return Aim(most, (wanted, 0.0, 0.0), GROWTH, 0.0, asked, known, 0, 0, *none)
