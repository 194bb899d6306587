# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where else to begin, when the search for an actuation has ended short of its target.

Downhill from one posture not every target of the workspace is found: searches begin again from the
nearest of some postures that are spread over the workspace, solved once per robot.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
import contextlib
import copy
from dataclasses import dataclass, replace
from functools import cached_property
import math
import threading
import time
from typing import Any

import numpy as np

from soro_mechanics.analysis.workspace import sample_actuations, Sampled
from soro_mechanics.core.configuration import (
    amended,
    Array,
    Configuration,
    InverseSolution,
    Target,
    Task,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code, Warnings

POSTURES = 128
TRIES = 4  # of the nearest ones; what has not been found then, hardly ever is
BUDGET = 1200  # iterations of further searches, after which no other one begins
NEARER = 1.0 - 1e-6  # of a miss: a smaller one is nearer, and not by round-off
PATIENCE = 4.0  # s that a search waits for another thread, which solves the postures
# What an inverse says of a target it has not reached, or not so that the robot could stay there.
SHORT = (Code.AT_LIMIT, Code.UNREACHABLE, Code.NOT_CONVERGED, Code.UNSTABLE)
BEYOND = 2.0  # times the loneliest posture's distance to its neighbour: out of the workspace


@dataclass(frozen=True, eq=False)
class Postures:
    """Postures spread over what the limits allow."""

    starts: Sequence[Configuration]  # (n); stable, without loads
    tip: Array  # (n, 4, 4) of them, in base_link

    def near(self, target: Target) -> list[Configuration]:
        """Return the postures next to a target, nearest first.

        None where the target is farther from all of them than they are from each other.
        """
        if len(self.tip) < 2:
            return list(self.starts)
        away = self._distances(target.pose, target.task)
        apart = np.array([self._distances(tip, target.task) for tip in self.tip])
        np.fill_diagonal(apart, np.inf)
        if away.min() > BEYOND * apart.min(axis=1).max():
            return []
        return [self.starts[i] for i in np.argsort(away)[:TRIES]]

    @cached_property
    def _length(self) -> float:
        """Longest side of the workspace [m]."""
        return float(np.ptp(self.tip[:, :3, 3], axis=0).max()) or 1.0

    def _distances(self, target: Array, task: Task) -> Array:
        """Return how far every tip is: in lengths of the workspace, and in half turns."""
        away = np.linalg.norm(self.tip[:, :3, 3] - target[:3, 3], axis=1) / self._length
        if task is Task.POSITION:
            return away
        if task is Task.POSITION_AND_AXIS:
            cosine = self.tip[:, :3, 2] @ target[:3, 2]
        else:
            cosine = 0.5 * (np.einsum('nij,ij->n', self.tip[:, :3, :3], target[:3, :3]) - 1.0)
        return away + np.arccos(np.clip(cosine, -1.0, 1.0)) / np.pi


class MultiStart:
    """The further searches of one robot; its postures are solved when they are needed first.

    Other threads wait for them, a search no longer than its patience.
    """

    def __init__(self, known: tuple[Array, Postures] | None = None) -> None:
        self._known, self._solving = known, threading.Lock()  # under which gravity

    def __reduce__(self) -> Any:
        """Go to another process without the lock."""
        return MultiStart, (self._known,)

    def postures(self, robot: Sampled) -> Postures:
        """Return the postures under the robot's gravity, solved where they are not known yet."""
        with self._solving:
            known, gravity = self._known, robot.gravity
            if known is None or not np.array_equal(known[0], gravity):
                self._known = known = gravity, postures_of(robot)
            return known[1]

    def improved(
        self,
        robot: Sampled,
        first: InverseSolution,
        search: Callable[[Target, Configuration], InverseSolution],
        explain: Callable[[InverseSolution], InverseSolution],
        target: Target,
    ) -> InverseSolution:
        """Return a solution that meets the target, else the one that comes nearest, explained.

        `first` at once where it is good, or no posture can be nearer; `search` is the inverse from
        a start. Its iterations are those of all searches, its message says how many there were.
        """
        if first.status.code not in SHORT or robot.model_object.too_far(target.pose[:3, 3]):
            return explain(first)
        began = time.perf_counter() - first.status.solve_time
        if not self._solving.acquire(timeout=PATIENCE):
            said = 'the postures to begin from elsewhere are still being solved: ask again'
            return _reported(first := explain(first), began, first.status.iterations, said)
        self._solving.release()
        starts = self.postures(robot).near(target)
        best, iterations, tried, met, ends = first, 0, 0, False, [first.actuation]
        while tried < len(starts) and iterations < BUDGET and not met:
            ended = best.status.converged and best.status.code is not Code.UNSTABLE
            errors = best.position_error, best.orientation_error
            known = target.miss(errors) if ended else math.inf
            found = search(target._replace(known=known, ends=tuple(ends)), starts[tried])
            ends += [found.actuation] if found.configuration.status.converged else []
            tried, iterations = tried + 1, iterations + found.status.iterations
            met = _usable(found)
            if met or _nearer(found, best, target):
                best = found
        said = f'{tried} of {len(starts)} further searches, {iterations} iterations'
        iterations += first.status.iterations - best.status.iterations
        best = explain(best)
        iterations += best.status.iterations
        return _reported(best, began, iterations, '' if _usable(best) or not starts else said)


def postures_of(robot: Sampled) -> Postures:
    """Solve the postures of a robot as it is mounted; none where limits leave almost nothing."""
    samples: list[Array] = []
    with contextlib.suppress(InvalidInput):
        samples += list(sample_actuations(robot, POSTURES))
    solved = [robot.forward(actuation) for actuation in samples]
    # A copy of a state is what it begins with, without what was computed of it since.
    starts = [amended(q, state=copy.copy(q.state)) for q in solved if q.status.code is Code.NONE]
    return Postures(starts, np.array([q.tip for q in starts]).reshape(-1, 4, 4))


def _usable(found: InverseSolution) -> bool:
    """Whether a solution is good, and its equilibrium one that the model describes."""
    doubted = Warnings.OUTSIDE_THEORY in found.configuration.status.warnings
    return found.status.code is Code.NONE and not doubted


def _nearer(found: InverseSolution, best: InverseSolution, target: Target) -> bool:
    """Whether a solution that misses its target misses it by less, in units of tolerance."""
    if not found.status.converged or found.status.code in (Code.NONE, Code.UNSTABLE):
        return False  # it meets the target, and nobody could use it
    if not best.status.converged:
        return True
    miss = [target.miss((s.position_error, s.orientation_error)) for s in (found, best)]
    return miss[0] < NEARER * miss[1]


def _reported(
    solution: InverseSolution, began: float, iterations: int, said: str
) -> InverseSolution:
    """Return a solution with time and iterations of all searches, and what they were."""
    q, seconds = solution.configuration, time.perf_counter() - began
    message = '; '.join(part for part in (solution.status.message, said) if part)
    status = replace(solution.status, solve_time=seconds, iterations=iterations, message=message)
    timed = replace(q, status=replace(q.status, solve_time=seconds))
    return replace(solution, status=status, configuration=timed)
