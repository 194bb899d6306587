# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether rods that are straight at rest are bent further than a linear law holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.status import OUTSIDE, Warnings

STRAIN_LIMIT = 0.2  # no solid keeps a linear law beyond (assumed)


def bending_strain(q: Configuration) -> tuple[float, str]:
    """Return the largest strain of an outer fibre by bending, and the backbone it is of.

    The radius times the turn of the axis between two stations over their distance.
    """
    worst, name = 0.0, ''
    for poses, radii, rod in zip(q.backbones, q.radii, q.backbone_names, strict=True):
        axis, place = poses[:, :3, 2], poses[:, :3, 3]
        chord = np.linalg.norm(np.diff(axis, axis=0), axis=1)  # 2 sin(turn / 2)
        turn = 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))
        strain = float(np.max(radii[1:] * turn / np.linalg.norm(np.diff(place, axis=0), axis=1)))
        if strain > worst:
            worst, name = strain, rod
    return worst, name


def judged(q: Configuration, limit: float = STRAIN_LIMIT) -> Configuration:
    """Return q, with OUTSIDE_THEORY where a rod is bent too far."""
    if not q.status.converged:
        return q
    strain, rod = bending_strain(q)
    if strain <= limit:
        return q
    text = f'{OUTSIDE}: {rod} is strained by {strain:.0%} in bending, more than {limit:.0%}'
    return replace(q, status=q.status.warned(Warnings.OUTSIDE_THEORY, text))
