# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Devices that act on set-points of an armed session only: what they do alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
import math
from typing import Any, ClassVar, Protocol

from soro_driver.can_port import CanPort
from soro_driver.device import Array, Device, DeviceError, Identity
from soro_driver.endpoint import Endpoint
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section


class SessionTransport(Protocol):
    """What the transport of such a device offers beside measurements and commands."""

    def open(self) -> Identity:
        """Connect, disarm, write limits; a new session begins."""

    def arm(self) -> None:
        """Have the device act on set-points of this session."""

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points, shape (m,) [SI]; finite."""

    def disarm(self) -> None:
        """Have the device go safe. Raises where that is not confirmed."""

    def reset(self) -> None:
        """Clear latched faults of the device."""

    def close(self) -> None:
        """Disconnect; never raises."""


class SessionDevice(Device):
    """Keeps whether the session is armed: only between `arm` and anything that ends it.

    A subclass has `transport` and `read_wiring`, is made from a wiring, and reads.
    """

    transport: SessionTransport
    read_wiring: ClassVar[Callable[[Section, RobotDescription], Any]]
    _armed = False

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Any:
        """Make the device from its section, on hardware or on the emulator at `endpoint`."""
        wiring = cls.read_wiring(section, robot)
        if endpoint is not None:
            port = wiring.port
            port = port.emulated(endpoint) if isinstance(port, CanPort) else str(endpoint.path)
            changes = {'serial': 0} if hasattr(wiring, 'serial') else {}  # any
            wiring = replace(wiring, port=port, **changes)
        made: Any = cls
        return made(wiring)

    def open(self) -> Identity:
        """Connect to the device, disarm it, write limits."""
        self._armed = False
        return self.transport.open()

    def arm(self) -> None:
        """Let the device act on set-points of this session."""
        self.transport.arm()
        self._armed = True

    def write(self, values: Array, ttl: float) -> None:
        """Send set-points [SI]."""
        if not self._armed:
            raise DeviceError('set-points written without arming')
        if not all(map(math.isfinite, values.tolist())):
            raise DeviceError(f'set-points {values} are not finite')
        self.transport.command(values, ttl)

    def make_safe(self) -> None:
        """Disarm the device."""
        self._armed = False
        self.transport.disarm()

    def reset(self) -> None:
        """Clear the device's latched faults."""
        self._armed = False
        self.transport.reset()

    def close(self) -> None:
        """Disconnect; never raises."""
        self._armed = False
        self.transport.close()
