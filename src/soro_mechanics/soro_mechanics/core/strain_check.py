# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether rods that are straight at rest are bent further than a linear law holds."""

from __future__ import annotations

from dataclasses import replace

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.status import OUTSIDE, STRAIN_LIMIT, Warnings
from soro_mechanics.numerics.bending_kernels import outer_strain


def judged(q: Configuration, poses: Array) -> Configuration:
    """Return q, with OUTSIDE_THEORY where a rod of it, poses (rods, n, 4, 4), is bent too far."""
    if not q.status.converged:
        return q
    strain, rod = outer_strain(poses, q.radii[0])
    if strain <= STRAIN_LIMIT:
        return q
    name, limit = q.backbone_names[rod], f'{STRAIN_LIMIT:.0%}'
    text = f'{OUTSIDE}: {name} is strained by {strain:.0%} in bending, more than {limit}'
    return replace(q, status=q.status.warned(Warnings.OUTSIDE_THEORY, text))
