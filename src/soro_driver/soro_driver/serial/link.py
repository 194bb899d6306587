# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A serial port that carries frames: a thread stamps what arrives, errors in our words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
import errno
import fcntl
import os
import select
import termios
import threading
import time
from typing import Any

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout, first_line
from soro_driver.safety.device_lock import DeviceLock
from soro_driver.serial.frame import Body, Frame, FrameError, FrameReader, VERSION
from soro_mechanics.core.missing_package import how_to_install

INSTALL = how_to_install('pyserial==3.5')
IN_USE = (errno.EBUSY, errno.EAGAIN)  # opened exclusively (TIOCEXCL), locked (flock)
PTYS = '/dev/pts/'
READ_TIMEOUT = 0.1  # s, after which the thread looks whether it shall end
MAX_WAITING = 4096  # frames that nobody took; the oldest go first


@dataclass(frozen=True)
class Arrival:
    """A frame and when it reached this computer [s, CLOCK_MONOTONIC]."""

    frame: Frame
    time: float


def resource(port: str | os.PathLike[str]) -> str:
    """Return what whoever has a port locks, see `DeviceLock`."""
    return f'serial {os.path.realpath(port)}'


class SerialLink:
    """Sends and receives frames over a serial port, or the pty of an emulator.

    One thread uses it; the thread of its own only reads. `take` and `send` never wait for the
    peer longer than `write_timeout`.

    - `port`: device file.
    - `write_timeout` [s]
    - `reader`: makes what finds frames in bytes; default: those of our own devices.

    Its attributes:
    - `reader`: counts frames, checksum errors and garbage of the present connection.
    - `version`: of the protocol, in the head of what is sent.
    - `clock`: time [s] of arrivals and waits; a link in virtual time has another.
    """

    def __init__(
        self,
        port: str,
        baudrate: int,
        write_timeout: float = 0.02,
        reader: Callable[[], Any] = FrameReader,
    ) -> None:
        self.port, self._baudrate, self._write_timeout = port, baudrate, write_timeout
        self._make_reader = reader
        self.reader, self.version = reader(), VERSION
        self.clock: Callable[[], float] = time.monotonic
        self._use: DeviceLock | None = None
        self._serial: Any = None
        self._thread: threading.Thread | None = None
        self._closing = threading.Event()
        self._arrived = threading.Condition()
        self._waiting: deque[Arrival] = deque(maxlen=MAX_WAITING)
        self._error = ''
        self._seq = 0

    def open(self) -> None:
        """Take the port and start to listen.

        DeviceError: pyserial is not installed; the port is in use, or may not be opened.
        DeviceLost: there is no such port (yet).
        """
        try:
            import serial
        except ImportError as error:
            raise DeviceError(f'pyserial is not installed ({error}); {INSTALL}') from None
        self.close()
        use = DeviceLock(resource(self.port))
        use.acquire()
        try:
            port = serial.Serial(self.port, self._baudrate, timeout=READ_TIMEOUT, exclusive=True)
            _refuse_others(port, self.port)
            self._serial = port
        except BaseException as error:
            use.release()
            if getattr(error, 'errno', None) in IN_USE:
                raise DeviceError(f'{self.port} is in use by another process') from None
            if isinstance(error, termios.error):  # pyserial translates only some; no OSError
                raise DeviceLost(f'{self.port}: {error.args[-1]}') from None
            if isinstance(error, OSError | ValueError):
                raise self._refusal(error) from None
            raise
        self._use = use
        self.reader, self._error = self._make_reader(), ''
        self._waiting.clear()
        self._closing.clear()
        self._thread = threading.Thread(
            target=self._listen, args=(self._serial, self.reader), name='serial', daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Give the port back; never raises."""
        if self._serial is None:
            return
        port, self._serial = self._serial, None
        self._closing.set()
        with suppress(OSError):  # the thread ends after READ_TIMEOUT
            port.cancel_read()
        if self._thread is not None:
            self._thread.join()
        with suppress(OSError, termios.error):
            port.reset_output_buffer()  # what a peer does not read must not hold up closing
        with suppress(OSError):  # it is gone already
            fcntl.ioctl(port.fileno(), termios.TIOCNXCL)
        with suppress(OSError):
            port.close()
        if self._use is not None:
            self._use.release()

    def send(self, body: Body, seq: int | None = None) -> int:
        """Send a frame and return its sequence number.

        - `seq`: of a frame that is sent again; default: the next one.

        DeviceError: a number does not fit its field of the frame; nothing was sent.
        DeviceTimeout: the peer does not read.
        DeviceLost: the port is gone.
        """
        if seq is None:
            self._seq = seq = (self._seq + 1) & 0xFFFF
        try:
            data = body.frame(seq, self.version).pack()
        except FrameError as error:
            raise DeviceError(f'{self.port}: not sent: {error}') from None
        self.send_bytes(data)
        return seq

    def send_bytes(self, data: bytes) -> None:
        """Send bytes as they are. Raises DeviceTimeout, DeviceLost."""
        if self._serial is None:
            raise DeviceLost(f'{self.port}: not connected')
        end = time.monotonic() + self._write_timeout
        try:
            # Not pyserial's write: to it what a busy computer has written late is not written.
            while data:
                left = end - time.monotonic()
                if not select.select([], [self._serial.fileno()], [], max(0.0, left))[1]:
                    raise DeviceTimeout(f'{self.port}: the device does not read')
                data = data[self._write(data, left) :]
        except OSError as error:
            raise DeviceLost(f'{self.port}: {first_line(error)}') from None

    def take(self) -> list[Arrival]:
        """Return what has arrived since the last call, oldest first. Raises DeviceLost."""
        with self._arrived:
            found = list(self._waiting)
            self._waiting.clear()
            error = self._error
        if self._serial is None:
            raise DeviceLost(f'{self.port}: not connected')
        if error and not found:
            raise DeviceLost(f'{self.port}: {error}')
        return found

    def wait(self, end: float) -> bool:
        """Wait until something has arrived (True), or until `end` [s] of `clock`."""
        with self._arrived:
            self._arrived.wait_for(
                lambda: self._waiting or self._error, max(0.0, end - time.monotonic())
            )
            return bool(self._waiting)

    def _write(self, data: bytes, left: float) -> int:
        """Write what there is room for; returns how many bytes."""
        try:
            return os.write(self._serial.fileno(), data)
        except BlockingIOError:
            if left <= 0.0:
                raise DeviceTimeout(f'{self.port}: the device does not read') from None
            return 0

    def _listen(self, port: Any, reader: Any) -> None:
        try:
            while not self._closing.is_set():
                data = port.read(max(1, port.in_waiting))
                now = time.monotonic()
                frames = reader.feed(data)
                if frames:
                    with self._arrived:
                        self._waiting.extend(Arrival(frame, now) for frame in frames)
                        self._arrived.notify_all()
        except OSError as error:
            with self._arrived:
                self._error = first_line(error)
                self._arrived.notify_all()

    def _refusal(self, error: OSError | ValueError) -> DeviceError:
        number = getattr(error, 'errno', None)
        text = f'{self.port}: {first_line(error)}'
        if number == errno.EACCES:
            return DeviceError(
                f'{text}; this user may not open it (group dialout?): `sudo usermod -aG dialout '
                '$USER`, then log in again'
            )
        if number == errno.ENOENT:
            text += '; plug the device in (`ls /dev/serial/by-id` lists what is there)'
        if isinstance(error, ValueError):
            return DeviceError(text)
        return DeviceLost(text)


def _refuse_others(port: Any, path: str) -> None:
    """Have the kernel refuse the line to others, in containers with nodes of their own too.

    Not of a pty: its emulator has it open as well, so that nothing would end this once a driver
    was killed.
    """
    if not os.path.realpath(path).startswith(PTYS):
        fcntl.ioctl(port.fileno(), termios.TIOCEXCL)
