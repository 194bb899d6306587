# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A pseudo terminal that an emulated serial device sits behind: pacing, faults, unplugging."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
import os
from pathlib import Path
import select
import threading
import time
import tty
from typing import Any, ClassVar

import numpy as np

from soro_driver.device import DeviceError
from soro_driver.endpoint import make_private
from soro_driver.safety.device_lock import DeviceLock
from soro_driver.serial.frame import Frame, FrameReader
from soro_driver.serial.link import resource
from soro_emulation.injected_fault import whole_number
from soro_emulation.serial_line import counters_of, damage, SerialLine
from soro_mechanics.core.errors import InvalidInput, UnknownName

STEP = 0.002  # s between two looks at the clock
NICENESS = -10  # of the thread that stands for the device
MAX_GARBAGE = 10**6  # bytes at once
LINK_FAULTS = ('link', 'silent', 'deaf', 'unplug', 'plug', 'garbage')


class SerialPty:
    """Serves one pty; a thread of its own carries the frames.

    - `path`: symbolic link to the pty; its folder is made for this user alone.
    - `receive`: gets (frame, now), returns the frames it causes.
    - `tick`: gets now every few milliseconds, returns the frames that are due.
    - `reader`: finds frames that do not end with a zero byte.

    Its attributes:
    - `reader`: of the device: frames, checksum errors, garbage it has seen.
    - `garbage`, `unread`: bytes of noise that were sent to the host; looks at the clock while it
      read nothing.
    """

    faults: ClassVar[tuple[str, ...]] = LINK_FAULTS

    def __init__(
        self,
        path: Path,
        baudrate: int,
        receive: Callable[[Frame, float], list[Frame]],
        tick: Callable[[float], list[Frame]],
        seed: int,
        reader: Any = None,
    ) -> None:
        self.path = path
        self._receive, self._tick = receive, tick
        generator = np.random.default_rng(seed + 2)
        self.reader, self.garbage, self.unread = reader or FrameReader(), 0, 0
        self.to_device = SerialLine(baudrate, generator, reader is None)
        self.to_host = SerialLine(baudrate, generator, reader is None)
        self._use = DeviceLock(f'emulator {path}')
        self._master = self._slave = -1
        self._silent = self._deaf = False
        self._stopping = threading.Event()
        self._lock = threading.Lock()  # of the file descriptors and the faults
        self._thread = threading.Thread(target=self._serve, name='serial device', daemon=True)

    def start(self) -> None:
        """Make the pty and serve it. Raises InvalidInput when another emulator has the path."""
        try:
            self._use.acquire()
        except DeviceError as error:
            raise InvalidInput('endpoint', str(self.path), f'a free one: {error}') from None
        make_private(self.path.parent)
        with self._lock:
            self._plug()
        self._thread.start()

    def stop(self) -> None:
        """End; never raises."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        with self._lock:
            self._unplug()
        self._use.release()

    @property
    def address(self) -> str:
        """Where it listens."""
        return str(self.path)

    @property
    def resource(self) -> str:
        """What a driver locks."""
        return resource(self.path)

    @property
    def counters(self) -> dict[str, int]:
        """What faults did to the units on the line, and what the device says about them."""
        return {
            **counters_of(self.to_device, self.to_host),
            'garbage': self.garbage,
            'unread': self.unread,
            'crc_errors': self.reader.crc_errors,
            'malformed': self.reader.malformed,
        }

    def inject(self, fault: str, values: dict[str, Any]) -> None:
        """Damage the link, or repair it ('none').

        ``link`` takes `direction` (to_device, to_host, both) and what `SerialLine.damage` takes;
        ``silent``: nothing reaches the host; ``deaf``: the device reads nothing, so that writing
        blocks; ``unplug``, ``plug``; ``garbage`` with `count` sends noise to the host.
        """
        with self._lock:
            if fault == 'none':
                self._silent = self._deaf = False
                self.to_device.repair()
                self.to_host.repair()
                self._plug()
            elif fault == 'link':
                damage(self.to_device, self.to_host, values)
            elif fault == 'silent':
                self._silent = True
            elif fault == 'deaf':
                self._deaf = True
            elif fault == 'unplug':
                self._unplug()
            elif fault == 'plug':
                self._plug()
            elif fault == 'garbage':
                self._garbage(whole_number(values, 'count', 1000, MAX_GARBAGE))
            else:
                raise UnknownName('fault', fault, LINK_FAULTS)

    def _garbage(self, count: int) -> None:
        random = np.random.default_rng(count)
        noise = random.integers(0, 256, count, dtype=np.uint8).tobytes()
        if self._master >= 0:
            self.garbage += self._write(noise)

    def _plug(self) -> None:
        if self._master >= 0:
            return
        # Our own copy of the slave keeps the pty alive while no driver has it open.
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        os.chmod(os.ttyname(self._slave), 0o600)
        fresh = self.path.with_name(f'{self.path.name}.{os.getpid()}')
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(os.ttyname(self._slave))
        fresh.replace(self.path)

    def _unplug(self) -> None:
        if self._master < 0:
            return
        self.path.unlink(missing_ok=True)
        os.close(self._slave)
        os.close(self._master)
        self._master = self._slave = -1
        self.to_device.clear()
        self.to_host.clear()
        self.reader.clear()

    def _serve(self) -> None:
        prefer_this_thread()
        while not self._stopping.is_set():
            with self._lock:
                master, deaf = self._master, self._deaf
            self.unread += deaf
            if master < 0 or deaf:
                self._stopping.wait(STEP)
            else:
                self._wait_and_hear(master)
            with self._lock:
                units = self.carry(time.monotonic())
                if self._master >= 0 and not self._silent:
                    for unit in units:
                        self._write(unit)

    def _wait_and_hear(self, master: int) -> None:
        try:
            readable, _, _ = select.select([master], [], [], STEP)
            if not readable:
                return
            with self._lock:
                data = os.read(self._master, 4096) if self._master == master else b''
        except (OSError, ValueError):
            return  # unplugged in between
        self.receive(data, time.monotonic())

    def receive(self, data: bytes, now: float) -> None:
        """Let bytes from the host enter the line."""
        self.to_device.put(data, now)

    def carry(self, now: float) -> list[bytes]:
        """Let time pass up to `now` [s]; returns what reaches the host."""
        for unit in self.to_device.leaving(now):
            for frame in self.reader.feed(unit):
                self._send(self._receive(frame, now), now)
        self._send(self._tick(now), now)
        return self.to_host.leaving(now)

    def _send(self, frames: list[Frame], now: float) -> None:
        for frame in frames:
            self.to_host.put(frame.pack(), now)

    def _write(self, data: bytes) -> int:
        try:
            return os.write(self._master, data)
        except BlockingIOError:
            return 0  # nobody reads: a UART loses it too


def prefer_this_thread() -> None:
    """Run before other work where this user may ask for it: a device has its own processor."""
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)
