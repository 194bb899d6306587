# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Finds everything readable in an MCAP file, whole or cut off anywhere.

The summary at the end of a file is not needed: one walk over the heads of the records finds the
same, and it finds it in a file that has lost its end too. Many writers describe topics inside
chunks and again in the summary: where the summary is lost, chunks are unpacked for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
import io
from pathlib import Path
from typing import BinaryIO
import zlib

from soro_mechanics.missing_package import import_package

from soro_cli.recording import mcap_format as mcap
from soro_cli.recording.mcap_format import BadRecord, Fields

LARGEST_CHUNK = 2**30  # bytes, unpacked; writers use some megabytes


class NotABag(ValueError):
    """What was given is no recording; says why."""


@dataclass(frozen=True)
class Schema:
    """A message type as the file describes it."""

    name: str
    encoding: str
    data: bytes


@dataclass(frozen=True)
class Channel:
    """A topic."""

    number: int
    schema: int
    topic: str
    encoding: str
    metadata: dict[str, str]


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


@dataclass
class Scan:
    """What a file holds.

    Attributes
    ----------
    finished : bool
        The writer came to its end: summary and closing magic are there.
    readable : int
        Bytes from the front up to the end of the last whole record.
    """

    size: int
    finished: bool = False
    readable: int = 0
    profile: str = ''
    library: str = ''
    schemas: dict[int, Schema] = field(default_factory=dict)
    channels: dict[int, Channel] = field(default_factory=dict)
    chunks: list[ChunkPlace] = field(default_factory=list)
    attachments: dict[str, bytes] = field(default_factory=dict)
    metadata: dict[str, dict[str, str]] = field(default_factory=dict)

    def known(self) -> set[int]:
        """Return the channels of which topic and type are known."""
        return {n for n, channel in self.channels.items() if channel.schema in self.schemas}

    def unknown(self) -> set[int]:
        """Return the other channels of which there are messages."""
        return {number for place in self.chunks for number in place.counts} - self.known()


@dataclass(frozen=True)
class RawMessage:
    """One message as it was received; `time` in ns since 1970."""

    channel: int
    time: int
    data: bytes


def scan(path: Path) -> Scan:
    """Walk over a file.

    Raises
    ------
    NotABag
        It does not begin like an MCAP file.
    OSError
        It cannot be read.
    """
    with path.open('rb') as file:
        found = Scan(path.stat().st_size)
        if file.read(len(mcap.MAGIC)) != mcap.MAGIC:
            raise NotABag(f'{path} is no MCAP file, or was cut within its first 8 bytes')
        found.readable = len(mcap.MAGIC)
        for opcode, length in _heads(file, found):
            if opcode == mcap.FOOTER and length <= found.size:
                file.seek(length, io.SEEK_CUR)
                found.finished = file.read(len(mcap.MAGIC)) == mcap.MAGIC
                found.readable = file.tell() if found.finished else found.readable
                break
            if not _take(file, found, opcode, length):
                break
        if not found.finished and found.chunks and found.chunks[-1].whole:
            _count(file, found.chunks[-1])  # its index may be cut off in part
        _learn_from_chunks(file, found)
    return found


def messages(file: BinaryIO, place: ChunkPlace) -> Iterator[RawMessage]:
    """Return the messages of a chunk in the order in which they were received."""
    data = _content(file, place)
    for opcode, start, end in _records(data):
        if opcode == mcap.MESSAGE:
            if end - start < mcap.MESSAGE_BODY.size:
                raise BadRecord(f'a message of {end - start} bytes in the chunk at {place.offset}')
            channel, _, time, _ = mcap.MESSAGE_BODY.unpack_from(data, start)
            yield RawMessage(channel, time, data[start + mcap.MESSAGE_BODY.size : end])


def _content(file: BinaryIO, place: ChunkPlace) -> bytes:
    """Return the records of a chunk, unpacked and checked."""
    file.seek(place.offset)
    data = _unpacked(file.read(place.available), place)
    if place.whole and place.checksum and zlib.crc32(data) != place.checksum:
        raise BadRecord(f'the checksum of the chunk at byte {place.offset} is wrong')
    return data


