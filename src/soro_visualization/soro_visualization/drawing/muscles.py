# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscles between the disks of a backbone: drawn from the disks' poses, in no message themselves.

A model of the section ``kirchhoff`` computes the backbone; its muscles are straight lines between
points of neighbouring disks (Chen 2022). In the model ``network`` of the same robot they are rods,
and drawn as such.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.models.kirchhoff.schema import MuscleBackbone
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.registry import MODELS
from soro_visualization.drawing.shape import Array, Shape

SECTION = 'kirchhoff'


@dataclass(frozen=True)
class DrawnMuscles:
    """Muscles of one shape."""

    ends: Array  #: (n, 2, 3) [m]; on the lower and on the upper disk, in base_link
    radius: float  #: [m]

    @property
    def length(self) -> Array:
        """Distance of the two ends of each muscle, (n,) [m]."""
        return np.linalg.norm(self.ends[:, 1] - self.ends[:, 0], axis=1)


class Muscles:
    """Where the muscles of a robot are.

    - `rest` [m]: length in the middle of the colour scale.
    """

    def __init__(self, backbone: MuscleBackbone, rest: float) -> None:
        self.rest = rest
        self._backbone = backbone
        angle = backbone.muscle_angles  # (modules, 3)
        self._points = np.zeros((*angle.shape, 3))  # in the frames of the disks at both ends
        self._points[..., 0] = backbone.muscle_radius * np.cos(angle)
        self._points[..., 1] = backbone.muscle_radius * np.sin(angle)

    def on_disks(self, shape: Shape) -> dict[str, Array]:
        """Return where muscles are fixed on the disks of a shape, in their frames (n, 3) [m]."""
        ends = self._points[0], *self._points  # an upper disk has the muscles below it
        found = {f'disk_{t}': points for t, points in enumerate(ends)}
        return {name: points for name, points in found.items() if name in shape.bodies}

    def of(self, shape: Shape) -> DrawnMuscles | None:
        """Return the muscles of a shape; None where its model draws them or has no disks."""
        if MODELS.get(shape.model, ('',))[0] != SECTION:
            return None
        disks = [shape.bodies.get(f'disk_{t}') for t in range(self._backbone.modules + 1)]
        if any(disk is None for disk in disks):
            return None
        poses = np.array(disks)
        ends = np.empty((*self._points.shape[:2], 2, 3))
        for end, at in enumerate((poses[:-1], poses[1:])):
            turned = np.einsum('tij,tmj->tmi', at[:, :3, :3], self._points)
            ends[:, :, end] = at[:, None, :3, 3] + turned
        return DrawnMuscles(ends.reshape(-1, 2, 3), 0.5 * self._backbone.muscle_diameter)


def muscles_of(description: RobotDescription) -> Muscles | None:
    """Return the muscles of a robot, or None where it has none of that kind."""
    backbone = description.structure.get(SECTION)
    if backbone is None:
        return None
    return Muscles(backbone, float(np.mean(description.rest)))
