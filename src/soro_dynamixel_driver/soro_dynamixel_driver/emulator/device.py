# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Servos on a bus behind a pty, as the device `dynamixel`."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from soro_dynamixel_driver.emulator.servo import FIRMWARE, LAG, MODEL, OVERLOAD, Servo
from soro_dynamixel_driver.protocol import BROADCAST, Instruction, Packet, PacketReader
from soro_dynamixel_driver.wiring import read_wiring
from soro_emulation.device_emulator import Array, EmulatorContext
from soro_emulation.injected_fault import actuator_index, block
from soro_emulation.serial_pty import LINK_FAULTS, SerialPty
from soro_emulation.wired_emulator import WiredEmulator
from soro_mechanics.actuator_models.motor import PositionDrive, read_motor

UNKNOWN, LENGTH = 2, 5
FAULTS = ('none', 'blocked', 'overload', 'reboot', *LINK_FAULTS)


class DynamixelEmulator(WiredEmulator):
    """Answers as servos of the X series do, to the vendor's library too.

    Faults: those of a serial line; ``blocked``, ``overload``, ``reboot`` (actuator).
    """

    faults = FAULTS

    def __init__(self, context: EmulatorContext, now: float) -> None:
        super().__init__(context, now)
        with context.properties as section:
            motor = read_motor(section, context.robot.actuators)
        self._wiring = w = read_wiring(context.wiring, context.robot)
        rates = np.array([2.0 * a.rate for a in context.robot.actuators]) / np.abs(w.per_count)
        rest = w.counts(context.robot.rest)
        rows = zip(rest.tolist(), rates.tolist(), w.per_count.tolist(), strict=True)
        self.axes = [PositionDrive(at, rate, LAG, motor, per) for at, rate, per in rows]
        self.servos = {n: Servo(n, axis, now) for n, axis in zip(w.ids, self.axes, strict=True)}
        self.wire = SerialPty(
            context.endpoint.path, w.baudrate, self._receive, self._tick, context.seed,
            PacketReader(),
        )  # fmt: skip

    def advance(self, now: float) -> None:
        """Let the servos turn."""
        with self._lock:
            self._tick(now)

    def actuation(self, now: float) -> Array:
        """Return where the outputs are [rad]."""
        self.advance(now)
        counts = [self.servos[number].axis.value for number in self._wiring.ids]
        return self._wiring.zero + self._wiring.per_count * counts

    def _break(self, fault: str, values: dict[str, Any]) -> None:
        servo = self.servos[self._wiring.ids[actuator_index(values, self._wiring.names)]]
        block(self.axes, fault, values, self._wiring.names)
        if fault == 'overload':
            servo.fail(OVERLOAD)
        elif fault == 'reboot':
            servo.restart(servo.heard)

    def _tick(self, now: float) -> list[Packet]:
        for servo in self.servos.values():
            servo.advance(now)
        self._note(any(s.moves for s in self.servos.values()), now)
        return []

    def _receive(self, packet: Packet, now: float) -> list[Packet]:
        with self._lock:
            kind, data = packet.instruction, packet.parameters
            if kind in (Instruction.SYNC_READ, Instruction.SYNC_WRITE) and len(data) >= 4:
                for servo in self.servos.values():
                    servo.heard = now
                return self._synchronous(kind, data)
            everybody = packet.id == BROADCAST
            found = [s for s in self.servos.values() if everybody or s.number == packet.id]
            for servo in found:
                servo.heard = now
            answers = [self._answer(servo, kind, data, now) for servo in found]
            return answers if not everybody or kind == Instruction.PING else []

    def _synchronous(self, kind: int, data: bytes) -> list[Packet]:
        address, size = struct.unpack('<HH', data[:4])
        if kind == Instruction.SYNC_READ:
            found = [self.servos[number] for number in data[4:] if number in self.servos]
            return [_status(s, s.read(address, size)) for s in found]
        for at in range(4, len(data) - size, size + 1):
            servo = self.servos.get(data[at])
            if servo is not None:
                servo.write(address, data[at + 1 : at + 1 + size])
        return []

    def _answer(self, servo: Servo, kind: int, data: bytes, now: float) -> Packet:
        if kind == Instruction.PING:
            return _status(servo, struct.pack('<HB', MODEL, FIRMWARE))
        if kind == Instruction.READ and len(data) == 4:
            return _status(servo, servo.read(*struct.unpack('<HH', data)))
        if kind == Instruction.WRITE and len(data) > 2:
            error = servo.write(struct.unpack('<H', data[:2])[0], data[2:])
            return _status(servo, b'', error)
        if kind == Instruction.REBOOT:
            servo.restart(now)
            return _status(servo, b'')
        return _status(servo, b'', UNKNOWN)


def _status(servo: Servo, data: bytes | None, error: int = 0) -> Packet:
    if data is None:
        data, error = b'', LENGTH
    return Packet(servo.number, Instruction.STATUS, bytes([error | servo.alert]) + data)
