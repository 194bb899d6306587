# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds everything readable in an MCAP file, whole or cut off anywhere.

The summary at the end of a file is not needed: one walk over the heads of the records finds the
same, and it finds it in a file that has lost its end too. Then every chunk is read once, so that
whoever opens a file, to list or to draw it, knows the same damage: a chunk whose bytes are wrong
is left out. How much all chunks claim to unpack to is looked at before one is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
import io
from pathlib import Path
from typing import BinaryIO
import zlib

from mcap.opcode import Opcode
from mcap.records import Attachment, Channel, McapRecord, Metadata, Schema

from soro_mechanics.core.missing_package import import_package
from soro_recording.mcap_format import (
    BadRecord,
    INDEX_ENTRY,
    INDEX_HEAD,
    MAGIC,
    MESSAGE_BODY,
    numbers,
    RECORD_HEAD,
    Stream,
    UINT32,
    unpacked,
)

CHUNK_HEAD = 96  # bytes that hold all of a chunk but its records, whoever compressed it
MAX_CHUNK = 2**27  # bytes, unpacked; writers use some megabytes
# Bytes that all chunks may unpack to, and times the size of the file where that is more.
MAX_UNPACKED, MAX_TIMES = 2**30, 100


class NotABag(ValueError):
    """What was given is no recording; says why."""


@dataclass
class ChunkPlace:
    """Where a run of messages stands."""

    offset: int
    available: int
    compression: str
    size: int
    checksum: int
    start_time: int
    end_time: int
    whole: bool
    counts: dict[int, int] = field(default_factory=dict)
    head_only: bool = False  # a message outside of chunks: nothing else is to be known of it


@dataclass
class Scan:
    """What a file holds."""

    size: int
    finished: bool = False  #: the writer came to its end: summary and closing magic are there
    readable: int = 0  #: bytes from the front up to the end of the last whole record
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkPlace] = field(default_factory=list)
    attachments: dict[str, bytes] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)
    #: what was left out because its bytes are wrong
    damage: list[str] = field(default_factory=list)

    def unknown(self) -> set[int]:
        """Return the channels with messages of which topic or type are not known."""
        known = {n for n, channel in self.channels.items() if channel.schema_id in self.schemas}
        return {number for place in self.chunks for number in place.counts} - known


@dataclass(frozen=True)
class RawMessage:
    """One message as it was received; `time` in ns since 1970."""

    channel: int
    time: int
    data: bytes


def scan(path: Path) -> Scan:
    """Walk over a file.

    NotABag: it does not begin like an MCAP file, or claims to unpack to far more than a recording
    of its size would.
    OSError: it cannot be read.
    """
    with path.open('rb') as file:
        found = Scan(path.stat().st_size)
        if file.read(len(MAGIC)) != MAGIC:
            raise NotABag(f'{path} is no MCAP file, or was cut within its first 8 bytes')
        found.readable = len(MAGIC)
        for opcode, length in _heads(file, found):
            if opcode == Opcode.FOOTER and length <= found.size:
                file.seek(length, io.SEEK_CUR)
                found.finished = file.read(len(MAGIC)) == MAGIC
                found.readable = file.tell() if found.finished else found.readable
                break
            if not _take(file, found, opcode, length):
                break
        _refuse_bombs(path, found)
        found.chunks = [place for place in found.chunks if _read(file, found, place)]
    return found


def _refuse_bombs(path: Path, found: Scan) -> None:
    # Larger ones are damage, and not unpacked.
    sizes = (place.size for place in found.chunks if place.compression)
    claimed = sum(size for size in sizes if size <= MAX_CHUNK)
    if claimed > max(MAX_UNPACKED, MAX_TIMES * found.size):
        raise NotABag(
            f'{path} would unpack to {claimed / 1e9:.3g} GB from {found.size / 1e6:.3g} MB: no '
            'recording is packed so well, and it is not read'
        )


