# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The four services of the kinematics solver: requests in, responses out, no node in between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
import math
from typing import Any

from builtin_interfaces.msg import Time
import numpy as np
from std_msgs.msg import Header

from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array, Configuration, Load, rotation_angle, Task
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_node.conversions import (
    actuation_from_names,
    configuration_to_message,
    loads_from_messages,
    pose_from_message,
    task_from_message,
    wrench_from_message,
)
from soro_node.inputs.actuator_feedback import LatestFeedback
from soro_node.inputs.external_wrench import WrenchAt
from soro_node.replies import fill_code, fill_status
from soro_node.requests import forward_from, loaded_state, quick_start_of, start_of
from soro_node.robot_binding import RobotBinding


@dataclass(frozen=True)
class Comparison:
    """Largest differences between any two models that converged."""

    position_spread: float  #: [m]; NaN with fewer than two converged models
    orientation_spread: float  #: [rad]; NaN likewise
    hint: str  #: one sentence for a person


def compare(configurations: Sequence[Configuration]) -> Comparison:
    """Compare the tips of several models under the same actuation and load."""
    good = [q for q in configurations if q.status.code is not Code.NOT_CONVERGED]
    failed = [q.model for q in configurations if q.status.code is Code.NOT_CONVERGED]
    note = f'; not converged: {", ".join(failed)}' if failed else ''
    if len(good) < 2:
        return Comparison(math.nan, math.nan, f'fewer than two models to compare{note}')
    apart = {
        (a.model, b.model): float(np.linalg.norm(a.tip[:3, 3] - b.tip[:3, 3]))
        for a, b in combinations(good, 2)
    }
    turn = max(rotation_angle(a.tip[:3, :3], b.tip[:3, :3]) for a, b in combinations(good, 2))
    first, second = max(apart, key=lambda pair: apart[pair])
    spread = apart[first, second]
    unstable = [q.model for q in good if q.status.code is Code.UNSTABLE]
    if unstable:
        note += f'; unstable: {", ".join(unstable)}'
    hint = f'{first} and {second} are farthest apart, {spread * 1e3:.3g} mm{note}'
    return Comparison(spread, turn, hint)


@dataclass(eq=False)
class Services:
    """Answers of the kinematics solver.

    `feedback`: for requests about the present state. `latest`: returns the newest solved
    configuration or None. Questions about the present state start from it; others only where that
    cannot change their answer. `tolerances`: returns the node's (position [m], orientation [rad])
    tolerances. `now`: returns the stamp of a response. `to_base`: from a header, and the field
    that it is, to the pose (4, 4) of its frame in base_link. `external`: returns the external
    wrench of this moment, for requests about the present state.
    """

    binding: RobotBinding
    feedback: LatestFeedback
    latest: Callable[[], Configuration | None]
    tolerances: Callable[[], tuple[float, float]]
    now: Callable[[], Time]
    to_base: Callable[[Header, str], Array]
    external: Callable[[], WrenchAt | None] = lambda: None

    def solve_forward(self, request: Any, response: Any) -> Any:
        """Fill the configuration under an actuation."""
        state = loaded_state(self.binding, request)
        q = state.solve(quick_start_of(state.robot, self.latest()))
        if request.examine and q.status.converged:
            q = state.robot.examine(q)
        response.configuration = self._message(q, state.robot)
        return fill_status(response, q.status)

    def compute_jacobian(self, request: Any, response: Any) -> Any:
        """Fill the Jacobian of the tip at an actuation."""
        state = loaded_state(self.binding, request, self.feedback.actuation, self.external)
        start = start_of if state.of_present else quick_start_of
        q = state.solve(start(state.robot, self.latest()))
        if q.status.code is not Code.NOT_CONVERGED:
            response.actuator_name = [a.name for a in state.robot.actuators]
            response.matrix = state.robot.jacobian(q).ravel().tolist()
        return fill_status(response, q.status)

    def compare_models(self, request: Any, response: Any) -> Any:
        """Fill the configurations of several models and how far they are apart."""
        names = list(request.models) or list(self.binding.description.models)
        solved = []
        for name in names:
            robot = self.binding.robot_with(name)
            actuation = actuation_from_names(robot, request.actuator_name, request.actuation)
            wrench = wrench_from_message(request.wrench)
            loads = loads_from_messages(request.loads)
            near = quick_start_of(robot, self.latest())
            q = forward_from(robot, actuation, wrench, loads, near)
            response.configurations.append(self._message(q, robot))
            solved.append(q)
        result = compare(solved)
        response.position_spread = result.position_spread
        response.orientation_spread = result.orientation_spread
        response.hint = result.hint
        failed = all(q.status.code is Code.NOT_CONVERGED for q in solved)
        return fill_code(response, Code.NOT_CONVERGED if failed else Code.NONE, '')

    def solve_inverse(self, request: Any, response: Any) -> Any:
        """Fill the actuation for a target, or the nearest reachable pose and what stops it."""
        robot = self.binding.robot_with(request.model)
        target, task = self._target(request)
        wrench = wrench_from_message(request.wrench)
        loads = loads_from_messages(request.loads)
        guess = self._guess(robot, request, wrench, loads)
        # A guess of the request chooses the solution; the present state is only where to begin.
        solution = robot.inverse(
            target,
            wrench,
            guess,
            loads,
            task,
            *self._asked_tolerances(request),
            multistart=not len(request.guess),
        )
        response.actuator_name = [a.name for a in robot.actuators]
        response.actuation = solution.actuation.tolist()
        response.configuration = self._message(solution.configuration, robot)
        response.position_error = float(solution.position_error)
        response.orientation_error = float(solution.orientation_error)
        response.at_limit = list(solution.at_limit)
        status = solution.status
        return fill_code(response, status.code, status.message or status.doubt)

    def _target(self, request: Any) -> tuple[Array, Task]:
        task = task_from_message(request.task)
        pose = pose_from_message(request.target.pose, 'target.pose', task is not Task.POSITION)
        return self.to_base(request.target.header, 'target.header') @ pose, task

    def _asked_tolerances(self, request: Any) -> tuple[float, float]:
        asked = (request.position_tolerance, request.orientation_tolerance)
        names = ('position_tolerance', 'orientation_tolerance')
        for name, value in zip(names, asked, strict=True):
            if finite_array(name, value, ()) < 0.0:
                raise InvalidInput(name, value, 'zero (the default) or more')
        default = self.tolerances()
        return asked[0] or default[0], asked[1] or default[1]

    def _guess(
        self, robot: Robot, request: Any, wrench: Array, loads: tuple[Load, ...]
    ) -> Configuration | None:
        """Return where to start: the actuation asked for, else the present state, else nothing.

        It chooses among several solutions.
        """
        if len(request.guess):
            values = finite_array('guess', request.guess, (len(robot.actuators),))
            near = quick_start_of(robot, self.latest())
            return forward_from(robot, values, wrench, loads, near)
        present = self.feedback.fresh()
        if present is None or not present.known:
            return None  # what was solved last is no longer where the robot is
        near = start_of(robot, self.latest())
        return near or robot.forward(present.present, wrench, None, loads)

    def _message(self, q: Configuration, robot: Robot) -> ConfigurationMessage:
        return configuration_to_message(
            q, robot, self.binding.frames.base_link, self.now(), ConfigurationMessage.FROM_REQUEST
        )
