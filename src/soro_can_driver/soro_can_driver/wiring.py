# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.can`` of a robot file: bus, framing, gear, zero positions, sensors."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_can_driver.board import (
    flex_groups_of,
    groups_of,
    MAX_MOTORS,
    minor_for,
)
from soro_driver.channels import read_channels
from soro_driver.settings import MAX_STEP, read_rate
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

SERVER_PORT = 29536  # where a socketcand server listens unless it is told otherwise
FRAMINGS = ('classic', 'fd')
FRAME_BITS = 127  # of a classic frame of eight bytes: 111 and stuffing, on average
MAX_LOAD = 0.9  # of a bus
TRACKING = math.radians(10.0)  # of the outputs; at 1000 deg/s a motor lags 5.5


@dataclass(frozen=True)
class CanWiring:
    """How a board is connected and what its numbers mean."""

    #: interface, channel: of python-can: 'socketcan' with 'can0', 'socketcand' with a host, ..
    interface: str
    channel: str
    #: host, port: int; of a socketcand server; not used by other interfaces
    host: str
    port: int
    #: bitrate, data_bitrate: [bit/s]
    bitrate: int
    data_bitrate: int
    framing: str  #: 'classic' (500 Hz) or 'fd' (1 kHz)
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

    Raises
    ------
    RobotFileError
        With the path to the field, the value found and the remedy.
    """
    with section:
        interface = section.text('interface')
        channel = section.text('channel')
        host = section.text('host', '127.0.0.1')
        port = section.integer('port', SERVER_PORT, minimum=1)
        bitrate = section.integer('bitrate', 1_000_000, minimum=10_000)
        data_bitrate = section.integer('data_bitrate', 5_000_000, minimum=10_000)
        framing = section.text('framing', 'classic', choices=FRAMINGS)
        ratio = section.number('ratio', positive=True)
        motors, sensors = len(robot.actuators), _sensors(robot)
        if motors > MAX_MOTORS or {a.quantity for a in robot.actuators} != {'angle'}:
            raise section.error('ratio', f'the board drives 1 to {MAX_MOTORS} angles')
        zero = section.vector('zero', 'rad', motors, np.zeros(motors))
        direction = section.vector('direction', '1', motors, np.ones(motors))
        if not np.all(np.abs(direction) == 1.0):
            raise section.error('direction', 'write 1 or -1 for each motor')
        tracking = section.quantity('tracking_error', 'rad', TRACKING, positive=True)
        serial = section.integer('serial', 0, minimum=0)
        if read_channels(section, robot.actuators) != tuple(range(motors)):
            raise section.error('channels', 'not supported yet by can: keep the order of drives')
        if framing == 'fd' and minor_for(motors, len(sensors)):
            raise section.error('framing', 'write classic: one FD frame carries six motors')
        load = bus_load(motors, len(sensors), read_rate(robot)) / bitrate
        if framing == 'classic' and load > MAX_LOAD:
            remedy = f'too slow, {load:.0%} of the bus: lower driver.rate'
            raise section.error('bitrate', remedy)
    speed = np.array([a.rate for a in robot.actuators])
    return CanWiring(
        interface, channel, host, port, bitrate, data_bitrate, framing, ratio, zero, direction,
        np.array([a.minimum for a in robot.actuators]),
        np.array([a.maximum for a in robot.actuators]),
        speed, MAX_STEP * speed / read_rate(robot), tracking,
        tuple(a.name for a in robot.actuators),
        sensors, serial,
    )  # fmt: skip


def bus_load(motors: int, sensors: int, rate: float) -> float:
    """Return what the frames of every cycle take of a classic bus [bit/s]."""
    frames = 1 + 3 * groups_of(motors) + flex_groups_of(motors, sensors)
    return frames * FRAME_BITS * rate


def _sensors(robot: RobotDescription) -> tuple[str, ...]:
    haptic = robot.structure.get('haptic')
    names = () if haptic is None else tuple(s.name for s in haptic.strips)
    return names if len(names) <= MAX_MOTORS else ()
