# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The records of an MCAP file as bytes (MCAP format specification, version 0).

A file is: magic, records, magic. A record is one byte that says what it is, its length as uint64
and its content. Numbers are little-endian; strings and maps carry their length in bytes as uint32.
"""

from __future__ import annotations

from collections.abc import Mapping
import struct

MAGIC = b'\x89MCAP0\r\n'
HEADER, FOOTER, SCHEMA, CHANNEL, MESSAGE, CHUNK, MESSAGE_INDEX, CHUNK_INDEX = range(1, 9)
ATTACHMENT, ATTACHMENT_INDEX, STATISTICS, METADATA, METADATA_INDEX = range(9, 14)
SUMMARY_OFFSET, DATA_END = 14, 15

RECORD_HEAD = struct.Struct('<BQ')
# What stands in front of the data of a message: opcode, length, channel, sequence, two times.
MESSAGE_HEAD = struct.Struct('<BQHIQQ')
MESSAGE_BODY = struct.Struct('<HIQQ')
# Start and end time, uncompressed size, checksum; compression (text) and length follow.
CHUNK_HEAD = struct.Struct('<QQQI')
INDEX_ENTRY = struct.Struct('<QQ')
UINT32 = struct.Struct('<I')
UINT64 = struct.Struct('<Q')


Bytes = bytes  # where a method has that name


class BadRecord(ValueError):
    """Bytes that are no record of this format: cut off, or not written by an MCAP writer."""


def record(opcode: int, *parts: bytes) -> bytes:
    """Return a whole record."""
    content = b''.join(parts)
    return RECORD_HEAD.pack(opcode, len(content)) + content


def text(value: str) -> bytes:
    """Return a string as it stands in a record."""
    data = value.encode()
    return UINT32.pack(len(data)) + data


def blob(data: bytes) -> bytes:
    """Return bytes with their length as uint32."""
    return UINT32.pack(len(data)) + data


def text_map(values: Mapping[str, str]) -> bytes:
    """Return a map from string to string."""
    return blob(b''.join(text(k) + text(v) for k, v in values.items()))


def number_map(values: Mapping[int, int]) -> bytes:
    """Return a map from uint16 to uint64."""
    return blob(b''.join(struct.pack('<HQ', k, v) for k, v in values.items()))


class Fields:
    """Reads the content of one record from front to back.

    Raises
    ------
    BadRecord
        The content ends inside a field, or a text is no UTF-8.
    """

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def numbers(self, layout: str) -> tuple[int, ...]:
        """Return numbers of a `struct` layout, without byte order."""
        try:
            values = struct.unpack_from('<' + layout, self._content, self._at)
        except struct.error as error:
            raise BadRecord(str(error)) from None
        self._at += struct.calcsize('<' + layout)
        return values

    def bytes(self, layout: str = 'I') -> bytes:
        """Return bytes that follow their length."""
        (size,) = self.numbers(layout)
        return self.rest(size)

    def rest(self, size: int | None = None) -> bytes:
        """Return the next bytes; without a size all that are left."""
        end = len(self._content) if size is None else self._at + size
        if end > len(self._content):
            raise BadRecord(f'{end - len(self._content)} bytes are missing')
        part = self._content[self._at : end]
        self._at = end
        return part

    def text(self) -> str:
        """Return a string."""
        try:
            return self.bytes().decode()
        except UnicodeDecodeError as error:
            raise BadRecord(str(error)) from None

    def text_map(self) -> dict[str, str]:
        """Return a map from string to string."""
        inner = Fields(self.bytes())
        found = {}
        while inner.left:
            key = inner.text()
            found[key] = inner.text()
        return found

    @property
    def everything(self) -> Bytes:
        """The whole content, what has been read included."""
        return self._content

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return len(self._content) - self._at
