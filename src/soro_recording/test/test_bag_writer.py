# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A bag as rosbag2 wants it, judged by `rosbags`, an independent implementation."""

from __future__ import annotations

import errno
import os
from pathlib import Path
import struct
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterEvent, ParameterValue
from rclpy.serialization import serialize_message
from rosbags.highlevel import AnyReader
from rosbags.rosbag2 import Reader
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
import yaml

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.msg import ActuatorState
from soro_recording.bag_metadata import FOREVER, METADATA, qos_entry, ROOT, write_metadata
from soro_recording.bag_reader import BagReader, NotABag
from soro_recording.bag_writer import BagWriter
from soro_recording.mcap_format import BadRecord
from soro_recording.mcap_writer import McapWriter
from soro_recording.message_definitions import full_definition, used_types
from soro_recording.run_data import choose_namespace, RunData
from soro_rigs.ros_session import wait_until

POINT = 'geometry_msgs/msg/PointStamped'
TEXTS = {
    POINT: 'std_msgs/Header header  # where\nPoint point\n',
    'std_msgs/msg/Header': 'builtin_interfaces/Time stamp\nstring frame_id\n',
    'builtin_interfaces/msg/Time': 'int32 sec\nuint32 nanosec\n',
    'geometry_msgs/msg/Point': 'float64 x\nfloat64 y\nfloat64 z 0.5\n',
}
QOS = {
    'history': 'keep_last',
    'depth': 10,
    'reliability': 'reliable',
    'durability': 'volatile',
    'deadline': FOREVER,
    'lifespan': FOREVER,
    'liveliness': 'automatic',
    'liveliness_lease_duration': FOREVER,
    'avoid_ros_namespace_conventions': False,
}
HASH = get_typestore(Stores.ROS2_JAZZY).hash_rihs01(POINT)


def serialized(i: int) -> bytes:
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    stamp = types['builtin_interfaces/msg/Time'](i, 0)
    header = types['std_msgs/msg/Header'](stamp, 'base_link')
    point = types['geometry_msgs/msg/Point'](float(i), 0.0, -1.0)
    return bytes(store.serialize_cdr(types[POINT](header, point), POINT))


def write_bag(folder: Path, count: int = 20, **options: object) -> BagWriter:
    bag = BagWriter(folder, **options)
    definition = full_definition(POINT, TEXTS.__getitem__)
    left = bag.add_topic('/left/point', POINT, definition, [QOS, QOS], HASH)
    right = bag.add_topic('/right/point', POINT, definition)
    bag.add_file('/left/robot.yaml', 'application/yaml', b'name: left\n')
    for i in range(count):
        bag.write(left if i % 2 else right, 1_000_000_000 + i, serialized(i))
    return bag


def test_rosbags_reads_the_bag_and_its_metadata(tmp_path):
    write_bag(tmp_path / 'run', distribution='kilted').close()
    with Reader(tmp_path / 'run') as reader:
        assert reader.message_count == 20
        assert reader.ros_distro == 'kilted'
        assert {c.topic: c.msgcount for c in reader.connections} == {
            '/left/point': 10,
            '/right/point': 10,
        }
        (left,) = (c for c in reader.connections if c.topic == '/left/point')
        assert left.digest == HASH
        assert [q.depth for q in left.ext.offered_qos_profiles] == [10, 10]
        assert left.ext.offered_qos_profiles[0].reliability.name == 'RELIABLE'
    with AnyReader([tmp_path / 'run']) as reader:
        found = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages()]
    assert [m.point.x for m in found] == [float(i) for i in range(20)]


