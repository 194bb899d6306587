# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The present actuation of a robot for nodes that need it now and then."""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from soro_mechanics.core.errors import InvalidInput
from soro_msgs.msg import ActuatorState
from soro_node.conversions import HasActuators
from soro_node.diagnostics import Level
from soro_node.executor.polled_subscriptions import PolledCallbackGroup, take_all
from soro_node.inputs.actuator_feedback import ActuatorFeedback, LatestFeedback, NANOSECONDS
from soro_node.qos import LOSSY

TOPIC = 'actuator_state'


class PolledFeedback(LatestFeedback):
    """The newest feedback, read when it is asked for; safe from any thread.

    A driver at 500 Hz would otherwise take a fifth of a core from each node that listens.

    - `node`: hears the topic, from `open` to `close`, and reports.
    - `timeout`: feedback older than this [s] does not count.

    Its attributes:
    - `refusal`: why the last message is not used: it is from another robot. Empty when it is.
    """

    def __init__(self, node: Any, robot: HasActuators, timeout: float) -> None:
        super().__init__(robot, timeout)
        self.refusal = ''
        self._node = node
        self._gate = PolledCallbackGroup()
        self._subscription: Any = None
        self._looked = 0.0  # when the subscription was read last, steady clock
        self._reading = threading.Lock()

    def open(self) -> None:
        """Listen."""
        self._looked = time.monotonic()
        self._subscription = self._node.create_subscription(
            ActuatorState, TOPIC, self._on_message, LOSSY, callback_group=self._gate
        )

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        with self._reading:
            subscription, self._subscription = self._subscription, None
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def age(self) -> float:
        """Return the age of the newest feedback [s]; infinite when there is none."""
        self._read()
        return super().age()

    def fresh(self) -> ActuatorFeedback | None:
        """Return the newest feedback, or None when it is too old."""
        self._read()
        return super().fresh()

    def report(self) -> None:
        """Say what the driver tells; call it again and again, for it grows old."""
        age, feedback = self.age(), super().fresh()  # read just now
        values = {'age': age}
        if self.refusal:
            level, text = Level.ERROR, self.refusal
        elif feedback is None:
            level, text = Level.WARN if age == math.inf else Level.STALE, 'no actuator_state'
        elif not feedback.known:
            level, text = Level.WARN, 'neither measured nor applied values are known'
        else:
            now = self._node.get_clock().now().nanoseconds
            level, text = Level.OK, 'fresh'
            values['latency'] = (now - feedback.stamp) / NANOSECONDS
        self._node.diagnostics.report(TOPIC, level, text, **values)

    def _read(self) -> None:
        with self._reading:
            if self._subscription is None:
                return
            now = time.monotonic()
            for message, age in take_all(self._subscription):
                # What the last reading did not find has come since then, whatever was done to
                # the wall clock, which the middleware's stamp of arrival is read off.
                self._take(message, min(age, now - self._looked))
            self._looked = now

    def _take(self, message: ActuatorState, age: float = 0.0) -> ActuatorFeedback | None:
        """Take a message; None, and the reason in `refusal`, when it is not from this robot."""
        self.refusal = ''
        try:
            return self.update(message, age)
        except InvalidInput as error:
            self.refusal = str(error)
            return None

    def _on_message(self, message: ActuatorState) -> None:
        """Take a message from an executor, which does not wait for any here."""
        self._take(message)
