# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A link in memory with a real-time computer at its end, and the wiring that leads there."""

from __future__ import annotations

import time

import numpy as np

from soro_driver.serial.frame import (
    Ack,
    DeviceKind,
    FrameReader,
    Hello,
    HelloAck,
    MAJOR,
    SerialState,
    SessionType,
    VERSION,
)
from soro_driver.serial.link import Arrival
from soro_dspace_driver.protocol import DeviceFault, Feedback, FULL_SCALE, minor_for
from soro_dspace_driver.wiring import DspaceWiring


def wiring(count=3):
    names = tuple(f'p{i}' for i in range(1, count + 1))
    return DspaceWiring(
        port='memory',
        baudrate=115200,
        rate=100.0,
        serial=0,
        names=names,
        channels=np.arange(count),
        maximum=np.full(count, 1.8e5),
        slew=np.full(count, 2e5),
    )


class ComputerLink:
    """Stands for `SerialLink`. The computer measures whenever somebody looks; judges nothing."""

    port = 'memory'
    version = VERSION
    clock = staticmethod(time.monotonic)

    def __init__(self, count=3, minor=None):
        self.count, self.minor = count, minor_for(count) if minor is None else minor
        self.reader = FrameReader()
        self.state, self.faults = SerialState.SAFE, DeviceFault(0)
        self._arrived = []
        self._heard = self._sent = 0

    def open(self):
        self._arrived.clear()

    def close(self):
        pass

    def send(self, body, seq=None):
        if seq is None:
            self._heard = seq = self._heard + 1
        if isinstance(body, Hello):
            self._answer(
                HelloAck(
                    body.session, MAJOR, self.minor, DeviceKind.PRESSURE, self.state, 12, 34, 1, 0,
                    self.count, 20, 500, 0, FULL_SCALE,
                )
            )  # fmt: skip
            return seq
        self.measure()  # on its way before the answer
        if body.type == SessionType.RESET:
            self.state, self.faults = SerialState.SAFE, DeviceFault(0)
        self._answer(Ack(seq, body.type))
        return seq

    def send_bytes(self, data):
        pass

    def measure(self):
        zero = (0,) * self.count
        meant = 0 if self.minor else None
        self._answer(Feedback(0, 0, zero, zero, self.state, 0, self.faults, meant))

    def _answer(self, body):
        self._sent += 1
        arrival = Arrival(body.frame(self._sent), time.monotonic())
        self._arrived.append(arrival)

    def take(self):
        found, self._arrived = self._arrived, []
        return found

    def wait(self, end):
        if not self._arrived:
            self.measure()
        return True
