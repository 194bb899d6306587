# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A node on simulated time says that nobody publishes it, and only then."""

from __future__ import annotations

import time

import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock

from soro_node.executor.clock_watch import watch_clock
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import RosSession, wait_until


@pytest.mark.parametrize(('simulated', 'published'), [(True, False), (True, True), (False, False)])
def test_only_a_missing_clock_is_said(simulated, published, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    with RosSession() as ros:
        override = [Parameter('use_sim_time', value=simulated)]
        node = Node('simulated', context=ros.context, parameter_overrides=override)
        said = []
        monkeypatch.setattr(node, 'get_logger', lambda: type('', (), {'warning': said.append}))
        if published:
            other = Node('simulator', context=ros.context)
            publisher = other.create_publisher(Clock, '/clock', 1)
            message = Clock()
            message.clock.sec = 7
            other.create_timer(0.02, lambda: publisher.publish(message))
            ros.spin(other)
        ros.spin(node)
        if published:
            assert wait_until(lambda: node.get_clock().now().nanoseconds > 0, 5.0)
        watch_clock(node, 0.2)
        end = time.monotonic() + 0.8
        wait_until(lambda: bool(said) or time.monotonic() > end, 2.0)
        assert bool(said) is (simulated and not published)
        assert all('/clock' in text for text in said)
