# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the actuations in units of their ranges, and the actuations at them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from operator import ge, le

import numpy as np

from soro_mechanics.core.actuators import LIMIT_SLACK, limit_violations
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.reader import RobotDescription

TOUCHING = 1e-7  # a limit stops the solution when it is this near, relative to the range


@dataclass(frozen=True, eq=False)
class Limits:
    """Linear limits ``low <= rows @ z <= high`` on scaled actuations, and their names."""

    offset: Array
    scale: Array
    rest: Array
    rows: Array
    low: Array
    high: Array
    names: tuple[str, ...]

    @cached_property
    def _ends(self) -> tuple[list[list[float]], ...]:
        m, low, high = len(self.rest), self.low - LIMIT_SLACK, self.high + LIMIT_SLACK
        own = self.actuation(low[:m]), self.actuation(high[:m])  # SI, of the actuators alone
        pairs = (low, high), (self.low, self.high), own
        return tuple([least.tolist(), most.tolist()] for least, most in pairs)

    def actuation(self, z: Array) -> Array:
        """Return the actuation in SI."""
        return self.offset + self.scale * z

    def scaled(self, actuation: Array) -> Array:
        """Return an actuation in units of the ranges."""
        return (actuation - self.offset) / self.scale

    def without(self) -> Limits:
        """Return the same actuators without limits."""
        free = np.full_like(self.low, np.inf)
        return replace(self, low=-free, high=free)

    def kept(self, z: Array, exactly: bool = False) -> bool:
        """Whether z keeps every limit, but for rounding unless `exactly`."""
        return self._between(self.rows.dot(z) if len(self.low) > len(z) else z, exactly)

    def allow(self, actuation: Array) -> bool:
        """Whether an actuation in SI keeps every limit, but for rounding."""
        if len(self.low) > len(actuation):  # some are coupled
            return self.kept(self.scaled(actuation))
        return self._between(actuation, 2)

    def _between(self, values: Array, which: int) -> bool:
        given, (low, high) = values.tolist(), self._ends[which]
        return all(map(le, low, given)) and all(map(ge, high, given))

    def touching(self, z: Array) -> tuple[str, ...]:
        """Name the limits that z touches."""
        value = self.rows @ z
        near = (value - self.low <= TOUCHING) | (self.high - value <= TOUCHING)
        return tuple(n for n, close in zip(self.names, near, strict=True) if close)


def limits_of(robot: RobotDescription) -> Limits:
    """Return the limits of a robot."""
    low, coupled = robot.minimum, robot.coupled_limits
    scale = robot.maximum - low
    rest = (robot.rest - low) / scale
    weights = [c.coefficients * scale for c in coupled]
    high = [c.maximum - float(c.coefficients @ low) for c in coupled]
    names = tuple(a.name for a in robot.actuators) + tuple(c.name for c in coupled)
    # rows of coupled limits in units of their own size, so that TOUCHING means the same for all
    sizes = [np.abs(w).max() for w in weights]
    return Limits(
        low,
        scale,
        rest,
        np.vstack([np.eye(len(low)), *(w / s for w, s in zip(weights, sizes, strict=True))]),
        np.append(np.zeros(len(low)), np.full(len(coupled), -np.inf)),
        np.append(np.ones(len(low)), [h / s for h, s in zip(high, sizes, strict=True)]),
        names,
    )


def extremes(robot: RobotDescription) -> dict[str, Array]:
    """Return the actuations that matter: rest, all limits, one actuator at a time."""
    rest = robot.rest
    cases = {'rest': rest, 'all at minimum': robot.minimum, 'all at maximum': robot.maximum}
    for i, a in enumerate(robot.actuators):
        for end, value in (('minimum', a.minimum), ('maximum', a.maximum)):
            cases[f'{a.name} at {end}'] = np.where(np.arange(len(rest)) == i, value, rest)
    return {
        name: value
        for name, value in cases.items()
        if not limit_violations(robot.actuators, robot.coupled_limits, value)
    }
