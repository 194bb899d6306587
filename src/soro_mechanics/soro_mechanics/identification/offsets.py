# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant errors of a recording as unknowns: zeros of actuator sensors, place of the marker.

A sensor says ``measured = true + offset``; a tracker sees a marker at ``p + R d`` of a tip p, R.
Neither is a number of the robot file; left out, the fit blames the numbers that are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.robot import Robot

SHARE_OF_RANGE = 0.1  # of the actuator's range: a sensor's offset of one in the fit
SHARE_OF_LENGTH = 0.1  # of the body's length: a marker's offset of one in the fit
AXES = 'xyz'


@dataclass(frozen=True)
class FoundOffset:
    """An offset as identified; SI, with an interval that holds together with all others."""

    name: str
    unit: str
    value: float
    low: float
    high: float


class Offsets:
    """Which offsets are fitted: of the sensors of actuators, and of the marker from the tip.

    `names` are ``sensor_<actuator>`` and ``marker_<axis>`` of the tip's frame, with SI `units`;
    `scales` (k,) is what one in the fit is: a tenth of an actuator's range, or of the body's
    length at rest.

    Raises UnknownName: no such actuator; InvalidInput: a sensor twice.
    """

    def __init__(self, robot: Robot, sensors: Sequence[str] = (), marker: bool = False) -> None:
        known = [a.name for a in robot.actuators]
        for name in sensors:
            if name not in known:
                raise UnknownName('sensor', name, known)
        if len(set(sensors)) != len(sensors):
            raise InvalidInput('sensors', list(sensors), 'each actuator once')
        self.indices = [known.index(name) for name in sensors]
        chosen = [robot.actuators[i] for i in self.indices]
        self.marker = marker
        self.names = (
            *(f'sensor_{a.name}' for a in chosen),
            *(f'marker_{axis}' for axis in (AXES if marker else '')),
        )
        self.units = (*(a.unit for a in chosen), *('m' for _ in (AXES if marker else '')))
        ranges = [SHARE_OF_RANGE * (a.maximum - a.minimum) for a in chosen]
        lengths = [SHARE_OF_LENGTH * body_length(robot)] * 3 if marker else []
        self.scales: Array = np.array([*ranges, *lengths])

    def __len__(self) -> int:
        return len(self.names)

    def actuation(self, measured: Array, values: Array) -> Array:
        """Return what the actuators did where (n, m) was measured; offsets (k,), all in SI."""
        true = measured.copy()
        true[:, self.indices] -= values[: len(self.indices)]
        return true

    def markers(self, tips: Array, values: Array) -> Array:
        """Return where the marker is, (n, 3) [m], from tips (n, 4, 4) and offsets (k,) in SI."""
        if not self.marker:
            return np.ascontiguousarray(tips[:, :3, 3])
        return tips[:, :3, 3] + tips[:, :3, :3] @ values[-3:]


def body_length(robot: Robot) -> float:
    """Return the length of the longest backbone with all actuators at rest [m].

    Raises InvalidInput: the robot has no extent.
    """
    q: Configuration = robot.forward(robot.description.rest)
    length = max(
        float(np.linalg.norm(np.diff(line[:, :3, 3], axis=0), axis=1).sum())
        for line in q.backbones
    )
    if not length > 0.0:
        raise InvalidInput('marker', robot.name, 'a robot whose body has a length')
    return length
