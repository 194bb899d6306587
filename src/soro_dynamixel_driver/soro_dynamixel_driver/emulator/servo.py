# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One servo of the X series: its control table, its watchdog, its motion. Pure."""

from __future__ import annotations

import struct

from soro_dynamixel_driver import protocol as dxl
from soro_dynamixel_driver.protocol import Register
from soro_mechanics.actuator_models.motor import PositionDrive

MODEL, FIRMWARE = 1020, 47  # XM430-W350
SIZE, INDIRECT_DATA, INDIRECT_COUNT = 256, 224, 28
EEPROM_END, GOALS = 64, range(100, 120)
READ_ONLY = (range(7), range(70, 76), range(120, 147))
RANGE, LENGTH, ACCESS, ALERT = 4, 5, 7, 0x80  # of an error byte
LAG = 0.03  # s, assumed
OWN_STALL = 0.02  # s that may pass between two looks: longer, the emulator slept, not the host
OVERLOAD, PATIENCE = 32, 1.0  # after so many s (assumed) at the torque limit


class Servo:
    """A servo in position control, and its motor in counts."""

    def __init__(self, number: int, axis: PositionDrive, now: float) -> None:
        self.number, self.axis, self._time, self.table = number, axis, now, bytearray(SIZE)
        struct.pack_into('<H4xBB', self.table, 0, MODEL, FIRMWARE, self.number)
        self.set(dxl.RETURN_DELAY, 250)
        self.set(dxl.OPERATING_MODE, 3)
        self._begin(now, 0)

    def restart(self, now: float) -> None:
        """Be as after power on; the shaft stays where it is, its whole turns are forgotten."""
        self._begin(now, round(self.axis.value) // dxl.TURN * dxl.TURN)

    def _begin(self, now: float, turns: int) -> None:
        self.table[EEPROM_END:] = bytes(SIZE - EEPROM_END)
        self.heard, self._strained, self._turns = now, 0.0, turns
        self.set(dxl.STATUS_LEVEL, dxl.ANSWERS_ALL)
        for i in range(INDIRECT_COUNT):
            struct.pack_into('<H', self.table, dxl.INDIRECT.address + 2 * i, INDIRECT_DATA + i)
        self.set(dxl.GOAL, self._here)

    @property
    def _here(self) -> int:
        return round(self.axis.value) - self._turns

    def get(self, register: Register) -> int:
        """Return a register."""
        return int(struct.unpack_from('<' + register.format, self.table, register.address)[0])

    def set(self, register: Register, value: int) -> None:
        """Set a register, also one that the host may not write."""
        struct.pack_into('<' + register.format, self.table, register.address, value)

    @property
    def moves(self) -> bool:
        """Whether goals act."""
        return bool(self.get(dxl.TORQUE)) and self.get(dxl.WATCHDOG) != dxl.TRIPPED

    @property
    def alert(self) -> int:
        """What the error byte says of the hardware."""
        return ALERT if self.get(dxl.HARDWARE_ERROR) else 0

    def fail(self, error: int) -> None:
        """Have a hardware error, which switches the torque off."""
        self.set(dxl.HARDWARE_ERROR, error)
        self.set(dxl.TORQUE, 0)

    def advance(self, now: float) -> None:
        """Let time pass up to `now` [s]."""
        limit, step = self.get(dxl.WATCHDOG), max(now - self._time, 0.0)
        self.heard += max(step - OWN_STALL, 0.0)
        if 0 < limit < dxl.TRIPPED and now - self.heard > limit * dxl.WATCHDOG_STEP:
            self.set(dxl.WATCHDOG, dxl.TRIPPED)
            self.set(dxl.GOAL, self._here)
        self._time = max(now, self._time)
        self.axis.follow(self.get(dxl.GOAL) + self._turns, step, self.moves)
        self._strained = self._strained + step if abs(self.axis.torque) >= 1.0 else 0.0
        if self.moves and self._strained > PATIENCE:
            self.fail(OVERLOAD)
        self.set(dxl.PRESENT, self._here)

    def read(self, address: int, size: int) -> bytes | None:
        """Return a part of the table; None where there is none."""
        if address + size > SIZE:
            return None
        return bytes(self.table[self._shown(a)] for a in range(address, address + size))

    def write(self, address: int, data: bytes) -> int:
        """Write a part of the table; return the error."""
        places = [self._shown(a) for a in range(address, address + len(data))]
        if address + len(data) > SIZE or not data:
            return LENGTH
        if any(p in part for p in places for part in READ_ONLY):
            return ACCESS
        if self.get(dxl.TORQUE) and any(
            p < EEPROM_END or 168 <= p < INDIRECT_DATA for p in places
        ):
            return ACCESS
        if self.get(dxl.WATCHDOG) == dxl.TRIPPED and any(p in GOALS for p in places):
            return RANGE
        if dxl.TORQUE.address in places and self.get(dxl.HARDWARE_ERROR):
            data = bytes(
                0 if p == dxl.TORQUE.address else b for p, b in zip(places, data, strict=True)
            )
        for place, byte in zip(places, data, strict=True):
            self.table[place] = byte
        return 0

    def _shown(self, address: int) -> int:
        """Return the address that an indirect one stands for."""
        if not INDIRECT_DATA <= address < INDIRECT_DATA + INDIRECT_COUNT:
            return address
        at = dxl.INDIRECT.address + 2 * (address - INDIRECT_DATA)
        return min(int.from_bytes(self.table[at : at + 2], 'little'), SIZE - 1)
