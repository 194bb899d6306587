# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The frame layer and the session that the serial protocols F1 and F3 share. Pure codec.

A frame is ``COBS(version u8, type u8, seq u16, body, crc u16)`` and a closing zero byte, at most
255 bytes in all. Little-endian; the checksum is CRC-16/IBM-3740 over everything before it. The
types 0x01 to 0x0F open and keep a session and are equal for every device
(docs/hardware/serial.md); a device's own frames start at 0x10 and derive from `Body` like those
here.
"""

from __future__ import annotations

import binascii
from dataclasses import dataclass
from enum import IntEnum
import struct
from typing import Any, ClassVar, TypeVar

MAJOR, MINOR = 1, 0  # the oldest minor; a session may agree on a newer one
VERSION = MAJOR << 4 | MINOR
MAX_FRAME = 255  # bytes on the wire, with the closing zero
_HEAD = struct.Struct('<BBH')
_CRC = struct.Struct('<H')
MAX_BODY = MAX_FRAME - 2 - _HEAD.size - _CRC.size
B = TypeVar('B', bound='Body')


class FrameError(ValueError):
    """Bytes that are no frame, or a body that is not what its type says."""


class BadCrc(FrameError):
    """A frame whose checksum is wrong."""


def crc16(data: bytes) -> int:
    """Return CRC-16/IBM-3740: polynomial 0x1021, start 0xFFFF, not reflected."""
    return binascii.crc_hqx(data, 0xFFFF)


def cobs_encode(data: bytes) -> bytes:
    """Return `data` without zero bytes, one byte longer.

    FrameError: A run of more than 253 bytes without a zero: no frame is that long.
    """
    parts = data.split(b'\0')
    if max(map(len, parts)) > MAX_FRAME - 2:
        raise FrameError(f'{len(data)} bytes are too long for a frame')
    return b''.join(bytes((len(part) + 1,)) + part for part in parts)


def cobs_decode(block: bytes) -> bytes:
    """Return what `cobs_encode` was given. Raises FrameError."""
    parts, at = [], 0
    while at < len(block):
        code = block[at]
        part = block[at + 1 : at + code]
        if code == 0 or len(part) != code - 1 or 0 in part:
            raise FrameError('not COBS')
        parts.append(part)
        at += code
    if not parts:
        raise FrameError('empty')
    return b'\0'.join(parts)


@dataclass(frozen=True)
class Frame:
    """One frame; `body` is not looked into."""

    type: int
    seq: int
    body: bytes = b''
    version: int = VERSION

    @property
    def major(self) -> int:
        """Major version of the protocol: another one means another language."""
        return self.version >> 4

    def pack(self) -> bytes:
        """Return the bytes for the wire, closing zero included. Raises FrameError."""
        if len(self.body) > MAX_BODY:
            raise FrameError(f'a body has at most {MAX_BODY} bytes, not {len(self.body)}')
        try:
            data = _HEAD.pack(self.version, self.type, self.seq) + self.body
        except struct.error as error:
            raise FrameError(str(error)) from None
        return cobs_encode(data + _CRC.pack(crc16(data))) + b'\0'


def decode_block(block: bytes) -> Frame:
    """Read what stood between two zero bytes. Raises FrameError, BadCrc."""
    data = cobs_decode(block)
    if len(data) < _HEAD.size + _CRC.size:
        raise FrameError(f'{len(data)} bytes are too short for a frame')
    if crc16(data[:-2]) != _CRC.unpack(data[-2:])[0]:
        raise BadCrc('wrong checksum')
    version, kind, seq = _HEAD.unpack(data[: _HEAD.size])
    return Frame(kind, seq, data[_HEAD.size : -_CRC.size], version)


class FrameReader:
    """Finds frames in a stream of bytes, whatever the bytes are; never raises.

    - `frames`, `crc_errors`, `malformed`: blocks between zero bytes that were frames, had a wrong
      checksum, were something else.
    """

    def __init__(self) -> None:
        self.frames, self.crc_errors, self.malformed = 0, 0, 0
        self._pending = bytearray()
        self._oversize = False

    def feed(self, data: bytes) -> list[Frame]:
        """Take bytes in; return the frames they complete."""
        found = []
        *blocks, rest = data.split(b'\0')
        for block in blocks:
            self._extend(block)
            frame = self._close()
            if frame is not None:
                found.append(frame)
        self._extend(rest)
        return found

    def clear(self) -> None:
        """Forget a frame that has begun; the counters stay."""
        self._pending.clear()
        self._oversize = False

    def _extend(self, part: bytes) -> None:
        if self._oversize or len(self._pending) + len(part) >= MAX_FRAME:
            self._oversize = True  # wait for the next zero; keep nothing of it
            self._pending.clear()
        else:
            self._pending += part

    def _close(self) -> Frame | None:
        block, oversize = bytes(self._pending), self._oversize
        self.clear()
        if not block and not oversize:
            return None  # two zeros in a row: a sender may begin with one
        try:
            if oversize:
                raise FrameError('too long')
            frame = decode_block(block)
        except BadCrc:
            self.crc_errors += 1
            return None
        except FrameError:
            self.malformed += 1
            return None
        self.frames += 1
        return frame


def is_newer(seq: int, reference: int) -> bool:
    """Whether a sequence number comes after another, the wrap of u16 considered."""
    return 0 < (seq - reference) & 0xFFFF < 0x8000


class SessionType(IntEnum):
    """Types that every serial device knows."""

    HELLO = 0x01
    HEARTBEAT = 0x02
    HELLO_ACK = 0x03
    ARM = 0x04
    DISARM = 0x05
    RESET = 0x06
    ACK = 0x07
    NACK = 0x08


class SerialState(IntEnum):
    """States of a serial device."""

    BOOT = 0
    SAFE = 1
    ARMED = 2
    FAULT = 3
    ESTOP = 4


UNARMED = (SerialState.BOOT, SerialState.SAFE)  # by itself where it should be armed: a fault


class DeviceKind(IntEnum):
    """What answers a HELLO: a plug in the wrong socket must not move anything."""

    PRESSURE = 1  # F1: regulators behind a real-time computer
    VALVES = 3  # F3: switching valves behind a microcontroller


class Reason(IntEnum):
    """Why a frame was refused; a device's own reasons start at 0x40."""

    UNKNOWN_TYPE = 1
    BAD_LENGTH = 2
    VERSION = 3
    SESSION = 4
    STATE = 5
    OUT_OF_RANGE = 6
    BUSY = 7


