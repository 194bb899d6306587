# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a trajectory_msgs/JointTrajectory of actuator values to a schedule, or why not."""

from __future__ import annotations

from typing import Any

import numpy as np

from soro_mechanics.analysis.trajectory import MAX_POINTS, Schedule
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.conversions import actuation_from_names
from soro_trajectory.targets import Goal

ROUNDING = 1e-6  # of a rate: durations are whole nanoseconds


def seconds(message: Any) -> float:
    """Return a time or duration [s]."""
    return float(message.sec + 1e-9 * message.nanosec)


def goal_of_trajectory(
    robot: Robot, message: Any, rates: Array, start: Array | None = None
) -> Goal:
    """Return the first point of a trajectory and, as the goal's schedule, all of it.

    Straight lines between the points. The first is approached at the planner's own pace; from
    there on the differences of `time_from_start` count. With a `start` (m,), and time before the
    first point, that is the first point, at time zero.

    `message`: every actuator once, positions in SI. `rates` (m,): allowed of a motion [SI/s].
    Raises InvalidInput: INVALID_SIZE, NOT_FINITE, UNKNOWN_NAME; OUT_OF_RANGE: beyond a limit,
    faster than `rates`, or times that do not increase; UNSUPPORTED: efforts are asked for.
    """
    points = message.points
    if not 0 < len(points) <= MAX_POINTS:
        expected = f'1 to {MAX_POINTS} points'
        raise InvalidInput('points', len(points), expected, Code.INVALID_SIZE)
    if not message.joint_names:
        expected = 'the name of every actuator'
        raise InvalidInput('joint_names', [], expected, Code.INVALID_SIZE)
    values, times = [], []
    for i, point in enumerate(points):
        field = f'points[{i}]'
        if len(point.effort):
            expected = 'nothing: only positions are followed'
            raise InvalidInput(f'{field}.effort', len(point.effort), expected, Code.UNSUPPORTED)
        names = message.joint_names
        values.append(actuation_from_names(robot, names, point.positions, f'{field}.positions'))
        found = robot.violations(values[-1])
        if found:
            expected = f'values within the limits ({"; ".join(found)})'
            raise InvalidInput(f'{field}.positions', values[-1].tolist(), expected)
        times.append(seconds(point.time_from_start))
    if times[0] < 0.0:
        raise InvalidInput('points[0].time_from_start', times[0], 'no time before the start')
    if start is not None and times[0] > 0.0:
        values.insert(0, start)
        times.insert(0, 0.0)
    own = len(points) - len(times)
    actuation, time = np.array(values), np.array(times) - times[0]
    for i, (ways, step) in enumerate(zip(np.diff(actuation, axis=0), np.diff(time), strict=True)):
        needed = float(np.max(np.abs(ways) / rates)) * (1.0 - ROUNDING)
        if not step > 0.0 or step < needed:
            expected = f'at least {times[i] + needed:.6g} s, later than what is before'
            raise InvalidInput(f'points[{i + 1 + own}].time_from_start', times[i + 1], expected)
    end = Schedule(time, actuation, np.zeros((len(time), 3)), 0.0)
    return Goal(actuation[0], lambda: '', schedule=end if len(time) > 1 else None)
