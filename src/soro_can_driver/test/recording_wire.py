# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A bus in memory, in virtual time: a board answers at once, every frame is written down."""

from __future__ import annotations

from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.protocol import unpack


class RecordingWire:
    """Stands for `CanBus`.

    Attributes
    ----------
    log : list of str
        `>` host, `<` board, identifier and bytes.
    lost : callable
        Which frames of the host do not arrive.
    """

    def __init__(self, board: MotorBoard, now: float) -> None:
        self.board, self.now, self.log, self.waiting = board, now, [], []
        self.lost = lambda frame: False

    def open(self) -> None:
        """Nothing to take."""

    def close(self) -> None:
        """Nothing to give back."""

    def send(self, *frames) -> None:
        """Let the board answer."""
        for frame in frames:
            self.now += 1e-3
            data = frame.pack()
            self.log.append(f'> {int(frame.id):03X} {data.hex()}')
            if not self.lost(frame):
                self._hear(self.board.receive(int(frame.id), data, self.now))

    def pass_time(self, seconds: float) -> None:
        """Nobody says anything for a while."""
        end = self.now + seconds
        while self.now < end:
            self.now += 1e-3
            self._hear(self.board.advance(self.now))

    def receive(self):
        """Return what has arrived."""
        waiting, self.waiting = self.waiting, []
        return [unpack(i, d) for i, d in waiting]

    def wait(self, end) -> bool:
        """Return at once."""
        return True

    def _hear(self, answers) -> None:
        self.log += [f'< {i:03X} {d.hex()}' for i, d in answers]
        self.waiting += answers
