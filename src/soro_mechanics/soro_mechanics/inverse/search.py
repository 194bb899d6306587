# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse kinematics of any model: sequential quadratic programming on its forward and Jacobian.

Unknowns are the actuations in units of their range, limits are rows of every quadratic program
(`steps`). A target not met is tried without limits: AT_LIMIT if that helps, else UNREACHABLE.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math
import time
from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.core.actuation_limits import Limits
from soro_mechanics.core.configuration import (
    amended,
    Array,
    Configuration,
    Guess,
    InverseSolution,
    LoadCase,
    SAME_END,
    Target,
    Task,
)
from soro_mechanics.core.status import Code
from soro_mechanics.inverse import steps
from soro_mechanics.inverse.steps import Factored, factored, flat, inside, nearest_allowed
from soro_mechanics.inverse.task_error import miss_sentence
from soro_mechanics.inverse.task_kernels import scaled_rows, secant, task_error
from soro_mechanics.numerics.dense_kernels import largest_part

TRUST = 0.5  # first step, in ranges of the actuators
# Of a search most iterations, and the trust below which no step is left to try: within the limits,
# and to see what is beyond them.
ITERATIONS, MIN_TRUST, BEYOND = 60, 1e-11, (20, 1e-3)
STATIONARY = 1e-7  # an approach step that promises less (relative) than this cannot be improved
SETTLED = 1e-4  # least energy is reached when the step is below this part of the range
MAX_IDLE = 15  # iterations without PROGRESS of the residual: it creeps to where it will not be met
PROGRESS = 0.7
FAR = 100.0  # tolerances: nearer than that a search may creep
REPEATED = 0.03  # of the ranges: as near to the end of another search, one goes the same way
CONTRACTION = 0.5  # of a step: a way back to the solutions that is longer will not find them
TRUSTED = 0.5  # of what a step promised: one that has brought less is no reason for longer ones
SECANT_BELOW = 0.1  # a step that leaves less than this of the residual earns a secant update
HOLD = 1e-3  # of the ranges: as far from where a model's step was exact, the next may use it
TINY = 1e-300
MAX_HOLD = 5e-3  # the same, of rows in steps of least energy, whose curvature has proved right
REFINING = 8, MIN_TRUST  # from the caller's tolerances to the default ones

_NONE = np.empty(0)


class Known(NamedTuple):
    """What the steps to a point have shown of the task there."""

    rows: Array | None = None
    exact: tuple[Array, Array] = _NONE, _NONE  # z where they were exact, and these rows
    curvature: Factored | None = None  # of energy and task together, likewise (`_learn`)
    slope: Array = _NONE  # of the energy, with how rows have changed that is not in these
    hold: float = 0.0  # of the ranges: as far from where rows were exact, the curvature is trusted


NOTHING = Known()


