# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A device that says how long its reads and writes take."""

from __future__ import annotations

import time

from soro_driver.device import Array, Device, Identity, Reading
from soro_driver.endpoint import Endpoint
from soro_haptics.duration_histogram import DurationHistogram
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section


class TimedDevice(Device):
    """Passes everything on to another device.

    Parameters
    ----------
    device : Device
    reads, writes : DurationHistogram
        Of the calls that end well.
    """

    def __init__(
        self, device: Device, reads: DurationHistogram, writes: DurationHistogram
    ) -> None:
        self.device, self._reads, self._writes = device, reads, writes
        self.fault_text = device.fault_text  # type: ignore[misc]
        self.io_timeout, self.open_timeout = device.io_timeout, device.open_timeout

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> Device:
        """Refuse: no robot file names this device."""
        raise section.error('device', 'a timed device is made from another one')

    def read(self) -> Reading:
        """Read, timed."""
        begin = time.perf_counter()
        reading = self.device.read()
        self._reads.add(time.perf_counter() - begin)
        return reading

    def write(self, values: Array, ttl: float) -> None:
        """Write, timed."""
        begin = time.perf_counter()
        self.device.write(values, ttl)
        self._writes.add(time.perf_counter() - begin)

    def open(self) -> Identity:
        """Pass it on."""
        return self.device.open()

    def link_counts(self) -> dict[str, int]:
        """Pass it on."""
        return self.device.link_counts()

    def ready(self) -> bool:
        """Pass it on."""
        return self.device.ready()

    def arm(self) -> None:
        """Pass it on."""
        self.device.arm()

    def make_safe(self) -> None:
        """Pass it on."""
        self.device.make_safe()

    def reset(self) -> None:
        """Pass it on."""
        self.device.reset()

    def close(self) -> None:
        """Pass it on."""
        self.device.close()
