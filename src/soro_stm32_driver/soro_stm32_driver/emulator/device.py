# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board with muscles behind it, as the emulated device `stm32`."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from soro_driver.serial.frame import Frame, MAJOR, SerialState
from soro_emulation.device_emulator import Array, EmulatorContext
from soro_emulation.injected_fault import actuator_index, finite, whole_number
from soro_emulation.serial_line import SerialLine
from soro_emulation.serial_pty import LINK_FAULTS, SerialPty
from soro_emulation.wired_emulator import WiredEmulator
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.record import read_section
from soro_mechanics.robot_file.section import Section
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.firmware_board import FirmwareBoard
from soro_stm32_driver.emulator.muscle_bank import MuscleBank, MuscleProperties
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.protocol import NO_LENGTH, StatusFlag
from soro_stm32_driver.wiring import read_wiring, Stm32Wiring

OF_DEVICE = ('leak', 'blocked', 'stuck', 'supply', 'sensor', 'sensor_frozen', 'reboot')
FAULTS = ('none', *OF_DEVICE, 'protocol', 'channels', *LINK_FAULTS)
SENSOR_UNIT = 1e-5  # m
# What answers: the board of this package, or the reference firmware built for this computer.
BOARDS: dict[str, type[Stm32Board]] = {'emulated': Stm32Board, 'host': FirmwareBoard}


class RadioLine(SerialLine):
    """A serial line with the latency of a radio link.

    - `latency` [s]: every unit is late by something in between; order is kept.

    Its `counters` have two more: units that were held back for others to overtake them
    (`reordered`), and those that did overtake some (`overtaking`).
    """

    PARTS = (*SerialLine.PARTS, 'reordering')

    def __init__(
        self, baudrate: int, generator: np.random.Generator, latency: tuple[float, float]
    ) -> None:
        self._latency = latency
        self._generator = generator
        self._newest = 0.0
        super().__init__(baudrate, generator)
        self.counters |= {'reordered': 0, 'overtaking': 0}

    def repair(self) -> None:
        """End every fault; the counters stay."""
        super().repair()
        self._hold = self._held_until = 0.0

    def damage(self, values: dict[str, Any]) -> None:
        """Begin faults: those of a cable, and two more.

        ``reordering``: part of the units that are overtaken by the next ones; ``hold`` [s]:
        nothing passes for so long, then everything.
        """
        hold = finite(values, 'hold', 0.0)
        if hold < 0.0:
            raise InvalidInput('hold', hold, 'seconds, zero or more')
        super().damage(values)
        self._hold = hold

    def _enter(self, unit: bytes, now: float) -> None:
        before = len(self._waiting)
        if self._hold > 0.0:
            self._held_until, self._hold = now + self._hold, 0.0
        super()._enter(unit, now)
        added = [self._waiting.pop() for _ in range(len(self._waiting) - before)]
        for at, data in reversed(added):
            arrival = max(at + self._generator.uniform(*self._latency), self._held_until)
            if self._generator.random() < self._parts['reordering']:
                arrival += 2.0 * self._latency[1] + 0.1
                self.counters['reordered'] += 1
            else:
                arrival = self._newest = max(arrival, self._newest)
            place = bisect.bisect(self._waiting, arrival, key=lambda waiting: waiting[0])
            self.counters['overtaking'] += place < len(self._waiting)
            self._waiting.insert(place, (arrival, data))


