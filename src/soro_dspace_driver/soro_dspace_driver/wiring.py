# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Section ``driver.dspace`` of a robot file: port, speed, which regulator belongs to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_driver.channels import read_channels
from soro_dspace_driver import protocol as f1
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section

BITS = 10  # of a byte on the wire, start and stop bits included


@dataclass(frozen=True, kw_only=True)
class DspaceWiring:
    """How the real-time computer is connected."""

    port: str = given()  #: device file of the serial port
    baudrate: int = given(default=115200, minimum=9600)
    rate: float = given('1/s', 100.0, minimum=10.0, maximum=500.0)  #: measurements per second
    serial: int = given(default=0, minimum=0)  #: the device that belongs to this robot; 0: any
    names: tuple[str, ...]  #: of the actuators
    channels: NDArray[np.int64]  #: (m,); index of the regulator, from 0, of each actuator
    #: maximum, slew: (m,); the actuators' limits, that the device keeps to as well [Pa], [Pa/s]
    maximum: NDArray[np.float64]
    slew: NDArray[np.float64]


def read_wiring(section: Section, robot: RobotDescription) -> DspaceWiring:
    """Read and check ``driver.dspace``.

    RobotFileError: with the path to the field, the value found and the remedy.
    """
    actuators = robot.actuators
    with section:
        wiring = read_record(
            section,
            DspaceWiring,
            names=tuple(a.name for a in actuators),
            channels=np.array(read_channels(section, actuators)),
            maximum=np.array([a.maximum for a in actuators]),
            slew=np.array([a.rate for a in actuators]),
        )
        if len(actuators) > f1.MAX_CHANNELS or {a.quantity for a in actuators} != {'pressure'}:
            raise section.error('port', f'this device drives 1 to {f1.MAX_CHANNELS} pressures')
        if feedback_bits(len(actuators)) * wiring.rate > 0.9 * wiring.baudrate:
            remedy = f'too slow for {wiring.rate:g} measurements per second'
            raise section.error('baudrate', remedy)
    if any(a.minimum != 0.0 or a.maximum > f1.FULL_SCALE * f1.COUNT for a in actuators):
        raise section.error('port', f'the regulators give 0 to {f1.FULL_SCALE * f1.COUNT:g} Pa')
    # The device has one slew limit, that of the slowest actuator.
    slowest = min(actuators, key=lambda a: a.rate)
    if not f1.LOWEST_RATE <= slowest.rate <= f1.HIGHEST_RATE:
        remedy = (
            f'this device slews at {f1.LOWEST_RATE:g} to {f1.HIGHEST_RATE:g} Pa/s: change the rate'
        )
        path = robot.written_path(f'actuators[{actuators.index(slowest)}].rate')
        raise RobotFileError(path, f'{slowest.rate:g} Pa/s', remedy, section.file)
    return wiring


def feedback_bits(channels: int) -> int:
    """Return the bits on the wire of one measurement."""
    zeros = (0,) * channels
    mask = 0 if f1.minor_for(channels) else None
    return BITS * len(f1.Feedback(0, 0, zeros, zeros, 0, 0, 0, mask).frame(0).pack())
