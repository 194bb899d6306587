# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Newest messages, taken when they are needed.

A driver may speak 500 times a second and a screen shows 30 pictures: with a callback for every
message the reading would cost more than the drawing. These subscriptions stand outside of the
executor's wait set, and the display takes the newest message of each when it draws.
"""

from __future__ import annotations

from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile


class Unattended(CallbackGroup):
    """A callback group whose members no executor waits for."""

    def can_execute(self, entity: Any) -> bool:
        """Never."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing to do."""


class Inbox:
    """Subscriptions of a node that are read by asking.

    Parameters
    ----------
    node : Node
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = Unattended()
        self._subscriptions: dict[str, Any] = {}

    def open(self, kind: Any, topic: str, qos: QoSProfile) -> None:
        """Listen to a topic; again is no harm."""
        if topic not in self._subscriptions:
            self._subscriptions[topic] = self._node.create_subscription(
                kind, topic, _unused, qos, callback_group=self._group
            )

    def close(self, topic: str) -> None:
        """Listen no more."""
        subscription = self._subscriptions.pop(topic, None)
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def close_all(self) -> None:
        """Listen to nothing any more."""
        for topic in list(self._subscriptions):
            self.close(topic)

    def newest(self, topic: str) -> Any:
        """Return the newest message since the last call, or None."""
        messages = self.all(topic)
        return messages[-1] if messages else None

    def all(self, topic: str) -> list[Any]:
        """Return the messages since the last call, as many as the history holds."""
        subscription = self._subscriptions.get(topic)
        messages: list[Any] = []
        if subscription is None:
            return messages
        with subscription.handle:
            # Bounded, so that a flood of messages cannot keep the display here.
            for _ in range(subscription.qos_profile.depth):
                taken = subscription.handle.take_message(subscription.msg_type, False)
                if taken is None:
                    break
                messages.append(taken[0])
        return messages


def _unused(message: Any) -> None:
    """Stand where rclpy wants a callback; no executor calls it."""
