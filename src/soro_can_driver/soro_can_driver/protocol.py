# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames of the CAN motor board: motors and flex sensors in groups of three. Pure codec.

Shared by the driver and the emulated board, described in dbc/motor_board.dbc and pinned by the
golden frames of docs/hardware_can.md. Little-endian. The frames of every cycle are in
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


@dataclass(frozen=True)
class EmergencyStop(Frame):
    """Stop everything, from the host. Sent three times."""

    reason: int
    layout = struct.Struct('<HB')
    id = CanId.ESTOP

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(ESTOP_MAGIC, self.reason)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> EmergencyStop:
        """Read the data bytes."""
        magic, reason = cls.layout.unpack(data)
        if magic != ESTOP_MAGIC:
            raise ProtocolError(f'e-stop with magic {magic:#06x}')
        return cls(reason)


@dataclass(frozen=True)
class Emergency(Frame):
    """The board reports a fault when it happens."""

    code: int
    motors: int  # bit mask
    detail: int
    boot_id: int
    layout = struct.Struct('<HBHHx')
    id = CanId.EMERGENCY

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.code, self.motors, self.detail, self.boot_id)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> Emergency:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


@dataclass(frozen=True)
class EmergencyWide(Frame):
    """The same of a board that is not of version 1.0: more motors, and no detail."""

    code: int
    motors: int  # bit mask
    boot_id: int
    layout = struct.Struct('<HIH')
    id = CanId.EMERGENCY_WIDE

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.code, self.motors, self.boot_id)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> EmergencyWide:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


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
    id = CanId.BOARD_HEARTBEAT

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(
            self.state,
            self.boot_id,
            self.transmit_errors,
            self.receive_errors,
            *self.firmware,
            self.protocol,
        )

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> BoardHeartbeat:
        """Read the data bytes."""
        state, boot, transmit, receive, major, minor, protocol = cls.layout.unpack(data)
        return cls(state_of(state), boot, transmit, receive, (major, minor), protocol)


@dataclass(frozen=True)
class HostHeartbeat(Frame):
    """The host, ten times a second; without it for 300 ms the board disarms."""

    session: int
    layout = struct.Struct('<I')
    id = CanId.HOST_HEARTBEAT

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.session)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> HostHeartbeat:
        """Read the data bytes."""
        return cls(*cls.layout.unpack(data))


@dataclass(frozen=True)
class ParameterFrame(Frame):
    """Read or write of one parameter, request or reply."""

    reply: bool
    access: Access
    index: int
    sub: int
    value: int  # signed 32 bit
    layout = struct.Struct('<BHBi')

    @property
    def id(self) -> CanId:
        """Identifier."""
        return CanId.PARAMETER_REPLY if self.reply else CanId.PARAMETER_REQUEST

    def pack(self) -> bytes:
        """Return the data bytes."""
        return self._pack(self.access, self.index, self.sub, self.value)

    @classmethod
    def unpack(cls, can_id: int, data: bytes) -> ParameterFrame:
        """Read the data bytes."""
        access, index, sub, value = cls.layout.unpack(data)
        if access not in tuple(Access):
            raise ProtocolError(f'parameter access {access:#04x}')
        return cls(can_id == CanId.PARAMETER_REPLY, Access(access), index, sub, value)


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

    Raises
    ------
    ProtocolError
        Unknown identifier, wrong length, or a field outside its meaning.
    """
    kind = FRAMES.get(can_id)
    if kind is None:
        raise ProtocolError(f'unknown identifier {can_id:#05x}')
    if len(data) != kind.layout.size:
        expected = kind.layout.size
        raise ProtocolError(f'{kind.__name__} with {len(data)} bytes instead of {expected}')
    return kind.unpack(can_id, bytes(data))  # type: ignore[attr-defined, no-any-return]
