# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of the rod with its muscles held, its stability, and the way onto a target."""

from __future__ import annotations

from dataclasses import replace
import time

import numpy as np

from soro_mechanics.core.configuration import Array, Target
from soro_mechanics.core.increments import FAILURE, Outcome
from soro_mechanics.core.status import SolverStatus, status_of
from soro_mechanics.inverse.task_error import sizes, task_error, task_rows
from soro_mechanics.models.kirchhoff.backbone import KirchhoffBackbone, RodState, unsolved
from soro_mechanics.models.kirchhoff.steps import hold, Loads, TOLERANCE
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues

_CORRECTIONS = 8
_UNIT = np.outer([1.0, 1.0, 1.0, 0.1, 0.1, 0.1], [1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # 0.1 m of arm

InverseShape = tuple[Array, Array, Array]
Settled = tuple[RodState, Array, Outcome]


def settle(rod: KirchhoffBackbone, first: RodState, loads: Loads, wanted: Array) -> Settled:
    """Solve for bends (modules, 2): state, muscle lengths, and what `examined` takes."""
    (shape, lengths, response), outcome = hold(first, rod.rod_data, loads, wanted)
    state = RodState(*shape, *loads, wanted, *response) if outcome.converged else first
    return state, lengths, outcome


def examined(rod: KirchhoffBackbone, settled: Settled, start: float) -> SolverStatus:
    """Return the status with stability: one negative pivot per multiplier is a minimum."""
    state, _, outcome = settled
    numbers = outcome.numbers(TOLERANCE, time.perf_counter() - start)
    if not outcome.converged:
        return status_of(numbers, FAILURE)
    stable = outcome.negative == 5 * rod.body.modules
    softest = max(map(abs, extreme_eigenvalues(state.compliance, _UNIT)))
    smallest = (1.0 if stable else -1.0) / softest
    return status_of(numbers, '', stable, smallest, 'the backbone would leave this shape')


def correct(
    rod: KirchhoffBackbone, published: InverseShape, target: Target, loads: Loads, start: float
) -> tuple[RodState, SolverStatus, Array]:
    """Hold the published lengths, then move the bends least until the tip is on target.

    `published` is shape (n, 4), muscle lengths (modules, 3) and reaction (3,) of the rod through
    the point. The iterations are those of the corrections alone.
    """
    shape, lengths, reaction = published
    modules, used = rod.body.modules, 0
    bends = np.einsum('tci,ti->tc', rod.combine, lengths)
    state = unsolved(shape, np.tile(reaction, (modules, 1)), *loads, bends)
    for left in reversed(range(1 + _CORRECTIONS)):
        settled = state, _, outcome = settle(rod, state, loads, bends)
        used += outcome.iterations
        tip = rod.tip(state)
        missing = task_error(tip, target)
        met = all(e <= 0.1 * t for e, t in zip(sizes(missing), target.tolerances, strict=True))
        if met or not (left and outcome.converged):
            break
        jacobian = task_rows(tip, target.task, state.by_bend.reshape(6, -1))
        step = np.linalg.lstsq(jacobian, missing, rcond=None)[0].reshape(modules, 2)
        bends = state.bends + step
    status = examined(rod, settled, start)
    return state, replace(status, iterations=used), tip
