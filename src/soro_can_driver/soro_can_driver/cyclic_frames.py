# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of every cycle: set-points and measurements, as classic CAN and as CAN FD.

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

from soro_can_driver.board import CanId, PER_GROUP
from soro_can_driver.frame import Control, Frame, group_of, ProtocolError, state_of


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
class Command(Frame):
    """Set-points of one group (classic framing)."""

    group: int
    seq: int
    control: Control
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')

    @property
    def id(self) -> int:
        """Identifier."""
        return CanId.COMMAND_A + self.group

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.seq, self.control.byte(), *self.angles)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Command:
        """Read the data bytes."""
        seq, control, *angles = cls.layout.unpack(data)
        group = group_of(can_id, CanId.COMMAND_A)
        return cls(group, seq, Control.from_byte(control), (angles[0], angles[1], angles[2]))


@dataclass(frozen=True)
class Position(Frame):
    """Encoders of one group."""

    group: int
    seq: int  # of the command that the board acts on
    status: int
    angles: tuple[int, int, int]
    layout = struct.Struct('<BB3h')

    @property
    def id(self) -> int:
        """Identifier."""
        return CanId.POSITION_A + self.group

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.seq, self.status, *self.angles)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Position:
        """Read the data bytes."""
        seq, status, *angles = cls.layout.unpack(data)
        state_of(status)
        group = group_of(can_id, CanId.POSITION_A)
        return cls(group, seq, status, (angles[0], angles[1], angles[2]))


@dataclass(frozen=True)
class Velocity(Frame):
    """Speeds of one group [deg/s], and the duty of one of its motors [1/127]."""

    group: int
    speeds: tuple[int, int, int]
    motor: int  # 0-2, turns with every frame
    duty: int
    layout = struct.Struct('<3hBb')

    @property
    def id(self) -> int:
        """Identifier."""
        return CanId.VELOCITY_A + self.group

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(*self.speeds, self.motor, self.duty)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Velocity:
        """Read the data bytes."""
        *speeds, motor, duty = cls.layout.unpack(data)
        if motor >= PER_GROUP:
            raise ProtocolError(f'duty of motor {motor}')
        group = group_of(can_id, CanId.VELOCITY_A)
        return cls(group, (speeds[0], speeds[1], speeds[2]), motor, duty)


@dataclass(frozen=True)
class Flex(Frame):
    """Flex sensors of one group: 12-bit counts with `FlexFlag` bits above them."""

    group: int
    samples: tuple[int, int, int]
    seq: int  # counter of the SYNC that it answers
    temperature: int  # deg C
    layout = struct.Struct('<3HBb')

    @property
    def id(self) -> int:
        """Identifier."""
        return CanId.FLEX_A + self.group

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(*self.samples, self.seq, self.temperature)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Flex:
        """Read the data bytes."""
        *samples, seq, temperature = cls.layout.unpack(data)
        group = group_of(can_id, CanId.FLEX_A)
        return cls(group, (samples[0], samples[1], samples[2]), seq, temperature)


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
            self.seq,
            self.status,
            self.temperature,
            *self.angles,
            *self.speeds,
            *self.samples,
            self.time,
        )

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> FeedbackFd:
        """Read the data bytes."""
        seq, status, temperature, *rest = cls.layout.unpack(data)
        state_of(status)
        return cls(
            seq,
            status,
            temperature,
            tuple(rest[:6]),
            tuple(rest[6:12]),
            tuple(rest[12:18]),
            rest[18],
        )
