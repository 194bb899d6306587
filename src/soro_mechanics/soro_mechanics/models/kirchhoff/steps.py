# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps between shapes: a solve that fails is tried in halves."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.increments import advance, Outcome
from soro_mechanics.models.kirchhoff.hold_solve_kernels import hold_newton
from soro_mechanics.models.kirchhoff.reach_kernels import Goal, make_rod_work, reach_newton
from soro_mechanics.models.kirchhoff.rod_kernels import module_vectors, rotation_of
from soro_mechanics.numerics.lie import so3_exp, so3_log

RodData = tuple[Array, float, float, float]
Loads = tuple[Array, Array]
Shape = tuple[Array, Array, Array]  # q (n, 4), F and mu of the modules

_NEWTON_LIMIT, _OF_A_PART = 25, 15  # iterations at once, and on a part of the way
_HALVINGS = 10


def _between(before: Loads, after: Loads, share: float) -> Loads:
    if share == 1.0 or before is after:
        return after
    return (before[0] + share * (after[0] - before[0]), before[1] + share * (after[1] - before[1]))


def reach(
    q: Array,
    reaction: Array,
    rod_data: RodData,
    before: Loads,
    after: Loads,
    target: Array,
    attitude: int,
    tolerance: float,
) -> tuple[Array, Array, Outcome, Array]:
    """Move a shape to a target pose (4, 4); return (q, reaction, outcome, end matrix (6, 6)).

    `before` are the loads (dead, tip moment) of the given shape, `after` those wanted.
    """
    stiffness, h, _, _ = rod_data
    work = make_rod_work(len(q))
    start = np.empty((1, 3))
    module_vectors(q, h, 1, start)
    first = np.empty((3, 3))
    rotation_of(q[-1], first)
    wanted = np.ascontiguousarray(target[:3, :3])
    turn = so3_log(first.T @ wanted) if attitude else np.zeros(3)
    point = target[:3, 3].copy()
    matrix = np.empty((6, 6))

    def attempt(good: tuple[Array, Array], goal: float) -> tuple[tuple[Array, Array], Any]:
        dead, moment = _between(before, after, goal)
        aim = point if goal == 1.0 else start[0] + goal * (point - start[0])
        facing = wanted if goal == 1.0 else np.ascontiguousarray(first @ so3_exp(goal * turn))
        trial = good[0].copy(), good[1].copy()
        meant = Goal(moment, aim, facing, attitude)
        *found, matrix[:] = reach_newton(
            *trial, (stiffness, h), dead, meant, tolerance, _NEWTON_LIMIT, work
        )
        return trial, found

    (q, force), outcome = advance((q, reaction.reshape(1, 3)), attempt, _HALVINGS)
    return q, force[0], outcome, matrix


def hold(
    state: Shape,
    rod_data: RodData,
    before: Loads,
    after: Loads,
    start: Array,
    wanted: Array,
    tolerance: float,
) -> tuple[tuple[Shape, Array, tuple[Array, Array]], Outcome]:
    """Move a shape (q, F, mu) from bends `start` to bends `wanted`, (m, 2) each.

    Returns state, muscle lengths (m, 3) and `tip_response`, as `hold_newton` does, and the
    outcome, with all negative eigenvalues.
    """
    first: Any = state, None, None

    def attempt(good: Any, goal: float) -> tuple[Any, Any]:
        aim = wanted if goal == 1.0 else start + goal * (wanted - start)
        loads = _between(before, after, goal)
        limit = _NEWTON_LIMIT if goal == 1.0 and good is first else _OF_A_PART
        *found, ended = hold_newton(good[0], rod_data, loads, aim, tolerance, limit)
        return found, ended

    return advance(first, attempt, _HALVINGS)
