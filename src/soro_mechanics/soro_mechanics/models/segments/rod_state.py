# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a solve of a chain of segments leaves: the actuation stage and the loaded rod."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.models.segments.schema import SegmentChain


@dataclass(frozen=True)
class Increments:
    """What the actuation stage takes; it writes the last three."""

    push: Array  # (segments, 3) of the actuation
    d_push: Array  # (segments, 3, parameters)
    gravity: Array
    parts: Array  # of the actuation, at the end of every increment
    rule: int
    warm: bool  # whether `starts` are those of a like actuation
    starts: Array  # (increments, 3) moments at the base
    record: Array  # sections
    d_record: Array

    @property
    def inputs(self) -> tuple[Any, ...]:
        """What the kernels take first."""
        return self.push, self.d_push, self.gravity, self.parts, self.rule


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
    loads: tuple[NDArray[Any], ...]
    ramp: Ramp
    base_wrench: Array
    nodes: Array
    columns: Array
    integral: Array
