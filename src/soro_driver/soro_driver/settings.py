# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section ``driver`` of a robot file: what every driver needs, and which device it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_driver.device import Array
from soro_driver.safety.plausibility import PlausibilityLimits
from soro_mechanics.core.actuators import QUANTITIES
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.record import read_optional
from soro_mechanics.robot_file.section import Section
from soro_node.inputs.driver_constants import COMMAND_TIMEOUT, SIMULATED_COMMAND_TIMEOUT

RAMP, RELEASE = 'ramp', 'release'
SIMULATED = 'simulated'
MAX_STEP = 2.0  # periods: no set-point moves farther than the slew limit allows in them


@dataclass(frozen=True)
class DriverSettings:
    """What the robot file says about driving it; SI."""

    device: str  #: name of the device (entry-point group ``soro_driver.devices``)
    rate: float  #: ticks per second of the control loop
    #: without a command for longer, the safe action runs and the source has lost control [s]
    command_timeout: float
    #: without a fresh measurement for longer, the device counts as lost [s]
    feedback_timeout: float
    ttl: float  #: without a write for longer, the device goes safe by itself [s]
    #: a first command must be this near to the measurement, as a part of the range
    engage_band: float
    #: on lost commands: 'ramp' to rest, or 'release' (the device's own safe action at once)
    safe_action: str
    safe_rate: Array  #: (m,); slew of the ramp [SI/s]
    plausibility: PlausibilityLimits
    section: Section  #: ``driver.<device>``, for the device to read

    @property
    def period(self) -> float:
        """Nominal time between ticks [s]."""
        return 1.0 / self.rate


def read_driver_settings(robot: RobotDescription) -> DriverSettings:
    """Read the section ``driver``; a robot without one has simulated actuators.

    RobotFileError: it is wrong: field, value, remedy.
    """
    root = _section(robot)
    with root:
        device = root.text('device')
        rate = _rate(root)
        period = 1.0 / rate
        command = root.quantity(
            'command_timeout', 's', COMMAND_TIMEOUT, minimum=2.0 * period, maximum=5.0
        )
        feedback = root.quantity('feedback_timeout', 's', 0.1, minimum=2.0 * period, maximum=5.0)
        ttl = root.quantity('time_to_live', 's', 0.2, minimum=2.0 * period, maximum=0.5)
        band = root.number('engage_band', 0.1, positive=True, maximum=1.0)
        action, safe_rate = _read_safe_action(root, robot)
        limits = read_optional(root, 'supervision', PlausibilityLimits)
        section = root.optional(device) if device == SIMULATED else root.section(device)
    return DriverSettings(
        device, rate, command, feedback, ttl, band, action, safe_rate, limits, section
    )


def read_rate(robot: RobotDescription) -> float:
    """Return how often per second the driver of this robot ticks."""
    return _rate(_section(robot))


def _section(robot: RobotDescription) -> Section:
    return robot.foreign_section('driver') or Section(_simulated(robot), 'driver', robot.file)


def _rate(root: Section) -> float:
    return root.quantity('rate', '1/s', minimum=1.0, maximum=2000.0)


def _simulated(robot: RobotDescription) -> dict[str, Any]:
    """Return the section of a robot without hardware, patient as on a busy computer."""
    vents = all(a.quantity == 'pressure' for a in robot.actuators)
    return {
        'device': SIMULATED,
        'rate': '100 Hz',
        'command_timeout': f'{SIMULATED_COMMAND_TIMEOUT} s',
        'feedback_timeout': '400 ms',
        'time_to_live': '400 ms',
        'on_command_loss': {'action': RAMP if vents else RELEASE},
    }


def _read_safe_action(root: Section, robot: RobotDescription) -> tuple[str, Array]:
    rates = np.array([a.rate for a in robot.actuators])
    if 'on_command_loss' not in root:
        return RAMP, rates
    with root.section('on_command_loss') as item:
        action = item.text('action', choices=(RAMP, RELEASE))
        if action == RAMP and 'rate' in item:
            kinds = {a.quantity for a in robot.actuators}
            if len(kinds) > 1:
                raise item.error('rate', 'remove it: the actuators have different quantities')
            unit = QUANTITIES[kinds.pop()][2]
            rates = np.full(len(rates), item.quantity('rate', unit, positive=True))
    return action, rates


def read_directions(section: Section, count: int) -> Array:
    """Return key ``direction`` of a device's section, shape (count,): 1 or -1, default 1."""
    directions = section.vector('direction', '1', count, np.ones(count))
    if not np.all(np.abs(directions) == 1.0):
        raise section.error('direction', 'write 1 or -1 for each drive')
    return directions
