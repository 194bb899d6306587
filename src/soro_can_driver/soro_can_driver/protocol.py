# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the CAN motor board: motors and flex sensors in groups of three. Pure codec.

Shared by the driver and the emulated board, described in dbc/motor_board.dbc and pinned by the
golden frames of docs/hardware/can.md. Little-endian. First the frames of every cycle:

- classic CAN, 1 Mbit/s, 500 Hz: SYNC, then one command and three feedback frames per group
  of three motors. All groups of a command must carry the same `seq` before the board applies them,
  all motors at once; what a last group has no motor for is zero.
- CAN FD, 1 kHz: one command and one feedback frame for all motors. FD has no room problem, and a
  whole set-point in one frame needs no SYNC.

Angles are motor angles in tenths of a degree (one encoder step); `transport` converts them.
"""

from __future__ import annotations

from dataclasses import dataclass
import struct

from soro_can_driver.board import Access, BoardState, CanId, ESTOP_MAGIC, MAX_GROUPS, PER_GROUP
from soro_can_driver.frame import Control, Frame, ProtocolError, state_of, status_of


def motor_of(value: int) -> int:
    """Return the place of a motor in a group."""
    if value >= PER_GROUP:
        raise ProtocolError(f'duty of motor {value}')
    return value


@dataclass(frozen=True)
class Sync(Frame):
    """Start of a cycle (classic framing)."""

    counter: int
    layout = struct.Struct('<B')
    first = CanId.SYNC


@dataclass(frozen=True)
class Command(Frame):
    """Set-points of one group (classic framing)."""

    group: int
    seq: int
    control: Control
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')
    first, key, parts = CanId.COMMAND_A, ('group',), (0, 0, 3)
    reads = {1: Control.from_byte}


@dataclass(frozen=True)
class Position(Frame):
    """Encoders of one group."""

    group: int
    seq: int  # of the command that the board acts on
    status: int
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')
    first, key, parts = CanId.POSITION_A, ('group',), (0, 0, 3)
    reads = {1: status_of}


@dataclass(frozen=True)
class Velocity(Frame):
    """Speeds of one group [deg/s], and the duty of one of its motors [1/127]."""

    group: int
    speeds: tuple[int, int, int]
    motor: int  # 0-2, turns with every frame
    duty: int
    layout = struct.Struct('<3hBb')
    first, key, parts = CanId.VELOCITY_A, ('group',), (3,)
    reads = {3: motor_of}


@dataclass(frozen=True)
class Flex(Frame):
    """Flex sensors of one group: 12-bit counts with `FlexFlag` bits above them."""

    group: int
    samples: tuple[int, int, int]
    seq: int  # counter of the SYNC that it answers
    temperature: int  # deg C
    layout = struct.Struct('<3HBb')
    first, key, parts = CanId.FLEX_A, ('group',), (3,)


# Not frozen, what is sent or read a thousand times a second: that makes it three times as slow.
@dataclass
class CommandFd(Frame):
    """Set-points of all motors (FD framing)."""

    seq: int
    control: Control
    angles: tuple[int, ...]
    layout = struct.Struct('<BB6h2x')
    first, parts = CanId.COMMAND_FD, (0, 0, 6)
    reads = {1: Control.from_byte}


@dataclass
class FeedbackFd(Frame):
    """Everything measured (FD framing). `time` is the board's clock [us], wraps."""

    seq: int
    status: int
    temperature: int
    angles: tuple[int, ...]
    speeds: tuple[int, ...]
    samples: tuple[int, ...]
    time: int
    layout = struct.Struct('<BBbx6h6h6HI4x')
    first, parts = CanId.FEEDBACK_FD, (0, 0, 0, 6, 6, 6)
    reads = {1: status_of}


def access_of(value: int) -> Access:
    """Return what the first byte of a parameter frame says."""
    if value not in tuple(Access):
        raise ProtocolError(f'parameter access {value:#04x}')
    return Access(value)


@dataclass(frozen=True)
class EmergencyStop(Frame):
    """Stop everything, from the host. Sent three times."""

    reason: int
    layout = struct.Struct('<2sB')
    first = CanId.ESTOP

    def pack(self) -> bytes:
        """Return the data bytes."""
        return ESTOP_MAGIC.to_bytes(2, 'little') + bytes([self.reason])

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> EmergencyStop:
        """Read the data bytes. Raises ProtocolError."""
        if data[:2] != ESTOP_MAGIC.to_bytes(2, 'little'):
            raise ProtocolError(f'e-stop with magic {data[:2].hex()}')
        return cls(data[2])


@dataclass(frozen=True)
class Emergency(Frame):
    """The board reports a fault when it happens."""

    code: int
    motors: int  # bit mask
    detail: int
    boot_id: int
    layout = struct.Struct('<HBHHx')
    first = CanId.EMERGENCY


@dataclass(frozen=True)
class EmergencyWide(Frame):
    """The same of a board that is not of version 1.0: more motors, and no detail."""

    code: int
    motors: int  # bit mask
    boot_id: int
    layout = struct.Struct('<HIH')
    first = CanId.EMERGENCY_WIDE


@dataclass(frozen=True)
class BoardHeartbeat(Frame):
    """The board, ten times a second. A new `boot_id` means that it was restarted."""

    state: BoardState
    boot_id: int
    transmit_errors: int
    receive_errors: int
    firmware: tuple[int, int]
    protocol: int  # major
    layout = struct.Struct('<BHBBBBB')
    first, parts = CanId.BOARD_HEARTBEAT, (0, 0, 0, 0, 2)
    reads = {0: state_of}


@dataclass(frozen=True)
class HostHeartbeat(Frame):
    """The host, ten times a second; without it for 300 ms the board disarms."""

    session: int
    layout = struct.Struct('<I')
    first = CanId.HOST_HEARTBEAT


@dataclass(frozen=True)
class ParameterFrame(Frame):
    """Read or write of one parameter, request or reply."""

    reply: bool
    access: Access
    index: int
    sub: int
    value: int  # signed 32 bit
    layout = struct.Struct('<BHBi')
    key, reads = ('reply',), {0: access_of}

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId.PARAMETER_REPLY if self.reply else CanId.PARAMETER_REQUEST

    @classmethod
    def _key(cls, can_id: int) -> int:
        return can_id == CanId.PARAMETER_REPLY


FRAMES: dict[int, type[Frame]] = {
    kind.first + group: kind
    for kind in (
        EmergencyStop,
        Sync,
        Emergency,
        EmergencyWide,
        HostHeartbeat,
        BoardHeartbeat,
        Command,
        Position,
        Velocity,
        Flex,
        CommandFd,
        FeedbackFd,
    )
    for group in range(MAX_GROUPS if kind.key else 1)
} | dict.fromkeys((CanId.PARAMETER_REPLY, CanId.PARAMETER_REQUEST), ParameterFrame)


def unpack(can_id: int, data: bytes) -> Frame:
    """Read a frame.

    ProtocolError: unknown identifier, wrong length, or a field outside its meaning.
    """
    kind = FRAMES.get(can_id)
    if kind is None:
        raise ProtocolError(f'unknown identifier {can_id:#05x}')
    if len(data) != kind.layout.size:
        expected = kind.layout.size
        raise ProtocolError(f'{kind.__name__} with {len(data)} bytes instead of {expected}')
    return kind.unpack(can_id, bytes(data))  # type: ignore[attr-defined, no-any-return]
