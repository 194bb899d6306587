# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The reference firmware of the valve board, as a process of this computer."""

from __future__ import annotations

from pathlib import Path

from soro_emulation.host_firmware import HostFirmware
from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.emulator.properties import BoardProperties

PACKAGE = 'soro_stm32_driver'


class Firmware(HostFirmware):
    """One running firmware; `in_order`: wired as version 1.0 says, `supply` [Pa] is nominal."""

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
