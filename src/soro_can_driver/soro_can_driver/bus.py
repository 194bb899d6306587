# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The bus as the transport sees it: frames of the protocol in and out, nothing waits long."""

from __future__ import annotations

from collections.abc import Iterator
import time

from soro_driver.device import DeviceLost

from soro_can_driver.protocol import Frame, ProtocolError, unpack
from soro_can_driver.python_can_link import PythonCanLink
from soro_can_driver.socketcand_link import SocketcandLink
from soro_can_driver.wiring import CanWiring

POLL = 2e-4  # s between looks at the bus while a reply is awaited


class CanBus:
    """Sends and receives frames of the protocol; counts what is not one.

    Never blocks in `receive`: the loop judges by the age of feedback.
    """

    def __init__(self, wiring: CanWiring, timeout: float, connect_timeout: float) -> None:
        self._wiring, self._timeout = wiring, timeout
        self._connect_timeout = connect_timeout
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
        """Connect. Raises DeviceError, DeviceLost."""
        self.close()
        w = self._wiring
        if w.interface == 'socketcand':
            self._link = SocketcandLink(w, self._timeout, self._connect_timeout)
        else:
            self._link = PythonCanLink(w, self._timeout)
        self._foreign = 0

    def close(self) -> None:
        """Disconnect; never raises."""
        if self._link is not None:
            self._link.close()
            self._link = None

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

    def _connected(self) -> SocketcandLink | PythonCanLink:
        if self._link is None:
            raise DeviceLost(f'CAN {self._wiring.interface}: not connected')
        return self._link
