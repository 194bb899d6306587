# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What other programs stream into the environment: a pose that objects follow, an added wrench."""

from __future__ import annotations

from collections.abc import Callable
import time
from typing import Any

from geometry_msgs.msg import PoseStamped, WrenchStamped
import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.live_parts import LiveParts
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment
from soro_node.conversions import pose_from_message
from soro_node.diagnostics import Level
from soro_node.frames import Frames
from soro_node.inputs.external_wrench import ExternalWrench
from soro_node.qos import LOSSY

GOAL, WRENCH = 'goal_pose', 'added_wrench'


class Streams:
    """The newest pose and wrench; older than `timeout` [s] the wrench is zero, the pose stays.

    Parameters
    ----------
    node : RobotNode
        Hears ``~/goal_pose`` and ``~/added_wrench``.
    frames : Frames
    timeout : float
    report : callable
        Gets topic, level and text of what was taken or refused.
    """

    def __init__(
        self, node: Any, frames: Frames, timeout: float, report: Callable[[str, Level, str], None]
    ) -> None:
        self._report, self._frames, self._timeout = report, frames, timeout
        self._wrench = ExternalWrench(frames, timeout)
        self._goal: tuple[Array, float] | None = None
        for kind, topic, take in (
            (PoseStamped, GOAL, self._take_goal),
            (WrenchStamped, WRENCH, self._wrench.update),
        ):
            node.create_subscription(kind, f'~/{topic}', self._taking(topic, take), LOSSY)

    def feed(self, live: LiveParts, tip: Array) -> None:
        """Give what is new to an environment; in the thread of the loop."""
        goal = self._goal
        if goal is not None and live.following:
            live.move_goal(goal[0])
        if self._wrench.present or live.pushes:
            live.add_wrench(self._wrench.at_tip(tip))

    def begin(self, environment: VirtualEnvironment) -> None:
        """Put what follows where it is by now, before anybody can touch it.

        InvalidInput: NO_STATE: nothing was heard that it could follow.
        """
        followers = [i for i, o in enumerate(environment.objects) if o.follows_goal]
        goal = self._goal
        if not followers:
            return
        if goal is None or time.monotonic() - goal[1] > self._timeout:
            expected = f'a pose on ~/{GOAL}, not older than {self._timeout:g} s'
            field = f'objects[{followers[0]}].follows_goal'
            raise InvalidInput(field, True, expected, Code.NO_STATE)
        environment.live.move_goal(goal[0], at_once=True)

    def _take_goal(self, message: PoseStamped) -> None:
        self._frames.check('frame_id', message.header.frame_id, ('', self._frames.base_link))
        pose = pose_from_message(message.pose, GOAL)
        if not np.abs(pose[:3, 3]).max() <= 10.0:
            raise InvalidInput(GOAL, pose[:3, 3], 'lengths of at most 10 m')
        self._goal = pose, time.monotonic()

    def _taking(self, topic: str, take: Any) -> Any:
        def callback(message: Any) -> None:
            try:
                take(message)
            except SoroError as error:
                self._report(topic, Level.WARN, f'refused: {error}')
            else:
                self._report(topic, Level.OK, 'used')

        return callback
