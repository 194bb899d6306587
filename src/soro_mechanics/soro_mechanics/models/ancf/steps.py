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

    def attempt(good: AncfState, goal: float) -> tuple[AncfState, Any]:
        aim = target if goal == 1.0 else start + goal * (target - start)
        asked = mode, aim, tolerance, NEWTON_LIMIT
        found, ended = kernels.increment(good, structure, loads, *asked)
        return AncfState(*found), ended

    return advance(first, attempt, HALVINGS)
