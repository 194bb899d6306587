# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The action against a robot that exists in messages only: each error code, and a kept fit."""

from contextlib import contextmanager
import errno
from functools import partial
import os
import threading

import numpy as np
import pytest
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_srvs.srv import Trigger

from soro_flex_calibration.calibration_motion import MotorWatch
from soro_flex_calibration.motor_path import extremes, MotorPath
import soro_flex_calibration.node as node_module
from soro_flex_calibration.node import FlexCalibrationNode, RECORDING, WEIGHED
from soro_flex_calibration.recording import RawRecording
from soro_mechanics import load_robot
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice, softened
from soro_mechanics.haptics.flex_calibration import read_calibration, UNKNOWN_MATERIAL
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.action import CalibrateFlexSensors
from soro_msgs.msg import ActuatorCommand, ActuatorState, FlexState
from soro_rigs.legs import legs_file
from soro_rigs.ros_session import RosSession, wait_for, wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

STRIPS = [f'flex_{i + 1}' for i in range(6)]
OFFSET, GAIN = 3500.0, 4e5
FAULTY = ActuatorState.SENSOR_FAULT


class FakeRobot(Node):
    """Follows target_actuation at once and publishes motors and sensors with equal stamps."""

    def __init__(self, robot='haptic_5dof', **kwargs):
        super().__init__('haptic_renderer', **kwargs)
        self.device = HapticDevice(load_robot(robot))
        self.motors = [a.name for a in self.device.description.actuators]
        self.strips = [strip.name for strip in self.device.spec.strips]
        self.angle, self.at = np.zeros(len(self.motors)), np.zeros(len(self.motors))
        self.follows, self.talks, self.active, self.stuck = True, True, True, False
        self.reloads, self.refuses = 0, False
        self.flagged = 0  # how many sensors, the first ones
        self.load = np.zeros(3)  # N, on the handle
        self.stops = 7  # drivers begin to count anywhere
        self.count = 0
        self._states = self.create_publisher(ActuatorState, 'actuator_state', 20)
        self._flex = self.create_publisher(FlexState, 'flex_state', 20)
        self.create_subscription(ActuatorCommand, 'target_actuation', self._on_target, 1)
        self.create_service(Trigger, '~/reload_calibration', self._on_reload)
        self.create_timer(0.01, self._publish)

    def _on_target(self, message):
        if self.follows:
            self.angle = np.array(message.value)

    def _on_reload(self, request, response):
        self.reloads += 1
        response.success = not self.refuses
        response.message = 'a hand leans on the handle' if self.refuses else ''
        return response

    def _publish(self):
        if not self.talks:
            return
        step = np.clip(self.angle - self.at, -0.05, 0.05)
        self.at = self.at + step
        self.device.update(self.at, self.device.ports.axes[:3].T @ self.load)
        self.count += 1
        stamp = self.get_clock().now().to_msg()
        flags = [0] * len(self.motors)
        state = ActuatorState(name=self.motors, measured=self.at.tolist(), flags=flags)
        state.device_state = ActuatorState.ACTIVE if self.active else ActuatorState.SAFE
        raw = OFFSET + GAIN * self.device.ports.sensor
        flex = FlexState(
            name=self.strips,
            value=[float('nan')] * len(self.strips),
            flags=[FAULTY if i < self.flagged else 0 for i in range(len(self.strips))],
            raw=[OFFSET] * len(self.strips) if self.stuck else np.round(raw).tolist(),
        )
        state.stops = self.stops
        state.header.stamp = flex.header.stamp = stamp
        self._states.publish(state)
        self._flex.publish(flex)