def _read(file: BinaryIO, found: Scan, place: ChunkPlace) -> bool:
    """Read a chunk: what it says of topics, how many messages it has, from when to when.

    What its head and its index say is not covered by its checksum. False where its bytes are
    wrong.
    """
    if place.head_only:
        return True
    indexed = sum(place.counts.values())
    counts: dict[int, int] = {}
    times: list[int] = []
    known = Scan(0)
    try:
        data = _content(file, place)
        for opcode, start, end in _records(data):
            if opcode == Opcode.MESSAGE:
                channel, _, time, _ = _message_body(data, start, end, place)
                counts[channel] = counts.get(channel, 0) + 1
                times.append(time)
            elif opcode in (Opcode.SCHEMA, Opcode.CHANNEL):
                _keep(known, opcode, data[start:end])
    except BadRecord as error:
        if not place.whole:
            return False  # the cut is said
        messages_lost = f'{indexed} messages' if indexed else 'its messages'
        found.damage.append(f'{error}; {messages_lost} of it are left out')
        return False
    # What stands outside of chunks is newer, or the same.
    found.schemas = {**known.schemas, **found.schemas}
    found.channels = {**known.channels, **found.channels}
    place.counts = counts
    if times:
        place.start_time, place.end_time = min(times), max(times)
    return bool(counts) or place.whole


def _message_body(
    data: bytes, start: int, end: int, place: ChunkPlace
) -> tuple[int, int, int, int]:
    if end - start < MESSAGE_BODY.size:
        raise BadRecord(f'a message of {end - start} bytes in the chunk at {place.offset}')
    return MESSAGE_BODY.unpack_from(data, start)


def messages(file: BinaryIO, place: ChunkPlace) -> Iterator[RawMessage]:
    """Return the messages of a chunk in the order in which they were received."""
    data = _content(file, place)
    for opcode, start, end in _records(data):
        if opcode == Opcode.MESSAGE:
            channel, _, time, _ = _message_body(data, start, end, place)
            yield RawMessage(channel, time, data[start + MESSAGE_BODY.size : end])


