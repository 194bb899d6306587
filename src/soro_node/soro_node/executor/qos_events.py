# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Events of publishers and subscriptions, looked at twice a second instead of in every turn.

rclpy gives every publisher and every subscription two handlers that warn of peers with another
type or an incompatible quality of service, and puts all of them into each wait set. A node with
ten topics spends half of each turn of its executor on them, and meanwhile keeps the interpreter
lock from the thread that answers a request.
"""

from __future__ import annotations

import time

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.event_handler import EventHandler
from rclpy.node import Node

PERIOD = 0.5  # s
WINDOW = 0.005  # s: within it a turn takes up the handlers, finds them ready and executes them


class SeldomGroup(ReentrantCallbackGroup):
    """A callback group that can execute for a moment twice a second.

    An event lasts until it is taken, so that none is lost: it is handled up to `PERIOD` later, in
    a turn of the executor that something else, a timer for one, has caused.
    """

    def __init__(self) -> None:
        super().__init__()
        self._opened = -PERIOD

    def can_execute(self, entity: object) -> bool:
        """Whether the executor may wait for an entity, or execute it, now."""
        now = time.monotonic()
        if now - self._opened >= PERIOD:
            self._opened = now
        return now - self._opened <= WINDOW


def look_seldom(node: Node, group: SeldomGroup) -> None:
    """Move the event handlers that a node has so far to a group; in the thread that spins it."""
    for waitable in node.waitables:
        if isinstance(waitable, EventHandler):
            waitable.callback_group = group
