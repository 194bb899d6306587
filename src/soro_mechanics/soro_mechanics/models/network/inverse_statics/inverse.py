# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse statics of a network: the target at once, else step by step, else the nearest pose."""

from __future__ import annotations

from dataclasses import replace
import math
import time

import numpy as np

from soro_mechanics.core.configuration import (
    Configuration,
    Guess,
    InverseSolution,
    LoadCase,
    Target,
)
from soro_mechanics.core.status import Code
from soro_mechanics.inverse.task_error import miss_sentence, sizes
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.models.network.inverse_statics.inverse_problem import InverseState, NEARLY
from soro_mechanics.models.network.inverse_statics.least_energy import LeastEnergy, NEAR
from soro_mechanics.models.network.tendon.inverse import TendonInverse
from soro_mechanics.numerics import lie

MIN_PART = 1.0 / 32.0  # of the way to the target


def solve_inverse(
    model: ForwardNetwork, target: Target, load: LoadCase, guess: Guess
) -> InverseSolution:
    """Find the actuation for a target; see `Model.inverse`."""
    start_time = time.perf_counter()
    equilibrium, problem = _problem(model, target, load)
    best = problem.start(model, guess)
    spent, near = problem.direct(best) if math.isfinite(best.residual) else (0, None)
    if near is not None:
        at, held, outcome = near
        q = model.configuration(equilibrium, held, outcome, start_time)
        if q.status.code is Code.NONE:
            q.state.path, q.state.bend = at.path, problem.learned(at)
            return InverseSolution(q.actuation, q, *at.task_error, (), q.status)
    if math.isfinite(best.residual) and problem.within(best):
        best, steps = _approach(problem, best, spent > 0)
        spent += steps
    if guess is not None and not math.isfinite(best.residual):  # led astray
        found = solve_inverse(model, target, load, None)
        spent += found.status.iterations
        return replace(found, status=replace(found.status, iterations=spent))
    return _solved(model, problem, best, spent, start_time)


def explained(
    model: ForwardNetwork, target: Target, load: LoadCase, short: InverseSolution
) -> InverseSolution:
    """Say why a target is missed: AT_LIMIT where it is met without limits, else UNREACHABLE."""
    start_time = time.perf_counter() - short.status.solve_time
    _, problem = _problem(model, target, load)
    best = problem.start(model, short.configuration)
    best.task_error = short.position_error, short.orientation_error
    beyond, spent = _approach(problem.without_limits(), best)
    spent += short.status.iterations
    if problem.reached(beyond) and problem.within(beyond):
        return _solved(model, problem, beyond, spent, start_time)
    at_limit, code = problem.touched(best), Code.UNREACHABLE
    why = 'no actuation near reaches it, limits or not'
    if problem.reached(beyond):
        at_limit = at_limit or problem.touched(beyond)
        code, why = Code.AT_LIMIT, 'reachable only beyond the limits of ' + ', '.join(at_limit)
    message = f'{why}; {miss_sentence(best.task_error)}'
    seconds = time.perf_counter() - start_time
    status = replace(
        short.status, code=code, message=message, iterations=spent, solve_time=seconds
    )
    return replace(short, at_limit=at_limit, status=status, unexplained=False)


def _problem(
    model: ForwardNetwork, target: Target, load: LoadCase
) -> tuple[Equilibrium, LeastEnergy]:
    """Return the equilibrium that a load acts on, and its problem with a target."""
    equilibrium = model.equilibrium(load.loads)
    if equilibrium.posed is None:
        kind = TendonInverse if equilibrium.layout.holds_tendons else LeastEnergy
        equilibrium.posed = kind(model, load, target)
    return equilibrium, equilibrium.posed.aimed_at(target, (equilibrium, load))


def _solved(
    model: ForwardNetwork, problem: LeastEnergy, best: InverseState, spent: int, start: float
) -> InverseSolution:
    """Return the solution that the best point is, nearer to the target where that is possible."""

    def configuration(at: InverseState) -> Configuration:
        actuation, outcome = problem.outcome(at, spent + at.steps - best.steps)
        held = Problem(actuation, problem.load)
        return model.configuration(problem.equilibrium, held, outcome, start)

    found = _refined(problem, best)
    q = configuration(found)
    if found is not best and q.status.code is not Code.NONE:  # unstable there, perhaps
        found, q = best, configuration(best)
    if q.state is not None:
        q.state.bend = problem.learned(found)
    return _described(problem, q, found, start)


