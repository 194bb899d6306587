# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.dynamixel`` of a robot file: port, servos, and how they turn."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_driver.settings import read_directions, read_rate
from soro_dynamixel_driver.protocol import BLOCK, BROADCAST, POSITIONS, TURN
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

MAX_LOAD = 0.6  # of the line
OVERHEAD, PER_SERVO = 40, BLOCK.size + 17  # bytes of a cycle


@dataclass(frozen=True)
class DynamixelWiring:
    """Servos `ids` on one bus, of the actuators `names`: output = zero + counts * per_count [rad].

    `current` limits every motor [A]; 0: the servo's own limit. `indirect_data` is the address of
    its first indirect data.
    """

    port: str
    baudrate: int
    names: tuple[str, ...]
    ids: tuple[int, ...]
    zero: Array
    per_count: Array
    minimum: Array
    maximum: Array
    current: float
    indirect_data: int

    def counts(self, values: Array) -> NDArray[np.int64]:
        """Return goals for angles (m,) [rad], within the limits."""
        clipped = np.clip(values, self.minimum, self.maximum)
        return np.rint((clipped - self.zero) / self.per_count).astype(np.int64)


def read_wiring(section: Section, robot: RobotDescription) -> DynamixelWiring:
    """Read and check ``driver.dynamixel``. Raises RobotFileError."""
    actuators, count = robot.actuators, len(robot.actuators)
    names, last = tuple(a.name for a in actuators), BROADCAST - 2
    with section:
        port, baudrate = section.text('port'), section.integer('baudrate', minimum=9600)
        with section.section('servos') as table:
            ids = tuple(table.integer(name, minimum=0, maximum=last) for name in names)
        if len(set(ids)) != count or {a.quantity for a in actuators} != {'angle'}:
            raise section.error('servos', 'an id of its own for each drive, all of them angles')
        ratio = section.number('ratio', 1.0, positive=True)
        zero = section.vector('zero', 'rad', count, np.zeros(count))
        direction = read_directions(section, count)
        current = section.quantity('current', 'A', 0.0, minimum=0.0, maximum=80.0)
        data = section.integer('indirect_data', 224, minimum=208, maximum=634)
        load = 10 * (OVERHEAD + count * PER_SERVO) * read_rate(robot) / baudrate
        if load > MAX_LOAD:
            raise section.error('baudrate', f'{load:.0%} of the line: raise it, or lower the rate')
        per_count = direction * 2.0 * math.pi / (TURN * ratio)
        low, high = (np.array([getattr(a, e) for a in actuators]) for e in ('minimum', 'maximum'))
        if np.abs((np.array([low, high]) - zero) / per_count).max() >= POSITIONS:
            raise section.error('ratio', 'within 255 turns of a servo, with zero and the range')
    return DynamixelWiring(port, baudrate, names, ids, zero, per_count, low, high, current, data)
