# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The bus as the transport sees it: frames of the protocol in and out, nothing waits long."""

from __future__ import annotations

from collections.abc import Iterator
import time

from soro_can_driver.frame import Frame, ProtocolError
from soro_can_driver.protocol import unpack
from soro_can_driver.python_can_link import PythonCanLink
from soro_can_driver.socketcand_link import SocketcandLink
from soro_can_driver.wiring import CanWiring, SERVER_PORT
from soro_driver.device import DeviceLost
from soro_driver.device_lock import DeviceLock, is_loopback

POLL = 2e-4  # s between looks at the bus while a reply is awaited


def resource_of(wiring: CanWiring) -> str:
    """Return the name of the bus, the same for every driver of this computer."""
    if wiring.interface != 'socketcand':
        return f'can {wiring.interface} {wiring.channel}'
    host = 'localhost' if is_loopback(wiring.host) else wiring.host.lower()
    if (host, wiring.port) == ('localhost', SERVER_PORT):
        return f'can socketcan {wiring.channel}'  # it serves the interfaces of this computer
    # At another port of this computer are emulators and tunnels: buses of their own.
    return f'can socketcand {host}:{wiring.port} {wiring.channel}'


class CanBus:
    """Sends and receives frames of the protocol; counts what is not one.

    Never blocks in `receive`: the loop judges by the age of feedback. A bus has one driver on this
    computer: a second one would begin a session and disarm the robot of the first.
    """

    def __init__(self, wiring: CanWiring, timeout: float, connect_timeout: float) -> None:
        self._wiring, self._timeout = wiring, timeout
        self._connect_timeout = connect_timeout
        self._use = DeviceLock(resource_of(wiring))
        self._link: SocketcandLink | PythonCanLink | None = None
        self._foreign = 0

    @property
    def malformed(self) -> int:
        """What was received since the connection was made and is no frame of the protocol."""
        return self._foreign + (0 if self._link is None else self._link.malformed)

    @property
    def error_frames(self) -> int:
        """Error frames of the bus since the connection was made."""
        return 0 if self._link is None else self._link.error_frames

    def open(self) -> None:
        """Take the bus and connect.

        Raises
        ------
        DeviceError
            Another process drives this bus; the interface is unknown.
        DeviceLost
            Nobody answers.
        """
        self.close()
        self._use.acquire()
        try:
            self._link = self._connect()
        except BaseException:
            self._use.release()
            raise
        self._foreign = 0

    def close(self) -> None:
        """Disconnect and give the bus back; never raises."""
        if self._link is not None:
            self._link.close()
            self._link = None
        self._use.release()

    def send(self, *frames: Frame) -> None:
        """Send frames, in one packet where the link can. Raises DeviceTimeout, DeviceLost."""
        self._connected().send([(int(frame.id), frame.pack()) for frame in frames])

    def receive(self) -> Iterator[Frame]:
        """Yield what has arrived, without waiting. Raises DeviceLost."""
        for identifier, data in self._connected().receive():
            try:
                yield unpack(identifier, data)
            except ProtocolError:
                self._foreign += 1

    def wait(self, end: float) -> bool:
        """Sleep a moment; False once the steady clock is past `end`."""
        if time.monotonic() >= end:
            return False
        time.sleep(POLL)
        return True

    def _connect(self) -> SocketcandLink | PythonCanLink:
        if self._wiring.interface == 'socketcand':
            return SocketcandLink(self._wiring, self._timeout, self._connect_timeout)
        return PythonCanLink(self._wiring, self._timeout)

    def _connected(self) -> SocketcandLink | PythonCanLink:
        if self._link is None:
            raise DeviceLost(f'CAN {self._wiring.interface}: not connected')
        return self._link