def _refined(problem: LeastEnergy, best: InverseState) -> InverseState:
    """Go on from where the caller's tolerances are met; return it where nothing is nearer."""
    if not problem.reached(best):
        return best
    finer = problem.aimed_at(problem.target.finer)
    if finer.reached(best):
        return best
    found = finer.solve(best)
    if not finer.reached(found) or not problem.within(found):
        found = replace(problem.nearest(replace(best)), settled=best.settled)
    found.steps += best.steps
    kept = problem.reached(found) and problem.within(found)
    return found if kept else best


def _approach(
    problem: LeastEnergy, start: InverseState, tried: bool = False
) -> tuple[InverseState, int]:
    """Go to the target at once, else step by step, else to the nearest pose.

    Where there is a choice, from the least energy; `tried`: not at once from the start.
    """
    found, spent, first = start, 0, start
    met = problem.target.miss(sizes(problem.lacking(start.state))) < 1.0
    if not (tried and problem.redundant):
        found = problem.solve(start)
        spent = found.steps
    again = 2 if problem.distance(start) < NEARLY else 1  # farther targets may be out of reach
    for near_enough in NEAR[:again] if problem.redundant and problem.limited else ():
        if problem.reached(found):
            break
        start = problem.down(start, near_enough)
        spent += start.steps
        if tried or start.driven is not first.driven:
            found = problem.solve(start)
            spent += found.steps
    there = problem.reached(found) and problem.within(found)
    if there and (not problem.redundant or problem.stands(found)):
        return found, spent
    near = _nearest(problem, first)  # by the least change: mostly it is the target
    spent += near.steps
    if problem.reached(near) and (not there or problem.stands(near)):
        return _lowered(problem, near, spent)
    if there:
        return found, spent
    good, at, part = start, 0.0, 0.5
    tip = start.state.body[problem.layout.tip_body]
    way = lie.se3_log(np.linalg.inv(tip) @ problem.equivalent(start.state))
    while at < 1.0 and part >= MIN_PART and not met:  # else there is no way to go
        goal = min(1.0, at + part)
        part_way = problem.target._replace(pose=tip @ lie.se3_exp(goal * way))
        good.bend = None  # of another place, mostly
        found = (problem if goal == 1.0 else problem.aimed_at(part_way)).solve(good)
        spent += found.steps
        if problem.reached(found) and problem.within(found):
            part, good, at = 2.0 * (goal - at), found, goal
        else:
            part = 0.5 * (goal - at)
    if at >= 1.0:
        return good, spent
    if good is start:  # from there it has been sought
        return near, spent
    found = _nearest(problem, good)
    spent += found.steps
    if problem.reached(found):
        return _lowered(problem, found, spent)
    return near if met else found, spent


def _nearest(problem: LeastEnergy, start: InverseState) -> InverseState:
    """Go to the nearest pose; where no robot would stay, on from where it would come to rest."""
    near = problem.nearest(replace(start))
    rested = None if problem.stands(near) else problem.rested(near)
    if rested is not None:
        found = problem.nearest(rested)
        found.steps += near.steps
        if problem.reached(found) or problem.distance(found) < problem.distance(near):
            return found
    return near


def _lowered(problem: LeastEnergy, found: InverseState, spent: int) -> tuple[InverseState, int]:
    """Go from a point on the target to the least energy where there is a choice."""
    if not (problem.redundant and problem.limited):
        return found, spent
    start = problem.down(found)
    least = problem.solve(start)
    good = problem.reached(least) and problem.within(least)
    good = good and (problem.stands(least) or not problem.stands(found))
    return least if good else found, spent + start.steps + least.steps


def _described(
    problem: LeastEnergy, q: Configuration, best: InverseState, start: float
) -> InverseSolution:
    """Say what the best point means; a miss is not explained."""
    code, message = q.status.code, q.status.message
    if not q.status.converged or not math.isfinite(best.residual):
        code, message = Code.NOT_CONVERGED, 'no equilibrium found on the way to the target'
    elif not problem.within(best):
        code, message = Code.AT_LIMIT, 'the limits of this robot contradict each other'
    elif not problem.reached(best):
        code, message = Code.UNREACHABLE, ''
    elif problem.redundant and not (best.settled or message):
        message = 'another actuation may meet the target with less energy'
    at_limit = problem.touched(best) if code in (Code.NOT_CONVERGED, Code.AT_LIMIT) else ()
    status = replace(q.status, code=code, message=message, solve_time=time.perf_counter() - start)
    q = replace(q, status=replace(q.status, solve_time=status.solve_time))
    missed = code is Code.UNREACHABLE
    return InverseSolution(q.actuation, q, *best.task_error, at_limit, status, missed)
