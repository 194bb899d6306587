# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals that ask for what cannot be: files that are placed, paths that last too long."""

import numpy as np
import pytest
from soro_mechanics.errors import InvalidInput
from soro_mechanics.status import Code
from soro_node.conversions import pose_to_message
from soro_node.frames import Frames
from soro_trajectory.planning import curve_of_goal, make_plan, PlanningLimits

from soro_mechanics import load_robot
from soro_msgs.action import TrackTrajectory

FRAMES = Frames('arm/')


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'points.csv'
    path.write_text('0.0, 0.0, 0.17\n0.01, 0.0, 0.17\n', encoding='utf-8')
    return str(path)


def test_points_of_a_file_are_in_the_base(file):
    curve = curve_of_goal(TrackTrajectory.Goal(curve=file), FRAMES)
    assert curve.positions == pytest.approx(np.array([[0.0, 0.0, 0.17], [0.01, 0.0, 0.17]]))


def test_a_file_is_neither_placed_nor_scaled(file):
    goal = TrackTrajectory.Goal(curve=file, size=0.01)
    with pytest.raises(InvalidInput, match='size') as caught:
        curve_of_goal(goal, FRAMES)
    assert caught.value.code is Code.OUT_OF_RANGE
    goal.size = 0.0
    goal.curve_pose.pose.position.z = 0.1
    with pytest.raises(InvalidInput, match='curve_pose'):
        curve_of_goal(goal, FRAMES)


@pytest.mark.parametrize('speed', [1e-300, 1e-13])
def test_a_path_that_no_duration_can_hold_is_refused(speed):
    robot = load_robot('spatial_cc')
    tip = robot.forward([0.5e5, 0.2e5, 0.3e5]).tip
    tip[:3, :3] = np.eye(3)
    goal = TrackTrajectory.Goal(curve='line', size=0.004, speed=speed)
    goal.curve_pose.pose = pose_to_message(tip)
    limits = PlanningLimits(0.02, 0.004, 0.1, np.full(3, 1e5), (1e-4, 1e-3))
    with pytest.raises(InvalidInput, match='speed') as caught:
        make_plan(robot, goal, FRAMES, limits, np.zeros(6), None, lambda progress: True)
    assert caught.value.code is Code.OUT_OF_RANGE
