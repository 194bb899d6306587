# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The haptic device as a whole: calibrated, pushed into a wall, stopped; nothing resumes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from std_msgs.msg import String

from soro_cli.action_client import run_action
from soro_cli.motion import ACTIVE
from soro_haptics.environment_messages import object_to_message
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_msgs.action import CalibrateFlexSensors
from soro_msgs.msg import ActuatorState, TipEstimate
from soro_msgs.srv import SetVirtualEnvironment
from soro_studies.system.launched_robot import DiagnosticsWatch, launched_robot

pytestmark = pytest.mark.timeout(900)  # a first start compiles the kernels of the device
COMPILING = 600.0  # s for it, on a computer that others use too

GRIP = [400.0, 400.0, 400.0, 1.5, 1.5]  # N/m, N m/rad: of a hand
WALL = -0.01  # m, where `published_environment` puts it
STIFFEST = 261.0  # N/m, docs/nodes/haptic_renderer.md
PRESS = -0.025  # m, where the hand wants to be; the device alone would give way to -0.016
TRIES = 5  # a busy computer may stall the loop: then a person clears the fault and begins again


class HapticRobot:
    """A launched robot with a hand on it."""

    def __init__(self, robot, namespace, folder):
        self.robot, self.space, self.folder = robot, f'/{namespace}', folder
        self.diagnostics = DiagnosticsWatch(robot)
        node = robot.session.node
        self.faults = node.create_publisher(String, f'{self.space}/emulator/inject_fault', 5)
        self.estimates, self.commands = [], []
        node.create_subscription(
            TipEstimate, f'{self.space}/tip_estimate', self.estimates.append, 50
        )
        node.create_subscription(
            ActuatorState, f'{self.space}/actuator_state', self.commands.append, 50
        )
        robot.wait(lambda: self.faults.get_subscription_count() > 0, 10.0, 'emulator')

    def inject(self, fault, **values):
        self.faults.publish(String(data=json.dumps({'fault': fault, **values})))

    def hand(self, *way):
        rows = [[t, x, 0.0, 0.0, 0.0, 0.0] for t, x in way]
        self.inject('hand', way=rows, stiffness=GRIP)
        self.robot.spin(way[-1][0] + 0.5)

    def release(self):
        self.inject('hand')
        self.robot.spin(0.5)

    def ready(self):
        """Clear what a stall of this computer has latched."""
        for _ in range(TRIES):
            if self.robot.state() == ACTIVE:
                return
            self.robot.call('driver/clear_fault')
            self.robot.spin(1.0)
        raise AssertionError(self.robot.story)

    def feel(self, name):
        request = SetVirtualEnvironment.Request(
            objects=[object_to_message(o) for o in published_environment(name, np.eye(4))]
        )
        service = f'{self.space}/haptic_renderer/set_environment'
        return self.robot.session.call(SetVirtualEnvironment, service, request)

    def set_parameter(self, node, name, value):
        kind = ParameterType.PARAMETER_BOOL
        parameter = Parameter(name=name, value=ParameterValue(type=kind, bool_value=value))
        request = SetParameters.Request(parameters=[parameter])
        service = f'{self.space}/{node}/set_parameters'
        assert self.robot.session.call(SetParameters, service, request).results[0].successful

    def calibrate(self, **goal):
        name = f'{self.space}/flex_calibration/calibrate'
        goal = CalibrateFlexSensors.Goal(**goal)
        return run_action(self.robot.session, CalibrateFlexSensors, name, goal, lambda _: None)

    def calibrated(self):
        # A busy computer lets the emulated legs fall behind the motors: only at rest, then. Of
        # twelve poses noise decides which nodes explain a sensor, and with them the gain.
        self.set_parameter('flex_calibration', 'in_motion', False)
        for _ in range(TRIES):
            self.ready()
            result = self.calibrate(
                poses=20, amplitude=0.4, settle_time=0.6, samples_per_pose=10, keep=True
            )
            if result.error_code == Code.NONE:
                return result
            self.robot.spin(1.0)
        raise AssertionError(f'{result.error_message}; {self.robot.story}')

    def press(self):
        """Press into the wall, hold, and return the true places of the handle at rest there."""
        for _ in range(TRIES):
            self.release()
            self.ready()
            reply = self.feel('wall')
            assert reply.error_code == Code.NONE
            assert f'{STIFFEST:.0f} N/m instead of as stiff as possible' in reply.error_message
            self.estimates.clear()
            self.hand((0.0, 0.0), (2.5, PRESS), (7.0, PRESS))  # at rest there after 3.5 s
            if self.robot.state() == ACTIVE:
                return [e['place'][0] for e in self.robot.events('handle')[-100:]]
        raise AssertionError(self.robot.story)