def _content(file: BinaryIO, place: ChunkPlace) -> bytes:
    """Return the records of a chunk, unpacked and checked."""
    file.seek(place.offset)
    data = _unpacked(file.read(place.available), place)
    if place.whole and place.checksum and zlib.crc32(data) != place.checksum:
        raise BadRecord(f'the checksum of the chunk at byte {place.offset} is wrong')
    return data


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Return opcode, start and end of the content of every whole record."""
    at, head = 0, RECORD_HEAD.size
    while at + head <= len(data):
        opcode, length = RECORD_HEAD.unpack_from(data, at)
        start, at = at + head, at + head + length
        if at > len(data):
            return
        yield opcode, start, at


def _heads(file: BinaryIO, found: Scan) -> Iterator[tuple[int, int]]:
    while True:
        head = file.read(RECORD_HEAD.size)
        if len(head) < RECORD_HEAD.size:
            return
        opcode, length = RECORD_HEAD.unpack(head)
        start = file.tell()
        yield opcode, length
        if start + length > found.size:
            return
        file.seek(start + length)
        found.readable = start + length


def _take(file: BinaryIO, found: Scan, opcode: int, length: int) -> bool:
    """Take one record in; False where nothing after it can be read."""
    if opcode == Opcode.CHUNK:
        return _take_chunk(file, found, length)
    start = file.tell() - RECORD_HEAD.size
    if file.tell() + length > found.size:
        return False
    if opcode == Opcode.MESSAGE_INDEX and found.chunks:
        channel, size = numbers(INDEX_HEAD, file.read(length))
        found.chunks[-1].counts[channel] = size // INDEX_ENTRY.size
    elif opcode in _KEPT:
        try:
            _keep(found, opcode, file.read(length))
        except BadRecord as error:
            found.damage.append(f'the record at byte {start} is damaged: {error}')
    elif opcode == Opcode.MESSAGE:
        body = file.read(min(length, MESSAGE_BODY.size))
        channel, _, time, _ = numbers(MESSAGE_BODY, body)
        whole = length + RECORD_HEAD.size
        place = ChunkPlace(start, whole, '', whole, 0, time, time, True, {channel: 1}, True)
        found.chunks.append(place)
    elif opcode not in list(Opcode):
        found.damage.append(f'the record at byte {start} is of unknown kind {opcode}: left out')
    return True


def _take_chunk(file: BinaryIO, found: Scan, length: int) -> bool:
    begin = file.tell()
    head = Stream(file.read(min(length, CHUNK_HEAD)))
    try:
        start, end, size = (head.read8() for _ in range(3))
        checksum, compression, stored = head.read4(), head.read_prefixed_string(), head.read8()
    except (BadRecord, UnicodeDecodeError):
        return False
    offset = begin + head.count
    available = min(stored, max(found.size - offset, 0))
    whole = available == stored and begin + length <= found.size
    place = ChunkPlace(offset, available, compression, size, checksum, start, end, whole)
    found.chunks.append(place)
    if whole:
        file.seek(begin + length)
    return whole


def _keep(found: Scan, opcode: int, content: bytes) -> None:
    """Take in a record that is needed later. Raises BadRecord."""
    record = unpacked(_KEPT[opcode], content)
    if opcode == Opcode.SCHEMA:
        found.schemas[record.id] = record
    elif opcode == Opcode.CHANNEL:
        found.channels[record.id] = record
    elif opcode == Opcode.METADATA:
        found.metadata[record.name] = record.metadata
    else:
        checksum = numbers(UINT32, content[-UINT32.size :])[0]
        if checksum and zlib.crc32(content[: -UINT32.size]) != checksum:
            raise BadRecord(f'the checksum of {record.name} is wrong')
        found.attachments[record.name] = record.data


_KEPT: dict[int, type[McapRecord]] = {
    Opcode.SCHEMA: Schema,
    Opcode.CHANNEL: Channel,
    Opcode.METADATA: Metadata,
    Opcode.ATTACHMENT: Attachment,
}


def _unpacked(data: bytes, place: ChunkPlace) -> bytes:
    """Return the records of a chunk; of one that is cut off, what can be had."""
    if place.compression == '':
        return data
    if place.size > MAX_CHUNK:
        raise BadRecord(f'the chunk at byte {place.offset} claims to hold {place.size} bytes')
    if place.compression == 'lz4':
        lz4 = import_package('lz4.frame', 'lz4')  # only for bags that others compressed
        try:
            _as_told(place, lz4.get_frame_info(data)['content_size'] or place.size)
            # Never more than the chunk says: some kilobytes can be made to unpack to any size.
            return lz4.LZ4FrameDecompressor().decompress(data, max_length=place.size)
        except RuntimeError as error:
            raise BadRecord(f'the chunk at byte {place.offset}: {error}') from None
    if place.compression == 'zstd':
        zstandard = import_package('zstandard', 'zstandard')
        try:
            told = zstandard.frame_content_size(data)
            _as_told(place, place.size if told < 0 else told)
            return zstandard.ZstdDecompressor().stream_reader(data).read(place.size)
        except zstandard.ZstdError as error:
            raise BadRecord(f'the chunk at byte {place.offset}: {error}') from None
    raise BadRecord(
        f'the chunk at byte {place.offset} is compressed by {place.compression!r}; '
        'known: lz4, zstd'
    )


def _as_told(place: ChunkPlace, told: int) -> None:
    """Refuse a chunk whose compressed data say another size than its head, before unpacking."""
    if told != place.size:
        raise BadRecord(
            f'the chunk at byte {place.offset} claims to hold {place.size} bytes, its compressed '
            f'data {told}'
        )
