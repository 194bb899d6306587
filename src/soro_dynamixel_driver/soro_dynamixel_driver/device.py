# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Dynamixel X servos, as a `Device`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from soro_driver.device import DEVICE_FAULT_SHIFT, Fault, Reading
from soro_driver.session_device import SessionDevice
from soro_dynamixel_driver.protocol import TRIPPED
from soro_dynamixel_driver.transport import DynamixelTransport
from soro_dynamixel_driver.wiring import DynamixelWiring, read_wiring

ERROR_WORDS = {
    1: 'supply voltage out of range',
    4: 'overheating',
    8: 'motor encoder',
    16: 'electrical shock, or too little power',
    32: 'overload',
}


class DynamixelDevice(SessionDevice):
    """Commands positions; the servos' own Bus Watchdog stops them where nothing comes any more."""

    fault_text: ClassVar[dict[int, str]] = {
        bit << DEVICE_FAULT_SHIFT: text for bit, text in ERROR_WORDS.items()
    }
    read_wiring = staticmethod(read_wiring)
    io_timeout = 0.15

    def __init__(self, wiring: DynamixelWiring) -> None:
        self.wiring = wiring
        self.open_timeout = 2.0 + 0.1 * len(wiring.ids)
        self.transport = DynamixelTransport(wiring, 0.8 * self.io_timeout, 0.8 * self.open_timeout)

    def link_counts(self) -> dict[str, int]:
        """Count packets with a wrong checksum, and what was no packet."""
        reader = self.transport.link.reader
        return {'crc_errors': reader.crc_errors, 'malformed': reader.malformed}

    def terminals(self) -> dict[str, str]:
        """Return the servo of each actuator."""
        pairs = zip(self.wiring.names, self.wiring.ids, strict=True)
        return {name: f'servo {servo}' for name, servo in pairs}

    def read(self) -> Reading:
        """Return the answers to the last cycle, as old as the oldest of them."""
        t = self.transport
        t.poll()
        if not self._armed:
            t.ask()  # while it is armed, `write` does, after the goals
        tripped = self._armed and bool(np.any((t.torque == 0) | (t.watchdog == TRIPPED)))
        errors, restarted = int(np.bitwise_or.reduce(t.error)), t.level == 0
        faults = int(Fault.DEVICE) | errors << DEVICE_FAULT_SHIFT if errors else 0
        reason = t.names(t.error)
        if restarted.any():
            faults, reason = faults | int(Fault.REBOOT), f'{t.names(restarted)} has restarted'
        return Reading(
            float(t.arrived.min()),
            np.where(restarted, np.nan, t.angles(t.present)),
            t.angles(t.goal),
            np.zeros(len(self.wiring.ids), np.uint16),
            faults,
            tripped,
            reason=reason,
        )
