# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Answers from the nodes of a running robot."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, TypeVar

from geometry_msgs.msg import Point, PoseStamped, Quaternion
from geometry_msgs.msg import Pose as PoseMessage

from soro_cli import answers
from soro_cli.robot_choice import RunningRobot
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.robot_input import METHODS
from soro_msgs import srv
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_node.conversions import wrench_to_message

T = TypeVar('T')
STABILITY = {0: 'unknown', 1: 'stable', 2: 'unstable'}


class OnlineMechanics:
    """The services of one robot."""

    def __init__(self, robot: RunningRobot) -> None:
        self._robot = robot

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The robot's actuators."""
        return self._robot.description.actuators

    def forward(
        self, actuation: list[float], wrench: list[float], model: str, examine: bool = True
    ) -> answers.ForwardAnswer:
        """Call solve_forward."""
        request = srv.SolveForward.Request(
            actuation=actuation, wrench=wrench_to_message(wrench), model=model, examine=examine
        )
        reply = self._call(srv.SolveForward, 'kinematics_solver/solve_forward', request)
        return _filled(answers.ForwardAnswer, reply)

    def inverse(
        self,
        position: list[float],
        quaternion: list[float] | None,
        task: int,
        wrench: list[float],
        model: str,
    ) -> answers.InverseAnswer:
        """Call solve_inverse."""
        request = srv.SolveInverse.Request(
            task=task, wrench=wrench_to_message(wrench), model=model
        )
        request.target = pose_message(position, quaternion)
        reply = self._call(srv.SolveInverse, 'kinematics_solver/solve_inverse', request)
        return _filled(answers.InverseAnswer, reply)

    def jacobian(
        self, actuation: list[float] | None, wrench: list[float], model: str
    ) -> answers.JacobianAnswer:
        """Call compute_jacobian; no actuation: the present one."""
        request = srv.ComputeJacobian.Request(
            actuation=actuation or [], wrench=wrench_to_message(wrench), model=model
        )
        reply = self._call(srv.ComputeJacobian, 'kinematics_solver/compute_jacobian', request)
        matrix = _rows(reply.matrix, len(reply.actuator_name))
        return _filled(answers.JacobianAnswer, reply, matrix=matrix)

    def compliance(
        self,
        actuation: list[float] | None,
        wrench: list[float],
        model: str,
        method: str,
        along: bool,
    ) -> answers.ComplianceAnswer:
        """Call compute_compliance; no actuation: the present one."""
        request = srv.ComputeCompliance.Request(
            actuation=actuation or [],
            wrench=wrench_to_message(wrench),
            model=model,
            method=METHODS.index(method),
            along_backbone=along,
        )
        reply = self._call(srv.ComputeCompliance, 'compliance/compute_compliance', request)
        points = [_point(c) for c in reply.compliance]
        model = reply.configuration.model
        return _filled(answers.ComplianceAnswer, reply, model=model, method=method, points=points)

    def compare(
        self, actuation: list[float], wrench: list[float], models: list[str]
    ) -> answers.ComparisonAnswer:
        """Call compare_models; no models: all of the robot."""
        request = srv.CompareModels.Request(
            actuation=actuation, wrench=wrench_to_message(wrench), models=models
        )
        reply = self._call(srv.CompareModels, 'kinematics_solver/compare_models', request)
        return _filled(answers.ComparisonAnswer, reply)

    def spin(self, seconds: float) -> None:
        """Let time pass [s]."""
        self._robot.session.spin_until(lambda: False, seconds)

    def _call(self, kind: Any, name: str, request: Any) -> Any:
        return self._robot.session.call(kind, f'{self._robot.prefix}/{name}', request)


def pose_message(position: list[float], quaternion: list[float] | None) -> PoseStamped:
    """Return a target in base_link; no quaternion: the identity, for tasks that ignore it."""
    x, y, z = position
    a, b, c, d = quaternion or (0.0, 0.0, 0.0, 1.0)
    message = PoseStamped()
    message.pose = PoseMessage(
        position=Point(x=x, y=y, z=z), orientation=Quaternion(x=a, y=b, z=c, w=d)
    )
    return message


def _pose(message: PoseMessage) -> answers.Pose:
    p, q = message.position, message.orientation
    return answers.Pose([p.x, p.y, p.z], [q.x, q.y, q.z, q.w])


def _filled(kind: type[T], *messages: Any, **own: Any) -> T:
    """Return an answer: fields as the messages have them under the same names, and `own` ones."""
    for name in (field.name for field in fields(kind) if field.name not in own):
        own[name] = _plain(next(getattr(m, name) for m in messages if hasattr(m, name)))
    return kind(**own)


def _plain(value: Any) -> Any:
    if isinstance(value, PoseMessage | ConfigurationMessage):
        return _pose(value) if isinstance(value, PoseMessage) else _configuration(value)
    if isinstance(value, list):
        return [_plain(x) for x in value]
    return value.tolist() if hasattr(value, 'tolist') else value  # arrays of numbers


def _configuration(message: Any) -> answers.ConfigurationAnswer:
    backbones = [
        {
            'name': b.name,
            'arc_length': list(b.arc_length),
            'position': [[p.position.x, p.position.y, p.position.z] for p in b.poses],
        }
        for b in message.backbones
    ]
    return _filled(
        answers.ConfigurationAnswer,
        message,
        message.status,
        backbones=backbones,
        stability=STABILITY.get(message.status.stability, 'unknown'),
        warnings=answers.warning_names(message.status.warnings),
    )


def _point(message: Any) -> answers.CompliancePoint:
    axes = [[v.x, v.y, v.z] for v in message.principal_axis]
    matrix = _rows(message.matrix, 6)
    return _filled(answers.CompliancePoint, message, matrix=matrix, principal_axis=axes)


def _rows(values: Any, width: int) -> list[list[float]]:
    numbers = [float(x) for x in values]
    return [numbers[i : i + width] for i in range(0, len(numbers), width)] if width else []
