# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bench protocols against a fake driver, with a tracker that sees the model and a pulling hand."""

import time
from types import SimpleNamespace

from action_msgs.msg import GoalStatus
from geometry_msgs.msg import PoseStamped, Vector3, WrenchStamped
import numpy as np
import pytest
from rclpy.clock import Clock, ClockType
from test_planner_node import robot, Scene  # noqa: F401 - a fixture

from soro_mechanics.analysis.measured_compliance import read_pulls
from soro_mechanics.core.status import Code
from soro_msgs.action import BenchProtocol
from soro_node.conversions import pose_to_message
from soro_rigs.held_up import judged
from soro_rigs.ros_session import RosSession, wait_for, wait_until
from soro_trajectory.command_stream import Phase

SOFT = 0.02  # m/N, along each axis


class Bench(Scene):
    """The planner's rig with a tracker, a hand that pulls as it is told, and the action."""

    def __init__(self, ros, robot):  # noqa: F811
        super().__init__(ros, robot, '/arm', tracker_timeout=4.0, wrench_timeout=4.0)
        self.force, self.frame = np.zeros(3), 'tip_aligned'
        self.oriented, self.silent, self.blind = True, False, False
        make = ros.client.create_publisher
        self.tips, self.wrenches = (
            make(PoseStamped, 'tip_measured', 1),
            make(WrenchStamped, 'external_wrench', 1),
        )
        clock = Clock(clock_type=ClockType.STEADY_TIME)
        ros.do(ros.client, lambda: ros.client.create_timer(0.02, self.see, clock=clock))
        self.bench = ros.action_client(BenchProtocol, 'trajectory_planner/bench_protocol')
        wait_until(lambda: self.planner.tip_control.live)

    def see(self):
        stamp = self.ros.client.get_clock().now().to_msg()
        if self.blind:
            return
        tip = self.robot.forward(self.driver.value).tip.copy()
        force = tip[:3, :3].T @ self.force if self.frame == 'tip' else self.force
        tip[:3, 3] += SOFT * self.force
        if not self.oriented:
            tip[:3, :3] = np.eye(3)
        seen = PoseStamped(pose=pose_to_message(tip))
        felt = WrenchStamped()
        seen.header.stamp = felt.header.stamp = stamp
        seen.header.frame_id, felt.header.frame_id = 'arm/base_link', f'arm/{self.frame}'
        felt.wrench.force = Vector3(**dict(zip('xyz', force.tolist(), strict=True)))
        self.tips.publish(seen)
        if not self.silent:
            self.wrenches.publish(felt)

    def pull(self, feedback):
        words = feedback.feedback.step
        if words.startswith('pull'):
            way = np.array([float(x) for x in words.split('(')[1].split(')')[0].split()])
            length = 1e-3 * float(words.split(' by ')[1].split()[0])
            self.force = way * length / SOFT

    def run(self, **fields):
        assert self.bench.wait_for_server(10.0)
        goal = BenchProtocol.Goal(settle_time=0.05, **fields)
        handle = wait_for(self.bench.send_goal_async(goal, feedback_callback=self.pull))
        answer = wait_for(handle.get_result_async(), 60.0)
        return answer.status, answer.result


@pytest.fixture(scope='module')
def bench(robot):  # noqa: F811
    with RosSession('/arm') as ros:
        yield Bench(ros, robot)


def table(path):
    return np.loadtxt(path, delimiter=',', skiprows=1)


def test_pulls_become_the_table_that_compliance_reads(bench, tmp_path):
    file = tmp_path / 'pulls.csv'
    bench.force = np.zeros(3)
    status, result = bench.run(protocol='pull', lengths=[2e-3], save_to=str(file))
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_message
    assert (result.rows, result.saved_to) == (7, str(file))
    pulls = read_pulls(file)
    assert pulls.displacements == pytest.approx(SOFT * pulls.forces, abs=1e-6)
    assert np.abs(pulls.forces).max(axis=1) == pytest.approx(2e-3 / SOFT)
    bench.force = np.zeros(3)


def test_a_sensor_on_a_bent_tip_is_turned_by_the_model_where_the_tracker_sees_no_turn(
    bench, tmp_path, monkeypatch
):
    file = tmp_path / 'pulls.csv'
    bent = [1.0e5, 0.1e5, 0.1e5]
    bench.send_actuation(bent)
    wait_until(lambda: bench.held(bent))
    monkeypatch.setattr(bench, 'frame', 'tip')
    monkeypatch.setattr(bench, 'oriented', False)
    assert bench.robot.forward(bent).tip[2, 2] < 0.9  # bent by more than 25 degrees
    wait_until(lambda: not bench.planner.tip_control.measured.fresh().oriented)
    status, result = bench.run(protocol='pull', lengths=[2e-3], save_to=str(file))
    bench.force = np.zeros(3)
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_message
    pulls = read_pulls(file)
    # The model bends a little under the force that it is told of, the rig's robot does not.
    assert pulls.displacements == pytest.approx(SOFT * pulls.forces, abs=1e-4)


def test_a_mean_force_is_of_the_moments_that_have_one(bench, monkeypatch):
    action, force = bench.planner._actions[BenchProtocol], np.array([0.1, 0.0, -0.2])
    handle = SimpleNamespace(is_cancel_requested=False)
    monkeypatch.setattr(action, '_generation', bench.planner._stream.generation)
    monkeypatch.setattr(bench, 'force', force)
    held = bench.planner._wrench
    wait_until(lambda: np.allclose(held.at_tip(np.eye(4))[:3], force))
    monkeypatch.setattr(bench, 'silent', True)
    monkeypatch.setattr(held, 'timeout', time.monotonic() - held._received.arrival + 0.3)
    assert action._mean(handle, True)[2] == pytest.approx(force)
    assert not held.present and np.isnan(action._mean(handle, True)[2]).all()


