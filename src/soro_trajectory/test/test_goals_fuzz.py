# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Goals and targets changed at random: always a result with a code, and nothing moves."""

from __future__ import annotations

import os
import time

from fake_driver import FakeDriver
from geometry_msgs.msg import Pose, PoseStamped
from nav_msgs.msg import Path
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import ActuatorCommand
from soro_node.conversions import pose_to_message
from soro_rigs.random_messages import RandomMessages
from soro_rigs.ros_session import RosSession, wait_for, wait_until
from soro_trajectory.node import TrajectoryPlanner

ROBOT = 'spatial_cc'
COUNT = 40 * max(1, int(os.environ.get('SORO_FUZZ', '1')))
SEED = 8 if 'SORO_FUZZ' not in os.environ else time.time_ns()
LONGEST = 60.0  # s of one goal, on a machine that does other things too


@pytest.fixture(scope='module')
def scene():
    robot = load_robot(ROBOT)
    middle = robot.limits.mean(axis=1)
    with RosSession('/fuzz') as ros:
        ros.driver = FakeDriver(robot, middle, namespace='/fuzz', context=ros.context)
        ros.spin(ros.driver)
        ros.planner = ros.node(TrajectoryPlanner, '/fuzz', robot=ROBOT, state_timeout=10.0)
        assert ros.start(ros.planner)
        ros.middle = middle
        ros.pose = pose_to_message(robot.forward(middle).tip)
        wait_until(lambda: ros.planner._feedback.fresh())
        yield ros


@pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 300)
def test_every_goal_ends(scene):
    random = RandomMessages(SEED, (ROBOT, 'circle', 'star', 'fuzz/base_link'))
    action = scene.action_client(TrackTrajectory, 'trajectory_planner/track_trajectory')
    assert action.wait_for_server(LONGEST)
    flat = Pose(position=scene.pose.position)
    curve = TrackTrajectory.Goal(
        curve='circle', size=0.003, curve_pose=PoseStamped(pose=flat), spacing=1e-3
    )
    path = TrackTrajectory.Goal(
        path=Path(poses=[PoseStamped(pose=scene.pose), PoseStamped(pose=scene.pose)])
    )
    for i in range(COUNT):
        goal = random.changed(path if i % 2 else curve)
        goal.plan_only = True
        handle = wait_for(action.send_goal_async(goal), LONGEST)
        assert handle.accepted
        result = wait_for(handle.get_result_async(), LONGEST).result
        code = Code(result.error_code)
        assert (code is Code.NONE) == (not result.error_message), (code, result.error_message)
        assert code is not Code.UNKNOWN, result.error_message
        assert len(result.error_message) < 5000
    assert np.allclose(scene.driver.value, scene.middle)


@pytest.mark.timeout(3600 if 'SORO_FUZZ' in os.environ else 300)
def test_targets_that_are_none_are_refused_and_the_node_lives(scene):
    random = RandomMessages(SEED, (ROBOT, 'fuzz/base_link'))
    far = PoseStamped(pose=scene.pose)
    far.pose.position.x = 10.0  # m: what changes leave right is out of reach
    command = ActuatorCommand(name=['no_such_actuator'], quantity=[1], value=[0.0])
    topics = (
        (scene.client.create_publisher(PoseStamped, 'target_pose', 1), far),
        (scene.client.create_publisher(ActuatorCommand, 'target_actuation', 1), command),
    )
    for publisher, message in topics:
        wait_until(publisher.get_subscription_count)
        for _ in range(COUNT):
            publisher.publish(random.changed(message))
    action = scene.action_client(TrackTrajectory, 'trajectory_planner/track_trajectory')
    assert action.wait_for_server(LONGEST)
    goal = TrackTrajectory.Goal(curve='no_such_curve', plan_only=True)
    handle = wait_for(action.send_goal_async(goal), LONGEST)
    result = wait_for(handle.get_result_async(), LONGEST).result
    assert result.error_code == Code.UNKNOWN_NAME and 'no_such_curve' in result.error_message
