# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""CANopen (CiA 301) and its profile for drives (CiA 402): what this driver needs. Pure codec."""

from __future__ import annotations

from enum import IntEnum
import struct
from typing import NamedTuple

# Identifiers; most carry the node in their low seven bits.
NMT, SYNC, EMERGENCY, HEARTBEAT = 0x000, 0x080, 0x080, 0x700
TPDO, RPDO, SDO_ANSWER, SDO_REQUEST = 0x180, 0x200, 0x580, 0x600
FUNCTION, NODE = 0x780, 0x07F  # masks of the two parts
MAX_NODE, HOST = 126, 127  # HOST: whose heartbeats the drives watch
START, STOP, PRE_OPERATIONAL, RESET, RESET_LINK = 0x01, 0x02, 0x80, 0x81, 0x82  # of NMT
BOOTED, STOPPED, OPERATIONAL, WAITING = 0x00, 0x04, 0x05, 0x7F  # of HEARTBEAT
PROFILE = 402
DISABLED, NO_REMOTE = 1 << 31, 1 << 30  # of the identifier of a PDO
SYNCHRONOUS = 1  # type of a PDO: with every SYNC
LOST_HEARTBEAT, FOLLOWING_ERROR = 0x8130, 0x8611  # codes of emergencies
EMERGENCY_FRAME = struct.Struct('<HB5x')
RELEASE_ON_SILENCE, STAY_OPERATIONAL = 2, 1  # of ON_SILENCE: disable voltage; of ON_ERROR


class Entry(NamedTuple):
    """Where a value stands in the object dictionary, and its `struct` format."""

    index: int
    sub: int
    format: str

    def __str__(self) -> str:
        """Return it as manuals write it."""
        return f'0x{self.index:04X}:{self.sub}'

    @property
    def size(self) -> int:
        """Bytes."""
        return struct.calcsize(self.format)

    @property
    def mapping(self) -> int:
        """What maps it into a PDO."""
        return self.index << 16 | self.sub << 8 | 8 * self.size

    def pack(self, value: int) -> bytes:
        """Return a value as it is sent."""
        return struct.pack('<' + self.format, value)

    def unpack(self, data: bytes) -> int:
        """Read what was sent."""
        return int(struct.unpack('<' + self.format, data[: self.size])[0])


DEVICE_TYPE, VENDOR, PRODUCT = Entry(0x1000, 0, 'I'), Entry(0x1018, 1, 'I'), Entry(0x1018, 2, 'I')
WATCHED, ON_ERROR = Entry(0x1016, 1, 'I'), Entry(0x1029, 1, 'B')
ON_SILENCE, MODES = Entry(0x6007, 0, 'h'), Entry(0x6502, 0, 'I')
CONTROL, STATUS = Entry(0x6040, 0, 'H'), Entry(0x6041, 0, 'H')
MODE, MODE_SHOWN = Entry(0x6060, 0, 'b'), Entry(0x6061, 0, 'b')
GOAL, PRESENT = Entry(0x607A, 0, 'i'), Entry(0x6064, 0, 'i')
GOAL_TORQUE, PRESENT_TORQUE = Entry(0x6071, 0, 'h'), Entry(0x6077, 0, 'h')
LOWEST, HIGHEST = Entry(0x607D, 1, 'i'), Entry(0x607D, 2, 'i')
MAX_TORQUE, RATED_TORQUE = Entry(0x6072, 0, 'H'), Entry(0x6076, 0, 'I')  # permille, mN m
WINDOW, WINDOW_TIME = Entry(0x6065, 0, 'I'), Entry(0x6066, 0, 'H')
PERIOD, PERIOD_POWER = Entry(0x60C2, 1, 'B'), Entry(0x60C2, 2, 'b')


class Mode(NamedTuple):
    """A mode of operation: its number, what is commanded and what is measured."""

    number: int
    goal: Entry
    present: Entry


# Cyclic synchronous position and torque, by what they command.
MODES_KNOWN = {'angle': Mode(8, GOAL, PRESENT), 'force': Mode(10, GOAL_TORQUE, PRESENT_TORQUE)}


class State(IntEnum):
    """States of a drive, by the bits of its status word that say them."""

    NOT_READY = 0x00
    SWITCH_ON_DISABLED = 0x40
    READY = 0x21
    SWITCHED_ON = 0x23
    ENABLED = 0x27
    QUICK_STOP = 0x07
    FAULT = 0x08
    FAULT_REACTION = 0x0F


LIMITED, FOLLOWS = 1 << 11, 1 << 12  # further bits of a status word
DISABLE, SHUTDOWN, SWITCH_ON, ENABLE, FAULT_RESET = 0x00, 0x06, 0x07, 0x0F, 0x80  # control words
# What brings a drive one state nearer to ENABLED, or keeps it there.
UP = dict(
    zip(
        (State.SWITCH_ON_DISABLED, State.READY, State.SWITCHED_ON, State.ENABLED),
        (SHUTDOWN, SWITCH_ON, ENABLE, ENABLE),
        strict=True,
    )
)
ENERGISED = (State.ENABLED, State.QUICK_STOP, State.FAULT_REACTION)


def state_of(word: int) -> State:
    """Return the state that a status word says."""
    bits = word & 0x4F
    if bits not in (State.NOT_READY, State.SWITCH_ON_DISABLED, State.FAULT, State.FAULT_REACTION):
        bits = word & 0x6F
    return State(bits) if bits in tuple(State) else State.NOT_READY


class Answer(NamedTuple):
    """An SDO frame of a drive; `data` is four bytes."""

    kind: int
    index: int
    sub: int
    data: bytes


NOTHING = Answer(0, 0, 0, b'')
_SDO = struct.Struct('<BHB4s')
DOWNLOAD, DONE, VALUE, ABORT = 0x20, 0x60, 0x40, 0x80  # kinds of frames
EXPEDITED, SIZED = 2, 1  # bits of the first byte of an upload or download


def sdo(kind: int, entry: Entry, data: bytes = b'') -> bytes:
    """Return a frame about an entry."""
    return _SDO.pack(kind, entry.index, entry.sub, data)


def read_sdo(frame: bytes) -> Answer:
    """Take the eight bytes of an SDO frame apart."""
    return Answer(*_SDO.unpack(frame))


def whole(kind: int, entry: Entry, value: int) -> bytes:
    """Return a frame that carries all of an entry."""
    return sdo(kind | (4 - entry.size) << 2 | EXPEDITED | SIZED, entry, entry.pack(value))
