# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Creep of a viscoelastic material: part of what a pressure does comes late."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.robot_file.section import Section

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CreepProperties:
    """A standard linear solid: `part` of the response follows with `time_constant` [s]."""

    part: float = 0.0
    time_constant: float = 8.0


def read_creep(root: Section) -> CreepProperties:
    """Read the optional mapping ``creep``."""
    default = CreepProperties()
    if 'creep' not in root:
        return default
    with root.section('creep') as s:
        return CreepProperties(
            s.number('part', default.part, minimum=0.0, maximum=0.5),
            s.quantity('time_constant', 's', default.time_constant, positive=True),
        )


class Creep:
    """What the material feels of m inputs."""

    def __init__(self, count: int, properties: CreepProperties, now: float) -> None:
        self._properties = properties
        self._late, self._now = np.zeros(count), now

    def apply(self, values: Array, now: float) -> Array:
        """Return the part at once and the part that has come by `now`, shape (m,)."""
        p = self._properties
        follow = 1.0 - math.exp(-max(0.0, now - self._now) / p.time_constant)
        self._now = max(now, self._now)
        self._late = self._late + follow * (values - self._late)
        felt: Array = (1.0 - p.part) * values + p.part * self._late
        return felt
