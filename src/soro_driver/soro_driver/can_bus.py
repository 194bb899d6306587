# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus of one driver: frames as identifier and data in and out, nothing waits long."""

from __future__ import annotations

import time

from soro_driver.can_port import CanPort, Raw
from soro_driver.device import DeviceLost
from soro_driver.python_can_link import PythonCanLink
from soro_driver.safety.device_lock import DeviceLock
from soro_driver.socketcand_link import SocketcandLink

POLL = 2e-4  # s between looks at the bus while a reply is awaited


class RawCanBus:
    """Sends and receives frames.

    Never blocks in `take`: the loop judges by the age of feedback. A bus has one driver on this
    computer: a second one would begin a session and disarm the robot of the first.
    """

    def __init__(self, port: CanPort, timeout: float, connect_timeout: float) -> None:
        self._port, self._timeout, self._connect_timeout = port, timeout, connect_timeout
        self._use = DeviceLock(port.resource)
        self._link: SocketcandLink | PythonCanLink | None = None
        self._foreign = 0  # frames that the protocol above does not know

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

        DeviceError: another process drives this bus; the interface is unknown.
        DeviceLost: nobody answers.
        """
        self.close()
        self._use.acquire()
        try:
            if self._port.interface == 'socketcand':
                self._link = SocketcandLink(self._port, self._timeout, self._connect_timeout)
            else:
                self._link = PythonCanLink(self._port, self._timeout)
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

    def put(self, frames: list[Raw]) -> None:
        """Send frames, in one packet where the link can. Raises DeviceTimeout, DeviceLost."""
        self._connected().send(frames)

    def take(self) -> list[Raw]:
        """Return what has arrived, without waiting. Raises DeviceLost."""
        return self._connected().receive()

    def wait(self, end: float) -> bool:
        """Sleep a moment; False once the steady clock is past `end`."""
        if time.monotonic() >= end:
            return False
        time.sleep(POLL)
        return True

    def _connected(self) -> SocketcandLink | PythonCanLink:
        if self._link is None:
            raise DeviceLost(f'CAN {self._port.interface}: not connected')
        return self._link
