# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of the rod with its muscles held, its stability, and the way onto a target."""

from __future__ import annotations

import time

import numpy as np

from soro_mechanics.core.configuration import amended, Array, Target
from soro_mechanics.core.increments import FAILURE, Outcome
from soro_mechanics.core.status import SolverStatus, status_of
from soro_mechanics.inverse.task_error import sizes, task_error, task_rows
from soro_mechanics.models.kirchhoff.backbone import KirchhoffBackbone, RodState
from soro_mechanics.models.kirchhoff.steps import hold, Loads, TOLERANCE
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues
from soro_mechanics.numerics.qp_kernels import least_energy, OPTIMAL

_CORRECTIONS = 8
_UNIT = np.outer([1.0, 1.0, 1.0, 0.1, 0.1, 0.1], [1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # 0.1 m of arm

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
    rod: KirchhoffBackbone,
    first: RodState,
    bends: Array,
    target: Target,
    loads: Loads,
    start: float,
) -> tuple[RodState, SolverStatus, tuple[float, float]]:
    """Hold bends (modules, 2) from a first shape, then move them least until on target.

    Returns the errors too. The iterations are those of the corrections alone.
    """
    state, used = first, 0
    for left in reversed(range(1 + _CORRECTIONS)):
        settled = state, _, outcome = settle(rod, state, loads, bends)
        used += outcome.iterations
        tip = rod.tip(state)
        errors, enough = sizes(task_error(tip, target)), target.tolerances
        met = errors[0] <= 0.1 * enough[0] and errors[1] <= 0.1 * enough[1]
        if met or not (left and outcome.converged):
            break
        bends = onto(state, state.bends, tip, target)
    return state, amended(examined(rod, settled, start), iterations=used), errors


def onto(state: RodState, wanted: Array, tip: Array, target: Target) -> Array:
    """Return the bends (modules, 2) next to those wanted, on target as linearised at a state."""
    missing, size = task_error(tip, target), wanted.size
    rows = task_rows(tip, target.task, state.by_bend.reshape(6, -1))
    step, force, none = np.empty(size), np.empty(missing.size), np.empty(0)
    flat, at = np.eye(size), state.bends.ravel()
    energy, free = (flat, flat, wanted.ravel()), (none.reshape(0, size), at, none, none, np.inf)
    if least_energy(energy, rows, missing, free, step, force)[0] != OPTIMAL:
        step = wanted.ravel() - at
        step += np.linalg.lstsq(rows, missing - rows @ step, rcond=None)[0]
    return state.bends + step.reshape(-1, 2)
