# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The planner with a tracker: what its errors refer to, feedback, and what remains without it."""

from collections import deque
from dataclasses import replace
import math
from pathlib import Path
import time
from types import SimpleNamespace

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped
import numpy as np
import pytest
from rclpy.duration import Duration
from rclpy.parameter import Parameter
from test_planner_node import MIDDLE, Scene
import yaml

from soro_mechanics import load_robot
from soro_mechanics.core.status import Code
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import ActuatorState, ControlState
from soro_node.conversions import pose_to_message
from soro_node.transforms import stamp_of
from soro_rigs.ros_session import RosSession, wait_until
from soro_trajectory.command_stream import Phase
from soro_trajectory.error_record import ErrorRecord, unseen
from soro_trajectory.input_shaping import slowest_modes
from soro_trajectory.measured_tip import MeasuredTip, TipSample
from soro_trajectory.tip_control import GIVEN_UP, REMEMBERED, TipControl
from soro_trajectory.track_action import TrackAction

GOAL = TrackTrajectory.Goal
OFF = np.array([3e-3, -2e-3, 1e-3])  # m: what no model knows
NEAR = 0.1e-3  # m
AT_ONCE = 1e-3  # s: nothing came in between


class Tracked(Scene):
    """A robot whose true tip is beside the model's, and a tracker that sees it at 50 Hz."""

    def __init__(self, ros, robot, namespace):
        super().__init__(ros, robot, namespace, tracker_timeout=1.5)
        self.blind = False
        self.looks = {}  # by stamp: moment on the steady clock [s], true tip [m]
        self.seen = ros.client.create_publisher(PoseStamped, 'tip_measured', 10)
        self.said = ros.listen(ControlState, 'control_state')
        ros.do(ros.client, ros.client.create_timer, 0.02, self.look)
        wait_until(lambda: self.planner.tip_control.live)

    def true_tip(self):
        return self.robot.forward(self.driver.value).tip[:3, 3] + OFF

    def look(self, late=0.0):
        if self.blind and not late:
            return
        pose = np.eye(4)  # positions alone
        pose[:3, 3] = self.true_tip()
        message = PoseStamped(pose=pose_to_message(pose))
        begin = -math.inf
        while time.monotonic() - begin > AT_ONCE:  # else something came in between
            begin = time.monotonic()
            moment = self.ros.client.get_clock().now() - Duration(seconds=late)
        message.header.stamp = moment.to_msg()
        stamp = stamp_of(message.header)
        self.looks[stamp] = begin, pose[:3, 3]
        self.seen.publish(message)
        return stamp

    def decide(self, control):
        done = self.planner.set_parameters([Parameter('control', value=control)])
        assert done[0].successful

    def away(self, target):
        return np.linalg.norm(self.true_tip() - target)


@pytest.fixture
def scene():
    with RosSession('/arm') as ros:
        yield Tracked(ros, load_robot('spatial_cc'), '/arm')


def test_a_clock_that_was_set_forward_meanwhile_makes_no_latency(scene):
    """Once a stamp is of the clock before and its arrival of the clock after."""
    measured = scene.planner.tip_control.measured
    wait_until(lambda: measured.fresh() and len(measured._latencies) == 3)
    scene.blind = True
    last = measured.fresh().stamp
    stamp = scene.look(late=3600.0)
    wait_until(lambda: measured.fresh() and max(measured._latencies) > 3000.0)
    scene.blind = False
    assert stamp < last == measured.fresh().stamp  # nobody knows when that was
    wait_until(lambda: measured.fresh() and measured.fresh().stamp > last)
    assert measured.latency < 0.5


