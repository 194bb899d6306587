# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.ros2_control`` of a robot file: topics, joints, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_driver.channels import read_channels
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class Ros2ControlWiring:
    """How actuators and joints belong together: joint = zero + scale * actuator.

    `command_topic` is that of a forward_command_controller, `state_topic` that of a
    joint_state_broadcaster, whose field `measured` holds the measurement. `places` are those of
    the actuators in a command, from 0: the order of the controller's parameter `joints`.
    """

    command_topic: str
    state_topic: str
    joints: tuple[str, ...]
    places: tuple[int, ...]
    measured: str
    scale: tuple[float, ...]
    zero: tuple[float, ...]

    def command(self, values: Array) -> list[float]:
        """Return the data of a command for actuator values (m,) [SI]."""
        data = np.empty(len(values))
        data[list(self.places)] = np.array(self.zero) + np.array(self.scale) * values
        return data.tolist()

    def measurement(self, message: Any) -> Array | None:
        """Return what a JointState says of the actuators (m,) [SI]; None: not of all of them."""
        field = getattr(message, self.measured)
        if not set(self.joints) <= set(message.name) or len(field) != len(message.name):
            return None
        found = np.array([field[message.name.index(joint)] for joint in self.joints])
        return (found - self.zero) / self.scale if np.isfinite(found).all() else None


def read_wiring(section: Section, robot: RobotDescription) -> Ros2ControlWiring:
    """Read and check ``driver.ros2_control``. Raises RobotFileError."""
    count = len(robot.actuators)
    with section:
        topics = section.text('command_topic'), section.text('state_topic', '/joint_states')
        for key, topic in zip(('command_topic', 'state_topic'), topics, strict=True):
            if not topic.startswith('/'):
                raise section.error(key, 'write the whole name, from / on (`ros2 topic list`)')
        with section.section('joints') as table:
            joints = tuple(table.text(a.name) for a in robot.actuators)
        if len(set(joints)) != count:
            raise section.error('joints', 'a joint of its own for each actuator')
        places = read_channels(section, robot.actuators)
        measured = section.text('measured', 'position', choices=('position', 'velocity', 'effort'))
        scale = section.vector('scale', '1', count, np.ones(count))
        if not np.all(scale):
            raise section.error('scale', 'not zero; negative where a joint counts the other way')
        zero = section.vector('zero', '1', count, np.zeros(count))
    return Ros2ControlWiring(
        *topics, joints, places, measured, tuple(scale.tolist()), tuple(zero.tolist())
    )