class Body:
    """The body of one type of frame: a frozen dataclass whose fields are those of `layout`."""

    type: ClassVar[int]
    layout: ClassVar[struct.Struct]

    def values(self) -> tuple[Any, ...]:
        """Return the fields in the order of `layout`."""
        names = self.__dataclass_fields__  # type: ignore[attr-defined]
        return tuple(getattr(self, name) for name in names)

    def pack(self) -> bytes:
        """Return the body's bytes; a field that does not fit raises FrameError."""
        try:
            return self.layout.pack(*self.values())
        except struct.error as error:
            raise FrameError(f'{type(self).__name__}: {error}') from None

    def frame(self, seq: int, version: int = VERSION) -> Frame:
        """Return the frame that carries this body."""
        return Frame(self.type, seq, self.pack(), version)

    @classmethod
    def unpack(cls: type[B], body: bytes) -> B:
        """Read a body. Raises FrameError."""
        if len(body) != cls.layout.size:
            raise FrameError(f'{cls.__name__}: {len(body)} bytes, not {cls.layout.size}')
        return cls(*cls.layout.unpack(body))


@dataclass(frozen=True)
class Hello(Body):
    """Open a session; every older session is over. Its layout is the same in all versions."""

    session: int  # u32, not zero
    major: int = MAJOR
    minor: int = MINOR
    type = SessionType.HELLO
    layout = struct.Struct('<IBB')


@dataclass(frozen=True)
class HelloAck(Body):
    """Who answers. It begins with the same eight bytes in all versions."""

    session: int  # u32, of the HELLO
    major: int
    minor: int
    kind: int  # DeviceKind
    state: int  # SerialState
    serial: int  # u32
    boot_id: int  # u32, another one after every start
    firmware_major: int
    firmware_minor: int
    channels: int
    shortest_ttl: int  # ms, that the device enforces
    longest_ttl: int  # ms
    minimum: int  # i32, of a set-point, in the unit of the device's command
    maximum: int  # i32
    type = SessionType.HELLO_ACK
    layout = struct.Struct('<IBBBBIIBBBHHii')


@dataclass(frozen=True)
class Heartbeat(Body):
    """The host is alive; for devices that are not commanded all the time."""

    session: int
    type = SessionType.HEARTBEAT
    layout = struct.Struct('<I')


@dataclass(frozen=True)
class Arm(Body):
    """Act on set-points from now on."""

    session: int
    type = SessionType.ARM
    layout = struct.Struct('<I')


@dataclass(frozen=True)
class Disarm(Body):
    """Carry out the safe action and stay SAFE; allowed in every state and session."""

    type = SessionType.DISARM
    layout = struct.Struct('')


@dataclass(frozen=True)
class Reset(Body):
    """Leave FAULT or ESTOP for SAFE; moves nothing."""

    session: int
    type = SessionType.RESET
    layout = struct.Struct('<I')


@dataclass(frozen=True)
class Ack(Body):
    """A frame was carried out."""

    of_seq: int
    of_type: int
    detail: int = 0  # u32, its meaning belongs to `of_type`
    type = SessionType.ACK
    layout = struct.Struct('<HBI')


@dataclass(frozen=True)
class Nack(Body):
    """A frame was refused as a whole."""

    of_seq: int
    of_type: int
    reason: int  # Reason, or a device's own
    detail: int = 0  # u32
    type = SessionType.NACK
    layout = struct.Struct('<HBBI')


SESSION_BODIES: dict[int, type[Body]] = {
    int(kind.type): kind for kind in (Hello, HelloAck, Heartbeat, Arm, Disarm, Reset, Ack, Nack)
}


def reason_name(reason: int) -> str:
    """Say a common reason in words; a device's own by its number."""
    if reason in tuple(Reason):
        return Reason(reason).name.lower().replace('_', ' ')
    return f'reason {reason:#04x}'
