# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A real-time computer with regulators and creeping legs behind it, as the device `dspace`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from soro_driver.serial.frame import Frame, FrameReader, SerialState
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.protocol import DeviceFault
from soro_dspace_driver.wiring import read_wiring
from soro_emulation.analog_input import AnalogProperties
from soro_emulation.device_emulator import Array, EmulatorContext
from soro_emulation.host_firmware import HostFirmware, Ticks
from soro_emulation.injected_fault import actuator_index, finite, whole_number
from soro_emulation.pneumatic_bench import BenchProperties, CHANNEL_FAULTS, PneumaticBench
from soro_emulation.serial_pty import LINK_FAULTS, SerialPty
from soro_emulation.wired_emulator import WiredEmulator
from soro_mechanics.actuator_models.creep import Creep, read_creep
from soro_mechanics.actuator_models.regulator import read_regulator
from soro_mechanics.robot_file.record import read_optional

PACKAGE = 'soro_dspace_driver'


class FirmwareBoard(DspaceBoard):
    """Stands for `DspaceBoard`; what that one counts and claims, the firmware does for itself."""

    def __init__(self, *board: Any, program: Path | None = None, tick: float = 1e-3) -> None:
        self.firmware: HostFirmware | None = None
        super().__init__(*board)
        self._ticks = Ticks(self.time, tick)
        numbers = (self.serial, self.boot_id, self.count, repr(tick))
        self.firmware = HostFirmware(PACKAGE, numbers, program)

    def start(self, boot_id: int, now: float) -> None:
        """Start anew: everything is forgotten, outputs are off."""
        super().start(boot_id, now)
        self._reader = FrameReader()
        if self.firmware is not None:
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
        return 0 if self.firmware is None else self.firmware.close()

    def _say(self, line: str, now: float) -> list[Frame]:
        """Have the firmware do something with the present monitors; put out what it wants."""
        assert self.firmware is not None
        self.firmware.say('v ' + ' '.join(map(repr, self._bench.monitors(now).tolist())))
        *said, (_, state, faults, stale, dump, *volts) = self.firmware.say(line)
        before, self.faults, self.stale = self.applied, DeviceFault(int(faults)), int(stale)
        self.target = np.array(volts, float) * SCALE
        if not np.array_equal(before, self.target):
            self._put_out(self.target, now)
        self._bench.dump(dump == '1', now)
        self._enter(SerialState(int(state)), now)
        return [frame for _, data in said for frame in self._reader.feed(bytes.fromhex(data))]


CLAIMS = ('repeat', 'protocol', 'channels')
BOARDS = {'emulated': DspaceBoard, 'host': FirmwareBoard}
BOARD_FAULTS = ('supply', 'reboot', *CLAIMS)
FAULTS = ('none', *CHANNEL_FAULTS, *BOARD_FAULTS, *LINK_FAULTS)


class DspaceEmulator(WiredEmulator):
    """Serves the serial driver over a pty; see docs/robots/soft_parallel.md for the faults.

    - `wire`: both directions of the line; without `start` it may be carried in virtual time.
    """

    faults, claims = FAULTS, CLAIMS

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        wiring = read_wiring(context.wiring, context.robot)
        with context.properties as section:
            serial = section.integer('serial', 1, minimum=1)
            creep = read_creep(section)
            brain = section.text('firmware', 'emulated', choices=tuple(BOARDS))
            sensor = read_optional(section, 'sensor', AnalogProperties)
            bench = BenchProperties(read_regulator(section), sensor, None)
        self._wiring = wiring
        self._order = wiring.channels  # regulator of each actuator
        by_channel = [context.robot.actuators[i] for i in np.argsort(self._order)]
        self._names = tuple(a.name for a in by_channel)
        span = np.array([a.maximum - a.minimum for a in by_channel])
        self._bench = PneumaticBench(
            self._names, span, (SCALE, 0.0), bench, context.seed, context.log, now
        )
        self._random = np.random.default_rng(context.seed)
        self._board = BOARDS[brain](self._bench, self._new_boot_id(), serial, context.log, now)
        self._creep = Creep(len(self._names), creep, now)
        self.wire = SerialPty(
            context.endpoint.path, wiring.baudrate, self._hear, self._tick, context.seed
        )

    def advance(self, now: float) -> None:
        """Let the material follow; the computer lives in the thread of the pty."""
        with self._lock:
            self._creep.apply(self._bench.pressures(now), now)

    def actuation(self, now: float) -> Array:
        """Return what the legs feel of their pressures [Pa], creep included."""
        with self._lock:
            felt = self._creep.apply(self._bench.pressures(now), now)
        return felt[self._order]

    def bear(self, reaction: Array, within: float) -> None:
        """Take how much air the legs' chambers hold."""
        self._bench.fill(reaction[np.argsort(self._order)], within)

    def in_use(self, now: float) -> bool:
        """Whether there is pressure, or the computer is armed."""
        with self._lock:
            armed = self._board.state is SerialState.ARMED
        return armed or self._bench.in_use(now)

    @property
    def counters(self) -> dict[str, int]:
        """What happened to the units on the line, and to set-points that came again or late."""
        return {**self.wire.counters, 'stale': self._board.stale}

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        board = self._board
        if fault == 'none':
            self._bench.clear_faults()
            board.repeats, board.major, board.channels = False, 1, board.count
        elif fault == 'supply':
            self._bench.regulators.supply = finite(values, 'pressure', 0.0)
        elif fault == 'reboot':
            board.start(self._new_boot_id(), board.time)
        elif fault == 'repeat':
            board.repeats = True
        elif fault == 'protocol':
            board.major = whole_number(values, 'major', 2, 15)
        elif fault == 'channels':
            board.channels = whole_number(values, 'count', board.count + 1, 255)
        else:
            index = actuator_index(values, self._names)
            everywhere = fault == 'sensor_frozen' and values.get('all')
            for each in range(len(self._names)) if everywhere else (index,):
                self._bench.break_channel(fault, each, values)

    def _new_boot_id(self) -> int:
        return int(self._random.integers(1, 0xFFFFFFFF))

    def _tick(self, now: float) -> list[Frame]:
        with self._lock:
            reader, board = self.wire.reader, self._board
            board.frames = reader.frames
            board.crc_errors, board.malformed = reader.crc_errors, reader.malformed
            return board.tick(now)