def test_feedback_reaches_the_measured_target_and_rests_where_the_tracker_is_lost(scene):
    target = scene.robot.forward(MIDDLE).tip[:3, 3]
    scene.send_pose(target)
    wait_until(lambda: scene.held(MIDDLE))
    assert scene.away(target) == pytest.approx(np.linalg.norm(OFF), abs=NEAR)
    wait_until(lambda: scene.said and scene.said[-1].control == ControlState.FEEDFORWARD)
    scene.decide('feedback')
    scene.send_pose(target)
    wait_until(lambda: scene.away(target) < NEAR)
    wait_until(lambda: scene.row('control') == (0, 'feedback'))
    state = wait_until(lambda: scene.said[-1])
    assert (state.control, state.reference) == (ControlState.FEEDBACK, GOAL.MEASURED)
    error = state.position_error
    assert np.linalg.norm([error.x, error.y, error.z]) < np.linalg.norm(OFF)
    assert np.isnan(state.orientation_error.x)
    assert np.isfinite(state.disturbance.force.x) and state.disturbance_covariance[0] > 0.0
    scene.blind = True
    wait_until(lambda: scene.row('control')[1].startswith('feedforward: no tip_measured'))
    assert scene.row('control')[0] == 1
    count, value = len(scene.driver.commands), scene.driver.value.copy()
    wait_until(lambda: len(scene.driver.commands) > count + 30)
    assert np.array_equal(scene.driver.value, value)  # it stays where it was seen last
    # What somebody asks of the actuators is not corrected, nor is a stopped robot.
    scene.blind = False
    scene.send_actuation(MIDDLE)
    wait_until(lambda: scene.held(MIDDLE))
    scene.driver.state = ActuatorState.FAULT
    wait_until(lambda: scene.planner._stream.stopped)
    count = len(scene.driver.commands)
    wait_until(lambda: scene.row('control') == (0, 'idle'))
    assert len(scene.driver.commands) == count


def test_feedback_that_was_given_up_is_said_in_results_until_the_planner_is_idle(scene):
    """When it is given up: `studies/test/test_tip_feedback.py`."""
    control, target = scene.planner.tip_control, scene.robot.forward(MIDDLE).tip[:3, 3]
    scene.decide('feedback')
    scene.send_pose(target)
    wait_until(lambda: scene.away(target) < NEAR)
    control.given_up = GIVEN_UP
    status, result = scene.finish(scene.start(scene.goal()))
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
    assert result.error_message.startswith(GIVEN_UP)
    assert control.lost > 0.5 and scene.said[-1].reason == GIVEN_UP
    motion = control._aim.motion
    wait_until(lambda: scene.row('control') == (1, f'feedforward: {GIVEN_UP}'))
    # A motion that begins while the tracker is lost is no order to try again.
    scene.blind = True
    wait_until(lambda: not control.live)
    scene.send_pose(target)
    wait_until(lambda: control._aim is not None and control._aim.motion != motion)
    scene.blind = False
    wait_until(lambda: control.live)
    assert control.given_up == GIVEN_UP
    scene.driver.state = ActuatorState.FAULT
    wait_until(lambda: control.given_up == '')


def test_errors_of_a_path_refer_to_the_tracker_and_feedback_holds_its_end(scene):
    """How large errors on the way are depends on the load of the machine."""
    for control in (GOAL.FEEDFORWARD, GOAL.FEEDBACK):
        status, result = scene.finish(scene.start(scene.goal(control=control)))
        assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
        assert result.error_reference == GOAL.MEASURED
        p = result.sampled_path.poses[-1].pose.position
        end = np.array([p.x, p.y, p.z])
        if control == GOAL.FEEDFORWARD:
            assert result.mean_error > 0.8 * np.linalg.norm(OFF)
            assert scene.away(end) == pytest.approx(np.linalg.norm(OFF), abs=NEAR)
        else:
            wait_until(lambda end=end: scene.away(end) < NEAR)


class SettableClock:
    """The clock of a node, set by [ns]."""

    def __init__(self, node):
        self._clock, self.set_by = node.get_clock(), 0

    def now(self):
        return self._clock.now() + Duration(nanoseconds=self.set_by)

    def __getattr__(self, name):
        return getattr(self._clock, name)


