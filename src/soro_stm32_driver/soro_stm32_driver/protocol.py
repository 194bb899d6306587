# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The frames of F3 beyond the common session layer: timed valves, what they did, lengths.

Times are milliseconds of the device's clock (u32, wraps). Version 1.0 has 30 muscles whose valves
are in order; in 1.1 the host says first which valves belong to which muscle. Every relay-on time
is a whole number of milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum, IntFlag
import struct
from typing import ClassVar

from soro_driver.serial_frame import Body, FrameError, reason_name

NEWEST_MINOR = 1
MAX_ACTION = 2000  # ms
MIN_ACTION = 20  # ms, a relay stays at least this long
WATCHDOG = 500  # ms without a valid frame: inflate valves close, the queue is dropped
VENT_AFTER = 1000  # ms more: everything is vented
WINDOW = 16  # sequence numbers the device remembers
FARTHEST_DEADLINE = 1000  # ms, a deadline beyond it is a wrapped one
LENGTH_UNIT = 1e-5  # m per count of LENGTHS
NO_LENGTH = 0xFFFF


class FrameType(IntEnum):
    """Types of F3."""

    SET_TIMED = 0x20
    SET_BITMAP = 0x21
    ABORT_ALL = 0x22
    VENT_ALL = 0x23
    SET_PAIRS = 0x24  # since 1.1
    STATUS = 0xA0
    VALVE_TIMES = 0xA1
    LENGTHS = 0xA2


class Action(IntEnum):
    """What a muscle's pair of valves does."""

    HOLD = 0
    INFLATE = 1
    DEFLATE = 2


class ValveReason(IntEnum):
    """Why SET_TIMED or SET_BITMAP was refused; `detail` of the NACK is the muscle."""

    STALE = 0x40  # the deadline has passed, or the sequence number is older than the window
    INTERLOCK = 0x41  # both valves of one muscle
    DURATION = 0x42
    BUDGET = 0x43  # net inflation of one muscle
    SUPPLY = 0x44  # more muscles at once than the supply feeds, or supply pressure too low
    QUEUE = 0x45  # more waits for one muscle than the device keeps
    MUSCLE = 0x46  # no such muscle, or twice in one frame


class StatusFlag(IntFlag):
    """Bits of STATUS.flags."""

    VENTED = 1  # every muscle was deflated completely and none inflated since
    VENTING = 2
    TRIPPED = 4  # the watchdog acted since the last ARM


class DeviceFault(IntFlag):
    """Bits of STATUS.faults; latched until RESET."""

    SUPPLY = 1  # supply pressure too low
    BATTERY = 2
    RELAY = 4  # a relay's contact does not follow its coil
    SENSOR = 8  # a length sensor is open


@dataclass(frozen=True)
class Timed:
    """One muscle's part of SET_TIMED; executed after what already waits for this muscle."""

    muscle: int
    action: int
    duration: int  # ms


_TIMED_HEAD = struct.Struct('<HB')
_TIMED = struct.Struct('<BBH')


@dataclass(frozen=True)
class SetTimed(Body):
    """Open valves for exact times, if the frame arrives before its deadline.

    ACK: `detail` is the device's time at which the last of these actions ends.
    """

    deadline: int  # u16, low half of the device's time until which it may be accepted
    actions: tuple[Timed, ...]
    type: ClassVar[int] = FrameType.SET_TIMED
    layout: ClassVar[struct.Struct] = _TIMED_HEAD

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        try:
            parts = [_TIMED.pack(a.muscle, a.action, a.duration) for a in self.actions]
            return _TIMED_HEAD.pack(self.deadline, len(parts)) + b''.join(parts)
        except struct.error as error:
            raise FrameError(f'SetTimed: {error}') from None

    @classmethod
    def unpack(cls, body: bytes) -> SetTimed:
        """Read a body. Raises FrameError."""
        if len(body) < _TIMED_HEAD.size:
            raise FrameError('SetTimed: too short')
        deadline, count = _TIMED_HEAD.unpack_from(body)
        if len(body) != _TIMED_HEAD.size + count * _TIMED.size:
            raise FrameError(f'SetTimed: {len(body)} bytes for {count} actions')
        parts = _TIMED.iter_unpack(body[_TIMED_HEAD.size :])
        return cls(deadline, tuple(Timed(*part) for part in parts))


@dataclass(frozen=True)
class SetBitmap(Body):
    """Set valves directly, for maintenance; refused while ARMED."""

    mask: int  # u64
    value: int  # u64
    longest: int  # ms until they close again
    type = FrameType.SET_BITMAP
    layout = struct.Struct('<QQH')


@dataclass(frozen=True)
class AbortAll(Body):
    """Close every valve, drop every queue."""

    type = FrameType.ABORT_ALL
    layout = struct.Struct('')


