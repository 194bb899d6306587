# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Recordings that are broken or made to harm: every verb says the same, in bounded effort."""

from __future__ import annotations

import io
import json
import random
import resource
import struct
import subprocess
import sys

from mcap.opcode import Opcode
from mcap.writer import CompressionType, Writer
import pytest

from soro_cli.main import main
from soro_recording.bag_reader import BagReader, NotABag
from soro_recording.mcap_format import BadRecord, MAGIC, RECORD_HEAD
from soro_recording.mcap_scan import MAX_CHUNK, MAX_UNPACKED, scan

MESSAGE = b'\0\1\0\0' + struct.pack('<i', 7)
SEPARATOR = '=' * 80


def written(
    definition: str,
    compression=CompressionType.NONE,
    topic='/a/actuator_state',
    count=30,
    use_chunking=True,
) -> bytes:
    file = io.BytesIO()
    writer = Writer(file, compression=compression, chunk_size=300, use_chunking=use_chunking)
    writer.start('ros2', 'test')
    schema = writer.register_schema('a_msgs/msg/A', 'ros2msg', definition.encode())
    channel = writer.register_channel(topic, 'cdr', schema)
    writer.add_attachment(0, 0, '/a/robot.yaml', 'application/yaml', b'name: a\n')
    for i in range(count):
        writer.add_message(channel, 1000 + i, MESSAGE, 1000 + i)
    writer.finish()
    return file.getvalue()


CIRCLES = {
    'itself': 'A again',
    'array': 'A[2] again',
    'sequence': 'A[] again',
    'pair': f'B b\n{SEPARATOR}\nMSG: a_msgs/B\nA a',
    'inner': f'B b\n{SEPARATOR}\nMSG: a_msgs/B\nB[<=3] b',
    'deep': 'T0 t\n'
    + '\n'.join(f'{SEPARATOR}\nMSG: a_msgs/T{i}\nT{i + 1} t' for i in range(200))
    + f'\n{SEPARATOR}\nMSG: a_msgs/T200\nint32 x',
}


@pytest.mark.parametrize('circle', CIRCLES)
@pytest.mark.parametrize('verb', ['plot', 'view'])
def test_a_type_that_contains_itself_is_refused_with_a_line(tmp_path, capsys, circle, verb):
    file = tmp_path / 'x.mcap'
    topic = '/a/configuration' if verb == 'view' else '/a/actuator_state'
    file.write_bytes(written(CIRCLES[circle], topic=topic))
    assert main([verb, str(file), '--robot', 'stiff_flop']) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(f'soro: {file} is damaged: the definition of a_msgs/msg/A') or (
        'within types' in said or 'itself' in said
    )


@pytest.mark.parametrize('circle', CIRCLES)
def test_info_says_what_the_others_cannot_read(tmp_path, capsys, circle):
    file = tmp_path / 'x.mcap'
    file.write_bytes(written(CIRCLES[circle]))
    assert main(['info', str(file), '--json']) == 0
    (said,) = json.loads(capsys.readouterr().out)['notes']
    assert said.startswith('messages of type a_msgs/msg/A cannot be read')


@pytest.mark.parametrize('as_json', [True, False])
def test_info_says_what_was_left_out_and_what_nothing_describes(tmp_path, capsys, as_json):
    file = tmp_path / 'x.mcap'
    whole = written('int32 x')
    place = whole.index(MESSAGE) + 5
    file.write_bytes(whole[:place] + b'\xff' + whole[place + 1 :])
    with BagReader(file) as bag:
        left, (said,) = bag.count, bag.notes
    assert 0 < left < 30 and 'checksum' in said
    assert main(['info', str(file), *(['--json'] * as_json)]) == 0
    answer = capsys.readouterr().out
    if as_json:
        assert json.loads(answer)['notes'] == [said] and json.loads(answer)['messages'] == left
    else:
        assert said in answer
    # The channel record becomes one that no reader knows; the file was cut off.
    whole = written('int32 x', use_chunking=False)
    start = whole.index(b'/a/actuator_state') - 4 - 4 - 9
    assert whole[start] == Opcode.CHANNEL
    end = whole.rindex(MESSAGE) + len(MESSAGE)
    file.write_bytes(whole[:start] + b'\xf0' + whole[start + 1 : end])
    assert main(['info', str(file), *(['--json'] * as_json)]) == 0
    answer = capsys.readouterr().out
    if as_json:
        assert json.loads(answer)['undescribed_messages'] == 30
    else:
        assert 'cut off' in answer and '30 messages cannot be read' in answer


