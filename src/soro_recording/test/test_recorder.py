# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The recorder node: nothing lost, several robots, topics that are chosen."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, wait
import json
from pathlib import Path
import time

import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rosbags.highlevel import AnyReader
from std_msgs.msg import Bool, String

from soro_mechanics.core.errors import InvalidInput
from soro_msgs.msg import ActuatorState, Configuration
from soro_recording import message_definitions
from soro_recording.bag_reader import BagReader
from soro_recording.recorder_node import PARAMETERS, Recorder, SETTLED
from soro_rigs.ros_session import RosSession, undocumented, wait_until

DOCS = Path(__file__).resolve().parents[3] / 'docs'
BOOL = 'std_msgs/msg/Bool'
RATE = 500.0  # Hz, the fastest loop of any robot
SECONDS = 2.0


def state(i: int) -> ActuatorState:
    message = ActuatorState(name=['m1', 'm2'], quantity=[3, 3], flags=[0, 64])
    message.header.stamp.sec = i
    message.commanded = message.applied = message.measured = [0.5 * i, -1.0]
    return message


def listening(*publishers: object, recorder: Recorder | None = None) -> None:
    """Wait until both sides know of each other: what is sent before is no loss."""
    wait_until(lambda: all(p.get_subscription_count() > 0 for p in publishers))
    if recorder is not None:
        topics = {p.topic_name for p in publishers}
        wait_until(lambda: all(recorder.heard(t) for t in topics))


def test_who_joins_a_topic_and_offers_less_is_recorded_too(tmp_path):
    with RosSession('/left') as ros:
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        first = ros.client.create_publisher(String, 'x', 10)
        listening(first, recorder=recorder)
        lossy = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        later = ros.client.create_publisher(String, 'x', lossy)
        listening(first, later, recorder=recorder)
        for publisher, data in ((first, 'first'), (later, 'later'), (first, 'first')):
            publisher.publish(String(data=data))
        wait_until(lambda: recorder.bag.counts['/left/x'] == 3)
    with BagReader(tmp_path / 'run') as bag:
        found = [e.message.data for e in bag.messages(['/left/x'])]
    assert sorted(found) == ['first', 'first', 'later']


def test_whoever_asks_while_a_subscription_is_replaced_gets_an_answer(tmp_path):
    with RosSession('/left') as ros, ThreadPoolExecutor() as other_threads:
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        first = ros.client.create_publisher(String, 'x', 10)
        listening(first, recorder=recorder)
        destroy, answers = recorder.destroy_subscription, []

        def destroy_and_ask(subscription):
            del recorder.destroy_subscription
            done = destroy(subscription)
            answers.append(other_threads.submit(recorder.heard, '/left/x'))
            wait([*answers], timeout=0.2)
            return done

        recorder.destroy_subscription = destroy_and_ask
        lossy = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
        later = ros.client.create_publisher(String, 'x', lossy)
        wait_until(lambda: answers and all(answer.done() for answer in answers))
        assert all(isinstance(answer.result(), bool) for answer in answers)
        listening(later, recorder=recorder)


def test_who_listens_with_another_type_hinders_no_recording(tmp_path):
    with RosSession('/left') as ros, RosSession('/left') as other:
        other.listen(Bool, 'x')
        wait_until(lambda: ros.client.count_subscribers('/left/x'))
        publisher = ros.client.create_publisher(String, 'x', 10)
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        listening(publisher, recorder=recorder)
        publisher.publish(String(data='heard'))
        wait_until(lambda: recorder.bag.counts.get('/left/x') == 1)


def test_what_is_published_by_another_definition_is_not_recorded(tmp_path, monkeypatch):
    changed = json.dumps({'type_hashes': [{'type_name': 'std_msgs/msg/Bool', 'hash_string': 'x'}]})
    own = message_definitions._installed
    monkeypatch.setattr(
        message_definitions,
        '_installed',
        lambda kind, suffix: changed if (kind, suffix) == (BOOL, 'json') else own(kind, suffix),
    )
    with RosSession('/left') as ros:
        changed_one = ros.client.create_publisher(Bool, 'changed', 10)
        publisher = ros.client.create_publisher(String, 'x', 10)
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        listening(publisher, recorder=recorder)
        wait_until(lambda: '/left/changed' in recorder._refused)
        assert not changed_one.get_subscription_count()


def test_a_clock_that_is_set_back_changes_no_order(tmp_path, monkeypatch):
    ahead, wall = [10 * 10**9], time.time_ns
    monkeypatch.setattr(time, 'time_ns', lambda: wall() + ahead[0])
    with RosSession('/left') as ros:
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        publisher = ros.client.create_publisher(String, 'x', 10)
        listening(publisher, recorder=recorder)
        for count, data in ((1, 'first'), (2, 'second')):
            publisher.publish(String(data=data))
            wait_until(lambda count=count: recorder.bag.counts['/left/x'] == count)
            ahead[0] = 0
    with BagReader(tmp_path / 'run') as bag:
        assert [e.message.data for e in bag.messages(['/left/x'])] == ['first', 'second']
        assert bag.duration < 9.0


