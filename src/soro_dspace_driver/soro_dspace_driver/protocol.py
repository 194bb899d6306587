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
from itertools import chain, pairwise
import struct
from typing import Any, ClassVar, TypeVar

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
B = TypeVar('B', bound='_PerChannel')


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
    """A body with u16 per channel, in `lists` tuples, between its other fields.

    `ahead`, `behind`: the formats of those, a letter of `struct` for each; the last one of
    `behind` may be left out.
    """

    ahead: ClassVar[str] = ''
    lists: ClassVar[int] = 1
    behind: ClassVar[str] = ''

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        values, start = self.values(), len(self.ahead)
        rows, rest = values[start : start + self.lists], values[start + self.lists :]
        wire = self._wire(len(rows[0]), self.behind[: len(rest)])
        try:
            return struct.pack(wire, *values[:start], *chain(*rows), *rest)
        except struct.error as error:
            raise FrameError(f'{type(self).__name__}: {error}') from None

    @classmethod
    def unpack(cls: type[B], body: bytes) -> B:
        """Read a body. Raises FrameError."""
        return cls._read(body, cls.behind)

    @classmethod
    def _read(cls: type[B], body: bytes, behind: str) -> B:
        fixed = struct.calcsize(f'<{cls.ahead}{behind}')
        channels, rest = divmod(len(body) - fixed, 2 * cls.lists)
        if rest or not 1 <= channels <= MAX_CHANNELS:
            raise FrameError(f'{cls.__name__}: {len(body)} bytes')
        found, start = struct.unpack(cls._wire(channels, behind), body), len(cls.ahead)
        ends = [start + i * channels for i in range(cls.lists + 1)]
        rows = [found[first:last] for first, last in pairwise(ends)]
        return cls(*found[:start], *rows, *found[ends[-1] :])

    @classmethod
    def _wire(cls, channels: int, behind: str) -> str:
        return f'<{cls.ahead}{cls.lists * channels}H{behind}'


@dataclass(frozen=True)
class Command(_PerChannel):
    """Set-points; acted on while ARMED, and for `ttl` only."""

    ttl: int  # 2 ms
    flags: int  # CommandFlag
    setpoints: Pressures
    type = Type.COMMAND
    ahead = 'BB'


@dataclass(frozen=True)
class Limits(_PerChannel):
    """What the device itself keeps to, and how often it reports. Answered by ACK."""

    maximum: Pressures
    rate: int  # 0.1 kPa/s
    period: int  # 0.1 ms, of FEEDBACK
    type = Type.LIMITS
    behind = 'HH'


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
    ahead, lists, behind = 'HI', 2, 'BBHH'

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire."""
        values = super().values()
        return values[:-1] if self.channels is None else values

    @classmethod
    def unpack(cls, body: bytes) -> Feedback:
        """Read a body. Raises FrameError."""
        named = len(body) % 4 == 0  # all but the mask of channels are 2 bytes more than fours
        return cls._read(body, cls.behind if named else cls.behind[:-1])


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
