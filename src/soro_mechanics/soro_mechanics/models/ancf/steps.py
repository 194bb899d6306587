# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of Huang 2022: increments on the way to a target, halved where Newton fails.

The increments are counted here, outside the compiled kernels, which keeps those small to compile.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.models.ancf import solve_kernels as kernels

Array = NDArray[np.float64]
Structure = tuple[Array, Array, Array, Array, float]

NEWTON_LIMIT = 25
HALVINGS = 12


class AncfState(NamedTuple):
    """An equilibrium and its linearisation; the warm start of the next solve."""

    nodes: Array  # (legs, n_e + 1, 12)
    stretch: Array  # (legs,)
    position: Array  # (3,) of the tip
    rotation: Array  # (3, 3)
    tangent: Array  # (6, 6) condensed on the tip
    by_stretch: Array  # (6, legs) condensed force per stretch
    by_nodes: Array  # (legs, legs, n_e + 1, 12) per stretch
    by_platform: Array  # (6, legs) tip motion per stretch


class AncfLoads(NamedTuple):
    """Loads as the kernels take them."""

    legs: tuple[Array, NDArray[np.int64], NDArray[np.int64], Array, Array]
    body: tuple[Array, Array, NDArray[np.bool_]]


class Outcome(NamedTuple):
    """How a sequence of solves ended."""

    converged: bool
    iterations: int
    residual: float
    negative: int


def make_work(legs: int, nodes: int) -> tuple[Any, ...]:
    """Return the scratch arrays of `newton` for a robot of this size."""
    element = (np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3, 3)))
    return (
        np.empty((legs, nodes, 12, 26)),
        np.empty((legs, 12)),
        (np.empty(6), element),
        np.empty((6, 6)),
        np.empty(6),
        np.empty((6, legs)),
        np.zeros((legs, nodes, 12)),
        np.empty((2, 3, 3)),
    )


def solve_equations(
    first: AncfState,
    structure: Structure,
    loads: AncfLoads,
    mode: int,
    target: Array,
    tolerance: float,
    limit: int = NEWTON_LIMIT,
    halvings: int = HALVINGS,
) -> tuple[AncfState, Outcome]:
    """Solve for a target from a converged state.

    Parameters
    ----------
    first : AncfState
        Any equilibrium; not changed.
    mode : int
        `ancf_solve_kernels.FORWARD` or `INVERSE`.
    target : ndarray
        Stretches (legs,), or the position of the tip (3,) [m].
    tolerance : float
        Of the scaled residual.
    limit : int
        Newton iterations per increment.
    halvings : int
        Failed increments after which the search ends.

    Returns
    -------
    AncfState
        The solution, or where the last good increment led.
    Outcome
    """
    good = first
    start = first.stretch if mode == kernels.FORWARD else first.position
    work = make_work(first.nodes.shape[0], first.nodes.shape[1])
    done, part = 0.0, 1.0
    total, failures = 0, 0
    while True:
        goal = done + part if done + part < 1.0 - 1e-9 else 1.0
        aim = target if goal == 1.0 else start + goal * (target - start)
        trial = (
            good.nodes.copy(),
            good.stretch.copy(),
            good.position.copy(),
            good.rotation.copy(),
        )
        trial[0][:, 0] = structure[0]  # clamped, also where a like robot's state is the start
        kernels.predict(trial, (good.by_nodes, good.by_platform), structure, mode, aim)
        converged, used, residual, negative = kernels.newton(
            trial, structure, loads.legs, loads.body, mode, aim, tolerance, limit, work
        )
        total += used
        if converged:
            done, part = goal, 2.0 * part
            tangent, by_stretch = work[3].copy(), work[5].copy()
            by_nodes, by_platform = kernels.sensitivity_of(
                trial[0], trial[2], work[0], tangent, by_stretch
            )
            good = AncfState(
                trial[0], trial[1], trial[2], trial[3], tangent, by_stretch, by_nodes, by_platform
            )
            if done == 1.0:
                return good, Outcome(True, total, residual, negative)
        else:
            part *= 0.5
            failures += 1
            if failures > halvings:
                return good, Outcome(False, total, residual, negative)
