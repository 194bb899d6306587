# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings damaged at random: read as far as they go, or refused; nothing else, ever."""

from __future__ import annotations

import io
import os
from pathlib import Path
import struct

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
from mcap.opcode import Opcode
from mcap.writer import CompressionType, Writer
import pytest

from soro_node.user_errors import UserError
from soro_recording.bag_reader import BagReader, NotABag
from soro_recording.mcap_format import BadRecord, MAGIC
from soro_recording.mcap_scan import _unpacked, scan
from soro_recording.open_bag import open_bag

EFFORT = int(os.environ.get('SORO_FUZZ', '0'))
FUZZ = settings(
    max_examples=100 * max(EFFORT, 1),
    deadline=None,
    derandomize=EFFORT == 0,
    database=None,
    suppress_health_check=list(HealthCheck),
)
DEFINITION = b'uint8[] data\nstring name\n'
MESSAGE = b'\0\1\0\0' + struct.pack('<I3sxI6s', 3, b'abc', 6, b'hello\0')


def written(compression: CompressionType = CompressionType.NONE, chunked: bool = True) -> bytes:
    """Return a recording of 30 messages with a robot."""
    file = io.BytesIO()
    writer = Writer(file, compression=compression, use_chunking=chunked, chunk_size=300)
    writer.start('ros2', 'test')
    schema = writer.register_schema('test_msgs/msg/Blob', 'ros2msg', DEFINITION)
    channels = [
        writer.register_channel(t, 'cdr', schema) for t in ('/a/actuator_state', '/a/other')
    ]
    writer.add_attachment(0, 0, '/a/robot.yaml', 'application/yaml', b'name: a\n')
    for i in range(30):
        writer.add_message(channels[i % 2], 1000 + i, MESSAGE, 1000 + i)
    writer.finish()
    return file.getvalue()


FILES = [
    written(),
    written(chunked=False),
    written(CompressionType.LZ4),
    written(CompressionType.ZSTD),
]
NUMBERS = [0, 1, 2**16, 2**31, 2**32 - 1, 2**63, 2**64 - 1]


def record(opcode: int, content: bytes, claimed: int | None = None) -> bytes:
    return struct.pack('<BQ', opcode, len(content) if claimed is None else claimed) + content


def chunk(kind: bytes, data: bytes, size: int) -> bytes:
    head = struct.pack('<QQQI', 0, 2**63, size, 0) + struct.pack('<I', len(kind)) + kind
    return MAGIC + record(Opcode.CHUNK, head + struct.pack('<Q', len(data)) + data)


@st.composite
def damaged_files(draw: st.DrawFn) -> bytes:
    """Return a recording with some bytes changed, cut out, doubled or made up."""
    data = bytearray(draw(st.sampled_from(FILES)))
    for _ in range(draw(st.integers(1, 5))):
        start = draw(st.integers(8, max(8, len(data) - 1)))
        what = draw(st.sampled_from(['bytes', 'number', 'cut', 'record', 'double', 'end']))
        if what == 'bytes':
            part = draw(st.binary(min_size=1, max_size=12))
            data[start : start + len(part)] = part
        elif what == 'number':
            data[start : start + 8] = struct.pack('<Q', draw(st.sampled_from(NUMBERS)))
        elif what == 'cut':
            del data[start : start + draw(st.integers(1, 50))]
        elif what == 'record':
            claimed = draw(st.one_of(st.none(), st.sampled_from(NUMBERS), st.integers(0, 100)))
            content = draw(st.binary(max_size=40))
            data[start:start] = record(draw(st.integers(0, 20)), content, claimed)
        elif what == 'double':
            data[start:start] = data[start : start + 60]
        else:
            del data[start:]
    return bytes(data)


def read_everything(path: Path) -> int:
    """Read all there is; return the number of messages."""
    with BagReader(path) as bag:
        assert bag.count >= 0 and bag.size == path.stat().st_size
        assert len(bag.namespaces) <= len(bag.topics) + len(bag.robots)
        return sum(entry.message is not None for entry in bag.messages())


