# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Motors and flex sensors behind a CAN board, as a `Device`."""

from __future__ import annotations

from dataclasses import replace
import time
from typing import ClassVar

import numpy as np

from soro_can_driver.board import BoardState, EmergencyCode, Status
from soro_can_driver.transport import CanTransport
from soro_can_driver.wiring import CanWiring, read_wiring
from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceError, Fault, Reading, SensorReading
from soro_driver.endpoint import Endpoint
from soro_driver.session_device import SessionDevice
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.section import Section

UNARMED = (BoardState.BOOT, BoardState.SAFE, BoardState.HOLDING)
FAULTY = (BoardState.FAULT, BoardState.ESTOP)
REBOOT, EXPIRED, COMMAND_LOST = int(Fault.REBOOT), int(Status.EXPIRED), EmergencyCode.COMMAND_LOST
FAULT_WORDS = {
    EmergencyCode.POSITION_LIMIT: 'a motor left its position limits',
    EmergencyCode.SPEED_LIMIT: 'a motor exceeded its speed limit',
    EmergencyCode.OVER_CURRENT: 'a motor drew too much current',
    EmergencyCode.TRACKING: 'a motor does not follow its set-point',
    EmergencyCode.ENCODER_JUMP: 'an encoder jumped',
    EmergencyCode.FLEX: 'a flex sensor is stuck or open',
    EmergencyCode.COMMAND_LOST: 'the board missed commands or heartbeats',
    EmergencyCode.BUS_OFF: 'the board was off the bus',
    EmergencyCode.ESTOP: 'the board stopped in an emergency',
    EmergencyCode.REVERSED: 'a motor turns the wrong way',
    EmergencyCode.FIRST_COMMAND: 'a first set-point was not where the motors are',
}
# Of a flex sensor the flags beside its samples say it, and the rest goes on.
SAID_ELSEWHERE = (EmergencyCode.COMMAND_LOST, EmergencyCode.FLEX)


class CanDevice(SessionDevice):
    """Reads encoders and flex sensors, commands motor angles.

    A read returns the answer to the last tick's SYNC: one tick of delay, always the same. The
    board keeps the time to live itself and falls back to holding, then coasting.
    """

    fault_text: ClassVar[dict[int, str]] = {
        1 << (DEVICE_FAULT_SHIFT + code): text for code, text in FAULT_WORDS.items()
    }
    io_timeout = 0.1  # of a board that is asked to disarm four times; nothing else waits
    open_timeout = 1.0

    def __init__(self, wiring: CanWiring) -> None:
        self.wiring = wiring
        self.transport = CanTransport(wiring, 0.8 * self.io_timeout, 0.6 * self.open_timeout)

    @classmethod
    def from_section(
        cls, section: Section, robot: RobotDescription, endpoint: Endpoint | None
    ) -> CanDevice:
        """Make the device from ``driver.can``; an emulator is a socketcand server on loopback."""
        wiring = read_wiring(section, robot)
        if endpoint is None and (wiring.interface, wiring.framing) == ('socketcand', 'fd'):
            raise section.error(
                'framing', 'write classic: socketcand carries no FD frames; with FD, socketcan'
            )
        if endpoint is not None:
            wiring = replace(wiring.emulated(endpoint), serial=0)
        return cls(wiring)

    def link_counts(self) -> dict[str, int]:
        """Count what was received and was no frame of the protocol, or an old measurement."""
        bus, stale = self.transport.bus, self.transport.stale
        return {'malformed': bus.malformed, 'error_frames': bus.error_frames, 'stale': stale}

    def terminals(self) -> dict[str, str]:
        """Return the motor of each actuator, the input of each flex sensor."""
        motors = {name: f'motor {i}' for i, name in enumerate(self.wiring.motors, 1)}
        return motors | {n: f'flex input {i}' for i, n in enumerate(self.wiring.sensors, 1)}

    def read(self) -> Reading:
        """Return the board's answer to the last tick."""
        t = self.transport
        t.poll(time.monotonic())
        return Reading(
            t.time,
            np.array(t.angles),
            np.array(t.applied),
            np.array(t.limited, np.uint16),
            self._faults(),
            self._tripped(),
            self._sensors(),
            t.sampled,
            self._reason(),
        )

    def make_safe(self) -> None:
        """Disarm the board; an emergency stop where it does not confirm."""
        try:
            super().make_safe()
        except DeviceError:
            self.transport.stop_at_once(0)
            raise

    def _faults(self) -> int:
        t = self.transport
        faults = REBOOT if t.rebooted else 0
        if t.state in FAULTY:
            faults |= Fault.DEVICE
        for code in t.emergencies:
            if code in FAULT_WORDS and code not in SAID_ELSEWHERE:
                faults |= 1 << (DEVICE_FAULT_SHIFT + code)
        return int(faults)

    def _reason(self) -> str:
        """Say which motors the board complains about."""
        words = []
        for code, mask in self.transport.emergencies.items():
            motors = [n for i, n in enumerate(self.wiring.motors) if mask >> i & 1]
            if motors and code in FAULT_WORDS:
                words.append(f'{", ".join(motors)}: {FAULT_WORDS[code]}')
        return '; '.join(words)

    def _tripped(self) -> bool:
        """Whether the board went safe by itself while it should be armed."""
        # The emergency frame comes once and may be lost; the state comes with every measurement.
        t = self.transport
        expired = bool(t.status & EXPIRED) or t.state in UNARMED
        return self._armed and (expired or COMMAND_LOST in t.emergencies)

    def _sensors(self) -> SensorReading | None:
        t = self.transport
        if not self.wiring.sensors:
            return None
        flags = np.array(t.flex_flags, np.uint16)
        return SensorReading(self.wiring.sensors, np.array(t.flex, float), flags)
