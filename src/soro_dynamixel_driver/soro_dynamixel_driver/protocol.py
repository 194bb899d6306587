# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Dynamixel protocol 2.0 and the registers of the X series (ROBOTIS e-Manual). Pure codec.

A packet is ``FF FF FD 00, id u8, length u16, instruction u8, parameters, crc u16``,
little-endian. FF FF FD inside is followed by one more FD, so the header begins packets only.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
import struct
from typing import NamedTuple

HEADER = b'\xff\xff\xfd\x00'
STUFFED = b'\xff\xff\xfd'
BROADCAST = 0xFE
MAX_LENGTH = 512  # bytes after the field `length`


class Instruction(IntEnum):
    """What a packet asks for; STATUS answers, with an error byte first."""

    PING = 0x01
    READ = 0x02
    WRITE = 0x03
    REBOOT = 0x08
    STATUS = 0x55
    SYNC_READ = 0x82
    SYNC_WRITE = 0x83


class Register(NamedTuple):
    """Where a value stands in the control table, and its `struct` format."""

    address: int
    format: str

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize(self.format)

    def pack(self, value: int) -> bytes:
        """Return a value as it stands in the table."""
        return struct.pack('<' + self.format, value)


RETURN_DELAY, OPERATING_MODE = Register(9, 'B'), Register(11, 'B')
STATUS_LEVEL, ANSWERS_ALL = Register(68, 'B'), 2
TORQUE, HARDWARE_ERROR, WATCHDOG = Register(64, 'B'), Register(70, 'B'), Register(98, 'B')
GOAL_CURRENT, GOAL, PRESENT = Register(102, 'h'), Register(116, 'i'), Register(132, 'i')
INDIRECT = Register(168, 'H')  # the first of the addresses that the indirect data show
# Read in every cycle, as one block; the first is zero where a restart forgot the addresses.
CYCLIC = (STATUS_LEVEL, TORQUE, HARDWARE_ERROR, WATCHDOG, GOAL, PRESENT)
BLOCK = struct.Struct('<' + ''.join(r.format for r in CYCLIC))
EXTENDED_POSITION, CURRENT_BASED_POSITION = 4, 5  # operating modes
TRIPPED = 255  # of WATCHDOG: nothing came in time; goals are refused until it is cleared
WATCHDOG_STEP = 0.020  # s
TURN = 4096  # counts of a turn
POSITIONS = 1 << 20  # counts either way, which no goal reaches
CURRENT_STEP = 2.69e-3  # A, but for these model numbers: XL330, XC330; XH430-V
CURRENT_STEPS = dict.fromkeys(range(1190, 1250, 10), 1e-3) | dict.fromkeys((1040, 1050), 1.34e-3)


def _crc_table() -> Iterable[int]:
    for byte in range(256):
        crc = byte << 8
        for _ in range(8):
            crc = (crc << 1) ^ (0x8005 if crc & 0x8000 else 0)
        yield crc & 0xFFFF


_TABLE = tuple(_crc_table())


def crc16(data: bytes) -> int:
    """Return CRC-16/UMTS: polynomial 0x8005, start 0, not reflected."""
    crc = 0
    for byte in data:
        crc = (crc << 8 ^ _TABLE[crc >> 8 ^ byte]) & 0xFFFF
    return crc


class Packet(NamedTuple):
    """One packet, as it is before stuffing."""

    id: int
    instruction: int
    parameters: bytes = b''

    def pack(self) -> bytes:
        """Return the bytes on the wire."""
        body = bytes([self.instruction]) + self.parameters
        body = body.replace(STUFFED, STUFFED + b'\xfd')
        data = HEADER + struct.pack('<BH', self.id, len(body) + 2) + body
        return data + struct.pack('<H', crc16(data))


def sync_read(ids: Iterable[int], address: int, size: int) -> Packet:
    """Ask every servo for a block."""
    return Packet(BROADCAST, Instruction.SYNC_READ, struct.pack('<HH', address, size) + bytes(ids))


def sync_write(register: Register, values: Iterable[tuple[int, int]]) -> Packet:
    """Write (id, value) for every servo at once."""
    parts = [bytes([id_]) + register.pack(value) for id_, value in values]
    head = struct.pack('<HH', register.address, register.size)
    return Packet(BROADCAST, Instruction.SYNC_WRITE, head + b''.join(parts))


class PacketReader:
    """Finds packets in a stream of bytes, whatever the bytes are; never raises.

    - `frames`, `crc_errors`, `malformed`: packets, wrong checksums, everything else that was
      dropped.
    """

    def __init__(self) -> None:
        self.frames, self.crc_errors, self.malformed = 0, 0, 0
        self._pending = bytearray()

    def clear(self) -> None:
        """Forget a packet that has begun; the counters stay."""
        self._pending.clear()

    def feed(self, data: bytes) -> list[Packet]:
        """Take bytes in; return the packets they complete."""
        self._pending += data
        found = []
        while len(self._pending) >= len(HEADER):
            start = self._pending.find(HEADER)
            if start != 0:
                self.malformed += 1
                del self._pending[: start if start > 0 else 1 - len(HEADER)]
                continue
            length = int.from_bytes(self._pending[5:7], 'little')
            end = 7 + length
            again = self._pending.find(HEADER, 1, end - 2)  # a checksum may end like one
            if len(self._pending) >= 7 and not 3 <= length <= MAX_LENGTH:
                again = len(HEADER)
            if again > 0:  # it broke off, or its length is wrong
                self.malformed += 1
                del self._pending[:again]
                continue
            if len(self._pending) < max(end, 10):
                break
            block = bytes(self._pending[:end])
            good = crc16(block[:-2]) == int.from_bytes(block[-2:], 'little')
            # It lost its last bytes; read all the same where those are how the next one begins.
            new = self._pending.find(HEADER, end - 3 if good else 1, end + 3)
            del self._pending[: new if 0 < new < end else end]
            if not good:
                self.crc_errors += 1
                continue
            self.frames += 1
            body = block[7:-2].replace(STUFFED + b'\xfd', STUFFED)
            found.append(Packet(block[4], body[0], body[1:]))
        return found
