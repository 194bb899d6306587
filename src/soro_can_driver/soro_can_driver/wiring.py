# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.can`` of a robot file: bus, framing, gear, zero positions, sensors."""

from __future__ import annotations

from dataclasses import astuple, dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_can_driver.board import flex_groups_of, groups_of, MAX_MOTORS, minor_for
from soro_driver.can_port import CanPort, FRAME_BITS, MAX_LOAD, read_port
from soro_driver.channels import read_channels
from soro_driver.settings import MAX_STEP, read_directions, read_rate
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

FRAMINGS = ('classic', 'fd')
TRACKING = math.radians(10.0)  # of the outputs; at 1000 deg/s a motor lags 5.5


@dataclass(frozen=True)
class CanWiring(CanPort):
    """How a board is connected and what its numbers mean."""

    ratio: float  #: turns of a motor per turn of its output
    zero: NDArray[np.float64]  #: (m,) [rad]; output angles where the encoders read zero
    direction: NDArray[np.float64]  #: (m,); 1, or -1 where the motor counts the other way
    #: minimum, maximum: (m,) [rad]; output angles the board itself keeps to: the actuators' limits
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    speed: NDArray[np.float64]  #: (m,) [rad/s]; of the outputs
    #: (m,) [rad]; of the outputs, the largest between two set-points in a row
    step: NDArray[np.float64]
    #: [rad]; of the outputs: set-point and encoder may not be farther apart for long
    tracking: float
    motors: tuple[str, ...]  #: names of the actuators
    sensors: tuple[str, ...]  #: names of the flex sensors
    serial: int  #: the board that belongs to this robot; 0: any


def read_wiring(section: Section, robot: RobotDescription) -> CanWiring:
    """Read and check ``driver.can``.

    RobotFileError: with the path to the field, the value found and the remedy.
    """
    with section:
        port = read_port(section, FRAMINGS)
        ratio = section.number('ratio', positive=True)
        motors, sensors = len(robot.actuators), _sensors(robot)
        if motors > MAX_MOTORS or {a.quantity for a in robot.actuators} != {'angle'}:
            raise section.error('ratio', f'the board drives 1 to {MAX_MOTORS} angles')
        zero = section.vector('zero', 'rad', motors, np.zeros(motors))
        direction = read_directions(section, motors)
        tracking = section.quantity('tracking_error', 'rad', TRACKING, positive=True)
        serial = section.integer('serial', 0, minimum=0)
        if read_channels(section, robot.actuators) != tuple(range(motors)):
            raise section.error('channels', 'not supported yet by can: keep the order of drives')
        if port.framing == 'fd' and minor_for(motors, len(sensors)):
            raise section.error('framing', 'write classic: one FD frame carries six motors')
        load = bus_load(motors, len(sensors), read_rate(robot)) / port.bitrate
        if port.framing == 'classic' and load > MAX_LOAD:
            remedy = f'too slow, {load:.0%} of the bus: lower driver.rate'
            raise section.error('bitrate', remedy)
    rows = [(a.minimum, a.maximum, a.rate) for a in robot.actuators]
    low, high, speed = np.array(rows).T
    turns, step = (ratio, zero, direction), MAX_STEP * speed / read_rate(robot)
    names = tuple(a.name for a in robot.actuators), sensors
    return CanWiring(*astuple(port), *turns, low, high, speed, step, tracking, *names, serial)


def bus_load(motors: int, sensors: int, rate: float) -> float:
    """Return what the frames of every cycle take of a classic bus [bit/s]."""
    frames = 1 + 3 * groups_of(motors) + flex_groups_of(motors, sensors)
    return frames * FRAME_BITS * rate


def _sensors(robot: RobotDescription) -> tuple[str, ...]:
    haptic = robot.structure.get('haptic')
    names = () if haptic is None else tuple(s.name for s in haptic.strips)
    return names if len(names) <= MAX_MOTORS else ()
