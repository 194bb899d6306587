# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From what people ask for (a pose, actuator values) to an actuation, or why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array, Configuration, InverseSolution, Task
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.conversions import actuation_from_names, task_from_message
from soro_node.inputs.external_wrench import WrenchAt
from soro_trajectory.inverse_under_load import InverseUnderLoad
from soro_trajectory.nearest_feasible import nearest_feasible

SHARES = (1.0, 0.5, 0.25)  # of the way from rest to the corners of the limits
PROBES = 8  # corners that tell whether most have a shape


class Goal(NamedTuple):
    """Where a target leads: the actuation (m,), and what a person should know of the robot there.

    `doubt` is asked when the motion has begun, since it may take a solve; its answer is empty
    where the model finds nothing wrong with that configuration. `desired` is the pose (4, 4)
    of the tip where one was asked for, and `task` what of it; `schedule` what follows once the
    actuation is reached.
    """

    actuation: Array
    doubt: Callable[[], str]
    desired: Array | None = None
    task: Task = Task.POSITION
    schedule: Schedule | None = None


class TargetRefused(SoroError):
    """A target that the robot cannot reach; nothing moves."""


def goal_for_pose(
    robot: Robot,
    pose: Array,
    task: Task,
    wrench_at: WrenchAt | None,
    guess: Configuration | None,
    tolerances: tuple[float, float],
) -> Goal:
    """Return where a target pose (4, 4) leads.

    `pose` (4, 4). `wrench_at`: from the pose of the tip to the external wrench (6,) there; None
    without any. `tolerances`: [m], [rad]. Raises TargetRefused: UNREACHABLE, AT_LIMIT,
    NOT_CONVERGED or UNSTABLE, with the distance that remains.
    """
    solver = robot if wrench_at is None else InverseUnderLoad(robot, wrench_at)
    solution = solver.inverse(pose, np.zeros(6), guess, (), task, *tolerances)
    if solution.status.code is not Code.NONE:
        raise TargetRefused(_refusal(pose, solution), solution.status.code)
    return Goal(solution.actuation, lambda: solution.configuration.status.doubt, pose, task)


def goal_of_command(robot: Robot, message: Any, near: Callable[[], Configuration | None]) -> Goal:
    """Return where an ActuatorCommand that is used as a target leads, solved from `near`.

    Raises InvalidInput: names, sizes, quantities or values are wrong.
    """
    if not len(message.name) == len(message.quantity) == len(message.value) > 0:
        counts = (len(message.name), len(message.quantity), len(message.value))
        sizes = '{} names, {} quantities, {} values'.format(*counts)
        expected = f'name, quantity and value of all {len(robot.actuators)} actuators'
        raise InvalidInput('target_actuation', sizes, expected, Code.INVALID_SIZE)
    values = actuation_from_names(robot, message.name, message.value, 'value')
    by_name = {a.name: a for a in robot.actuators}
    for name, quantity in zip(message.name, message.quantity, strict=True):
        actuator = by_name[name]
        if quantity != actuator.quantity_code:
            expected = f'{actuator.quantity} ({actuator.quantity_code}) for {name}'
            raise InvalidInput('quantity', int(quantity), expected)

    def doubt() -> str:
        try:
            guess = near()
            wrench = None if guess is None else guess.wrench
            return robot.forward(values, wrench, guess).status.doubt
        except InvalidInput as error:
            return str(error)

    return Goal(values, doubt)


def task_of(target: Any) -> Task:
    """Return what of a TipTarget must be met.

    Raises InvalidInput: it is no task, or the target asks for a velocity or a wrench, which no
    controller here follows yet (UNSUPPORTED).
    """
    task = task_from_message(target.task, 'tip_target.task')
    for field, first, second in (('velocity', 'linear', 'angular'), ('wrench', 'force', 'torque')):
        part = getattr(target, field)
        for name in (first, second):
            value = getattr(part, name)
            given = [value.x, value.y, value.z]
            if given != [0.0, 0.0, 0.0]:
                raise InvalidInput(
                    f'tip_target.{field}.{name}', given, 'zero: not followed yet', Code.UNSUPPORTED
                )
    return task


def extent_of_workspace(robot: Robot) -> float:
    """Return the longest distance between two tips [m], over the corners of the actuator limits.

    Corners beyond a coupled limit are drawn towards rest, and so are all of them where most have
    no shape, as with muscles that share a backbone. A robot of more than eight actuators has too
    many corners: 256 of them are drawn at random (seeded). A lower bound.
    """
    low, high = robot.limits.T
    count = len(low)
    if count <= 8:
        corners = np.array(np.meshgrid(*[[0.0, 1.0]] * count)).reshape(count, -1).T
    else:
        corners = np.random.default_rng(0).integers(0, 2, (256, count)).astype(float)
    rest = robot.description.rest
    ways = [nearest_feasible(robot, low + c * (high - low)) - rest for c in corners]
    points = np.zeros((0, 3))
    for share in SHARES:
        probes = ways[:PROBES]
        if 2 * len(_tips(robot, rest, share, probes)) > len(probes):
            points = _tips(robot, rest, share, ways)
            break
    if len(points) < 2:
        return float('nan')
    return float(max(np.linalg.norm(points - p, axis=1).max() for p in points))


def _tips(robot: Robot, rest: Array, share: float, ways: Sequence[Array]) -> Array:
    """Return the tips (n, 3) [m] where there is a shape."""
    solved = [robot.forward(rest + share * way) for way in ways]
    tips = [q.tip[:3, 3] for q in solved if q.status.code is Code.NONE]
    return np.array(tips).reshape(-1, 3)


def _refusal(pose: Array, solution: InverseSolution) -> str:
    x, y, z = pose[:3, 3]
    return f'({x:.4f}, {y:.4f}, {z:.4f}) m: {solution.status.doubt}'
