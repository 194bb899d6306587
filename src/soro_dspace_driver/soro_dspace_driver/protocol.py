# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of protocol F1: three regulators behind a real-time computer. Pure codec.

Shared by the driver and the emulated computer, and pinned by the golden frames of
docs/hardware_serial.md. Frame layer and session: `soro_driver.serial_frame`. Pressures are
u16 in steps of 10 Pa (0.01 kPa); `transport` converts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
import struct
from typing import Any

from soro_driver.serial_frame import Body, FrameError

CHANNELS = 3
COUNT = 10.0  # Pa
RATE_COUNT, PERIOD_COUNT = 100.0, 1e-4  # Pa/s and s of the LIMITS frame
LOWEST_RATE, HIGHEST_RATE = RATE_COUNT, 0xFFFF * RATE_COUNT  # Pa/s, what LIMITS can say
FULL_SCALE = 40000  # counts: 400 kPa, 10 V
INVALID = 0xFFFF  # a measurement whose monitor is outside -0.1 V to 10.2 V
TTL_COUNT = 2  # ms
MIN_TTL, MAX_TTL = 20, 500  # ms, what a device allows at 100 Hz
Three = tuple[int, int, int]


class Type(IntEnum):
    """Types of frames beside those of the session."""

    COMMAND = 0x10
    LIMITS = 0x11
    FEEDBACK = 0x90
    STATUS = 0x91


class CommandFlag(IntFlag):
    """What a command asks for; without ENABLE its set-points are not looked at."""

    ENABLE = 1
    ESTOP = 2
    VENT = 4


class DeviceFault(IntFlag):
    """Bits of FEEDBACK.faults; bits 8 to 10 name the channels that SENSOR and others mean."""

    EXPIRED = 1  # the time to live passed: ramped to zero
    OVER_PRESSURE = 2
    SENSOR = 4
    NO_PRESSURE = 8  # commanded, but nothing comes: broken wire or burst
    ESTOP = 16
    CHANNEL_1 = 256
    CHANNEL_2 = 512
    CHANNEL_3 = 1024
    LIMITED = 1 << 15  # no fault: a set-point was cut to range or slew


@dataclass(frozen=True)
class Command(Body):
    """Set-points; acted on while ARMED, and for `ttl` only."""

    ttl: int  # 2 ms
    flags: int  # CommandFlag
    setpoints: Three
    type = Type.COMMAND
    layout = struct.Struct('<BB3H')

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of `layout`."""
        return self.ttl, self.flags, *self.setpoints

    @classmethod
    def unpack(cls, body: bytes) -> Command:
        """Read a body. Raises FrameError."""
        ttl, flags, *p = _read(cls, body)
        return cls(ttl, flags, (p[0], p[1], p[2]))


@dataclass(frozen=True)
class Limits(Body):
    """What the device itself keeps to, and how often it reports. Answered by ACK."""

    maximum: Three
    rate: int  # 0.1 kPa/s
    period: int  # 0.1 ms, of FEEDBACK
    type = Type.LIMITS
    layout = struct.Struct('<3HHH')

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of `layout`."""
        return *self.maximum, self.rate, self.period

    @classmethod
    def unpack(cls, body: bytes) -> Limits:
        """Read a body. Raises FrameError."""
        a, b, c, rate, period = _read(cls, body)
        return cls((a, b, c), rate, period)


@dataclass(frozen=True)
class Feedback(Body):
    """One measurement of all channels."""

    last_seq: int  # of the newest COMMAND that was acted on
    time: int  # us, u32, of the device
    measured: Three  # INVALID: monitor out of range
    applied: Three
    state: int  # SerialState
    age: int  # ms since the last COMMAND, at most 255
    faults: int  # DeviceFault
    type = Type.FEEDBACK
    layout = struct.Struct('<HI3H3HBBH')

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of `layout`."""
        return (
            self.last_seq,
            self.time,
            *self.measured,
            *self.applied,
            self.state,
            self.age,
            self.faults,
        )

    @classmethod
    def unpack(cls, body: bytes) -> Feedback:
        """Read a body. Raises FrameError."""
        seq, time, *p, state, age, faults = _read(cls, body)
        return cls(seq, time, (p[0], p[1], p[2]), (p[3], p[4], p[5]), state, age, faults)


@dataclass(frozen=True)
class Status(Body):
    """Counters since the start of the device, twice a second."""

    boot_id: int
    frames: int
    crc_errors: int
    malformed: int
    refused: int  # answered with NACK
    expired: int  # times to live that passed while ARMED
    type = Type.STATUS
    layout = struct.Struct('<IIIIHH')


BODIES: dict[int, type[Body]] = {int(b.type): b for b in (Command, Limits, Feedback, Status)}


def _read(kind: type[Body], body: bytes) -> tuple[int, ...]:
    if len(body) != kind.layout.size:
        raise FrameError(f'{kind.__name__}: {len(body)} bytes, not {kind.layout.size}')
    return kind.layout.unpack(body)
