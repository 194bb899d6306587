# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A socketcand server on loopback: the wire between the unmodified python-can client and a node.

Text protocol: ``< send 101 8 1 2 .. >`` from the client, ``< frame 181 time 0102.. >`` to it, one
frame per bracket. Servers of a real bus carry 8 bytes at most; this one takes FD frames the same
way, with the length in hexadecimal, and the driver sends them to no other. One client at a time: a
second one is turned away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
import re
import select
import socket
import threading
import time

from soro_mechanics.core.errors import InvalidInput

Wire = Iterable[tuple[int, bytes]]

POLL = 0.002  # s between calls of `idle` while the client is silent
SEND_TIMEOUT = 2.0  # s, for a client that reads nothing
ERROR_FRAME = 0x20000000  # bit of an identifier, CAN_ERR_FLAG of Linux: an error, no frame
PATIENCE = 5.0  # s, for a client that does not open the bus
LARGEST = 65536  # bytes of a client that never closes a bracket
SEND = re.compile(rb'send\s+([0-9A-Fa-f]{1,8})\s+([0-9A-Fa-f]{1,2})((?:\s+[0-9A-Fa-f]{1,2})*)\s*')


class SocketcandServer:
    """Serves one bus.

    - `port`: on 127.0.0.1; 0: any free one, see `port`.
    - `receive`: gets identifier and data of a frame, returns frames to send back.
    - `idle`: called every few milliseconds, returns frames to send.
    - `patience`: a client that has not opened the bus by then keeps others out no longer [s].
    """

    def __init__(
        self,
        port: int,
        receive: Callable[[int, bytes], Wire],
        idle: Callable[[], Wire],
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self._wanted, self._receive, self._idle = port, receive, idle
        self._listener: socket.socket | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._client: socket.socket | None = None
        self.malformed = 0
        self.silent = False
        self.port = port

    def start(self) -> None:
        """Listen. Raises InvalidInput when the port is in use."""
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(('127.0.0.1', self._wanted))
            listener.listen()
        except OSError as error:
            listener.close()
            raise InvalidInput('port', self._wanted, f'a free port ({error})') from None
        listener.settimeout(POLL)
        self.port = listener.getsockname()[1]
        self._listener = listener
        self._stopping.clear()
        self._thread = threading.Thread(target=self._serve, name='socketcand', daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close everything; never raises."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2.0)
            self._thread = None
        if self._listener is not None:
            self._listener.close()
            self._listener = None

    def drop_client(self) -> None:
        """Pull the plug on the connected client."""
        client = self._client
        if client is not None:
            with suppress(OSError):  # it has gone by itself
                client.shutdown(socket.SHUT_RDWR)

    def _serve(self) -> None:
        assert self._listener is not None
        while not self._stopping.is_set():
            try:
                client, _ = self._listener.accept()
            except TimeoutError:
                list(self._idle())  # nobody hears it, but time passes on the bus
                continue
            except OSError:
                return
            with client:
                self._client = client
                try:
                    self._talk(client)
                except OSError:
                    pass  # the client has gone
                finally:
                    self._client = None

    def _talk(self, client: socket.socket) -> None:
        assert self._listener is not None
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client.sendall(b'< hi >')
        client.settimeout(SEND_TIMEOUT)
        waiting = select.poll()
        waiting.register(client, select.POLLIN)
        waiting.register(self._listener, select.POLLIN)
        pending, greeted, opened = b'', False, False
        end = time.monotonic() + self._patience
        while not self._stopping.is_set() and (opened or time.monotonic() < end):
            ready = [number for number, _ in waiting.poll(1e3 * POLL)]
            if self._listener.fileno() in ready:
                self._turn_others_away(client)
            if client.fileno() in ready:
                data = client.recv(4096)
                if not data:
                    return
                *texts, pending = (pending + data).split(b'>')
                texts = [text.partition(b'<')[2].strip() for text in texts]
                opened = opened or any(text.startswith(b'open') for text in texts)
                answers = [self._answer(text) for text in texts]
                answer = b''.join(text for text, _ in answers)
                greeted = greeted or any(sent for _, sent in answers)
                if answer and not self.silent:
                    client.sendall(answer)
            if len(pending) > LARGEST:
                pending, self.malformed = b'', self.malformed + 1
            frames = as_text(self._idle())
            # The client compares whole packets during its greeting: nothing may slip in.
            if greeted and frames and not self.silent:
                client.sendall(frames)

    def _answer(self, text: bytes) -> tuple[bytes, bool]:
        if text.startswith((b'open', b'rawmode')):
            return b'< ok >', False
        match = SEND.fullmatch(text)
        if match is None:
            self.malformed += 1
            return b'', False
        data = bytes([int(x, 16) for x in match.group(3).split()])
        if len(data) != int(match.group(2), 16):
            self.malformed += 1
            return b'', False
        return as_text(self._receive(int(match.group(1), 16), data)), True

    def _turn_others_away(self, client: socket.socket) -> None:
        assert self._listener is not None
        if has_gone(client):
            return  # the other one is welcome then
        with suppress(OSError):  # gone already
            other, _ = self._listener.accept()
            with other:
                other.sendall(b'< error the bus is in use >')


def has_gone(client: socket.socket) -> bool:
    """Whether a client has closed its end, even if something it sent has not been read yet."""
    waiting = select.poll()
    waiting.register(client, select.POLLRDHUP)
    return bool(waiting.poll(0))


def as_text(frames: Wire) -> bytes:
    """Return frames as the server writes them."""
    now = time.time()
    return b''.join(
        f'< error {i ^ ERROR_FRAME:03X} {now:.6f} >'.encode()
        if i & ERROR_FRAME
        else f'< frame {i:03X} {now:.6f} {data.hex().upper()} >'.encode()
        for i, data in frames
    )
