# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Single messages are heard once, from publishers of either reliability."""

import pytest
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Int32

from soro_node.executor.any_publisher import AnyPublisherSubscription
from soro_node.qos import LOSSY, NEWEST
from soro_rigs.ros_session import RosSession, wait_until

TOPIC = '/target'
RELIABLE = QoSProfile(depth=10)


@pytest.fixture
def ros():
    with RosSession() as session:
        session.heard = []
        session.listener = session.node(lambda **options: Node('listener', **options))
        session.subscription = session.do(
            session.listener,
            AnyPublisherSubscription,
            session.listener,
            Int32,
            TOPIC,
            lambda message: session.heard.append(message.data),
            NEWEST,
        )
        yield session


def publisher(ros, qos, matched):
    made = ros.do(ros.client, ros.client.create_publisher, Int32, TOPIC, qos)
    wait_until(lambda: made.get_subscription_count() >= matched)
    return made


def test_one_message_of_a_reliable_publisher_is_heard(ros):
    publisher(ros, RELIABLE, 1).publish(Int32(data=3))
    wait_until(lambda: ros.heard == [3])


def test_best_effort_publishers_are_heard_too(ros):
    lossy = publisher(ros, LOSSY, 1)
    wait_until(lambda: (lossy.publish(Int32(data=4)), ros.heard)[1])


def test_what_comes_twice_is_taken_once(ros):
    lossy, reliable = publisher(ros, LOSSY, 1), publisher(ros, RELIABLE, 2)
    for number in range(50):
        reliable.publish(Int32(data=number))
        wait_until(lambda expected=number: ros.heard[-1:] == [expected])
    # The same content sent again is a message of its own.
    for _ in range(3):
        count = len(ros.heard)
        reliable.publish(Int32(data=7))
        wait_until(lambda before=count: len(ros.heard) > before)
    wait_until(lambda: (lossy.publish(Int32(data=99)), ros.heard[-1] == 99)[1])
    assert [n for n in ros.heard if n != 99] == [*range(50), 7, 7, 7]


def test_nothing_is_heard_after_the_end(ros):
    lossy = publisher(ros, LOSSY, 1)
    ros.do(ros.listener, ros.subscription.destroy)
    wait_until(lambda: lossy.get_subscription_count() == 0)
