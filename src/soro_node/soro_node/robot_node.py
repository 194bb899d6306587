# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Base of the nodes that solve the model of one robot: its parameters, its kernels, its words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription
from soro_node.diagnostics import Diagnostics, Level
from soro_node.lifecycle import GuardedLifecycleNode
from soro_node.parameters import Parameter, ParameterTable
from soro_node.process.warm_up import is_compiled
from soro_node.robot_binding import RobotBinding
from soro_node.transforms import TransformListener

COMPILING = 'loading kernels, or compiling kernels: minutes, the first time'


def announce_kernels(node: Any, robot: RobotDescription, model: str) -> None:
    """Say that a node is about to compile the kernels of a model, if so."""
    if not is_compiled(robot.file, model):
        node.get_logger().info(COMPILING)
        node.diagnostics.report('kernels', Level.WARN, COMPILING)


class RobotNode(GuardedLifecycleNode):
    """A lifecycle node with a robot, whose model and gravity may change while it runs.

    - `parameters`: with `soro_node.robot_binding.ROBOT_PARAMETERS` among them.
    """

    reported: tuple[str, ...] = ()  #: names in the diagnostics that are `inactive` with the node

    def __init__(self, name: str, parameters: Iterable[Parameter], **kwargs: object) -> None:
        super().__init__(name, **kwargs)
        self._binding: RobotBinding | None = None
        self.table = ParameterTable(self, parameters, self._check, self._apply)
        self.diagnostics = Diagnostics(self)
        self.transforms = TransformListener(self)

    def load_robot(self) -> Robot:
        """Read the robot file and return the robot with the node's model.

        InvalidInput, UnknownName, RobotFileError: no robot given, no such robot, or a wrong file.
        """
        self._binding = RobotBinding(self, self.table)
        announce_kernels(self, self._binding.description, self._binding.model)
        return self._binding.robot

    def make_kernels_ready(self) -> None:
        """Compile or load the kernels of the robot's models, see `RobotBinding.prepare`."""
        robot, seconds = self._binding.robot, self._binding.prepare()
        self.diagnostics.report('kernels', Level.OK, 'ready')
        self.get_logger().info(
            f'{robot.name}, model {robot.model}: kernels ready in {seconds:.1f} s'
        )

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Configure; what is reported goes on being published, however long that takes."""
        with self.diagnostics.repeated():
            return super().on_configure(state)

    def deactivate(self) -> None:
        """Stop the outputs, and say so."""
        super().deactivate()
        for name in self.reported:
            self.diagnostics.report(name, Level.OK, 'inactive')

    def model_changed(self) -> None:
        """Follow a change of the model or of gravity; the binding has it already."""

    def cleanup(self) -> None:
        """Forget the robot."""
        self._binding = None

    def _check(self, values: dict[str, Any]) -> None:
        if self._binding is not None:
            self._binding.check(values)

    def _apply(self, changed: set[str]) -> None:
        if self._binding is not None and changed & {'model', 'gravity'}:
            self._binding.apply(self.table)
            self._binding.prepare()
            self.model_changed()
