# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Events that are looked at seldom are still handled, and cost nothing in between."""

import pytest
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Int32

from soro_node.executor.qos_events import look_seldom, PERIOD, SeldomGroup, WINDOW
from soro_rigs.ros_session import RosSession, wait_until

LOSSY = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class Talker(Node):
    """Publishes best effort; notes who asks for more, and when its handlers are waited for."""

    def __init__(self, **kwargs):
        super().__init__('talker', **kwargs)
        self.refused, self.turns = [], 0
        events = PublisherEventCallbacks(incompatible_qos=self.refused.append)
        self.create_publisher(Int32, 'said', LOSSY, event_callbacks=events)
        self.group = SeldomGroup()
        look_seldom(self, self.group)
        self.create_timer(0.01, self.turn)

    def turn(self):
        """Count."""
        self.turns += 1


@pytest.fixture
def talker():
    with RosSession() as ros:
        node = ros.node(Talker)
        node.ros = ros
        yield node


def test_who_asks_for_more_than_is_offered_is_noticed(talker):
    wait_until(lambda: talker.turns > 3)
    for count in (1, 2):
        talker.ros.listen(Int32, 'said', QoSProfile(depth=1))
        wait_until(lambda count=count: len(talker.refused) == count)
    assert talker.refused[-1].total_count == 2


def test_handlers_are_in_few_of_many_turns(talker):
    waitables = list(talker.waitables)
    assert waitables and all(w.callback_group is talker.group for w in waitables)
    added = []
    for waitable in waitables:
        inner = waitable.add_to_wait_set
        waitable.add_to_wait_set = lambda s, inner=inner: (added.append(1), inner(s))
    start = talker.turns
    wait_until(lambda: talker.turns - start >= 150)
    assert 0 < len(added) < 0.3 * len(waitables) * (talker.turns - start)


def test_the_group_opens_for_a_moment_twice_a_second(monkeypatch):
    now = 100.0
    monkeypatch.setattr('soro_node.executor.qos_events.time.monotonic', lambda: now)
    group = SeldomGroup()
    for _ in range(3):
        assert group.can_execute(None)
        now += 0.9 * WINDOW
        assert group.can_execute(None)  # what was waited for is executed
        now += 0.2 * WINDOW
        assert not group.can_execute(None)
        now += PERIOD - 1.2 * WINDOW
        assert not group.can_execute(None)
        now += 0.2 * WINDOW
