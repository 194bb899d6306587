# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a device is to a driver: values in SI and the order of the robot file, nothing vendor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from enum import IntEnum, IntFlag
import math
from typing import ClassVar, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_node.inputs.driver_constants import STOPPED_BIT

if TYPE_CHECKING:
    from soro_driver.endpoint import Endpoint
    from soro_mechanics.robot_file.reader import RobotDescription
    from soro_mechanics.robot_file.section import Section

Flags = NDArray[np.uint16]


class DeviceState(IntEnum):
    """State of a driven device (constants of soro_msgs/ActuatorState)."""

    UNCONFIGURED = 0
    INACTIVE = 1
    ACTIVE = 2
    SAFE = 3
    FAULT = 4
    ESTOP = 5


class Flag(IntFlag):
    """What is said about one actuator (bits of soro_msgs/ActuatorState.flags)."""

    AT_LOWER_LIMIT = 1
    AT_UPPER_LIMIT = 2
    RATE_LIMITED = 4
    SENSOR_FAULT = 8
    LEAK = 16
    BLOCKED = 32
    OVER_LIMIT = 64


# As numbers, for what is done in every tick: an array & a member of an enumeration takes 7 us.
RATE_LIMITED, SENSOR_FAULT = int(Flag.RATE_LIMITED), int(Flag.SENSOR_FAULT)


class Fault(IntFlag):
    """Bits 0-15 of ActuatorState.faults, equal for every device; a device owns bits 16-31."""

    COMMUNICATION = 1 << 0
    OVER_LIMIT = 1 << 1
    SENSOR = 1 << 2
    FROZEN = 1 << 3
    TRACKING = 1 << 4
    DEVICE_WATCHDOG = 1 << 5
    DEVICE = 1 << 6
    REBOOT = 1 << 7
    STALL = 1 << 8
    INTERNAL = 1 << 9
    STOPPED = STOPPED_BIT
    NOT_AT_REST = 1 << 11


FAULT_TEXT = {
    Fault.COMMUNICATION: 'no communication with the device',
    Fault.OVER_LIMIT: 'measured value above its limit',
    Fault.SENSOR: 'sensor out of range or open',
    Fault.FROZEN: 'feedback does not change any more',
    Fault.TRACKING: 'measured value does not follow the command',
    Fault.DEVICE_WATCHDOG: 'the device went to its safe state by itself',
    Fault.DEVICE: 'the device reports an error',
    Fault.REBOOT: 'the device was restarted',
    Fault.STALL: 'the control loop was stalled',
    Fault.INTERNAL: 'error inside the driver',
    Fault.STOPPED: 'stopped, or commands lost',
    Fault.NOT_AT_REST: 'pressure stays up although the outputs are safe',
}
DEVICE_FAULT_SHIFT = 16


class DeviceError(SoroError):
    """The device answered with an error: `fault` is latched until it is cleared.

    - `message`: for a person: what failed and what to do.
    - `fault`: bits of `Fault`, or of the device (16-31); default: `usual_fault`.
    """

    code = Code.DEVICE_FAULT
    usual_fault = Fault.DEVICE

    def __init__(self, message: str, fault: int | None = None) -> None:
        super().__init__(message)
        self.fault = int(self.usual_fault if fault is None else fault)


class DeviceLost(DeviceError):
    """The connection to the device is gone; the driver reconnects."""

    usual_fault = Fault.COMMUNICATION


class DeviceInUse(DeviceError):
    """Another process has the device."""


class DeviceTimeout(DeviceError):
    """One call did not end in time.

    The loop goes on; it gives the device up when no fresh measurement came for the feedback
    timeout.
    """

    usual_fault = Fault.COMMUNICATION


def first_line(error: BaseException) -> str:
    """Return the first line of what an error of another library says, at least its kind."""
    lines = str(error).strip().splitlines()
    return lines[0].strip() if lines else type(error).__name__


@dataclass(frozen=True)
class Identity:
    """Who answered: for logs, diagnostics and the check that a device was not exchanged."""

    model: str
    serial: str
    firmware: str = ''
    session: int = 0