@pytest.fixture(scope='module')
def device(tmp_path_factory):
    """Return the device for tests that leave it whole, in a namespace and with data of its own."""
    folder = tmp_path_factory.mktemp('haptic_5dof')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_DATA_HOME', str(folder))
        words = ['haptic_5dof'], folder, 'left', 'haptic_5dof'
        with launched_robot(*words, patience=COMPILING) as robot:
            device = HapticRobot(robot, 'left', folder)
            said = device.diagnostics.messages
            robot.wait(lambda: 'haptic_renderer: sensors' in said, 10.0, 'diagnostics')
            assert 'not calibrated' in said['haptic_renderer: sensors']
            device.calibration = device.calibrated()
            yield device
            assert robot.process.stop() == 0, robot.process.output


def test_it_is_calibrated_and_a_hand_feels_a_wall(device):
    robot, diagnostics, result = device.robot, device.diagnostics, device.calibration
    assert len(result.name) == 6
    # The sensors of the emulated device: 4e5 counts per metre within 10 %.
    np.testing.assert_allclose(result.gain, 2.5e-6, rtol=0.15)
    # Beside nobody else's.
    kept = device.folder / 'soro/left/emulated/flex_calibration.yaml'
    assert result.saved_to == str(kept)
    robot.wait(
        lambda: diagnostics.levels['haptic_renderer: sensors'] == 0, 10.0, 'used calibration'
    )

    places = device.press()
    # The hand pulls to -25 mm; where its spring and that of the wall meet, as stiff as the
    # softest expected hand bears: without the wall it would be there.
    balance = (GRIP[0] * PRESS + STIFFEST * WALL) / (GRIP[0] + STIFFEST)
    assert np.median(places) == pytest.approx(balance, abs=2.5e-3)
    last = device.estimates[-1]
    assert last.observable_directions == 5
    force = robot.events('handle')[-1]['wrench'][0]
    assert last.wrench.force.x == pytest.approx(force, abs=0.2 * abs(force))
    assert abs(np.array(device.commands[-1].commanded)).max() > 0.05
    reply = device.feel('free')
    assert reply.error_code == Code.BUSY, 'the ground must not go while a hand leans on it'
    device.release()
    device.ready()
    # The handle has mass: it swings for a moment after the hand has gone.
    robot.wait(lambda: device.feel('circle').error_code == Code.NONE, 10.0, 'free handle')
    wrong = SetVirtualEnvironment.Request(
        objects=[object_to_message(published_environment('hold', np.eye(4))[0])]
    )
    wrong.objects[0].stiffness = math.nan
    service = f'{device.space}/haptic_renderer/set_environment'
    reply = robot.session.call(SetVirtualEnvironment, service, wrong)
    assert reply.error_code != Code.NONE
    assert 'objects[0].stiffness' in reply.error_message


def test_sensors_that_fail_are_named_and_a_stop_needs_a_person(device):
    robot, diagnostics = device.robot, device.diagnostics
    device.release()
    device.ready()
    device.inject('flex', sensor='flex_2', kind='open')
    robot.wait(
        lambda: 'flex_2' in diagnostics.messages.get('haptic_renderer: sensors', ''),
        5.0,
        'a named sensor',
    )
    assert diagnostics.levels['haptic_renderer: sensors'] == 2
    device.ready()
    robot.spin(0.5)
    device.estimates.clear()
    robot.wait(lambda: len(device.estimates) > 3, 5.0, 'estimates with five sensors')
    assert np.all(np.isfinite(device.estimates[-1].wrench_covariance))

    device.ready()
    assert device.feel('hold').error_code == Code.NONE
    stopped = robot.call('driver/stop')
    assert (stopped.success, stopped.message) == (True, 'SAFE')
    robot.wait(lambda: robot.state() != ACTIVE, 5.0, 'stop')
    robot.spin(1.0)
    assert robot.state() != ACTIVE, 'it went on by itself'
    refused = device.feel('free')
    assert refused.error_code == Code.NOT_ACTIVE, 'another ground clears no stop'
    assert 'driver/clear_fault' in refused.error_message
    robot.clear()
    assert device.feel('free').error_code == Code.NONE


# In the namespace of the robot.
def test_a_dead_device_stays_dead(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path))
    words = ['haptic_5dof'], tmp_path, '', 'haptic_5dof'
    with launched_robot(*words, patience=COMPILING) as robot:
        device = HapticRobot(robot, 'haptic_5dof', tmp_path)
        device.ready()
        robot.kill('emulator')
        robot.wait(lambda: robot.state() != ACTIVE, 5.0, 'reaction to the dead device')
        levels = device.diagnostics.levels
        robot.wait(lambda: levels.get('haptic_renderer: device', 0) >= 2, 5.0, 'error')
        robot.spin(1.5)
        assert robot.state() != ACTIVE
        assert 'Traceback' not in robot.process.output
        assert robot.process.running
