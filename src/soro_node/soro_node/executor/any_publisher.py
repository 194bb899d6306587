# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics of single messages that must arrive, heard from best-effort publishers as well.

A reliable subscription hears no best-effort publisher. A best-effort one hears both, but loses
what is sent once (`ros2 topic pub --once`): the publisher may know it before it knows the
publisher, and nothing is sent again. So the topic is heard reliably, and a second time, best
effort, from the moment on that a publisher offers no more; what then comes twice is taken once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from rclpy.event_handler import SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSProfile

from soro_node.qos import LOSSY

REMEMBERED = 16  # messages; a second copy comes with the next ones at the latest


class AnyPublisherSubscription:
    """A subscription that hears publishers of either reliability.

    `callback`: gets each message once; `qos`: reliable, of the first subscription.
    """

    def __init__(
        self, node: Node, kind: Any, topic: str, callback: Callable[[Any], None], qos: QoSProfile
    ) -> None:
        self._node, self._kind, self._topic, self._callback = node, kind, topic, callback
        self._taken: deque[tuple[Any, Any]] = deque(maxlen=REMEMBERED)
        events = SubscriptionEventCallbacks(incompatible_qos=self._on_incompatible)
        self._subscriptions = [
            node.create_subscription(kind, topic, self._take, qos, event_callbacks=events)
        ]

    def destroy(self) -> None:
        """Listen no more; in the thread that spins."""
        subscriptions, self._subscriptions = self._subscriptions, []
        for subscription in subscriptions:
            self._node.destroy_subscription(subscription)

    def _on_incompatible(self, event: Any) -> None:
        if len(self._subscriptions) == 1:
            self._subscriptions.append(
                self._node.create_subscription(self._kind, self._topic, self._take, LOSSY)
            )

    def _take(self, message: Any, information: Any) -> None:
        if len(self._subscriptions) > 1:
            # Both copies have the publisher's stamp and number; the middleware of a publisher
            # that gives no stamp makes all look alike, so the content counts too.
            stamp = information.get('source_timestamp', 0)
            key = (stamp, information.get('publication_sequence_number', 0))
            if any(key == k and message == m for k, m in self._taken):
                return
            self._taken.append((key, message))
        self._callback(message)
