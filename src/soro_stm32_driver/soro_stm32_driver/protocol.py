# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The frames of F3 beyond the common session layer: timed valves, what they did, lengths.

Times are milliseconds of the device's clock (u32, wraps). Version 1.0 has 30 muscles whose valves
are in order; in 1.1 the host says first which valves belong to which muscle. Every relay-on time
is a whole number of milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from operator import itemgetter
import struct
from typing import Any, ClassVar, NamedTuple, TypeVar

from soro_driver.serial.frame import Body, FrameError, reason_name

NEWEST_MINOR = 1
MAX_ACTION = 2000  # ms
MIN_ACTION = 20  # ms, a relay stays at least this long
WATCHDOG = 500  # ms without a valid frame: inflate valves close, the queue is dropped
VENT_AFTER = 1000  # ms more: everything is vented
WINDOW = 16  # sequence numbers the device remembers
FARTHEST_DEADLINE = 1000  # ms, a deadline beyond it is a wrapped one
LENGTH_UNIT = 1e-5  # m per count of LENGTHS
NO_LENGTH = 0xFFFF
R = TypeVar('R', bound='_Rows')


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


class _Rows(Body):
    """A body whose last field is as many rows as come after `layout`; `make` reads one."""

    row: ClassVar[struct.Struct]
    make: ClassVar[Callable[[Any], Any]] = tuple

    def pack(self) -> bytes:
        """Return the body's bytes. Raises FrameError."""
        *head, rows = self.values()
        try:
            return self.layout.pack(*head) + b''.join(self.row.pack(*row) for row in rows)
        except struct.error as error:
            raise FrameError(f'{type(self).__name__}: {error}') from None

    @classmethod
    def unpack(cls: type[R], body: bytes) -> R:
        """Read a body. Raises FrameError."""
        size = cls.layout.size
        if len(body) < size or (len(body) - size) % cls.row.size:
            raise FrameError(f'{cls.__name__}: {len(body)} bytes')
        rows = tuple(map(cls.make, cls.row.iter_unpack(body[size:])))
        return cls._of(*cls.layout.unpack_from(body), rows)

    @classmethod
    def _of(cls: type[R], *values: Any) -> R:
        return cls(*values)


class Timed(NamedTuple):
    """One muscle's part of SET_TIMED; executed after what already waits for this muscle."""

    muscle: int
    action: int
    duration: int  # ms


@dataclass(frozen=True)
class SetTimed(_Rows):
    """Open valves for exact times, if the frame arrives before its deadline.

    ACK: `detail` is the device's time at which the last of these actions ends.
    """

    deadline: int  # u16, low half of the device's time until which it may be accepted
    actions: tuple[Timed, ...]
    type = FrameType.SET_TIMED
    layout, row, make = struct.Struct('<HB'), struct.Struct('<BBH'), Timed._make

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire, their number ahead of the actions."""
        return self.deadline, len(self.actions), self.actions

    @classmethod
    def _of(cls, *values: Any) -> SetTimed:
        deadline, count, actions = values
        if len(actions) != count:
            raise FrameError(f'SetTimed: {len(actions)} actions, not {count}')
        return cls(deadline, actions)


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
class SetPairs(_Rows):
    """Say which valves inflate and deflate each muscle; before it nothing opens."""

    pairs: tuple[tuple[int, int], ...]
    type = FrameType.SET_PAIRS
    layout, row = struct.Struct(''), struct.Struct('<BB')


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


class Worked(NamedTuple):
    """What the two valves of one muscle did since the start; every number wraps."""

    inflate: int  # u16 ms relay-on
    deflate: int  # u16 ms
    inflations: int  # u8, times switched on
    deflations: int  # u8


@dataclass(frozen=True)
class ValveTimes(_Rows):
    """What every valve has really done: the host's estimate rests on this, not on its commands."""

    time: int  # u32 ms
    muscles: tuple[Worked, ...]
    type = FrameType.VALVE_TIMES
    layout, row, make = struct.Struct('<I'), struct.Struct('<HHBB'), Worked._make


@dataclass(frozen=True)
class Lengths(_Rows):
    """Measured lengths, from a device that has sensors."""

    time: int  # u32 ms
    counts: tuple[int, ...]  # u16 each, LENGTH_UNIT
    type = FrameType.LENGTHS
    layout, row, make = struct.Struct('<I'), struct.Struct('<H'), itemgetter(0)

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of the wire."""
        return self.time, [(count,) for count in self.counts]


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
