# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Moves a robot through postures and collects what its tracker sees in each, at rest."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any, NamedTuple

from geometry_msgs.msg import PoseArray, PoseStamped
import numpy as np
from std_msgs.msg import Header

from soro_cli.demo.experiment import Player
from soro_cli.motion import MotionWatch
from soro_cli.robot_choice import RunningRobot
from soro_cli.ros_session import DISCOVERY, TIMED_OUT
from soro_mechanics.analysis.tracker_calibration import mean_pose
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.sensor_sections import Tracker
from soro_node.conversions import marker_message, pose_from_message
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.frames import frames_for
from soro_node.qos import LOSSY
from soro_node.transforms import NoTransform, TransformListener
from soro_node.user_errors import UserError

WINDOW, LOOK = 0.5, 0.02  # s, of a mean, and between two messages of it
ARRIVAL, NEAR = 30.0, 0.05  # s, and part of the range, to a posture


class Seen(NamedTuple):
    """The model's tips and the marker, (n, 4, 4) each, and what TF knows of the tracker."""

    tips: Array
    markers: Array
    frame: str  # of the tracker
    base: Array | None  # (4, 4), that frame in base_link; None: TF does not know it


def postures(robot: Robot, count: int, amplitude: float) -> Array:
    """Return random actuations (count, m), always the same, a part of the way to the limits."""
    random, rest = np.random.default_rng(0), np.array([a.rest for a in robot.actuators])
    low, high = rest + amplitude * (robot.limits.T - rest)
    tried = low + random.random((100 * count, len(rest))) * (high - low)
    found = [target for target in tried if not robot.violations(target)]
    if not 0.0 < amplitude <= 1.0 or len(found) < count:
        raise InvalidInput('--amplitude', amplitude, 'a part of the range, in (0, 1]')
    return np.array(found[:count])


def tour(
    robot: RunningRobot, targets: Array, rest: float, report: Callable[[float, str], None]
) -> Seen:
    """Visit targets (n, m), rest [s] in each, hold the last; UserError: not there, or not seen."""
    session, space = robot.session, robot.namespace
    stated = robot.description.structure.get('tracker', Tracker())
    index = int(session.parameter(f'{space}/kinematics_solver', 'tracker_index'))
    marker = f'{space}/tracker/pose'
    indices = {f'{space}/tip_pose': -1, marker: max(index, stated.index)}
    watch, player = MotionWatch(robot), Player(robot)
    heard, transforms = PolledSubscriptions(session.node), TransformListener(session.node)
    transforms.open(moving=True)
    for topic, number in indices.items():
        heard.open(PoseStamped if number < 0 else PoseArray, topic, LOSSY)
    if not watch.ready(DISCOVERY):
        raise UserError(f'the robot says nothing: {"; ".join(watch.reasons())}', TIMED_OUT)
    kept, header = [], Header()

    def look(topic: str) -> list[Any]:
        messages = [marker_message(m, indices[topic]) for m in heard.all(topic)]
        return [(pose_from_message(m.pose, topic), m.header) for m in messages]

    for i, target in enumerate(targets):
        words = f'posture {i + 1} of {len(targets)}'
        report(i / len(targets), words)
        player.send(target)
        if not watch.wait(lambda at=target: watch.near_actuation(at, NEAR), ARRIVAL):
            why = watch.refusal or '; '.join(watch.reasons())
            raise UserError(f'{words} was not reached: {why}', TIMED_OUT)
        session.spin_until(lambda: False, rest)
        found: dict[str, list[Any]] = {topic: look(topic)[:0] for topic in indices}
        end = time.monotonic() + WINDOW
        while time.monotonic() < end:
            session.spin_until(lambda: False, LOOK)
            for topic, seen in found.items():
                seen += look(topic)
        if silent := [topic for topic, seen in found.items() if not seen]:
            raise UserError(f'{words}: {" and ".join(silent)} says nothing', TIMED_OUT)
        kept.append([mean_pose(np.array([pose for pose, _ in s])) for s in found.values()])
        header = found[marker][-1][1]
    tips, markers = np.swapaxes(np.array(kept), 0, 1)
    prefix = session.parameter(f'{space}/kinematics_solver', 'frame_prefix')
    try:
        base = transforms.lookup(frames_for(space, prefix).base_link, header)
    except NoTransform:
        base = stated.base if stated.frame == header.frame_id else None
    return Seen(tips, markers, header.frame_id, base)
