# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The FollowJointTrajectory action of ros2_controllers, for actuators: tolerances and a result.

As with the joint_trajectory_controller a newer goal ends the one before. The package of the
action, control_msgs, is not everywhere: without it none is offered.
"""

from __future__ import annotations

from collections.abc import Sequence
import time
import traceback
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.executor.worker_queue import WorkerQueue
from soro_node.inputs.polled_feedback import PolledFeedback
from soro_node.replies import internal
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.joint_trajectory import goal_of_trajectory, seconds
from soro_trajectory.stream_action import check_goes_on, LOOK_PERIOD
from soro_trajectory.stream_error import StreamError

try:
    from control_msgs.action import FollowJointTrajectory
except ModuleNotFoundError:
    FollowJointTrajectory = None
MISSING = 'follow_joint_trajectory is not offered: control_msgs is missing; `make setup` builds it'
FEEDBACK_LOOKS = 3  # looks at the stream between two feedbacks
MAX_AHEAD = 600.0  # s, assumed: a goal holds the robot until its header.stamp
GOAL_TIME = 1.0  # s, assumed: for the goal tolerance where a goal says zero


class GoalEnded(SoroError):
    """A goal ends with an error code of the action; SUCCESSFUL where it was cancelled."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.result_code = getattr(FollowJointTrajectory.Result, code)


