# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The valve board in virtual time: a clock that only moves when somebody waits.

The driver's own code, the frames on the wire, the radio, the board and the muscles are those of
the emulator. Nothing depends on how busy the computer is, so long experiments take seconds and
always give the same figures. Only the pty, the threads and ROS are left out.
"""

from __future__ import annotations

import numpy as np

from soro_driver.serial.frame import FrameReader
from soro_driver.serial.link import Arrival, SerialLink
from soro_driver.settings import DriverSettings, read_driver_settings
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.record import read_section
from soro_stm32_driver.device import Stm32Device
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.device import RadioLine, read_board
from soro_stm32_driver.emulator.muscle_bank import MuscleBank, MuscleProperties
from soro_stm32_driver.protocol import NO_LENGTH
from soro_stm32_driver.transport import Stm32Transport
from soro_stm32_driver.wiring import read_wiring

STEP = 0.002  # s, as the thread of the real link looks at its clock


class VirtualClock:
    """A steady clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        """Return the time [s]."""
        return self.time


class VirtualLink(SerialLink):
    """The driver's end of a link whose other end is a board in the same process."""

    def __init__(self, board: Stm32Board, lines: tuple[RadioLine, RadioLine], clock: VirtualClock):
        super().__init__('virtual', 115200)
        self.board, self.clock = board, clock
        self.to_device, self.to_host = lines
        self._device_reader = FrameReader()
        self._inbox: list[Arrival] = []
        self.silent = False

    def open(self) -> None:
        """Begin anew."""
        self.reader = FrameReader()
        self._inbox.clear()

    def close(self) -> None:
        """Nothing to give back."""

    def send_bytes(self, data: bytes) -> None:
        """Send bytes."""
        self.to_device.put(data, self.clock.time)

    def take(self) -> list[Arrival]:
        """Return what has arrived."""
        found, self._inbox = self._inbox, []
        return found

    def wait(self, end: float) -> bool:
        """Let virtual time pass until something arrives, or until `end`."""
        while not self._inbox and self.clock.time < end:
            self.pass_time(STEP)
        return bool(self._inbox)

    def pass_time(self, seconds: float) -> None:
        """Let time pass."""
        end = self.clock.time + seconds
        while self.clock.time < end - 1e-9:
            self.clock.time = min(end, self.clock.time + STEP)
            self._carry(self.clock.time)

    def _carry(self, now: float) -> None:
        frames = []
        for unit in self.to_device.leaving(now):
            for frame in self._device_reader.feed(unit):
                frames += self.board.receive(frame, now)
        self.board.crc_errors = self._device_reader.crc_errors
        frames += self.board.advance(now)
        for frame in frames:
            self.to_host.put(frame.pack(), now)
        for unit in self.to_host.leaving(now):
            if not self.silent:
                self._inbox += [Arrival(frame, now) for frame in self.reader.feed(unit)]


class VirtualRig:
    """Driver, link, board and muscles of one robot in virtual time.

    Parameters
    ----------
    robot : RobotDescription
    log : EventLog
    seed : int, optional
        Default: the robot file's.

    Attributes
    ----------
    device : Stm32Device
    board : Stm32Board
    bank : MuscleBank
    link : VirtualLink
    clock : VirtualClock
    settings : DriverSettings
    """

    def __init__(self, robot: RobotDescription, log: EventLog, seed: int | None = None) -> None:
        self.settings: DriverSettings = read_driver_settings(robot)
        emulator = read_emulator_settings(robot, self.settings.device)
        wiring = read_wiring(self.settings.section, robot)
        with emulator.device as section:
            properties = read_board(section, wiring)
            muscles = read_section(section, 'muscles', MuscleProperties)
            latency = section.vector('latency', 's', 2, (0.025, 0.040))
            self._noise = section.quantity('sensor_noise', 'm', 5e-5)
        self._random = np.random.default_rng(emulator.seed if seed is None else seed)
        self.clock = VirtualClock()
        now = self.clock.time
        self.bank = MuscleBank(wiring.rest, muscles, self._random, now)
        boot = int(self._random.integers(1, 0xFFFFFFFF))
        self.board = Stm32Board(properties, self.bank, log, now, boot, self._sense)
        span = (float(latency[0]), float(latency[1]))
        lines = tuple(RadioLine(wiring.baudrate, self._random, span) for _ in range(2))
        self.link = VirtualLink(self.board, (lines[0], lines[1]), self.clock)
        transport = Stm32Transport(wiring, 0.6, 1.5, self.link)
        self.device = Stm32Device(wiring, transport)
        self.broken = np.zeros(wiring.rest.size, bool)

    def start(self) -> None:
        """Boot, connect, vent, arm."""
        self.link.pass_time(0.5)
        self.device.open()
        while not self.device.ready():
            self.link.pass_time(0.05)
        self.device.arm()

    def _sense(self) -> tuple[int, ...]:
        noisy = self.bank.lengths + self._random.normal(0.0, self._noise, self.bank.lengths.size)
        counts = np.rint(noisy * 1e5).astype(int)
        return tuple(int(c) for c in np.where(self.broken, NO_LENGTH, counts))