class Left(NamedTuple):
    """What a search leaves with its solution for the next one: the way on, solved and known."""

    model: Any  # whose solution it is (a `Model`: its module imports this one)
    asked: tuple[Task, tuple[float, float]]  # task and tolerances
    z: Array
    known: Known
    within: bool  # the limits, surely
    first: bool = False  # to be tried before a way of the model's own

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Stay behind when the solution crosses a wire."""
        return type(None), ()


@dataclass(slots=True, eq=False)
class Point:
    """One actuation tried: its configuration and what the task lacks, in units of tolerance."""

    z: Array
    q: Configuration
    residual: Array
    errors: tuple[float, float]
    met: bool
    size: float  # of the residual
    known: Known = NOTHING

    @property
    def stands(self) -> bool:
        """Whether the robot would stay there, on the target."""
        return self.met and self.q.status.code is Code.NONE


class Search:
    """One target of one model, and the iterations spent on it, `spent` of them before."""

    def __init__(self, model: Any, target: Target, load: LoadCase, spent: int = 0) -> None:
        self.model, self.target, self.load = model, target, load
        self._known, self._ends = target.known, target.ends  # of other searches
        self._limits, self._aim = model.limits, target  # what a point is judged by
        self._asked, self._size = (target.task, target.tolerances), target.size
        self._count, self._first = spent, False
        self._stands: Point | None = None  # on the target, stable, of the least energy so far
        self._began = time.perf_counter()

    def solve(self, guess: Guess) -> InverseSolution:
        """Find the actuation for a target of any model, from the guess or the actuators' rest.

        NONE: met within the tolerances, at the least actuator energy (distance from rest in units
        of the ranges) near the start that stable equilibria lead to. Else the nearest pose found,
        by the error in tolerances; `explained` says why. Wider tolerances than the default ones
        only judge.
        """
        limits = self._limits
        start = self._start(guess)
        if start is None:
            message = 'the limits of this robot contradict each other'
            rest, names = self._at(limits.rest, None), limits.names[limits.rest.size :]
            return self._solution(rest, Code.AT_LIMIT, message, names)
        best, settled = self._search(limits, start)
        redundant = start.z.size > self._size
        alone = not self.target.ends
        lost = not (best.stands or self._stands) and start.q.status.converged
        if guess is not None and redundant and alone and lost:
            # The way to less energy has led astray: there by the least change, then down.
            self._avoid(best, settled)
            found, _ = self._search(replace(limits, rest=start.z), replace(start, known=NOTHING))
            if found.met:
                best, settled = self._search(limits, replace(found, known=NOTHING))
        middle = None
        if alone and not best.met:
            middle = nearest_allowed(limits, np.full(limits.rest.size, 0.4))
        if middle is not None:  # before a target counts as unreachable
            self._avoid(best, settled)
            found, well = self._search(limits, self._at(middle, None))
            solved = found.q.status.converged and not best.q.status.converged
            if found.met or solved or found.size < best.size:
                best, settled = found, well
        if self._stands is not None and not best.stands:
            # No step to less energy gives up what stands on the target.
            best = replace(self._stands, known=NOTHING)
        if best.met:
            return self._solution(self._refined(best))
        if not best.q.status.converged:
            why = f'no equilibrium: {best.q.status.message}'
            return self._solution(best, Code.NOT_CONVERGED, why)
        code = Code.UNREACHABLE if settled else Code.NOT_CONVERGED
        return amended(self._solution(best, code), unexplained=True)

    def _avoid(self, end: Point, settled: bool) -> None:
        """Let the next search give up where it goes to the end of this one."""
        if settled:
            self._known, self._ends = end.size, (self._limits.actuation(end.z),)

    def follow(self, guess: Configuration) -> InverseSolution | None:
        """Return the solution next to a guess, None where a few steps do not lead to one."""
        start, self._first = self._start(guess), True
        if start is None:
            return None
        best, _ = self._search(self._limits, start, REFINING)
        found = self._solution(self._refined(best)) if best.met else None
        return found if found is not None and found.status.code is Code.NONE else None

    def _start(self, guess: Guess) -> Point | None:
        """Return the guess or the rest, moved into the limits; None where these leave nothing."""
        limits = self._limits
        left = None if guess is None else guess.search
        if guess is None or not isinstance(left, Left) or left.model is not self.model:
            z = limits.rest if guess is None else limits.scaled(guess.actuation)
            within = limits.kept(z)
        else:
            z, within = left.z, left.within or limits.kept(left.z)
            if within and guess.load.like(self.load):
                return self._point(z, guess, left.known if left.asked == self._asked else NOTHING)
        start = z if within else nearest_allowed(limits, z)
        return None if start is None else self._at(start, guess)

    def explained(self, short: InverseSolution) -> InverseSolution:
        """Say why a target is missed, by a search without limits from the nearest pose.

        AT_LIMIT: reachable only beyond the limits in `at_limit`. UNREACHABLE: not even so.
        NOT_CONVERGED: neither can be said.
        """
        best, settled = self._start(short.configuration), short.status.code is Code.UNREACHABLE
        if best is None:
            return short
        self._count = short.status.iterations
        self._began -= short.status.solve_time
        beyond, well = self._search(self._limits.without(), best, BEYOND)
        if beyond.met and self._limits.kept(beyond.z):
            return self._solution(self._refined(beyond))
        at_limit = self._limits.touching(best.z)
        if beyond.met and settled and beyond.q.status.code is Code.NONE:
            code, message = Code.AT_LIMIT, 'reachable only beyond the limits of '
            message += ', '.join(at_limit)
        elif settled and (well or beyond.q.status.converged):
            code, message = Code.UNREACHABLE, 'no actuation near reaches the target, limits or not'
        else:
            code, message = Code.NOT_CONVERGED, 'the search stopped before it could decide'
        return self._solution(best, code, f'{message}; {miss_sentence(best.errors)}', at_limit)

    def _at(self, z: Array, near: Guess) -> Point:
        """Solve an actuation in units of the ranges."""
        return self._point(z, self.model.forward(self._limits.actuation(z), self.load, near))

    def _point(self, z: Array, q: Configuration, known: Known = NOTHING) -> Point:
        target, residual = self.target, np.empty(self._size)
        away, turned, size = task_error(q.tip, target.pose, *target.tolerances, residual)
        errors = away, turned
        return Point(z, q, residual, errors, self._meets(q, errors), size, known)

    def _meets(self, q: Configuration, errors: tuple[float, float]) -> bool:
        near, turned = self._aim.tolerances
        return errors[0] <= near and errors[1] <= turned and q.status.converged

    def _repeats(self, point: Point) -> bool:
        """Whether a search goes where another one has ended, which was nearer to the target.

        Or on it, too, where the robot would not stay.
        """
        falls = point.met and point.q.status.code is Code.UNSTABLE
        if not (self._ends and (falls or self._known < point.size < SAME_END * self._known)):
            return False
        scaled = self._limits.scaled
        return any(largest_part(point.z - scaled(end)) < REPEATED for end in self._ends)

    def _rows(self, q: Configuration) -> Array | None:
        """Return the task's rows of the Jacobian, in units of tolerance per range, if finite."""
        twist, scale = np.ascontiguousarray(self.model.jacobian(q)), self._limits.scale
        rows = np.empty((self._size, scale.size))
        return rows if scaled_rows(q.tip, twist, *self.target.tolerances, scale, rows) else None

    def _search(
        self, limits: Limits, point: Point, ends: tuple[int, float] = (ITERATIONS, MIN_TRUST)
    ) -> tuple[Point, bool]:
        """Iterate from a point; return the best one, and whether it is final."""
        size = point.z.size
        redundant = size > point.residual.size
        trust, penalty, bend = TRUST, 0.0, np.zeros((0, 0))
        rows, bent, curvature = point.known.rows, False, point.known.curvature or flat(size)
        exact, lowest, since = rows is None, point.size, 0
        for iteration in range(ends[0]):
            self._count += 1
            if point.size < PROGRESS * lowest:
                lowest, since = point.size, iteration
            elif iteration - since > MAX_IDLE and lowest > FAR:
                return point, True
            if not point.q.status.converged:
                return point, False
            if point.stands and limits.low is self._limits.low:
                self._stands = point
            if (point.met and not redundant) or self._repeats(point):
                return point, True
            if rows is None:
                rows = self._rows(point.q)
                if rows is None:  # no way on, see `trial` below
                    return point, False
                point.known = Known(rows, (point.z, rows), curvature, point.z - limits.rest)
            task = limits, rows, point.z, point.residual, trust
            step = None if redundant or bent else steps.free_step(*task)
            free = step is not None  # and within the limits
            if not free:
                slope = point.known.slope
                step, multiplier, pull, free = steps.landing_step(*task, curvature, slope)
                if iteration == 0 and point.known.hold:
                    if step is None or largest_part(step) > MAX_HOLD:  # of no use here
                        curvature, slope = flat(size), point.z - limits.rest
                        step, multiplier, pull, free = steps.landing_step(*task, curvature, slope)
            landing = step is not None and redundant
            if step is None:
                step = steps.approach_step(*task, bend)
            length, aimed = largest_part(step), 0.0
            if not landing:
                left = point.residual - rows @ step
                aimed = math.sqrt(left @ left)
                promise = 1.0 - aimed / point.size if point.size > 0.0 else 0.0
                if promise <= STATIONARY and not exact:
                    rows, exact = None, True
                    continue
                inner = exact and length < trust
                if promise <= STATIONARY or (inner and self.target.hopeless(point.size, promise)):
                    return point, True
            else:
                penalty = max(penalty, 2.0 * pull)
                if point.met and length <= SETTLED:
                    return point, True
            z = point.z + step
            trial = self._at(z if free else inside(limits, z), point.q)
            judged_by = point, limits.rest, penalty if landing else None
            won = _gain(*judged_by, trial.z, trial.size)
            if landing and not won > 0.0:
                # A long step along the solutions leaves them: come back before judging it.
                back = np.linalg.lstsq(rows, trial.residual, rcond=None)[0]
                if largest_part(np.asarray(back, float)) < CONTRACTION * length:
                    trial = self._at(inside(limits, trial.z + back), trial.q)
                    won = _gain(*judged_by, trial.z, trial.size)
            if won > 0.0 and trial.q.status.converged:
                if point.met and trial.q.status.code is Code.UNSTABLE is not point.q.status.code:
                    return point, True  # less energy leads out of stability
                done, moved, base = trial.met and not redundant, trial.z - point.z, point.known
                exact = not done and trial.size > SECANT_BELOW * point.size
                if redundant:
                    away = trial.z - base.exact[0]
                    exact = not (trial.met and landing) or self.model.knows_jacobian
                    exact = exact or largest_part(away) > base.hold
                    done = trial.met and landing and length <= 0.5 * SETTLED
                    done = done or not exact and length < trust
                known = self._rows(trial.q) if exact else rows
                if known is None:  # a branch that ends there has no derivative
                    return trial, False
                slope, at, hold = trial.z - limits.rest, (trial.z, known), base.hold
                if not exact:  # what the step has shown (Broyden) saves a Jacobian near the end
                    known, at = secant(rows, moved, point.residual, trial.residual), base.exact
                    if redundant:
                        slope = curvature.whole @ moved + (known - rows).T @ multiplier
                        slope += base.slope
                elif landing and largest_part(away) > SETTLED:  # less may be round-off
                    turned = away - (known - base.exact[1]).T @ multiplier
                    hold = _trusted(known, away, turned - curvature.whole @ away)
                    curvature = _learn(curvature, away, turned)
                trial.known = Known(known, at, curvature, slope, hold)
                if done:
                    return trial, True
                if exact and not landing:
                    bend = bend if bent else np.zeros((size, size))
                    steps.learn_bend(bend, moved, known, rows, trial.residual)
                    bent = bool(bend.any())
                if 2.0 * length > trust and won > TRUSTED * _gain(*judged_by, z, aimed):
                    trust = 2.0 * length
                point, rows = trial, known
            elif not exact:
                rows, exact = None, True
            else:
                trust = 0.25 * length
                if trust < (ends[1] if point.size > FAR else MIN_TRUST):
                    return point, point.met
        return point, point.met

    def _refined(self, best: Point) -> Point:
        """Go on from a point that is near enough for the caller; return the better one."""
        self._aim = self.target.finer
        if self._aim is self.target or self._meets(best.q, best.errors):
            return best
        found, _ = self._search(self._limits, replace(best, met=False), REFINING)
        self._aim = self.target
        found.met = self._meets(found.q, found.errors)
        as_good = found.met and found.q.status.code in (Code.NONE, best.q.status.code)
        return found if as_good and found.size < best.size else best

    def _solution(
        self,
        best: Point,
        code: Code = Code.NONE,
        message: str = '',
        at_limit: tuple[str, ...] = (),
    ) -> InverseSolution:
        """Say what the best point means."""
        inner = best.q.status
        if code is Code.NONE:
            code, message = inner.code, inner.message
            if code is Code.UNSTABLE:
                message = 'the equilibrium that meets the target is unstable'
        seconds = time.perf_counter() - self._began
        status = amended(
            inner, code=code, message=message, iterations=self._count, solve_time=seconds
        )
        left = Left(self.model, self._asked, best.z, best.known, not at_limit, self._first)
        q = amended(best.q, status=amended(inner, solve_time=seconds), search=left)
        return InverseSolution(q.actuation.copy(), q, *best.errors, at_limit, status)


