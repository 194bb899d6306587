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
from soro_can_driver.frame import Control, Frame, ProtocolError, status_of


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
