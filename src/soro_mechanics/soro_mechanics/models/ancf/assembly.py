# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The first assembly of a soft parallel robot: straight legs bent onto the platform."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.models.ancf import solve_kernels as kernels
from soro_mechanics.models.ancf.kernels import place_ends
from soro_mechanics.models.ancf.schema import SoftLegs
from soro_mechanics.models.ancf.steps import AncfLoads, AncfState

TOLERANCE = 1e-9  # of the scaled residual: forces below 1e-9 EI / L^2
_ROUND_OFF = 16.0 * np.finfo(float).eps  # of EA per element: what the residual cannot undercut


def tolerance_of(legs: SoftLegs) -> float:
    """Return the tolerance of the scaled residual: `TOLERANCE`, or the round-off."""
    share, n = legs.tension * legs.length**2 / legs.bending, legs.elements
    return max(TOLERANCE, _ROUND_OFF * max(share * n, 25.0 * n**3))  # 25: up to 300 elements


def leg_points(legs: SoftLegs, radius: float) -> Array:
    """Return the leg ends (n, 3) [m] on a circle."""
    return radius * np.column_stack(
        [np.cos(legs.angles), np.sin(legs.angles), np.zeros_like(legs.angles)]
    )


def make_structure(
    legs: SoftLegs, platform_radius: float | None = None
) -> tuple[Array, Array, Array, Array, float]:
    """Return the constant data of the kernels; the platform's frame is the tip's.

    (base nodes (n, 12), leg points (n, 3) and frames (n, 3, 3) in the tip frame, rigidities
    (EI, GI, EA, alpha), element length at rest). Frames have the columns X (rod), Y, Z of the
    paper, which are the project's z, x, y.
    """
    count = len(legs.names)
    axes = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    base = np.zeros((count, 12))
    base[:, :3] = leg_points(legs, legs.base_radius)
    base[:, 3:] = axes.T.reshape(9)
    radius = legs.platform_radius if platform_radius is None else platform_radius
    points = leg_points(legs, radius) - legs.tip
    frames = np.tile(axes, (count, 1, 1))
    rigidity = np.array([legs.bending, legs.torsion, legs.tension, legs.penalty])
    return base, points, frames, rigidity, legs.length / legs.elements


def assemble(legs: SoftLegs) -> AncfState:
    """Return the unloaded equilibrium at stretch one.

    Starts from straight parallel legs (platform as large as the base, an exact equilibrium) and
    shrinks the platform to its size, halving the step where Newton fails.

    Raises SoroError: when the legs cannot reach.
    """
    count = len(legs.names)
    none = np.zeros(0, np.int64)
    on_legs = np.zeros(3), none, none, np.zeros(0), np.zeros((0, 3))
    loads = AncfLoads(on_legs, (np.zeros((0, 3)), np.zeros((0, 6)), np.zeros(0, np.bool_)))
    state = _straight(legs)
    done, part = 0.0, 0.5
    work = kernels.make_work(count, legs.elements + 1)
    while done < 1.0:
        goal = min(1.0, done + part)
        radius = legs.base_radius + goal * (legs.platform_radius - legs.base_radius)
        structure = make_structure(legs, radius)
        trial = (state[0].copy(), state[1].copy(), state[2].copy(), state[3].copy())
        _shift_nodes(trial, structure, legs)
        converged, _, _, negative = kernels.newton(
            trial, structure, loads, kernels.FORWARD, np.ones(count), tolerance_of(legs), 40, work
        )
        if converged and negative == 0:
            done, part, state = goal, 2.0 * part, trial
            continue
        part *= 0.5
        if part < 1e-3:
            raise SoroError(f'the legs do not reach the platform (radius {radius:g} m)')
    by_nodes, by_platform = kernels.sensitivity_of(state[0], state[2], work[0], work[3], work[5])
    return AncfState(*state, work[3].copy(), by_nodes, by_platform)


def _straight(legs: SoftLegs) -> tuple[Array, Array, Array, Array]:
    base, _, _, _, rest = make_structure(legs, legs.base_radius)
    nodes = np.repeat(base[:, None, :], legs.elements + 1, axis=1)
    nodes[:, :, 2] += rest * np.arange(legs.elements + 1)
    return nodes, np.ones(len(base)), np.array([0.0, 0.0, legs.length]) + legs.tip, np.eye(3)


def _shift_nodes(
    state: tuple[Array, ...], structure: tuple[Array, Array, Array, Array, float], legs: SoftLegs
) -> None:
    """Lean every leg towards its new end by the cubic that keeps the tangents at both ends."""
    nodes, _, position, rotation = state
    ends = position + structure[1] @ rotation.T
    lean = ends - nodes[:, -1, :3]
    t = np.linspace(0.0, 1.0, nodes.shape[1])
    share = 3.0 * t**2 - 2.0 * t**3
    nodes[:, :, :3] += share[None, :, None] * lean[:, None, :]
    slope = 6.0 * t * (1.0 - t) / legs.length
    nodes[:, :, 3:6] += slope[None, :, None] * lean[:, None, :]
    nodes[:, 0] = structure[0]
    place_ends(nodes, structure, position, rotation)
