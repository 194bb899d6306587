# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""States of the driver: each one as it comes while somebody wants that, else the newest."""

from __future__ import annotations

from collections.abc import Callable
import math
import time
from typing import Any

from rclpy.node import Node

from soro_msgs.msg import ActuatorState
from soro_node.conversions import HasActuators
from soro_node.executor.clock_watch import steady_timer
from soro_node.inputs.actuator_feedback import ActuatorFeedback
from soro_node.inputs.polled_feedback import PolledFeedback

# Of the period: a state this soon after the last one, or waiting already when the gate is opened,
# belongs to a stream that is too fast.
EARLY, WAITING = 0.75, 0.25


class StateStream(PolledFeedback):
    """Feedback that is followed state by state, or read when it is asked for.

    `timeout`: feedback older than this [s] does not count. `rate`: at most so many states a second
    are followed [Hz]. `follow`: gets each of them, in the thread that spins.
    """

    def __init__(
        self,
        node: Node,
        robot: HasActuators,
        timeout: float,
        rate: float,
        follow: Callable[[ActuatorFeedback], None],
    ) -> None:
        super().__init__(node, robot, timeout)
        self._period, self._follow = 1.0 / rate, follow
        self._followed, self._last, self._opened = False, -math.inf, -math.inf
        self._opener: Any = None

    def open(self) -> None:
        """Listen, at first when asked only."""
        super().open()
        self._opener = steady_timer(self._node, self._period, self._open_gate)
        self._opener.cancel()

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        if self._opener is not None:
            self._node.destroy_timer(self._opener)
            self._opener = None
        super().close()
        self._followed = self._gate.is_open = False

    def attend(self, wanted: bool) -> None:
        """Follow every state from now on, or none; in the thread that spins."""
        if wanted == self._followed:
            return
        self._followed = self._gate.is_open = wanted
        if not wanted:
            self._opener.cancel()

    def _read(self) -> None:
        if not self._followed:  # else the executor takes every message
            super()._read()

    def _on_message(self, message: ActuatorState) -> None:
        now = time.monotonic()
        if now - self._last < EARLY * self._period or now - self._opened < WAITING * self._period:
            self._gate.is_open = False
            self._opener.reset()
        self._last = now
        feedback = self._take(message)
        if feedback is not None:
            self._follow(feedback)

    def _open_gate(self) -> None:
        self._opener.cancel()
        self._gate.is_open, self._opened = self._followed, time.monotonic()
