# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The files against the official reader and writer, and cut off anywhere."""

from __future__ import annotations

import io
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.opcode import Opcode
from mcap.reader import make_reader
from mcap.writer import CompressionType, Writer
import pytest

from soro_recording.bag_reader import BagReader, NotABag
from soro_recording.mcap_writer import McapWriter

SCHEMA = b'uint8[] data\n'
COUNT = 60


class MemoryFile(io.BytesIO):
    """A file in memory that may be full."""

    limit = 1 << 60

    def write(self, data):
        if self.tell() + len(data) > self.limit:
            super().write(bytes(data)[: self.limit - self.tell()])
            raise OSError(28, 'No space left on device')
        return super().write(data)


def payload(i: int) -> bytes:
    return f'<message {i:06d}>'.encode() + b'.' * (7 * i % 50)


def write_file(
    file: io.BytesIO, finish: bool = True, scratch: io.BytesIO | None = None
) -> McapWriter:
    writer = McapWriter(file, 'ros2', 'test', scratch)
    schema = writer.add_schema('test_msgs/msg/Blob', 'ros2msg', SCHEMA)
    writer.add_channel(1, schema, '/a', 'cdr', {'offered_qos_profiles': ''})
    writer.add_attachment('/left/robot.yaml', 'application/yaml', b'name: left\n', 5)
    writer.add_metadata('soro', {'version': '1'})
    for i in range(COUNT):
        if i == 20:
            writer.add_channel(2, schema, '/b', 'cdr', {})
        channel = 2 if i >= 20 and i % 3 == 0 else 1
        writer.add_message(channel, 1000 + 10 * i, payload(i))
        if i % 7 == 0:
            writer.flush()
    writer.flush()
    if finish:
        writer.finish()
    return writer


def whole_file() -> bytes:
    file = MemoryFile()
    write_file(file)
    return file.getvalue()


def test_the_official_reader_reads_what_is_written():
    reader = make_reader(io.BytesIO(whole_file()), validate_crcs=True)
    summary = reader.get_summary()
    assert summary.statistics.message_count == COUNT
    assert summary.statistics.channel_count == 2
    assert summary.statistics.chunk_count == len(summary.chunk_indexes) == 10
    assert (summary.statistics.message_start_time, summary.statistics.message_end_time) == (
        1000,
        1000 + 10 * (COUNT - 1),
    )
    found = list(reader.iter_messages())
    assert [m.data for _, _, m in found] == [payload(i) for i in range(COUNT)]
    assert {c.topic for _, c, _ in found} == {'/a', '/b'}
    assert all(s.data == SCHEMA and s.encoding == 'ros2msg' for s, _, _ in found)
    only_b = [m.sequence for _, _, m in reader.iter_messages(topics=['/b'])]
    assert only_b == list(range(len(only_b))) != []
    assert [a.data for a in reader.iter_attachments()] == [b'name: left\n']
    assert [m.metadata for m in reader.iter_metadata()] == [{'version': '1'}]


def test_the_official_reader_finds_messages_by_time_through_the_index():
    reader = make_reader(io.BytesIO(whole_file()))
    found = [m.data for _, _, m in reader.iter_messages(starting_at=1100, ending_before=1200)]
    assert found == [payload(i) for i in range(10, 20)]


@pytest.mark.parametrize('compression', list(CompressionType))
@pytest.mark.parametrize('chunked', [True, False])
def test_files_of_the_official_writer_are_read(tmp_path, compression, chunked):
    path = tmp_path / 'other.mcap'
    with path.open('wb') as file:
        writer = Writer(file, compression=compression, use_chunking=chunked, chunk_size=500)
        writer.start('ros2')
        schema = writer.register_schema('test_msgs/msg/Blob', 'ros2msg', SCHEMA)
        channel = writer.register_channel('/a', 'cdr', schema)
        for i in range(COUNT):
            writer.add_message(channel, 1000 + i, payload(i), 1000 + i)
        writer.finish()
    with BagReader(path) as bag:
        assert bag.finished
        assert bag.topics['/a'].count == COUNT
        assert [m.data for m in bag.messages()] == [payload(i) for i in range(COUNT)]


WHOLE = whole_file()
ENDS = [WHOLE.index(payload(i)) + len(payload(i)) for i in range(COUNT)]


