# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot that a node serves: the parameters every such node has, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_node.frames import Frames, frames_for, FROM_NAMESPACE
from soro_node.parameters import Parameter
from soro_node.process.background_compilation import BackgroundCompilation
from soro_node.process.warm_up import is_compiled, warm_up

ROBOT = Parameter(
    'robot', '', '', 'name of a robot in the catalogue, or path of a robot file; required',
    read_only=True,
)  # fmt: skip
FRAME_PREFIX = Parameter(
    'frame_prefix', FROM_NAMESPACE, '',
    "put before every frame name; <namespace> stands for the node's namespace",
    read_only=True,
)  # fmt: skip
ROBOT_PARAMETERS = (
    ROBOT,
    Parameter('model', '', '', "model used by default; empty: the first one of the robot's file"),
    FRAME_PREFIX,
    Parameter(
        'gravity', [], 'm/s^2', "gravity in base_link (the mounting); empty: the robot file's",
        sizes=(0, 3),
    ),
)  # fmt: skip


def read_description(values: Mapping[str, Any]) -> RobotDescription:
    """Read the robot file that the parameters name.

    InvalidInput, UnknownName, RobotFileError: no robot given, no such robot, or a wrong file.
    """
    if not values['robot']:
        raise InvalidInput('robot', '', 'the name of a robot or the path of a robot file')
    return read_robot_file(find_robot_file(values['robot']))


class RobotBinding:
    """Robot, models and frames of one node.

    `node`: gives the namespace; `values`: values of `ROBOT_PARAMETERS` (a ParameterTable does).
    `model`: the node's.
    """

    def __init__(self, node: Node, values: Mapping[str, Any]) -> None:
        self.description = read_description(values)
        self.frames: Frames = frames_for(node.get_namespace(), values['frame_prefix'])
        self._compilation: BackgroundCompilation | None = None
        self.apply(values)

    @property
    def robot(self) -> Robot:
        """The robot with the node's model."""
        return self.robot_with('')

    def robot_with(self, model: str) -> Robot:
        """Return the robot with one of its models; empty: the node's model.

        UnknownName: UNKNOWN_MODEL, with the robot's models.
        SoroError: BUSY: its kernels are not ready yet, see `prepare`.
        """
        robot = self._robot(model or self.model)
        if self._compilation is not None:
            self._compilation.require(robot)
        return robot

    def prepare(self) -> float:
        """Make the kernels of the node's model ready; return how long that took [s].

        What has been compiled for other models is loaded when it is asked for. What has not is
        compiled beside the node; until then `robot_with` refuses those models.
        """
        seconds = warm_up(self.robot)
        if self._compilation is None:
            file, models = self.description.file, set(self.description.models) - {self.model}
            missing = {model for model in models if not is_compiled(file, model)}
            self._compilation = BackgroundCompilation(file, missing)
        return seconds

    def _robot(self, name: str) -> Robot:
        robots, gravity = self._table  # once: `apply` may put in another table meanwhile
        if name not in robots:
            robot = Robot(self.description, name)
            if gravity is not None:
                robot.gravity = gravity
            robots[name] = robot
        return robots[name]

    def check(self, values: Mapping[str, Any]) -> None:
        """Refuse parameter values that do not fit this robot."""
        model, models = values['model'], self.description.models
        if model and model not in models:
            raise UnknownName('model', model, models, Code.UNKNOWN_MODEL)
        if model and self._compilation is not None:
            self._compilation.require(self._robot(model))

    def apply(self, values: Mapping[str, Any]) -> None:
        """Take over the model and the gravity of the parameters."""
        self.check(values)
        self.model = values['model'] or self.description.models[0]
        # A new table, not a change of robots in use: a solve under way keeps its gravity.
        gravity: list[float] | None = list(values['gravity']) or None
        self._table: tuple[dict[str, Robot], list[float] | None] = ({}, gravity)
