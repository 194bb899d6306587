# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of any model: sequential quadratic programming on its forward and Jacobian.

Unknowns are the actuations in units of their range, limits and coupled limits are rows of every
quadratic program (`inverse_steps`). A target that is not met is tried again without limits, which
tells "reachable only beyond the limits" (AT_LIMIT) from "unreachable" (UNREACHABLE).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import time
from typing import Protocol

import numpy as np

from soro_mechanics.core.actuation_limits import Limits, limits_of
from soro_mechanics.core.configuration import Array, Configuration, InverseSolution, Load, Task
from soro_mechanics.core.search_tolerances import aims_of
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.inverse.steps import approach_step, inside, landing_step, nearest_allowed
from soro_mechanics.numerics.lie_kernels import so3_log
from soro_mechanics.robot_file.reader import RobotDescription

ITERATIONS = 60
TRUST = 0.5  # first step, in ranges of the actuators
MIN_TRUST = 1e-11  # below it no step is left to try
STATIONARY = 1e-7  # an approach step that promises less (relative) than this cannot be improved
SETTLED = 1e-4  # least energy is reached when the step is below this part of the range
SECANT_BELOW = 0.1  # a step that leaves less than this of the residual earns a secant update
REFINING = 8  # iterations at most from the caller's tolerances to the default ones


class Searched(Protocol):
    """What the search needs of a `Model`."""

    description: RobotDescription

    def forward(
        self,
        actuation: Array,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: Configuration | None,
    ) -> Configuration:
        """Solve the equilibrium."""

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, m): tip twist per actuation unit."""


@dataclass(frozen=True)
class Point:
    """One actuation tried: its configuration and the task's residual in units of tolerance."""

    z: Array
    q: Configuration
    residual: Array
    position_error: float
    orientation_error: float
    met: bool
    rows: Array | None = None  # of the task there, as far as steps have shown them (`_secant`)

    @property
    def size(self) -> float:
        """Norm of the residual."""
        return float(np.linalg.norm(self.residual))

    def judged(self, tolerances: tuple[float, float]) -> Point:
        """Return the same point, met or not by these tolerances [m], [rad]."""
        met = self.position_error <= tolerances[0] and self.orientation_error <= tolerances[1]
        return replace(self, met=met and self.q.status.converged)


@dataclass(frozen=True)
class Goal:
    """Target pose, what of it counts, and how well."""

    target: Array
    task: Task
    tolerances: tuple[float, float]

    def residual(self, tip: Array) -> tuple[Array, float, float]:
        """Return what is missing in units of tolerance, and the two errors [m], [rad]."""
        position = self.target[:3, 3] - tip[:3, 3]
        distance = float(np.linalg.norm(position))
        if self.task is Task.POSITION:
            return position / self.tolerances[0], distance, 0.0
        turn = self._turn(tip)
        angle = float(np.linalg.norm(turn))
        if self.task is Task.POSITION_AND_AXIS:
            turn = (tip[:3, :3].T @ turn)[:2]
        return (
            np.concatenate([position / self.tolerances[0], turn / self.tolerances[1]]),
            distance,
            angle,
        )

    def rows(self, jacobian: Array, tip: Array) -> Array:
        """Return the task's rows of a Jacobian, in units of tolerance."""
        linear = jacobian[:3] / self.tolerances[0]
        if self.task is Task.POSITION:
            return linear
        angular = jacobian[3:] / self.tolerances[1]
        if self.task is Task.POSITION_AND_AXIS:
            angular = (tip[:3, :3].T @ angular)[:2]
        return np.concatenate([linear, angular])

    def _turn(self, tip: Array) -> Array:
        """Return the rotation still to do, base axes [rad]."""
        if self.task is Task.POSE:
            turn = np.empty(3)
            so3_log(np.ascontiguousarray(self.target[:3, :3] @ tip[:3, :3].T), turn)
            return turn
        return axis_turn(tip, self.target)


def axis_turn(tip: Array, target: Array) -> Array:
    """Return the shortest turn of a tip's z axis to a target's, shape (3,) [rad], base axes."""
    now, wanted = tip[:3, 2], target[:3, 2]
    axis = np.cross(now, wanted)
    sine = float(np.linalg.norm(axis))
    angle = float(np.arctan2(sine, now @ wanted))
    if sine == 0.0:  # any perpendicular axis serves when the direction is opposite
        return angle * tip[:3, 0]
    return np.asarray(axis * (angle / sine))