@settings(max_examples=300, deadline=None)
@given(cut=st.integers(8, len(WHOLE)))
def test_everything_before_a_cut_is_readable(tmp_path_factory, cut):
    path = tmp_path_factory.getbasetemp() / 'cut.mcap'
    path.write_bytes(WHOLE[:cut])
    # Where a message ends in the file is found by searching for its bytes, not by parsing.
    expected = [payload(i) for i in range(COUNT) if ENDS[i] <= cut]
    with BagReader(path) as bag:
        assert [m.data for m in bag.messages()] == expected
        assert bag.count == len(expected)
        assert bag.finished == (cut == len(WHOLE))


@settings(max_examples=50, deadline=None)
@given(limit=st.integers(400, len(WHOLE) - 1))
def test_a_full_disk_leaves_whole_records(tmp_path_factory, limit):
    file = MemoryFile()
    file.limit = limit
    with pytest.raises(OSError, match='No space'):
        write_file(file)
    path = tmp_path_factory.getbasetemp() / 'full.mcap'
    path.write_bytes(file.getvalue())
    with BagReader(path) as bag:
        found = [m.data for m in bag.messages()]
        assert found == [payload(i) for i in range(len(found))]
        # At most the chunk under way is missing: every chunk but the last holds seven messages.
        assert len(found) >= sum(end <= limit for end in ENDS) - 7
    # Once there is room again the same file can be finished.
    file.limit = 1 << 60


def test_after_a_failed_write_the_file_can_still_be_finished():
    file = MemoryFile()
    writer = write_file(file, finish=False)
    file.limit = file.tell() + 20
    writer.add_message(1, 9999, b'x' * 100)
    with pytest.raises(OSError, match='No space'):
        writer.flush()
    assert sum(writer.counts.values()) == COUNT
    file.limit = 1 << 60
    writer.finish()
    reader = make_reader(io.BytesIO(file.getvalue()), validate_crcs=True)
    assert reader.get_summary().statistics.message_count == COUNT
    assert len(list(reader.iter_messages())) == COUNT


def test_what_the_summary_needs_may_wait_in_a_scratch_file(tmp_path):
    file = MemoryFile()
    with (tmp_path / 'scratch').open('w+b') as scratch:
        write_file(file, scratch=scratch)
        assert scratch.tell() > 10 * 70  # ten chunks, an index of some seventy bytes each
    assert file.getvalue() == WHOLE


def test_without_its_scratch_file_a_recording_has_no_summary_and_loses_nothing(tmp_path):
    file, scratch = MemoryFile(), MemoryFile()
    scratch.limit = 300
    write_file(file, scratch=scratch)
    path = tmp_path / 'unindexed.mcap'
    path.write_bytes(file.getvalue())
    with BagReader(path) as bag:
        assert [m.data for m in bag.messages()] == [payload(i) for i in range(COUNT)]
        assert not bag.finished


def test_why_files_are_not_written_by_the_official_writer():
    """Fails when it can do what is needed here; then McapWriter can go."""
    file = MemoryFile()
    writer = Writer(file, compression=CompressionType.NONE)
    writer.start('ros2')
    schema = writer.register_schema('test_msgs/msg/Blob', 'ros2msg', SCHEMA)
    channel = writer.register_channel('/a', 'cdr', schema)
    for i in range(COUNT):
        writer.add_message(channel, 1000 + i, payload(i), 1000 + i)
        writer.flush()
    # It keeps the index of every chunk in memory, a kilobyte of it four times a second.
    assert len(writer._Writer__chunk_indices) == COUNT
    size = file.tell()
    file.limit = size + 20
    writer.add_message(channel, 9999, b'x' * 100, 9999)
    with pytest.raises(OSError, match='No space'):
        writer.flush()
    file.truncate(size)
    file.seek(size)
    file.limit = 1 << 60
    writer.finish()
    # What it failed to write is in its summary, with an index.
    reader = make_reader(io.BytesIO(file.getvalue()))
    assert reader.get_summary().statistics.message_count == COUNT + 1
    assert len(list(reader.iter_messages())) == COUNT