class Stm32Emulator(WiredEmulator):
    """Serves a pty as slow and late as a Bluetooth serial link.

    Faults: ``leak`` (`actuator`, `time` [s]), ``blocked`` and ``stuck`` (`actuator`: its line, its
    deflation relay), ``supply`` (`pressure` [Pa]), ``sensor`` (`actuator`), ``reboot``,
    ``protocol`` (`major`) and ``channels`` (`count`) that it claims to have, and those of
    the link (`SerialPty.inject`, `RadioLine.damage`).
    """

    faults, claims = FAULTS, ('protocol', 'channels')

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        wiring = read_wiring(context.wiring, context.robot)
        with context.properties as section:
            properties = read_board(section, wiring)
            muscles = read_section(section, 'muscles', MuscleProperties)
            low, high = section.vector('latency', 's', 2, (0.025, 0.040))
            if not 0.0 <= low <= high <= 1.0:
                raise section.error('latency', 'write the shortest and the longest, 25 40 ms')
            brain = section.text('firmware', 'emulated', choices=tuple(BOARDS))
            self._noise = section.quantity('sensor_noise', 'm', 5e-5, minimum=0.0)
        self._random = np.random.default_rng(context.seed)
        self._names = tuple(a.name for a in context.robot.actuators)
        self._broken = np.zeros(len(self._names), bool)
        self._frozen: tuple[int, ...] | None = None
        self._bank = MuscleBank(wiring.rest, muscles, self._random, now, wiring.per_module)
        boot_id = int(self._random.integers(1, 0xFFFFFFFF))
        self._board = BOARDS[brain](
            properties, self._bank, context.log, now, boot_id, self._sense, wiring.pairing
        )
        path = context.endpoint.path
        self.wire = SerialPty(path, wiring.baudrate, self._hear, self._time, context.seed)
        for name in ('to_device', 'to_host'):
            setattr(self.wire, name, RadioLine(wiring.baudrate, self._random, (low, high)))

    def actuation(self, now: float) -> Array:
        """Return the true lengths [m]."""
        with self._lock:
            return self._bank.lengths

    def in_use(self, now: float) -> bool:
        """Whether the board is armed, or still emptying the muscles."""
        with self._lock:
            board = self._board
            vented = board.flags & StatusFlag.VENTED
            return board.state is SerialState.ARMED or not vented

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        bank = self._bank
        if fault == 'none':
            bank.repair()
            self._broken[:] = False
            self._frozen = None
            self._board.major, self._board.channels = MAJOR, 0
        elif fault == 'supply':
            bank.supply = finite(values, 'pressure', 0.0)
        elif fault == 'sensor_frozen':
            self._frozen = self._sense()
        elif fault == 'reboot':
            self._board.reboot(self._board.at)
        elif fault == 'protocol':
            self._board.major = whole_number(values, 'major', MAJOR + 1, 15)
        elif fault == 'channels':
            self._board.channels = whole_number(values, 'count', 6, 255)
        else:
            index = actuator_index(values, self._names)
            if fault == 'leak':
                seconds = finite(values, 'time', 5.0)
                if seconds <= 0.0:
                    raise InvalidInput('time', seconds, 'seconds, more than zero')
                bank.leak[index] = 1.0 / seconds
            elif fault == 'blocked':
                bank.blocked[index] = True
            elif fault == 'stuck':
                bank.stuck[index] = True
            else:
                self._broken[index] = True

    def _time(self, now: float) -> list[Frame]:
        with self._lock:
            self._board.crc_errors = self.wire.reader.crc_errors
            return self._board.advance(now)

    def _sense(self) -> tuple[int, ...]:
        if self._frozen is not None:
            return self._frozen
        noisy = self._bank.lengths + self._random.normal(0.0, self._noise, len(self._names))
        counts = np.rint(noisy / SENSOR_UNIT).astype(int)
        return tuple(int(c) for c in np.where(self._broken, NO_LENGTH, counts))


def read_board(section: Section, wiring: Stm32Wiring) -> BoardProperties:
    """Read ``emulator.stm32.board``; what is missing is as in `BoardProperties`."""
    default = BoardProperties()
    with section.optional('board') as s:
        return BoardProperties(
            s.integer('serial', default.serial, minimum=1),
            round(1e3 * s.quantity('vent_time', 's', default.vent_time * 1e-3, positive=True)),
            round(1e3 * s.quantity('budget', 's', default.budget * 1e-3, positive=True)),
            s.integer('simultaneous', default.simultaneous, minimum=1),
            wiring.length_sensors,
            s.number('drift', 0.0, minimum=-0.01, maximum=0.01),
            s.integer('first_tick', 0, minimum=0),
            round(1e3 * s.quantity('watchdog', 's', default.watchdog * 1e-3, positive=True)),
        )
