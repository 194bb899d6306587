# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Driver and emulated device joined in one process, in a time that nobody has to wait for.

Everything of a driver but its pty is the real thing: session, codec, device, control loop. A
computer's load changes nothing, so the results can be compared from machine to machine.
"""

from __future__ import annotations

from soro_driver.serial.frame import Body, FrameReader, VERSION
from soro_driver.serial.link import Arrival
from soro_emulation.serial_pty import SerialPty

STEP = 0.002  # s, as the thread of the pty


class VirtualLink:
    """Stands for `soro_driver.serial.link.SerialLink`.

    Parameters
    ----------
    wire : SerialPty
        Of an emulator that was not started.
    now : float
        Where virtual time begins [s].
    """

    port = 'virtual'

    def __init__(self, wire: SerialPty, now: float) -> None:
        self.now = now
        self.reader, self.version = FrameReader(), VERSION
        self._wire = wire
        self._arrived: list[Arrival] = []
        self._seq = 0

    def clock(self) -> float:
        """Return virtual time [s]."""
        return self.now

    def open(self) -> None:
        """Begin anew."""
        self.reader = FrameReader()
        self._arrived.clear()

    def close(self) -> None:
        """Do nothing: there is nothing to give back."""

    def send(self, body: Body, seq: int | None = None) -> int:
        """Send a frame and return its sequence number."""
        if seq is None:
            self._seq = seq = (self._seq + 1) & 0xFFFF
        self.send_bytes(body.frame(seq, self.version).pack())
        return seq

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are."""
        self._wire.receive(data, self.now)

    def take(self) -> list[Arrival]:
        """Return what has arrived since the last call."""
        found, self._arrived = self._arrived, []
        return found

    def wait(self, end: float) -> bool:
        """Let virtual time pass until something arrives, or until `end`."""
        while not self._arrived and self.now < end:
            self.step()
        return bool(self._arrived)

    def step(self) -> None:
        """Let one step of virtual time pass."""
        self.now += STEP
        for unit in self._wire.carry(self.now):
            self._arrived += [Arrival(frame, self.now) for frame in self.reader.feed(unit)]