def test_nothing_is_lost_at_full_rate(tmp_path, capsys):
    with RosSession('/left') as ros:
        recorder = ros.node(Recorder, '/left', output=str(tmp_path / 'run'))
        publishers = [ros.client.create_publisher(ActuatorState, f's{i}', 10) for i in range(3)]
        listening(*publishers, recorder=recorder)
        count = int(RATE * SECONDS)
        pause, begin = Pause(), time.monotonic()
        for i in range(count):
            message = state(i)
            for publisher in publishers:
                publisher.publish(message)
            pause.until(begin + (i + 1) / RATE)
        taken = time.monotonic() - begin
        total = len(publishers) * count
        wait_until(lambda: sum(recorder.bag.counts[f'/left/s{i}'] for i in range(3)) == total)
        assert (recorder.lost, recorder.bag.dropped) == (0, 0)
    with BagReader(tmp_path / 'run') as bag:
        assert bag.finished
        for i in range(3):
            found = [m.message.header.stamp.sec for m in bag.messages([f'/left/s{i}'])]
            assert found == list(range(count))
        with capsys.disabled():
            print(f'\n{total} sent in {taken:.2f} s, {total} recorded')


class Pause:
    """Waits for a moment without sleeping through it."""

    def __init__(self) -> None:
        import threading

        self._event = threading.Event()

    def until(self, moment: float) -> None:
        self._event.wait(max(0.0, moment - time.monotonic()))


def test_two_robots_with_latched_and_foreign_topics(tmp_path):
    with RosSession() as ros:
        publish = ros.client.create_publisher
        left = publish(ActuatorState, '/left/actuator_state', 10)
        right = publish(Configuration, '/right/configuration', 10)
        other = publish(String, '/other/text', 10)
        latched = publish(
            String,
            '/right/robot_description',
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL),
        )
        latched.publish(String(data='<robot/>'))
        node = ros.node(
            Recorder,
            '/left',
            output=str(tmp_path / 'run'),
            namespaces=['', '/right'],
            robot='stiff_flop',
        )
        listening(left, right, latched, recorder=node)
        message = Configuration(model='ncm', actuation=[1.0, 2.0])
        message.tip.position.z = 0.04
        right.publish(message)
        left.publish(state(7))
        wanted = ('/left/actuator_state', '/right/configuration', '/right/robot_description')
        wait_until(lambda: all(node.bag.counts.get(t) == 1 for t in wanted))
        assert other.get_subscription_count() == 0
        missing = undocumented((DOCS / 'nodes' / 'recorder.md').read_text(), node, PARAMETERS)
        assert [m for m in missing if not m.startswith(('/', 'actuator', 'right'))] == []
    with BagReader(tmp_path / 'run') as bag:
        assert '/other/text' not in bag.topics
        (found,) = bag.messages(['/right/configuration'])
        assert deserialize_message(found.data, Configuration) == message
        assert found.message.tip.position.z == 0.04
        assert list(found.message.actuation) == [1.0, 2.0]
        assert [r.namespace for r in bag.robots] == ['/left']
        assert 'name: stiff_flop' in bag.robots[0].text
        assert 'transient_local' in bag.topics['/right/robot_description'].qos
    # rosbags checks every type hash against the definition in the file.
    with AnyReader([tmp_path / 'run']) as reader:
        assert {c.topic for c in reader.connections} >= set(wanted)


def test_a_recorder_is_connected_when_every_namespace_is_there(tmp_path):
    with RosSession() as ros:
        left = ros.client.create_publisher(String, '/left/text', 10)
        node = ros.node(Recorder, '/left', output=str(tmp_path / 'run'), namespaces=['', '/right'])
        listening(left, recorder=node)
        Pause().until(time.monotonic() + 1.5 * SETTLED)
        assert not node.connected
        right = ros.client.create_publisher(String, '/right/text', 10)
        listening(right, recorder=node)
        assert not node.connected  # there may be more
        wait_until(lambda: node.connected)
        ros.client.destroy_publisher(right)
        wait_until(lambda: not node.heard('/right/text'))
        assert not node.connected


def test_topics_are_chosen_by_expression(tmp_path):
    with RosSession('/left') as ros:
        kept = ros.client.create_publisher(String, 'kept', 10)
        left_out = ros.client.create_publisher(String, 'kept_not', 10)
        foreign = ros.client.create_publisher(String, '/far/kept', 10)
        node = ros.node(
            Recorder, '/left', output=str(tmp_path / 'run'), topics='kept', exclude='_not$'
        )
        listening(kept, foreign, recorder=node)
        assert left_out.get_subscription_count() == 0
        assert node.topics == ['/far/kept', '/left/kept']


def test_an_expression_chooses_from_the_robots_that_are_named(tmp_path):
    with RosSession() as ros:
        left = ros.client.create_publisher(String, '/left/kept', 10)
        right = ros.client.create_publisher(String, '/right/kept', 10)
        node = ros.node(
            Recorder, '/any', output=str(tmp_path / 'run'), topics='kept', namespaces=['/left']
        )
        wait_until(lambda: len(node.get_publishers_info_by_topic('/right/kept')) == 1)
        listening(left, recorder=node)
        assert not node.wanted('/right/kept') and node.topics == ['/left/kept']
        assert right.get_subscription_count() == 0


@pytest.mark.parametrize(
    ('values', 'said'),
    [({'topics': '('}, 'a regular expression'), ({'output': '.'}, 'a path where nothing is yet')],
)
def test_wrong_parameters_are_refused(tmp_path, monkeypatch, values, said):
    monkeypatch.chdir(tmp_path)
    with RosSession() as ros, pytest.raises(InvalidInput, match=said):
        ros.node(Recorder, **values)
