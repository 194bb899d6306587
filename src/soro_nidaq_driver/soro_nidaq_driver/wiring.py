# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How the regulators are wired to the cards: the section ``driver.nidaq`` of a robot file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section

LOCAL = 'local'
ANALOG_RANGE = 10.0  # V, of an analog output
_FEEDBACK = re.compile(r'([A-Za-z][\w-]*)/ai\d+')
_COMMAND = re.compile(r'([A-Za-z][\w-]*)/(?:ctr|ao)\d+')
_LINE = re.compile(r'([A-Za-z][\w-]*)/port\d+/line\d+')
SCALES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ('feedback_scale', 'Pa/V', {'positive': True}),
    ('command_scale', 'Pa/V', {'positive': True}),
    ('feedback_zero', 'V', {'minimum': 0.0}),
    ('command_zero', 'V', {'minimum': 0.0}),
)


@dataclass(frozen=True)
class Channel:
    """One regulator: analog input of its monitor, counter or analog output of its command."""

    actuator: str
    feedback: str
    command: str
    #: feedback_scale, command_scale: pressure per volt at the monitor and at the command input
    #: [Pa/V]
    feedback_scale: float
    command_scale: float
    #: feedback_zero, command_zero: voltage that stands for zero pressure [V]
    feedback_zero: float
    command_zero: float

    @property
    def analog(self) -> bool:
        """Whether an analog output commands, not the pulses of a counter."""
        return self.command.split('/')[1].startswith('ao')


@dataclass(frozen=True, kw_only=True)
class Wiring:
    """Cards and channels."""

    address: str = given(default=LOCAL)  #: 'local', or host:port of a gRPC device server
    #: command voltage at a duty cycle of one, behind the low-pass filter, and the largest of an
    #: analog output
    full_voltage: float = given('V', 10.0, positive=True)
    pwm_frequency: float = given('1/s', 2000.0, minimum=100.0, maximum=1e5)
    #: sensor_minimum, sensor_maximum: a monitor outside this voltage is open, short or broken
    sensor_minimum: float = given('V', -0.1)
    sensor_maximum: float = given('V', 10.2)
    #: digital line that keeps the external relay closed; '' when there is none
    heartbeat: str = given(default='')
    #: between two edges
    heartbeat_period: float = given('s', 0.05, minimum=0.005, maximum=1.0)
    channels: tuple[Channel, ...]  #: in the order of the robot's actuators

    @property
    def cards(self) -> tuple[str, ...]:
        """Names of all cards, each once, those of the channels first."""
        names = [c.feedback.split('/')[0] for c in self.channels]
        names += [c.command.split('/')[0] for c in self.channels]
        names += [self.heartbeat.split('/')[0]] if self.heartbeat else []
        return tuple(dict.fromkeys(names))

    def pressures_of_monitors(self, volts: Array) -> Array:
        """Return what the monitors' voltages (m,) [V] stand for [Pa]."""
        c = self.columns
        return (volts - c['feedback_zero']) * c['feedback_scale']

    def duties_of_pressures(self, pressures: Array) -> Array:
        """Return the duty cycles, or parts of the full voltage, (m,) for pressures [Pa]."""
        c = self.columns
        return (pressures / c['command_scale'] + c['command_zero']) / self.full_voltage

    def pressures_of_duties(self, duties: Array) -> Array:
        """Return the pressures (m,) [Pa] for duty cycles; below the command's zero none."""
        c = self.columns
        volts = duties * self.full_voltage - c['command_zero']
        return np.maximum(volts * c['command_scale'], 0.0)

    @cached_property
    def columns(self) -> dict[str, NDArray[Any]]:
        """`analog` and the scales and zeros of all channels, shapes (m,), by name."""
        names = ('analog', *(key for key, _, _ in SCALES))
        return {name: np.array([getattr(c, name) for c in self.channels]) for name in names}


def read_wiring(section: Section, robot: RobotDescription) -> Wiring:
    """Read and check the section. RobotFileError: field, value and remedy."""
    with section:
        found = read_record(section, Wiring, channels=_read_channels(section, robot))
        address, low, full_voltage = found.address, found.sensor_minimum, found.full_voltage
        if address != LOCAL and not re.fullmatch(r'[^\s:]+:\d+', address):
            raise section.error('address', "write 'local' or host:port of a gRPC device server")
        if not found.sensor_maximum > low:
            raise section.error('sensor_maximum', f'must be greater than sensor_minimum ({low} V)')
        if found.heartbeat and not _LINE.fullmatch(found.heartbeat):
            raise section.error('heartbeat', 'write a digital line, for example Dev1/port0/line0')
        for actuator, channel in zip(robot.actuators, found.channels, strict=True):
            if actuator.quantity != 'pressure' or actuator.minimum < 0.0:
                remedy = f'{actuator.name} is no pressure, or sucks: nidaq vents by 0 V'
                raise section.error('channels', remedy)
            if channel.analog and full_voltage > ANALOG_RANGE:
                remedy = f'an analog output gives at most {ANALOG_RANGE:g} V'
                raise section.error('full_voltage', remedy)
            most = (full_voltage - channel.command_zero) * channel.command_scale
            if actuator.maximum > most:
                raise section.error(
                    'command_scale',
                    f'{full_voltage:g} V give {most:g} Pa, less than the maximum of '
                    f'{actuator.name} ({actuator.maximum:g} Pa)',
                )
    return found


def _read_channels(section: Section, robot: RobotDescription) -> tuple[Channel, ...]:
    """Read the channels; their scales and zeros where they differ from those of the section."""
    channels: list[Channel] = []
    used: dict[str, str] = {}
    common = {'feedback_zero': 0.0, 'command_zero': 0.0, **_read_scales(section, None)}
    with section.section('channels') as table:
        for actuator in robot.actuators:
            with table.section(actuator.name) as item:
                feedback = item.text('feedback')
                if not _FEEDBACK.fullmatch(feedback):
                    raise item.error('feedback', 'write an analog input, for example Dev1/ai0')
                command = item.text('command')
                if not _COMMAND.fullmatch(command):
                    raise item.error('command', 'write Dev1/ctr0, a counter, or Dev1/ao0')
                for key, terminal in (('feedback', feedback), ('command', command)):
                    if terminal in used:
                        raise item.error(key, f'already used by {used[terminal]}')
                    used[terminal] = actuator.name
                scales = _read_scales(item, common)
            channels.append(Channel(actuator.name, feedback, command, **scales))
    return tuple(channels)


def _read_scales(section: Section, common: dict[str, float] | None) -> dict[str, float]:
    """Return scales and zeros; of the section itself (no `common`) those that it has."""
    scales = {}
    for key, unit, bounds in SCALES:
        if key in section or (common is not None and key not in common):
            scales[key] = section.quantity(key, unit, **bounds)
        elif common is not None:
            scales[key] = common[key]
    return scales
