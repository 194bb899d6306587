# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pressure regulators behind NI cards, as a `Device`."""

from __future__ import annotations

from collections.abc import Sequence
import time

import numpy as np

from soro_driver import device as dev
from soro_driver.endpoint import Endpoint
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section
from soro_nidaq_driver.supervisor import Supervisor
from soro_nidaq_driver.transport import NidaqTransport, place_of
from soro_nidaq_driver.wiring import read_wiring, Wiring

SUPERVISOR_TIMEOUT = 0.3  # s: above any stall that the driver itself rides out
NOT_WATCHED = 1 << dev.DEVICE_FAULT_SHIFT


def supervised(address: str, cards: Sequence[str]) -> list[str]:
    """Return what the supervisor of these cards holds while it lives, see `DeviceLock`."""
    return [f'nidaq {place_of(address)} {card} supervisor' for card in cards]


class NidaqDevice(dev.Device):
    """Reads monitors by analog input, commands regulators by counter output.

    The card knows no time to live. Three things take its place: the supervisor process, the
    external relay behind the heartbeat line, and `make_safe` of the driver.
    """

    fault_text = {NOT_WATCHED: 'the supervisor process does not answer'}
    io_timeout = 0.1

    def __init__(self, wiring: Wiring, address: str) -> None:
        self.wiring = wiring
        self._transport = NidaqTransport(wiring, address, 0.5 * self.io_timeout)
        self._supervisor = Supervisor(
            address, wiring.cards, SUPERVISOR_TIMEOUT, supervised(address, wiring.cards)
        )
        self._armed = False
        self._safe = True

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> NidaqDevice:
        """Make the device from ``driver.nidaq``."""
        wiring = read_wiring(section, robot)
        return cls(wiring, wiring.address if endpoint is None else endpoint.address)

    def open(self) -> dev.Identity:
        """Connect to the cards and reset them."""
        self._armed = self._safe = False
        self._transport.take()
        self._supervisor.check_alone()
        # A supervisor that still tries to clear the outputs would abort the new tasks. It goes
        # when the cards have been reset, not before: the link may still be dead.
        identity = self._transport.open(self._supervisor.dismiss)
        self._safe = True
        self._supervisor.start()
        return identity

    def terminals(self) -> dict[str, str]:
        """Return the terminals of each actuator: command and monitor."""
        return {c.actuator: f'{c.command}, monitor {c.feedback}' for c in self.wiring.channels}

    def read(self) -> dev.Reading:
        """Convert all monitors once."""
        now, pressure, valid = self._transport.read()
        flags = np.where(valid, 0, int(dev.Flag.SENSOR_FAULT)).astype(np.uint16)
        measured = np.where(valid, pressure, np.nan)
        if not self._armed:
            self._supervisor.idle()
        trouble = self._supervisor.trouble()
        faults = NOT_WATCHED if trouble else 0
        return dev.Reading(now, measured, self._transport.applied, flags, faults, reason=trouble)

    def write(self, values: dev.Array, ttl: float) -> None:
        """Write set-points [Pa]; keeps supervisor and relay from acting."""
        if not self._armed:
            raise dev.DeviceError('set-points written without arming')
        # With every output idle there is nothing to clear: a stall of the computer is harmless.
        if np.any(values > 0.0) or self._on:
            self._supervisor.alive()
        else:
            self._supervisor.idle()
        self._transport.write(values)
        self._transport.beat(time.monotonic())

    @property
    def _on(self) -> bool:
        """Whether an output is on, or not known to be idle."""
        return bool(np.any(self._transport.applied != 0.0))

    def ready(self) -> bool:
        """Whether the supervisor process has started, and answers."""
        return self._supervisor.ready()

    def arm(self) -> None:
        """Make sure that somebody clears the outputs should this process die."""
        if not self._supervisor.ready():
            raise dev.DeviceTimeout('the supervisor process is still starting, or does not answer')
        self._armed, self._safe = True, False

    def make_safe(self) -> None:
        """Stop every counter, and reset the cards where that fails."""
        self._armed = False
        self._safe = not self._on  # where nothing was on, nobody has to clear anything
        try:
            self._transport.stop_outputs()
        except (dev.DeviceLost, dev.DeviceTimeout):
            raise
        except dev.DeviceError:
            self._transport.reset()
            raise
        self._safe = True
        if self._supervisor.trouble():
            self._supervisor.replace()  # there in time for whoever clears the fault
        else:
            self._supervisor.idle()

    def reset(self) -> None:
        """Reset the cards and prepare the tasks anew."""
        self._armed = False
        self._transport.disconnect()
        self._transport.open()

    def close(self) -> None:
        """Give tasks and connection back. The supervisor clears what could not be made safe."""
        self._armed = False
        self._transport.close()
        self._supervisor.stop(self._safe)
