# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Newest messages, taken when they are needed.

A driver may speak 500 times a second, a screen shows 30 pictures and a service is asked once an
hour: a callback for every message would cost more than all else the node does. These
subscriptions stand outside of the executor's wait set, and whoever needs the newest message takes
it. `PolledCallbackGroup` opens and closes a subscription for the executor while it runs.
"""

from __future__ import annotations

from collections import deque
import heapq
import time
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message

from soro_node.executor.rclpy_private import take_waiting


class PolledCallbackGroup(ReentrantCallbackGroup):
    """A callback group whose members an executor waits for while it is open.

    - `is_open`: to be changed in the thread that spins; it counts from the executor's next turn.
    """

    is_open = False

    def can_execute(self, entity: Any) -> bool:
        """Whether the gate is open."""
        return self.is_open

    beginning_execution = can_execute  # it may have been closed meanwhile


class PolledSubscriptions:
    """Subscriptions of a node that are read by asking."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._group = PolledCallbackGroup()
        self._subscriptions: dict[str, Any] = {}
        self._looked: dict[str, float] = {}  # when `newest_of_each` was asked last, steady clock

    def open(self, kind: Any, topic: str, qos: QoSProfile) -> None:
        """Listen to a topic; again is no harm."""
        if topic not in self._subscriptions:
            self._looked[topic] = time.monotonic()
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
        return [] if subscription is None else [m for m, _ in take_all(subscription)]

    def newest_of_each(self, topic: str, most: int = 1) -> list[tuple[Any, float]]:
        """Return the newest messages of every publisher since the last call, with their ages [s].

        A flood of one publisher costs the reader little, and hides nobody else's message. Where
        the middleware names no publishers (Jazzy) every message that waits is returned. What the
        last call did not find has come since then, whatever was done to the wall clock.
        """
        subscription = self._subscriptions.get(topic)
        if subscription is None:
            return []
        now = time.monotonic()
        since, self._looked[topic] = now - self._looked[topic], now
        return [(m, min(age, since)) for m, age in take_newest_of_each(subscription, most)]


def take_all(subscription: Any) -> list[tuple[Any, float]]:
    """Take the messages that wait in a subscription, in any thread: oldest first, and their ages.

    An age is the time since the message reached this process [s].
    """
    waiting = take_waiting(subscription, subscription.qos_profile.depth)
    return [(message, _age(information)) for message, information in waiting]


def take_newest_of_each(subscription: Any, most: int) -> list[tuple[Any, float]]:
    """Take the messages that wait; return the newest of every publisher, oldest first, and ages.

    Only these, `most` of each, are unpacked, which is most of the work.
    """
    newest: dict[Any, deque[tuple[int, bytes, float]]] = {}
    waiting = take_waiting(subscription, subscription.qos_profile.depth, packed=True)
    for number, (data, information) in enumerate(waiting):
        identity = information.get('publisher_gid')
        sender = bytes(identity['data']) if identity else number
        kept = newest.setdefault(sender, deque(maxlen=most))
        kept.append((number, data, _age(information)))
    kind = subscription.msg_type
    taken = heapq.merge(*newest.values(), key=lambda entry: entry[0])
    return [(deserialize_message(data, kind), age) for _, data, age in taken]


def _age(information: dict[str, Any]) -> float:
    """Return since when a message is in this process [s]."""
    received = information.get('received_timestamp', 0)
    age = 1e-9 * (time.time_ns() - received) if received > 0 else 0.0
    return max(0.0, age)  # a clock that was set back makes nothing new


def arrival_of(information: dict[str, Any]) -> float:
    """Return when a message reached this process [s, steady clock], however late it is taken."""
    return time.monotonic() - _age(information)


def _unused(message: Any) -> None:
    """Stand where rclpy wants a callback; no executor calls it."""
