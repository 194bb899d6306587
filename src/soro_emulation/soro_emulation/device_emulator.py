# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What every emulated device offers to the emulator node."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from soro_driver.endpoint import Endpoint
from soro_emulation.body_time import BodyTime
from soro_emulation.event_log import EventLog
from soro_mechanics.actuator_models.motor import PositionDrive
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import UnknownName
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

GROUP = 'soro_emulation.devices'  # entry points


@dataclass(frozen=True)
class EmulatorContext:
    """What an emulator is made from."""

    robot: RobotDescription
    wiring: Section  #: ``driver.<device>`` of the robot file: the same that the driver reads
    properties: Section  #: ``emulator.<device>``; empty where the file has none
    endpoint: Endpoint  #: where to listen; loopback only
    seed: int  #: of everything random
    log: EventLog


class DeviceEmulator(ABC):
    """A device on the other end of the real wire protocol.

    The node calls `advance` every few milliseconds and the other methods from its
    executor; the wire is served by threads of the emulator's own.
    """

    faults: ClassVar[tuple[str, ...]]  #: what can be injected, 'none' among it
    axes: Sequence[PositionDrive] = ()  #: in the order of the actuators, of a device with motors
    body_time: BodyTime | None = None  #: of a device with a moving body of its own

    def __init__(self, context: EmulatorContext, now: float) -> None:
        """Make the emulator at time `now` [s, CLOCK_MONOTONIC]; nothing listens yet."""
        self._log = context.log

    @abstractmethod
    def start(self) -> None:
        """Listen at the endpoint. Raises InvalidInput when it is in use."""

    @abstractmethod
    def advance(self, now: float) -> None:
        """Let time pass up to `now` [s]."""

    @abstractmethod
    def actuation(self, now: float) -> Array:
        """Return what the actuators really do, shape (m,) [SI]; no sensor's opinion."""

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break something; fault 'none' repairs everything.

        InvalidInput, UnknownName: with the faults that this device knows, or the value that is
        wrong.
        """
        if fault not in self.faults:
            raise UnknownName('fault', fault, self.faults)
        self._break(fault, values)

    @abstractmethod
    def _break(self, fault: str, values: dict[str, Any]) -> None:
        """Break something, one of `faults`, or repair everything ('none')."""

    def load(self, wrench: Array) -> Array:
        """Take the wrench on the tip that comes from outside, and return all that acts on it.

        Shape (6,), force first, axes of base_link. A device with a hand on it adds the hand's.
        """
        return wrench

    def bear(self, reaction: Array, within: float) -> None:
        """Take what the body does to actuators (m,) `within` the next seconds.

        The air of pressures' chambers [m^3], the force or torque that lengths and angles need.
        """
        for axis, load in zip(self.axes, reaction.tolist(), strict=False):
            axis.load = load

    @property
    def error(self) -> str:
        """Why what the device shows is not true any more; empty while it is."""
        return ''

    @property
    def counters(self) -> dict[str, int]:
        """How often injected faults have struck the wire; the same while there are none."""
        return {}

    def in_use(self, now: float) -> bool:
        """Whether a driver is at work or anything is still actuated at `now` [s]."""
        return False

    def resources(self) -> Sequence[str]:
        """Return what a driver of this device locks, see `soro_driver.safety.device_lock`."""
        return ()

    @abstractmethod
    def stop(self) -> None:
        """Stop listening; never raises."""
