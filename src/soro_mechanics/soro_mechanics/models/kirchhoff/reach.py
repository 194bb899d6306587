# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rod of least energy through a point: the published inverse (Chen 2022, eqs 48-54)."""

from __future__ import annotations

from dataclasses import dataclass
import math
import time

import numpy as np

from soro_mechanics.core.configuration import Array, Target, Task
from soro_mechanics.core.status import Code, SolverStatus, status_of
from soro_mechanics.models.kirchhoff.backbone import KirchhoffBackbone, RodState
from soro_mechanics.models.kirchhoff.guess import spiral_shapes
from soro_mechanics.models.kirchhoff.steps import Loads, reach, TOLERANCE

_FIRST_POINTS = (1.0, 0.85, 0.7)  # of the target's distance: where first shapes may end


@dataclass(frozen=True, eq=False)
class InverseState:
    """The rod of least energy through a point: the published inverse kinematics."""

    quaternions: Array  # (n, 4) scalar first
    lengths: Array  # (modules, 3) muscle lengths, eq (54) [m]
    reaction: Array  # (3,) force at the end point that the constraint needs [N]
    minimum: bool  # whether the reduced Hessian is positive definite
    status: SolverStatus


def find_reach(
    rod: KirchhoffBackbone, target: Target, loads: Loads, guess: RodState | None = None
) -> InverseState:
    """Find the rod of least energy that ends at a target, eqs (48)-(54).

    The muscles carry whatever the shape needs; only the end point is held. `status.code` is
    UNSTABLE when the stationary shape is not a minimum.
    """
    start = time.perf_counter()
    if guess is not None:
        known, old = (guess.q, guess.force.mean(axis=0)), (guess.dead, guess.moment)
        found = _reach_from(rod, known, old, loads, target, start)
        if found.status.code is Code.NONE:
            return found
    best: InverseState | None = None
    calm = (np.zeros_like(loads[0]), np.zeros(3))
    # a spiral cannot end near the rim of the workspace: start further in, then move out
    for share in _FIRST_POINTS:
        near = nearer(target, share)._replace(task=Task.POSITION)
        shapes = spiral_shapes(near.pose[:3, 3], rod.body.length, rod.body.elements)
        for shape in shapes:
            first = _reach_from(rod, (shape, np.zeros(3)), calm, calm, near, start)
            if not first.status.converged:
                continue
            reached = first.quaternions, first.reaction
            found = _reach_from(rod, reached, calm, loads, target, start)
            if found.status.code is Code.NONE:
                return found
            best = found if best is None or found.status.converged else best
    return _no_reach(rod, start) if best is None else best


def nearer(target: Target, share: float) -> Target:
    """Return a target at a share of the distance from the base."""
    pose = target.pose.copy()
    pose[:3, 3] *= share
    return target._replace(pose=pose)


def _no_reach(rod: KirchhoffBackbone, start: float) -> InverseState:
    numbers = 0, 1.0, TOLERANCE, time.perf_counter() - start
    status = status_of(numbers, 'no rod through this point was found')
    lengths = np.full((rod.body.modules, 3), rod.body.length / rod.body.modules)
    return InverseState(rod.straight.q, lengths, np.zeros(3), False, status)


def _reach_from(
    rod: KirchhoffBackbone,
    first: tuple[Array, Array],
    before: Loads,
    after: Loads,
    target: Target,
    start: float,
) -> InverseState:
    shape = first[0], first[1].reshape(1, 3)
    (q, force), outcome, matrix = reach(shape, rod.rod_data, before, after, target)
    minimum = outcome.converged and _is_minimum(matrix, outcome.negative, target.task)
    numbers = outcome.numbers(TOLERANCE, time.perf_counter() - start)
    failure = '' if outcome.converged else 'no equilibrium through this point was found'
    status = status_of(numbers, failure, minimum, math.nan, 'this shape is a saddle of the energy')
    return InverseState(q, rod.lengths_of(q), force[0].copy(), minimum, status)


def _is_minimum(matrix: Array, negative: int, task: Task) -> bool:
    """Whether the Hessian is positive definite on the constraints, by inertia.

    Interior pivots and the end block together must have one negative eigenvalue per multiplier
    of position; prescribed attitude rows leave the end block.
    """
    rows = (0, 2, 3)[task]
    free = matrix[rows:, rows:]
    below = np.count_nonzero(np.linalg.eigvalsh(0.5 * (free + free.T)) < 0.0)
    return bool(negative + below == 3)
