# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Packets between the driver and simulated actuators: SI values over a local socket. Pure.

A packet is ``version u8, kind u8, count u16, sequence u32, time f64, boot u32, state u8, flags
u8`` and ``count`` values f64, little-endian: one packet per message of a SOCK_SEQPACKET socket.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
import math
import struct

import numpy as np

from soro_mechanics.core.configuration import Array

VERSION = 1
MAX_VALUES = 2048
HEAD = struct.Struct('<BBHIdIBB')
LONGEST = HEAD.size + 8 * MAX_VALUES
EXPIRED = 1  # flag: went safe by itself, no set-point came within the time to live


class PacketError(ValueError):
    """Bytes that are no packet of this protocol."""


class Kind(IntEnum):
    """What a packet is."""

    HELLO = 1  # to the actuators: their number is `sequence`
    IDENTITY = 2  # the answer to HELLO
    ARM = 3
    DISARM = 4  # carries out the safe action
    RESET = 5
    SETPOINTS = 6  # `time` is the time to live [s]
    STATE = 7  # measured values, then set-points; answers every packet, and streams


class State(IntEnum):
    """Whether the actuators act on set-points."""

    SAFE = 0
    ARMED = 1


@dataclass(frozen=True)
class Packet:
    """One packet."""

    kind: Kind
    sequence: int = 0  #: of a request; in STATE that of the last request heard
    time: float = 0.0  #: clock of the actuators [s], or the time to live of set-points [s]
    boot: int = 0  #: identifies a run of the actuators
    state: State = State.SAFE
    flags: int = 0  #: `EXPIRED` or 0
    #: [SI], in the order of the robot file
    values: Array = field(default_factory=lambda: np.empty(0))

    def pack(self) -> bytes:
        """Return the bytes on the wire."""
        head = HEAD.pack(
            VERSION,
            self.kind,
            len(self.values),
            self.sequence,
            self.time,
            self.boot,
            self.state,
            self.flags,
        )
        return head + np.asarray(self.values, dtype='<f8').tobytes()


def unpack(data: bytes) -> Packet:
    """Read a packet.

    PacketError: another version, an unknown kind or state, a wrong length, a number that is not
    finite.
    """
    if len(data) < HEAD.size:
        raise PacketError(f'{len(data)} bytes, not at least {HEAD.size}')
    version, kind, count, sequence, time, boot, state, flags = HEAD.unpack_from(data)
    if version != VERSION:
        raise PacketError(f'version {version}, not {VERSION}')
    if kind not in list(Kind) or state not in list(State) or flags & ~EXPIRED:
        raise PacketError(f'unknown kind {kind}, state {state} or flags {flags}')
    if count > MAX_VALUES or len(data) != HEAD.size + 8 * count:
        raise PacketError(f'{len(data)} bytes for {count} values')
    values = np.frombuffer(data, dtype='<f8', offset=HEAD.size).astype(float)
    if not (math.isfinite(time) and np.isfinite(values).all()):
        raise PacketError('a number that is not finite')
    return Packet(Kind(kind), sequence, time, boot, State(state), flags, values)