def test_types_that_share_others_are_read(tmp_path):
    shared = (
        f'B b\nB[2] c\nD d\n{SEPARATOR}\nMSG: a_msgs/B\nD d\n{SEPARATOR}\nMSG: a_msgs/D\nint8 x'
    )
    file = tmp_path / 'x.mcap'
    file.write_bytes(written(shared))
    with BagReader(file) as bag:
        assert bag.unreadable() == []
        assert next(iter(bag.messages())).message.b.d.x == 7


@pytest.mark.parametrize('compression', list(CompressionType))
def test_a_flipped_byte_anywhere_costs_no_more_than_is_said(tmp_path, compression):
    whole = written('int32 x', compression)
    generator = random.Random(3)
    file = tmp_path / 'x.mcap'
    chunk = 300 // (len(MESSAGE) + 31) + 1  # messages
    for _ in range(50):
        place = generator.randrange(len(MAGIC), len(whole))
        data = bytearray(whole)
        data[place] ^= 1 << generator.randrange(8)
        file.write_bytes(data)
        try:
            with BagReader(file) as bag:
                notes = bag.notes + bag.unreadable()
                try:
                    read = [m.message.x for m in bag.messages()]
                except BadRecord:
                    assert notes  # `info` has said why
                    continue
                assert len(read) == bag.count
                if len(read) < 30:
                    assert notes
                if len(read) < 30 - 2 * chunk:  # the length of a record: what follows is lost
                    assert not bag.finished or bag.undescribed
        except NotABag:
            continue


def bomb(chunks: int, size: int, told: bool) -> bytes:
    """Return chunks of some kilobytes that unpack to a size."""
    import zstandard

    packed = zstandard.ZstdCompressor(write_content_size=told).compress(bytes(size))
    name = struct.pack('<I', 4) + b'zstd'
    head = struct.pack('<QQQI', 0, 1, size, 0) + name + struct.pack('<Q', len(packed))
    record = RECORD_HEAD.pack(Opcode.CHUNK, len(head) + len(packed)) + head + packed
    return MAGIC + chunks * record


@pytest.mark.parametrize('told', [True, False])
def test_bombs_are_refused_before_they_are_unpacked(tmp_path, told):
    file = tmp_path / 'x.mcap'
    file.write_bytes(bomb(MAX_UNPACKED // 2**26 + 1, 2**26, told))
    with pytest.raises(NotABag, match='would unpack to'):
        scan(file)
    assert file.stat().st_size < 2**17
    file.write_bytes(bomb(2, MAX_CHUNK + 1, told))
    found = scan(file)
    assert found.chunks == [] and len(found.damage) == 2


def test_info_of_a_bomb_takes_little_memory(tmp_path):
    file = tmp_path / 'x.mcap'
    file.write_bytes(bomb(200, 2**26, told=False))
    limit = 2**31  # bytes of addresses: Python with what a verb loads has half of that

    done = subprocess.run(
        [sys.executable, '-m', 'soro_cli.main', 'info', str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
    )
    assert done.returncode == 1
    assert 'would unpack to 13.4 GB' in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_damaged_robot_file_is_not_believed(tmp_path):
    whole = written('int32 x')
    file = tmp_path / 'x.mcap'
    file.write_bytes(whole.replace(b'name: a\n', b'name: b\n'))
    with BagReader(file) as bag:
        assert bag.robots == [] and bag.count == 30
        assert any('checksum of /a/robot.yaml' in note for note in bag.notes)
