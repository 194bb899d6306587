# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals that ask for what cannot be: files that are placed, paths that last too long."""

from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_node.conversions import pose_to_message
from soro_trajectory.planning import check_goal, curve_of_goal, make_plan, PlanningLimits
from soro_trajectory.stream_error import StreamError
from soro_trajectory.track_topics import FEEDBACK, topic_of

GOAL = TrackTrajectory.Goal
SHIFT = np.eye(4)
SHIFT[:3, 3] = 0.1, -0.2, 0.3


def to_base(header, field):
    """Know the base, and a frame 'shifted'."""
    return SHIFT if header.frame_id == 'shifted' else np.eye(4)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / 'points.csv'
    path.write_text('0.0, 0.0, 0.17\n0.01, 0.0, 0.17\n', encoding='utf-8')
    return str(path)


def test_points_of_a_file_are_in_the_base(file):
    curve = curve_of_goal(TrackTrajectory.Goal(curve=file), to_base)
    assert curve.positions == pytest.approx(np.array([[0.0, 0.0, 0.17], [0.01, 0.0, 0.17]]))


def test_a_file_is_neither_placed_nor_scaled(file):
    goal = TrackTrajectory.Goal(curve=file, size=0.01)
    with pytest.raises(InvalidInput, match='size') as caught:
        curve_of_goal(goal, to_base)
    assert caught.value.code is Code.OUT_OF_RANGE
    goal.size = 0.0
    goal.curve_pose.pose.position.z = 0.1
    with pytest.raises(InvalidInput, match='curve_pose'):
        curve_of_goal(goal, to_base)


@pytest.mark.parametrize('speed', [1e-300, 1e-13])
def test_a_path_that_no_duration_can_hold_is_refused(speed):
    robot = load_robot('spatial_cc')
    tip = robot.forward([0.5e5, 0.2e5, 0.3e5]).tip
    tip[:3, :3] = np.eye(3)
    goal = TrackTrajectory.Goal(curve='line', size=0.004, speed=speed)
    goal.curve_pose.pose = pose_to_message(tip)
    limits = PlanningLimits(0.02, 0.004, 0.1, np.full(3, 1e5), (1e-4, 1e-3))
    with pytest.raises(InvalidInput, match='speed') as caught:
        make_plan(robot, goal, to_base, limits, np.zeros(6), None, lambda progress: True)
    assert caught.value.code is Code.OUT_OF_RANGE


def test_points_without_a_frame_are_in_that_of_their_path():
    goal = TrackTrajectory.Goal(path=Path(poses=[PoseStamped(), PoseStamped(), PoseStamped()]))
    for i, stamped in enumerate(goal.path.poses):
        stamped.pose.position.x = float(i)
    goal.path.header.frame_id = 'shifted'
    goal.path.poses[1].header.frame_id = 'arm/base_link'
    points = curve_of_goal(goal, to_base).positions
    assert points == pytest.approx(np.array([[0.1, -0.2, 0.3], [1, 0, 0], [2.1, -0.2, 0.3]]))
    goal = TrackTrajectory.Goal(curve='circle', size=0.004)
    here = curve_of_goal(goal, to_base).positions
    goal.curve_pose.header.frame_id = 'shifted'
    assert curve_of_goal(goal, to_base).positions - here == pytest.approx(
        np.tile(SHIFT[:3, 3], (len(here), 1))
    )


def test_control_that_there_is_not_is_refused():
    for control in (GOAL.DEFAULT, GOAL.FEEDFORWARD, GOAL.FEEDBACK):
        check_goal(GOAL(control=control))
    with pytest.raises(InvalidInput, match='control'):
        check_goal(GOAL(control=7))


def test_a_reference_chooses_the_topic_that_errors_are_measured_with():
    for usual in FEEDBACK:
        assert topic_of(GOAL.DEFAULT, usual, False) == usual
    assert topic_of(GOAL.DEFAULT, 'auto', False) == 'tip_pose'
    assert topic_of(GOAL.DEFAULT, 'auto', True) == 'tip_measured'
    assert topic_of(GOAL.MODEL, 'auto', True) == 'tip_pose'
    assert topic_of(GOAL.MODEL, 'tip_estimate', True) == 'tip_estimate'
    assert topic_of(GOAL.MODEL, 'emulator/configuration', True) == 'tip_pose'
    assert topic_of(GOAL.EMULATED, 'tip_pose', True) == 'emulator/configuration'
    assert topic_of(GOAL.MEASURED, 'tip_pose', True) == 'tip_measured'
    with pytest.raises(StreamError) as caught:
        topic_of(GOAL.MEASURED, 'tip_pose', False)
    assert caught.value.code is Code.NO_STATE
    with pytest.raises(InvalidInput, match='reference'):
        topic_of(9, 'tip_pose', True)