def test_messages_that_are_longer_than_what_is_in_them_are_read(tmp_path):
    # Fast DDS counts room for numbers that would follow an empty array.
    kind = 'rcl_interfaces/msg/ParameterEvent'
    sent = [
        ParameterEvent(
            node=f'/node_{n}',
            changed_parameters=[
                Parameter(name=f'p{i}', value=ParameterValue(type=2, integer_value=i))
                for i in range(n)
            ],
        )
        for n in range(4)
    ]
    bag = BagWriter(tmp_path / 'run')
    number = bag.add_topic('/parameter_events', kind, full_definition(kind))
    for i, message in enumerate(sent):
        bag.write(number, i, serialize_message(message))
    bag.close()
    with BagReader(tmp_path / 'run') as reader:
        found = [entry.message for entry in reader.messages()]
    for message, expected in zip(found, sent, strict=True):
        assert message.node == expected.node
        values = [(p.name, p.value.integer_value) for p in message.changed_parameters]
        assert values == [(p.name, p.value.integer_value) for p in expected.changed_parameters]


@pytest.mark.parametrize('data', [b'', b'\0\1\0', b'\0\3\0\0' + bytes(64), serialized(1)[:-9]])
def test_bytes_that_are_no_message_are_refused(tmp_path, data):
    bag = write_bag(tmp_path / 'run', count=0)
    bag.write(bag.add_topic('/point', POINT, full_definition(POINT, TEXTS.__getitem__)), 1, data)
    bag.close()
    with BagReader(tmp_path / 'run') as reader:
        (entry,) = reader.messages()
        with pytest.raises(BadRecord, match=f'a message is no {POINT}'):
            _ = entry.message


@pytest.mark.parametrize('with_file', [True, False])
@pytest.mark.parametrize('space', ['/', '/left'])
def test_a_robot_is_found_by_the_namespace_it_lived_in(tmp_path, space, with_file):
    prefix, folder = space.rstrip('/'), tmp_path / 'run'
    text = find_robot_file('stiff_flop').read_bytes()
    kind = 'soro_msgs/msg/ActuatorState'
    bag = BagWriter(folder)
    number = bag.add_topic(f'{prefix}/actuator_state', kind, full_definition(kind))
    bag.write(number, 1, serialize_message(ActuatorState(actuator_names=['pair_1'])))
    if with_file:
        bag.add_file(f'{prefix}/robot.yaml', 'application/yaml', text)
    bag.close()
    with BagReader(folder) as bag:
        assert bag.namespaces == [space]
        assert choose_namespace(bag, space) == choose_namespace(bag, None) == space
        run = RunData(bag, space, None if with_file else 'stiff_flop')
        assert run.description.name == 'stiff_flop'
        assert len(list(run.entries('actuator_state'))) == 1


def test_our_reader_agrees_with_rosbags(tmp_path):
    write_bag(tmp_path / 'run').close()
    with BagReader(tmp_path / 'run') as bag:
        found = list(bag.messages())
        assert [m.message.header.stamp.sec for m in found] == list(range(20))
        assert found[3].topic == '/left/point'
        assert found[3].message.header.frame_id == 'base_link'
        assert bag.namespaces == ['/left']
        assert bag.topics['/left/point'].type_hash == HASH
        assert bag.duration == pytest.approx(19e-9)


def test_a_type_that_has_changed_between_topics_is_read_by_each_ones_own(tmp_path):
    texts = 'float64 x\n', 'float32 y\nfloat32 x\n'
    with (tmp_path / 'two.mcap').open('wb+', buffering=0) as file:
        writer = McapWriter(file, 'ros2', 'other')
        for number, text in enumerate(texts, 1):
            schema = writer.add_schema('lab/msg/Place', 'ros2msg', text.encode())
            writer.add_channel(number, schema, f'/at_{number}', 'cdr', {})
        writer.add_message(1, 1, b'\0\1\0\0' + struct.pack('<d', 0.5))
        writer.add_message(2, 2, b'\0\1\0\0' + struct.pack('<ff', 7.0, 0.5))
        writer.finish()
    with BagReader(tmp_path / 'two.mcap') as bag:
        assert bag.unreadable() == []
        assert [entry.message.x for entry in bag.messages()] == [0.5, 0.5]


