# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`tracker/pose` in, `tip_measured` and `tracker/state` out: what the node says of its tracker."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from geometry_msgs.msg import PoseArray, PoseStamped
import numpy as np
from std_msgs.msg import Header

from soro_kinematics.outputs import pose_of_six
from soro_kinematics.tip_tracker import MarkerPose, TipTracker, TrackerRules
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.identification.offsets import body_length
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.sensor_sections import Tracker
from soro_msgs.msg import TrackerState
from soro_node.conversions import marker_message, pose_from_message, pose_to_message, stamped_pose
from soro_node.diagnostics import Level
from soro_node.frames import Frames
from soro_node.inputs.actuator_feedback import NANOSECONDS
from soro_node.parameters import fixed, Parameter
from soro_node.qos import LOSSY
from soro_node.transforms import NoTransform, stamp_of, TransformFilter

TOPIC = 'tracker/pose'
PARAMETERS = (
    Parameter(
        'marker', [], 'm, rad', 'of the tracker in `tip`: x, y, z, roll, pitch, yaw; empty: the '
        "robot file's", sizes=(0, 6), read_only=True,
    ),
    Parameter(
        'tracker_index', -1, '', "marker in a PoseArray; -1: the robot file's, or none",
        minimum=-1, read_only=True,
    ),
    fixed('tracker_timeout', 0.5, 's', 'without a used pose for longer it is lost', minimum=0.01),
    fixed('tracker_max_latency', 0.25, 's', 'an older pose is not used', minimum=0.001),
    Parameter(
        'tracker_max_distance', 0.0, 'm',
        "a pose farther from the model's tip is not used; 0: the length of the body",
        minimum=0.0, read_only=True,
    ),
    Parameter(
        'tracker_max_speed', 1.0, 'm/s', 'a pose that the tip cannot have reached is not used',
        minimum=0.001, read_only=True,
    ),
)  # fmt: skip

STATE_PERIOD = 0.2  # s


class TrackerInput:
    """The tracker of one robot: `configure`, then from `open` to `close`.

    `node`: hears, publishes and reports; its table has `PARAMETERS`.
    """

    def __init__(self, node: Any) -> None:
        self._node, self._subscription = node, None
        self._filter = TransformFilter(node, self._to_base, self._take)
        self._measured = node.create_publisher(PoseStamped, 'tip_measured', 10)
        self._state = node.create_publisher(TrackerState, 'tracker/state', 5)
        self._said, self._reported = -1, 0.0

    def configure(
        self, frames: Frames, robot: Robot, model_tip: Callable[[], Array | None]
    ) -> None:
        """Begin anew, for this robot.

        `robot`: its kernels are ready. `model_tip`: the model's tip (4, 4) at the measured
        actuation; None while it is unknown.
        """
        table, stated = self._node.table, robot.description.structure.get('tracker', Tracker())
        self._base, self._model_tip, self._stated = frames.base_link, model_tip, stated
        self._index = max(table.tracker_index, stated.index)
        rules = TrackerRules(
            table.tracker_timeout,
            table.tracker_max_latency,
            table.tracker_max_distance or body_length(robot),
            table.tracker_max_speed,
            pose_of_six(table.marker) if len(table.marker) else stated.marker,
        )
        self._tracker = TipTracker(rules)

    def open(self) -> None:
        """Listen."""
        kind = PoseStamped if self._index < 0 else PoseArray
        self._subscription = self._node.create_subscription(kind, TOPIC, self._hear, LOSSY)

    def close(self) -> None:
        """Listen no more; what is known grows old."""
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            self._node.destroy_subscription(subscription)

    def report(self) -> None:
        """Say what becomes of the poses; call it again and again, for they grow old."""
        now = time.monotonic()
        state, text = self._tracker.state(now)
        newest = self._tracker.newest
        good = state in (TrackerState.GOOD, TrackerState.ABSENT)
        values: dict[str, Any] = {'refused': self._tracker.refused}
        if newest is not None:
            values.update(latency=self._tracker.latency(), rate=self._tracker.rate(now))
        self._node.diagnostics.report('tracker', Level.OK if good else Level.WARN, text, **values)
        due = now - self._reported >= STATE_PERIOD or state != self._said
        if newest is not None and due:
            self._said, self._reported = state, now
            self._state.publish(self._state_message(newest, state, now))

    def _state_message(self, newest: MarkerPose, state: int, now: float) -> TrackerState:
        message = TrackerState(name='tracker', state=state, refused=self._tracker.refused)
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(newest.stamp, NANOSECONDS)
        message.header.frame_id = newest.frame_id
        message.latency, message.rate = self._tracker.latency(), self._tracker.rate(now)
        if self._tracker.tip is not None:
            message.tip.pose = pose_to_message(self._tracker.tip)
        return message

    def _hear(self, message: PoseStamped | PoseArray) -> None:
        try:
            self._filter.add(marker_message(message, self._index))
        except SoroError as error:
            self._tracker.refuse(str(error), time.monotonic())

    def _to_base(self, header: Header) -> Array:
        known = self._stated.frame and header.frame_id == self._stated.frame
        return self._stated.base if known else self._node.transforms.lookup(self._base, header)

    def _take(self, message: PoseStamped, arrival: float, found: Array | NoTransform) -> None:
        try:
            pose = pose_from_message(message.pose, TOPIC)
        except SoroError as error:
            self._tracker.refuse(str(error), arrival)
            return
        seen = MarkerPose(
            stamp_of(message.header),
            message.header.frame_id,
            pose,
            not np.array_equal(pose[:3, :3], np.eye(3)),
        )
        waited = int((time.monotonic() - arrival) * NANOSECONDS)
        now = self._node.get_clock().now().nanoseconds - waited
        to_base = found.why if isinstance(found, NoTransform) else found
        tip = self._tracker.take(seen, to_base, self._model_tip(), now, arrival)
        if tip is None:
            return
        self._measured.publish(stamped_pose(tip, self._base, message.header.stamp))
