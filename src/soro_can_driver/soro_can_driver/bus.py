# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus through python-can: frames in and out, its errors in our words, nothing waits long."""

from __future__ import annotations

from collections.abc import Iterator
import logging
import socket
import threading
import time
from typing import Any

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout

from soro_can_driver.protocol import Frame, ProtocolError, unpack
from soro_can_driver.wiring import CanWiring

INSTALL = 'pip install python-can==4.6.1'
MOST_PENDING = 4096  # frames taken at once: a babbling bus must not hold the loop
POLL = 2e-4  # s between looks at the bus while a reply is awaited

_socket_default = threading.Lock()


class CanBus:
    """Sends and receives frames of the protocol; counts what is not one.

    Never blocks in `receive`: the client of a socketcand server neither fails nor waits once its
    peer has gone, so the loop judges by the age of feedback and not by exceptions.
    """

    def __init__(self, wiring: CanWiring, timeout: float, connect_timeout: float) -> None:
        self._wiring, self._timeout = wiring, timeout
        self._connect_timeout = connect_timeout
        self._can: Any = None
        self._bus: Any = None
        self.malformed = 0
        self.error_frames = 0

    def open(self) -> None:
        """Connect.

        Raises
        ------
        DeviceError
            python-can is not installed, or does not know the interface.
        DeviceLost
            Nobody answers.
        """
        try:
            import can
        except ImportError as error:
            raise DeviceError(f'python-can is not installed ({error}); {INSTALL}') from None
        self._can = can
        self.close()
        try:
            self._bus = self._connect()
        except (can.CanError, OSError, TimeoutError) as error:
            raise DeviceLost(f'{self._place()}: {_line(error)}') from None
        except (ValueError, NotImplementedError) as error:
            raise DeviceError(f'{self._place()}: {_line(error)}') from None

    def close(self) -> None:
        """Disconnect; never raises."""
        if self._bus is None:
            return
        bus, self._bus = self._bus, None
        try:
            bus.shutdown()
        except (self._can.CanError, OSError):
            pass  # it is gone already

    def send(self, frame: Frame) -> None:
        """Send one frame. Raises DeviceTimeout, DeviceLost."""
        if self._bus is None:
            raise DeviceLost(f'{self._place()}: not connected')
        data = frame.pack()
        message = self._can.Message(
            arbitration_id=int(frame.id), data=data, is_extended_id=False,
            is_fd=len(data) > 8, bitrate_switch=len(data) > 8, dlc=len(data),
        )  # fmt: skip
        try:
            self._bus.send(message, timeout=self._timeout)
        except TimeoutError as error:
            raise DeviceTimeout(f'{self._place()}: sending: {_line(error)}') from None
        except (self._can.CanError, OSError) as error:
            raise DeviceLost(f'{self._place()}: sending: {_line(error)}') from None

    def receive(self) -> Iterator[Frame]:
        """Yield what has arrived, without waiting. Raises DeviceLost."""
        for _ in range(MOST_PENDING):
            if self._bus is None:
                return
            try:
                message = self._bus.recv(0)
            except (self._can.CanError, OSError) as error:
                raise DeviceLost(f'{self._place()}: receiving: {_line(error)}') from None
            if message is None:
                return
            if message.is_error_frame:
                self.error_frames += 1
                continue
            try:
                yield unpack(message.arbitration_id, bytes(message.data))
            except ProtocolError:
                self.malformed += 1

    def wait(self, end: float) -> bool:
        """Sleep a moment; False once the steady clock is past `end`."""
        if time.monotonic() >= end:
            return False
        time.sleep(POLL)
        return True

    def _connect(self) -> Any:
        w = self._wiring
        if w.interface != 'socketcand':
            fd = w.framing == 'fd'
            options = {'data_bitrate': w.data_bitrate, 'fd': True} if fd else {}
            return self._can.Bus(
                interface=w.interface, channel=w.channel, bitrate=w.bitrate, **options
            )
        # A frame that arrives in two packets is not worth a line in the log.
        logging.getLogger('can.interfaces.socketcand.socketcand').setLevel(logging.ERROR)
        # The client retries for ten seconds where nobody listens, and waits for ever where
        # somebody does but says nothing: look first, and give its socket a time limit. (Sending
        # keeps that limit; a peer that reads nothing for seconds is found by its silence first.)
        with socket.create_connection((w.host, w.port), timeout=self._connect_timeout):
            pass
        with _socket_default:
            before = socket.getdefaulttimeout()
            socket.setdefaulttimeout(self._connect_timeout)
            try:
                return self._can.Bus(
                    interface='socketcand', channel=w.channel, host=w.host, port=w.port,
                    tcp_tune=True,
                )  # fmt: skip
            finally:
                socket.setdefaulttimeout(before)

    def _place(self) -> str:
        w = self._wiring
        where = f'{w.host}:{w.port}' if w.interface == 'socketcand' else w.channel
        return f'CAN {w.interface} {where}'


def _line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
