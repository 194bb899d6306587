# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Workspace of the arm from actuator lengths and geometry (Akbari 2021, eq 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.array_input import finite_rows
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.constant_curvature.model import ConstantCurvature
from soro_studies.mechanics.constant_curvature_kernels import forward_batch, inverse_batch

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LengthWorkspace:
    """Tip positions that actuator lengths reach, and what excludes the others.

    Attributes
    ----------
    lengths : ndarray, shape (n, 3) [m]
        Every sample of the open cube of allowed lengths, then its eight corners: they are its
        limits, which the arm comes near to as it likes, and random samples do not.
    points : ndarray, shape (n, 3) [m]
        Tip positions of the samples.
    folded : ndarray of bool, shape (n,)
        The centre of curvature lies inside the arm, so its inner side folds.
    struck : ndarray of bool, shape (n,)
        Half a turn or more: the tip plate passes through the base plane.
    """

    lengths: Array
    points: Array
    folded: NDArray[np.bool_]
    struck: NDArray[np.bool_]

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Samples that keep every geometric constraint."""
        return ~(self.folded | self.struck)


def length_workspace(
    rest_length: float, offset: float, angles: Array, radius: float, samples: int, seed: int = 0
) -> LengthWorkspace:
    """Sample lengths uniformly in (l0 / 2, 3 l0 / 2), eq (4), its corners too; test the geometry.

    Parameters
    ----------
    rest_length : float [m]
        l0.
    offset : float [m]
        Distance of the actuators from the backbone.
    angles : ndarray, shape (3,) [rad]
        Where the actuators stand.
    radius : float [m]
        Outer radius of the arm and of its tip plate.
    samples : int
        How many, without the corners.
    seed : int
        Of the random generator.

    Notes
    -----
    With the arm's radius below the radius of curvature, the lowest point of the tip plate is at
    (r - radius) sin(theta): it stays above the base for theta below half a turn.
    """
    if samples < 1:
        raise InvalidInput('samples', samples, 'at least 1')
    generator = np.random.default_rng(seed)
    corners = np.stack(np.meshgrid(*[[0.5, 1.5]] * 3), axis=-1).reshape(-1, 3)
    lengths = rest_length * np.vstack([0.5 + generator.random((samples, 3)), corners])
    to_lengths = np.column_stack([-offset * np.cos(angles), -offset * np.sin(angles), np.ones(3)])
    to_arc = np.linalg.inv(to_lengths)
    arcs = lengths @ to_arc.T
    theta = np.hypot(arcs[:, 0], arcs[:, 1])
    poses = np.empty((len(lengths), 4, 4))
    forward_batch(lengths, to_arc, poses)
    return LengthWorkspace(
        lengths, poses[:, :3, 3].copy(), arcs[:, 2] <= radius * theta, theta >= np.pi
    )


def poses_of(model: ConstantCurvature, lengths: Array) -> Array:
    """Return tip poses (n, 4, 4) for actuator lengths (n, 3) [m]."""
    lengths = finite_rows('lengths', lengths, 3)
    out = np.empty((len(lengths), 4, 4))
    forward_batch(lengths, model.to_arc, out)
    return out


def lengths_through(model: ConstantCurvature, points: Array) -> Array:
    """Return actuator lengths (n, 3) [m] that bring the tip to points (n, 3) [m]."""
    points = finite_rows('points', points, 3)
    behind = (points[:, 2] <= 0.0) & np.all(points[:, :2] == 0.0, axis=1)
    if np.any(behind):
        expected = 'points that an arc reaches: none at the origin or behind it on the axis'
        raise InvalidInput('points', points[behind], expected)
    out = np.empty((len(points), 3))
    inverse_batch(points, model.to_lengths, out)
    return out
