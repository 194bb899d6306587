# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated valve board with the reference firmware for a brain: its coils move the muscles."""

from __future__ import annotations

from typing import Any

from soro_driver.serial.frame import Frame, FrameReader, SerialState
from soro_emulation.host_firmware import Ticks
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.firmware import Firmware
from soro_stm32_driver.emulator.muscle_bank import INFLATE, KINDS
from soro_stm32_driver.protocol import Status, StatusFlag


class FirmwareBoard(Stm32Board):
    """Stands for `Stm32Board`; what that one counts and claims, the firmware does for itself.

    - `flags`: of the newest STATUS.
    """

    def __init__(self, *board: Any) -> None:
        super().__init__(*board)
        in_order = self._wired.minor == 0
        self._firmware = Firmware(self.properties, self.boot_id, self.nominal_supply, in_order)

    def _start(self, now: float) -> None:
        self._supply = self.nominal_supply
        self._ticks = Ticks(now, 1e-3 / (1.0 + self.properties.drift))
        self.state, self.flags = SerialState.BOOT, 0
        self._reader = FrameReader()

    @property
    def at(self) -> float:
        """The present millisecond on this computer's clock [s]."""
        return self._ticks.time(self._ticks.count)

    def receive(self, frame: Frame, now: float) -> list[Frame]:
        """Take a valid frame; returns the answers."""
        self._firmware.receive(frame.pack())
        return self._heard()

    def advance(self, now: float) -> list[Frame]:
        """Let time pass up to `now` [s]; returns the frames that are due."""
        if self.bank.supply != self._supply:
            self._supply = self.bank.supply
            self._firmware.hear(f's {round(self._supply)}')
        if passed := self._ticks.passed(now):
            self._firmware.hear(f't {passed}')
        frames = self._heard()
        self._move(now)
        return frames

    def reboot(self, now: float) -> None:
        """Lose power for a moment: every coil falls, nothing is remembered."""
        for muscle in range(self._wired.count):
            for kind in (0, 1):
                self.bank.switch(kind, muscle, False, now)
        self.boot_id = (self.boot_id + 0x10001) & 0xFFFFFFFF
        self._log.write('reboot', now, boot_id=self.boot_id)
        self._firmware.hear(f'r {self.boot_id}')
        self._start(now)

    def close(self) -> None:
        """End the firmware's process."""
        self._firmware.close()

    def _heard(self) -> list[Frame]:
        """Carry out what the firmware did; returns what it said."""
        said, coils = self._firmware.take()
        for tick, valve, on in coils:
            self._turn(valve, on, self._ticks.time(tick))
        frames = [frame for data in said for frame in self._reader.feed(data)]
        for frame in frames:
            if frame.type == Status.type:
                self._note(Status.unpack(frame.body))
        return frames

    def _turn(self, valve: int, on: bool, at: float) -> None:
        behind = self._wired.muscle_of(valve)
        if behind is None:
            return  # nothing hangs on this valve
        muscle, kind = behind
        self.bank.switch(kind, muscle, on, at)
        self._log.write('valve', at, muscle=muscle, action=KINDS[kind], on=on)
        if kind == INFLATE and on and self.flags & StatusFlag.VENTED:
            self.flags &= ~StatusFlag.VENTED
            self._log.write('pressurised', at)

    def _note(self, status: Status) -> None:
        if not self.flags & StatusFlag.VENTED and status.flags & StatusFlag.VENTED:
            self._log.write('vented', self.at)
        self.flags = status.flags
        if status.state != self.state:
            self.state = SerialState(status.state)
            self._log.write('state', self.at, state=self.state.name)
