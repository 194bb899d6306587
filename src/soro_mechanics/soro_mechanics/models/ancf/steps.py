# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Algorithm 1 of Huang 2022: increments on the way to a target, halved where Newton fails."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.increments import advance, Outcome
from soro_mechanics.models.ancf import solve_kernels as kernels

Structure = tuple[Array, Array, Array, Array, float]

NEWTON_LIMIT = 25  # iterations per increment
HALVINGS = 12  # failed increments after which the search ends


class AncfState(NamedTuple):
    """An equilibrium and its linearisation; the warm start of the next solve."""

    nodes: Array  # (legs, n_e + 1, 12)
    stretch: Array  # (legs,)
    position: Array  # (3,) of the tip
    rotation: Array  # (3, 3)
    tangent: Array  # (6, 6) condensed on the tip
    by_nodes: Array  # (legs, legs, n_e + 1, 12) per stretch
    by_platform: Array  # (6, legs) tip motion per stretch


class AncfLoads(NamedTuple):
    """Loads as the kernels take them."""

    legs: tuple[Array, NDArray[np.int64], NDArray[np.int64], Array, Array]
    body: tuple[Array, Array, NDArray[np.bool_]]


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
) -> tuple[AncfState, Outcome]:
    """Solve from a converged state, which stays; return the last good state and how it went.

    target: stretches (legs,) of mode FORWARD, the position of the tip (3,) [m] of INVERSE;
    tolerance: of the scaled residual.
    """
    start = first.stretch if mode == kernels.FORWARD else first.position
    work = make_work(*first.nodes.shape[:2])

    def attempt(good: AncfState, goal: float) -> tuple[AncfState, Any]:
        aim = target if goal == 1.0 else start + goal * (target - start)
        nodes, stretch, position, rotation = trial = tuple(part.copy() for part in good[:4])
        nodes[:, 0] = structure[0]  # clamped, also where a like robot's state is the start
        kernels.predict(trial, (good.by_nodes, good.by_platform), structure, mode, aim)
        found = kernels.newton(trial, structure, loads, mode, aim, tolerance, NEWTON_LIMIT, work)
        if not found[0]:
            return good, found
        responses = kernels.sensitivity_of(nodes, position, work[0], work[3], work[5])
        tangent = work[3].copy()
        return AncfState(nodes, stretch, position, rotation, tangent, *responses), found

    return advance(first, attempt, HALVINGS)
