# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The TrackTrajectory action: plan everything, approach, follow, measure; stop safely.

It runs in a thread beside the executor and touches the robot through the `CommandStream` only.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import Any

import numpy as np
from rclpy.time import Time

from soro_mechanics.core.configuration import Task
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_node.conversions import pose_to_message
from soro_node.diagnostics import Level
from soro_node.inputs.actuator_feedback import NANOSECONDS
from soro_node.measurement_clock import MeasurementClock
from soro_node.replies import fill_code
from soro_trajectory.command_stream import Phase
from soro_trajectory.error_record import ErrorRecord, LOST
from soro_trajectory.planning import make_plan, Plan, PlanningLimits
from soro_trajectory.stream_action import LOOK_PERIOD, StreamAction
from soro_trajectory.stream_error import NO_TRACKER, StreamError
from soro_trajectory.targets import extent_of_workspace
from soro_trajectory.track_topics import (
    duration_message,
    FEEDBACK,
    topic_of,
    TrackTopics,
    trajectory_message,
)

FEEDBACK_PERIOD = 0.1  # s
# After the last command: measurements that are still on their way [s].
LAST_MEASUREMENTS = 0.2
NOTED = 0.1  # s without the measured tip, which a result mentions


class TrackAction(StreamAction):
    """Executes goals of TrackTrajectory; `node`: its transforms too."""

    name = 'track_trajectory'

    def __init__(self, *shared: Any, topics: TrackTopics) -> None:
        super().__init__(*shared)
        self._topics = topics
        self._extent: float | None = None

    def _run(self, handle: Any, result: Any) -> None:
        control, goal = self._node.tip_control, handle.request
        topic = topic_of(goal.reference, self._node.table.feedback, control.live)
        feedback = self._wants_feedback(goal)
        if not handle.request.plan_only:
            self._generation = self._stream.begin_era(self._ends)
        plan = self._plan(handle)
        if not handle.request.plan_only:
            self._stream.require(self._generation)
        self._describe(plan, result)
        if plan.schedule is None:
            fill_code(result, plan.code, plan.message)
            return
        if plan.solution.warnings:
            text = f'accepted: {plan.solution.message}'
            self._node.diagnostics.report('target', Level.WARN, text, topic='track_trajectory')
        self._topics.desired.publish(result.sampled_path)
        if handle.request.plan_only:
            return
        try:
            motion = self._approach(handle, plan, feedback)
            with self._topics.positions(topic):
                self._follow(handle, plan, topic, motion, feedback)
        finally:
            self._summarise(result, topic)
        if feedback and control.lost > NOTED:
            text = control.given_up or (
                f'tip_measured was lost for {control.lost:.1f} s: feedforward with the last '
                'correction meanwhile'
            )
            result.error_message = '; '.join(filter(None, (text, result.error_message)))

    def _wants_feedback(self, goal: Any) -> bool:
        """Whether the measured tip is to correct the motion; one that cannot is refused."""
        if goal.control == goal.DEFAULT:
            return bool(self._node.tip_control.by_default)
        if goal.control == goal.FEEDBACK and not self._node.tip_control.live:
            raise StreamError(Code.NO_STATE, f'control FEEDBACK: {NO_TRACKER}')
        return bool(goal.control == goal.FEEDBACK)

    def _plan(self, handle: Any) -> Plan:
        table, last = self._node.table, [0.0]
        tolerances = table.position_tolerance, table.orientation_tolerance
        limits = PlanningLimits(
            table.speed, table.spacing, table.acceleration, self._stream.rates, tolerances
        )

        def proceed(progress: float) -> bool:
            now = time.monotonic()
            if now - last[0] >= FEEDBACK_PERIOD:
                last[0] = now
                message = TrackTrajectory.Feedback(phase=TrackTrajectory.Feedback.PLANNING)
                message.progress = progress
                handle.publish_feedback(message)
            stopped = not handle.request.plan_only and self._stream.generation != self._generation
            return not (handle.is_cancel_requested or self.ending.is_set() or stopped)

        near, wrench_at = self._node.near()
        robot, base = self._binding.robot, self._binding.frames.base_link
        wrench = np.zeros(6) if wrench_at is None else wrench_at
        to_base = functools.partial(self._node.transforms.awaited, base)
        return make_plan(robot, handle.request, to_base, limits, wrench, near, proceed)

    def _describe(self, plan: Plan, result: Any) -> None:
        frame = self._binding.frames.base_link
        names = [a.name for a in self._binding.robot.actuators]
        result.failed_points = [int(i) for i in plan.solution.failed]
        result.sampled_path = self._topics.path(plan.path.poses, frame)
        result.mean_error = result.rms_error = result.peak_error = float('nan')
        result.relative_error = result.vibration = float('nan')
        result.warnings = plan.solution.warnings
        if plan.schedule is not None:
            result.plan = trajectory_message(plan.schedule, names, frame)
            result.duration = duration_message(plan.schedule.duration)

    def _approach(self, handle: Any, plan: Plan, feedback: bool) -> int:
        """Go to the first point and rest there; return the motion."""
        assert plan.schedule is not None  # noqa: S101 - for mypy
        first, table = plan.schedule.actuation_at(0.0), self._node.table
        control, pose = self._node.tip_control, plan.path.poses[0]
        motion: int = self._node.go_to(first, self._generation, feedback and control.live)
        control.aim(motion, lambda stamp: pose, Task(handle.request.task), feedback)
        tell = functools.partial(self._feed, handle, TrackTrajectory.Feedback.APPROACHING, plan, 0)
        self._arrive(handle, table.settle_time, tell)
        return motion

    def _follow(self, handle: Any, plan: Plan, topic: str, motion: int, feedback: bool) -> None:
        """Follow the schedule and record what becomes of it."""
        assert plan.schedule is not None  # noqa: S101 - for mypy
        table, schedule = self._node.table, plan.schedule
        begin, clock = time.monotonic(), self._node.get_clock()
        began, setting = clock.now().nanoseconds, threading.Lock()
        stamps = MeasurementClock(clock, self._node.get_logger().warning)

        def start() -> int:
            """Return the stamp of the beginning, by the clock as it is set when somebody asks."""
            with setting:  # several threads ask
                simulated = clock.ros_time_is_active
                return began if simulated else Time.from_msg(stamps.stamp(begin)).nanoseconds

        record = self._topics.record = ErrorRecord(schedule, start, table.delay)
        self._stream.follow(schedule, begin)
        delay = round(table.delay * NANOSECONDS)
        desired = plan.desired_after(lambda: start() + delay)
        self._node.tip_control.aim(motion, desired, Task(handle.request.task), feedback, True)
        end = begin + schedule.duration + table.delay + LAST_MEASUREMENTS
        # After a stall of the stream's loop it is behind the schedule, and ends after it.
        while time.monotonic() < end or self._stream.phase is Phase.FOLLOW:
            self._look(handle)
            time_now = time.monotonic() - begin - table.delay
            point = schedule.point_at(time_now)
            progress = min(1.0, max(0.0, time_now / max(schedule.duration, LOOK_PERIOD)))
            self._feed(handle, TrackTrajectory.Feedback.TRACKING, plan, point, progress, record)
            self._check_error(record, handle.request.max_error, begin + table.delay, topic)
            self.ending.wait(LOOK_PERIOD)

    def _check_error(self, record: ErrorRecord, most: float, begin: float, topic: str) -> None:
        """Hold when the error is too large, or unknown since `begin` [s] or its last sample."""
        if not most > 0.0:
            return
        sample, silence = record.latest, record.silence(begin)
        if record.expected and silence > LOST:
            text = f'no {topic} of this motion for {silence:.1f} s: the error is unknown'
        elif sample is not None and sample.error > most:
            way = f'{sample.error * 1e3:.2f} mm from the path after {sample.time:.2f} s'
            text = f'{way}, allowed are {most * 1e3:.2f} mm'
        else:
            return
        self._stream.hold(time.monotonic())
        raise StreamError(Code.TRACKING_ERROR, f'{text}; holding')

    def _feed(
        self,
        handle: Any,
        phase: int,
        plan: Plan,
        point: int,
        progress: float,
        record: ErrorRecord | None = None,
    ) -> None:
        if not self._topics.due(FEEDBACK_PERIOD):
            return
        message = TrackTrajectory.Feedback(phase=phase, point=point, progress=progress)
        message.desired = pose_to_message(plan.path.poses[point])
        message.error = float('nan')
        sample = None if record is None else record.latest
        if sample is not None and record is not None:
            message.actual = self._topics.actual
            message.error = sample.error
            self._topics.publish_actual(record, self._binding.frames.base_link)
        handle.publish_feedback(message)

    def _summarise(self, result: Any, topic: str) -> None:
        record, self._topics.record = self._topics.record, None
        if record is None:
            return
        result.mean_error, result.rms_error, result.peak_error = record.summary()
        if record.latest is not None:
            result.error_reference = FEEDBACK[topic][2]
        if self._extent is None:
            self._extent = extent_of_workspace(self._binding.robot)
        result.relative_error = result.mean_error / self._extent
        if record.latest is None and record.expected:
            result.error_message = f'no {topic} received: the tracking error is unknown'
        elif text := record.unseen():
            result.error_message = f'errors are of a part of the path; {topic} {text}'
