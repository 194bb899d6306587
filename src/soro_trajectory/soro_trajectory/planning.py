# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From the goal of TrackTrajectory to a schedule: which curve, how fast, with what limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from std_msgs.msg import Header

from soro_mechanics.analysis.curves import Curve, curve_from_poses, named_curve, placed, read_curve
from soro_mechanics.analysis.trajectory import (
    PathSolution,
    sample_curve,
    SampledPath,
    Schedule,
    schedule,
    solve_path,
)
from soro_mechanics.core.array_input import finite_array
from soro_mechanics.core.configuration import Array, Configuration, Task
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.conversions import pose_from_message, task_from_message
from soro_node.inputs.external_wrench import WrenchAt
from soro_trajectory.inverse_under_load import InverseUnderLoad

ToBase = Callable[[Header, str], Array]
LONGEST = 2.0**31  # s, which a Duration cannot hold any more


@dataclass(frozen=True)
class PlanningLimits:
    """What the planner's parameters and the robot allow."""

    #: speed, spacing: defaults of a goal that leaves them out [m/s], [m]
    speed: float
    spacing: float
    acceleration: float  #: along the path [m/s^2]
    rates: Array  #: (m,); of the actuators [SI/s]
    tolerances: tuple[float, float]  #: a point counts as reached within these [m], [rad]


@dataclass(frozen=True)
class Plan:
    """A goal that has been worked out."""

    path: SampledPath
    solution: PathSolution
    schedule: Schedule | None  #: or None; None when points failed or the planning was cancelled

    @property
    def code(self) -> Code:
        """NONE, CANCELED, or the code of the first point that was not reached."""
        if not self.solution.complete:
            return Code.CANCELED
        failed = self.solution.failed
        return self.solution.codes[failed[0]] if failed else Code.NONE

    @property
    def message(self) -> str:
        """One sentence for a person; empty when all is well."""
        if not self.solution.complete:
            return 'cancelled while planning; nothing moved'
        count = len(self.solution.failed)
        if not count:
            return ''
        share = f'{count} of {len(self.solution.codes)}'
        return f'{share} points tried are not reachable, nothing moved; {self.solution.message}'

    def desired_after(self, start: Callable[[], int]) -> Callable[[int], Array]:
        """Return what gives the desired pose (4, 4) at a stamp [ns]; it begins at `start`."""
        timed, poses = self.schedule, self.path.poses
        assert timed is not None  # noqa: S101 - for mypy

        def desired(stamp: int) -> Array:
            when = (stamp - start()) * 1e-9
            pose: Array = poses[timed.point_at(when)].copy()
            pose[:3, 3] = timed.position_at(when)
            return pose

        return desired


def curve_of_goal(goal: Any, to_base: ToBase) -> Curve:
    """Return the curve that a goal asks for, in base_link.

    The frame of `path` counts for points without one of their own, its stamp for all of them.
    InvalidInput, UnknownName: unknown curve or frame, wrong size, a pose that is not finite, an
    empty path, an unreadable file.
    """
    if goal.curve.endswith('.csv'):
        _check_unplaced(goal, _placement(goal, to_base))
        return read_curve(goal.curve)
    if goal.curve:
        return placed(named_curve(goal.curve, goal.size), _placement(goal, to_base))
    whole, found = goal.path.header, dict[str, Array]()
    poses = np.empty((len(goal.path.poses), 4, 4))
    for i, stamped in enumerate(goal.path.poses):
        own, field = stamped.header.frame_id, f'path.poses[{i}]'
        frame = own or whole.frame_id
        if frame not in found:  # once: a frame that moves is in one place for all points
            header = Header(frame_id=frame, stamp=whole.stamp)
            found[frame] = to_base(header, f'{field}.header' if own else 'path.header')
        oriented = goal.task != Task.POSITION
        poses[i] = found[frame] @ pose_from_message(stamped.pose, field, oriented)
    return curve_from_poses(poses)


def _placement(goal: Any, to_base: ToBase) -> Array:
    pose = pose_from_message(goal.curve_pose.pose, 'curve_pose.pose')
    return to_base(goal.curve_pose.header, 'curve_pose.header') @ pose


def _check_unplaced(goal: Any, pose: Array) -> None:
    """Refuse to place the points of a file: they are in base_link already."""
    if goal.size != 0.0:
        expected = 'zero with a .csv file, whose points are in metres; scale them in the file'
        raise InvalidInput('size', goal.size, expected)
    if not np.allclose(pose, np.eye(4), rtol=0.0, atol=1e-12):
        expected = 'the identity with a .csv file, whose points are in base_link; move them there'
        raise InvalidInput('curve_pose', np.round(pose, 6).tolist(), expected)


def check_goal(goal: Any) -> None:
    """Refuse numbers of a goal that make no sense: InvalidInput."""
    for name in ('speed', 'spacing', 'max_error'):
        value = getattr(goal, name)
        if finite_array(name, value, ()) < 0.0:
            raise InvalidInput(name, value, 'zero (the default) or more')
    if goal.control not in (goal.DEFAULT, goal.FEEDFORWARD, goal.FEEDBACK):
        expected = 'DEFAULT (0), FEEDFORWARD (1) or FEEDBACK (2)'
        raise InvalidInput('control', goal.control, expected)
    task_from_message(goal.task)


def _check_duration(seconds: float, speed: float) -> None:
    if not seconds < LONGEST:
        expected = f'a speed that ends the path within 2^31 s, not {seconds:.3g} s'
        raise InvalidInput('speed', speed, expected)


def make_plan(
    robot: Robot,
    goal: Any,
    to_base: ToBase,
    limits: PlanningLimits,
    wrench: Array | WrenchAt,
    guess: Configuration | None,
    proceed: Callable[[float], bool],
) -> Plan:
    """Sample, solve and time the path of a goal; nothing moves.

    `to_base`: from a header, and the field that it is, to the pose (4, 4) of its frame in
    base_link; `wrench` (6,): at the tip, axes of base_link, or what gives it for the pose of the
    tip (4, 4); `guess`: to start the first point from; `proceed` gets the progress, 0 to 1; False
    cancels.
    InvalidInput, UnknownName: the goal is wrong, or so slow that no Duration holds its time.
    """
    check_goal(goal)
    curve = curve_of_goal(goal, to_base)
    path = sample_curve(curve, goal.spacing or limits.spacing, goal.repetitions or 1)
    count = len(path.poses)
    speed = goal.speed or limits.speed
    _check_duration(float(path.arc_length[-1]) / speed, speed)
    solver, constant, task = robot, wrench, Task(goal.task)
    if callable(wrench):
        # All that solve_path asks of a robot are its actuators and its inverse.
        solver, constant = cast(Robot, InverseUnderLoad(robot, wrench)), np.zeros(6)
    solution = solve_path(
        solver, path, task, constant, (), guess, limits.tolerances, lambda i: proceed(i / count)
    )
    if solution.failed or not solution.complete:
        return Plan(path, solution, None)
    timed = schedule(path, solution.actuation, speed, limits.rates, limits.acceleration)
    _check_duration(timed.duration, speed)
    return Plan(path, solution, timed)