def solve_inverse(
    model: Searched,
    target: Array,
    task: Task,
    wrench: Array,
    loads: tuple[Load, ...],
    gravity: Array,
    guess: Configuration | None,
    tolerances: tuple[float, float],
) -> InverseSolution:
    """Find the actuation for a target; see `Robot.inverse`.

    Parameters
    ----------
    model : Searched
        Any model: only its `forward` and `jacobian` are used.
    target : ndarray, shape (4, 4)
        In base_link.
    guess : Configuration, optional
        Where to start; the actuators' rest otherwise.

    Returns
    -------
    InverseSolution
        NONE: met within the tolerances, at the least actuator energy (distance from rest in units
        of the ranges) of the solutions near the start. AT_LIMIT: reachable only beyond the limits
        in `at_limit`. UNREACHABLE: not even without limits. Both give the nearest pose found, by
        the norm of the error in units of tolerance. NOT_CONVERGED: neither can be said.
        Tolerances wider than the default ones only judge: the search goes on to the default ones.
    """
    began = time.perf_counter()
    limits = limits_of(model.description)
    goal = Goal(target, task, tolerances)

    def solve(z: Array, near: Configuration | None) -> Point:
        q = model.forward(limits.actuation(z), wrench, loads, gravity, near)
        residual, distance, angle = goal.residual(q.tip)
        return Point(z, q, residual, distance, angle, False).judged(tolerances)

    wanted = limits.rest if guess is None else limits.scaled(guess.actuation)
    start = nearest_allowed(limits, wanted)
    if start is None:
        return _no_start(model, limits, solve, began)
    best, settled, count = _search(model, limits, goal, solve, solve(start, guess))
    for other in _other_starts(limits):
        if best.met:
            break
        found, well, used = _search(model, limits, goal, solve, solve(other, None))
        count += used
        solved = found.q.status.converged and not best.q.status.converged
        if found.met or solved or found.size < best.size:
            best, settled = found, well
    if best.met:
        best, used = _refined(model, limits, goal, solve, best)
        count += used
    return _conclude(model, limits, goal, solve, best, settled, count, began)


def _other_starts(limits: Limits) -> list[Array]:
    """Return where else to begin before a target counts as unreachable: the middle of all."""
    middle = nearest_allowed(limits, np.full(limits.rest.size, 0.4))
    return [] if middle is None else [middle]


def _search(
    model: Searched,
    limits: Limits,
    goal: Goal,
    solve: Callable[[Array, Configuration | None], Point],
    point: Point,
    iterations: int = ITERATIONS,
) -> tuple[Point, bool, int]:
    """Iterate from a point; return the best one, whether it is final, and the iterations."""
    size = point.z.size
    redundant = size > point.residual.size
    trust, penalty, curvature = TRUST, 0.0, np.eye(size)
    rows = point.rows
    exact = rows is None
    for count in range(1, iterations + 1):
        if not point.q.status.converged:
            return point, False, count
        if point.met and not redundant:
            return point, True, count
        if rows is None:
            rows = _task_rows(model, limits, goal, point)
        step, multiplier = landing_step(limits, rows, point.z, point.residual, trust, curvature)
        landing = step is not None and redundant
        if step is None:
            step = approach_step(limits, rows, point.z, point.residual, trust)
            left = float(np.linalg.norm(point.residual - rows @ step))
            promise = 1.0 - left / point.size if point.size > 0.0 else 0.0
            if promise <= STATIONARY and not exact:
                rows, exact = None, True
                continue
            if promise <= STATIONARY:
                return point, True, count
        elif redundant:
            penalty = max(penalty, 2.0 * float(np.linalg.norm(multiplier)))
            if point.met and np.abs(step).max() <= SETTLED:
                return point, True, count
        trial = solve(inside(limits, point.z + step), point.q)
        worth = penalty if landing else None
        if landing and not _better(trial, point, worth, limits):
            # A long step along the solutions leaves them: come back before judging it.
            back = np.linalg.lstsq(rows, trial.residual, rcond=None)[0]
            trial = solve(inside(limits, trial.z + back), trial.q)
        if _better(trial, point, worth, limits):
            moved = trial.z - point.z
            exact = redundant or trial.size > SECANT_BELOW * point.size
            if trial.met and not redundant:
                seen = _secant(rows, moved, trial.residual - point.residual)
                return replace(trial, rows=seen), True, count
            following = (
                _task_rows(model, limits, goal, trial)
                if exact
                else _secant(rows, moved, trial.residual - point.residual)
            )
            if landing:
                _learn(curvature, moved, moved - (following - rows).T @ multiplier)
            trust = max(trust, 2.0 * float(np.abs(step).max()))
            point, rows = trial, following
        elif not exact:
            rows, exact = None, True
        else:
            trust = 0.25 * float(np.abs(step).max())
            if trust < MIN_TRUST:
                return point, point.met, count
    return point, point.met, iterations


