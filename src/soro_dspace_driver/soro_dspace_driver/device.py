# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pressure regulators behind a real-time computer, as a `Device`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceError, Fault, Flag, Reading
from soro_driver.serial.frame import SerialState, UNARMED
from soro_driver.session_device import SessionDevice
from soro_dspace_driver.protocol import DeviceFault
from soro_dspace_driver.transport import DspaceTransport
from soro_dspace_driver.wiring import DspaceWiring, read_wiring

FAULT_WORDS = {
    DeviceFault.OVER_PRESSURE: 'the device measured a pressure above its limit',
    DeviceFault.SENSOR: 'a monitor of the device is out of range',
    DeviceFault.NO_PRESSURE: 'the device commands a pressure that does not come: wire or burst',
    DeviceFault.ESTOP: 'the device stopped in an emergency',
}


class DspaceDevice(SessionDevice):
    """Reads the monitors and commands the regulators of a MicroLabBox over a serial line.

    The device streams its measurements and keeps the time to live itself: it ramps to zero when
    no command comes, and opens the dump valve whenever it is not armed.
    """

    fault_text: ClassVar[dict[int, str]] = {
        int(bit) << DEVICE_FAULT_SHIFT: text for bit, text in FAULT_WORDS.items()
    }
    read_wiring = staticmethod(read_wiring)
    io_timeout = 0.1
    open_timeout = 1.5

    def __init__(self, wiring: DspaceWiring) -> None:
        self.wiring = wiring
        self.transport = DspaceTransport(wiring, 0.8 * self.io_timeout, 0.8 * self.open_timeout)

    def link_counts(self) -> dict[str, int]:
        """Count frames received, and what was not one of the protocol."""
        return self.transport.session.counts()

    def terminals(self) -> dict[str, str]:
        """Return the regulator of each actuator."""
        w = self.wiring
        return {n: f'regulator {c + 1}' for n, c in zip(w.names, w.channels, strict=True)}

    def read(self) -> Reading:
        """Return the newest measurement that has arrived."""
        t = self.transport
        t.poll()
        valid = ~np.isnan(t.measured)
        flags = np.where(valid, 0, int(Flag.SENSOR_FAULT)).astype(np.uint16)
        return Reading(
            t.time, t.measured.copy(), t.applied.copy(), flags, self._faults(), self._tripped(),
            reason=self._reason(),
        )  # fmt: skip

    def make_safe(self) -> None:
        """Disarm: zero volt, dump valve open; said again where that is not confirmed."""
        try:
            super().make_safe()
        except DeviceError:
            self.transport.vent_unconfirmed()
            raise

    def reset(self) -> None:
        """Clear the device's latched faults; after a restart it gets a new session."""
        if self.transport.rebooted:
            self.open()
        else:
            super().reset()

    def _faults(self) -> int:
        t = self.transport
        faults = int(Fault.REBOOT) if t.rebooted else 0
        if t.state in (SerialState.FAULT, SerialState.ESTOP):
            faults |= Fault.DEVICE
            for bit in FAULT_WORDS:
                if t.faults & bit:
                    faults |= int(bit) << DEVICE_FAULT_SHIFT
        return int(faults)

    def _reason(self) -> str:
        """Name the actuators that the device complains about."""
        t, w = self.transport, self.wiring
        meant = [n for n, c in zip(w.names, w.channels, strict=True) if t.meant >> int(c) & 1]
        words = [text for bit, text in FAULT_WORDS.items() if t.faults & bit]
        return f'{", ".join(meant)}: {"; ".join(words)}' if meant and words else ''

    def _tripped(self) -> bool:
        """Whether the device went safe by itself while it should be armed."""
        t = self.transport
        return self._armed and (t.state in UNARMED or bool(t.faults & DeviceFault.EXPIRED))
