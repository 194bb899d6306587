# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated motor board with the reference firmware for a brain; motors are in its process."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from soro_can_driver.board import BoardState, CanId, EmergencyCode, Status
from soro_can_driver.emulator.emulated_motors import TIME_CONSTANT
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_emulation.host_firmware import HostFirmware, Ticks

PACKAGE = 'soro_can_driver'
Wire = list[tuple[int, bytes]]


class FirmwareBoard(MotorBoard):
    """Stands for `MotorBoard`; of its counters it keeps `torn`."""

    def __init__(self, *board: Any, program: Path | None = None, tick: float = 1e-3) -> None:
        super().__init__(*board)
        self._ticks = Ticks(self._time, tick)
        left = math.exp(-tick / TIME_CONSTANT)
        numbers = (self.serial, self.boot_id, self.count, self.inputs, repr(tick), repr(left))
        self.firmware = HostFirmware(PACKAGE, numbers, program)
        self._broken, self._late = '', Wire()
        self._turned: list[str] = []  # said when time passes: until then nothing is built

    def receive(self, can_id: int, data: bytes, now: float) -> Wire:
        """Take one frame from the bus; returns the frames it causes."""
        frames = self.advance(now)
        if can_id == CanId.HOST_HEARTBEAT:
            self.host_at = now
        if can_id in (CanId.SYNC, CanId.COMMAND_FD):
            frames += self._say('f ' + ' '.join(map(str, self._flex(now).tolist())))
        return frames + self._say(f'c {can_id:x} {data.hex()}')

    def advance(self, now: float) -> Wire:
        """Let time pass; returns heartbeats and emergencies."""
        motors, (frames, self._late) = self.motors, (self._late, Wire())
        rows = zip(motors.stalled, motors.reversed, motors.slip.tolist(), strict=True)
        lines = [f'm {i} {a:d} {b:d} {slip!r}' for i, (a, b, slip) in enumerate(rows)]
        turned, self._turned = self._turned, []
        for line in turned:
            frames += self._say(line)
        if (broken := '\n'.join(lines)) != self._broken:
            self._broken = broken
            for line in lines:
                frames += self._say(line)
        if passed := self._ticks.passed(now):
            frames += self._say(f't {passed}')
        return frames

    def reboot(self, boot_id: int) -> None:
        """Restart: everything but the motors' angles is forgotten."""
        self.boot_id, self.host_at = boot_id, -math.inf
        self._late += self._say(f'r {boot_id}')

    def place(self, angle: Any) -> None:
        """Have the motors stand at angles, shape (count,) [0.1 deg], as if turned by hand."""
        super().place(angle)
        self._turned = [f'a {i} {at!r}' for i, at in enumerate(angle.tolist())]

    def fail(self, code: EmergencyCode, motors: int) -> None:
        """Have the board find a fault; it says so with what comes next."""
        self._late += self._say(f'x {int(code)} {motors}')

    def slip_encoder(self, motor: int, degrees: float) -> None:
        """Let an encoder show another angle at once."""
        self.motors.slip[motor] += 10.0 * degrees

    def close(self) -> int:
        """End the firmware's process; returns its exit code."""
        return self.firmware.close()

    def _say(self, line: str) -> Wire:
        *said, (_, state, *angles) = self.firmware.say(line)
        self.state, self.motors.angle = BoardState(int(state)), np.array(angles, float)
        frames = [(int(number, 16), bytes.fromhex(data)) for _, number, data in said]
        self.torn += sum(i == CanId.POSITION_A and bool(d[1] & Status.TORN) for i, d in frames)
        return frames
