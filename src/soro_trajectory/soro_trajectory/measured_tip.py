# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`tip_measured` for the planner: the newest one, its age and its latency."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median_low
import threading
import time

from geometry_msgs.msg import PoseStamped
import numpy as np
from rclpy.node import Node

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_node.conversions import pose_from_message
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.inputs.actuator_feedback import NANOSECONDS
from soro_node.qos import LOSSY
from soro_node.transforms import stamp_of

TOPIC = 'tip_measured'
MANY = 11  # latencies whose median counts: clocks are set meanwhile


@dataclass(frozen=True)
class TipSample:
    """One measured tip."""

    stamp: int  #: when it was measured [ns]
    pose: Array  #: (4, 4); in base_link
    #: False where the tracker measures positions alone: the rotation is the identity then
    oriented: bool
    arrival: float  #: steady clock [s]


class MeasuredTip:
    """The newest measured tip, read when it is asked for; safe from any thread.

    `node`: hears the topic, from `open` to `close`. `timeout`: an older one [s] does not count,
    nor one whose stamp is so far from what is usual: a clock was set while it was on its way.
    `latency`: median time from stamp to arrival [s].
    """

    def __init__(self, node: Node, timeout: float) -> None:
        self.timeout = timeout
        self.latency = 0.0
        self._latencies: deque[float] = deque(maxlen=MANY)
        self._node, self._heard = node, PolledSubscriptions(node)
        self._sample: TipSample | None = None
        self._reading = threading.Lock()

    def open(self) -> None:
        """Listen."""
        self._latencies.clear()
        self._heard.open(PoseStamped, TOPIC, LOSSY)

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        with self._reading:
            self._heard.close_all()

    def fresh(self) -> TipSample | None:
        """Return the newest sample, or None when it is too old."""
        with self._reading:
            for message, age in self._heard.newest_of_each(TOPIC):
                self._take(message, age)
            sample = self._sample
        if sample is None or time.monotonic() - sample.arrival > self.timeout:
            return None
        return sample

    def between(self, before: TipSample, after: TipSample) -> float:
        """Return the time between two samples [s], not the one by which a clock was set."""
        stamped, arrived = (
            (after.stamp - before.stamp) / NANOSECONDS,
            after.arrival - before.arrival,
        )
        return max(0.0, stamped if abs(stamped - arrived) < self.timeout else arrived)

    def _take(self, message: PoseStamped, age: float = 0.0) -> None:
        try:
            pose = pose_from_message(message.pose, TOPIC)
        except InvalidInput:  # the solver publishes none of these
            return
        stamp = stamp_of(message.header)
        oriented = not np.array_equal(pose[:3, :3], np.eye(3))
        clock = self._node.get_clock()
        latency = (clock.now().nanoseconds - stamp) / NANOSECONDS - age
        self._latencies.append(latency)
        usual = median_low(self._latencies)
        self.latency = max(0.0, usual)
        if abs(latency - usual) > self.timeout and not clock.ros_time_is_active:
            return
        self._sample = TipSample(stamp, pose, oriented, time.monotonic() - age)
