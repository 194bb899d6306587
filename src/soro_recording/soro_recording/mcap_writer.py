# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Writes an MCAP file whose every flushed byte is readable whatever happens next.

Messages are gathered in memory and written as one uncompressed chunk by `flush`. Between two
flushes the file always ends with a whole record; when a write fails it is cut back to there. The
summary that `finish` adds makes reading faster; nothing needs it.

The writer of the `mcap` library keeps the index of every chunk in memory, lists messages that it
failed to write, describes topics inside chunks only, so that one damaged chunk of an unfinished
file costs the whole file, and takes a multiple of the time; `test_mcap` says when that changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
import contextlib
import io
import struct
from typing import BinaryIO
import zlib

from mcap import records
from mcap.opcode import Opcode

from soro_recording.mcap_format import INDEX_ENTRY, INDEX_HEAD, MAGIC, packed, RECORD_HEAD, UINT32

BLOCK = 1 << 16  # bytes of the scratch file that are copied at once
# What stands in front of the data of a message: opcode, length, channel, sequence, two times.
MESSAGE_HEAD = struct.Struct('<BQHIQQ')


class McapWriter:
    """An MCAP file under construction; not for use from several threads.

    - `file`: empty, writable and seekable. A write that fails raises OSError out of every method.
    - `profile`, `library`: of the header.
    - `scratch`: empty, readable and writable: keeps what only the summary needs, four records a
      second in a recording of hours. None: it is kept in memory. When it cannot be written the
      file gets no summary.

    Its attributes:
    - `size`: bytes of what is whole in the file.
    - `counts`: messages taken over, by channel; not those of a chunk that could not be written.
    """

    def __init__(
        self, file: io.RawIOBase, profile: str, library: str, scratch: BinaryIO | None = None
    ) -> None:
        self._file = file
        self.size = 0
        self._records = bytearray()
        self._index: dict[int, bytearray] = {}
        self._times: tuple[int, int] | None = None
        self._schemas: dict[int, bytes] = {}
        self._channels: dict[int, bytes] = {}
        # Index records as the summary will have them.
        self._chunks: BinaryIO | None = io.BytesIO() if scratch is None else scratch
        self._chunk_count = 0
        self._attachments: list[bytes] = []
        self._metadata: list[bytes] = []
        self.counts: dict[int, int] = {}
        self.start_time: int | None = None
        self.end_time: int | None = None
        self._append([MAGIC, packed(records.Header(profile, library))])

    @property
    def pending(self) -> int:
        """Bytes of messages that the next `flush` writes."""
        return len(self._records)

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Write a schema and return its id."""
        number = len(self._schemas) + 1
        whole = packed(records.Schema(id=number, data=data, encoding=encoding, name=name))
        self._append([whole])
        self._schemas[number] = whole
        return number

    def add_channel(
        self, number: int, schema: int, topic: str, encoding: str, metadata: Mapping[str, str]
    ) -> None:
        """Write a channel under an id that the caller chooses."""
        whole = packed(records.Channel(number, topic, encoding, dict(metadata), schema))
        self._append([whole])
        self._channels[number] = whole
        self.counts[number] = 0

    def add_message(self, channel: int, time: int, data: bytes) -> None:
        """Gather a message; `time` is in ns since 1970."""
        index = self._index.get(channel)
        if index is None:
            index = self._index[channel] = bytearray()
        sequence, place = self.counts[channel], len(self._records)
        # At once: without memory for it nothing of it may stay in the chunk.
        self._records += b''.join(
            (
                MESSAGE_HEAD.pack(
                    Opcode.MESSAGE, len(data) + 22, channel, sequence & 0xFFFFFFFF, time, time
                ),
                data,
            )
        )
        index += INDEX_ENTRY.pack(time, place)
        self.counts[channel] = sequence + 1
        low, high = self._times or (time, time)
        self._times = (min(low, time), max(high, time))

    def add_attachment(self, name: str, media_type: str, data: bytes, time: int) -> None:
        """Write a file into the file."""
        whole = packed(records.Attachment(time, time, name, media_type, data))
        place = records.AttachmentIndex(
            self.size, len(whole), time, time, len(data), name, media_type
        )
        self._append([whole])
        self._attachments.append(packed(place))

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a named map of texts."""
        whole = packed(records.Metadata(name, dict(values)))
        place = records.MetadataIndex(self.size, len(whole), name)
        self._append([whole])
        self._metadata.append(packed(place))

    def flush(self) -> None:
        """Write the gathered messages as one chunk with its indexes.

        OSError, MemoryError: the messages of this chunk are lost, those before are not.
        """
        if self._times is None:
            return
        try:
            self._write_chunk(*self._times)
        except Exception:
            for channel, entries in self._index.items():
                self.counts[channel] -= len(entries) // INDEX_ENTRY.size
            raise
        finally:
            self._times, self._records, self._index = None, bytearray(), {}

    def _write_chunk(self, start: int, end: int) -> None:
        data = bytes(self._records)
        chunk = packed(records.Chunk('', data, end, start, zlib.crc32(data), len(data)))
        offsets, indexes = {}, b''
        for channel, entries in self._index.items():
            offsets[channel] = self.size + len(chunk) + len(indexes)
            head = INDEX_HEAD.pack(channel, len(entries))
            length = len(head) + len(entries)
            indexes += RECORD_HEAD.pack(Opcode.MESSAGE_INDEX, length) + head + entries
        place = records.ChunkIndex(
            chunk_length=len(chunk),
            chunk_start_offset=self.size,
            compression='',
            compressed_size=len(data),
            message_end_time=end,
            message_index_length=len(indexes),
            message_index_offsets=offsets,
            message_start_time=start,
            uncompressed_size=len(data),
        )
        self._append([chunk, indexes])
        self._chunk_count += 1
        self._remember(packed(place))
        self.start_time = start if self.start_time is None else min(start, self.start_time)
        self.end_time = end if self.end_time is None else max(end, self.end_time)

    def finish(self) -> None:
        """Write what is gathered, and the summary."""
        self.flush()
        if self._chunks is not None:
            self._append(self._summary(self._chunks))

    def _summary(self, chunks: BinaryIO) -> Iterator[bytes]:
        end_of_data = packed(records.DataEnd(0))  # 0: no checksum over the data
        yield end_of_data
        start = at = self.size + len(end_of_data)
        groups: dict[Opcode, Iterable[bytes]] = {
            Opcode.SCHEMA: self._schemas.values(),
            Opcode.CHANNEL: self._channels.values(),
            Opcode.STATISTICS: [self._statistics()],
            Opcode.CHUNK_INDEX: _blocks(chunks),
            Opcode.ATTACHMENT_INDEX: self._attachments,
            Opcode.METADATA_INDEX: self._metadata,
        }
        offsets, checksum = b'', 0
        for opcode, parts in groups.items():
            begin = at
            for part in parts:
                yield part
                at += len(part)
                checksum = zlib.crc32(part, checksum)
            if at > begin:
                offsets += packed(records.SummaryOffset(opcode, begin, at - begin))
        end = offsets + packed(records.Footer(start, at, 0))[: -UINT32.size]
        yield end + UINT32.pack(zlib.crc32(end, checksum)) + MAGIC

    def _remember(self, place: bytes) -> None:
        try:
            if self._chunks is not None:
                self._chunks.write(place)
        except OSError:
            self._chunks = None

    def _statistics(self) -> bytes:
        return packed(
            records.Statistics(
                attachment_count=len(self._attachments),
                channel_count=len(self._channels),
                channel_message_counts=self.counts,
                chunk_count=self._chunk_count,
                message_count=sum(self.counts.values()),
                message_end_time=self.end_time or 0,
                message_start_time=self.start_time or 0,
                metadata_count=len(self._metadata),
                schema_count=len(self._schemas),
            )
        )

    def _append(self, parts: Iterable[bytes]) -> None:
        """Write all of it or nothing."""
        size = self.size
        try:
            for part in parts:
                written = 0
                while written < len(part):
                    written += self._file.write(memoryview(part)[written:])
                size += written
        except Exception:
            with contextlib.suppress(OSError):
                self._file.truncate(self.size)
                self._file.seek(self.size)
            raise
        self.size = size


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block