@pytest.mark.parametrize('data', FILES)
def test_the_undamaged_files_are_read(tmp_path, data):
    file = tmp_path / 'x.mcap'
    file.write_bytes(data)
    assert read_everything(file) == 30


@given(data=damaged_files())
# Damage that once ended in another exception, or in all of the memory.
@example(data=MAGIC + record(Opcode.MESSAGE_INDEX, b''))
@example(data=FILES[0].replace(b'ros2msg', b'ros2xyz'))
@example(data=FILES[0].replace(b'uint8[] data', b'uint7[] data'))
@example(data=FILES[0].replace(b'name: a', b'name:\xff\xff'))
@example(data=chunk(b'', record(Opcode.MESSAGE, b'12'), 11))
@example(data=MAGIC + record(Opcode.MESSAGE, b'12'))
@example(data=chunk(b'lz4', b'no frame at all', 100))
@example(data=chunk(b'zstd', b'no frame at all', 100))
@example(data=chunk(b'zstd', b'no frame at all', 2**63))
@example(data=chunk(b'', b'', 0).replace(struct.pack('<Q', 40), struct.pack('<Q', 2**64 - 1)))
@example(data=chunk(b'', b'', 0).replace(struct.pack('<Q', 40), struct.pack('<Q', 2**63 - 1)))
@example(data=chunk(b'brotli', b'', 100))
@FUZZ
def test_a_damaged_recording_is_read_or_refused(tmp_path, data):
    file = tmp_path / 'x.mcap'
    file.write_bytes(data)
    try:
        assert read_everything(file) <= 200
    except (NotABag, BadRecord) as error:
        assert 0 < len(str(error)) < 2000


@given(data=st.binary(max_size=300), front=st.booleans())
@FUZZ
def test_garbage_is_refused_for_a_person(tmp_path, data, front):
    file = tmp_path / 'x.mcap'
    file.write_bytes(MAGIC * front + data)
    try:
        with open_bag(file) as bag:
            list(bag.messages())
    except UserError as error:
        assert str(file) in str(error)


@pytest.mark.parametrize('kind', [CompressionType.LZ4, CompressionType.ZSTD])
def test_a_chunk_never_unpacks_to_more_than_it_says(tmp_path, kind):
    import lz4.frame
    import zstandard

    zeros = bytes(2**24)
    name, told, silent = {
        CompressionType.LZ4: (
            b'lz4',
            lz4.frame.compress(zeros),
            lz4.frame.compress(zeros, store_size=False),
        ),
        CompressionType.ZSTD: (
            b'zstd',
            zstandard.compress(zeros),
            zstandard.ZstdCompressor(write_content_size=False).compress(zeros),
        ),
    }[kind]
    file = tmp_path / 'x.mcap'
    file.write_bytes(chunk(name, told, 500))
    (said,) = scan(file).damage  # before anything is unpacked
    assert 'claims to hold 500 bytes, its compressed data 16777216' in said
    file.write_bytes(chunk(name, silent, 500))
    found = scan(file)
    place = found.chunks[0]
    with file.open('rb') as opened:
        opened.seek(place.offset)
        assert len(_unpacked(opened.read(place.available), place)) == 500


@given(
    text=st.one_of(
        st.text(max_size=60),
        st.sampled_from(
            [
                '[',
                'a: *b',
                'rosbag2_bagfile_information: {relative_file_paths: 3}',
                'rosbag2_bagfile_information: {relative_file_paths: ["\\0", "x"]}',
                'rosbag2_bagfile_information: {relative_file_paths: [/dev/zero]}',
                '[' * 3000,
                '2026-99-99',
                '1: ' + '9' * 5000,
            ]
        ),
    )
)
@FUZZ
def test_any_metadata_is_read_or_refused(tmp_path, text):
    folder = tmp_path / 'bag'
    folder.mkdir(exist_ok=True)
    (folder / 'metadata.yaml').write_bytes(text.encode('utf-8', 'surrogatepass'))
    (folder / 'x.mcap').write_bytes(FILES[0])
    try:
        with open_bag(folder) as bag:
            assert bag.count == 30
    except UserError as error:
        assert str(folder) in str(error)
