# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The session with simulated actuators over a local socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import select
import socket
import time

import numpy as np

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, Identity
from soro_driver.safety.device_lock import DeviceLock
from soro_simulated_driver.protocol import Array, Kind, LONGEST, Packet, PacketError, State, unpack

MAX_PENDING = 1024  # packets taken at once: a babbling peer must not hold the loop


def resource(path: Path) -> str:
    """Return what a driver of the actuators behind a socket locks, see `DeviceLock`."""
    return f'simulated {path.resolve()}'


class SimulatedTransport:
    """Sends requests and keeps the newest state.

    - `path`: of the socket.
    - `count`: actuators of the robot file.
    - `io_timeout`, `open_timeout`: of one request, and of everything that opening takes [s].

    Its attributes:
    - `newest`: last STATE; None before the first one of a connection.
    - `arrived`: when it came [s, CLOCK_MONOTONIC].
    - `malformed`: packets that were not of this protocol.
    """

    def __init__(self, path: Path, count: int, io_timeout: float, open_timeout: float) -> None:
        self._path, self._count = path, count
        self._io_timeout, self._open_timeout = io_timeout, open_timeout
        self._use = DeviceLock(resource(path))
        self._socket: socket.socket | None = None
        self._sequence = 0
        self.newest: Packet | None = None
        self.arrived = 0.0
        self.malformed = 0

    def open(self) -> Identity:
        """Connect, and have the outputs safe.

        DeviceError: the actuators there are not those of this robot, or another driver has them.
        DeviceLost, DeviceTimeout: nobody is there, or does not answer.
        """
        self.close()
        self.malformed = 0
        self._use.acquire()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            connection.settimeout(self._open_timeout)
            connection.connect(str(self._path))
            connection.setblocking(False)
        except OSError as error:
            connection.close()
            self._use.release()
            raise DeviceLost(f'{self._path}: {error}') from None
        self._socket = connection
        self._send(Kind.HELLO, sequence=self._count)
        answer = self._await(lambda p: p.kind is Kind.IDENTITY, self._open_timeout)
        if answer.sequence != self._count:
            self.close()
            raise DeviceError(
                f'{answer.sequence} actuators are simulated there, this robot has {self._count}: '
                'start driver and emulator with the same robot file'
            )
        self._request(Kind.DISARM, State.SAFE)
        return Identity('simulated actuators', f'{answer.boot:08x}', '', answer.boot)

    def arm(self) -> None:
        """Have the actuators act on set-points."""
        self._request(Kind.ARM, State.ARMED)

    def disarm(self) -> None:
        """Have them carry out their safe action."""
        self._request(Kind.DISARM, State.SAFE)

    def reset(self) -> None:
        """Clear what they remember of an expired time to live."""
        self._request(Kind.RESET, State.SAFE)

    def command(self, values: Array, ttl: float) -> None:
        """Send set-points [SI] with their time to live [s]."""
        self._send(Kind.SETPOINTS, ttl, values)

    def poll(self) -> None:
        """Take what has arrived. Raises DeviceLost."""
        for _ in range(MAX_PENDING):
            packet = self._receive()
            if packet is None:
                return

    def close(self) -> None:
        """Disconnect; never raises."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._use.release()
        self.newest = None

    def _request(self, kind: Kind, state: State) -> None:
        sequence = self._send(kind)
        self._await(
            lambda p: p.kind is Kind.STATE and p.sequence == sequence and p.state is state,
            self._io_timeout,
        )

    def _send(
        self, kind: Kind, time_: float = 0.0, values: Array | None = None, sequence: int = -1
    ) -> int:
        if self._socket is None:
            raise DeviceLost(f'{self._path}: not connected')
        if sequence < 0:
            sequence = self._sequence = (self._sequence + 1) & 0xFFFFFFFF
        packet = Packet(kind, sequence, time_, values=np.empty(0) if values is None else values)
        try:
            self._socket.send(packet.pack())
        except BlockingIOError:
            raise DeviceTimeout(f'{self._path}: the device does not read') from None
        except OSError as error:
            raise DeviceLost(f'{self._path}: {error}') from None
        return sequence

    def _await(self, wanted: Callable[[Packet], bool], timeout: float) -> Packet:
        end = time.monotonic() + timeout
        while self._socket is not None:
            packet = self._receive()
            if packet is not None:
                if wanted(packet):
                    return packet
                continue
            left = end - time.monotonic()
            if left <= 0.0 or not select.select([self._socket], [], [], left)[0]:
                raise DeviceTimeout(f'{self._path}: no answer')
        raise DeviceLost(f'{self._path}: not connected')

    def _receive(self) -> Packet | None:
        """Take one packet of the protocol; None when nothing waits."""
        while self._socket is not None:
            try:
                data = self._socket.recv(LONGEST)
            except BlockingIOError:
                return None
            except OSError as error:
                raise DeviceLost(f'{self._path}: {error}') from None
            if not data:
                raise DeviceLost(f'{self._path}: the device has gone')
            try:
                packet = unpack(data)
            except PacketError:
                self.malformed += 1
                continue
            if packet.kind is Kind.STATE and len(packet.values) == 2 * self._count:
                self.newest, self.arrived = packet, time.monotonic()
            return packet
        return None