def official_file(compression: CompressionType) -> bytes:
    """Return a file whose topics are described inside chunks; /b long before its messages."""
    file = io.BytesIO()
    writer = Writer(file, compression=compression, chunk_size=500)
    writer.start('ros2')
    schema = writer.register_schema('test_msgs/msg/Blob', 'ros2msg', SCHEMA)
    channels = [writer.register_channel(topic, 'cdr', schema) for topic in ('/a', '/b')]
    for i in range(COUNT):
        writer.add_message(channels[i >= COUNT // 2], 1000 + i, payload(i), 1000 + i)
    writer.finish()
    return file.getvalue()


@pytest.mark.parametrize('compression', list(CompressionType))
def test_a_cut_file_whose_topics_are_described_in_chunks_is_read(tmp_path, compression):
    whole = official_file(compression)
    chunks = make_reader(io.BytesIO(whole)).get_summary().chunk_indexes
    path = tmp_path / 'cut.mcap'
    for cut in range(chunks[0].chunk_start_offset + chunks[0].chunk_length, len(whole), 13):
        path.write_bytes(whole[:cut])
        end = max(
            c.message_end_time for c in chunks if c.chunk_start_offset + c.chunk_length <= cut
        )
        with BagReader(path) as bag:
            found = [m.data for m in bag.messages()]
            assert found == [payload(i) for i in range(len(found))]
            assert end - 1000 < len(found) == bag.count
            assert (bag.finished, bag.undescribed) == (False, 0)
            assert [t.kind for t in bag.topics.values()] == ['test_msgs/msg/Blob'] * 2
        if compression is CompressionType.NONE:
            assert len(found) == sum(payload(i) in whole[:cut] for i in range(COUNT))


def test_messages_whose_description_is_lost_are_told(tmp_path):
    # The channel record of /b becomes one that no reader knows.
    file = MemoryFile()
    write_file(file, finish=False)
    data = file.getvalue()
    start = data.index(b'/b') - 4 - 4 - 9
    assert data[start] == Opcode.CHANNEL
    path = tmp_path / 'x.mcap'
    path.write_bytes(data[:start] + b'\xf0' + data[start + 1 :])
    lost = sum(i >= 20 and i % 3 == 0 for i in range(COUNT))
    with BagReader(path) as bag:
        assert (bag.undescribed, bag.count) == (lost, COUNT - lost)
        said = ' '.join(bag.notes)
    assert 'cut off' in said and f'{lost} messages cannot be read' in said


def test_a_window_of_time_and_topics(tmp_path):
    path = tmp_path / 'whole.mcap'
    path.write_bytes(WHOLE)
    with BagReader(path) as bag:
        assert [m.data for m in bag.messages(start=1100, end=1200)] == [
            payload(i) for i in range(10, 20)
        ]
        assert {m.topic for m in bag.messages(['/b'])} == {'/b'}
        assert list(bag.messages(['/nobody'])) == []
        # Two iterations at the same time do not disturb each other.
        pairs = list(zip(bag.messages(), bag.messages(), strict=True))
        assert all(a.data == b.data for a, b in pairs)
        assert [(r.namespace, r.text) for r in bag.robots] == [('/left', 'name: left\n')]


def test_a_flipped_bit_is_noticed_and_costs_its_chunk(tmp_path):
    path = tmp_path / 'bad.mcap'
    place = WHOLE.index(payload(30)) + 3
    path.write_bytes(WHOLE[:place] + b'\xff' + WHOLE[place + 1 :])
    chunks = make_reader(io.BytesIO(WHOLE)).get_summary().chunk_indexes
    (hit,) = (
        c for c in chunks if c.chunk_start_offset < place < c.chunk_start_offset + c.chunk_length
    )
    left = [
        payload(i)
        for i in range(COUNT)
        if not hit.message_start_time <= 1000 + 10 * i <= hit.message_end_time
    ]
    with BagReader(path) as bag:
        assert [m.data for m in bag.messages()] == left
        assert bag.count == len(left) < COUNT
        (said,) = bag.notes
        assert 'checksum' in said and f'{COUNT - len(left)} messages of it are left out' in said


@pytest.mark.parametrize('content', [b'', b'\x89MCAP', b'SQLite format 3\0'])
def test_what_is_no_recording_is_said(tmp_path, content):
    path: Path = tmp_path / 'none.mcap'
    path.write_bytes(content)
    with pytest.raises(NotABag, match='no MCAP file'):
        BagReader(path)
    with pytest.raises(NotABag, match='there is no recording'):
        BagReader(tmp_path / 'nowhere')
    (tmp_path / 'empty').mkdir()
    with pytest.raises(NotABag, match='holds no'):
        BagReader(tmp_path / 'empty')
