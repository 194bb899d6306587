# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What other programs stream into the environment: a pose that objects follow, an added wrench."""

from __future__ import annotations

import functools
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.live_parts import LiveParts
from soro_mechanics.haptics.virtual_environment import VirtualEnvironment
from soro_node.conversions import pose_from_message
from soro_node.diagnostics import Level
from soro_node.executor.polled_subscriptions import arrival_of
from soro_node.frames import Frames
from soro_node.inputs.wrench_input import WrenchInput
from soro_node.qos import LOSSY
from soro_node.transforms import NoTransform, TransformFilter

GOAL = 'goal_pose'


class Streams:
    """The newest pose and wrench; older than `timeout` [s] the wrench is zero, the pose stays.

    `node`: hears ``~/goal_pose``, ``~/added_wrench`` and TF (`transforms`), and reports.
    """

    def __init__(self, node: Any, frames: Frames, timeout: float) -> None:
        self._report, self._timeout = node.diagnostics.report, timeout
        self.wrench = WrenchInput(node, timeout, frames, '~/added_wrench')
        self.wrench.open()
        self._goal: tuple[Array, float] | None = None
        to_base = functools.partial(node.transforms.lookup, frames.base_link)
        self._goals = TransformFilter(node, to_base, self._take_goal)
        node.create_subscription(PoseStamped, f'~/{GOAL}', self._on_goal, LOSSY)

    def feed(self, live: LiveParts, tip: Array) -> None:
        """Give what is new to an environment; in the thread of the loop."""
        goal = self._goal
        if goal is not None and live.following:
            live.move_goal(goal[0])
        present = self.wrench.present
        if present or live.pushes:
            live.add_wrench(self.wrench.at_tip(tip), lost=not present)

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

    def _on_goal(self, message: PoseStamped, information: dict[str, Any]) -> None:
        self._goals.add(message, arrival_of(information))

    def _take_goal(self, message: PoseStamped, arrival: float, found: Array | NoTransform) -> None:
        try:
            if isinstance(found, NoTransform):
                raise found
            pose = found @ pose_from_message(message.pose, GOAL)
            if not np.abs(pose[:3, 3]).max() <= 10.0:
                raise InvalidInput(GOAL, pose[:3, 3], 'lengths of at most 10 m')
        except SoroError as error:
            self._report(GOAL, Level.WARN, f'refused: {error}')
        else:
            self._goal = pose, arrival
            self._report(GOAL, Level.OK, 'used')
