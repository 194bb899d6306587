# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Moves a robot through postures and collects what a sensor says in each, at rest."""

from __future__ import annotations

from collections.abc import Callable
import re
import time
from typing import Any, NamedTuple

from geometry_msgs.msg import PoseArray, PoseStamped, WrenchStamped
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
from soro_node.conversions import marker_message, pose_from_message, wrench_from_message
from soro_node.executor.polled_subscriptions import PolledSubscriptions
from soro_node.frames import frames_for
from soro_node.qos import LOSSY
from soro_node.transforms import NoTransform, TransformListener
from soro_node.user_errors import UserError

WINDOW, LOOK = 0.5, 0.02  # s, of a mean, and between two messages of it
ARRIVAL, NEAR = 30.0, 0.05  # s, and part of the range, to a posture
PATIENCE = 0.25  # s, for TF


class Seen(NamedTuple):
    """The model's tips and the marker, (n, 4, 4) each, and what TF knows of the tracker."""

    tips: Array
    markers: Array
    frame: str  # of the tracker
    base: Array | None  # (4, 4), that frame in base_link; None: TF does not know it


def postures(robot: Robot, count: int, amplitude: float) -> Array:
    """Return random actuations (count, m), always the same, a part of the way to the limits."""
    random, rest = np.random.default_rng(0), robot.description.rest
    low, high = rest + amplitude * (robot.limits.T - rest)
    tried = low + random.random((100 * count, len(rest))) * (high - low)
    found = [target for target in tried if not robot.violations(target)]
    if not 0.0 < amplitude <= 1.0 or len(found) < count:
        raise InvalidInput('--amplitude', amplitude, 'a part of the range, in (0, 1]')
    return np.array(found[:count])


class Tour:
    """Visits targets (n, m), rests [s] in each and holds the last; `report` of the progress."""

    def __init__(
        self,
        robot: RunningRobot,
        targets: Array,
        rest: float,
        report: Callable[[float, str], None],
    ) -> None:
        self._robot, self._targets, self._rest, self._report = robot, targets, rest, report
        self._solver = f'{robot.prefix}/kinematics_solver'
        prefix = robot.session.parameter(self._solver, 'frame_prefix')
        self._frames = frames_for(robot.namespace, prefix)
        self._measured: list[float] = []  # in the present posture
        self._transforms = TransformListener(robot.session.node)
        self._transforms.open(moving=True)

    def tracker(self) -> Seen:
        """Return what a tracker sees."""
        stated = self._robot.description.structure.get('tracker', Tracker())
        index = int(self._robot.session.parameter(self._solver, 'tracker_index'))
        index = max(index, stated.index)

        def pose(message: PoseStamped | PoseArray) -> tuple[Array, Header]:
            marker = marker_message(message, index)
            return pose_from_message(marker.pose, 'tracker/pose'), marker.header

        tips, markers = self._visit(
            ('tip_pose', PoseStamped, pose),
            ('tracker/pose', PoseStamped if index < 0 else PoseArray, pose),
        )
        header = markers[-1][-1][1]
        try:
            base = self._transforms.lookup(self._frames.base_link, header)
        except NoTransform:
            base = stated.base if stated.frame == header.frame_id else None
        means = (
            np.array([mean_pose(np.array([p for p, _ in v])) for v in x]) for x in (tips, markers)
        )
        return Seen(*means, header.frame_id, base)

    def force(self) -> tuple[Array, Array, str]:
        """Return gravity (n, 3) and readings (n, 6) in the axes of a force sensor; its frame."""
        text = self._robot.session.parameter(self._solver, 'gravity')
        stated = [float(x) for x in re.findall(r'-?\d+\.?\d*(?:e-?\d+)?', text)]
        gravity = np.array(stated or self._robot.description.gravity)
        model = Robot(self._robot.description)
        model.gravity = gravity

        def reading(message: WrenchStamped) -> tuple[Array, Header]:
            turn = self._transforms.lookup(self._frames.base_link, message.header, PATIENCE)
            if self._transforms.hangs_on(message.header.frame_id, self._frames.tip):
                # Not the solver's tip: that gives way to what is to be calibrated.
                on_tip = self._transforms.lookup(self._frames.tip, message.header)
                turn = model.forward(self._measured).tip @ on_tip
            wrench = wrench_from_message(message.wrench, 'external_wrench')
            return np.append(turn[:3, :3].T @ gravity, wrench), message.header

        (found,) = self._visit(('external_wrench', WrenchStamped, reading))
        means = np.array([np.mean([row for row, _ in posture], axis=0) for posture in found])
        return means[:, :3], means[:, 3:], found[-1][-1][1].frame_id

    def _visit(self, *topics: tuple[str, Any, Callable[[Any], Any]]) -> list[list[list[Any]]]:
        """Return what was read of each topic, posture by posture; UserError: it was silent."""
        robot, session = self._robot, self._robot.session
        watch, player, heard = MotionWatch(robot), Player(robot), PolledSubscriptions(session.node)
        for topic, kind, _ in topics:
            heard.open(kind, f'{robot.prefix}/{topic}', LOSSY)
        if not watch.ready(DISCOVERY):
            raise UserError(f'the robot says nothing: {"; ".join(watch.reasons())}', TIMED_OUT)
        kept: list[list[list[Any]]] = [[] for _ in topics]
        for i, target in enumerate(self._targets):
            words = f'posture {i + 1} of {len(self._targets)}'
            self._report(i / len(self._targets), words)
            player.send(target)
            if not watch.wait(lambda at=target: watch.near_actuation(at, NEAR), ARRIVAL):
                why = watch.refusal or '; '.join(watch.reasons())
                raise UserError(f'{words} was not reached: {why}', TIMED_OUT)
            session.spin_until(lambda: False, self._rest)
            self._measured = watch.measured
            for topic, _, _ in topics:
                heard.all(f'{robot.prefix}/{topic}')  # of the way
            for postures_of in kept:
                postures_of.append([])
            end = time.monotonic() + WINDOW
            while time.monotonic() < end:
                session.spin_until(lambda: False, LOOK)
                for postures_of, (topic, _, read) in zip(kept, topics, strict=True):
                    messages = heard.all(f'{robot.prefix}/{topic}')
                    postures_of[-1] += [read(message) for message in messages]
            for postures_of, (topic, _, _) in zip(kept, topics, strict=True):
                if not postures_of[-1]:
                    raise UserError(f'{words}: {topic} says nothing', TIMED_OUT)
        return kept
