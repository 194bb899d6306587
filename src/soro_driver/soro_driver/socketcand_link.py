# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A CAN bus through a socketcand server, for fast loops: one system call per batch of frames.

python-can's client of the same protocol asks the kernel twice per packet, decodes every frame with
regular expressions and sends frames one by one: 150 us of a tick of 1 ms. A test holds the two
against the same server.
"""

from __future__ import annotations

from collections.abc import Iterable
import socket
import struct
import time

from soro_driver.can_port import CanPort, Raw
from soro_driver.device import DeviceLost

BATCH = 65536  # bytes taken at once: a babbling bus must not hold the loop
STANDARD = 3  # digits of an identifier; extended ones have eight and belong to others
LONGEST = 4096  # bytes without the end of a frame: this is no socketcand server


class SocketcandLink:
    """Frames as identifier and data over one TCP connection.

    `wiring`: host, port and channel; `timeout`: a server that reads nothing for this long is given
    up [s]; `connect_timeout`: of the whole greeting [s].

    DeviceLost: nobody answers, or the bus is in use.
    """

    def __init__(self, wiring: CanPort, timeout: float, connect_timeout: float) -> None:
        self.place = f'CAN socketcand {wiring.host}:{wiring.port}'
        self.error_frames = self.malformed = 0
        self._pending = b''
        end = time.monotonic() + connect_timeout
        try:
            self._socket = socket.create_connection((wiring.host, wiring.port), connect_timeout)
        except OSError as error:
            raise DeviceLost(f'{self.place}: {error}; does socketcand run there?') from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._expect(b'hi', end)
            for word in (f'open {wiring.channel}', 'rawmode'):
                self._socket.sendall(f'< {word} >'.encode())
                self._expect(b'ok', end)
            # From here on no call waits: Python's own time limit would cost a poll per call.
            self._socket.settimeout(None)
            limit = struct.pack('ll', int(timeout), int(1e6 * (timeout % 1.0)))
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        except DeviceLost:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise DeviceLost(f'{self.place}: {error}') from None

    def close(self) -> None:
        """Disconnect; never raises."""
        self._socket.close()

    def send(self, frames: Iterable[Raw]) -> None:
        """Send frames in one packet. Raises DeviceLost."""
        text = [f'< send {i:03X} {len(data):X} {data.hex(" ")} >' for i, data in frames]
        try:
            self._socket.sendall(''.join(text).encode())
        except BlockingIOError:  # a part may be out: the rest of the stream would be garbage
            raise DeviceLost(f'{self.place}: the server does not read') from None
        except OSError as error:
            raise DeviceLost(f'{self.place}: sending: {error}') from None

    def receive(self) -> list[Raw]:
        """Return what has arrived, without waiting. Raises DeviceLost."""
        try:
            data = self._socket.recv(BATCH, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError as error:
            raise DeviceLost(f'{self.place}: receiving: {error}') from None
        if not data:
            raise DeviceLost(f'{self.place}: the server has closed the connection')
        *texts, self._pending = (self._pending + data).split(b'>')
        if len(self._pending) > LONGEST:
            self._pending, self.malformed = b'', self.malformed + 1
        found: list[Raw] = []
        for text in texts:
            self._read(text.decode('latin-1').split(), found)
        return found

    def _read(self, words: list[str], found: list[Raw]) -> None:
        """Take one bracket: ``< frame identifier time data``."""
        try:
            _, kind, identifier, _, *data = words
            if kind == 'frame' and len(identifier) <= STANDARD:
                found.append((int(identifier, 16), bytes.fromhex(''.join(data))))
            elif kind == 'error':
                self.error_frames += 1
            else:
                self.malformed += 1
        except ValueError:
            self.malformed += 1

    def _expect(self, word: bytes, end: float) -> None:
        """Wait for one bracket of the greeting."""
        text = b''
        while not text.endswith(b'>'):
            self._socket.settimeout(max(1e-3, end - time.monotonic()))
            data = self._socket.recv(256)
            if not data:
                raise DeviceLost(f'{self.place}: the server has closed the connection')
            text += data
            if len(text) > LONGEST or time.monotonic() > end:  # it may never pause
                raise DeviceLost(f'{self.place}: this is no socketcand server')
        if text.strip(b'<> ') != word:
            answer = text.strip(b'<> ').decode(errors='replace')
            raise DeviceLost(f'{self.place}: the server says "{answer}"')
