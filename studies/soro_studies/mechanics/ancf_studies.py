# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The published studies of the soft parallel robot: workspace, stiffness, mesh and penalty."""

from __future__ import annotations

from dataclasses import dataclass, replace
import itertools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.ancf.element_kernels import constraints
from soro_mechanics.numerics.lie import so3_log
from soro_mechanics.robot import Robot

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WorkspaceRange:
    """Extent of a set of poses.

    Attributes
    ----------
    positions : ndarray, shape (n, 3) [m]
    rotations : ndarray, shape (n, 3) [rad]
        Rotation vectors, base axes.
    failed : int
        Samples without a stable equilibrium; they are left out.
    """

    positions: Array
    rotations: Array
    failed: int

    @property
    def position_range(self) -> Array:
        """Return w_x, w_y, w_z [m]."""
        return np.ptp(self.positions, axis=0)

    @property
    def rotation_range(self) -> Array:
        """Return the ranges about x, y, z [rad]."""
        return np.ptp(self.rotations, axis=0)

    @property
    def extent(self) -> float:
        """Return the longest distance of two positions [m], the paper's workspace length."""
        longest = 0.0
        for point in self.positions:
            longest = max(longest, float(np.max(np.sum((self.positions - point) ** 2, axis=1))))
        return math.sqrt(longest)


def redesigned(robot: Robot, **changes: Any) -> Robot:
    """Return the robot with fields of its `SoftLegs` changed.

    `spacing_ratio`, the paper's phi, sets the base radius for the present flexible length.
    """
    legs = robot.description.structure['ancf']
    if 'spacing_ratio' in changes:
        side = changes.pop('spacing_ratio') * legs.length
        changes['base_radius'] = side / (2.0 * math.sin(math.pi / len(legs.names)))
    structure = {**robot.description.structure, 'ancf': replace(legs, **changes)}
    other = Robot(replace(robot.description, structure=structure), robot.model)
    other.gravity = robot.gravity
    return other


def boundary_schemes(low: Array, high: Array, points: int) -> Array:
    """Return the actuation schemes of the paper, shape (schemes, points, m): 18 for three legs.

    One actuator swept with the others at their extremes (12 of three), then pairs swept together
    with the others at extremes (6).
    """
    if points < 2:
        raise InvalidInput('points', points, 'at least 2')
    sweep = np.linspace(0.0, 1.0, points)
    legs = range(len(low))
    alone = itertools.combinations(legs, 1)
    pairs = reversed(list(itertools.combinations(legs, 2)))
    schemes = []
    for moving in (*alone, *pairs):
        held = [i for i in legs if i not in moving]
        for extremes in itertools.product((0.0, 1.0), repeat=len(held)):
            share = np.repeat(sweep[:, None], len(low), axis=1)
            share[:, held] = extremes
            schemes.append(share)
    return low + np.array(schemes) * (high - low)


def random_actuations(robot: Robot, samples: int, seed: int = 0) -> Array:
    """Return uniform samples of the actuation limits, ordered so that neighbours are near.

    The order (a snake through a grid of cells) only helps warm starts; the set is what a plain
    random generator gives.
    """
    limits = robot.limits
    share = np.random.default_rng(seed).random((samples, len(limits)))
    cells = max(1, round(samples ** (1.0 / len(limits)) / 2.0))
    index = np.minimum((share * cells).astype(int), cells - 1)
    key = np.zeros(samples)
    turn = np.zeros(samples, dtype=int)
    for axis in range(len(limits)):
        along = np.where(turn % 2 == 0, index[:, axis], cells - 1 - index[:, axis])
        key = key * cells + along
        turn = turn + index[:, axis]
    order = np.argsort(key, kind='stable')
    return limits[:, 0] + share[order] * (limits[:, 1] - limits[:, 0])


def sample(robot: Robot, actuations: Array) -> WorkspaceRange:
    """Solve every actuation (n, m), each warm-started from the one before."""
    positions, rotations = [], []
    failed = 0
    guess: Configuration | None = None
    for actuation in actuations:
        q = robot.forward(actuation, guess=guess)
        if q.status.converged and not q.status.stable:
            q = robot.forward(actuation)  # the path led to another branch: start from rest
        if not q.status.converged or not q.status.stable:
            failed += 1
            guess = None
            continue
        guess = q
        positions.append(q.tip[:3, 3])
        rotations.append(so3_log(q.tip[:3, :3]))
    return WorkspaceRange(
        np.array(positions).reshape(-1, 3), np.array(rotations).reshape(-1, 3), failed
    )


def boundary(robot: Robot, points: int = 19) -> WorkspaceRange:
    """Solve the boundary schemes."""
    limits = robot.limits
    schemes = boundary_schemes(limits[:, 0], limits[:, 1], points)
    return sample(robot, schemes.reshape(-1, len(limits)))


def displacement(robot: Robot, force: Array, actuation: Array | None = None) -> Array:
    """Return the tip displacement (3,) [m] under a dead tip force (3,) [N]."""
    at = robot.limits[:, 0] if actuation is None else actuation
    free = robot.forward(at)
    loaded = robot.forward(at, [*force, 0.0, 0.0, 0.0], guess=free)
    if not loaded.status.converged:
        raise InvalidInput('force', list(force), 'a load with an equilibrium')
    return loaded.tip[:3, 3] - free.tip[:3, 3]


def stiffness_map(
    robot: Robot, size: float = 0.1, azimuths: int = 24, elevations: int = 7
) -> Array:
    """Return |displacement| [m] under a force of `size` [N] in all directions, Fig. 12(b).

    Shape (elevations, azimuths); elevations run from -90 to 90 deg.
    """
    out = np.empty((elevations, azimuths))
    for i, elevation in enumerate(np.linspace(-0.5 * np.pi, 0.5 * np.pi, elevations)):
        for j, azimuth in enumerate(np.linspace(0.0, 2.0 * np.pi, azimuths, endpoint=False)):
            direction = np.array(
                [
                    math.cos(elevation) * math.cos(azimuth),
                    math.cos(elevation) * math.sin(azimuth),
                    math.sin(elevation),
                ]
            )
            out[i, j] = np.linalg.norm(displacement(robot, size * direction))
    return out


def payload_curve(robot: Robot, direction: Array, forces: Array) -> Array:
    """Return displacements (n, 3) [m] under forces (n,) [N] along a direction, Fig. 12(d)."""
    unit = np.asarray(direction) / np.linalg.norm(direction)
    return np.array([displacement(robot, size * unit) for size in forces])


def element_study(robot: Robot, largest: int = 10) -> Array:
    """Return ||x_(n+1) - x_n|| [m] of the unactuated tip for n_e = 2 ... largest, Fig. 8(a)."""
    tips = []
    for n in range(2, largest + 2):
        q = redesigned(robot, elements=n).forward(robot.limits[:, 0])
        tips.append(q.tip[:3, 3])
    return np.linalg.norm(np.diff(tips, axis=0), axis=1)


def constraint_residual(q: Configuration) -> float:
    """Return the norm of the constraints (24) over all nodes."""
    flaw = np.empty(6)
    total = 0.0
    for leg in q.state.nodes:
        for node in leg:
            constraints(node, flaw)
            total += float(flaw @ flaw)
    return math.sqrt(total)


def penalty_study(robot: Robot, penalties: Array, actuation: Array | None = None) -> Array:
    """Return the constraint residual for each penalty [N], Fig. 8(b)."""
    at = robot.limits[:, 0] if actuation is None else actuation
    return np.array(
        [
            constraint_residual(redesigned(robot, penalty=float(alpha)).forward(at))
            for alpha in penalties
        ]
    )
