# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the CAN motor board: motors and flex sensors in groups of three. Pure codec.

Shared by the driver and the emulated board, described in dbc/motor_board.dbc and pinned by the
golden frames of docs/hardware/can.md. Little-endian. The frames of every cycle are in
`cyclic_frames`, those sent now and then are here, and `unpack` reads any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
import struct

from soro_can_driver.board import Access, BoardState, CanId, ESTOP_MAGIC, MAX_GROUPS
from soro_can_driver.cyclic_frames import (
    Command,
    CommandFd,
    FeedbackFd,
    Flex,
    Position,
    Sync,
    Velocity,
)
from soro_can_driver.frame import Frame, ProtocolError, state_of


def access_of(value: int) -> Access:
    """Return what the first byte of a parameter frame says."""
    if value not in tuple(Access):
        raise ProtocolError(f'parameter access {value:#04x}')
    return Access(value)


@dataclass(frozen=True)
class EmergencyStop(Frame):
    """Stop everything, from the host. Sent three times."""

    reason: int
    layout = struct.Struct('<2sB')
    first = CanId.ESTOP

    def pack(self) -> bytes:
        """Return the data bytes."""
        return ESTOP_MAGIC.to_bytes(2, 'little') + bytes([self.reason])

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> EmergencyStop:
        """Read the data bytes. Raises ProtocolError."""
        if data[:2] != ESTOP_MAGIC.to_bytes(2, 'little'):
            raise ProtocolError(f'e-stop with magic {data[:2].hex()}')
        return cls(data[2])


@dataclass(frozen=True)
class Emergency(Frame):
    """The board reports a fault when it happens."""

    code: int
    motors: int  # bit mask
    detail: int
    boot_id: int
    layout = struct.Struct('<HBHHx')
    first = CanId.EMERGENCY


@dataclass(frozen=True)
class EmergencyWide(Frame):
    """The same of a board that is not of version 1.0: more motors, and no detail."""

    code: int
    motors: int  # bit mask
    boot_id: int
    layout = struct.Struct('<HIH')
    first = CanId.EMERGENCY_WIDE


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
    first, parts = CanId.BOARD_HEARTBEAT, (0, 0, 0, 0, 2)
    reads = {0: state_of}


@dataclass(frozen=True)
class HostHeartbeat(Frame):
    """The host, ten times a second; without it for 300 ms the board disarms."""

    session: int
    layout = struct.Struct('<I')
    first = CanId.HOST_HEARTBEAT


@dataclass(frozen=True)
class ParameterFrame(Frame):
    """Read or write of one parameter, request or reply."""

    reply: bool
    access: Access
    index: int
    sub: int
    value: int  # signed 32 bit
    layout = struct.Struct('<BHBi')
    key, reads = ('reply',), {0: access_of}

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId.PARAMETER_REPLY if self.reply else CanId.PARAMETER_REQUEST

    @classmethod
    def _key(cls, can_id: int) -> int:
        return can_id == CanId.PARAMETER_REPLY


FRAMES: dict[int, type[Frame]] = {
    CanId.ESTOP: EmergencyStop,
    CanId.SYNC: Sync,
    CanId.EMERGENCY: Emergency,
    CanId.EMERGENCY_WIDE: EmergencyWide,
    CanId.COMMAND_FD: CommandFd,
    CanId.FEEDBACK_FD: FeedbackFd,
    CanId.PARAMETER_REPLY: ParameterFrame,
    CanId.PARAMETER_REQUEST: ParameterFrame,
    CanId.HOST_HEARTBEAT: HostHeartbeat,
    CanId.BOARD_HEARTBEAT: BoardHeartbeat,
}
for _group in range(MAX_GROUPS):
    FRAMES[CanId.COMMAND_A + _group] = Command
    FRAMES[CanId.POSITION_A + _group] = Position
    FRAMES[CanId.VELOCITY_A + _group] = Velocity
    FRAMES[CanId.FLEX_A + _group] = Flex


def unpack(can_id: int, data: bytes) -> Frame:
    """Read a frame.

    ProtocolError: unknown identifier, wrong length, or a field outside its meaning.
    """
    kind = FRAMES.get(can_id)
    if kind is None:
        raise ProtocolError(f'unknown identifier {can_id:#05x}')
    if len(data) != kind.layout.size:
        expected = kind.layout.size
        raise ProtocolError(f'{kind.__name__} with {len(data)} bytes instead of {expected}')
    return kind.unpack(can_id, bytes(data))  # type: ignore[attr-defined, no-any-return]
