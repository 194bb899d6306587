# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a robot file says of ``tracker`` and ``force_sensor``; how a calibration writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import os
from typing import Any

import numpy as np

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True, eq=False)
class Tracker:
    """`index`: of the pose in a PoseArray, -1: not stated; an empty `frame`: TF knows it."""

    index: int = -1
    marker: Array = field(default_factory=lambda: np.eye(4))  # (4, 4) in the tip
    frame: str = ''
    base: Array = field(default_factory=lambda: np.eye(4))  # (4, 4); `frame` in base_link


@dataclass(frozen=True, eq=False)
class ForceSensor:
    """What a sensor reads without a load: its `zero` (6,) and the weight of a tool."""

    frame: str  # with or without the robot's prefix
    zero: Array  # N, N m
    mass: float  # kg
    centre: Array  # (3,) [m]

    def load(self, wrench: Array, gravity: Array) -> Array:
        """Return the load of a reading (6,), under gravity (3,) [m/s^2]; all in its axes."""
        weight = self.mass * gravity
        return wrench - self.zero - np.append(weight, np.cross(self.centre, weight))


def read_tracker(root: Section, actuators: tuple[Actuator, ...]) -> Tracker:
    """Read ``tracker``."""
    with root.section('tracker') as s:
        frame, poses = '', {'marker': np.eye(4), 'base': np.eye(4)}
        for name in (key for key in poses if key in s):
            with s.section(name) as place:
                frame = place.text('frame') if name == 'base' else frame
                poses[name] = _pose(place)
        return Tracker(s.integer('index', -1, minimum=-1), poses['marker'], frame, poses['base'])


def read_force_sensor(root: Section, actuators: tuple[Actuator, ...]) -> ForceSensor:
    """Read ``force_sensor``."""
    with root.section('force_sensor') as s:
        parts = ('force', 'N'), ('moment', 'N m'), ('centre', 'm')
        force, moment, centre = (s.vector(key, unit, 3, np.zeros(3)) for key, unit in parts)
        mass = s.quantity('mass', 'kg', 0.0, minimum=0.0)
        return ForceSensor(s.text('frame'), np.append(force, moment), mass, centre)


def measured(numbers: Array, unit: str, note: str) -> dict[str, str]:
    """Return a quantity as it stands in a robot file, with its origin."""
    text = ' '.join(f'{x:.6g}' for x in np.atleast_1d(numbers))
    return {'value': f'{text} {unit}', 'source': 'measured', 'note': note}


def placed(pose: Array, note: str) -> dict[str, Any]:
    """Return a pose (4, 4) as it stands in a robot file, measured; see `read_tracker`."""
    from soro_mechanics.numerics import lie

    position, turn = 1e3 * pose[:3, 3], np.degrees(lie.so3_log(pose[:3, :3]))
    return {'position': measured(position, 'mm', note), 'rotation': measured(turn, 'deg', note)}


def write_section(
    file: str, key: str, values: Mapping[str, Any], target: str | os.PathLike[str]
) -> None:
    """Write a copy of a robot file with values in a section; RobotFileError: impossible."""
    from soro_mechanics.robot_file.schema2.round_trip import RoundTrip, styled

    document = RoundTrip(file)
    document.tree[key] = styled({**document.tree.get(key, {}), **values})
    document.save(target)


def _pose(place: Section) -> Array:
    from soro_mechanics.numerics import lie

    pose, zero = np.eye(4), np.zeros(3)
    pose[:3, 3] = place.vector('position', 'm', 3, zero)
    pose[:3, :3] = lie.so3_exp(place.vector('rotation', 'rad', 3, zero))
    return pose