# Not frozen, what is made in every tick: to make it would take three times as long.
@dataclass(slots=True)
class SensorReading:
    """Further sensors of a device (flex sensors): counts of the converter and flags."""

    names: tuple[str, ...]
    raw: Array
    flags: Flags


@dataclass(slots=True)
class Reading:
    """One consistent measurement of all actuators."""

    #: When it reached this computer [s, CLOCK_MONOTONIC]. A device that repeats an old measurement
    #: keeps the old time: the driver's freshness check rests on it.
    time: float
    #: (m,); SI, order of the robot file; NaN where there is no sensor or it is faulty
    measured: Array
    applied: Array  #: (m,); the set-points the device acts on, as it echoes them
    flags: Flags  #: uint16, (m,); bits of `Flag` that the device or its transport knows about
    faults: int = 0  #: bits of `Fault` and of the device; any bit latches a fault
    #: the device carried out its own safe action (time to live passed, its own e-stop)
    tripped: bool = False
    sensors: SensorReading | None = field(default=None)
    #: when the measurement was taken, at the earliest [s, CLOCK_MONOTONIC]; NaN: not known
    sampled: float = math.nan
    #: what the device says of its faults, for a person; empty: nothing beyond `fault_text`
    reason: str = ''


class Device(ABC):
    """One piece of hardware that drives all actuators of one robot.

    Only one thread ever calls a device. Every call returns or raises within `io_timeout`
    (`open`, `arm`, `reset` within `open_timeout`): a driver that waits cannot vent. Expected
    failures are `DeviceError` (latches a fault), `DeviceTimeout` and `DeviceLost`; anything else
    is a bug and stops the driver.

    Life: ``open -> (read)* -> arm -> (read, write)* -> make_safe -> ... -> close``. After a
    `DeviceLost` the driver calls `close` and later `open` again. Opening leaves the outputs safe.
    """

    fault_text: ClassVar[dict[int, str]] = {}
    """Meaning of the device's own fault bits (16-31)."""
    not_ready: str = 'it is still starting'
    """What is said while `ready` is False."""
    io_timeout: float = 0.05
    """Longest time any call but `open` may take [s]."""
    open_timeout: float = 0.5
    """Longest time `open`, `arm` and `reset` may take [s]."""

    @classmethod
    @abstractmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Device:
        """Make the device from its own section of the robot file, without touching hardware.

        - `section`: ``driver.<device>`` of the robot file; every key must be read or is refused.
        - `robot`: actuators, in the order of every array here.
        - `endpoint`: where the emulator of this robot listens; None: the hardware named in the
          section.
        """

    @abstractmethod
    def open(self) -> Identity:
        """Connect, identify and check the device, and put its outputs into the safe state."""

    @abstractmethod
    def read(self) -> Reading:
        """Return the newest measurement."""

    @abstractmethod
    def write(self, values: Array, ttl: float) -> None:
        """Send set-points, shape (m,) [SI]; the device goes safe by itself after `ttl` [s]."""

    def link_counts(self) -> dict[str, int]:
        """Count what came over the wire since the connection was made, for diagnostics."""
        return {}

    def terminals(self) -> dict[str, str]:
        """Return where each actuator, by name, is connected, in words; may be asked unopened."""
        return {}

    def ready(self) -> bool:
        """Whether `arm` can be called now; False while something is still starting."""
        return True

    @abstractmethod
    def arm(self) -> None:
        """Let the device act on set-points. Never called without a person's decision."""

    @abstractmethod
    def make_safe(self) -> None:
        """Carry out the device's safe action at once, and disarm. May be called in any state."""

    @abstractmethod
    def reset(self) -> None:
        """Clear errors latched in the device. Moves nothing and does not arm."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection back; never raises. Call `make_safe` before."""


def fault_names(faults: int, own: dict[int, str]) -> list[str]:
    """Say in words which faults are set."""
    words = [text for bit, text in FAULT_TEXT.items() if faults & bit]
    words += [text for bit, text in own.items() if faults & bit]
    known = sum(FAULT_TEXT) | sum(own)
    if faults & ~known:
        words.append(f'unknown fault bits {faults & ~known:#x}')
    return words
