# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The same answers computed in this process from a robot file: the nodes' services, no node."""

from __future__ import annotations

from typing import Any

from builtin_interfaces.msg import Time
import numpy as np

from soro_cli.mechanics_online import OnlineMechanics
from soro_compliance.services import Services as Compliance
from soro_kinematics.services import Services as Kinematics
from soro_mechanics import Configuration, load_robot, Robot
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.configuration import ORIENTATION_TOLERANCE, POSITION_TOLERANCE
from soro_node.frames import Frames
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.user_errors import UserError


class OfflineMechanics(OnlineMechanics):
    """One robot of the catalogue or of a file; what a `RobotBinding` is to the services, too."""

    def __init__(self, robot: str | None) -> None:
        if not robot:
            raise UserError('--offline needs to know the robot: --robot NAME or --robot FILE')
        self._loaded = load_robot(robot)
        self._robots: dict[str, Robot] = {}
        self._rests: dict[str, Configuration] = {}
        self.description, self.frames = self._loaded.description, Frames()
        feedback = LatestFeedback(self._loaded, 0.0)
        tolerances = POSITION_TOLERANCE, ORIENTATION_TOLERANCE
        self._answers = {
            'kinematics_solver': Kinematics(
                self,
                feedback,
                lambda: None,
                lambda: tolerances,
                Time,
                lambda header, field: np.eye(4),  # no frame but base_link is known offline
            ),
            'compliance': Compliance(self, feedback, Time),
        }

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The robot's actuators."""
        return self.description.actuators

    def robot_with(self, model: str) -> Robot:
        """Return the robot with one of its models; empty: the first of the file."""
        if model not in self._robots:
            robot = self._loaded.with_model(model) if model else self._loaded
            # Once: the times shown are of solving, not of loading.
            self._rests[model] = robot.forward(self.description.rest)
            self._robots[model] = robot
        return self._robots[model]

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        node, _, service = name.partition('/')
        actuation = getattr(request, 'actuation', None)  # a request of an inverse has none
        if actuation is not None and not len(actuation):
            example = ' '.join(f'{a.name}=...' for a in self.actuators)
            raise UserError(f'--offline knows no present actuation; give one: {example}')
        if actuation is None:  # the time shown is of solving here too
            robot = self.robot_with(request.model)
            rest = self._rests[request.model]
            if rest.status.converged:
                robot.inverse(rest.tip[:3, 3], guess=rest)
        return getattr(self._answers[node], service)(request, kind.Response())
