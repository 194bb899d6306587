# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a solve of a chain of segments leaves: the actuation stage and the loaded rod."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.models.segments.rod_kernels import PointLoads
from soro_mechanics.models.segments.schema import SegmentChain


@dataclass(frozen=True)
class Ramp:
    """Result of the actuation stage: section record, its variations, base moments."""

    actuation: Array
    gravity: Array
    record: Array
    d_record: Array
    starts: Array
    passes: int
    residual: float
    structure: SegmentChain  # whose sections these are


@dataclass(frozen=True)
class RodState:
    """Solution kept for a warm start, Jacobian and compliance."""

    grid: Grid
    loads: PointLoads
    ramp: Ramp
    base_wrench: Array
    nodes: Array
    columns: Array
    integral: Array