def _learn(curvature: Factored, moved: Array, turned: Array) -> Factored:
    """Return the curvature of energy and task together (damped BFGS: stays positive definite)."""
    along = curvature.whole @ moved
    size = float(moved @ along)
    if not size > 0.0:
        return curvature
    if moved @ turned < 0.2 * size:
        share = 0.8 * size / (size - moved @ turned)
        turned = share * turned + (1.0 - share) * along
    gained = np.outer(turned, turned) / (moved @ turned) - np.outer(along, along) / size
    return factored(curvature.whole + gained)


def _trusted(rows: Array, away: Array, wrong: Array) -> float:
    """Return how far the next slope may be told by a curvature that was wrong so far `away`.

    What the task decides does not count.
    """
    wrong = wrong - rows.T @ np.linalg.lstsq(rows.T, wrong, rcond=None)[0]
    return min(MAX_HOLD, SETTLED * largest_part(away) / max(largest_part(wrong), TINY))


def _gain(point: Point, rest: Array, penalty: float | None, z: Array, size: float) -> float:
    """Return how much better a residual is, or energy and penalised residual where it is free."""
    if penalty is None:
        return point.size - size
    away = z - rest, point.z - rest
    return penalty * (point.size - size) + 0.5 * float(away[1].dot(away[1]) - away[0].dot(away[0]))