class FollowAction:
    """Executes goals of FollowJointTrajectory; `node`: its state, clock, `present`, `go_to`."""

    def __init__(
        self, node: Any, robot: Robot, stream: CommandStream, feedback: PolledFeedback
    ) -> None:
        self._node, self._robot, self._stream, self._feedback = node, robot, stream, feedback
        self._names = [a.name for a in robot.actuators]
        self.goals: list[Any] = []  # that are being executed

    def offer(self, queue: WorkerQueue) -> None:
        """Offer the action, or say why not."""
        if FollowJointTrajectory is None:
            self._node.get_logger().info(MISSING)
        else:
            name, arrived = '~/follow_joint_trajectory', lambda: (self._stream.ends,)
            queue.create_action(FollowJointTrajectory, name, self._execute, arrived)

    def _execute(self, handle: Any, ends: int) -> Any:
        result, end = FollowJointTrajectory.Result(), handle.succeed
        self.goals.append(handle)
        try:
            self._run(handle, ends)
        except Exception as error:  # noqa: BLE001 - rclpy would abort with an empty result
            # As ros2_controllers: the action has no code for what is not the goal's fault.
            result.error_code, text = result.INVALID_GOAL, internal(error)
            if isinstance(error, GoalEnded):
                result.error_code, text = error.result_code, str(error)
            elif isinstance(error, SoroError):
                text = f'{error.code.name}: {error}'
            result.error_string = text
            end = handle.abort if result.error_code else handle.canceled
            text = text if isinstance(error, SoroError) else traceback.format_exc()
            self._node.get_logger().warning(f'follow_joint_trajectory: {text}')
        self.goals.remove(handle)
        end()
        return result

    def _run(self, handle: Any, ends: int) -> None:
        self._node.check_active()
        self._node.check_free()
        goal, trajectory = handle.request, handle.request.trajectory
        whole = goal.multi_dof_trajectory.joint_names
        if sorted(trajectory.joint_names) != sorted(self._names) or whole:
            text = f'joint_names = {list(trajectory.joint_names)}: expected each of {self._names}'
            raise GoalEnded('INVALID_JOINTS', f'{text}, in multi_dof_trajectory none')
        if goal.component_path_tolerance or goal.component_goal_tolerance:
            raise GoalEnded('INVALID_JOINTS', 'component tolerances: expected none, as of joints')
        wait = seconds(goal.goal_time_tolerance) or GOAL_TIME
        if wait < 0.0:
            raise InvalidInput('goal_time_tolerance', wait, 'seconds, or 0 for the default')
        path = self._tolerances('path_tolerance', goal.path_tolerance)
        last = self._tolerances('goal_tolerance', goal.goal_tolerance)
        rates, here = self._stream.rates, self._node.present
        where = goal_of_trajectory(self._robot, trajectory, rates, here())
        begin, clock = seconds(trajectory.header.stamp), self._node.get_clock()
        late = lambda: 1e-9 * clock.now().nanoseconds - begin  # noqa: E731
        if begin and late() > seconds(trajectory.points[-1].time_from_start):
            raise GoalEnded('OLD_HEADER_TIMESTAMP', 'header.stamp: the trajectory is over')
        if begin and late() < -MAX_AHEAD:
            wanted = f'at most {MAX_AHEAD:g} s ahead, or 0 to begin at once'
            raise InvalidInput('header.stamp', begin, wanted)
        generation = self._stream.begin_era(ends)
        try:
            if late() < 0.0:
                while late() < 0.0:
                    self._look(handle, generation)
                # What went on until then has moved it.
                where = goal_of_trajectory(self._robot, trajectory, rates, here())
            self._node.go_to(where.actuation, generation, schedule=where.schedule)
            self._watch(handle, generation, path, last, wait)
        except Exception:
            if self._stream.generation == generation:
                self._stream.hold(time.monotonic())
            raise

    def _watch(self, handle: Any, generation: int, path: Array, last: Array, wait: float) -> None:
        """Return when the end is reached within tolerance `last`; raise when that fails."""
        looks = 0
        while True:
            self._look(handle, generation)
            now, phase = time.monotonic(), self._stream.phase
            desired, feedback = self._stream.feedforward(now), self._feedback.fresh()
            if desired is None or feedback is None:
                continue
            if looks % FEEDBACK_LOOKS == 0:
                self._feed(handle, desired, feedback.present)
            looks += 1
            off = np.nan_to_num(np.abs(desired - feedback.present), nan=np.inf)
            if phase is Phase.FOLLOW and np.any(off > path):
                raise GoalEnded('PATH_TOLERANCE_VIOLATED', self._said(off, path))
            if phase is Phase.HOLD and np.all(off <= last):
                return
            if phase is Phase.HOLD and now - self._stream.started > wait:
                raise GoalEnded('GOAL_TOLERANCE_VIOLATED', self._said(off, last))

    def _look(self, handle: Any, generation: int) -> None:
        time.sleep(LOOK_PERIOD)
        try:
            check_goes_on(handle, self._stream, generation)
        except StreamError as error:
            if error.code is Code.CANCELED and handle.is_cancel_requested:
                raise GoalEnded('SUCCESSFUL', str(error)) from None
            raise

    def _tolerances(self, field: str, given: Sequence[Any]) -> Array:
        """Return how far each actuator may be off (m,) [SI]; infinite: at will."""
        found = np.full(len(self._names), np.inf)
        for i, tolerance in enumerate(given):
            if tolerance.name not in self._names:
                text = f'{field}[{i}].name = {tolerance.name}: expected one of {self._names}'
                raise GoalEnded('INVALID_JOINTS', text)
            for part in ('position', 'velocity', 'acceleration'):
                value = getattr(tolerance, part)
                if value not in (0.0, -1.0) and (part != 'position' or not 0.0 < value < np.inf):
                    expected = '0, -1 or a distance; only positions are watched'
                    raise InvalidInput(f'{field}[{i}].{part}', value, expected)
            if tolerance.position > 0.0:
                found[self._names.index(tolerance.name)] = tolerance.position
        return found

    def _said(self, off: Array, allowed: Array) -> str:
        i = int(np.argmax(off > allowed))
        return f'{self._names[i]} is off by {off[i]:.4g}, allowed are {allowed[i]:.4g}; holding'

    def _feed(self, handle: Any, desired: Array, actual: Array) -> None:
        message = FollowJointTrajectory.Feedback(joint_names=self._names)
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.desired.positions = desired.tolist()
        message.actual.positions = actual.tolist()
        message.error.positions = (desired - actual).tolist()
        handle.publish_feedback(message)
