# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives of the profile CiA 402, as a `Device`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from soro_cia402_driver import protocol as co
from soro_cia402_driver.protocol import State
from soro_cia402_driver.transport import Cia402Transport
from soro_cia402_driver.wiring import Cia402Wiring, read_wiring
from soro_driver.device import DEVICE_FAULT_SHIFT, Fault, Flag, Reading
from soro_driver.session_device import SessionDevice

# By the first digit of an emergency's code (CiA 301, table of emergency error codes).
ERROR_WORDS = {
    2: 'current',
    3: 'voltage',
    4: 'temperature',
    5: 'hardware of the drive',
    6: 'software of the drive',
    7: 'encoder, brake or another module',
    8: 'communication, or a following error',
}


class Cia402Device(SessionDevice):
    """Commands positions or torques; the drives release where the heartbeat does not come."""

    fault_text: ClassVar[dict[int, str]] = {
        1 << DEVICE_FAULT_SHIFT + digit: text for digit, text in ERROR_WORDS.items()
    }
    read_wiring = staticmethod(read_wiring)
    io_timeout = 0.15

    def __init__(self, wiring: Cia402Wiring) -> None:
        self.wiring = wiring
        self.open_timeout = 2.0 + 0.3 * len(wiring.nodes)
        self.transport = Cia402Transport(wiring, 0.8 * self.io_timeout, 0.8 * self.open_timeout)

    def link_counts(self) -> dict[str, int]:
        """Count what was no frame of standard length, and error frames."""
        bus = self.transport.bus
        return {'malformed': bus.malformed, 'error_frames': bus.error_frames}

    def terminals(self) -> dict[str, str]:
        """Return the node of each actuator."""
        pairs = zip(self.wiring.names, self.wiring.nodes, strict=True)
        return {name: f'node {node}' for name, node in pairs}

    def read(self) -> Reading:
        """Return the answers to the last SYNC, as old as the oldest of them."""
        t = self.transport
        t.poll()
        if not self._armed:
            t.ask()  # while it is armed, `write` does, after the set-points
        states = t.states()
        failed = [s in (State.FAULT, State.FAULT_REACTION) for s in states]
        faults = int(Fault.DEVICE) if any(failed) else 0
        codes = [code for code, bad in zip(t.errors.tolist(), failed, strict=True) if bad]
        for digit in ERROR_WORDS.keys() & {code >> 12 for code in codes}:
            faults |= 1 << DEVICE_FAULT_SHIFT + digit
        errors = ', '.join(f'0x{code:04X}' for code in codes)
        reason = f'{t.names(failed)}: error {errors}' if errors else ''
        if t.restarted.any():
            reason = f'{t.names(t.restarted)} has restarted'
        acts = np.array([s is State.ENABLED for s in states]) & (t.words & co.FOLLOWS != 0)
        return Reading(
            float(t.arrived.min()),
            t.values(t.present),
            np.where(acts, t.values(t.goal), np.nan),
            np.where(t.words & co.LIMITED, int(Flag.RATE_LIMITED), 0).astype(np.uint16),
            faults | (int(Fault.REBOOT) if t.restarted.any() else 0),
            self._armed and any(s is not State.ENABLED for s in states),
            reason=reason,
        )
