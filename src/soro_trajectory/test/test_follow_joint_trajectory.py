# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""FollowJointTrajectory by a real client: what is followed, refused, ended, and how it is said."""

import threading

from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointComponentTolerance, JointTolerance
import numpy as np
import pytest
from rclpy.duration import Duration
from std_srvs.srv import Trigger
from test_planner_node import MIDDLE, ROBOT, Scene, START
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from soro_mechanics import load_robot
from soro_msgs.msg import ActuatorState
from soro_rigs.ros_session import RosSession, wait_for, wait_until
from soro_trajectory import follow_joint_trajectory as module
from soro_trajectory.command_stream import Phase
from soro_trajectory.track_topics import duration_message

CODES = FollowJointTrajectory.Result
ABORTED, CANCELED, SUCCEEDED = (
    GoalStatus.STATUS_ABORTED,
    GoalStatus.STATUS_CANCELED,
    GoalStatus.STATUS_SUCCEEDED,
)


class Follower:
    """A planner, its fake driver, and a client of the action."""

    def __init__(self, scene):
        self.scene, self.seen = scene, []
        self.names = [a.name for a in scene.robot.actuators]
        name = 'trajectory_planner/follow_joint_trajectory'
        self.action = scene.ros.action_client(FollowJointTrajectory, name)
        assert self.action.wait_for_server(20.0)
        rates = scene.planner._stream.rates
        self.least = float(np.max(np.abs(np.subtract(MIDDLE, START)) / rates))  # s

    def goal(self, *points, names=None, **fields):
        """Return a goal through (time, values)."""
        made = [
            JointTrajectoryPoint(positions=list(v), time_from_start=duration_message(t))
            for t, v in points
        ]
        names = self.names if names is None else names
        path = JointTrajectory(joint_names=names, points=made)
        return FollowJointTrajectory.Goal(trajectory=path, **fields)

    def send(self, goal):
        feedback = lambda m: self.seen.append(m.feedback)  # noqa: E731
        handle = wait_for(self.action.send_goal_async(goal, feedback_callback=feedback))
        assert handle.accepted
        return handle

    def finish(self, handle):
        answer = wait_for(handle.get_result_async(), 40.0)
        self.said = answer.result.error_string
        return answer.status, answer.result.error_code

    def ends(self, goal):
        return self.finish(self.send(goal))

    def moving(self):
        return self.scene.planner._stream.phase is Phase.FOLLOW


@pytest.fixture(scope='module')
def follower():
    with RosSession('/arm') as ros:
        yield Follower(Scene(ros, load_robot(ROBOT), '/arm'))


@pytest.fixture(autouse=True)
def at_start(follower):
    """Let every test begin at START, where nothing is sent."""
    scene, driver = follower.scene, follower.scene.driver
    scene.ros.call(Trigger, 'trajectory_planner/release', Trigger.Request())
    wait_until(lambda: driver.owner == '')
    driver.state, driver.value = ActuatorState.ACTIVE, np.array(START)
    wait_until(lambda: scene.seen(ActuatorState.ACTIVE, ''))
    wait_until(lambda: np.array_equal(scene.planner.present(), START))
    driver.commands.clear()
    follower.seen.clear()


def test_a_goal_is_followed_from_where_the_robot_is_on_straight_lines(follower):
    t = 2.0 * follower.least
    goal = follower.goal((t, MIDDLE), (2.0 * t, START))
    goal.goal_tolerance = [JointTolerance(name=n, position=1.0) for n in follower.names]
    assert follower.ends(goal) == (SUCCEEDED, CODES.SUCCESSFUL)
    assert follower.scene.held(START)
    sent = np.array([m.value for m in follower.scene.driver.commands if m.name])
    ways = sent - START
    line = np.subtract(MIDDLE, START)
    np.testing.assert_allclose(np.cross(ways, line), 0.0, atol=1e-3 * line.max() ** 2)
    assert np.max(ways @ line) == pytest.approx(line @ line, rel=0.1)
    seen = follower.seen
    assert seen and all(list(m.joint_names) == follower.names for m in seen)
    for m in seen:
        error = np.subtract(m.desired.positions, m.actual.positions)
        np.testing.assert_allclose(m.error.positions, error)


