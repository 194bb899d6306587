# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus on which frames are lost, repeated or late, that somebody floods, or nobody reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
import threading
import time
from typing import Any, ClassVar

import numpy as np

from soro_driver.can_port import CanPort
from soro_driver.endpoint import Endpoint
from soro_emulation.injected_fault import whole_number
from soro_emulation.serial_line import counters_of, damage, SerialLine
from soro_emulation.socketcand_server import ERROR_FRAME, SocketcandServer
from soro_mechanics.core.errors import UnknownName

Wire = Iterable[tuple[int, bytes]]

BUS_FAULTS = ('link', 'deaf', 'garbage', 'babble', 'errors')
MAX_GARBAGE = 10**5  # frames at once
LOOK = 0.002  # s
RATE = 10**12  # the pace of the bus is that of the host; faults are what is added
FLOOD_ID = 0x001  # wins every arbitration
PASSIVE = ERROR_FRAME | 0x004  # CAN_ERR_CRTL: a controller has become error-passive
FLOOD = 16  # frames at every look, some 8000 per second: 1 Mbit/s is full of them


class EmulatedBus:
    """A bus with the socketcand server that a driver connects to; stands between it and the board.

    Faults: ``silent`` (nothing reaches the host), ``unplug`` (the connection is closed), ``link``
    (`direction`: to_device, to_host, both; `loss`, `repetition`: parts; `delay` [s]; `burst`:
    frames lost at once), ``deaf`` (nobody reads any more), ``garbage`` (`count` frames that are
    not of the protocol), ``babble`` (a node floods the bus: nothing else passes), ``errors``
    (error frames as often, with what passes between them).

    - `receive`: the board's: gets identifier and data, returns frames.
    - `idle`: the board's: returns frames that are due.
    """

    faults: ClassVar[tuple[str, ...]] = ('silent', 'unplug', *BUS_FAULTS)

    def __init__(
        self,
        port: CanPort,
        endpoint: Endpoint,
        receive: Callable[[int, bytes], Wire],
        idle: Callable[[], Wire],
        seed: int,
    ) -> None:
        self._receive, self._idle = receive, idle
        self._random = np.random.default_rng(seed + 3)
        self._to_device = SerialLine(RATE, self._random, zeros=False)
        self._to_host = SerialLine(RATE, self._random, zeros=False)
        self._hears = threading.Event()
        self._hears.set()
        self._broken = self._babbling = self._storming = False
        self._garbage = self._sent_garbage = self._unread = 0
        self.server = SocketcandServer(endpoint.port, self.receive, self.idle)
        self.start, self.stop = self.server.start, self.server.stop
        self.address, self.resource = endpoint.address, port.emulated(endpoint).resource

    @property
    def counters(self) -> dict[str, int]:
        """What faults did to frames; garbage that was sent; looks at a bus that nobody reads."""
        more = {'garbage': self._sent_garbage, 'unread': self._unread}
        return {**counters_of(self._to_device, self._to_host), **more}

    def receive(self, identifier: int, data: bytes) -> Wire:
        """Carry a frame of the host to the board; blocks while nobody reads."""
        if not self._broken:
            return self._receive(identifier, data)
        while not self._hears.wait(LOOK):
            self._unread += 1
            list(self._idle())  # time passes on the board, and nobody hears of it
        if not self._babbling:
            self._to_device.put((identifier, data), time.monotonic())
        return self._carry()

    def idle(self) -> Wire:
        """Let time pass on the bus."""
        if not self._broken:
            return self._idle()
        frames = list(self._carry())
        if self._babbling:
            frames += [(FLOOD_ID, bytes(8))] * FLOOD
        if self._storming:
            frames += [(PASSIVE, bytes(8))] * FLOOD
        count, self._garbage = self._garbage, 0
        self._sent_garbage += count
        for _ in range(count):
            size = int(self._random.integers(0, 9))
            frames.append((int(self._random.integers(0, 0x800)), self._random.bytes(size)))
        return frames

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Break bus or connection, or repair them ('none')."""
        if fault == 'unplug':
            self.server.drop_client()
            return
        if fault == 'silent':
            self.server.silent = True
            return
        if fault not in ('none', *BUS_FAULTS):
            raise UnknownName('fault', fault, BUS_FAULTS)
        if fault == 'none':
            self._to_device.repair()
            self._to_host.repair()
            self._babbling = self._storming = self.server.silent = False
            self._hears.set()
            self._broken = False
            return
        if fault == 'link':
            # The controllers discard a frame whose checksum is wrong: it is lost.
            damage(self._to_device, self._to_host, {**values, 'corruption': 0.0})
        elif fault == 'deaf':
            self._hears.clear()
        elif fault == 'garbage':
            self._garbage = whole_number(values, 'count', 100, MAX_GARBAGE)
        elif fault == 'babble':
            self._babbling = True
        else:
            self._storming = True
        self._broken = True

    def _carry(self) -> Iterator[tuple[int, bytes]]:
        now = time.monotonic()
        for unit in self._to_device.leaving(now):
            self._answer(self._receive(*unit), now)
        self._answer(self._idle(), now)
        yield from self._to_host.leaving(time.monotonic())

    def _answer(self, frames: Wire, now: float) -> None:
        for frame in frames:
            if not self._babbling:
                self._to_host.put(frame, now)
