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

from soro_recording import mcap_format as mcap
from soro_recording.mcap_format import blob, number_map, record, text, text_map

BLOCK = 1 << 16  # bytes of the scratch file that are copied at once


class McapWriter:
    """An MCAP file under construction; not for use from several threads.

    Parameters
    ----------
    file : binary file, unbuffered
        Empty, writable and seekable. A write that fails raises OSError out of every method.
    profile, library : str
        Of the header.
    scratch : binary file, optional
        Empty, readable and writable: keeps what only the summary needs, four records a second in
        a recording of hours. None: it is kept in memory. When it cannot be written the file gets
        no summary.

    Attributes
    ----------
    counts : dict of int to int
        Messages taken over, by channel; not those of a chunk that could not be written.
    """

    def __init__(
        self, file: io.RawIOBase, profile: str, library: str, scratch: BinaryIO | None = None
    ) -> None:
        self._file = file
        self._size = 0  # of what is whole in the file
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
        self._append([mcap.MAGIC, record(mcap.HEADER, text(profile), text(library))])

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self._size

    @property
    def pending(self) -> int:
        """Bytes of messages that the next `flush` writes."""
        return len(self._records)

    def add_schema(self, name: str, encoding: str, data: bytes) -> int:
        """Write a schema and return its id."""
        number = len(self._schemas) + 1
        content = struct.pack('<H', number) + text(name) + text(encoding) + blob(data)
        self._append([record(mcap.SCHEMA, content)])
        self._schemas[number] = record(mcap.SCHEMA, content)
        return number

    def add_channel(
        self, number: int, schema: int, topic: str, encoding: str, metadata: Mapping[str, str]
    ) -> None:
        """Write a channel under an id that the caller chooses."""
        content = struct.pack('<HH', number, schema) + text(topic) + text(encoding)
        whole = record(mcap.CHANNEL, content, text_map(metadata))
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
                mcap.MESSAGE_HEAD.pack(
                    mcap.MESSAGE, len(data) + 22, channel, sequence & 0xFFFFFFFF, time, time
                ),
                data,
            )
        )
        index += mcap.INDEX_ENTRY.pack(time, place)
        self.counts[channel] = sequence + 1
        low, high = self._times or (time, time)
        self._times = (min(low, time), max(high, time))

    def add_attachment(self, name: str, media_type: str, data: bytes, time: int) -> None:
        """Write a file into the file."""
        content = struct.pack('<QQ', time, time) + text(name) + text(media_type)
        content += struct.pack('<Q', len(data)) + data
        whole = record(mcap.ATTACHMENT, content, struct.pack('<I', zlib.crc32(content)))
        place = struct.pack('<QQQQQ', self._size, len(whole), time, time, len(data))
        self._append([whole])
        self._attachments.append(
            record(mcap.ATTACHMENT_INDEX, place, text(name), text(media_type))
        )

    def add_metadata(self, name: str, values: Mapping[str, str]) -> None:
        """Write a named map of texts."""
        whole = record(mcap.METADATA, text(name), text_map(values))
        place = struct.pack('<QQ', self._size, len(whole))
        self._append([whole])
        self._metadata.append(record(mcap.METADATA_INDEX, place, text(name)))

    def flush(self) -> None:
        """Write the gathered messages as one chunk with its indexes.

        Raises
        ------
        OSError, MemoryError
            The messages of this chunk are lost, those before are not.
        """
        if self._times is None:
            return
        try:
            self._write_chunk(*self._times)
        except Exception:
            for channel, entries in self._index.items():
                self.counts[channel] -= len(entries) // mcap.INDEX_ENTRY.size
            raise
        finally:
            self._times, self._records, self._index = None, bytearray(), {}

    def _write_chunk(self, start: int, end: int) -> None:
        records, index = bytes(self._records), self._index
        head = mcap.CHUNK_HEAD.pack(start, end, len(records), zlib.crc32(records))
        head += text('') + struct.pack('<Q', len(records))
        chunk = mcap.RECORD_HEAD.pack(mcap.CHUNK, len(head) + len(records)) + head
        length = len(chunk) + len(records)
        offsets, parts, at = {}, [], self._size + length
        for channel, entries in index.items():
            offsets[channel] = at
            part = record(mcap.MESSAGE_INDEX, struct.pack('<H', channel), blob(bytes(entries)))
            parts.append(part)
            at += len(part)
        place = record(
            mcap.CHUNK_INDEX,
            struct.pack('<QQQQ', start, end, self._size, length),
            number_map(offsets),
            struct.pack('<Q', sum(map(len, parts))),
            text(''),
            struct.pack('<QQ', len(records), len(records)),
        )
        self._append([b''.join((chunk, records, *parts))])
        self._chunk_count += 1
        self._remember(place)
        self.start_time = start if self.start_time is None else min(start, self.start_time)
        self.end_time = end if self.end_time is None else max(end, self.end_time)

    def finish(self) -> None:
        """Write what is gathered, and the summary."""
        self.flush()
        if self._chunks is not None:
            self._append(self._summary(self._chunks))

    def _summary(self, chunks: BinaryIO) -> Iterator[bytes]:
        yield _DATA_END
        start = at = self._size + len(_DATA_END)
        groups: dict[int, Iterable[bytes]] = {
            mcap.SCHEMA: self._schemas.values(),
            mcap.CHANNEL: self._channels.values(),
            mcap.STATISTICS: [self._statistics()],
            mcap.CHUNK_INDEX: _blocks(chunks),
            mcap.ATTACHMENT_INDEX: self._attachments,
            mcap.METADATA_INDEX: self._metadata,
        }
        offsets, checksum = b'', 0
        for opcode, parts in groups.items():
            begin = at
            for part in parts:
                yield part
                at += len(part)
                checksum = zlib.crc32(part, checksum)
            if at > begin:
                place = struct.pack('<BQQ', opcode, begin, at - begin)
                offsets += record(mcap.SUMMARY_OFFSET, place)
        footer = mcap.RECORD_HEAD.pack(mcap.FOOTER, 20) + struct.pack('<QQ', start, at)
        checksum = zlib.crc32(offsets + footer, checksum)
        yield offsets + footer + struct.pack('<I', checksum) + mcap.MAGIC

    def _remember(self, place: bytes) -> None:
        try:
            if self._chunks is not None:
                self._chunks.write(place)
        except OSError:
            self._chunks = None

    def _statistics(self) -> bytes:
        return record(
            mcap.STATISTICS,
            struct.pack(
                '<QHIIIIQQ',
                sum(self.counts.values()),
                len(self._schemas),
                len(self._channels),
                len(self._attachments),
                len(self._metadata),
                self._chunk_count,
                self.start_time or 0,
                self.end_time or 0,
            ),
            number_map(self.counts),
        )

    def _append(self, parts: Iterable[bytes]) -> None:
        """Write all of it or nothing."""
        size = self._size
        try:
            for part in parts:
                written = 0
                while written < len(part):
                    written += self._file.write(memoryview(part)[written:])
                size += written
        except Exception:
            with contextlib.suppress(OSError):
                self._file.truncate(self._size)
                self._file.seek(self._size)
            raise
        self._size = size


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    file.seek(0)
    while block := file.read(BLOCK):
        yield block


_DATA_END = record(mcap.DATA_END, struct.pack('<I', 0))  # 0: no checksum over the data