@contextmanager
def rigged(tmp_path, name='haptic_5dof', **parameters):
    with RosSession('/arm') as ros:
        robot = ros.node(partial(FakeRobot, name), '/arm')
        node = ros.node(
            FlexCalibrationNode,
            '/arm',
            robot=name,
            speed=4.0,
            settle_time=0.01,
            calibration_file=str(tmp_path / 'c.yaml'),
            **parameters,
        )
        assert ros.start(node)
        client = ros.action_client(CalibrateFlexSensors, 'flex_calibration/calibrate')
        wait_until(client.server_is_ready)
        wait_until(lambda: node.count_publishers('actuator_state') > 0)
        rig = Rig(ros, robot, node, client, tmp_path / 'c.yaml')
        rig.weigher = ros.action_client(CalibrateFlexSensors, 'flex_calibration/weigh')
        yield rig


@pytest.fixture
def rig(tmp_path):
    with rigged(tmp_path) as made:
        yield made


class Rig:
    def __init__(self, ros, robot, node, client, file):
        self.do = lambda action: ros.do(node, action)
        self.robot, self.node, self.client, self.file = robot, node, client, file

    def send(self, feedback=None, **goal):
        request = CalibrateFlexSensors.Goal(**{'poses': 8, 'amplitude': 0.4, **goal})
        return wait_for(self.client.send_goal_async(request, feedback))

    def run(self, **goal):
        return wait_for(self.send(**goal).get_result_async(), 120.0).result

    def weigh(self, feedback=None, **goal):
        request = CalibrateFlexSensors.Goal(**{'poses': 8, 'amplitude': 0.4, **goal})
        sent = wait_for(self.weigher.send_goal_async(request, feedback))
        return wait_for(sent.get_result_async(), 120.0).result


def good_recording(robot=None):
    """Return what the fake robot would give, without waiting for it."""
    device = HapticDevice(load_robot('haptic_5dof') if robot is None else robot)
    random = np.random.default_rng(1)
    here, angles, counts = np.zeros(6), [], []
    for stop in extremes(np.radians([[-60.0, 60.0]] * 6), 0.4, 8, random):
        path = MotorPath(here, stop, 1.0, 0.0)
        for moment in np.arange(0.0, path.duration, 0.04):
            angles.append(path.at(moment)[0])
            device.update(angles[-1], np.zeros(5))
            counts.append(np.round(OFFSET + GAIN * device.ports.sensor))
        here = stop
    return RawRecording(tuple(STRIPS), np.array(angles), np.array(counts))


def test_a_calibration_is_fitted_kept_and_used(rig):
    result = rig.run(keep=True)
    assert result.error_code == Code.NONE, result.error_message
    assert result.saved_to == str(rig.file)
    assert result.samples >= 100
    np.testing.assert_allclose(result.gain, 1.0 / GAIN, rtol=0.02)
    wait_until(lambda: rig.robot.reloads == 1)
    # What was recorded can be fitted again, without motion and without keeping it.
    before, moved = rig.file.read_text(), rig.robot.at.copy()
    again = rig.run(use_recorded=True, sensor_name=['flex_2'])
    assert again.error_code == Code.NONE
    assert list(again.name) == ['flex_2']
    assert again.saved_to == ''
    assert rig.file.read_text() == before
    np.testing.assert_array_equal(rig.robot.at, moved)


@pytest.mark.parametrize('legs', [5, 7])
def test_another_number_of_legs_is_calibrated(tmp_path, legs):
    with rigged(tmp_path, str(legs_file(tmp_path, legs))) as rig:
        result = rig.run(keep=True, poses=4)
        assert result.error_code == Code.NONE, result.error_message
        assert list(result.name) == [f'flex_{i + 1}' for i in range(legs)]
        np.testing.assert_allclose(result.gain, 1.0 / GAIN, rtol=0.02)
        assert len(read_calibration(rig.file, f'legs_{legs}').sensors) == legs