def test_a_disk_that_fills_up_stops_the_recording_and_leaves_a_good_bag(tmp_path, monkeypatch):
    room = [10**9]
    usage = 'soro_recording.bag_writer.shutil.disk_usage'
    monkeypatch.setattr(usage, lambda _: SimpleNamespace(free=room[0]))
    bag = write_bag(tmp_path / 'run', reserve=10**6)
    wait_until(lambda: not bag.waiting)
    room[0] = 10
    while not bag.failure:
        bag.write(1, 2_000_000_000, serialized(0))
        bag._wake.set()
    before = bag.dropped
    bag.write(1, 3_000_000_000, serialized(0))
    assert bag.dropped == before + 1
    bag.close()
    assert 'MB are free' in bag.failure
    with Reader(tmp_path / 'run') as reader:
        assert reader.message_count >= 20


def no_space(*_):
    raise OSError(errno.ENOSPC, 'No space left on device')


def test_on_a_disk_that_is_full_already_there_is_no_bag(tmp_path, monkeypatch):
    monkeypatch.setattr('soro_recording.bag_writer.McapWriter', no_space)
    with pytest.raises(InvalidInput, match='written .No space left on device') as refused:
        BagWriter(tmp_path / 'run')
    assert str(tmp_path / 'run') in str(refused.value)
    assert not (tmp_path / 'run').exists()


def test_where_the_last_metadata_does_not_fit_those_before_stay_alone(tmp_path, monkeypatch):
    bag = write_bag(tmp_path / 'run')
    before = (tmp_path / 'run/metadata.yaml').read_text()
    monkeypatch.setattr('soro_recording.bag_metadata.os.fsync', no_space)
    bag.close()
    assert 'No space left' in bag.failure
    assert sorted(f.name for f in bag.folder.iterdir()) == ['metadata.yaml', 'run_0.mcap']
    assert (tmp_path / 'run/metadata.yaml').read_text() == before


def test_without_memory_the_recording_stops_and_says_what_is_lost(tmp_path, monkeypatch):
    # The chunk under way is lost; what follows is refused.
    bag = write_bag(tmp_path / 'run', count=5)
    wait_until(lambda: not bag.waiting)

    def no_memory(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(bag._writer, '_write_chunk', no_memory)
    for i in range(3):
        bag.write(1, 2_000_000_000 + i, serialized(i))
    wait_until(lambda: bag.failure)
    bag.write(1, 3_000_000_000, serialized(0))
    bag.close()
    assert 'MemoryError' in bag.failure
    assert bag.dropped == 4
    with BagReader(tmp_path / 'run') as reader:
        assert reader.finished and reader.count == 5


def test_the_name_of_metadata_is_given_to_what_is_on_the_disk(tmp_path, monkeypatch):
    # A power cut after the renaming would leave an empty file otherwise.
    steps, sync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, 'fsync', lambda n: (steps.append(os.fstat(n).st_size), sync(n)))
    monkeypatch.setattr(os, 'replace', lambda a, b: (steps.append(b.name), replace(a, b)))
    write_metadata(tmp_path, 'x.mcap', [], None, None, '')
    assert steps == [(tmp_path / METADATA).stat().st_size, METADATA]


@pytest.mark.parametrize('text', ['', 'rosbag2_bagfile_information:\n', '[\n'])
def test_without_its_metadata_a_bag_is_read_and_that_is_told(tmp_path, text):
    folder = tmp_path / 'run'
    write_bag(folder).close()
    (folder / METADATA).write_text(text)
    with BagReader(folder) as bag:
        assert bag.finished and bag.count == 20
        (note,) = bag.notes
    assert f'{folder / METADATA} is not the metadata of a bag' in note and '\n' not in note
    (folder / 'run_0.mcap').unlink()
    with pytest.raises(NotABag, match=r'holds no \.mcap file.*not the metadata'):
        BagReader(folder)


