# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Records of an MCAP file as bytes, by the `mcap` library, and from bytes that may be damaged.

A file is: magic, records, magic. A record is one byte that says what it is, its length as uint64
and its content (MCAP format specification, version 0); numbers are little-endian.
"""

from __future__ import annotations

import io
import struct
from typing import Any

from mcap.data_stream import ReadDataStream, RecordBuilder
from mcap.exceptions import EndOfFile
from mcap.records import McapRecord

MAGIC = b'\x89MCAP0\r\n'
RECORD_HEAD = struct.Struct('<BQ')
MESSAGE_BODY = struct.Struct('<HIQQ')  # channel, sequence, two times
INDEX_HEAD = struct.Struct('<HI')  # channel, bytes of the entries that follow
INDEX_ENTRY = struct.Struct('<QQ')
UINT32 = struct.Struct('<I')


class BadRecord(ValueError):
    """Bytes that are no record of this format: cut off, or not written by an MCAP writer."""


def packed(record: McapRecord) -> bytes:
    """Return a whole record."""
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()


def unpacked(kind: type[McapRecord], content: bytes) -> Any:
    """Return the record of a content; BadRecord where it is cut off or a text is no UTF-8."""
    try:
        return kind.read(Stream(content))  # type: ignore[attr-defined]
    except (UnicodeDecodeError, OverflowError) as error:
        raise BadRecord(str(error)) from None


def numbers(layout: struct.Struct, data: bytes) -> tuple[int, ...]:
    """Return the numbers that data begins with. Raises BadRecord."""
    try:
        return layout.unpack_from(data)
    except struct.error as error:
        raise BadRecord(str(error)) from None


class Stream(ReadDataStream):
    """Bytes of which none may be missing."""

    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))

    def read(self, length: int) -> bytes:
        """Return the next bytes. Raises BadRecord."""
        try:
            data = super().read(length)
        except EndOfFile:
            data = b''
        if len(data) < length:
            raise BadRecord(f'{length - len(data)} bytes are missing')
        return data
