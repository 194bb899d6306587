# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots without hardware run by their file alone: one of the catalogue, and somebody's own."""

import math
import signal

from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance
import numpy as np
import pytest
from rclpy.action import ActionClient
from trajectory_msgs.msg import JointTrajectoryPoint

from soro_driver.device import DeviceState
from soro_mechanics.robot import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_studies.system.launched_robot import DiagnosticsWatch, launched_robot


@pytest.mark.robot('stewart_gough')
def test_stewart_gough_answers_moves_and_holds_when_its_actuators_go(running):
    library = load_robot('stewart_gough')
    inverse = running.mechanics.inverse((0.0, 0.02, 0.42), None, 0, [0.0] * 6, '')
    assert inverse.error_code == 0
    tip = library.forward(np.array(inverse.actuation)).tip[:3, 3]
    assert tip == pytest.approx((0.0, 0.02, 0.42), abs=2e-5)
    running.move(inverse.actuation)
    assert math.dist(running.watch.tip, tip) < 1e-3
    running.wait(lambda: len(running.shapes) == 2, 30.0, 'model and ground truth')
    diagnostics = DiagnosticsWatch(running)
    running.kill('emulator', signal.SIGKILL)
    running.wait(lambda: running.state() != DeviceState.ACTIVE, 5.0, 'reaction')
    running.wait(lambda: 'lost' in diagnostics.messages.get('driver: device', ''), 5.0, 'words')
    assert running.process.stop() == 128 + signal.SIGKILL, running.process.output


def follow(robot, values):
    """Follow a joint trajectory of 4 s; return what became of it, by status and code."""
    name = f'{robot.robot.prefix}/trajectory_planner/follow_joint_trajectory'
    client = ActionClient(robot.session.node, FollowJointTrajectory, name)
    robot.wait(client.server_is_ready, 10.0, name)
    goal, actuators = FollowJointTrajectory.Goal(), robot.robot.description.actuators
    goal.trajectory.joint_names = [a.name for a in actuators]
    point = JointTrajectoryPoint(positions=list(values), time_from_start=Duration(sec=4))
    goal.trajectory.points = [point]
    goal.goal_tolerance = [
        JointTolerance(name=a.name, position=0.01 * (a.maximum - a.minimum)) for a in actuators
    ]
    sent = client.send_goal_async(goal)
    robot.wait(sent.done, 10.0, 'answer')
    ended = sent.result().get_result_async()
    robot.wait(ended.done, 40.0, 'end')
    client.destroy()
    return ended.result().status, ended.result().result.error_code


def test_a_robot_file_of_ones_own_moves_at_once(tmp_path):
    folder = find_robot_file('stewart_gough').parent
    file = str(folder / 'examples' / 'planar_chain.yaml')
    with launched_robot([file], tmp_path, namespace='mine', robot=file) as robot:
        actuators = robot.robot.description.actuators
        goal = [a.rest + 0.1 * (a.maximum - a.rest) for a in actuators]
        robot.move(goal)
        tip = load_robot(file).forward(np.array(goal)).tip[:3, 3]
        assert math.dist(robot.watch.tip, tip) < 2e-3
        assert robot.call('driver/stop').success
        robot.wait(lambda: robot.state() == DeviceState.SAFE, 5.0, 'stop')
        codes = FollowJointTrajectory.Result
        assert follow(robot, goal) == (GoalStatus.STATUS_ABORTED, codes.INVALID_GOAL)
        cleared = robot.call('driver/clear_fault')
        assert (cleared.success, cleared.message) == (True, 'active: send a new target')
        robot.wait(lambda: robot.state() == DeviceState.ACTIVE, 5.0, 'arming by one call')
        rest = [a.rest for a in actuators]
        assert follow(robot, rest) == (GoalStatus.STATUS_SUCCEEDED, codes.SUCCESSFUL)
        assert robot.watch.near_actuation(rest, 0.02)
        assert robot.process.stop() == 0, robot.process.output
