# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How much air the chambers of a bent and stretched body hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration


def chamber_volumes(structure: dict[str, Any], q: Configuration) -> Array:
    """Return the volume of every actuator's chambers, shape (m,) [m^3]; zero where it has none.

    Chambers keep their area (assumed: they are wound with fibre), so that the volume is that times
    the length of their axis, as in the work p dV that the models' moments and forces do. Only
    bodies that are described as segments (`RobotDescription.structure`) say where theirs are.
    """
    volumes = np.zeros(len(q.actuation))
    chain = structure.get('segments')
    shapes = dict(zip(q.backbone_names, q.backbones, strict=True))
    for segment in () if chain is None else chain.segments:
        frames = shapes.get(segment.name, q.backbones[0])  # the arc of constant_curvature
        for chamber in segment.chambers:
            place = np.array([np.cos(chamber.angle), np.sin(chamber.angle), 0.0])
            axis = frames[:, :3, 3] + chamber.offset * frames[:, :3, :3] @ place
            length = np.linalg.norm(np.diff(axis, axis=0), axis=1).sum()
            volumes[chamber.actuator] += chamber.area * length
    return volumes
