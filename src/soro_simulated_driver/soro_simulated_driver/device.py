# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated actuators, as a `Device`: any number, any quantity, with the safety of real ones."""

from __future__ import annotations

import numpy as np

from soro_driver.device import DeviceError, Reading
from soro_driver.endpoint import Endpoint
from soro_driver.session_device import SessionDevice
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section
from soro_simulated_driver.protocol import EXPIRED, State
from soro_simulated_driver.transport import SimulatedTransport


class SimulatedDevice(SessionDevice):
    """Drives the actuators that an emulator simulates for a robot without hardware."""

    io_timeout = 0.1
    open_timeout = 1.0

    def __init__(self, endpoint: Endpoint, count: int) -> None:
        self._count = count
        self.transport = SimulatedTransport(
            endpoint.path, count, 0.8 * self.io_timeout, 0.4 * self.open_timeout
        )

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> SimulatedDevice:
        """Make the device; it has no parameters of its own.

        RobotFileError: real hardware is asked for.
        """
        with section:
            if endpoint is None:
                remedy = 'use_emulator:=true, or the device that drives it (docs/hardware.md)'
                raise RobotFileError('driver.device', 'simulated', remedy, section.file)
        return cls(endpoint, len(robot.actuators))

    def link_counts(self) -> dict[str, int]:
        """Count packets that were not of the protocol."""
        return {'malformed': self.transport.malformed}

    def read(self) -> Reading:
        """Return the newest measurement that has arrived."""
        t = self.transport
        t.poll()
        if t.newest is None:
            raise DeviceError('no measurement has arrived yet')
        measured, applied = t.newest.values[: self._count], t.newest.values[self._count :]
        unarmed = t.newest.state is not State.ARMED or bool(t.newest.flags & EXPIRED)
        flags = np.zeros(self._count, dtype=np.uint16)
        return Reading(
            t.arrived, measured.copy(), applied.copy(), flags, 0, self._armed and unarmed
        )
