# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuators of a robot without hardware, behind a local socket, as the device `simulated`."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
import os
import select
import socket
import threading
import time
from typing import Any

import numpy as np

from soro_driver.endpoint import make_private
from soro_emulation.device_emulator import Array, DeviceEmulator, EmulatorContext
from soro_emulation.injected_fault import block, finite, whole_number
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor
from soro_mechanics.core.errors import InvalidInput
from soro_simulated_driver.emulator.bank import SimulatedBank
from soro_simulated_driver.protocol import LONGEST, PacketError, State, unpack
from soro_simulated_driver.transport import resource

TIME_CONSTANT = 0.05  # s, assumed: that of a brisk drive
RATE = 250.0  # states per second
MAX_GARBAGE = 10**5  # packets at once
MAX_NOTED = 100  # malformed packets in the log


class SimulatedEmulator(DeviceEmulator):
    """Serves one driver at a time.

    Faults: ``blocked`` (actuator), ``silent`` (duration [s]: nothing is read or sent),
    ``disconnect``, ``reboot`` (disconnects, all at rest), ``garbage`` (count).
    """

    faults = ('none', 'blocked', 'silent', 'disconnect', 'reboot', 'garbage')

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        with context.properties as section:
            self._lag = section.quantity('time_constant', 's', TIME_CONSTANT, positive=True)
            self._motor = read_motor(section, context.robot.actuators)
        with context.wiring:
            pass  # simulated actuators have no wires
        self._actuators = context.robot.actuators
        self._names = tuple(a.name for a in self._actuators)
        self.path = context.endpoint.path
        self._random = np.random.default_rng(context.seed)
        self._lock = threading.Lock()
        self._bank = self._make_bank(now)
        self._listener: socket.socket | None = None
        self._client: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._stopping = threading.Event()
        self._silent_until, self._next = 0.0, 0.0
        self.malformed = 0

    def start(self) -> None:
        """Listen. Raises InvalidInput when another emulator does already."""
        make_private(self.path.parent)
        if self._answers():
            raise InvalidInput('namespace', str(self.path), 'one without a running emulator')
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        listener.bind(str(self.path))
        os.chmod(self.path, 0o600)
        listener.listen(1)
        self._listener = listener
        self._thread = threading.Thread(target=self._serve, name='simulated', daemon=True)
        self._thread.start()
        self._log.write('listening', address=str(self.path))

    def advance(self, now: float) -> None:
        """Let the actuators follow."""
        with self._lock:
            self._bank.advance(now)

    def actuation(self, now: float) -> Array:
        """Return what the actuators do [SI]."""
        with self._lock:
            self._bank.advance(now)
            return self._bank.values.copy()

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        now = time.monotonic()
        with self._lock:
            block(self.axes, fault, values, self._names)
            if fault == 'none':
                self._silent_until = 0.0
            elif fault == 'silent':
                self._silent_until = now + finite(values, 'duration', 1.0)
            elif fault == 'garbage':
                for _ in range(whole_number(values, 'count', 100, MAX_GARBAGE)):
                    self._send(self._random.bytes(int(self._random.integers(1, 64))))
            elif fault in ('disconnect', 'reboot'):
                if self._client is not None:
                    self._client.shutdown(socket.SHUT_RDWR)  # the serving thread finds out
                if fault == 'reboot':
                    self._bank = self._make_bank(now)

    def in_use(self, now: float) -> bool:
        """Whether the actuators are armed, or one is pressurised."""
        with self._lock:
            self._bank.advance(now)
            return self._bank.state is State.ARMED or self._bank.pressurised

    def resources(self) -> Sequence[str]:
        """Return the socket."""
        return [resource(self.path)]

    def stop(self) -> None:
        """Stop listening."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(2.0)
        if self._listener is not None:
            self._listener.close()
            self.path.unlink(missing_ok=True)
            self._listener = None

    def _make_bank(self, now: float) -> SimulatedBank:
        boot = int(self._random.integers(1, 0xFFFFFFFF))
        rows = self._actuators
        self.axes = [PositionDrive(a.rest, a.rate, self._lag, self._motor) for a in rows]
        return SimulatedBank(rows, self.axes, boot, self._log.write, now)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as probe:
            try:
                probe.connect(str(self.path))
            except OSError:
                return False
        return True

    def _serve(self) -> None:
        while not self._stopping.is_set():
            sockets = [s for s in (self._listener, self._client) if s is not None]
            ready, _, _ = select.select(sockets, [], [], 1.0 / RATE)
            now = time.monotonic()
            with self._lock:
                if now < self._silent_until:
                    self._stopping.wait(1.0 / RATE)
                    continue
                if self._listener in ready:
                    self._accept(now)
                if self._client is not None and self._client in ready:
                    self._receive(now)
                if now >= self._next:
                    self._next = now + 1.0 / RATE
                    self._bank.advance(now)
                    self._send(self._bank.report().pack())
        with self._lock:
            self._hang_up(time.monotonic())

    def _accept(self, now: float) -> None:
        """Take a client; a second one is turned away."""
        client, _ = self._listener.accept()
        while self._client is not None and select.select([self._client], [], [], 0.0)[0]:
            self._receive(now)  # the one before may have gone
        if self._client is not None:
            client.close()
            self._log.write('turned_away', now)
            return
        client.setblocking(False)
        self._client = client

    def _receive(self, now: float) -> None:
        try:
            data = self._client.recv(LONGEST)
        except BlockingIOError:
            return
        except OSError:
            data = b''
        if not data:
            self._hang_up(now)
            return
        try:
            answer = self._bank.receive(unpack(data), now)
        except PacketError as error:
            self.malformed += 1
            if self.malformed <= MAX_NOTED:  # a log must not fill up with them
                self._log.write('malformed', now, error=str(error), count=self.malformed)
            return
        if answer is not None:
            self._send(answer.pack())

    def _send(self, data: bytes) -> None:
        if self._client is None:
            return
        with contextlib.suppress(OSError):  # it does not read, or has gone: receiving finds out
            self._client.send(data)

    def _hang_up(self, now: float) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None
        self._bank.lost(now)
