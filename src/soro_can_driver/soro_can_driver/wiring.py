# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.can`` of a robot file: bus, framing, gear, zero positions, sensors."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from soro_can_driver.board import MOTORS
from soro_driver.channels import read_channels
from soro_driver.settings import MAX_STEP, read_rate
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

SERVER_PORT = 29536  # where a socketcand server listens unless it is told otherwise
FRAMINGS = ('classic', 'fd')
TRACKING = math.radians(10.0)  # of the outputs; at 1000 deg/s a motor lags 5.5


@dataclass(frozen=True)
class CanWiring:
    """How a board is connected and what its numbers mean.

    Attributes
    ----------
    interface, channel : str
        Of python-can: 'socketcan' with 'can0', 'socketcand' with a host, ...
    host, port : str, int
        Of a socketcand server; not used by other interfaces.
    bitrate, data_bitrate : int
        [bit/s]
    framing : str
        'classic' (500 Hz) or 'fd' (1 kHz).
    ratio : float
        Turns of a motor per turn of its output.
    zero : ndarray, shape (6,) [rad]
        Output angles where the encoders read zero.
    direction : ndarray, shape (6,)
        1, or -1 where the motor counts the other way.
    minimum, maximum : ndarray, shape (6,) [rad]
        Output angles the board itself keeps to: the actuators' limits.
    speed : ndarray, shape (6,) [rad/s]
        Of the outputs.
    step : ndarray, shape (6,) [rad]
        Of the outputs, the largest between two set-points in a row.
    tracking : float [rad]
        Of the outputs: set-point and encoder may not be farther apart for long.
    motors : tuple of str
        Names of the actuators.
    sensors : tuple of str
        Names of the flex sensors, six or none.
    serial : int
        The board that belongs to this robot; 0: any.
    """

    interface: str
    channel: str
    host: str
    port: int
    bitrate: int
    data_bitrate: int
    framing: str
    ratio: float
    zero: NDArray[np.float64]
    direction: NDArray[np.float64]
    minimum: NDArray[np.float64]
    maximum: NDArray[np.float64]
    speed: NDArray[np.float64]
    step: NDArray[np.float64]
    tracking: float
    motors: tuple[str, ...]
    sensors: tuple[str, ...]
    serial: int


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
        zero = section.vector('zero', 'rad', MOTORS, np.zeros(MOTORS))
        direction = section.vector('direction', '1', MOTORS, np.ones(MOTORS))
        if not np.all(np.abs(direction) == 1.0):
            raise section.error('direction', 'write 1 or -1 for each motor')
        tracking = section.quantity('tracking_error', 'rad', TRACKING, positive=True)
        serial = section.integer('serial', 0, minimum=0)
        if len(robot.actuators) != MOTORS or {a.quantity for a in robot.actuators} != {'angle'}:
            raise section.error('ratio', f'the board drives {MOTORS} actuators that are angles')
        if read_channels(section, robot.actuators) != tuple(range(MOTORS)):
            raise section.error('channels', 'not supported yet by can: keep the order of drives')
    haptic = robot.structure.get('haptic')
    sensors = () if haptic is None else tuple(s.name for s in haptic.strips)
    speed = np.array([a.rate for a in robot.actuators])
    return CanWiring(
        interface, channel, host, port, bitrate, data_bitrate, framing, ratio, zero, direction,
        np.array([a.minimum for a in robot.actuators]),
        np.array([a.maximum for a in robot.actuators]),
        speed, MAX_STEP * speed / read_rate(robot), tracking,
        tuple(a.name for a in robot.actuators),
        sensors if len(sensors) == MOTORS else (), serial,
    )  # fmt: skip
