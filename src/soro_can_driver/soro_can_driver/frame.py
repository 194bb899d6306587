# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What frames of the CAN motor board are made of: packing, control and status byte, group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
import struct
from typing import ClassVar, TypeVar

from soro_can_driver.board import BoardState, MAX_GROUPS, Mode, TTL_MS

F = TypeVar('F', bound='Frame')
# Looked up, not searched: this is done in every tick of a loop.
MODES, STATES = {int(m): m for m in Mode}, {int(s): s for s in BoardState}


class ProtocolError(ValueError):
    """Bytes that are not a frame of this protocol."""


class Frame:
    """One frame: a frozen dataclass whose fields are those of `layout`, in order.

    - `first`: identifier; of group 0 where there are groups.
    - `key`: the field ahead of `layout` that the identifier tells, if any.
    - `parts`: values in each field, 0: not a tuple; empty: in none.
    - `reads`: what reads the value at a place; it raises ProtocolError for one without a meaning.
    """

    layout: ClassVar[struct.Struct]
    first: ClassVar[int]
    key: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[int, ...]] = ()
    reads: ClassVar[dict[int, Callable[[int], int]]] = {}

    @property
    def id(self) -> int:
        """Identifier."""
        return self.first + getattr(self, 'group', 0)

    def pack(self) -> bytes:
        """Return the data bytes; out-of-range fields raise ProtocolError."""
        values: list[int] = []
        for name, value in vars(self).items():
            if isinstance(value, tuple):
                values += value
            elif name not in self.key:
                values.append(value)
        try:
            return self.layout.pack(*values)
        except struct.error as error:
            raise ProtocolError(f'{type(self).__name__}: {error}') from None

    @classmethod
    def unpack(cls: type[F], can_id: int, data: bytes) -> F:
        """Read the data bytes. Raises ProtocolError."""
        values = list(cls.layout.unpack(data))
        for place, read in cls.reads.items():
            values[place] = read(values[place])
        for place, size in enumerate(cls.parts):
            if size:
                values[place : place + size] = [tuple(values[place : place + size])]
        return cls(*([cls._key(can_id)] if cls.key else []), *values)

    @classmethod
    def _key(cls, can_id: int) -> int:
        """Return the group, from 0, whose frame an identifier names."""
        if not 0 <= can_id - cls.first < MAX_GROUPS:
            raise ProtocolError(f'identifier {can_id:#05x} of another frame')
        return can_id - cls.first


@dataclass(frozen=True)
class Control:
    """The control byte of a command."""

    enable: bool
    mode: Mode
    ttl_code: int

    def __index__(self) -> int:
        """Return bit 0 enable, bits 1-2 mode, bits 3-5 time to live."""
        if not 0 <= self.ttl_code < len(TTL_MS):
            raise ProtocolError(f'time-to-live code {self.ttl_code}')
        return int(self.enable) | self.mode << 1 | self.ttl_code << 3

    @classmethod
    def from_byte(cls, value: int) -> Control:
        """Read a control byte."""
        mode = MODES.get(value >> 1 & 3)
        if mode is None or value & 0xC0:
            raise ProtocolError(f'control byte {value:#04x}')
        return cls(bool(value & 1), mode, value >> 3 & 7)


@lru_cache(maxsize=8)
def position_control(ttl: float) -> Control:
    """Return the control byte of set-points that hold for a time to live [s]."""
    return Control(True, Mode.POSITION, ttl_code(ttl))


def ttl_code(seconds: float) -> int:
    """Return the code of the longest time to live that is not above `seconds` (least 4 ms)."""
    codes = [i for i, ms in enumerate(TTL_MS) if ms * 1e-3 <= seconds * (1.0 + 1e-9)]
    return codes[-1] if codes else 0


def status_of(value: int) -> int:
    """Return a status byte whose state is known."""
    state_of(value)
    return value


def state_of(status: int) -> BoardState:
    """Return the state in a status byte."""
    state = STATES.get(status & 7)
    if state is None:
        raise ProtocolError(f'board state {status & 7}')
    return state