def test_a_known_weight_shows_the_modulus_and_the_next_calibration_keeps_it(rig):
    assert rig.weigh().error_code == Code.NO_STATE  # nothing was recorded without the weight
    soft = softened(load_robot('haptic_5dof'), 0.85)
    good_recording(soft).save(rig.file.with_name(RECORDING))
    rig.robot.device = HapticDevice(soft)
    rig.do(lambda: rig.node.set_parameters([Parameter('weight_time', value=0.3)]))
    steps = []

    def hang(message):
        steps.append(message.feedback.step)
        off = any('take the weight off' in step for step in steps)
        rig.robot.load = np.zeros(3) if off else np.array([0.0, 0.0, -0.2 * 9.81])

    result = rig.weigh(hang, keep=True)
    assert result.error_code == Code.NONE, result.error_message
    assert 'hang the weight on' in steps[0] and not rig.robot.load.any()
    known = read_calibration(rig.file)
    assert known.material == pytest.approx(0.85, rel=0.02)
    assert known.material_deviation < UNKNOWN_MATERIAL
    wait_until(lambda: rig.robot.reloads == 1)
    # A strip that is calibrated anew changes nothing about the legs.
    assert rig.run(use_recorded=True, sensor_name=['flex_2'], keep=True).error_code == Code.NONE
    assert read_calibration(rig.file).material == known.material
    # The same readings as if nothing hung there are no weight.
    good_recording(soft).save(rig.file.with_name(WEIGHED))
    assert rig.weigh(use_recorded=True, keep=True).error_code == Code.POOR_FIT
    assert read_calibration(rig.file).material == known.material


def test_what_was_measured_under_a_weight_is_kept_though_taking_it_off_is_cancelled(
    rig, monkeypatch
):
    good_recording().save(rig.file.with_name(RECORDING))
    rig.do(lambda: rig.node.set_parameters([Parameter('weight_time', value=20.0)]))
    hold, off = node_module.CalibrationMotion.hold, threading.Event()

    def held(motion, seconds, words):
        if 'off' in words:
            off.set()
            hold(motion, seconds, words)

    monkeypatch.setattr(node_module.CalibrationMotion, 'hold', held)
    request = CalibrateFlexSensors.Goal(poses=4, amplitude=0.4, samples_per_pose=2)
    goal = wait_for(rig.weigher.send_goal_async(request))
    assert off.wait(60.0)
    wait_for(goal.cancel_goal_async())
    assert wait_for(goal.get_result_async()).result.error_code == Code.CANCELED
    assert len(RawRecording.load(rig.file.with_name(WEIGHED)).angles) >= 8


def test_a_bad_fit_is_refused_with_its_reasons_and_nothing_is_kept(rig):
    rig.robot.stuck, rig.robot.flagged = True, 5
    result = rig.run(keep=True)
    assert result.error_code == Code.POOR_FIT
    assert 'flex_1' in result.error_message
    assert 'flagged by the device meanwhile: flex_1' in result.error_message
    assert 'flagged' in (rig.file.parent / 'flex_calibration.txt').read_text()
    assert not rig.file.exists()
    assert (rig.file.parent / 'flex_calibration.txt').exists()
    assert rig.robot.reloads == 0
    # A later fit of that recording does not conceal it.
    again = rig.run(use_recorded=True, keep=True)
    assert 'flagged by the device meanwhile: flex_1' in again.error_message
    assert 'recorded on 20' in (rig.file.parent / 'flex_calibration.txt').read_text()


def test_nothing_moves_before_an_emulated_body_is_there_to_be_read(rig):
    rig.robot.flagged = len(STRIPS)
    wait_until(lambda: len(rig.node._faulty) == len(STRIPS))
    steps = []
    handle = rig.send(lambda message: steps.append(message.feedback.step))
    wait_until(lambda: steps)
    assert 'emulated body is loaded, or compiled' in steps[0]
    assert not rig.robot.at.any()
    rig.robot.flagged = 0
    result = wait_for(handle.get_result_async(), 120.0).result
    assert result.error_code == Code.NONE, result.error_message


