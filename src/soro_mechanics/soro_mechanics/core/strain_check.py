# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether rods that are straight at rest are bent further than a linear law holds."""

from __future__ import annotations

from dataclasses import replace

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.core.status import OUTSIDE, STRAIN_LIMIT, Warnings
from soro_mechanics.numerics.bending_kernels import outer_strain


def bending_strain(q: Configuration) -> tuple[float, str]:
    """Return the largest strain of an outer fibre by bending, and the backbone it is of."""
    strains = [outer_strain(*rod) for rod in zip(q.backbones, q.radii, strict=True)]
    worst = max(strains)
    return worst, q.backbone_names[strains.index(worst)]


def judged(q: Configuration) -> Configuration:
    """Return q, with OUTSIDE_THEORY where a rod is bent too far."""
    if not q.status.converged:
        return q
    strain, rod = bending_strain(q)
    if strain <= STRAIN_LIMIT:
        return q
    text = f'{OUTSIDE}: {rod} is strained by {strain:.0%} in bending, more than {STRAIN_LIMIT:.0%}'
    return replace(q, status=q.status.warned(Warnings.OUTSIDE_THEORY, text))