@pytest.mark.parametrize('hours', [-1, 1])
def test_a_path_is_followed_to_its_end_though_the_clock_is_set_on_the_way(
    scene, monkeypatch, hours
):
    """However late the thread of the action hears of it: here after some corrections."""
    clock = SettableClock(scene.planner)
    for node in (scene.planner, scene.driver, scene.ros.client):
        monkeypatch.setattr(node, 'get_clock', lambda: clock)
    stream, before, after, followed = scene.planner._stream, [], [], []
    recorded, places, crossed = [], [], []
    look, correct, add = TrackAction._look, TipControl._correct, ErrorRecord.add

    def look_late(action, handle):
        look(action, handle)
        if clock.set_by:
            wait_until(lambda: len(after) > 3 or stream.phase is not Phase.FOLLOW)

    def watched(control, aim, sample, now):
        if not aim.timed or stream.phase is not Phase.FOLLOW:
            return correct(control, aim, sample, now)
        followed[:] = stream._schedule, stream.started
        desired = stream._schedule.position_at(scene.looks[sample.stamp][0] - stream.started)
        wrong = np.linalg.norm(aim.desired(sample.stamp)[:3, 3] - desired)
        asked = []
        counted = replace(aim, desired=lambda stamp: asked.append(stamp) or aim.desired(stamp))
        correct(control, counted, sample, now)
        ahead = abs(sample.stamp * 1e-9 - time.time()) > 1800.0
        kept = crossed if ahead != bool(clock.set_by) else after if ahead else before
        kept.append(wrong)
        return places.append(len(asked))

    def recording(record, stamp, position):
        recorded.append(scene.looks[stamp])
        add(record, stamp, position)

    monkeypatch.setattr(TrackAction, '_look', look_late)
    monkeypatch.setattr(TipControl, '_correct', watched)
    monkeypatch.setattr(ErrorRecord, 'add', recording)
    handle = scene.start(scene.goal(control=GOAL.FEEDBACK, speed=0.03))
    wait_until(lambda: len(before) > 4)
    clock.set_by = hours * 3600 * 10**9
    status, result = scene.finish(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
    assert after and max(before + after) < NEAR  # errors are of the very moment
    assert len(crossed) < 2  # the clock may be set between two lines
    assert max(places) < 1000  # of the path: an hour of it would take seconds
    schedule, started = followed
    times = [moment - started for moment, _ in recorded]
    true = [
        np.linalg.norm(schedule.position_at(time) - tip)
        for time, (_, tip) in zip(times, recorded, strict=True)
        if -AT_ONCE <= time <= schedule.duration + AT_ONCE
    ]
    assert result.peak_error < max(true) + NEAR
    # Where this computer stood still, nothing was measured.
    assert 'not measured' not in result.error_message or unseen(times, schedule.duration)
    p = result.sampled_path.poses[-1].pose.position
    wait_until(lambda: scene.away(np.array([p.x, p.y, p.z])) < NEAR)


def test_without_a_tracker_feedback_is_refused_or_said_to_be_missing(scene):
    scene.blind = True
    wait_until(lambda: not scene.planner.tip_control.live)
    for fields in ({'control': GOAL.FEEDBACK}, {'reference': GOAL.MEASURED}):
        status, result = scene.finish(scene.start(scene.goal(**fields)))
        assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Code.NO_STATE)
        assert scene.driver.commands == []
    scene.decide('feedback')
    status, result = scene.finish(scene.start(scene.goal()))
    assert (status, result.error_code) == (GoalStatus.STATUS_SUCCEEDED, Code.NONE)
    assert 'tip_measured was lost for' in result.error_message
    assert result.error_reference == 0  # no tip_pose either


def test_a_robot_file_asks_for_feedback_and_its_gain_and_a_parameter_decides(tmp_path):
    robot = load_robot('spatial_cc')
    data = yaml.safe_load(Path(robot.description.file).read_text(encoding='utf-8'))
    data['control'] = {'mode': 'feedback', 'gain': '3 1/s'}
    file = tmp_path / 'mine.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    with RosSession('/arm') as ros:
        scene = Tracked(ros, load_robot(file), '/arm')
        target = robot.forward(MIDDLE).tip[:3, 3]
        scene.send_pose(target)
        wait_until(lambda: scene.away(target) < NEAR)
        assert scene.row('control') == (0, 'feedback')
        assert scene.planner.tip_control._gains().integral == 3.0
        scene.decide('feedforward')
        scene.send_pose(target)
        wait_until(lambda: scene.held() and scene.row('control') == (0, 'feedforward'))
        wait_until(lambda: scene.away(target) > 0.9 * np.linalg.norm(OFF))


