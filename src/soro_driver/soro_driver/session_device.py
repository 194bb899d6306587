# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Devices that act on set-points of an armed session only: what they do alike."""

from __future__ import annotations

from typing import Protocol

from soro_driver.device import Array, Device, DeviceError, Identity


class SessionTransport(Protocol):
    """What the transport of such a device offers beside measurements and commands."""

    def open(self) -> Identity:
        """Connect, disarm, write limits; a new session begins."""

    def arm(self) -> None:
        """Have the device act on set-points of this session."""

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points, shape (m,) [SI]."""

    def disarm(self) -> None:
        """Have the device go safe. Raises where that is not confirmed."""

    def reset(self) -> None:
        """Clear latched faults of the device."""

    def close(self) -> None:
        """Disconnect; never raises."""


class SessionDevice(Device):
    """Keeps whether the session is armed: only between `arm` and anything that ends it.

    A subclass has `transport`, and reads.
    """

    transport: SessionTransport
    _armed = False

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
        self.check_armed()
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

    def check_armed(self) -> None:
        """Raise DeviceError before set-points are sent in a session that is not armed."""
        if not self._armed:
            raise DeviceError('set-points written without arming')
