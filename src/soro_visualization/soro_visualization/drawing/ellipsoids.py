# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Compliance ellipsoids: where points of the robot go under a force of any direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_visualization.drawing.colour_scale import rounded
from soro_visualization.drawing.shape import Array, pose_matrix

PER_ROD = 5  # more hide the robot
LARGEST = 0.18  # of the robot's extent: half axis of the largest ellipsoid
BEYOND = 1.5  # of the thickest rod's radius: it must stick out of it at least
THINNEST = 2e-3  # of the robot's extent: a stiff direction stays visible


@dataclass(frozen=True)
class Ellipsoids:
    """Ellipsoids in base_link."""

    centres: Array  #: (n, 3) [m]
    rotations: Array  #: (n, 3, 3); columns are the axes; right-handed
    half_axes: Array  #: (n, 3) [m]; displacement under `force`
    force: float  #: [N]
    #: softest, stiffest: [m/N]; largest and smallest compliance of all
    softest: float
    stiffest: float


def chosen(messages: Sequence[Any], per_rod: int = PER_ROD) -> list[Any]:
    """Return evenly spaced soro_msgs/Compliance messages of each backbone, its end included."""
    rods: dict[str, list[Any]] = {}
    for message in messages:
        rods.setdefault(message.backbone, []).append(message)
    picked = []
    for stations in rods.values():
        # Nothing moves at a clamped root, so the first one drawn lies beyond it.
        places = np.linspace(0, len(stations) - 1, min(per_rod, len(stations) - 1) + 1)[1:]
        picked += [stations[round(p)] for p in (places if len(stations) > 1 else [0])]
    return picked


def ellipsoids(messages: Sequence[Any], extent: float, radius: float = 0.0) -> Ellipsoids | None:
    """Return the ellipsoids of soro_msgs/Compliance messages, under a round force.

    - `extent`: of the robot [m]; the largest ellipsoid stays well below it.
    - `radius`: of the thickest rod [m]; the largest ellipsoid sticks out of it.
    """
    messages = [m for m in messages if np.all(np.isfinite(m.principal_compliance))]
    if not messages or max(m.principal_compliance[0] for m in messages) <= 0.0:
        return None
    values = np.array([m.principal_compliance for m in messages])
    size = max(LARGEST * extent, 2.0 * BEYOND * radius)  # a round number may halve it
    force = rounded(size / float(values.max()))
    rotations = np.array([[(a.x, a.y, a.z) for a in m.principal_axis] for m in messages])
    rotations = np.swapaxes(rotations, 1, 2)
    rotations[np.linalg.det(rotations) < 0.0, :, 2] *= -1.0
    centres = np.array([pose_matrix(m.pose)[:3, 3] for m in messages])
    half_axes = np.maximum(values * force, THINNEST * extent)
    ends = float(values.max()), float(values.min())
    return Ellipsoids(centres, rotations, half_axes, force, *ends)


def quaternions_wxyz(rotations: Array) -> Array:
    """Return unit quaternions w, x, y, z (n, 4) of rotation matrices (n, 3, 3)."""
    from soro_node.conversions import quaternions_of

    return np.roll(quaternions_of(rotations), 1, axis=1)
