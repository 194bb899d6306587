# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Steps between shapes: a solve that fails is tried in halves."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array, Target
from soro_mechanics.core.increments import advance, Outcome
from soro_mechanics.models.kirchhoff.backbone import RodState
from soro_mechanics.models.kirchhoff.hold_solve_kernels import hold_newton
from soro_mechanics.models.kirchhoff.reach_kernels import Goal, make_rod_work, reach_newton
from soro_mechanics.models.kirchhoff.rod_kernels import module_vectors, rotation_of
from soro_mechanics.numerics.lie import so3_exp, so3_log

RodData = tuple[Array, float, float, float, Array]
Loads = tuple[Array, Array]
Shape = tuple[Array, Array, Array]  # q (n, 4), F and mu of the modules

TOLERANCE = 1e-9  # of the scaled residual: moments over A / L, bends over the disk radius
_NEWTON_LIMIT, _OF_A_PART = 25, 15  # iterations at once, and on a part of the way
_HALVINGS = 10


def _between(before: Loads, after: Loads, share: float) -> Loads:
    if share == 1.0 or before is after:
        return after
    return (before[0] + share * (after[0] - before[0]), before[1] + share * (after[1] - before[1]))


def reach(
    first: tuple[Array, Array], rod_data: RodData, before: Loads, after: Loads, target: Target
) -> tuple[tuple[Array, Array], Outcome, Array]:
    """Move a shape (q, reaction (1, 3)) to a target; return it, outcome, end matrix (6, 6).

    `before` are the loads (dead, tip moment) of the given shape, `after` those wanted.
    """
    stiffness, h = rod_data[:2]
    q, attitude = first[0], int(target.task)  # FREE, AXIS and FULL of the kernels
    work, start = make_rod_work(len(q)), np.empty((1, 3))
    facing, matrix = np.empty((3, 3)), np.empty((6, 6))
    module_vectors(q, h, 1, start)
    rotation_of(q[-1], facing)
    wanted, point = np.ascontiguousarray(target.pose[:3, :3]), target.pose[:3, 3].copy()
    turn = so3_log(facing.T @ wanted) if attitude else np.zeros(3)

    def attempt(good: tuple[Array, Array], goal: float) -> tuple[tuple[Array, Array], Any]:
        dead, moment = _between(before, after, goal)
        aim = point if goal == 1.0 else start[0] + goal * (point - start[0])
        turned = wanted if goal == 1.0 else np.ascontiguousarray(facing @ so3_exp(goal * turn))
        meant = Goal(moment, aim, turned, attitude)
        trial = good[0].copy(), good[1].copy()
        *found, matrix[:] = reach_newton(
            *trial, (stiffness, h), dead, meant, TOLERANCE, _NEWTON_LIMIT, work
        )
        return trial, found

    return *advance(first, attempt, _HALVINGS), matrix


def hold(
    state: RodState, rod_data: RodData, after: Loads, wanted: Array
) -> tuple[tuple[Shape, Array, tuple[Array, Array]], Outcome]:
    """Move a state to bends `wanted` (m, 2) under other loads.

    Returns shape (q, F, mu), muscle lengths (m, 3) and `tip_response`, as `hold_newton` does, and
    the outcome, with all negative eigenvalues.
    """
    first: Any = (state.q, state.force, state.bend), None, None

    def attempt(good: Any, goal: float) -> tuple[Any, Any]:
        aim = wanted if goal == 1.0 else state.bends + goal * (wanted - state.bends)
        loads = _between((state.dead, state.moment), after, goal)
        limit = _NEWTON_LIMIT if goal == 1.0 and good is first else _OF_A_PART
        *found, ended = hold_newton(good[0], rod_data, loads, aim, TOLERANCE, limit)
        return found, ended

    return advance(first, attempt, _HALVINGS)
