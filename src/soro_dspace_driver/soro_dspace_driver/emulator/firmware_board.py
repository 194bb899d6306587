# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated real-time computer with the reference firmware for a brain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from soro_driver.serial.frame import Frame, FrameReader, SerialState
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.protocol import DeviceFault
from soro_emulation.host_firmware import HostFirmware, Ticks

PACKAGE = 'soro_dspace_driver'


class FirmwareBoard(DspaceBoard):
    """Stands for `DspaceBoard`; what that one counts and claims, the firmware does for itself."""

    def __init__(self, *board: Any, program: Path | None = None, tick: float = 1e-3) -> None:
        self._firmware: HostFirmware | None = None
        super().__init__(*board)
        self._ticks = Ticks(self.time, tick)
        numbers = (self.serial, self.boot_id, self.count, repr(tick))
        self._firmware = HostFirmware(PACKAGE, numbers, program)

    def start(self, boot_id: int, now: float) -> None:
        """Start anew: everything is forgotten, outputs are off."""
        super().start(boot_id, now)
        self._reader = FrameReader()
        if self._firmware is not None:
            self._say(f'r {boot_id}', now)

    def receive(self, frame: Frame, now: float) -> list[Frame]:
        """Take a frame; returns those that answer it."""
        return self.tick(now) + self.take(frame.pack(), now)

    def take(self, data: bytes, now: float) -> list[Frame]:
        """Take bytes of the line; returns the frames that answer them."""
        return self._say(f'b {data.hex()}', now)

    def tick(self, now: float) -> list[Frame]:
        """Let time pass; returns what is due."""
        passed = self._ticks.passed(now)
        return self._say(f't {passed}', now) if passed else []

    def close(self) -> int:
        """End the firmware's process; returns its exit code."""
        return 0 if self._firmware is None else self._firmware.close()

    def _say(self, line: str, now: float) -> list[Frame]:
        """Have the firmware do something with the present monitors; put out what it wants."""
        assert self._firmware is not None
        self._firmware.say('v ' + ' '.join(map(repr, self._bench.monitors(now).tolist())))
        *said, (_, state, faults, stale, dump, *volts) = self._firmware.say(line)
        before, self.faults, self.stale = self.applied, DeviceFault(int(faults)), int(stale)
        self.target = np.array(volts, float) * SCALE
        if not np.array_equal(before, self.target):
            self._put_out(self.target, now)
        self._bench.dump(dump == '1', now)
        self._enter(SerialState(int(state)), now)
        return [frame for _, data in said for frame in self._reader.feed(bytes.fromhex(data))]
