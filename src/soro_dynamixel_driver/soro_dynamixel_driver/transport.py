# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The servos of a bus in SI; their counts and registers stay in here.

Half duplex: nothing is sent while answers are due, so a cycle writes first and asks last, and
its answers are read in the next one.
"""

from __future__ import annotations

from itertools import cycle
import math
import struct
import time
from typing import Any

import numpy as np

from soro_driver.device import Array, DeviceError, DeviceLost, DeviceTimeout, Fault, Identity
from soro_driver.serial.link import SerialLink
from soro_dynamixel_driver import protocol as dxl
from soro_dynamixel_driver.protocol import Instruction, Packet, Register
from soro_dynamixel_driver.wiring import DynamixelWiring

ANSWER, TRIES = 0.03, 16  # s for one answer; times that one servo is asked: a busy computer
RESTART = 0.6  # s
NEAR = 20  # counts, 1.8 degrees
MARKS = 63  # of WATCHDOG: values from here on show which arming an answer belongs to
MAX_MOVED = 0.25  # turns without power, beyond which whole ones cannot be told
ALERT = 0x80  # of an error byte: look at the hardware error


class DynamixelTransport:
    """Keeps the registers of `CYCLIC`, shape (m,), as last read, and when [s] they `arrived`.

    Of a servo that has restarted `level` is zero, and `goal` and `present` stay as they were.
    """

    def __init__(self, wiring: DynamixelWiring, io_timeout: float, open_timeout: float) -> None:
        self.wiring, self._io_timeout, self._open_timeout = wiring, io_timeout, open_timeout
        self.link = SerialLink(wiring.port, wiring.baudrate, reader=dxl.PacketReader)
        self._block = np.zeros((len(dxl.CYCLIC), len(wiring.ids)), int)
        self.level, self.torque, self.error, self.watchdog, self.goal, self.present = self._block
        self.arrived = np.full(len(wiring.ids), -math.inf)
        self._turns, self._opened = 0 * self.present, False  # counts that a restart has taken away
        self._marks = cycle(range(MARKS, 2 * MARKS))
        self._status: Packet | None = None

    def open(self) -> Identity:
        """Find every servo, switch its torque off, and set it up."""
        self.link.open()
        self.arrived[:] = -math.inf
        end = time.monotonic() + self._open_timeout
        found = {self._configure(i, end) for i in range(len(self.wiring.ids))}
        self.disarm()
        if not self.level.all():
            raise DeviceError(f'{self.names(self.level == 0)}: restarted, or indirect_data?')
        self._opened = True
        return Identity('dynamixel', self.wiring.port, ', '.join(sorted(found)))

    def close(self) -> None:
        """Give the port back; never raises."""
        self.link.close()

    def arm(self) -> None:
        """Have the servos hold where they are, with torque."""
        end = time.monotonic() + self._open_timeout
        mark = next(self._marks)  # an answer without it may be older than the goal
        self._look(end)
        while True:  # no torque before the goal is known to be where the servo is
            self._write_all(dxl.WATCHDOG, 0)
            self._send(dxl.sync_write(dxl.GOAL, self._each(self.present.tolist())))
            self._write_all(dxl.WATCHDOG, mark)
            self._look(end)
            near = np.abs(self.goal - self.present) <= NEAR
            if np.all(near & (self.watchdog == mark)):
                break
        while not self.torque.all():
            self._write_all(dxl.TORQUE, 1)
            self._look(end)

    def disarm(self) -> None:
        """Switch every torque off, and end the watchdogs. Raises where that is not confirmed."""
        end = time.monotonic() + self._io_timeout
        while True:
            self._write_all(dxl.TORQUE, 0)
            self._write_all(dxl.WATCHDOG, 0)
            self.refresh(end)
            if not (self.torque | self.watchdog).any():
                return

    def reset(self) -> None:
        """Clear hardware errors, which takes a restart of the servo."""
        for servo, error in zip(self.wiring.ids, self.error, strict=True):
            if error:
                self._send(Packet(servo, Instruction.REBOOT))
        if self.error.any():
            time.sleep(RESTART)
        self.open()

    def command(self, values: Array, ttl: float) -> None:
        """Send goals [rad] and ask for the next block; keep the servos' watchdogs at `ttl` [s]."""
        steps = min(max(math.ceil(ttl / dxl.WATCHDOG_STEP), 1), 127)
        if not np.isin(self.watchdog, (steps, dxl.TRIPPED)).all():
            self._write_all(dxl.WATCHDOG, steps)
        goals = self.wiring.counts(values) - self._turns
        self._send(dxl.sync_write(dxl.GOAL, self._each(goals.tolist())))
        self.ask()

    def ask(self) -> None:
        """Ask every servo for its block."""
        w = self.wiring
        self._send(dxl.sync_read(w.ids, w.indirect_data, dxl.BLOCK.size))

    def poll(self) -> None:
        """Take what has arrived. Raises DeviceLost."""
        for arrival in self.link.take():
            packet = arrival.frame
            if packet.instruction != Instruction.STATUS or not packet.parameters:
                continue
            self._status = packet
            whole = len(packet.parameters) == 1 + dxl.BLOCK.size
            if whole and packet.id in self.wiring.ids:
                i = self.wiring.ids.index(packet.id)
                block = dxl.BLOCK.unpack(packet.parameters[1:])
                if block[0] == dxl.ANSWERS_ALL:
                    self._block[:, i] = block
                else:
                    self._block[:-2, i] = 0
                self.arrived[i] = arrival.time

    def refresh(self, end: float) -> None:
        """Wait for a new block of every servo. Raises DeviceTimeout after `end` [s]."""
        since = time.monotonic()
        while np.any(self.arrived < since):
            if time.monotonic() >= end:
                raise DeviceTimeout(f'no answer of {self.names(self.arrived < since)}')
            self.ask()
            until = min(end, time.monotonic() + ANSWER)
            while np.any(self.arrived < since) and self.link.wait(until):
                self.poll()

    def _look(self, end: float) -> None:
        """Refresh while arming. DeviceTimeout: it takes too long; DeviceError: one restarted."""
        if time.monotonic() >= end:
            raise DeviceTimeout(f'{self.names(self.torque == 0)}: no torque')
        self.refresh(end)
        if not self.level.all():
            raise DeviceError(f'{self.names(self.level == 0)} has restarted', Fault.REBOOT)

    def angles(self, counts: Any) -> Array:
        """Return angles of the outputs (m,) [rad]."""
        return self.wiring.zero + self.wiring.per_count * (counts + self._turns)

    def names(self, which: Any) -> str:
        """Name some servos."""
        rows = zip(self.wiring.names, self.wiring.ids, which, strict=True)
        return ', '.join(f'{name} (servo {servo})' for name, servo, bad in rows if bad)

    def _configure(self, i: int, end: float) -> str:
        """Set one servo up, its torque off; return its model and firmware."""
        model, firmware = struct.unpack('<HB', self._request(i, Instruction.PING, b'', 3, end))
        current = self.wiring.current
        mode = dxl.CURRENT_BASED_POSITION if current else dxl.EXTENDED_POSITION
        shown = [r.address + byte for r in dxl.CYCLIC for byte in range(r.size)]
        self._write(i, dxl.TORQUE, 0, end)
        self._write(i, dxl.WATCHDOG, 0, end)
        for register, value in ((dxl.RETURN_DELAY, 0), (dxl.OPERATING_MODE, mode)):
            if self._read(i, register, end) != value:  # an EEPROM wears out
                self._write(i, register, value, end)
        if current:
            steps = int(current / dxl.CURRENT_STEPS.get(model, dxl.CURRENT_STEP))
            self._write(i, dxl.GOAL_CURRENT, max(1, steps), end)
        data = struct.pack(f'<H{len(shown)}H', dxl.INDIRECT.address, *shown)
        where = struct.pack('<HH', dxl.INDIRECT.address, len(data) - 2)
        if self._request(i, Instruction.READ, where, len(data) - 2, end) != data[2:]:
            if self._opened:  # it has restarted, and counts from within one turn again
                here = self._read(i, dxl.PRESENT, end)
                turns = (self.present[i] - here) / dxl.TURN
                if abs(turns - round(turns)) > MAX_MOVED:
                    why = 'was turned without power: put it where it was, or start the driver anew'
                    raise DeviceError(f'{self.wiring.names[i]} {why}')
                self._turns[i] += dxl.TURN * round(turns)
                self.present[i] = here
            self._request(i, Instruction.WRITE, data, 0, end)
        return f'model {model}, firmware {firmware}'

    def _read(self, i: int, register: Register, end: float) -> int:
        where = struct.pack('<HH', register.address, register.size)
        data = self._request(i, Instruction.READ, where, register.size, end)
        return int(struct.unpack('<' + register.format, data)[0])

    def _write(self, i: int, register: Register, value: int, end: float) -> None:
        data = struct.pack('<H', register.address) + register.pack(value)
        self._request(i, Instruction.WRITE, data, 0, end)

    def _request(self, i: int, kind: int, parameters: bytes, size: int, end: float) -> bytes:
        """Ask one servo, again where it does not answer; return the `size` bytes it says."""
        servo = self.wiring.ids[i]
        for _ in range(TRIES):
            self.poll()
            self._status = None  # nothing that was on its way is the answer
            self._send(Packet(servo, kind, parameters))
            until = min(end, time.monotonic() + ANSWER)
            while self.link.wait(until):
                self.poll()
                status: Packet | None = self._status
                if status is None or status.id != servo:
                    continue
                code = status.parameters[0] & ~ALERT
                if code:
                    raise DeviceError(f'servo {servo} refuses {parameters.hex()}: error {code}')
                if len(status.parameters) == 1 + size:
                    return status.parameters[1:]
        where = f'{self.wiring.port} at {self.wiring.baudrate} Bd'
        raise DeviceLost(f'no servo {servo} ({self.wiring.names[i]}) on {where}: power, id, baud?')

    def _write_all(self, register: Register, value: int) -> None:
        self._send(dxl.sync_write(register, self._each([value] * len(self.wiring.ids))))

    def _each(self, values: list[int]) -> Any:
        return zip(self.wiring.ids, values, strict=True)

    def _send(self, packet: Packet) -> None:
        self.link.send_bytes(packet.pack())
