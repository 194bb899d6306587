# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscles behind pairs of switching valves and a radio link, as a `Device`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceError, Fault, Flag, Reading
from soro_driver.serial.frame import SerialState, UNARMED
from soro_driver.session_device import SessionDevice
from soro_stm32_driver.protocol import DeviceFault, StatusFlag
from soro_stm32_driver.transport import Stm32Transport
from soro_stm32_driver.wiring import read_wiring, Stm32Wiring

BUDGET = 1 << (DEVICE_FAULT_SHIFT + 8)


class Stm32Device(SessionDevice):
    """Opens valves for times that bring the muscles to their lengths.

    Without sensors `measured` is NaN and `applied` says where the muscles must be by what the
    valves did; with sensors `measured` is measured and corrects that reckoning. The board keeps
    its own watchdog: heartbeats end when set-points end.
    """

    fault_text: ClassVar[dict[int, str]] = {
        DeviceFault.SUPPLY << DEVICE_FAULT_SHIFT: 'the supply pressure is too low',
        DeviceFault.BATTERY << DEVICE_FAULT_SHIFT: 'the battery of the board is low',
        DeviceFault.RELAY << DEVICE_FAULT_SHIFT: 'a relay does not follow its coil',
        DeviceFault.SENSOR << DEVICE_FAULT_SHIFT: 'a length sensor is open',
        BUDGET: 'a muscle has used up its inflation budget',
    }
    not_ready = 'the muscles are still being vented'
    read_wiring = staticmethod(read_wiring)
    io_timeout = 0.6
    open_timeout = 1.5

    def __init__(self, wiring: Stm32Wiring, transport: Stm32Transport | None = None) -> None:
        self.wiring = wiring
        self.transport = transport or Stm32Transport(
            wiring, 0.9 * self.io_timeout, 0.9 * self.open_timeout
        )

    def link_counts(self) -> dict[str, int]:
        """Count frames received, and what was not one of the protocol."""
        return self.transport.session.counts()

    def terminals(self) -> dict[str, str]:
        """Return the valves of each muscle."""
        pairs = zip(self.wiring.names, self.wiring.pairing.pairs, strict=True)
        return {n: f'valve {a + 1} inflates, {b + 1} deflates' for n, (a, b) in pairs}

    def read(self) -> Reading:
        """Return the newest status, and where the muscles are."""
        t = self.transport
        t.poll(t.now())
        lengths = t.estimate.lengths
        # While venting nobody knows better than that the robot is on its way to rest.
        applied = np.where(np.isnan(lengths), self.wiring.rest, lengths)
        measured = t.measured if self.wiring.length_sensors else np.full(lengths.size, np.nan)
        return Reading(
            t.time, measured.copy(), applied, self._flags(), self._faults(), self._tripped()
        )

    def ready(self) -> bool:
        """Whether the muscles are vented, so that their lengths are known."""
        self.transport.poll(self.transport.now())
        return self.transport.vented(self.transport.now())

    def arm(self) -> None:
        """Let the board act on commands of this session."""
        if not self.transport.vented(self.transport.now()):
            raise DeviceError('the muscles are still being vented; try again')
        super().arm()

    def _flags(self) -> np.ndarray:
        flags = np.zeros(self.wiring.pairing.count, np.uint16)
        plan = self.transport.plan
        if plan is not None and self._armed:
            flags[plan.held_back] |= np.uint16(Flag.RATE_LIMITED)
            flags[plan.exhausted] |= np.uint16(Flag.AT_UPPER_LIMIT)
        if self.wiring.length_sensors:
            missing = np.isnan(self.transport.measured)
            flags[missing] |= np.uint16(Flag.SENSOR_FAULT)
        return flags

    def _faults(self) -> int:
        t = self.transport
        faults = int(Fault.REBOOT) if t.rebooted else 0
        if t.exhausted_by_device is not None:
            faults |= BUDGET
        status = t.status
        if status is not None and status.state in (SerialState.FAULT, SerialState.ESTOP):
            faults |= Fault.DEVICE | status.faults << DEVICE_FAULT_SHIFT
        return int(faults)

    def _tripped(self) -> bool:
        """Whether the board went safe by itself while it should be armed."""
        status = self.transport.status
        if not self._armed or status is None:
            return False
        return status.state in UNARMED or bool(status.flags & StatusFlag.TRIPPED)
