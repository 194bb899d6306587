# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Creep of a viscoelastic material: part of what an input does comes late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True, eq=False)
class CreepProperties:
    """A Kelvin chain: each part of the response follows with its time constant [s]. Assumed."""

    part: tuple[float, ...] | Array = (0.0,)  # or (c, m), by input
    time_constant: tuple[float, ...] | Array = (8.0,)


def read_creep(root: Section) -> CreepProperties:
    """Read the optional mapping ``creep``: one element, or as many parts as time constants."""
    with root.optional('creep') as s:
        parts = s.raw('part', 0.0)
        size = len(parts) if isinstance(parts, list) else 1
        part = s.vector('part', '1', size, (0.0,))
        times = s.vector('time_constant', 's', size, (8.0,) * size)
        if (part < 0.0).any() or part.sum() > 0.5:
            raise s.error('part', 'must be from 0 to 50 %, all parts together')
        if (times <= 0.0).any():
            raise s.error('time_constant', 'must be above zero')
    return CreepProperties(tuple(part.tolist()), tuple(times.tolist()))


class Creep:
    """What the material feels of m inputs."""

    def __init__(self, count: int, properties: CreepProperties, now: float) -> None:
        size = len(properties.part)
        self._part = np.array(properties.part).reshape(size, -1)
        self._time = np.array(properties.time_constant).reshape(size, -1)
        self._late, self._now = np.zeros((len(self._part), count)), now

    def apply(self, values: Array, now: float) -> Array:
        """Return the part at once and the parts that have come by `now`, shape (m,)."""
        follow = self._follow(now)
        self._now = max(now, self._now)
        self._late = self._late + follow * (values - self._late)
        return values + (self._part * (self._late - values)).sum(axis=0)

    def undo(self, felt: Array, now: float) -> Array:
        """Return the input (m,) of which `apply` at `now` would give `felt`; nothing moves."""
        waits = self._part * (1.0 - self._follow(now))
        return (felt - (waits * self._late).sum(axis=0)) / (1.0 - waits.sum(axis=0))

    def _follow(self, now: float) -> Array:
        return -np.expm1(-max(0.0, now - self._now) / self._time)
