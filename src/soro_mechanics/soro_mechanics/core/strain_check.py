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
    # All rods at once, after every solve; what lies between two rods is no part of either.
    between = np.cumsum([len(poses) for poses in q.backbones])[:-1] - 1
    steps = np.diff(np.concatenate(q.backbones)[:, :3, 2:4], axis=0)  # of axis and place
    chord, way = np.sqrt(np.einsum('nik,nik->kn', steps, steps))
    turn = 2.0 * np.arcsin(np.minimum(0.5 * chord, 1.0))  # the chord is 2 sin(turn / 2)
    strain = np.concatenate(q.radii)[1:] * turn / way
    strain[between] = 0.0
    worst = int(strain.argmax())
    return float(strain[worst]), q.backbone_names[int(np.searchsorted(between, worst))]


def judged(q: Configuration, limit: float = STRAIN_LIMIT) -> Configuration:
    """Return q, with OUTSIDE_THEORY where a rod is bent too far."""
    if not q.status.converged:
        return q
    strain, rod = bending_strain(q)
    if strain <= limit:
        return q
    text = f'{OUTSIDE}: {rod} is strained by {strain:.0%} in bending, more than {limit:.0%}'
    return replace(q, status=q.status.warned(Warnings.OUTSIDE_THEORY, text))
