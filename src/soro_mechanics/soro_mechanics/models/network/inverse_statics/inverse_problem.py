# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One inverse problem of a network: Newton with the tip prescribed and the actuators unknown.

Every iteration assembles the network once and eliminates it onto the bodies. There the step obeys

    K eta + P da = -r         equilibrium of the bodies
    A eta = c                 what the task still lacks

so J da = c + A K^-1 r with J = -A K^-1 P. Where limits stop that, a small quadratic program goes
to the nearest pose; where actuators are left to choose, see `least_energy`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
from typing import Any, TypeVar

import numpy as np

from soro_mechanics.compilation.kernels_by_reference import copied
from soro_mechanics.core.configuration import amended, Array, Guess, LoadCase, Target, Task
from soro_mechanics.inverse.steps import learn_bend
from soro_mechanics.inverse.task_error import axis_turn, sizes, task_error, task_rows
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import Inputs, State
from soro_mechanics.models.network.description.spec import LENGTHS, TENDONS
from soro_mechanics.models.network.drive_values import actuation_of, driven_ranges, driven_values
from soro_mechanics.models.network.driven_limits import DrivenLimits
from soro_mechanics.models.network.equilibrium import (
    Equilibrium,
    NO_BEND,
    Outcome,
    Problem,
    UNLOCKED,
)
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import (
    Aim,
    ANGLES,
    CONVERGED,
    MAX_ACTUATORS,
    MIDDLE,
    RODS,
    SETTLED,
    solve,
    STEP_RANGE,
)
from soro_mechanics.models.network.kernels.path_memory_kernels import (
    copy_path,
    new_path_memory,
    PathMemory,
)
from soro_mechanics.models.network.kernels.system_kernels import evaluate
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.models.network.relaxation import release
from soro_mechanics.numerics import lie
from soro_mechanics.numerics.dense_kernels import convex
from soro_mechanics.numerics.qp import solve_qp
from soro_mechanics.numerics.qp_kernels import OPTIMAL

MAX_STEPS = 40
MAX_DIRECT = 16
MAX_IDLE = 10  # steps without PROGRESS: a search that gets nowhere
PROGRESS = 0.9
MAX_NEAREST = 200  # Newton steps on the way to the nearest pose
MAX_CREEPING, CREEPING = 6, 0.99  # steps without limits that gain less: nobody could go there
MAX_DAMPING = 1e8
PROMISE = 1e-12  # of the squared distance: a minimum, where no step promises more
STALLED = 1e-7  # step of all actuators, in parts of their ranges: nothing nearer is found
TOUCHING = 1e-6  # in parts of a range: a limit that is this near stops the solution
GROWTH = 10.0  # a step after which residual or error grew more than this is halved
MIN_PART = 1.0 / 64.0
TINY = 1e-300
LEFT = 0.3  # of a task of more rows than actuators that a step may leave
NEARLY = 1e-2  # residual or error, scaled, from which Newton's method is let go its way


@dataclass(eq=False)
class InverseState:
    """Where an inverse solve stands."""

    driven: Array
    state: State
    residual: float = math.inf
    task_error: tuple[float, float] = (math.inf, math.inf)
    steps: int = 0
    linear: Linearisation | None = None  # at this state, on the layout itself
    path: PathMemory | None = None  # that has led there
    bend: Array | None = None  # of the task, see `LeastEnergy.curved`
    settled: bool = True  # at the least energy that is near


Direct = tuple[InverseState, Problem, Outcome]
Kind = TypeVar('Kind', bound='InverseProblem')


