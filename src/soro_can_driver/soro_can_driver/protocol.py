# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the CAN motor board: six motors in two halves, six flex sensors. Pure codec.

Shared by the driver and the emulated board, described in dbc/motor_board.dbc and pinned by the
golden frames of docs/hardware_can.md. Little-endian. Two framings of the fast traffic:

- classic CAN, 1 Mbit/s, 500 Hz: SYNC, then one command and three feedback frames per half. Both
  halves of a command must carry the same `seq` before the board applies them, all six at once.
- CAN FD, 1 kHz: one command and one feedback frame for all motors. FD has no room problem, and a
  whole set-point in one frame needs no SYNC.

Angles are motor angles in tenths of a degree (one encoder step); `transport` converts them.
"""

from __future__ import annotations

from dataclasses import dataclass
import struct
from typing import ClassVar

from soro_can_driver.board import (
    Access,
    BoardState,
    CanId,
    ESTOP_MAGIC,
    Mode,
    PER_HALF,
    TTL_MS,
)


class ProtocolError(ValueError):
    """Bytes that are not a frame of this protocol."""


class Frame:
    """One frame: `id`, `pack()`, and `unpack` of its class."""

    layout: ClassVar[struct.Struct]

    @property
    def id(self) -> CanId:
        """Identifier."""
        raise NotImplementedError

    def pack(self) -> bytes:
        """Return the data bytes; out-of-range fields raise ProtocolError."""
        raise NotImplementedError

    def _pack(self, *values: int) -> bytes:
        try:
            return self.layout.pack(*values)
        except struct.error as error:
            raise ProtocolError(f'{type(self).__name__}: {error}') from None


@dataclass(frozen=True)
class EmergencyStop(Frame):
    """Stop everything, from the host. Sent three times."""

    reason: int
    layout = struct.Struct('<HB')
    id = CanId.ESTOP

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(ESTOP_MAGIC, self.reason)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> EmergencyStop:
        """Read the data bytes."""
        magic, reason = cls.layout.unpack(data)
        if magic != ESTOP_MAGIC:
            raise ProtocolError(f'e-stop with magic {magic:#06x}')
        return cls(reason)


@dataclass(frozen=True)
class Sync(Frame):
    """Start of a cycle (classic framing)."""

    counter: int
    layout = struct.Struct('<B')
    id = CanId.SYNC

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.counter)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Sync:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


@dataclass(frozen=True)
class Emergency(Frame):
    """The board reports a fault when it happens."""

    code: int
    motors: int  # bit mask
    detail: int
    boot_id: int
    layout = struct.Struct('<HBHHx')
    id = CanId.EMERGENCY

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.code, self.motors, self.detail, self.boot_id)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Emergency:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


@dataclass(frozen=True)
class Control:
    """The control byte of a command."""

    enable: bool
    mode: Mode
    ttl_code: int

    def byte(self) -> int:
        """Return bit 0 enable, bits 1-2 mode, bits 3-5 time to live."""
        if not 0 <= self.ttl_code < len(TTL_MS):
            raise ProtocolError(f'time-to-live code {self.ttl_code}')
        return int(self.enable) | self.mode << 1 | self.ttl_code << 3

    @classmethod
    def from_byte(cls, value: int) -> Control:
        """Read a control byte."""
        mode = value >> 1 & 3
        if mode not in tuple(Mode) or value & 0xC0:
            raise ProtocolError(f'control byte {value:#04x}')
        return cls(bool(value & 1), Mode(mode), value >> 3 & 7)


def ttl_code(seconds: float) -> int:
    """Return the code of the longest time to live that is not above `seconds` (least 4 ms)."""
    codes = [i for i, ms in enumerate(TTL_MS) if ms * 1e-3 <= seconds * (1.0 + 1e-9)]
    return codes[-1] if codes else 0


def _half(can_id: int, first: CanId) -> int:
    if can_id not in (first, first + 1):
        raise ProtocolError(f'identifier {can_id:#05x} of another frame')
    return can_id - first


@dataclass(frozen=True)
class Command(Frame):
    """Set-points of one half (classic framing)."""

    half: int
    seq: int
    control: Control
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId(CanId.COMMAND_A + self.half)

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.seq, self.control.byte(), *self.angles)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Command:
        """Read the data bytes."""
        seq, control, *angles = cls.layout.unpack(data)
        half = _half(can_id, CanId.COMMAND_A)
        return cls(half, seq, Control.from_byte(control), (angles[0], angles[1], angles[2]))


@dataclass(frozen=True)
class Position(Frame):
    """Encoders of one half."""

    half: int
    seq: int  # of the command that the board acts on
    status: int
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId(CanId.POSITION_A + self.half)

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.seq, self.status, *self.angles)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Position:
        """Read the data bytes."""
        seq, status, *angles = cls.layout.unpack(data)
        _state(status)
        half = _half(can_id, CanId.POSITION_A)
        return cls(half, seq, status, (angles[0], angles[1], angles[2]))


@dataclass(frozen=True)
class Velocity(Frame):
    """Speeds of one half [deg/s], and the duty of one of its motors [1/127]."""

    half: int
    speeds: tuple[int, int, int]
    motor: int  # 0-2, turns with every frame
    duty: int
    layout = struct.Struct('<3hBb')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId(CanId.VELOCITY_A + self.half)

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(*self.speeds, self.motor, self.duty)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Velocity:
        """Read the data bytes."""
        *speeds, motor, duty = cls.layout.unpack(data)
        if motor >= PER_HALF:
            raise ProtocolError(f'duty of motor {motor}')
        half = _half(can_id, CanId.VELOCITY_A)
        return cls(half, (speeds[0], speeds[1], speeds[2]), motor, duty)


@dataclass(frozen=True)
class Flex(Frame):
    """Flex sensors of one half: 12-bit counts with `FlexFlag` bits above them."""

    half: int
    samples: tuple[int, int, int]
    seq: int  # counter of the SYNC that it answers
    temperature: int  # deg C
    layout = struct.Struct('<3HBb')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId(CanId.FLEX_A + self.half)

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(*self.samples, self.seq, self.temperature)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Flex:
        """Read the data bytes."""
        *samples, seq, temperature = cls.layout.unpack(data)
        half = _half(can_id, CanId.FLEX_A)
        return cls(half, (samples[0], samples[1], samples[2]), seq, temperature)


@dataclass(frozen=True)
class CommandFd(Frame):
    """Set-points of all motors (FD framing)."""

    seq: int
    control: Control
    angles: tuple[int, ...]
    layout = struct.Struct('<BB6h2x')
    id = CanId.COMMAND_FD

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.seq, self.control.byte(), *self.angles)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> CommandFd:
        """Read the data bytes."""
        seq, control, *angles = cls.layout.unpack(data)
        return cls(seq, Control.from_byte(control), tuple(angles))


@dataclass(frozen=True)
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
    id = CanId.FEEDBACK_FD

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(
            self.seq, self.status, self.temperature, *self.angles, *self.speeds, *self.samples,
            self.time,
        )  # fmt: skip

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> FeedbackFd:
        """Read the data bytes."""
        seq, status, temperature, *rest = cls.layout.unpack(data)
        _state(status)
        return cls(
            seq, status, temperature, tuple(rest[:6]), tuple(rest[6:12]), tuple(rest[12:18]),
            rest[18],
        )  # fmt: skip


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
    id = CanId.BOARD_HEARTBEAT

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(
            self.state, self.boot_id, self.transmit_errors, self.receive_errors, *self.firmware,
            self.protocol,
        )  # fmt: skip

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> BoardHeartbeat:
        """Read the data bytes."""
        state, boot, transmit, receive, major, minor, protocol = cls.layout.unpack(data)
        return cls(_state(state), boot, transmit, receive, (major, minor), protocol)


@dataclass(frozen=True)
class HostHeartbeat(Frame):
    """The host, ten times a second; without it for 300 ms the board disarms."""

    session: int
    layout = struct.Struct('<I')
    id = CanId.HOST_HEARTBEAT

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.session)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> HostHeartbeat:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


@dataclass(frozen=True)
class ParameterFrame(Frame):
    """Read or write of one parameter, request or reply."""

    reply: bool
    access: Access
    index: int
    sub: int
    value: int  # signed 32 bit
    layout = struct.Struct('<BHBi')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId.PARAMETER_REPLY if self.reply else CanId.PARAMETER_REQUEST

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.access, self.index, self.sub, self.value)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> ParameterFrame:
        """Read the data bytes."""
        access, index, sub, value = cls.layout.unpack(data)
        if access not in tuple(Access):
            raise ProtocolError(f'parameter access {access:#04x}')
        return cls(can_id == CanId.PARAMETER_REPLY, Access(access), index, sub, value)


FRAMES: dict[int, type[Frame]] = {
    CanId.ESTOP: EmergencyStop,
    CanId.SYNC: Sync,
    CanId.EMERGENCY: Emergency,
    CanId.COMMAND_A: Command,
    CanId.COMMAND_B: Command,
    CanId.COMMAND_FD: CommandFd,
    CanId.POSITION_A: Position,
    CanId.POSITION_B: Position,
    CanId.FEEDBACK_FD: FeedbackFd,
    CanId.VELOCITY_A: Velocity,
    CanId.VELOCITY_B: Velocity,
    CanId.FLEX_A: Flex,
    CanId.FLEX_B: Flex,
    CanId.PARAMETER_REPLY: ParameterFrame,
    CanId.PARAMETER_REQUEST: ParameterFrame,
    CanId.HOST_HEARTBEAT: HostHeartbeat,
    CanId.BOARD_HEARTBEAT: BoardHeartbeat,
}


def unpack(can_id: int, data: bytes) -> Frame:
    """Read a frame.

    Raises
    ------
    ProtocolError
        Unknown identifier, wrong length, or a field outside its meaning.
    """
    kind = FRAMES.get(can_id)
    if kind is None:
        raise ProtocolError(f'unknown identifier {can_id:#05x}')
    if len(data) != kind.layout.size:
        expected = kind.layout.size
        raise ProtocolError(f'{kind.__name__} with {len(data)} bytes instead of {expected}')
    return kind.unpack(can_id, bytes(data))  # type: ignore[attr-defined, no-any-return]


def state_of(status: int) -> BoardState:
    """Return the state in a status byte."""
    return _state(status)


def _state(status: int) -> BoardState:
    value = status & 7
    if value not in tuple(BoardState):
        raise ProtocolError(f'board state {value}')
    return BoardState(value)