def test_a_bag_whose_file_was_renamed_is_read_and_that_is_told(tmp_path):
    folder = tmp_path / 'run'
    write_bag(folder).close()
    (folder / 'run_0.mcap').rename(folder / 'a_better_name.mcap')
    with BagReader(folder) as bag:
        assert bag.finished and bag.count == 20
        (note,) = bag.notes
    assert f'{folder / METADATA} names are missing' in note
    (folder / 'a_better_name.mcap').unlink()
    with pytest.raises(NotABag, match=r'holds no \.mcap file.*names are missing'):
        BagReader(folder)


def test_a_missing_file_of_a_split_bag_is_told(tmp_path):
    folder = tmp_path / 'run'
    write_bag(folder).close()
    metadata = yaml.safe_load((folder / METADATA).read_text())
    metadata[ROOT]['relative_file_paths'].append('run_1.mcap')
    (folder / METADATA).write_text(yaml.safe_dump(metadata))
    with BagReader(folder) as bag:
        assert bag.count == 20 and not bag.finished
        assert bag.notes == [f'missing: {folder / "run_1.mcap"}; what it held is not listed']


FULL = """
import resource, sys
from pathlib import Path
sys.path[:0] = [{here!r}]
import test_bag_writer as t
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000))
bag = t.write_bag(Path({folder!r}), 5)
t.wait_until(lambda: not bag.waiting)  # these are in the file
sent, message = 5, t.serialized(1)
while not bag.failure:
    bag.write(1, 2_000_000_000, message)
    sent += 1
bag.close()
print(bag.failure)
print(sent - bag.dropped)
"""


def test_a_write_that_the_system_refuses_is_said_and_what_is_there_is_readable(tmp_path):
    # A limit of the process makes the kernel refuse to write, as a full disk does.
    folder = tmp_path / 'run'
    script = FULL.format(here=str(Path(__file__).parent), folder=str(folder))
    done = subprocess.run(
        [sys.executable, '-c', script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    why, written = done.stdout.splitlines()
    assert 'cannot write' in why
    with BagReader(folder) as bag:
        found = [m.message.point.x for m in bag.messages()]
    assert len(found) == int(written)
    assert sorted(found[:5]) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert bag.size <= 30_000


def test_used_types_are_found_in_every_form_of_field():
    text = (
        'uint8 A=1\nstring<=5 name\nfloat64[36] matrix\nPose[] poses\ngeometry_msgs/Wrench w\n'
        'std_msgs/Header header # Point in_a_comment\nLoad[<=3] loads\nstring text "a b"\n'
    )
    assert used_types('soro_msgs/msg/X', text) == [
        'soro_msgs/msg/Pose',
        'geometry_msgs/msg/Wrench',
        'std_msgs/msg/Header',
        'soro_msgs/msg/Load',
    ]


@pytest.mark.parametrize(
    'kind', ['soro_msgs/msg/Configuration', 'diagnostic_msgs/msg/DiagnosticArray']
)
def test_installed_definitions_are_complete(kind):
    store = get_typestore(Stores.EMPTY)
    store.register(get_types_from_msg(full_definition(kind), kind))
    assert kind in store.types
    assert store.hash_rihs01(kind).startswith('RIHS01_')


def test_qos_of_a_publisher_is_written_in_words():
    from rclpy.duration import Duration
    from rclpy.qos import DurabilityPolicy, QoSProfile

    entry = qos_entry(
        QoSProfile(
            depth=3, durability=DurabilityPolicy.TRANSIENT_LOCAL, deadline=Duration(seconds=2)
        )
    )
    assert entry['durability'] == 'transient_local'
    assert entry['deadline'] == {'sec': 2, 'nsec': 0}
    assert entry['lifespan'] == FOREVER
    assert np.isscalar(entry['depth'])