def test_a_pull_that_does_not_come_says_how_far_the_tip_is(bench, tmp_path, monkeypatch):
    def half(_):
        bench.force = np.array([1e-3 / SOFT, 0.0, 0.0])

    monkeypatch.setattr(bench, 'pull', half)
    file = str(tmp_path / 'none.csv')
    status, result = bench.run(protocol='pull', lengths=[2e-3], duration=1.5, save_to=file)
    bench.force = np.zeros(3)
    assert status == GoalStatus.STATUS_ABORTED
    there = float(result.error_message.split(': ')[-1].split()[0])
    assert there == pytest.approx(1.0, abs=0.02), result.error_message


def test_levels_and_series_are_what_the_robot_did(bench, tmp_path):
    file, robot = tmp_path / 'levels.csv', bench.robot  # noqa: F811
    status, result = bench.run(
        protocol='stretch', count=2, actuator_name=[robot.actuators[0].name], save_to=str(file)
    )
    assert status == GoalStatus.STATUS_SUCCEEDED, result.error_message
    rows = table(file)
    assert rows[:, 0] == pytest.approx(0.5 * robot.limits[0, 1] * np.array([0.0, 1.0, 0.0]))
    for row in rows:
        assert row[3:] == pytest.approx(robot.forward(row[:3]).tip[:3, 3], abs=1e-6)
    status, result = bench.run(protocol='step', duration=1.5, save_to=str(file))
    assert status == GoalStatus.STATUS_ABORTED  # what was measured stays
    assert result.error_message.startswith('save_to = ') and len(table(file)) == 3

    def whole(name, **fields):  # where nothing is measured for a while, a series is not whole
        files = []

        def attempt():
            files.append(tmp_path / f'{name}_{len(files)}.csv')
            status, result = bench.run(protocol=name, save_to=str(files[-1]), **fields)
            assert status == GoalStatus.STATUS_SUCCEEDED, result.error_message

        judged(attempt)
        return table(files[-1])

    rows = whole('step', duration=1.5)
    assert (np.diff(rows[:, 0]) > 0.0).all()
    assert rows[-1, 4:7] == pytest.approx(0.5 * robot.limits[:, 1])
    assert rows[0, 4] < rows[-1, 4]
    rows = whole('chirp', amplitude=0.05, duration=1.0, highest_frequency=0.5)
    assert np.ptp(rows[:, 4]) > 0.0


@pytest.mark.parametrize('protocol', ['step', 'chirp'])
def test_a_table_whose_tip_is_missing_for_a_part_is_no_whole_one(bench, tmp_path, protocol):
    file = tmp_path / 'part.csv'
    goal = BenchProtocol.Goal(
        protocol=protocol, duration=2.0, settle_time=0.05, amplitude=0.05, save_to=str(file)
    )
    seen = []
    handle = wait_for(bench.bench.send_goal_async(goal, lambda m: seen.append(m.feedback)))
    wait_until(lambda: seen and seen[-1].step == 'recording' and seen[-1].progress > 0.3)
    bench.blind = True
    answer = wait_for(handle.get_result_async(), 20.0)
    bench.blind = False
    assert answer.result.error_code == Code.NO_STATE
    assert 'tip_measured not measured: 0.' in answer.result.error_message
    part = file.with_suffix('.partial.csv')
    assert answer.result.saved_to == str(part) and not file.exists()
    wait_until(lambda: bench.planner.tip_control.measured.fresh())


def test_a_stop_ends_a_protocol_whose_table_has_what_was_measured(bench, tmp_path):
    file = tmp_path / 'levels.csv'
    goal = BenchProtocol.Goal(protocol='stretch', settle_time=0.5, save_to=str(file))
    steps = []
    handle = wait_for(bench.bench.send_goal_async(goal, lambda m: steps.append(m.feedback.step)))
    # Of this goal: the robot may still hold what was asked for before. Cancelled before, it would
    # release the driver, which ends what is asked for next.
    wait_until(lambda: steps and bench.planner._stream.phase in (Phase.RAMP, Phase.HOLD))
    bench.send_actuation([0.1e5] * 3)  # a target does not disturb it
    wait_until(lambda: 'refused' in bench.target_status()[0])
    wait_for(handle.cancel_goal_async())
    answer = wait_for(handle.get_result_async(), 20.0)
    assert (answer.status, answer.result.error_code) == (GoalStatus.STATUS_CANCELED, Code.CANCELED)
    assert not file.exists()
    steps = []
    # So many postures that it does not end before a late cancellation.
    goal = BenchProtocol.Goal(protocol='stretch', settle_time=0.1, count=50, save_to=str(file))
    handle = wait_for(bench.bench.send_goal_async(goal, lambda m: steps.append(m.feedback.step)))
    wait_until(lambda: any(step.startswith('posture 4 ') for step in steps))
    wait_for(handle.cancel_goal_async())
    answer = wait_for(handle.get_result_async(), 20.0)
    assert answer.result.error_code == Code.CANCELED
    part = file.with_suffix('.partial.csv')
    assert answer.result.saved_to == str(part) and not file.exists()
    assert answer.result.rows == len(table(part)) >= 3
    assert not part.with_suffix('.yaml').exists()  # nobody reads it as a whole one
    for fields in ({'protocol': 'dance'}, {'protocol': 'step', 'save_to': 'here.csv'}):
        status, result = bench.run(**{'save_to': str(file), **fields})
        assert status == GoalStatus.STATUS_ABORTED
        assert result.error_code in (Code.UNKNOWN_NAME, Code.OUT_OF_RANGE)
