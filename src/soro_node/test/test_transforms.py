# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frames at a moment, against scipy's rotations; wrenches from frames by their power."""

from types import SimpleNamespace

from geometry_msgs.msg import TransformStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.qos import QoSProfile
from scipy.spatial.transform import Rotation, Slerp
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage

from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.sensor_sections import ForceSensor
from soro_node.conversions import wrench_to_message
from soro_node.diagnostics import Diagnostics
from soro_node.frames import Frames
from soro_node.inputs.wrench_input import WrenchInput
from soro_node.transforms import (
    NoTransform,
    STATIC,
    TransformBuffer,
    TransformFilter,
    TransformListener,
)
from soro_rigs.ros_session import RosSession, wait_until

SECOND = 10**9
START = 1000 * SECOND


def pose(position, turn=(0.0, 0.0, 0.0)):
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_rotvec(turn).as_matrix()
    matrix[:3, 3] = position
    return matrix


def link(parent, child, matrix, stamp=0):
    message = TransformStamped(child_frame_id=child)
    message.header.frame_id = parent
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
    t, r = message.transform.translation, message.transform.rotation
    t.x, t.y, t.z = matrix[:3, 3].tolist()
    r.x, r.y, r.z, r.w = Rotation.from_matrix(matrix[:3, :3]).as_quat().tolist()
    return TFMessage(transforms=[message])


ROOM, BASE = pose((1, 0, 0), (0, 0, 1)), pose((0, 2, 0), (1, 0, 0))
BEFORE, AFTER = pose((0, 0, 3), (0.4, 0, 1)), pose((0.6, 0, 3), (-0.4, 2.0, 1))


