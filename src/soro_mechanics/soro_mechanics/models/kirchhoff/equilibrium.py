# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Equilibrium of the rod with its muscles held, its stability, and the way onto a target."""

from __future__ import annotations

from dataclasses import replace
import time

import numpy as np

from soro_mechanics.core.configuration import Array, Target
from soro_mechanics.core.status import Code, SolverStatus, Stability
from soro_mechanics.inverse.task_error import task_error, task_errors, task_rows
from soro_mechanics.models.kirchhoff.backbone import KirchhoffBackbone, RodState
from soro_mechanics.models.kirchhoff.muscle_kernels import bends_of
from soro_mechanics.models.kirchhoff.steps import hold, Outcome

TOLERANCE = 1e-9  # of the scaled residual: moments over A / L, bends over the disk radius
_CORRECTIONS = 8


def hold_bends(
    rod: KirchhoffBackbone,
    first: RodState,
    dead: Array,
    moment: Array,
    wanted: Array,
    start: float,
) -> tuple[RodState, Array, SolverStatus]:
    """Solve for given bends (modules, 2): the state, the muscle lengths, how it went."""
    state, lengths, outcome, pivots = settle(rod, first, dead, moment, wanted)
    return state, lengths, examined(rod, state, outcome, pivots, start)


def settle(
    rod: KirchhoffBackbone, first: RodState, dead: Array, moment: Array, wanted: Array
) -> tuple[RodState, Array, Outcome, tuple[Array, Array]]:
    """Solve for given bends; the pivots tell stability (`examined`)."""
    shape, lengths, outcome, response = hold(
        (first.q, first.force, first.bend),
        rod.rod_data,
        (first.dead, first.moment),
        (dead, moment),
        first.bends,
        wanted,
        TOLERANCE,
    )
    compliance, by_bend, local, disks = response
    if not outcome.converged:
        kept = first._replace(compliance=compliance, by_bend=by_bend)
        return kept, lengths, outcome, (local, disks)
    state = RodState(shape[0], shape[1], shape[2], dead, moment, wanted, compliance, by_bend)
    return state, lengths, outcome, (local, disks)


def examined(
    rod: KirchhoffBackbone,
    state: RodState,
    outcome: Outcome,
    pivots: tuple[Array, Array],
    start: float,
) -> SolverStatus:
    """Return the status with stability: one negative pivot per multiplier is a minimum."""
    if not outcome.converged:
        message = 'no equilibrium found; try a nearer guess or smaller loads'
        return SolverStatus(
            Code.NOT_CONVERGED,
            message,
            outcome.iterations,
            max(outcome.residual, 2.0 * TOLERANCE),
            TOLERANCE,
            time.perf_counter() - start,
        )
    local, disks = pivots
    below = int(np.count_nonzero(np.linalg.eigvalsh(local) < 0.0))
    blocks = 0.5 * (disks[1:] + disks[1:].transpose(0, 2, 1))
    below += int(np.count_nonzero(np.linalg.eigvalsh(blocks) < 0.0))
    stable = outcome.negative + below == 5 * rod.body.modules
    unit = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # turns count as 0.1 m of arm
    scaled = 0.5 * (state.compliance + state.compliance.T) * np.outer(unit, unit)
    softest = float(np.abs(np.linalg.eigvalsh(scaled)).max())
    return SolverStatus(
        Code.NONE if stable else Code.UNSTABLE,
        '' if stable else 'the backbone would leave this shape',
        outcome.iterations,
        outcome.residual,
        TOLERANCE,
        time.perf_counter() - start,
        Stability.STABLE if stable else Stability.UNSTABLE,
        (1.0 if stable else -1.0) / softest,
    )


def correct(
    rod: KirchhoffBackbone,
    published: tuple[Array, Array, Array],
    target: Target,
    dead: Array,
    moment: Array,
    start: float,
) -> tuple[RodState, SolverStatus, Array]:
    """Hold the published lengths, then move the bends least until the tip is on target.

    `published` is shape (n, 4), muscle lengths (modules, 3) and reaction (3,) of the rod through
    the point. The iterations are those of the corrections alone.
    """
    shape, lengths, reaction = published
    modules = rod.body.modules
    bends = np.array([bends_of(row, t) for t, row in enumerate(lengths)])
    state = RodState(
        shape,
        np.tile(reaction, (modules, 1)),
        np.zeros((modules, 2)),
        dead,
        moment,
        bends,
        np.zeros((6, 6)),
        np.zeros((6, modules, 2)),
    )
    state, _, outcome, pivots = settle(rod, state, dead, moment, bends)
    tip = rod.tip(state)
    used = outcome.iterations
    for _ in range(_CORRECTIONS):
        errors = zip(task_errors(tip, target), target.tolerances, strict=True)
        if all(e <= 0.1 * t for e, t in errors) or not outcome.converged:
            break
        missing = task_error(tip, target)
        jacobian = task_rows(tip, target.task, state.by_bend.reshape(6, -1))
        step = np.linalg.lstsq(jacobian, missing, rcond=None)[0].reshape(modules, 2)
        state, _, outcome, pivots = settle(rod, state, dead, moment, state.bends + step)
        used += outcome.iterations
        tip = rod.tip(state)
    status = examined(rod, state, outcome, pivots, start)
    return state, replace(status, iterations=used), tip