@pytest.mark.parametrize(('emulated', 'code'), [(True, Code.BUSY), (False, Code.DEVICE_FAULT)])
def test_without_any_sensor_that_reads_a_calibration_says_so(
    tmp_path, monkeypatch, emulated, code
):
    monkeypatch.setattr(node_module, 'LOADING', 0.2)
    monkeypatch.setattr(node_module, 'LOST', 0.1)
    with rigged(tmp_path, use_emulator=emulated) as rig:
        rig.robot.flagged = len(STRIPS)
        wait_until(lambda: len(rig.node._faulty) == len(STRIPS))
        result = rig.run()
        assert (result.error_code, rig.robot.at.any()) == (code, False)
        assert 'no flex sensor reads' in result.error_message


def test_wrong_goals_have_their_codes(rig):
    assert rig.run(sensor_name=['flex_9']).error_code == Code.UNKNOWN_NAME
    assert rig.run(poses=3).error_code == Code.OUT_OF_RANGE
    assert rig.run(amplitude=2.0).error_code == Code.OUT_OF_RANGE
    assert rig.run(use_recorded=True).error_code == Code.NO_STATE
    assert rig.run(max_residual=-1e-4).error_code == Code.OUT_OF_RANGE


def test_a_fit_that_the_renderer_does_not_take_is_kept_and_said_to_be_unused(rig):
    good_recording().save(rig.file.with_name(RECORDING))
    rig.robot.refuses = True
    result = rig.run(use_recorded=True, keep=True)
    assert result.error_code == Code.BUSY
    assert 'a hand leans' in result.error_message and 'reload' in result.error_message
    assert result.saved_to == str(rig.file) and rig.file.exists()


def test_a_disk_that_takes_no_report_costs_no_fit_and_one_that_takes_no_fit_is_named(
    rig, monkeypatch
):
    recorded = good_recording()

    def full(*arguments):
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(node_module, 'write_report', full)
    for name in ('visit', 'hold'):
        monkeypatch.setattr(node_module.CalibrationMotion, name, lambda *arguments: None)
    monkeypatch.setattr(node_module.Recorder, 'recording', lambda recorder: recorded)
    monkeypatch.setattr(RawRecording, 'save', full)
    result = rig.run(keep=True)
    assert result.error_code == Code.NONE, result.error_message
    before = rig.file.read_bytes()
    monkeypatch.setattr(os, 'fsync', full)
    result = rig.run(keep=True)
    assert str(rig.file) in result.error_message and 'free space' in result.error_message
    assert result.error_code != Code.UNKNOWN and list(result.name) == STRIPS
    assert rig.file.read_bytes() == before
    assert not rig.file.with_name(rig.file.name + '.part').exists()


def test_a_robot_that_is_not_there_not_active_or_does_not_follow(rig):
    rig.robot.follows = False
    result = rig.run()
    assert result.error_code == Code.NOT_IN_CONTROL
    assert 'soro haptics free' in result.error_message
    rig.robot.follows, rig.robot.active = True, False
    # The state takes a moment to arrive.
    wait_until(lambda: rig.run().error_code == Code.DEVICE_FAULT)
    rig.robot.talks = False
    wait_until(lambda: rig.run().error_code == Code.NO_STATE)


def test_a_robot_that_is_heard_later_is_waited_for_and_a_stop_from_then_on_counts():
    motors, state = MotorWatch(), ActuatorState(device_state=ActuatorState.ACTIVE, stops=7)
    motors.begin()
    motors.take(state)
    motors.check()
    state.stops = 8
    with pytest.raises(SoroError) as ended:
        motors.check()
    assert ended.value.code is Code.DEVICE_FAULT


@pytest.mark.parametrize('text', ['', 'schema: 99\n', 'schema: 1\nrobot: other\n'])
def test_a_file_that_cannot_be_used_is_made_anew(rig, text):
    good_recording().save(rig.file.with_name(RECORDING))
    rig.file.write_text(text)
    result = rig.run(use_recorded=True, keep=True)
    assert result.error_code == Code.NONE, result.error_message
    assert read_calibration(rig.file, 'haptic_5dof').material == 1.0
    assert rig.file.with_name('c.yaml.unusable').read_text() == text
    assert 'c.yaml.unusable' in result.error_message
    rig.file.write_text(text)
    moved = rig.robot.at.copy()
    assert rig.run(keep=True, sensor_name=['flex_2']).error_code != Code.NONE
    np.testing.assert_array_equal(rig.robot.at, moved)


