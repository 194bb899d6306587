# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A flood of one publisher hides nobody else's message, and is not unpacked."""

from __future__ import annotations

import time

from rclpy.qos import QoSProfile, ReliabilityPolicy
import rclpy.subscription

from soro_msgs.msg import ActuatorCommand
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.qos import COMMANDS
from soro_rigs.ros_session import RosSession, wait_until

FLOOD = 400  # less than the history holds
NAMED = hasattr(rclpy.subscription, 'MessageInfo')  # or an rclpy that names no publishers


def test_the_newest_of_every_publisher_is_read_once():
    with RosSession() as ros:
        polled = PolledSubscriptions(ros.client)
        ros.do(ros.client, polled.open, ActuatorCommand, 'command', COMMANDS)
        best = QoSProfile(depth=FLOOD, reliability=ReliabilityPolicy.RELIABLE)
        quiet, loud = (
            ros.do(ros.client, ros.client.create_publisher, ActuatorCommand, 'command', best)
            for _ in range(2)
        )
        wait_until(lambda: quiet.get_subscription_count() and loud.get_subscription_count())
        read: list = []

        def newest():
            read.extend(polled.newest_of_each('command'))
            return [m for m, _ in read if m.value]  # not what made them known to each other

        def heard(publisher, source):
            publisher.publish(ActuatorCommand(source=source))
            newest()
            return source in {m.source for m, _ in read}

        for publisher, source in ((quiet, 'quiet'), (loud, 'loud')):  # they know each other
            wait_until(lambda p=publisher, s=source: heard(p, s))
        sent = time.monotonic()
        quiet.publish(ActuatorCommand(source='quiet', value=[1.0]))
        for i in range(FLOOD):
            loud.publish(ActuatorCommand(source='loud', value=[float(i)]))
        read.clear()
        wait_until(lambda: {m.source for m in newest()} == {'quiet', 'loud'})
        (only,) = [m for m in newest() if m.source == 'quiet']
        assert list(only.value) == [1.0]
        wait_until(lambda: [m for m in newest() if m.source == 'loud'][-1].value[0] == FLOOD - 1)
        # The newest each time it was asked, or all.
        assert len(read) < FLOOD / 4 if NAMED else len(read) > FLOOD
        assert all(0.0 <= age <= time.monotonic() - sent for _, age in read)
        assert polled.newest_of_each('command') == []


def test_a_wall_clock_that_is_set_forward_makes_no_message_old(monkeypatch):
    with RosSession() as ros:
        polled, read = PolledSubscriptions(ros.client), []
        ros.do(ros.client, polled.open, ActuatorCommand, 'command', COMMANDS)
        sender = ros.do(ros.client, ros.client.create_publisher, ActuatorCommand, 'command', 1)
        wait_until(sender.get_subscription_count)
        since = time.monotonic()
        polled.newest_of_each('command')
        sender.publish(ActuatorCommand(source='a'))
        wall = time.time_ns
        monkeypatch.setattr(time, 'time_ns', lambda: wall() + 3_600_000_000_000)
        wait_until(lambda: read.extend(polled.newest_of_each('command')) or read)
        assert 0.0 <= read[0][1] <= time.monotonic() - since
