# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The same answers computed in this process from a robot file, without ROS."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from soro_cli.answers import (
    ComparisonAnswer,
    ComplianceAnswer,
    CompliancePoint,
    ConfigurationAnswer,
    ForwardAnswer,
    InverseAnswer,
    JacobianAnswer,
    Pose,
    warning_names,
)
from soro_kinematics.comparison import compare
from soro_mechanics import Code, Configuration, InvalidInput, load_robot, Robot, Task
from soro_mechanics.analysis import stiffness
from soro_mechanics.core.actuators import Actuator
from soro_node.user_errors import UserError


class OfflineMechanics:
    """One robot of the catalogue or of a file."""

    def __init__(self, robot: str | None) -> None:
        if not robot:
            raise UserError('--offline needs to know the robot: --robot NAME or --robot FILE')
        self._robot = load_robot(robot)
        self.description = self._robot.description
        self._loaded: set[str] = set()  # models whose kernels are in memory

    @property
    def actuators(self) -> tuple[Actuator, ...]:
        """The robot's actuators."""
        return self._robot.actuators

    def forward(
        self, actuation: list[float], wrench: list[float], model: str, examine: bool = True
    ) -> ForwardAnswer:
        """Solve an actuation."""
        robot = self._model(model)
        q = self._solved(robot, actuation, wrench)
        if examine and q.status.converged:
            q = robot.examine(q)
        return ForwardAnswer(int(q.status.code), _message(q), _configuration(robot, q))

    def inverse(
        self,
        position: list[float],
        quaternion: list[float] | None,
        task: int,
        wrench: list[float],
        model: str,
    ) -> InverseAnswer:
        """Solve a target."""
        robot = self._model(model)
        target = np.eye(4)
        target[:3, 3] = position
        if quaternion is not None:
            target[:3, :3] = Rotation.from_quat(quaternion).as_matrix()
        rest = robot.forward([a.rest for a in robot.actuators])
        robot.inverse(rest.tip[:3, 3], guess=rest)  # loads the kernels
        s = robot.inverse(target, wrench, task=Task(task))
        message = s.status.message or ('' if s.status.code is Code.NONE else s.status.code.name)
        return InverseAnswer(
            int(s.status.code),
            message,
            self._names(),
            [float(x) for x in s.actuation],
            _configuration(robot, s.configuration),
            s.position_error,
            s.orientation_error,
            list(s.at_limit),
        )

    def jacobian(
        self, actuation: list[float] | None, wrench: list[float], model: str
    ) -> JacobianAnswer:
        """Differentiate the tip by the actuation."""
        robot = self._model(model)
        q = self._solved(robot, self._needed(actuation), wrench)
        return JacobianAnswer(
            int(q.status.code), _message(q), self._names(), robot.jacobian(q).tolist()
        )

    def compliance(
        self,
        actuation: list[float] | None,
        wrench: list[float],
        model: str,
        method: str,
        along: bool,
    ) -> ComplianceAnswer:
        """Linearise at the loaded equilibrium."""
        robot = self._model(model)
        q = self._solved(robot, self._needed(actuation), wrench)
        if along:
            matrices = robot.compliance_along(q, method=method)
            points = [
                _point(name, float(s), pose, matrix)
                for name, lengths, poses, along_it in zip(
                    q.backbone_names, q.arc_lengths, q.backbones, matrices, strict=True
                )
                for s, pose, matrix in zip(lengths, poses, along_it, strict=True)
            ]
        else:
            points = [_point('', _tip_arc(q), q.tip, robot.compliance(q, method=method))]
        code, message = int(q.status.code), _message(q)
        if not q.status.converged:
            code = code or int(Code.NOT_CONVERGED)
            reason = message or 'no equilibrium was found'
            message = f'{reason}: the compliance there is not known (NaN)'
        return ComplianceAnswer(code, message, q.model, method, points, _configuration(robot, q))

    def compare(
        self, actuation: list[float], wrench: list[float], models: list[str]
    ) -> ComparisonAnswer:
        """Solve one actuation with several models."""
        robots = [self._model(m) for m in (models or self._robot.models)]
        solved = [robot.forward(actuation, wrench) for robot in robots]
        result = compare(solved)
        failed = all(q.status.code is Code.NOT_CONVERGED for q in solved)
        return ComparisonAnswer(
            int(Code.NOT_CONVERGED if failed else Code.NONE),
            '',
            [_configuration(r, q) for r, q in zip(robots, solved, strict=True)],
            result.position_spread,
            result.orientation_spread,
            result.hint,
        )

    def _solved(self, robot: Robot, actuation: list[float], wrench: list[float]) -> Configuration:
        return robot.forward(actuation, wrench)

    def _model(self, model: str) -> Robot:
        robot = self._robot.with_model(model) if model else self._robot
        if robot.model not in self._loaded:  # the times shown are of solving, not of loading
            self._loaded.add(robot.model)
            robot.forward([a.rest for a in robot.actuators])
        return robot

    def _names(self) -> list[str]:
        return [a.name for a in self._robot.actuators]

    def _needed(self, actuation: list[float] | None) -> list[float]:
        if actuation is None:
            example = ' '.join(f'{a.name}=...' for a in self._robot.actuators)
            raise UserError(f'--offline knows no present actuation; give one: {example}')
        return actuation


def _message(q: Configuration) -> str:
    if q.status.message or q.status.code is Code.NONE:
        return q.status.message
    return q.status.code.name.lower().replace('_', ' ')


def _pose(matrix: Any) -> Pose:
    quaternion = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    sign = -1.0 if quaternion[3] < 0.0 else 1.0
    return Pose([float(x) for x in matrix[:3, 3]], [float(sign * x) for x in quaternion])


def _configuration(robot: Robot, q: Configuration) -> ConfigurationAnswer:
    backbones = [
        {'name': name, 'arc_length': lengths.tolist(), 'position': poses[:, :3, 3].tolist()}
        for name, lengths, poses in zip(q.backbone_names, q.arc_lengths, q.backbones, strict=True)
    ]
    return ConfigurationAnswer(
        q.model,
        [a.name for a in robot.actuators],
        q.actuation.tolist(),
        _pose(q.tip),
        backbones,
        q.status.residual,
        q.status.iterations,
        q.status.solve_time,
        q.status.stability.name.lower(),
        warning_names(q.status.warnings),
        q.status.message,
        q.status.limit_distance,
        q.status.mesh_error,
    )


def _point(backbone: str, arc_length: float, pose: Any, matrix: Any) -> CompliancePoint:
    softness, axes = np.zeros(3), np.eye(3)
    values = pitches = np.full(3, np.nan)
    if not np.all(np.isfinite(matrix)):  # of no equilibrium
        softness, axes = np.full(3, np.nan), np.full((3, 3), np.nan)
    elif np.any(matrix):  # a clamped base gives way in no direction and has no eigenscrews
        ellipsoid, _ = stiffness.ellipsoids(matrix)
        softness, axes = ellipsoid.values, ellipsoid.axes.T
        with contextlib.suppress(InvalidInput):  # an unstable equilibrium has none either
            screws = stiffness.eigenscrews(matrix)
            positive = np.flatnonzero(screws.values > 0.0)[::-1]
            values, pitches = screws.values[positive], screws.pitches[positive]
    return CompliancePoint(
        backbone,
        arc_length,
        _pose(pose),
        matrix.tolist(),
        softness.tolist(),
        axes.tolist(),
        values.tolist(),
        pitches.tolist(),
    )


def _tip_arc(q: Configuration) -> float:
    return float(q.arc_lengths[0][-1]) if len(q.arc_lengths) == 1 else float('nan')