def _refined(
    model: Searched,
    limits: Limits,
    goal: Goal,
    solve: Callable[[Array, Configuration | None], Point],
    best: Point,
) -> tuple[Point, int]:
    """Go on from a point that is near enough for the caller; return the better one, iterations."""
    aims = aims_of(goal.tolerances)
    start = best.judged(aims)
    if start.met:
        return best, 0

    def closer(z: Array, near: Configuration | None) -> Point:
        return solve(z, near).judged(aims)

    found, _, used = _search(model, limits, goal, closer, start, REFINING)
    found = found.judged(goal.tolerances)
    as_good = found.met and found.q.status.code in (Code.NONE, best.q.status.code)
    return (found if as_good and found.size < best.size else best), used


def _task_rows(model: Searched, limits: Limits, goal: Goal, point: Point) -> Array:
    return goal.rows(model.jacobian(point.q), point.q.tip) * limits.scale


def _secant(rows: Array, moved: Array, change: Array) -> Array:
    """Update the task's rows by what a step has shown (Broyden): saves a Jacobian near the end."""
    return rows - np.outer(change + rows @ moved, moved) / (moved @ moved)


def _learn(curvature: Array, moved: Array, turned: Array) -> None:
    """Update the curvature of energy and task together (damped BFGS: stays positive definite)."""
    along = curvature @ moved
    size = float(moved @ along)
    if not size > 0.0:
        return
    if moved @ turned < 0.2 * size:
        share = 0.8 * size / (size - moved @ turned)
        turned = share * turned + (1.0 - share) * along
    curvature += np.outer(turned, turned) / (moved @ turned) - np.outer(along, along) / size


def _better(trial: Point, point: Point, penalty: float | None, limits: Limits) -> bool:
    """Compare by residual, or by energy and penalised residual where energy is still free."""
    if not trial.q.status.converged:
        return False
    if penalty is None:
        return trial.size < point.size
    energy = [0.5 * float(np.sum((p.z - limits.rest) ** 2)) for p in (trial, point)]
    return energy[0] + penalty * trial.size < energy[1] + penalty * point.size


def _conclude(
    model: Searched,
    limits: Limits,
    goal: Goal,
    solve: Callable[[Array, Configuration | None], Point],
    best: Point,
    settled: bool,
    count: int,
    began: float,
) -> InverseSolution:
    """Say what the best point means."""
    at_limit: tuple[str, ...] = ()
    code, message = Code.NONE, ''
    if not best.q.status.converged:
        code, message = Code.NOT_CONVERGED, f'no equilibrium: {best.q.status.message}'
    elif not best.met:
        beyond, well, used = _search(model, limits.without(), goal, solve, best)
        count += used
        at_limit = limits.touching(best.z)
        if beyond.met and limits.kept(beyond.z):
            best, used = _refined(model, limits, goal, solve, beyond)
            count, at_limit = count + used, ()
        elif beyond.met and settled:
            code = Code.AT_LIMIT
            message = 'reachable only beyond the limits of ' + ', '.join(at_limit)
        elif settled and (well or beyond.q.status.converged):
            code, message = Code.UNREACHABLE, 'no actuation near reaches the target, limits or not'
        else:
            code, message = Code.NOT_CONVERGED, 'the search stopped before it could decide'
    if best.met and best.q.status.code is Code.UNSTABLE:
        code, message = Code.UNSTABLE, 'the equilibrium that meets the target is unstable'
    elif best.met and best.q.status.code is not Code.NONE:
        code, message = best.q.status.code, best.q.status.message
    inner = best.q.status
    status = replace(
        inner,
        code=code,
        message=message or inner.message,
        iterations=count,
        solve_time=time.perf_counter() - began,
    )
    q = replace(best.q, status=replace(inner, solve_time=status.solve_time))
    return InverseSolution(
        limits.actuation(best.z),
        q,
        best.position_error,
        best.orientation_error,
        at_limit,
        status,
    )


def _no_start(
    model: Searched,
    limits: Limits,
    solve: Callable[[Array, Configuration | None], Point],
    began: float,
) -> InverseSolution:
    point = solve(limits.rest, None)
    names = tuple(c.name for c in model.description.coupled_limits)
    status = SolverStatus(
        Code.AT_LIMIT,
        'the limits of this robot contradict each other',
        0,
        point.q.status.residual,
        point.q.status.tolerance,
        time.perf_counter() - began,
    )
    return InverseSolution(
        point.q.actuation, point.q, point.position_error, point.orientation_error, names, status
    )