def test_a_second_goal_is_busy_and_a_cancel_ends_the_first(rig):
    started = threading.Event()
    first = rig.send(lambda message: started.set(), poses=64)
    assert started.wait(20.0)
    assert rig.run().error_code == Code.BUSY
    wait_for(first.cancel_goal_async())
    result = wait_for(first.get_result_async()).result
    assert result.error_code == Code.CANCELED


@pytest.mark.parametrize('ended', ['cancelled', 'deactivated'])
def test_what_ends_while_it_solves_fits_or_draws_keeps_nothing(rig, monkeypatch, ended):
    good_recording().save(rig.file.with_name(RECORDING))
    assert rig.run(use_recorded=True).error_code == Code.NONE
    for step in ('_model', 'fit_recording', 'write_report'):
        there, go = threading.Event(), threading.Event()
        where = rig.node if step == '_model' else node_module
        real = getattr(where, step)

        def held(*arguments, there=there, go=go, real=real):
            there.set()
            assert go.wait(60.0)
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(where, step, held)
            goal = rig.send(use_recorded=True, keep=True)
            assert there.wait(20.0)
            if ended == 'cancelled':
                wait_for(goal.cancel_goal_async())
            else:
                rig.do(rig.node.trigger_deactivate)
                rig.do(rig.node.trigger_activate)  # brings nothing back
            go.set()
            wait_until(lambda: not rig.node._goal.busy)
        code = Code.CANCELED if ended == 'cancelled' else Code.NOT_ACTIVE
        assert wait_for(goal.get_result_async()).result.error_code == code
        assert not rig.file.exists()


def test_a_deactivation_ends_a_goal_with_a_result_and_refuses_others(rig):
    started = threading.Event()
    goal = rig.send(lambda message: started.set(), poses=64)
    assert started.wait(20.0)
    rig.do(rig.node.trigger_deactivate)
    assert wait_for(goal.get_result_async()).result.error_code == Code.NOT_ACTIVE
    assert rig.run().error_code == Code.NOT_ACTIVE
    rig.do(rig.node.trigger_cleanup)
    wait_until(lambda: not rig.client.server_is_ready())
    assert rig.do(rig.node.autostart)
    wait_until(rig.client.server_is_ready)
    assert rig.run(sensor_name=['flex_9']).error_code == Code.UNKNOWN_NAME


def test_a_new_configuration_solves_the_robot_file_as_it_is_then(tmp_path):
    file = tmp_path / 'haptic_5dof.yaml'
    text = find_robot_file('haptic_5dof').read_text(encoding='utf-8')
    file.write_text(text, encoding='utf-8')
    with RosSession('/arm') as ros:
        node = ros.node(FlexCalibrationNode, '/arm', robot=str(file))
        assert ros.start(node)
        stiff = node._model(1.0)
        assert node._model(1.0) is stiff
        ros.do(node, node.trigger_deactivate)
        ros.do(node, node.trigger_cleanup)
        file.write_text(text.replace('young: {value: 76.4 MPa', 'young: {value: 60 MPa'))
        assert ros.start(node)
        assert node._model(1.0).ports.ee[0, 0] > 1.1 * stiff.ports.ee[0, 0]


def test_the_model_is_solved_under_the_gravity_of_the_mounting():
    with RosSession('/arm') as ros:
        node = ros.node(FlexCalibrationNode, '/arm', robot='haptic_5dof', gravity=[9.81, 0.0, 0.0])
        assert ros.start(node)
        upright = HapticDevice(load_robot('haptic_5dof')).ports.pose
        hanging = node._model(1.0).ports.pose
        np.testing.assert_allclose(hanging[0, 3], -upright[2, 3], rtol=0.5)
        np.testing.assert_allclose(hanging[2, 3], 0.0, atol=0.05 * abs(upright[2, 3]))
