# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Other programs move objects and add a wrench over topics; a stream alone moves nothing."""

import threading
import time

from device_in_memory import renderer_in_memory
from geometry_msgs.msg import PoseStamped, TransformStamped, WrenchStamped
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from recorded_rig import nominal_calibration
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from soro_haptics.environment_messages import object_to_message
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_calibration import save_calibration
from soro_mechanics.haptics.virtual_environment import Shape, VirtualObject
from soro_msgs.srv import SetVirtualEnvironment
from soro_node import transforms
from soro_node.transforms import STATIC
from soro_rigs.ros_session import wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

DONE = TransitionCallbackReturn.SUCCESS


@pytest.fixture
def live(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, _, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    assert ros.do(node, node.trigger_configure) == DONE
    assert ros.do(node, node.trigger_activate) == DONE
    wait_until(lambda: node._control.estimated)

    def found():
        return node._control.environment.live

    found.node = node
    return found


def feel(ros, *objects):
    request = SetVirtualEnvironment.Request(objects=[object_to_message(o) for o in objects])
    return ros.call(SetVirtualEnvironment, 'haptic_renderer/set_environment', request)


def sender(ros, kind, topic):
    return ros.client.create_publisher(kind, f'haptic_renderer/{topic}', 1)


def test_an_object_follows_a_pose_that_is_heard(ros, live):
    door = VirtualObject('door', Shape.WALL, follows_goal=True)
    reply = feel(ros, door)
    assert reply.error_code == Code.NO_STATE and 'objects[0].follows_goal' in reply.error_message
    goals, message = sender(ros, PoseStamped, 'goal_pose'), PoseStamped()
    message.pose.position.z, message.pose.orientation.w = -0.02, 1.0

    def accepted():
        goals.publish(message)
        return feel(ros, door).error_code == Code.NONE

    wait_until(accepted)
    assert live().goal[2, 3] == -0.02  # at once, where nobody touches it
    message.pose.position.z = -0.03

    def followed():
        goals.publish(message)
        return abs(live().goal[2, 3] + 0.03) < 1e-9

    wait_until(followed)
    message.header.frame_id, message.pose.position.z = 'elsewhere', -0.05
    said, both = live.node.diagnostics, ("'elsewhere'", "'arm/base_link'")

    def refused():
        goals.publish(message)
        return all(name in said.status('goal_pose').message for name in both)

    wait_until(refused)
    assert abs(live().goal[2, 3] + 0.03) < 1e-9  # what it followed stays


def test_goals_and_wrenches_may_be_in_a_frame_of_tf(ros, live):
    assert feel(ros).error_code == Code.NONE
    table = TransformStamped(child_frame_id='table')
    table.header.frame_id = 'arm/base_link'
    table.transform.translation.z = -0.06
    table.transform.rotation.z, table.transform.rotation.w = np.sin(0.3), np.cos(0.3)
    ros.client.create_publisher(TFMessage, '/tf_static', STATIC).publish(
        TFMessage(transforms=[table])
    )
    goals, wrenches = (
        sender(ros, kind, topic)
        for kind, topic in ((PoseStamped, 'goal_pose'), (WrenchStamped, 'added_wrench'))
    )
    goal, wrench = PoseStamped(), WrenchStamped()
    goal.header.frame_id = wrench.header.frame_id = 'table'
    goal.pose.position.x, goal.pose.position.z, goal.pose.orientation.w = 0.01, 0.02, 1.0
    wrench.wrench.force.x = 0.5
    streams = live.node._streams

    def placed():
        goals.publish(goal)
        return streams._goal is not None and np.allclose(
            streams._goal[0][:3, 3], [0.01 * np.cos(0.6), 0.01 * np.sin(0.6), -0.04]
        )

    def added():
        wrenches.publish(wrench)
        return np.allclose(live().wrench[:2], [0.5 * np.cos(0.6), 0.5 * np.sin(0.6)], atol=1e-3)

    wait_until(placed)
    wait_until(added)


def test_what_is_sent_once_waits_for_its_frame_and_no_longer(ros, live, monkeypatch):
    monkeypatch.setattr(transforms, 'WAIT', 30.0)
    assert feel(ros).error_code == Code.NONE
    streams, reports, threads = live.node._streams, [], set()
    monkeypatch.setattr(streams.wrench, 'report', lambda: reports.append(0))
    wait_until(lambda: len(reports) > 0)
    lookup = streams._goals._lookup

    def looked(header):
        threads.add(threading.current_thread().name)
        return lookup(header)

    monkeypatch.setattr(streams._goals, '_lookup', looked)
    goals, goal = sender(ros, PoseStamped, 'goal_pose'), PoseStamped()
    goal.header.frame_id, goal.pose.position.x, goal.pose.orientation.w = 'bench', 0.01, 1.0
    wait_until(lambda: goals.get_subscription_count() > 0)
    goals.publish(goal)
    wait_until(lambda: len(streams._goals._waiting) == 1)
    assert streams._goal is None
    assert feel(ros).error_code == Code.NONE  # the loop's thread waits for no frame
    bench = TransformStamped(child_frame_id='bench')
    bench.header.frame_id, bench.transform.rotation.w = 'arm/base_link', 1.0
    bench.transform.translation.z = -0.05
    known = ros.client.create_publisher(TFMessage, '/tf_static', STATIC)
    known.publish(TFMessage(transforms=[bench]))
    wait_until(lambda: streams._goal is not None)  # nobody sends, asks or reports meanwhile
    np.testing.assert_allclose(streams._goal[0][:3, 3], [0.01, 0.0, -0.05])
    wait_until(lambda: not streams._goals._waiting and streams._goals._timer is None)
    assert len(threads) == 1


def test_a_wrench_is_added_once_an_environment_was_asked_for_and_ends_by_itself(ros, live):
    wrenches, message = sender(ros, WrenchStamped, 'added_wrench'), WrenchStamped()
    message.header.frame_id, message.wrench.force.x = 'arm/tip_aligned', 0.5

    def added():
        wrenches.publish(message)
        return abs(live().wrench[0] - 0.5) < 1e-3

    with pytest.raises(TimeoutError):
        wait_until(added, 1.0)
    assert not live().wrench.any()
    assert feel(ros).error_code == Code.NONE
    wait_until(added)
    wait_until(lambda: not live().pushes)  # nobody sends any more
    wait_until(added)
    assert ros.call(Trigger, 'driver/stop', Trigger.Request()).success
    assert ros.call(Trigger, 'driver/clear_fault', Trigger.Request()).success
    with pytest.raises(TimeoutError):  # nobody has asked since
        wait_until(added, 1.0)
    assert np.abs(live().wrench).max() < 1e-3


def test_a_message_that_waited_behind_a_busy_executor_is_as_old_as_it_is(ros, live):
    """It grows old from when it reached this process, not from when somebody looked at it."""
    assert feel(ros).error_code == Code.NONE
    streams, timeout = live.node._streams, live.node._table.stream_timeout
    kinds = {'added_wrench': WrenchStamped, 'goal_pose': PoseStamped}
    senders = [sender(ros, kind, topic) for topic, kind in kinds.items()]
    wait_until(lambda: all(s.get_subscription_count() for s in senders))
    wrench, goal = WrenchStamped(), PoseStamped()
    wrench.header.frame_id, wrench.wrench.force.x = 'arm/tip_aligned', 0.5
    goal.header.frame_id, goal.pose.orientation.w = 'arm/base_link', 1.0

    def busy():
        for publisher, message in zip(senders, (wrench, goal), strict=True):
            publisher.publish(message)
        end = time.monotonic() + 3.0 * timeout
        wait_until(lambda: time.monotonic() > end)
        return end

    end = ros.do(live.node, busy)
    wait_until(lambda: streams.wrench._received is not None and streams._goal is not None)
    for arrival in (streams.wrench._received.arrival, streams._goal[1]):
        assert arrival < end - 2.0 * timeout
    assert not streams.wrench.present
