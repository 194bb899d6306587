# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A link in memory, in virtual time, with a valve board at its end; keeps every frame."""

from __future__ import annotations

from soro_driver.serial.frame import FrameReader, VERSION
from soro_driver.serial.link import Arrival

STEP = 0.005  # s


class RecordingLink:
    """Stands for `SerialLink`.

    Attributes
    ----------
    log : list of str
        `>` host, `<` board, and the bytes.
    now : float
        Virtual time [s].
    """

    port, version = 'memory', VERSION

    def __init__(self, board, now: float) -> None:
        self.board, self.now, self.log = board, now, []
        self.reader, self._arrived, self._seq = FrameReader(), [], 0

    def clock(self) -> float:
        """Return virtual time [s]."""
        return self.now

    def open(self) -> None:
        """Begin anew."""
        self._arrived.clear()

    def close(self) -> None:
        """Nothing to give back."""

    def send(self, body, seq=None) -> int:
        """Let the board answer at once."""
        if seq is None:
            self._seq = seq = self._seq + 1
        data = body.frame(seq, self.version).pack()
        self.log.append(f'> {data.hex()}')
        (frame,) = self.reader.feed(data)
        self._hear(self.board.receive(frame, self.now))
        return seq

    def send_bytes(self, data: bytes) -> None:
        """Nobody listens between frames."""

    def take(self) -> list[Arrival]:
        """Return what has arrived."""
        found, self._arrived = self._arrived, []
        return found

    def wait(self, end: float) -> bool:
        """Let virtual time pass until something arrives, or until `end`."""
        while not self._arrived and self.now < end:
            self.pass_time(STEP)
        return bool(self._arrived)

    def pass_time(self, seconds: float) -> None:
        """Let virtual time pass."""
        end = self.now + seconds
        while self.now < end - 1e-9:
            self.now += STEP
            self._hear(self.board.advance(self.now))

    def _hear(self, frames) -> None:
        self.log += [f'< {frame.pack().hex()}' for frame in frames]
        self._arrived += [Arrival(frame, self.now) for frame in frames]