class InverseProblem(DrivenLimits):
    """One target for one network."""

    equilibrium: Equilibrium  # of a copy: it keeps the first one, which would keep it

    def __init__(self, model: ForwardNetwork, load: LoadCase, target: Target) -> None:
        equilibrium = model.equilibrium(load.loads)
        self.layout = equilibrium.layout
        super().__init__(model.description, self.layout)
        self.load, self.target = load, target
        self._loaded = equilibrium.loaded(load)
        bodies, rods, nodes, pieces = self.layout.structure.counts[:4]
        unknowns = 6 * (bodies + nodes + pieces + rods) + len(self.low)
        self._path = new_path_memory(unknowns)
        # where redundant actuation tends to: tendons to the least tension
        self.middle = 0.5 * (self.low + self.high)
        self.pulling = np.isin(np.arange(len(self.low)), self.layout.tendons.actuators)
        self.middle[self.pulling] = self.low[self.pulling]
        kinds = {d.kind for d in self.drives}
        self.energy = ANGLES if kinds == {'angle'} else MIDDLE
        if kinds and kinds <= set(LENGTHS) and len(self.low) <= MAX_ACTUATORS:
            self.energy = RODS
        self.limited = True
        self._straight = all(d.curve is None for d in self.drives)

    def start(self, model: ForwardNetwork, guess: Guess) -> InverseState:
        """Return the guess or the rest, moved onto the limits where these can be kept."""
        actuation = model.rest if guess is None else guess.actuation
        driven, _ = driven_ranges(self.drives, actuation)
        kept = self.allowed(driven)
        near = None
        if guess is not None and guess.state.equilibrium is self.equilibrium:
            if kept:
                at = InverseState(driven, guess.state.state, guess.status.residual)
                at.path, at.bend = guess.state.path, guess.state.bend
                linear = guess.state.linearisation
                known = linear and linear.plain
                if known and guess.load.like(self.load):
                    at.linear = linear
                return at
            near = (guess.state.problem, guess.state.state)
        moved = None if kept else self.projected(driven)
        if moved is not None:
            driven, actuation = moved, actuation_of(self.drives, moved, self.limits)
        outcome = self.equilibrium.solve(Problem(actuation, self.load), model.rest, near)
        residual = outcome.residual if outcome.converged else math.inf
        return InverseState(driven, outcome.state, residual)

    def without_limits(self: Kind) -> Kind:
        """Return the same problem for actuators that have no limits."""
        free = amended(self)
        free.low = np.where(self.pulling, 0.0, -np.inf)  # no tendon pushes
        free.high = np.full_like(self.high, np.inf)
        free.least, free.most = free.low + (self.least - self.low), free.high
        free.limited = False
        free.coupled = []
        return free

    def aimed_at(
        self: Kind, target: Target, of: tuple[Equilibrium, LoadCase] | None = None
    ) -> Kind:
        """Return the same problem for another target, and perhaps load on the same places."""
        other = amended(self, target=target)
        if of is not None:
            other.equilibrium, other.load = of
            other._loaded = other.equilibrium.loaded(other.load)
        return other

    def actuation(self, at: InverseState) -> Array:
        """Return the actuation (m,) of driven values within the limits."""
        return actuation_of(self.drives, at.driven, self.limits)

    def outcome(self, at: InverseState, spent: int) -> tuple[Array, Outcome]:
        """Return actuation and solution of a point that is in balance."""
        solved = at.residual <= self.equilibrium.tolerance
        return self.actuation(at), Outcome(solved, at.state, spent, at.residual)

    def direct(self, start: InverseState) -> tuple[int, Direct | None]:
        """Solve in one kernel; with its steps None where it does not end well, or limits hold."""
        layout = self.layout
        if not in_one_kernel(layout, self.target):
            return 0, None
        tangent, linear, path = self.equilibrium.tangent_work(), start.linear, start.path
        driven, state = start.driven.copy(), layout.start_from(start.state)
        path = copy_path(self._path if path is None else path)
        aim = self._aim(tangent is not None, linear is not None, path, start.bend)
        x = copied(linear.inputs, *layout.driven) if linear else self.inputs(driven)
        work, old = self.equilibrium.scratch
        w = tangent or work
        near, lock = (linear.work, linear.lock) if linear else (w, UNLOCKED)
        with lock:
            if linear and not self._straight:  # for this of what is driven, not of the actuation
                x.map_gain[:] = 1.0
                near.columns[:] = linear.columns / self._gains(linear.inputs.map_gain)
            outcome, steps, error, away, turn, *found = solve(
                layout.structure, x, state, old, w, near, aim, driven
            )
            if linear and not self._straight:
                near.columns[:] = linear.columns
        at = InverseState(driven, state, error, (away, turn), steps, path=path, bend=start.bend)
        if outcome != CONVERGED or not self.within(at):
            return steps, None
        held = Problem(self.actuation(at), self.load)
        self.equilibrium.keep(held, x)  # the kernel has let them follow
        if not self._straight:
            x.map_gain[:] = driven_values(self.drives, held.actuation)[1]
            if tangent:
                gains = self._gains(x.map_gain)
                tangent.columns[:] *= gains
                tangent.effort[:] *= gains[:, None]
                tangent.effort[:, -1 - len(gains) : -1] *= gains
        left = None if tangent is None else (tangent, (error, *found))
        return steps, (at, held, Outcome(True, state, steps, error, left))

    def _gains(self, gain: Array) -> Array:
        """Return the slopes (m,) of what is driven by the actuators, from those of all drives."""
        out = np.ones(self.layout.actuators)
        out[self.layout.structure.map_index[:, 0]] = gain
        return out

    def _aim(self, tangent: bool, known: bool, path: PathMemory, bend: Array | None) -> Aim:
        target = self.target.finer
        limits = (self.equilibrium.tolerance, *target.tolerances)
        pose, body = np.ascontiguousarray(target.pose), self.layout.tip_body
        bend = NO_BEND if bend is None else bend
        task = target.size, body, pose, self.range, self.energy, self.middle, bend
        return Aim(MAX_DIRECT, limits, GROWTH, NEARLY, tangent, known, *task, path, LANES)

    def inputs(self, driven: Array) -> Inputs:
        """Return the kernels' inputs; driven values have slope one."""
        by, offset = self.layout.driven_by
        return lay.drive(self.layout, self._loaded, driven[by] + offset)

    def lacking(self, state: State) -> Array:
        """Return what the task lacks, as `task_error` of the tip does."""
        return task_error(state.body[self.layout.tip_body], self.target)

    def equivalent(self, state: State) -> Array:
        """Return the pose that serves the task as well as the target, with the least turn."""
        target = self.target.pose
        if self.target.task is not Task.POSITION_AND_AXIS:
            return target
        tip = state.body[self.layout.tip_body]
        pose = target.copy()
        pose[:3, :3] = lie.so3_exp(axis_turn(tip, target)) @ tip[:3, :3]
        return pose

    def solve(self, start: InverseState) -> InverseState:
        """Run Newton on equilibrium and task together, from a start."""
        linear = start.linear if self._straight else None
        at = InverseState(start.driven, start.state, linear=linear, bend=start.bend)
        s = self.layout.structure
        best, part, lowest, since = math.inf, 1.0, math.inf, 0
        da = before = np.zeros_like(at.driven)
        size = before_that = TINY
        for step in range(MAX_STEPS + 1):
            last = step > 1 and best < NEARLY  # likely: then no tangent is asked for
            if last:
                x, (work, _) = self.inputs(at.driven), self.equilibrium.scratch
                at.residual = float(evaluate(s, x, at.state, work, False, False, LANES))
            else:
                at.residual = self.linearise(at).error
            lacking = self.lacking(at.state)
            at.task_error, at.steps = sizes(lacking), step
            still = step > 0 and size * min(1.0, size / before_that) < SETTLED
            if self.reached(at) and (still or not self.redundant):
                return at
            merit = max(at.residual, at.task_error[0] / s.scale[0], at.task_error[1])
            if merit < PROGRESS * lowest:
                lowest, since = merit, step
            elif step - since > MAX_IDLE:
                return at
            if step > 0 and not merit <= max(GROWTH * best, NEARLY):
                if part < MIN_PART:
                    return at
                part *= 0.5
            else:
                linear = self.linearise(at)
                with linear.lock:  # it may be that of the guess, which others use too
                    wanted = None if linear.singular else self._step(at, lacking)
                if wanted is None:
                    return at
                da, base, best, before = wanted, linear, merit, at.driven
                bodies = -self._response @ np.append(da, 1.0)
                before_that, size = size, max(float(np.abs(da / self.range).max()), TINY)
                part = min(1.0, STEP_RANGE / size)
            state, part = base.moved(da, bodies, part, 1.0)
            if not part > 0.0:
                return at
            at = replace(at, driven=before + part * da, state=state, linear=None)
        return at

    def linearise(self, at: InverseState) -> Linearisation:
        """Return the network linearised at a point, and work with it from now on."""
        if at.linear is None:
            x = self.inputs(at.driven)
            at.linear = Linearisation(self.layout, x, at.state, exact=False)
        self.work = at.linear.work
        return at.linear

    def nearest(self, start: InverseState) -> InverseState:
        """Go as near to the target as limits and the robot allow; every iterate is in balance.

        Newton on the actuators with the limits as bounds of every step, damped, with the curvature
        of what is left (`learn_bend`); until no step promises anything: a minimum of the distance.
        """
        at = self._settle(start.driven, start.state)
        if at is None:
            start.residual = math.inf  # in balance under other loads perhaps, not under these
            return start
        spent, damping, idle, failed = at.steps, 1e-3, 0, False
        error, bend = self.distance(at), np.zeros((len(self.range),) * 2)
        tangent = self._tangent(at)
        while tangent is not None and spent < MAX_NEAREST and idle < MAX_CREEPING:
            step = self._nearest_step(at, tangent, damping, bend)
            if step is None or damping > MAX_DAMPING:
                break
            ahead = tangent[0] @ step
            promise = (2.0 * tangent[1] - ahead) @ ahead - step @ bend @ step
            share = float(promise) / max(error**2, TINY)
            nearer = 1.0 - math.sqrt(max(1.0 - share, 0.0))
            miss = self.target.miss(at.task_error)
            # A step that is damped more promises less than there is.
            end = not failed and damping <= 1e-3 and self.target.hopeless(miss, nearer)
            if end or abs(share) < PROMISE or np.abs(step).max() < STALLED:
                break
            goal = self.projected(at.driven + step * self.range)
            trial = None
            if goal is not None:
                trial = self._settle(goal, self.follow(at, goal - at.driven, 1.0))
            spent += 1 if trial is None else trial.steps + 1
            value = math.inf if trial is None else self.distance(trial)
            if trial is None or not value < error:
                damping, failed = 8.0 * damping, True
                continue
            moved, before = (trial.driven - at.driven) / self.range, tangent[0]
            idle = 0 if self.limited or value < CREEPING * error else idle + 1
            at, error, tangent = trial, value, self._tangent(trial)
            damping, failed = damping if failed else max(damping / 4.0, 1e-9), False
            if tangent is not None:
                learn_bend(bend, moved, tangent[0], before, tangent[1])
        at.steps, at.settled = spent, False
        return at

    def _settle(self, driven: Array, state: State, *how: Any) -> InverseState | None:
        """Solve the equilibrium with the actuators held; None where there is none nearby."""
        outcome = self.equilibrium.newton(self.inputs(driven), state, *how)
        if not outcome.converged:
            return None
        missing, steps = sizes(self.lacking(outcome.state)), outcome.iterations
        return InverseState(driven, outcome.state, outcome.residual, missing, steps)

    def distance(self, at: InverseState) -> float:
        """Return how far a point is from its target, in lengths of the robot and [rad]."""
        return float(np.linalg.norm(self.lacking(at.state) * self._unit))

    def _tangent(self, at: InverseState) -> tuple[Array, Array] | None:
        """Return J and what is missing, both scaled; None where nothing is to be followed."""
        try:
            linear, lacking = self.linearise(at), self.lacking(at.state)
            return None if linear.singular else self._task(at, lacking)[:2]
        except np.linalg.LinAlgError:
            return None

    def _nearest_step(
        self, at: InverseState, tangent: tuple[Array, Array], damping: float, bend: Array
    ) -> Array | None:
        self.measure(at)
        m, squared = len(self.range), tangent[0].T @ tangent[0]
        h = convex(squared + bend) + damping * float(np.trace(squared)) * np.eye(m)
        c, low, high = self.bounds(at.driven)
        # without limits no step is longer than the ranges either
        low[:m], high[:m] = np.maximum(low[:m], -1.0), np.minimum(high[:m], 1.0)
        status, y, _ = solve_qp(h, -tangent[0].T @ tangent[1], c, low, high)
        return y if status == OPTIMAL else None

    @property
    def redundant(self) -> bool:
        """Whether the task leaves actuators to choose."""
        return len(self.range) > self.target.size

    @property
    def _unit(self) -> Array:
        length = float(self.layout.structure.scale[0])
        return np.array([1.0 / length] * 3 + [1.0] * 3)[: self.target.size]

    def reached(self, at: InverseState) -> bool:
        """Whether the equilibrium is solved and the target met."""
        errors = zip(at.task_error, self.target.tolerances, strict=True)
        return at.residual <= self.equilibrium.tolerance and all(e <= t for e, t in errors)

    def stands(self, at: InverseState) -> bool:
        """Whether a solution is stable."""
        return math.isfinite(at.residual) and self.linearise(at).stable

    def rested(self, at: InverseState) -> InverseState | None:
        """Return where the robot comes to rest from an unstable point, None where it does not."""
        if not math.isfinite(at.residual) or self.layout.holds_tendons:
            return None
        for side in (1.0, -1.0):
            x = self.inputs(at.driven)
            state = release(self.layout, x, at.state, self.equilibrium.tolerance, side)
            found = None if state is None else self._settle(at.driven, state)
            if found is not None:
                return found
        return None

    def measure(self, at: InverseState) -> None:
        """Prepare `bounds` for what limits depend on beside the driven values."""

    def follow(self, at: InverseState, da: Array, one: float) -> State:
        """Go a step of the actuators, to first order, after `_task`; `work` has every step."""
        return self.linearise(at).moved(da, -self._response @ np.append(da, one), 1.0, one)[0]

    def _task(self, at: InverseState, lacking: Array) -> tuple[Array, Array, Array]:
        """Return J and what is missing, both scaled, and K^-1 (P, r)."""
        linear, tip = self.linearise(at), self.layout.tip_body
        both = np.column_stack([linear.columns, linear.vector])
        self._response = follow = np.linalg.solve(linear.matrix, both)
        motion = linear.axes(tip) @ follow[6 * tip - 6 : 6 * tip]
        rows = task_rows(at.state.body[tip], self.target.task, motion) * self._unit[:, None]
        missing = lacking * self._unit + rows[:, -1]
        return -rows[:, :-1] * self.range, missing, np.asarray(follow)

    def _step(self, at: InverseState, lacking: Array) -> Array | None:
        """Return the change of the driven values."""
        try:
            jacobian, missing, _ = self._task(at, lacking)
            if len(self.range) < self.target.size:  # all of the task where it can be met
                near: Array = np.asarray(np.linalg.lstsq(jacobian, missing, rcond=None)[0], float)
                left = float(np.linalg.norm(missing - jacobian @ near))
                return near * self.range if left < LEFT * float(np.linalg.norm(missing)) else None
            return np.linalg.solve(jacobian, missing) * self.range
        except np.linalg.LinAlgError:  # also of numbers that have grown beyond all bounds
            return None

    def within(self, at: InverseState) -> bool:
        """Whether a point keeps every limit."""
        return self.allowed(at.driven)

    def touched(self, at: InverseState) -> tuple[str, ...]:
        """Name the limits that a point has reached or passed."""
        names = [a.name for a in self.description.actuators]
        names += [limit.name for limit in self.coupled]
        _, low, high = DrivenLimits.bounds(self, at.driven)
        near = (low >= -TOUCHING) | (high <= TOUCHING)
        return tuple(name for name, close in zip(names, near, strict=True) if close)


def in_one_kernel(layout: lay.Layout, target: Target) -> bool:
    """Whether `InverseProblem.direct` can solve for a target."""
    slow = layout.spec.incompressible or layout.spec.bundles
    enough = target.size <= layout.actuators <= MAX_ACTUATORS
    return enough and not slow and layout.kinds.isdisjoint(TENDONS)
