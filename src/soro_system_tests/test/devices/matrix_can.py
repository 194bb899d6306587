# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""CAN: lost, repeated and late frames, a babbling node, motors that do not follow.

Not collected by `make test`: `make reliability` runs it, or pytest with this file's name. The
board of this bench has a time to live of 200 ms: 40 set-points.
"""

from __future__ import annotations

from fault_counts import check_late, check_parts, ENOUGH, rises, wait_rises
import numpy as np
import pytest
from test_can_faults import BUSY, disarmed, robot_, stays_down, TTL  # noqa: F401 - a fixture

from soro_can_driver.board import EmergencyCode
from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceState, Fault

PERIOD = 0.005  # s
FRAMES = 3  # of a set-point: two halves, SYNC
SURVIVED = 9 * FRAMES  # in a row

pytestmark = pytest.mark.timeout(240)


def says(robot, words):
    """Wait until the diagnostics give a reason with these words."""
    robot.wait_for(lambda: words in robot.values('device').get('reason', ''), 5.0, words)


@pytest.mark.injection('can', 1)
def test_socket_closed(robot):
    robot.turn(0.5)
    since = robot.inject('unplug')
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 5.0, 'noticed')
    assert disarmed(robot, since) < TTL + 0.25 + BUSY
    stays_down(robot, since + TTL + BUSY)


@pytest.mark.injection('can', 5)
@pytest.mark.parametrize('loss', [0.01, 0.05, 0.2])
def test_lost_frames_are_survived_or_said(robot, loss):
    robot.turn(0.5)
    since = robot.inject('link', direction='both', loss=loss)
    robot.target = np.array([0.2, 0.1, 0.0, 0.0, 0.0, 0.0])
    robot.spin(3.0)
    for line in ('to_device', 'to_host'):
        check_parts(robot, since, line, lost=loss)
    assert rises(robot, since)['torn'] > 0  # set-points of which only a half arrived
    if robot.state.device_state == DeviceState.ACTIVE:
        assert robot.events('state')[-1]['state'] == 'ARMED'
        np.testing.assert_allclose(robot.state.measured, robot.target, atol=0.02)
    else:  # three heartbeats in a row of either side were lost: said, and not resumed
        lost = Fault.DEVICE_WATCHDOG | Fault.DEVICE | Fault.COMMUNICATION
        assert loss == 0.2 and robot.state.faults & lost


@pytest.mark.injection('can', 5)
def test_a_burst_within_the_time_to_live_is_survived(robot):
    robot.turn(0.5)
    since = robot.inject('link', direction='to_device', burst=SURVIVED)
    robot.spin(1.0)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    assert rises(robot, since)['to_device_lost'] == SURVIVED


@pytest.mark.injection('can', 5)
def test_a_burst_beyond_the_time_to_live_trips(robot):
    robot.turn(0.5)
    since = robot.inject('link', direction='to_device', burst=int(2 * TTL / PERIOD) * FRAMES)
    assert disarmed(robot, since) < TTL + BUSY
    wait_rises(robot, since, lambda c: c['to_device_lost'] > SURVIVED, 'a longer burst')
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 5.0, 'noticed')
    stays_down(robot, since + TTL + BUSY)


@pytest.mark.injection('can', 6)
def test_repeated_frames_change_nothing(robot):
    since = robot.inject('link', direction='both', repetition=1.0)
    robot.turn(0.5)
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    assert robot.state.measured[0] == pytest.approx(0.5, abs=0.02)
    for line in ('to_device', 'to_host'):
        check_parts(robot, since, line, repeated=1.0)


@pytest.mark.injection('can', 7)
def test_late_frames_trip(robot):
    robot.turn(0.5)
    since = robot.inject('link', direction='to_device', delay=0.6)
    assert disarmed(robot, since) < TTL + BUSY
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 5.0, 'noticed')
    check_late(robot, since, 'to_device')
    stays_down(robot, since + TTL + BUSY)  # by now every late set-point has arrived


@pytest.mark.injection('can', 19)
def test_a_babbling_node_fills_the_bus(robot):
    robot.turn(0.5)
    since = robot.inject('babble')
    assert disarmed(robot, since) < TTL + BUSY
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)
    robot.inject('none')
    stays_down(robot, since + TTL + BUSY)


@pytest.mark.injection('can', 19)
def test_a_storm_of_error_frames_is_counted_and_survived(robot):
    robot.turn(0.5)
    robot.inject('errors')
    robot.target = np.array([0.2, 0.1, 0.0, 0.0, 0.0, 0.0])
    robot.wait_for(
        lambda: int(robot.values('device').get('link_error_frames', '0')) > 1000, 10.0, 'counted'
    )
    robot.wait_for(lambda: near(robot.state.measured, robot.target), 10.0, 'arrived')
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    assert robot.events('state')[-1]['state'] == 'ARMED'


def near(measured, target):
    return bool(np.abs(np.array(measured) - target).max() < 0.02)


@pytest.mark.parametrize('robot_', ['emulated'], indirect=True)
@pytest.mark.injection('can', 15)
@pytest.mark.parametrize('angle', [0.3, -0.3], ids=['holding', 'moving'])
def test_a_board_that_repeats_its_measurement_is_found_by_its_numbers(robot, angle):
    robot.turn(0.3)
    since = robot.inject('repeat')
    robot.target = np.array([angle, 0.0, 0.0, 0.0, 0.0, 0.0])
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)  # by its age: no frame is missing
    assert disarmed(robot, since - 0.1) < 1.0 + BUSY
    wait_rises(robot, since, lambda c: c['repeated'] > ENOUGH, 'repeated measurements')
    robot.inject('none')
    stays_down(robot, since + 1.0 + BUSY)


@pytest.mark.parametrize('robot_', ['emulated'], indirect=True)
@pytest.mark.injection('can', 2)
def test_a_board_without_a_heartbeat_is_lost_although_it_measures(robot):
    robot.turn(0.3)
    since = robot.inject('mute')
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)
    says(robot, 'no heartbeat')
    assert disarmed(robot, since - 0.1) < 0.3 + BUSY
    robot.inject('none')
    stays_down(robot, since + 1.0 + BUSY)


@pytest.mark.injection('can', 7)
def test_measurements_that_come_late_trip(robot):
    """Set-points arrive in time; only what the board says of itself is twenty cycles old."""
    robot.turn(0.5)
    since = robot.inject('link', direction='to_host', delay=0.1)
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)
    check_late(robot, since, 'to_host')
    assert disarmed(robot, since) < 1.0 + BUSY
    robot.inject('none')
    stays_down(robot, since + 1.0 + BUSY)


@pytest.mark.injection('can', 20)
@pytest.mark.parametrize(
    ('fault', 'values', 'code'),
    [
        ('stall', {}, EmergencyCode.TRACKING),
        ('overcurrent', {}, EmergencyCode.OVER_CURRENT),
        ('encoder_jump', {'degrees': 30.0}, EmergencyCode.ENCODER_JUMP),
        ('reversed', {}, EmergencyCode.REVERSED),
    ],
)
def test_a_motor_that_does_not_follow(robot, fault, values, code):
    robot.turn(0.3)
    since = robot.inject(fault, actuator='motor_1', **values)
    robot.target = np.array([-0.3, 0.1, 0.0, 0.0, 0.0, 0.0])
    robot.wait_state(DeviceState.FAULT, 5.0)
    assert robot.state.faults & 1 << DEVICE_FAULT_SHIFT + code, robot.describe()
    says(robot, 'motor_1')
    assert disarmed(robot, since - 0.1) < 1.0 + BUSY
    stays_down(robot, since + 1.0 + BUSY)
