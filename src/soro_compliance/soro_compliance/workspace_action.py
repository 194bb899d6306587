# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The AnalyzeWorkspace action: progress while it runs, a code at every end."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timezone
import hashlib
import os
from pathlib import Path
import time
from typing import Any

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point
import numpy as np
from sensor_msgs.msg import PointCloud2, PointField

from soro_compliance import workspace_analysis as analysis
from soro_mechanics.analysis.workspace import sample_workspace, Workspace
from soro_mechanics.core.configuration import Array, Load
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_msgs.action import AnalyzeWorkspace
from soro_node.conversions import loads_from_messages, wrench_from_message
from soro_node.one_goal import OneGoal
from soro_node.robot_binding import RobotBinding

FEEDBACK_PERIOD = 0.1  # s


class WorkspaceAction(OneGoal):
    """Executes goals of AnalyzeWorkspace, one at a time: it uses all cores.

    `node`: for its clock, logger and state; `default_samples`: returns how many samples a goal of
    zero means; `publish`: publishes the cloud.
    """

    def __init__(
        self,
        node: Any,
        binding: RobotBinding,
        default_samples: Callable[[], int],
        publish: Callable[[PointCloud2], None],
    ) -> None:
        super().__init__(node, AnalyzeWorkspace)
        self._binding = binding
        self._default_samples = default_samples
        self._publish = publish

    def execute(self, handle: Any) -> Any:
        """Execute a goal."""
        return self.carry_out(handle, self._run)

    def _run(self, handle: Any, result: Any) -> None:
        goal, begin, ending = handle.request, time.monotonic(), self.ending

        def told_to_end() -> bool:
            return bool(handle.is_cancel_requested or ending.is_set())

        robot = self._binding.robot_with(goal.model)
        wrench, loads = wrench_from_message(goal.wrench), loads_from_messages(goal.loads)
        path = analysis.check_file(goal.save_to)
        actuations = self._samples(robot, goal, told_to_end)
        with ThreadPoolExecutor(os.cpu_count(), thread_name_prefix='workspace') as pool:
            cloud = sample_workspace(
                robot,
                actuations,
                pool,
                wrench,
                loads,
                goal.with_compliance,
                self._progress(handle, len(actuations), told_to_end),
            )
        if told_to_end():
            done = f'{len(cloud.codes)} of {len(actuations)} samples'
            raise SoroError(f'cancelled after {done}', Code.CANCELED)
        # What is said to be reached is where the robot stands by itself.
        cloud = replace(cloud, tip=np.where(cloud.solved[:, None, None], cloud.tip, np.nan))
        if path is not None:
            names = [a.name for a in robot.actuators]
            analysis.save(cloud, names, path, _origin(robot, goal, wrench, loads))
            result.saved_to = str(path)
        now = self._node.get_clock().now().to_msg()
        result.points = point_cloud(cloud, self._binding.frames.base_link, now)
        self._publish(result.points)
        _describe(cloud, result)
        result.duration = time.monotonic() - begin

    def _samples(self, robot: Robot, goal: Any, told_to_end: Callable[[], bool]) -> Array:
        count = goal.samples or self._default_samples()
        if count > analysis.MAX_SAMPLES:
            raise InvalidInput('samples', count, f'at most {analysis.MAX_SAMPLES}')
        low, high = analysis.bounds(robot, goal.lower, goal.upper)
        if goal.method == AnalyzeWorkspace.Goal.GRID:
            samples = analysis.grid_samples(robot, low, high, count)
        elif goal.method == AnalyzeWorkspace.Goal.RANDOM:
            samples = analysis.random_samples(robot, low, high, count, goal.seed, told_to_end)
        else:
            raise InvalidInput('method', goal.method, 'GRID (0) or RANDOM (1)')
        if not len(samples):
            raise InvalidInput('samples', count, 'enough for one point within the limits')
        return samples

    def _progress(
        self, handle: Any, total: int, told_to_end: Callable[[], bool]
    ) -> Callable[[int, int], bool]:
        last = [0.0]

        def proceed(done: int, failed: int) -> bool:
            now = time.monotonic()
            if now - last[0] >= FEEDBACK_PERIOD or done == total:
                last[0] = now
                message = AnalyzeWorkspace.Feedback(
                    progress=done / total,
                    step='solving samples',
                    solved=done - failed,
                    failed=failed,
                )
                handle.publish_feedback(message)
            return not told_to_end()

        return proceed


def point_cloud(cloud: Workspace, frame_id: str, stamp: Time) -> PointCloud2:
    """Return the tips of the solved samples, with how soft they are where that is known."""
    columns, names = [cloud.points], ['x', 'y', 'z']
    if len(cloud.compliance):
        columns.append(cloud.compliance[cloud.solved])
        names += ['min_compliance', 'max_compliance']
        screws = cloud.eigenstiffness[cloud.solved]
        if np.isfinite(screws).all():  # not of a model that is rigid in some direction
            columns.append(screws)
            names += ['min_eigenstiffness', 'max_eigenstiffness']
    data = np.ascontiguousarray(np.column_stack(columns), dtype='<f4')
    message = PointCloud2(
        height=1,
        width=len(data),
        is_bigendian=False,
        is_dense=True,
        point_step=4 * len(names),
        row_step=4 * len(names) * len(data),
    )
    message.header.frame_id = frame_id
    message.header.stamp = stamp
    message.fields = [
        PointField(name=name, offset=4 * i, datatype=PointField.FLOAT32, count=1)
        for i, name in enumerate(names)
    ]
    message.data.frombytes(data.tobytes())
    return message


def _origin(robot: Robot, goal: Any, wrench: Array, loads: tuple[Load, ...]) -> dict[str, Any]:
    """Return what a file of this goal was computed from."""
    file, grid = robot.description.file, goal.method == AnalyzeWorkspace.Goal.GRID
    try:
        digest = hashlib.sha256(Path(file).read_bytes()).hexdigest()
    except OSError:  # it has gone since it was read: no reason to lose the samples
        digest = ''
    return {
        'robot': robot.description.name,
        'robot_file': file,
        'robot_file_sha256': digest,
        'model': robot.model,
        'gravity_in_base_link_m_s2': robot.gravity.tolist(),
        'wrench_at_tip_N_Nm': wrench.tolist(),
        'loads': [repr(load) for load in loads],
        'method': 'GRID' if grid else 'RANDOM',
        'seed': None if grid else int(goal.seed),
        'written': datetime.now(timezone.utc).isoformat(timespec='seconds'),
    }


def _describe(cloud: Workspace, result: Any) -> None:
    points = cloud.points
    result.solved = len(points)
    result.failed = len(cloud.codes) - len(points)
    if len(points):
        low, high = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        result.minimum = Point(x=low[0], y=low[1], z=low[2])
        result.maximum = Point(x=high[0], y=high[1], z=high[2])
    else:
        nan = float(np.nan)
        result.minimum = result.maximum = Point(x=nan, y=nan, z=nan)
    result.volume = analysis.hull_volume(points)
    result.longest_extent = analysis.longest_extent(points)