@dataclass(frozen=True)
class VentAll(Body):
    """Drop every queue and deflate everything completely; allowed in every state."""

    type = FrameType.VENT_ALL
    layout = struct.Struct('')


@dataclass(frozen=True)
class SetPairs(Body):
    """Say which valves inflate and deflate each muscle; before it nothing opens."""

    pairs: tuple[tuple[int, int], ...]
    type: ClassVar[int] = FrameType.SET_PAIRS
    layout: ClassVar[struct.Struct] = struct.Struct('<BB')

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        try:
            return b''.join(self.layout.pack(*pair) for pair in self.pairs)
        except struct.error as error:
            raise FrameError(f'SetPairs: {error}') from None

    @classmethod
    def unpack(cls, body: bytes) -> SetPairs:
        """Read a body. Raises FrameError."""
        if len(body) % cls.layout.size:
            raise FrameError(f'SetPairs: {len(body)} bytes')
        return cls(tuple((a, b) for a, b in cls.layout.iter_unpack(body)))


@dataclass(frozen=True)
class Status(Body):
    """How the device is, ten times per second."""

    time: int  # u32 ms
    boot: int  # low half of boot_id
    state: int  # SerialState
    flags: int  # StatusFlag
    valves: int  # u64, coils
    active: int  # u32, muscles whose valves are open or whose queue is not empty
    queue: int  # actions that wait
    last_seq: int  # of the newest SET_TIMED that was carried out
    done: int  # bit k: sequence number last_seq - k was carried out
    budget: int  # ms, of the muscle that has the least left
    crc_errors: int
    battery: int  # mV
    supply: int  # 0.1 kPa
    faults: int  # DeviceFault
    type = FrameType.STATUS
    layout = struct.Struct('<IHBBQIBHHHHHHH')


@dataclass(frozen=True)
class Worked:
    """What the two valves of one muscle did since the start; every number wraps."""

    inflate: int  # u16 ms relay-on
    deflate: int  # u16 ms
    inflations: int  # u8, times switched on
    deflations: int  # u8


_TIME = struct.Struct('<I')
_WORKED = struct.Struct('<HHBB')


@dataclass(frozen=True)
class ValveTimes(Body):
    """What every valve has really done: the host's estimate rests on this, not on its commands."""

    time: int  # u32 ms
    muscles: tuple[Worked, ...]
    type: ClassVar[int] = FrameType.VALVE_TIMES
    layout: ClassVar[struct.Struct] = _TIME

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        try:
            parts = [
                _WORKED.pack(w.inflate, w.deflate, w.inflations, w.deflations)
                for w in self.muscles
            ]
            return _TIME.pack(self.time) + b''.join(parts)
        except struct.error as error:
            raise FrameError(f'ValveTimes: {error}') from None

    @classmethod
    def unpack(cls, body: bytes) -> ValveTimes:
        """Read a body. Raises FrameError."""
        if len(body) < _TIME.size or (len(body) - _TIME.size) % _WORKED.size:
            raise FrameError(f'ValveTimes: {len(body)} bytes')
        parts = _WORKED.iter_unpack(body[_TIME.size :])
        return cls(_TIME.unpack_from(body)[0], tuple(Worked(*part) for part in parts))


@dataclass(frozen=True)
class Lengths(Body):
    """Measured lengths, from a device that has sensors."""

    time: int  # u32 ms
    counts: tuple[int, ...]  # u16 each, LENGTH_UNIT
    type: ClassVar[int] = FrameType.LENGTHS
    layout: ClassVar[struct.Struct] = _TIME

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        try:
            return _TIME.pack(self.time) + struct.pack(f'<{len(self.counts)}H', *self.counts)
        except struct.error as error:
            raise FrameError(f'Lengths: {error}') from None

    @classmethod
    def unpack(cls, body: bytes) -> Lengths:
        """Read a body. Raises FrameError."""
        if len(body) < _TIME.size or (len(body) - _TIME.size) % 2:
            raise FrameError(f'Lengths: {len(body)} bytes')
        count = (len(body) - _TIME.size) // 2
        time = _TIME.unpack_from(body)[0]
        return cls(time, struct.unpack_from(f'<{count}H', body, _TIME.size))


BODIES: dict[int, type[Body]] = {
    int(kind.type): kind
    for kind in (SetTimed, SetBitmap, AbortAll, VentAll, SetPairs, Status, ValveTimes, Lengths)
}


def until(deadline: int, time: int) -> int:
    """Return the milliseconds from a device time to a deadline (u16); negative: it has passed."""
    return ((deadline - time + 0x8000) & 0xFFFF) - 0x8000


def valve_reason_name(reason: int) -> str:
    """Say a reason in words."""
    if reason in tuple(ValveReason):
        return ValveReason(reason).name.lower()
    return reason_name(reason)
