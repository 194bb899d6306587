# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse statics of a network: the target at once, else step by step, else the nearest pose."""

from __future__ import annotations

from dataclasses import replace
import math
import time
from typing import TYPE_CHECKING

import numpy as np

from soro_mechanics import lie
from soro_mechanics.configuration import Array, Configuration, InverseSolution, Load, Task
from soro_mechanics.network.drive_values import actuation_of, driven_ranges
from soro_mechanics.network.equilibrium import Equilibrium, Outcome, Problem
from soro_mechanics.network.inverse_problem import InverseProblem, Reach
from soro_mechanics.status import Code

if TYPE_CHECKING:
    from soro_mechanics.network.model import Network

SHORTEST_PART = 1.0 / 32.0  # of the way to the target


def solve_inverse(
    model: Network,
    target: Array,
    task: Task,
    wrench: Array,
    loads: tuple[Load, ...],
    gravity: Array,
    guess: Configuration | None,
    tolerances: tuple[float, float],
) -> InverseSolution:
    """Find the actuation for a target; see `Model.inverse`."""
    start_time = time.perf_counter()
    equilibrium = model.equilibrium(loads)
    problem = InverseProblem(model, equilibrium, (wrench, loads, gravity), task, tolerances)
    start = _start(model, equilibrium, problem, (wrench, loads, gravity), guess)
    best = start
    spent = 0
    if math.isfinite(start.residual):
        best, spent = _approach(problem, start, target)
    limits = np.array([[a.minimum, a.maximum] for a in model.description.actuators])
    actuation = actuation_of(equilibrium.layout, best.driven, limits)
    held = Problem(actuation, wrench, loads, gravity)
    outcome = Outcome(
        best.residual <= equilibrium.tolerance, best.state, spent + best.steps, best.residual
    )
    q = model.configuration(equilibrium, held, outcome, start_time)
    return _describe(model, problem, q, best, start_time)


def _approach(problem: InverseProblem, start: Reach, target: Array) -> tuple[Reach, int]:
    """Go to the target at once, else step by step, else to the nearest pose."""
    found = problem.solve(start, target)
    spent = found.steps
    if problem.reached(found) and problem.within(found):
        return found, spent
    good, at, part = start, 0.0, 0.5
    tip = start.state.body[problem.layout.tip_body]
    way = lie.se3_log(np.linalg.inv(tip) @ target)
    while at < 1.0 and part >= SHORTEST_PART:
        goal = min(1.0, at + part)
        pose = target if goal == 1.0 else tip @ lie.se3_exp(goal * way)
        found = problem.solve(good, pose)
        spent += found.steps
        if problem.reached(found) and problem.within(found):
            good, at = found, goal
            part *= 2.0
        else:
            part *= 0.5
    if at >= 1.0:
        return good, spent
    found = problem.nearest(good, target)
    return found, spent + found.steps


def _start(
    model: Network,
    equilibrium: Equilibrium,
    problem: InverseProblem,
    loading: tuple[Array, tuple[Load, ...], Array],
    guess: Configuration | None,
) -> Reach:
    if guess is not None and guess.state.equilibrium is equilibrium:
        driven = driven_ranges(equilibrium.layout, guess.actuation)
        return Reach(driven, guess.state.state, guess.status.residual)
    actuation = model.rest if guess is None else guess.actuation
    outcome = equilibrium.solve(Problem(actuation, *loading), model.rest, None)
    driven = driven_ranges(equilibrium.layout, actuation)
    return Reach(driven, outcome.state, outcome.residual if outcome.converged else math.inf)


def _describe(
    model: Network, problem: InverseProblem, q: Configuration, best: Reach, start: float
) -> InverseSolution:
    names = model.description.actuators
    slack = 1e-6 * problem.range
    at_limit = [
        a.name
        for i, a in enumerate(names)
        if best.driven[i] <= problem.low[i] + slack[i]
        or best.driven[i] >= problem.high[i] - slack[i]
    ]
    for limit in problem.coupled:
        if limit.coefficients @ best.driven >= limit.maximum * (1.0 - 1e-6):
            at_limit.append(limit.name)
    code, message = q.status.code, q.status.message
    if not q.status.converged or not math.isfinite(best.residual):
        code, message = Code.NOT_CONVERGED, 'no equilibrium found on the way to the target'
    elif not problem.reached(best):
        code = Code.AT_LIMIT if at_limit else Code.UNREACHABLE
        why = 'limits stop ' + ', '.join(at_limit) if at_limit else 'the robot does not reach it'
        message = (
            f'{why}; the nearest pose misses by {best.lacking[0] * 1e3:.3g} mm, '
            f'{math.degrees(best.lacking[1]):.3g} deg'
        )
    status = replace(q.status, code=code, message=message, solve_time=time.perf_counter() - start)
    q = replace(q, status=replace(q.status, solve_time=status.solve_time))
    return InverseSolution(
        q.actuation, q, best.lacking[0], best.lacking[1], tuple(at_limit), status
    )
