# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""JointTrajectory messages: followed on straight lines at their times, refused as a whole."""

import numpy as np
import pytest
from test_command_stream import PERIOD, Rig, START
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_msgs.msg import ActuatorState
from soro_trajectory.command_stream import Phase
from soro_trajectory.joint_trajectory import goal_of_trajectory
from soro_trajectory.track_topics import duration_message, trajectory_message

TIMES = (1.0, 3.0, 3.5)
POINTS = np.array([[0.3e5, 0.2e5, 0.1e5], [0.9e5, 0.1e5, 0.0], [0.8e5, 0.2e5, 0.1e5]])


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def trajectory(robot, points=POINTS, times=TIMES, order=(0, 1, 2)):
    names = [a.name for a in robot.actuators]
    message = JointTrajectory(joint_names=[names[i] for i in order])
    message.points = [
        JointTrajectoryPoint(positions=[float(p[i]) for i in order], time_from_start=when)
        for p, when in zip(points, map(duration_message, times), strict=True)
    ]
    return message


def goal_of(robot, message):
    return goal_of_trajectory(robot, message, np.array([a.rate for a in robot.actuators]))


def begin(rig, goal):
    stream, seen = rig.stream, rig.feedback()
    stream.note_arrival(rig.now, seen)
    stream.go_to(goal.actuation, seen, rig.now, stream.generation, schedule=goal.schedule)


@pytest.mark.parametrize('order', [(0, 1, 2), (2, 0, 1)])
def test_it_is_approached_and_followed_at_its_times(robot, order):
    rig = Rig(robot)
    begin(rig, goal_of(robot, trajectory(robot, order=order)))
    assert np.array_equal(rig.present, START)
    rig.run_until(Phase.FOLLOW)
    assert np.allclose(rig.present, POINTS[0])
    began, count = rig.now, len(rig.sent)
    rig.run_until(Phase.HOLD)
    assert rig.now - began == pytest.approx(TIMES[-1] - TIMES[0], abs=2.0 * PERIOD)
    sent = np.array(rig.sent[count:])
    due = began + PERIOD * np.arange(1, len(sent) + 1) - began + TIMES[0]
    expected = np.stack([np.interp(due, TIMES, POINTS[:, i]) for i in range(3)], axis=1)
    assert np.allclose(sent, expected, atol=1.0)
    rig.step(50)
    assert np.array_equal(rig.present, POINTS[-1])


def test_a_new_target_a_hold_and_a_stop_end_it(robot):
    for end in ('target', 'hold', 'release', 'stop'):
        for phase in (Phase.RAMP, Phase.FOLLOW):
            rig = Rig(robot)
            begin(rig, goal_of(robot, trajectory(robot)))
            rig.run_until(phase)
            rig.step(3)
            if end == 'target':
                rig.go_to(START)
                rig.run_until(Phase.HOLD)
                assert np.array_equal(rig.present, START)
            elif end == 'hold':
                rig.stream.hold(rig.now)
            elif end == 'release':
                rig.stream.release()
            else:
                rig.stops, rig.state = 1, ActuatorState.SAFE
                rig.step()
            here = rig.present.copy()
            rig.step(500)
            assert np.array_equal(rig.present, here)


def test_one_that_arrived_before_a_stop_moves_nothing(robot):
    rig = Rig(robot)
    goal = goal_of(robot, trajectory(robot))
    generation = rig.stream.note_arrival(rig.now, rig.feedback())
    rig.stream.release()
    with pytest.raises(SoroError):
        rig.stream.go_to(
            goal.actuation, rig.feedback(), rig.now, generation, schedule=goal.schedule
        )
    rig.step(100)
    assert rig.sent == []


def test_a_plan_of_the_planner_itself_is_one(robot):
    names = [a.name for a in robot.actuators]
    schedule = goal_of(robot, trajectory(robot)).schedule
    again = goal_of(robot, trajectory_message(schedule, names, '')).schedule
    assert np.allclose(again.time, schedule.time, atol=1e-9)
    assert np.array_equal(again.actuation, schedule.actuation)


def test_one_point_is_a_target(robot):
    goal = goal_of(robot, trajectory(robot, POINTS[:1], TIMES[:1]))
    assert goal.schedule is None
    assert np.array_equal(goal.actuation, POINTS[0])


def changed(robot, change):
    message = trajectory(robot)
    change(message)
    return message


def set_time(message, index, seconds):
    message.points[index].time_from_start = duration_message(seconds)


WRONG = {
    'no points': (lambda m: m.points.clear(), Code.INVALID_SIZE),
    'no names': (lambda m: m.joint_names.clear(), Code.INVALID_SIZE),
    'a name twice': (lambda m: m.joint_names.__setitem__(0, m.joint_names[1]), Code.UNKNOWN_NAME),
    'a value short': (lambda m: m.points[1].positions.pop(), Code.INVALID_SIZE),
    'not a number': (lambda m: m.points[1].positions.__setitem__(0, np.nan), Code.NOT_FINITE),
    'beyond a limit': (lambda m: m.points[1].positions.__setitem__(0, 9e9), Code.OUT_OF_RANGE),
    'too fast': (lambda m: set_time(m, 1, TIMES[0] + 1e-3), Code.OUT_OF_RANGE),
    'back in time': (lambda m: set_time(m, 1, 0.5), Code.OUT_OF_RANGE),
    'the same time': (lambda m: set_time(m, 2, TIMES[1]), Code.OUT_OF_RANGE),
    'efforts': (lambda m: m.points[0].effort.append(1.0), Code.UNSUPPORTED),
}


@pytest.mark.parametrize(('change', 'code'), WRONG.values(), ids=WRONG)
def test_what_is_refused(robot, change, code):
    with pytest.raises(InvalidInput) as error:
        goal_of(robot, changed(robot, change))
    assert error.value.code is code


def test_the_rate_itself_is_allowed(robot):
    rates = np.array([a.rate for a in robot.actuators])
    step = np.max(np.abs(POINTS[1] - POINTS[0]) / rates)
    goal = goal_of(robot, trajectory(robot, POINTS[:2], (0.0, step)))
    assert goal.schedule.duration == pytest.approx(step, abs=1e-9)
