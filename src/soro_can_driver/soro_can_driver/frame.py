# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What frames of the CAN motor board are made of: packing, control and status byte, group."""

from __future__ import annotations

from dataclasses import dataclass
import struct
from typing import ClassVar

from soro_can_driver.board import BoardState, CanId, MAX_GROUPS, Mode, TTL_MS


class ProtocolError(ValueError):
    """Bytes that are not a frame of this protocol."""


class Frame:
    """One frame: `id`, `pack()`, and `unpack` of its class."""

    layout: ClassVar[struct.Struct]

    @property
    def id(self) -> int:
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


def group_of(can_id: int, first: CanId) -> int:
    """Return the group, from 0, whose frame an identifier names; `first` is that of group 0."""
    if not 0 <= can_id - first < MAX_GROUPS:
        raise ProtocolError(f'identifier {can_id:#05x} of another frame')
    return can_id - first


def state_of(status: int) -> BoardState:
    """Return the state in a status byte."""
    value = status & 7
    if value not in tuple(BoardState):
        raise ProtocolError(f'board state {value}')
    return BoardState(value)