def _records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Return opcode, start and end of the content of every whole record."""
    at, head = 0, mcap.RECORD_HEAD.size
    while at + head <= len(data):
        opcode, length = mcap.RECORD_HEAD.unpack_from(data, at)
        start, at = at + head, at + head + length
        if at > len(data):
            return
        yield opcode, start, at


def _learn_from_chunks(file: BinaryIO, found: Scan) -> None:
    """Take topics and types in from inside the chunks, as long as messages of unknown ones are.

    A channel may be described in an earlier chunk than that of its first message, so that the
    indexes do not tell which chunk to unpack.
    """
    unknown = found.unknown()
    for place in found.chunks:
        if not unknown:
            return
        with suppress(BadRecord):  # whoever reads its messages is told
            data = _content(file, place)
            for opcode, start, end in _records(data):
                if opcode in (mcap.SCHEMA, mcap.CHANNEL):
                    _READERS[opcode](found, Fields(data[start:end]))
        unknown -= found.known()


def _heads(file: BinaryIO, found: Scan) -> Iterator[tuple[int, int]]:
    while True:
        head = file.read(mcap.RECORD_HEAD.size)
        if len(head) < mcap.RECORD_HEAD.size:
            return
        opcode, length = mcap.RECORD_HEAD.unpack(head)
        start = file.tell()
        yield opcode, length
        if start + length > found.size:
            return
        file.seek(start + length)
        found.readable = start + length


def _take(file: BinaryIO, found: Scan, opcode: int, length: int) -> bool:
    """Take one record in; False where nothing after it can be read."""
    if opcode == mcap.CHUNK:
        return _take_chunk(file, found, length)
    if file.tell() + length > found.size:
        return False
    if opcode == mcap.MESSAGE_INDEX and found.chunks:
        channel, size = Fields(file.read(length)).numbers('HI')
        found.chunks[-1].counts[channel] = size // mcap.INDEX_ENTRY.size
    elif opcode in _READERS:
        _READERS[opcode](found, Fields(file.read(length)))
    elif opcode == mcap.MESSAGE:
        start = file.tell() - mcap.RECORD_HEAD.size
        body = file.read(min(length, mcap.MESSAGE_BODY.size))
        channel, _, time, _ = Fields(body).numbers('HIQQ')
        whole = length + mcap.RECORD_HEAD.size
        found.chunks.append(ChunkPlace(start, whole, '', whole, 0, time, time, True, {channel: 1}))
    return True


def _take_chunk(file: BinaryIO, found: Scan, length: int) -> bool:
    begin = file.tell()
    fixed = mcap.CHUNK_HEAD.size
    head = file.read(min(length, fixed + 64))
    fields = Fields(head)
    try:
        start, end, size, checksum = fields.numbers('QQQI')
        compression = fields.text()
        (stored,) = fields.numbers('Q')
    except BadRecord:
        return False
    offset = begin + len(head) - fields.left
    available = min(stored, max(found.size - offset, 0))
    whole = available == stored and begin + length <= found.size
    place = ChunkPlace(offset, available, compression, size, checksum, start, end, whole)
    if place.whole:
        found.chunks.append(place)
        # Without an index (the next record) the messages have to be counted.
        file.seek(begin + length)
        following = file.read(1)
        file.seek(begin + length)
        if following != bytes([mcap.MESSAGE_INDEX]):
            _count(file, place)
        return True
    _count(file, place)
    if place.counts:
        found.chunks.append(place)
    return False


def _count(file: BinaryIO, place: ChunkPlace) -> None:
    after = file.tell()
    place.counts.clear()
    for message in messages(file, place):
        place.counts[message.channel] = place.counts.get(message.channel, 0) + 1
        place.end_time = message.time if not place.whole else place.end_time
    file.seek(after)


def _header(found: Scan, fields: Fields) -> None:
    found.profile, found.library = fields.text(), fields.text()


def _schema(found: Scan, fields: Fields) -> None:
    (number,) = fields.numbers('H')
    found.schemas[number] = Schema(fields.text(), fields.text(), fields.bytes())


def _channel(found: Scan, fields: Fields) -> None:
    number, schema = fields.numbers('HH')
    found.channels[number] = Channel(
        number, schema, fields.text(), fields.text(), fields.text_map()
    )


def _attachment(found: Scan, fields: Fields) -> None:
    fields.numbers('QQ')
    name, _ = fields.text(), fields.text()
    found.attachments[name] = fields.bytes('Q')


def _metadata(found: Scan, fields: Fields) -> None:
    name = fields.text()
    found.metadata[name] = fields.text_map()


_READERS = {
    mcap.HEADER: _header, mcap.SCHEMA: _schema, mcap.CHANNEL: _channel,
    mcap.ATTACHMENT: _attachment, mcap.METADATA: _metadata,
}  # fmt: skip


def _unpacked(data: bytes, place: ChunkPlace) -> bytes:
    """Return the records of a chunk; of one that is cut off, what can be had."""
    if place.compression == '':
        return data
    if place.size > LARGEST_CHUNK:
        raise BadRecord(f'the chunk at byte {place.offset} claims to hold {place.size} bytes')
    # Never more than the chunk says: some kilobytes can be made to unpack to any size.
    if place.compression == 'lz4':
        lz4 = import_package('lz4.frame', 'lz4')  # only for bags that others compressed

        try:
            return lz4.LZ4FrameDecompressor().decompress(data, max_length=place.size)
        except RuntimeError as error:
            raise BadRecord(f'the chunk at byte {place.offset}: {error}') from None
    if place.compression == 'zstd':
        zstandard = import_package('zstandard', 'zstandard')

        try:
            return zstandard.ZstdDecompressor().stream_reader(data).read(place.size)
        except zstandard.ZstdError as error:
            raise BadRecord(f'the chunk at byte {place.offset}: {error}') from None
    raise NotABag(f'chunks are compressed by {place.compression!r}; known: lz4, zstd')