def test_a_shaped_motion_keeps_its_correction_and_arrives_without_overshoot():
    """An offset that takes the way to the target for an error pushes the tip far beyond it."""
    robot = load_robot('soft_parallel')
    here, there = (robot.forward(np.array(a)).tip[:3, 3] for a in ([3e4] * 3, [12e4, 4e4, 4e4]))
    way = there - here
    length = np.linalg.norm(way)
    assert length > 0.04
    slowest_modes(robot, np.array([3e4] * 3))  # compiled before anything waits
    with RosSession('/arm') as ros:
        scene = Tracked(ros, robot, '/arm')
        scene.decide('feedback')
        scene.send_pose(here)
        wait_until(lambda: scene.away(here) < NEAR, 20.0)
        shaping = Parameter('input_shaping', value='zv')
        assert scene.planner.set_parameters([shaping])[0].successful
        stream, gone = scene.planner._stream, []
        motion, wanted = stream.motion, stream.feedforward(0.0)
        scene.send_pose(there)

        def arrived():
            gone.append((scene.true_tip() - here) @ way / length)
            return stream.motion != motion and scene.away(there) < NEAR

        wait_until(arrived, 30.0)
        assert max(gone) < length + 1e-3
        np.testing.assert_allclose(stream._schedule.actuation[0], wanted, atol=1e2)  # Pa


@pytest.mark.parametrize('step', [0.0, 0.5, 64.0, 3600.0])
def test_what_the_body_felt_is_known_again_after_the_clock_was_set_back(step):
    state = SimpleNamespace(stamp=0, known=True, present=np.zeros(3))
    control = SimpleNamespace(
        _felt=deque(maxlen=REMEMBERED),
        _unexplained=deque(),
        _feedback=SimpleNamespace(fresh=lambda: state),
        _stream=SimpleNamespace(setpoint=None, felt=None),
    )
    for k in range(100):  # 50 states a second
        seconds = 5000.0 + 0.02 * k - (step if k >= 50 else 0.0)
        state.stamp, state.present = round(seconds * 1e9), np.full(3, float(k))
        TipControl._remember(control)
        control._unexplained.append(SimpleNamespace(stamp=state.stamp))
    stamps, felt = zip(*control._felt, strict=True)
    assert (np.diff(stamps) > 0).all() and stamps[-1] == state.stamp
    assert [u[0] for u in felt] == list(range(50 if step else 0, 100))
    assert control._unexplained[0].stamp <= stamps[0]  # no stamp of before waits for its turn


@pytest.mark.parametrize('step', [-3600.0, 0.0, 3600.0])
def test_an_hour_by_which_a_clock_is_set_is_no_time_in_which_errors_are_explained(step):
    parts, heard = [], SimpleNamespace(timeout=0.5)
    heard.between = lambda *two: MeasuredTip.between(heard, *two)
    control = SimpleNamespace(
        measured=heard,
        _felt=deque([(10**18, np.zeros(3))]),  # of any stamp
        _unexplained=deque(),
        _explained=None,
        _model_at=lambda seen: SimpleNamespace(tip=np.eye(4)),
        _gains=lambda: SimpleNamespace(integral=2.0),
        _law=SimpleNamespace(explain=lambda error, part: parts.append(part)),
    )
    for k in range(4):
        stamp = 5000.0 + 0.02 * k + (step if k > 1 else 0.0)
        sample = TipSample(round(stamp * 1e9), np.eye(4), False, 0.02 * k)
        TipControl._explain(control, sample, False)
    assert parts == pytest.approx([2.0 * 0.02] * 3)
