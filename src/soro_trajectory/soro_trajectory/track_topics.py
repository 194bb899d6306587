# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Topics and messages of path tracking: desired and actual path, plan, measured positions."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import time
from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Pose, PoseStamped
from nav_msgs.msg import Path
import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import Header
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import Configuration, TipEstimate
from soro_node.conversions import poses_to_messages
from soro_node.inputs.actuator_feedback import NANOSECONDS
from soro_node.qos import LATCHED
from soro_node.transforms import stamp_of
from soro_trajectory.error_record import ErrorRecord
from soro_trajectory.stream_error import NO_TRACKER, StreamError

MAX_POSES = 500  # of actual_path
RECENT = QoSProfile(depth=5, reliability=ReliabilityPolicy.BEST_EFFORT)
ACTUAL_PERIOD = 0.5  # s

GOAL = TrackTrajectory.Goal
# Topic -> (type, where its pose is, what an error against it refers to).
FEEDBACK = {
    'tip_measured': (PoseStamped, lambda m: m.pose, GOAL.MEASURED),
    'tip_pose': (PoseStamped, lambda m: m.pose, GOAL.MODEL),
    'tip_estimate': (TipEstimate, lambda m: m.pose.pose, GOAL.MODEL),
    'emulator/configuration': (Configuration, lambda m: m.tip, GOAL.EMULATED),
}


def topic_of(reference: int, usual: str, live: bool) -> str:
    """Return the topic that errors are measured with, where a goal asks for a reference.

    `usual` is the parameter `feedback`, `live` whether there is a tracker.

    Raises InvalidInput: it is no reference; StreamError: NO_STATE: a tracker's tip is asked for,
    and there is none.
    """
    if usual == 'auto':
        usual = 'tip_measured' if live else 'tip_pose'
    if reference == GOAL.DEFAULT or reference == FEEDBACK[usual][2]:
        return usual
    topics = [topic for topic, (_, _, given) in FEEDBACK.items() if given == reference]
    if not topics:
        expected = 'DEFAULT (0), MODEL (1), MEASURED (2) or EMULATED (3)'
        raise InvalidInput('reference', reference, expected)
    if reference == GOAL.MEASURED and not live:
        raise StreamError(Code.NO_STATE, f'reference MEASURED: {NO_TRACKER}')
    return topics[0]


def duration_message(seconds: float) -> Duration:
    """Return a duration, rounded to nanoseconds."""
    total = round(seconds * NANOSECONDS)
    return Duration(sec=total // NANOSECONDS, nanosec=total % NANOSECONDS)


def trajectory_message(schedule: Schedule, names: list[str], frame_id: str) -> JointTrajectory:
    """Return the actuation (SI) over time."""
    points = [
        JointTrajectoryPoint(positions=a, time_from_start=duration_message(t))
        for a, t in zip(schedule.actuation.tolist(), schedule.time.tolist(), strict=True)
    ]
    header = Header(frame_id=frame_id)
    return JointTrajectory(header=header, joint_names=names, points=points)


class TrackTopics:
    """Publishes the paths and listens to the tip while a path is followed.

    `desired`: publisher, latched, of the path that is going to be followed. `record`: where
    measured positions go. `actual`: the newest measured pose.
    """

    def __init__(self, node: Node) -> None:
        self.record: ErrorRecord | None = None
        self.actual = Pose()
        self._node = node
        self.desired = node.create_publisher(Path, 'desired_path', LATCHED)
        self._actual = node.create_publisher(Path, 'actual_path', 1)
        self._fed = self._shown = 0.0

    def path(self, poses: Array, frame_id: str) -> Path:
        """Return a path of poses (n, 4, 4)."""
        header = Header(frame_id=frame_id, stamp=self._node.get_clock().now().to_msg())
        stamped = [PoseStamped(header=header, pose=p) for p in poses_to_messages(poses)]
        return Path(header=header, poses=stamped)

    def publish_actual(self, record: ErrorRecord, frame_id: str) -> None:
        """Publish where the tip was, now and then."""
        now = time.monotonic()
        if now - self._shown < ACTUAL_PERIOD:
            return
        self._shown = now
        positions = record.actual_path(MAX_POSES)
        poses = np.tile(np.eye(4), (len(positions), 1, 1))
        poses[:, :3, 3] = positions
        self._actual.publish(self.path(poses, frame_id))

    def due(self, period: float) -> bool:
        """Return whether `period` [s] has passed since this was last true."""
        now = time.monotonic()
        if now - self._fed < period:
            return False
        self._fed = now
        return True

    @contextlib.contextmanager
    def positions(self, topic: str) -> Iterator[None]:
        """Listen to a topic of `FEEDBACK` while inside."""
        kind, pose_of, _ = FEEDBACK[topic]

        def take(message: Any) -> None:
            record, pose = self.record, pose_of(message)
            p = pose.position
            if record is not None and np.all(np.isfinite([p.x, p.y, p.z])):
                self.actual = pose
                record.add(stamp_of(message.header), np.array([p.x, p.y, p.z]))

        subscription = self._node.create_subscription(kind, topic, take, RECENT)
        try:
            yield
        finally:
            self._node.destroy_subscription(subscription)
