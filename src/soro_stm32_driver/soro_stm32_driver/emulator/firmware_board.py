# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated valve board with the reference firmware for a brain: its coils move the muscles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from soro_driver.serial.frame import Frame, FrameReader, SerialState
from soro_emulation.host_firmware import HostFirmware, Ticks
from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.muscle_bank import INFLATE, KINDS
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.protocol import Status, StatusFlag

PACKAGE = 'soro_stm32_driver'


class Firmware(HostFirmware):
    """The running firmware, a process; `in_order`: as version 1.0 says, `supply` [Pa]: nominal."""

    def __init__(
        self,
        properties: BoardProperties,
        boot_id: int,
        supply: float,
        in_order: bool,
        program: Path | None = None,
    ) -> None:
        p = properties
        if p.sensors:
            raise InvalidInput('firmware', 'host', 'emulated, with length_sensors')
        numbers = (
            p.serial, boot_id, p.first_tick, p.vent_time, p.budget, p.watchdog, round(supply),
            p.simultaneous, int(in_order),
        )  # fmt: skip
        self.frames: list[bytes] = []
        self.coils: list[tuple[int, int, bool]] = []
        super().__init__(PACKAGE, numbers, program)

    def receive(self, data: bytes) -> None:
        """Let bytes arrive."""
        for start in range(0, len(data), 1000):
            self.hear(f'b {data[start : start + 1000].hex()}')

    def take(self) -> tuple[list[bytes], list[tuple[int, int, bool]]]:
        """Return the frames, and the coils that changed (tick, valve, on), since the last call."""
        found = self.frames, self.coils
        self.frames, self.coils = [], []
        return found

    def hear(self, line: str) -> None:
        """Do one thing: milliseconds that pass (t), the supply [Pa] (s), a restart (r)."""
        for kind, *words in self.say(line)[:-1]:
            if kind == 'f':
                self.frames.append(bytes.fromhex(words[0]))
            else:
                tick, valve, on = map(int, words)
                self.coils.append((tick, valve, bool(on)))


class FirmwareBoard(Stm32Board):
    """Stands for `Stm32Board`; what that one counts and claims, the firmware does for itself.

    - `flags`: of the newest STATUS.
    """

    def __init__(self, *board: Any) -> None:
        super().__init__(*board)
        in_order = self._wired.minor == 0
        self.firmware = Firmware(self.properties, self.boot_id, self.nominal_supply, in_order)

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
        self.firmware.receive(frame.pack())
        return self._heard()

    def advance(self, now: float) -> list[Frame]:
        """Let time pass up to `now` [s]; returns the frames that are due."""
        if self.bank.supply != self._supply:
            self._supply = self.bank.supply
            self.firmware.hear(f's {round(self._supply)}')
        if passed := self._ticks.passed(now):
            self.firmware.hear(f't {passed}')
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
        self.firmware.hear(f'r {self.boot_id}')
        self._start(now)

    def close(self) -> None:
        """End the firmware's process."""
        self.firmware.close()

    def _heard(self) -> list[Frame]:
        """Carry out what the firmware did; returns what it said."""
        said, coils = self.firmware.take()
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
