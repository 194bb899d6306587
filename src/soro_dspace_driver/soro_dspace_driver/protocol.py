# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of protocol F1: up to sixteen regulators behind a real-time computer. Pure codec.

Shared by the driver and the emulated computer, and pinned by the golden frames of
docs/hardware/dspace.md. Frame layer and session: `soro_driver.serial.frame`. Pressures are
u16 in steps of 10 Pa (0.01 kPa); `transport` converts them. Version 1.0 has three channels, 1.1
any number; the length of a body says how many.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
import struct
from typing import Any

from soro_driver.serial.frame import Body, FrameError

FIRST_CHANNELS, MAX_CHANNELS = 3, 16  # of version 1.0; of 1.1, at most
NEWEST_MINOR = 1
COUNT = 10.0  # Pa
RATE_COUNT, PERIOD_COUNT = 100.0, 1e-4  # Pa/s and s of the LIMITS frame
LOWEST_RATE, HIGHEST_RATE = RATE_COUNT, 0xFFFF * RATE_COUNT  # Pa/s, what LIMITS can say
FULL_SCALE = 40000  # counts: 400 kPa, 10 V
INVALID = 0xFFFF  # a measurement whose monitor is outside -0.1 V to 10.2 V
TTL_COUNT = 2  # ms
MIN_TTL, MAX_TTL = 20, 500  # ms, what a device allows at 100 Hz
Pressures = tuple[int, ...]  # one per channel


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
    """Bits of FEEDBACK.faults; in version 1.0 bits 8 to 10 name the channels that are meant."""

    EXPIRED = 1  # the time to live passed: ramped to zero
    OVER_PRESSURE = 2
    SENSOR = 4
    NO_PRESSURE = 8  # commanded, but nothing comes: broken wire or burst
    ESTOP = 16
    CHANNEL_1 = 256
    CHANNEL_2 = 512
    CHANNEL_3 = 1024
    LIMITED = 1 << 15  # no fault: a set-point was cut to range or slew


class _PerChannel(Body):
    """A body with u16 per channel between its other fields: it has no single `layout`."""

    @property
    def wire(self) -> str:
        """The layout of this body, as of `struct`."""
        raise NotImplementedError

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        try:
            return struct.pack(self.wire, *self.values())
        except struct.error as error:
            raise FrameError(f'{type(self).__name__}: {error}') from None


def _read(kind: type[Body], body: bytes, ahead: str, behind: str, each: int = 1) -> list[int]:
    """Read a body with `each` u16 per channel between two groups of fields. Raises FrameError."""
    channels, rest = divmod(len(body) - struct.calcsize(f'<{ahead}{behind}'), 2 * each)
    if rest or not 1 <= channels <= MAX_CHANNELS:
        raise FrameError(f'{kind.__name__}: {len(body)} bytes')
    return list(struct.unpack(f'<{ahead}{each * channels}H{behind}', body))


@dataclass(frozen=True)
class Command(_PerChannel):
    """Set-points; acted on while ARMED, and for `ttl` only."""

    ttl: int  # 2 ms
    flags: int  # CommandFlag
    setpoints: Pressures
    type = Type.COMMAND

    @property
    def wire(self) -> str:
        """The layout of this body."""
        return f'<BB{len(self.setpoints)}H'

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire."""
        return self.ttl, self.flags, *self.setpoints

    @classmethod
    def unpack(cls, body: bytes) -> Command:
        """Read a body. Raises FrameError."""
        ttl, flags, *p = _read(cls, body, 'BB', '')
        return cls(ttl, flags, tuple(p))


@dataclass(frozen=True)
class Limits(_PerChannel):
    """What the device itself keeps to, and how often it reports. Answered by ACK."""

    maximum: Pressures
    rate: int  # 0.1 kPa/s
    period: int  # 0.1 ms, of FEEDBACK
    type = Type.LIMITS

    @property
    def wire(self) -> str:
        """The layout of this body."""
        return f'<{len(self.maximum)}HHH'

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire."""
        return *self.maximum, self.rate, self.period

    @classmethod
    def unpack(cls, body: bytes) -> Limits:
        """Read a body. Raises FrameError."""
        *p, rate, period = _read(cls, body, '', 'HH')
        return cls(tuple(p), rate, period)


@dataclass(frozen=True)
class Feedback(_PerChannel):
    """One measurement of all channels."""

    last_seq: int  # of the newest COMMAND that was acted on
    time: int  # us, u32, of the device
    measured: Pressures  # INVALID: monitor out of range
    applied: Pressures
    state: int  # SerialState
    age: int  # ms since the last COMMAND, at most 255
    faults: int  # DeviceFault
    channels: int | None = None  # bits of those that `faults` means; None: version 1.0
    type = Type.FEEDBACK

    @property
    def wire(self) -> str:
        """The layout of this body."""
        n = len(self.measured)
        return f'<HI{n}H{n}HBBH' + ('' if self.channels is None else 'H')

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire."""
        more = () if self.channels is None else (self.channels,)
        head = (self.last_seq, self.time, *self.measured, *self.applied)
        return (*head, self.state, self.age, self.faults, *more)

    @classmethod
    def unpack(cls, body: bytes) -> Feedback:
        """Read a body. Raises FrameError."""
        named = len(body) % 4 == 0  # all but the mask of channels are 2 bytes more than fours
        seq, time, *p = _read(cls, body, 'HI', 'BBHH' if named else 'BBH', each=2)
        channels = p.pop() if named else None
        *p, state, age, faults = p
        half = len(p) // 2
        return cls(seq, time, tuple(p[:half]), tuple(p[half:]), state, age, faults, channels)


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


def minor_for(channels: int) -> int:
    """Return the oldest minor version that speaks of so many channels."""
    return 0 if channels == FIRST_CHANNELS else 1