@pytest.fixture
def buffer():
    """Return a base in a room, and a camera that moved within the last second."""
    made = TransformBuffer()
    made.update(link('map', 'room', ROOM), static=True)
    made.update(link('/room', 'arm/base_link', BASE), static=True)
    made.update(link('map', 'camera', BEFORE, START), static=False)
    made.update(link('map', 'camera', AFTER, START + SECOND), static=False)
    late = BEFORE + 0.8 * (AFTER - BEFORE)
    late[:3, :3] = Slerp([0.0, 1.0], Rotation.from_matrix([BEFORE[:3, :3], AFTER[:3, :3]]))(
        0.8
    ).as_matrix()
    made.update(link('map', 'camera', late, START + 4 * SECOND // 5), static=False)  # out of order
    return made


def look(buffer, source, stamp=0, target='arm/base_link', now=START + SECOND):
    return buffer.lookup(target, source, stamp, now)


def test_frames_are_connected_through_their_common_ancestor_at_the_stamp(buffer):
    to_base = np.linalg.inv(ROOM @ BASE)
    turns = Slerp([0.0, 1.0], Rotation.from_matrix([BEFORE[:3, :3], AFTER[:3, :3]]))
    for share in (0.0, 0.3, 1.0):
        camera = np.eye(4)
        camera[:3, :3] = turns(share).as_matrix()
        camera[:3, 3] = BEFORE[:3, 3] + share * (AFTER - BEFORE)[:3, 3]
        stamp = START + round(share * SECOND)
        assert look(buffer, 'camera', stamp) == pytest.approx(to_base @ camera, abs=1e-12)
        back = look(buffer, 'arm/base_link', stamp, 'camera')
        assert back == pytest.approx(np.linalg.inv(to_base @ camera), abs=1e-12)
    assert look(buffer, 'camera') == pytest.approx(to_base @ AFTER)  # no stamp: the newest
    assert look(buffer, '/map', 5) == pytest.approx(to_base)  # static at any time
    assert look(buffer, 'arm/base_link') == pytest.approx(np.eye(4))
    assert buffer.ancestors('arm/base_link') == ['arm/base_link', 'room', 'map']


@pytest.mark.parametrize(
    ('source', 'stamp', 'now', 'pending'),
    [
        ('nowhere', START, START, True),
        ('camera', START - 1, START + SECOND, False),
        ('camera', START + SECOND + 1, START + SECOND, True),
        ('camera', 0, START + 2 * SECOND + 1, True),  # stale
    ],
)
def test_stale_and_extrapolated_are_refused_with_both_names(buffer, source, stamp, now, pending):
    with pytest.raises(NoTransform) as caught:
        look(buffer, source, stamp, now=now)
    assert caught.value.pending is pending
    assert caught.value.code is Code.UNKNOWN_FRAME
    assert all(repr(name) in str(caught.value) for name in (source, 'arm/base_link'))


def test_history_is_bounded_and_a_clock_set_back_begins_anew(buffer):
    for k in range(2000):
        buffer.update(link('map', 'camera', AFTER, START + k * SECOND // 50), static=False)
    kept = buffer._links['camera']
    assert len(kept.samples) == 501
    buffer.update(link('map', 'camera', BEFORE, 5), static=False)
    assert look(buffer, 'camera', 5, 'map') == pytest.approx(BEFORE)
    buffer.update(link('room', 'camera', AFTER, 5), static=False)  # hung up elsewhere
    assert look(buffer, 'camera', 5, 'map') == pytest.approx(ROOM @ AFTER)


@pytest.mark.parametrize('step', [SECOND // 2, 5 * SECOND])
def test_after_a_clock_was_set_back_nothing_is_of_before(buffer, step):
    set_at = START + 10 * SECOND
    for k in range(300):
        buffer.update(link('map', 'camera', BEFORE, set_at - (300 - k) * SECOND // 30), False)
    for k in range(10):  # now it is elsewhere
        stamp = set_at - step + k * SECOND // 30
        buffer.update(link('map', 'camera', AFTER, stamp), static=False)
        for asked in (0, stamp):
            found = look(buffer, 'camera', asked, 'map', now=stamp)
            assert found == pytest.approx(AFTER)


def test_circles_and_nonsense_do_no_harm(buffer):
    buffer.update(link('camera', 'map', AFTER, START), static=False)
    with pytest.raises(NoTransform):
        look(buffer, 'nowhere')
    nonsense = link('map', 'mirror', AFTER, START)
    nonsense.transforms[0].transform.rotation.w = 5.0
    buffer.update(nonsense, static=True)
    with pytest.raises(NoTransform):
        look(buffer, 'mirror', target='map')


def test_messages_wait_in_their_order_for_what_is_on_its_way(monkeypatch):
    now = [0.0]
    monkeypatch.setattr('soro_node.transforms.time.monotonic', lambda: now[0])
    known, taken = set(), []

    def lookup(header):
        if header.frame_id in known:
            return np.eye(4)
        raise NoTransform(header.frame_id, 'base', pending=header.frame_id != 'never')

    def take(message, arrival, found):
        taken.append((message.frame, arrival, isinstance(found, NoTransform)))

    class Message:
        def __init__(self, frame):
            self.frame, self.header = frame, Header(frame_id=frame)

    timers = []
    node = SimpleNamespace(
        create_timer=lambda period, call, clock: timers.append(call) or call,
        destroy_timer=timers.remove,
    )
    waiting = TransformFilter(node, lookup, take)
    for frame in ('soon', 'never', 'late'):
        waiting.add(Message(frame))
    assert taken == []
    now[0] = 0.1
    known.add('soon')
    waiting.proceed()
    assert taken == [('soon', 0.0, False), ('never', 0.0, True)]
    now[0] = 0.3
    waiting.proceed()
    assert taken[2:] == [('late', 0.0, True)]
    assert not timers
    waiting.add(Message('soon'))
    assert not timers  # nothing waits
    for frame in ('later', 'later'):
        waiting.add(Message(frame))
    assert timers == [waiting.proceed]


def test_a_wrench_of_a_sensor_on_the_tip_has_the_same_power_at_the_tip():
    frames, rng = Frames('arm/'), np.random.default_rng(3)
    sensor, tip = pose((0.01, 0.02, 0.03), (0.3, -1.0, 0.5)), pose((0.1, 0.2, 0.3), (0, 1, 1))
    world = pose((1.0, -2.0, 0.5), (0.2, 0.4, 0))
    with RosSession('/arm') as ros:
        ros.client.diagnostics = Diagnostics(ros.client)
        ros.client.transforms = TransformListener(ros.client)
        held = WrenchInput(ros.client, 5.0, frames)
        ros.do(ros.client, held.open)
        make = ros.client.create_publisher
        static = make(TFMessage, '/tf_static', STATIC)
        moving = make(TFMessage, '/tf', QoSProfile(depth=100))
        static.publish(link('world', frames.base_link, np.linalg.inv(world)))
        static.publish(link(frames.tip, 'sensor', sensor))
        wrench, twist = rng.normal(size=6), rng.normal(size=6)  # of the tip, axes of base_link
        stamp = ros.client.get_clock().now().nanoseconds
        # The tip has moved since: a sensor on it is where the model's tip is.
        frames_at = {'sensor': tip @ sensor, 'world': world}
        for source, place in frames_at.items():
            message = WrenchStamped(wrench=wrench_to_message(wrench))
            message.header.frame_id = source
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)
            arm, rotation = place[:3, 3] - tip[:3, 3], place[:3, :3]
            velocity = twist[:3] + np.cross(twist[3:], arm)
            there = np.concatenate([rotation.T @ velocity, rotation.T @ twist[3:]])

            def arrived(message=message, there=there):
                moving.publish(link(frames.base_link, frames.tip, pose((0, 0, 9)), stamp))
                ros.do(ros.client, held._on_message, message, {})
                return held.at_tip(tip) @ twist == pytest.approx(wrench @ there)

            wait_until(arrived)
        message.header.frame_id = 'elsewhere'
        before = held.at_tip(tip)

        def refused():
            ros.do(ros.client, held._on_message, message, {})
            ros.do(ros.client, held.report)
            status = ros.client.diagnostics.status('external_wrench').message
            return "'elsewhere'" in status and "'arm/base_link'" in status

        wait_until(refused)
        assert held.at_tip(tip) == pytest.approx(before)
        ros.do(ros.client, held.close)


def test_zero_and_tool_of_a_force_sensor_are_taken_off_where_the_robot_file_names_its_frame():
    frames, rng = Frames('arm/'), np.random.default_rng(4)
    sensor, tip = pose((0.01, 0.02, 0.03), (0.3, -1.0, 0.5)), pose((0.1, 0.2, 0.3), (0, 1, 1))
    gravity, centre, mass = np.array([0.0, 0.0, -9.81]), np.array([0.0, 0.01, 0.03]), 0.2
    zero, load = rng.normal(size=6), rng.normal(size=6)  # in the axes of the sensor
    binding = SimpleNamespace(
        frames=frames,
        description=SimpleNamespace(
            structure={'force_sensor': ForceSensor('sensor', zero, mass, centre)}
        ),
        robot=SimpleNamespace(gravity=gravity),
    )
    with RosSession('/arm') as ros:
        ros.client.diagnostics = Diagnostics(ros.client)
        ros.client.transforms = TransformListener(ros.client)
        corrected, raw = (WrenchInput(ros.client, 5.0, of) for of in (binding, frames))
        for held in (corrected, raw):
            ros.do(ros.client, held.open)
        static = ros.client.create_publisher(TFMessage, '/tf_static', STATIC)
        moving = ros.client.create_publisher(TFMessage, '/tf', QoSProfile(depth=100))
        static.publish(link(frames.tip, 'arm/sensor', sensor))
        stamp = ros.client.get_clock().now().nanoseconds
        # What the tool weighs on the sensor, from its weight at its centre of mass in base_link.
        place = tip @ sensor
        at_centre = place @ np.append(centre, 1.0)
        moment = np.cross(at_centre[:3] - place[:3, 3], mass * gravity)
        weight = np.append(place[:3, :3].T @ (mass * gravity), place[:3, :3].T @ moment)
        for held, reading in ((corrected, load + zero + weight), (raw, load)):
            message = WrenchStamped(wrench=wrench_to_message(reading))
            message.header.frame_id = 'arm/sensor'
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, SECOND)

            def arrived(held=held, message=message):
                moving.publish(link(frames.base_link, frames.tip, tip, stamp))
                ros.do(ros.client, held._on_message, message, {})
                return held.present

            wait_until(arrived)
        assert corrected.at_tip(tip) == pytest.approx(raw.at_tip(tip))
        for held in (corrected, raw):
            ros.do(ros.client, held.close)
