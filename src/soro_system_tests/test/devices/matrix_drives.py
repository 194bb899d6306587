# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drives that one can buy: frames lost, repeated and late, restarts, stalls, errors of their own.

Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

import signal

from fault_counts import check_late, check_parts, ENOUGH, wait_rises
from matrix_common import ANGLES, BUSY, device_safe, down, on
from matrix_states import device_of, FAULTS
import numpy as np
import pytest

from soro_driver.device import DeviceState, Fault

pytestmark = pytest.mark.timeout(240)
WIRED = 'cia402', 'dynamixel'


@pytest.fixture
def robot(rig):
    return rig.robot


def stays_down(rig, since):
    """Nothing moves, whatever is streamed."""
    robot = rig.robot
    robot.spin(1.0)
    assert robot.state.device_state != DeviceState.ACTIVE
    assert rig.rearmed(since) == []


@on(*ANGLES, cells=[2])
def test_silent_device(rig, robot):
    """Of controllers: no joint states; the driver cannot know that they hold."""
    rig.drive()
    since = robot.inject('silent')
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)
    device_safe(robot, since, rig.watchdog)
    robot.inject('none')
    stays_down(rig, since + rig.watchdog + BUSY)


@on(*WIRED, cells=[5])
@pytest.mark.parametrize('loss', [0.01, 0.2])
def test_lost_frames_are_survived_or_said(rig, robot, loss):
    rig.drive()
    since = robot.inject('link', direction='both', loss=loss)
    robot.spin(3.0)
    check_parts(robot, since, lost=loss)
    if robot.state.device_state != DeviceState.ACTIVE:
        assert robot.state.faults & (Fault.COMMUNICATION | Fault.DEVICE_WATCHDOG)
        device_safe(robot, since, 3.0)


@on(*WIRED, cells=[5])
def test_nothing_arrives_any_more(rig, robot):
    rig.drive()
    since = robot.inject('link', direction='both', loss=1.0)
    down(robot)
    device_safe(robot, since, rig.watchdog)
    robot.inject('none')
    stays_down(rig, since + rig.watchdog + BUSY)


@on(*WIRED, cells=[6])
def test_repeated_frames_change_nothing(rig, robot):
    rig.drive()
    before = np.array(robot.state.applied)
    since = robot.inject('link', direction='to_device', repetition=0.5)
    robot.spin(2.0)
    wait_rises(robot, since, lambda c: c['to_device_repeated'] > ENOUGH, 'repeated frames')
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    np.testing.assert_allclose(robot.state.applied, before, atol=0.01)


@on(*WIRED, cells=[7])
def test_late_frames_trip(rig, robot):
    rig.drive()
    since = robot.inject('link', direction='both', delay=0.6)
    down(robot)
    check_late(robot, since, 'to_device')
    device_safe(robot, since, rig.watchdog)
    robot.inject('none')
    stays_down(rig, since + 0.6 + rig.watchdog + BUSY)


@on(*WIRED, cells=[8])
def test_a_drive_that_restarts_is_not_armed_again(rig, robot):
    rig.drive()
    since = robot.inject('reboot', actuator='near_2')
    down(robot)
    device_safe(robot, since, rig.watchdog + 0.5)
    stays_down(rig, since + rig.watchdog + BUSY)


@on(*ANGLES, cells=[10])
def test_driver_killed(rig, robot):
    rig.drive()
    since = robot.hit('driver', signal.SIGKILL)
    robot.target = None
    device_safe(robot, since, rig.watchdog)


@on('cia402', cells=[19])
def test_a_babbling_node_fills_the_bus(rig, robot):
    rig.drive()
    since = robot.inject('babble')
    down(robot)
    device_safe(robot, since, rig.watchdog + 0.1)
    robot.inject('none')
    stays_down(rig, since + rig.watchdog + BUSY)


@on(*ANGLES, cells=[20])
def test_a_motor_that_stalls(rig, robot):
    robot.go(robot.rest)
    since = robot.inject('blocked', actuator='near_1')
    robot.target = robot.rest + 0.3 * (rig.limits[:, 1] - rig.limits[:, 0])
    robot.wait_state(DeviceState.FAULT, 5.0)
    device_safe(robot, since, 5.0)


@on(*WIRED, cells=[20])
def test_an_error_of_a_drive_itself(rig, robot, request):
    rig.drive()
    fault, values = FAULTS[device_of(request)]
    since = robot.inject(fault, **values)
    robot.wait_state(DeviceState.FAULT, 5.0)
    assert robot.state.faults & Fault.DEVICE
    robot.wait_for(lambda: values['actuator'] in robot.values('device')['reason'], 5.0, 'its name')
    device_safe(robot, since, 1.0)
