# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The topic `estop`, heard from every publisher, whatever its quality of service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, HistoryPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import Bool

from soro_node.executor.rclpy_private import take_waiting

TOPIC = 'estop'
UNKNOWN = ''  # sender, where this rclpy does not name it
MOST = 1000  # messages of one turn: a flood must not keep the executor from everything else
# A latched press reaches who comes late only by a latched subscription, which is deaf to
# volatile publishers (`ros2 topic pub`); a reliable one is deaf to those of best effort. Every
# message is kept until it is read: under a flood of releases a press must not fall out.
QUALITIES = tuple(
    QoSProfile(history=HistoryPolicy.KEEP_ALL, durability=durability, reliability=reliability)
    for durability, reliability in (
        (DurabilityPolicy.TRANSIENT_LOCAL, ReliabilityPolicy.RELIABLE),
        (DurabilityPolicy.VOLATILE, ReliabilityPolicy.RELIABLE),
        (DurabilityPolicy.VOLATILE, ReliabilityPolicy.BEST_EFFORT),
    )
)


class EstopInput:
    """Hands on presses and releases, each with its sender.

    - `changed`: gets whether it is pressed (bool) and the sender (str), in the thread of the
      executor. A press may come more than once.
    """

    def __init__(self, node: Node, changed: Callable[[bool, str], None]) -> None:
        self._node, self._changed = node, changed
        self._last: dict[str, tuple[int, bool]] = {}  # newest of each sender: number, pressed
        self._subscriptions: list[Any] = []
        self.open()

    def open(self) -> None:
        """Listen; who latches a press is heard again."""
        for quality in QUALITIES:
            self._subscriptions.append(self._subscribe(quality))

    def close(self) -> None:
        """Listen no more."""
        while self._subscriptions:
            self._node.destroy_subscription(self._subscriptions.pop())

    def listen_anew(self) -> None:
        """Hear again what is latched by publishers that are still there."""
        self.close()
        self._last.clear()
        self.open()

    def alive(self) -> set[str]:
        """Return the senders that are there now, as they are named to `changed`."""
        found = self._node.get_publishers_info_by_topic(self._node.resolve_topic_name(TOPIC))
        return {bytes(info.endpoint_gid).hex() for info in found}

    def _subscribe(self, quality: QoSProfile) -> Any:
        subscription: Any = None

        def take(message: Bool, information: dict[str, Any]) -> None:
            self._take(message, information)
            for waiting in take_waiting(subscription, MOST):
                self._take(*waiting)

        # No warning about publishers that one of them is deaf to: another one hears them.
        events = SubscriptionEventCallbacks(use_default_callbacks=False)
        subscription = self._node.create_subscription(
            Bool, TOPIC, take, quality, event_callbacks=events
        )
        return subscription

    def _take(self, message: Bool, information: dict[str, Any]) -> None:
        identity = information.get('publisher_gid')
        sender = bytes(identity['data']).hex() if identity else UNKNOWN
        number = information.get('publication_sequence_number')
        pressed = bool(message.data)
        if sender == UNKNOWN or number is None:
            self._changed(pressed, sender)
            return
        newest, since = self._last.get(sender, (0, pressed))
        if number >= newest:
            self._last[sender] = number, pressed
            self._changed(pressed, sender)
        elif pressed and not since:  # another subscription is ahead, and may have lost this press
            self._changed(True, sender)
            self._changed(False, sender)