@pytest.mark.parametrize('by', ['release', 'begin_era'])
def test_a_goal_that_was_released_while_it_was_checked_moves_nothing(follower, monkeypatch, by):
    """An older goal that begins meanwhile ends by it, not it by that."""
    stream, where = follower.scene.planner._stream, module.goal_of_trajectory

    def meanwhile(*arguments):
        found = where(*arguments)
        stream.release() if by == 'release' else stream.begin_era(stream.ends)
        return found

    monkeypatch.setattr(module, 'goal_of_trajectory', meanwhile)
    found = follower.ends(follower.goal((2.0 * follower.least, MIDDLE)))
    if by == 'release':
        assert found == (ABORTED, CODES.INVALID_GOAL)
        assert stream.phase is Phase.IDLE and not follower.scene.driver.commands
    else:
        assert found == (SUCCEEDED, CODES.SUCCESSFUL)


def other(goal, **fields):
    for key, value in fields.items():
        setattr(goal, key, value)
    return goal


BAD = {
    'unknown joint': (
        lambda f: f.goal((9.0, MIDDLE), names=[*f.names[:2], 'x']),
        'INVALID_JOINTS',
    ),
    'missing joint': (lambda f: f.goal((9.0, MIDDLE[:2]), names=f.names[:2]), 'INVALID_JOINTS'),
    'joint twice': (lambda f: f.goal((9.0, MIDDLE), names=[f.names[0]] * 3), 'INVALID_JOINTS'),
    'times go back': (lambda f: f.goal((9.0, MIDDLE), (8.0, START)), 'INVALID_GOAL'),
    'too fast': (lambda f: f.goal((0.2 * f.least, MIDDLE)), 'INVALID_GOAL'),
    'no point': (lambda f: f.goal(), 'INVALID_GOAL'),
    'beyond a limit': (lambda f: f.goal((99.0, [9e9, 0.0, 0.0])), 'INVALID_GOAL'),
    'not a number': (lambda f: f.goal((9.0, [float('nan')] * 3)), 'INVALID_GOAL'),
    'unknown tolerance': (
        lambda f: other(f.goal((9.0, MIDDLE)), path_tolerance=[JointTolerance(name='x')]),
        'INVALID_JOINTS',
    ),
    'tolerance of a velocity': (
        lambda f: other(
            f.goal((9.0, MIDDLE)), goal_tolerance=[JointTolerance(name=f.names[0], velocity=1.0)]
        ),
        'INVALID_GOAL',
    ),
    'begins before its start': (lambda f: f.goal((-1.0, START), (9.0, MIDDLE)), 'INVALID_GOAL'),
    'less than no time to settle': (
        lambda f: f.goal((9.0, MIDDLE), goal_time_tolerance=Duration(seconds=-1.0).to_msg()),
        'INVALID_GOAL',
    ),
    'tolerance of a component on the way': (
        lambda f: f.goal(
            (9.0, MIDDLE), component_path_tolerance=[JointComponentTolerance(position=1.0)]
        ),
        'INVALID_JOINTS',
    ),
    'tolerance of a component at the end': (
        lambda f: f.goal(
            (9.0, MIDDLE), component_goal_tolerance=[JointComponentTolerance(position=1.0)]
        ),
        'INVALID_JOINTS',
    ),
}


@pytest.mark.parametrize(('goal', 'code'), BAD.values(), ids=list(BAD))
def test_a_goal_that_makes_no_sense_moves_nothing(follower, goal, code):
    assert follower.ends(goal(follower)) == (ABORTED, getattr(CODES, code))
    assert not follower.scene.driver.commands


def test_a_trajectory_of_the_past_is_refused(follower):
    goal = follower.goal((2.0 * follower.least, MIDDLE))
    goal.trajectory.header.stamp.sec = 1000
    assert follower.ends(goal) == (ABORTED, CODES.OLD_HEADER_TIMESTAMP)


def test_a_trajectory_of_next_year_is_refused(follower):
    goal = follower.goal((2.0 * follower.least, MIDDLE))
    ahead = Duration(seconds=3.0e7)
    goal.trajectory.header.stamp = (follower.scene.planner.get_clock().now() + ahead).to_msg()
    assert follower.ends(goal) == (ABORTED, CODES.INVALID_GOAL)


def test_a_trajectory_begins_at_its_stamp(follower):
    goal = follower.goal((2.0 * follower.least, MIDDLE))
    clock = follower.scene.planner.get_clock()
    goal.trajectory.header.stamp = (clock.now() + Duration(seconds=1.0)).to_msg()
    handle = follower.send(goal)
    wait_until(lambda: follower.scene.driver.commands)
    first = follower.scene.driver.commands[0].header.stamp
    stamp = goal.trajectory.header.stamp
    assert (first.sec, first.nanosec) >= (stamp.sec, stamp.nanosec)
    assert follower.finish(handle) == (SUCCEEDED, CODES.SUCCESSFUL)


