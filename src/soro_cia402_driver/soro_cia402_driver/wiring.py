# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.cia402`` of a robot file: the bus, its drives, and how they turn."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_cia402_driver.protocol import MAX_NODE, Mode, MODES_KNOWN
from soro_driver.can_port import CanPort, FRAME_BITS, MAX_LOAD, read_port
from soro_driver.settings import read_directions, read_driver_settings
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

PERMILLE = 1e-6  # N m of a motor, per unit of a torque and mN m that the motor is rated for


@dataclass(frozen=True)
class Cia402Wiring:
    """Drives `nodes` on one bus, of the actuators `names`: output = zero + count * per_count.

    Angles in rad; in mode torque forces in N, where `per_count` is that of a motor rated for
    1 mN m. `tracking` [rad], 0: the drives' own window. `period` [s].
    """

    port: CanPort
    mode: Mode
    names: tuple[str, ...]
    nodes: tuple[int, ...]
    zero: Array
    per_count: Array
    minimum: Array
    maximum: Array
    tracking: float
    period: float


def read_wiring(section: Section, robot: RobotDescription) -> Cia402Wiring:
    """Read and check ``driver.cia402``. Raises RobotFileError."""
    actuators, count = robot.actuators, len(robot.actuators)
    names, settings = tuple(a.name for a in actuators), read_driver_settings(robot)
    kinds = {a.quantity for a in actuators}
    with section:
        port = read_port(section, ('classic',))
        with section.section('nodes') as table:
            nodes = tuple(table.integer(name, minimum=1, maximum=MAX_NODE) for name in names)
        if len(set(nodes)) != count or len(kinds) > 1 or not kinds <= set(MODES_KNOWN):
            raise section.error('nodes', 'one for each drive, all of them angles, or all forces')
        kind = kinds.pop()
        ratio = section.number('ratio', 1.0, positive=True)
        direction = read_directions(section, count)
        if kind == 'angle':
            counts = ratio * section.number('counts', positive=True)
            per_count = direction * 2.0 * math.pi / counts
            zero = section.vector('zero', 'rad', count, np.zeros(count))
            tracking = section.quantity('tracking_error', 'rad', 0.0, minimum=0.0)
        else:
            drum = section.quantity('drum', 'm', positive=True)
            per_count, zero, tracking = direction * PERMILLE * ratio / drum, np.zeros(count), 0.0
        load = (2 + 2 * count) * FRAME_BITS * settings.rate / port.bitrate
        if load > MAX_LOAD:
            raise section.error('bitrate', f'too slow, {load:.0%} of the bus: lower driver.rate')
    low, high = (np.array([getattr(a, end) for a in actuators]) for end in ('minimum', 'maximum'))
    mode, period = MODES_KNOWN[kind], settings.period
    return Cia402Wiring(port, mode, names, nodes, zero, per_count, low, high, tracking, period)