def test_a_trajectory_leads_from_where_the_robot_is_at_its_stamp(follower, monkeypatch):
    scene, stream = follower.scene, follower.scene.planner._stream
    slowly = 20.0  # s
    monkeypatch.setattr(stream, 'rates', stream.rates * follower.least / slowly)
    scene.send_actuation(MIDDLE)
    wait_until(lambda: stream.phase is Phase.RAMP)
    goal = follower.goal((slowly, MIDDLE))
    stamp = scene.planner.get_clock().now() + Duration(seconds=2.0)
    goal.trajectory.header.stamp = stamp.to_msg()
    handle = follower.send(goal)
    wait_until(follower.moving)
    handle.cancel_goal_async()
    assert follower.finish(handle)[0] == CANCELED
    away = [np.linalg.norm(np.subtract(m.value, START)) for m in scene.driver.commands]
    assert np.all(np.diff(away) >= 0.0)


def test_a_goal_that_waited_for_others_while_a_release_came_moves_nothing(follower):
    scene, gate = follower.scene, threading.Event()
    for _ in range(2):  # the threads of goals
        scene.planner._goals.submit(gate.wait, 30.0)
    handle = follower.send(follower.goal((2.0 * follower.least, MIDDLE)))
    scene.ros.call(Trigger, 'trajectory_planner/release', Trigger.Request())
    gate.set()
    assert follower.finish(handle) == (ABORTED, CODES.INVALID_GOAL)
    assert not scene.driver.commands


def test_cancelled_it_holds_where_it_is(follower):
    handle = follower.send(follower.goal((40.0 * follower.least, MIDDLE)))
    wait_until(follower.moving)
    wait_for(handle.cancel_goal_async())
    assert follower.finish(handle)[0] == CANCELED
    assert follower.scene.held() and not follower.scene.held(MIDDLE)


def test_a_newer_goal_goes_on_from_there_and_other_targets_are_refused(follower):
    first = follower.send(follower.goal((40.0 * follower.least, MIDDLE)))
    wait_until(follower.moving)
    follower.scene.send_actuation(START)
    wait_until(lambda: follower.scene.target_status()[0] == 'refused: BUSY')
    assert follower.ends(follower.goal((40.0, [9e9, 0.0, 0.0])))[0] == ABORTED
    assert follower.moving()  # one that is refused ends nothing
    second = follower.send(follower.goal((2.0 * follower.least, START)))
    assert follower.finish(first)[0] == ABORTED
    assert follower.finish(second) == (SUCCEEDED, CODES.SUCCESSFUL)
    assert follower.scene.held(START)


def test_one_that_leaves_its_path_or_misses_its_end_holds_and_says_so(follower, monkeypatch):
    driver, t = follower.scene.driver, 4.0 * follower.least
    goal = follower.goal((t, MIDDLE))
    goal.path_tolerance = [JointTolerance(name=follower.names[0], position=5e2)]
    handle = follower.send(goal)
    wait_until(follower.moving)
    stuck = driver.value.copy()
    monkeypatch.setattr(type(driver), 'value', property(lambda d: stuck, lambda d, v: None), False)
    assert follower.finish(handle) == (ABORTED, CODES.PATH_TOLERANCE_VIOLATED)
    assert follower.scene.planner._stream.phase is Phase.HOLD
    away = [stuck[0] + 1e3, *stuck[1:]]
    goal = follower.goal((t, away), goal_time_tolerance=duration_message(0.1))
    goal.goal_tolerance = [JointTolerance(name=follower.names[0], position=5e2)]
    assert follower.ends(goal) == (ABORTED, CODES.GOAL_TOLERANCE_VIOLATED)
    monkeypatch.undo()
    driver.value = stuck


def test_a_stop_ends_a_goal_and_a_stopped_robot_takes_none(follower):
    driver, planner = follower.scene.driver, follower.scene.planner
    handle = follower.send(follower.goal((40.0 * follower.least, MIDDLE)))
    wait_until(follower.moving)
    driver.state = ActuatorState.ESTOP
    assert follower.finish(handle) == (ABORTED, CODES.INVALID_GOAL)
    assert follower.said.startswith('DEVICE_FAULT: emergency stop: `soro estop --release`')
    count = len(driver.commands)
    assert follower.ends(follower.goal((9.0, MIDDLE))) == (ABORTED, CODES.INVALID_GOAL)
    assert len(driver.commands) == count and planner._stream.phase is Phase.IDLE
