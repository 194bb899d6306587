# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Serial faults with driver and emulator as processes: cable, noise, restarts, kills, sensors.

What happens on the wire and in the device is bounded by the emulator's own log. The device's time
to live is 400 ms, its ramp 2 bar/s: from 1 bar it is at zero 0.9 s after the last command.
"""

from __future__ import annotations

from pathlib import Path
import signal
import time

from fault_counts import ENOUGH, rises
import numpy as np
import pytest
from robot_processes import (
    ACTIVATE,
    BAR,
    check_refused,
    CLEANUP,
    CONFIGURE,
    DEACTIVATE,
    end,
    RobotProcesses,
    start_node,
)
from test_faults_device import assert_lost, SEARCHING

from soro_driver.device import DeviceState, Fault, Flag

ROBOT = Path(__file__).with_name('dspace_bench.yaml')
TTL, RAMP = 0.4, 0.5  # s; the ramp from 1 bar
FEEDBACK_TIMEOUT = 0.4  # s
BUSY = 1.0  # s that a busy computer may add
PATIENCE = 10.0  # s for what has no bound of its own
VENTING = 0.5  # s for the last pressure behind the regulators

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope='module')
def robot_(tmp_path_factory):
    """Return one robot for the whole module."""
    robot = RobotProcesses(tmp_path_factory.mktemp('robot'), ROBOT)
    try:
        yield robot.start()
    finally:
        robot.close()


def state_event(robot, name, since, timeout=PATIENCE):
    return robot.wait_event('state', since, timeout, lambda e: e['state'] == name)


def at(robot, *pressures):
    """Bring the robot to pressures; again, where a stall of a busy computer has tripped it."""
    for _ in range(4):
        try:
            return robot.move(*pressures)
        except AssertionError:
            robot.recover()
    return robot.move(*pressures)


def stays_down(robot, since):
    """A stream that goes on moves nothing."""
    robot.target = np.array([BAR, 0.0, 0.0])
    robot.spin(1.0)
    assert robot.state.device_state in (DeviceState.INACTIVE, DeviceState.UNCONFIGURED)
    assert robot.raised_after(since) == []


def wait_down(robot, state=DeviceState.FAULT):
    """Wait until the driver has seen it; the line may be too dead to disarm over it."""
    robot.wait_for(
        lambda: robot.state.device_state in (state, DeviceState.UNCONFIGURED), PATIENCE, 'a fault'
    )


def test_set_points_reach_their_regulators(robot):
    # The channels are wired crosswise; the device echoes what it applies in steps of 10 Pa.
    at(robot, 0.8 * BAR, 0.4 * BAR, 0.2 * BAR)
    last = {e['actuator']: e['pressure'] for e in robot.events('output')}
    assert last == pytest.approx({'left': 0.8e5, 'middle': 0.4e5, 'right': 0.2e5}, abs=10.0)
    np.testing.assert_allclose(robot.state.applied, [0.8e5, 0.4e5, 0.2e5], atol=10.0)


# The peer -------------------------------------------------------------------------------------


@pytest.mark.injection('dspace', 1)
def test_cable_pulled_and_plugged(robot, note_time):
    at(robot, BAR, 0.5 * BAR, 0.0)
    working = robot.driver_load()
    since = robot.inject('unplug')
    note_time('serial: cable pulled: ERROR in diagnostics', assert_lost(robot, since))
    trip = state_event(robot, 'SAFE', since)
    note_time('serial: cable pulled: device ramps', trip)
    assert trip < TTL + BUSY
    assert robot.outputs_off(since, 4.0) < TTL + RAMP + BUSY
    assert robot.driver_load() < 1.25 * working, SEARCHING
    robot.inject('plug')
    robot.wait_state(DeviceState.INACTIVE, 15.0)
    stays_down(robot, since)


@pytest.mark.injection('dspace', 1)
def test_device_killed_and_started_again(robot, note_time):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.hit('emulator', signal.SIGKILL)
    note_time('serial: device killed: ERROR in diagnostics', assert_lost(robot, since))
    robot.emulator.wait()
    robot.emulator.stderr.close()
    again = time.monotonic()
    robot.start_emulator()
    robot.wait_state(DeviceState.INACTIVE, 30.0)
    stays_down(robot, again)
    robot.repair()


@pytest.mark.injection('dspace', 2)
def test_silent_device(robot, note_time):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.inject('silent')
    note_time('serial: device silent: ERROR in diagnostics', assert_lost(robot, since))
    off = robot.outputs_off(since, 3.0)
    note_time('serial: device silent: outputs off', off)
    assert off < FEEDBACK_TIMEOUT + TTL + RAMP + BUSY
    robot.inject('none')
    robot.wait_state(DeviceState.INACTIVE, 15.0)
    stays_down(robot, since)


@pytest.mark.injection('dspace', 22)
def test_device_that_does_not_read(robot):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.inject('deaf')
    assert state_event(robot, 'SAFE', since) < TTL + BUSY
    wait_down(robot)
    assert rises(robot, since)['unread'] > ENOUGH
    assert robot.state.faults & Fault.DEVICE_WATCHDOG
    assert robot.outputs_off(since, 4.0) < TTL + RAMP + BUSY
    robot.inject('none')
    robot.spin(0.5)
    assert robot.raised_after(since) == []


@pytest.mark.injection('dspace', 2)
def test_frozen_device_does_not_replay(robot):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.hit('emulator', signal.SIGSTOP)
    assert_lost(robot, since)
    robot.spin(1.0)
    robot.emulator.send_signal(signal.SIGCONT)
    robot.wait_state(DeviceState.INACTIVE, 15.0)
    stays_down(robot, since)


# The device -----------------------------------------------------------------------------------


@pytest.mark.injection('dspace', 8)
def test_restarted_device_is_not_armed_again(robot):
    at(robot, BAR, 0.0, 0.0)
    since = robot.inject('reboot')
    robot.wait_for(lambda: robot.state.faults & Fault.REBOOT, PATIENCE, 'restart noticed')
    robot.wait_for(lambda: robot.lifecycle() == 'inactive', PATIENCE, 'lifecycle inactive')
    robot.spin(0.5)  # the stream goes on
    assert robot.raised_after(since) == []
    robot.target = None
    robot.wait_for(lambda: robot.clear().success, 10.0, 'cleared')
    robot.spin(0.3)
    assert robot.raised_after(since) == []


@pytest.mark.injection('dspace', 9)
@pytest.mark.parametrize(
    ('fault', 'values', 'words'),
    [
        ('protocol', {'major': 2}, 'speaks protocol 2, this driver 1'),
        ('channels', {'count': 6}, 'has 6 channels, this robot needs 3'),
    ],
)
def test_another_device_is_refused_at_once(robot, said, fault, values, words):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    robot.inject(fault, **values)
    assert not robot.transition(CONFIGURE)
    robot.wait_for(lambda: any(words in line for line in said), PATIENCE, words)
    robot.inject('none')
    robot.wait_for(lambda: robot.transition(CONFIGURE), 10.0, 'configured')
    robot.wait_for(lambda: robot.transition(ACTIVATE), 10.0, 'activated')


def test_missing_port_is_said(robot, said):
    node = start_node('soro_driver.node', '/real', robot=ROBOT, use_emulator=False)
    try:
        robot.wait_for(
            lambda: any('/dev/soro_no_such_port' in line for line in said), 30.0, 'the port'
        )
        assert node.poll() is None
    finally:
        end(node)


@pytest.mark.injection('dspace', 16)
@pytest.mark.parametrize('voltage', [-0.5, 10.4])
def test_monitor_out_of_range(robot, voltage):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.inject('sensor', actuator='middle', voltage=voltage)
    robot.wait_state(DeviceState.FAULT, PATIENCE)
    assert robot.outputs_off(since, 2.0) < BUSY
    assert state_event(robot, 'FAULT', since) < 0.05 + BUSY
    flagged = [s for t, s in robot.states if t > since and s.flags[1] & Flag.SENSOR_FAULT]
    assert flagged and not any(s.flags[0] & Flag.SENSOR_FAULT for s in flagged)
    assert np.isnan(flagged[-1].measured[1])


@pytest.mark.injection('dspace', 18)
def test_regulator_stuck_open_is_dumped_by_the_device(robot, note_time):
    at(robot, 0.5 * BAR, 0.0, 0.0)
    since = robot.inject('stuck_open', actuator='right')
    tripped = state_event(robot, 'FAULT', since)
    note_time('serial: regulator stuck open: device trips', tripped)
    assert tripped < 0.5 + BUSY
    assert robot.wait_event('vented', since, 3.0) < 1.0 + BUSY
    robot.wait_state(DeviceState.FAULT, PATIENCE)
    assert robot.state.faults & (Fault.OVER_LIMIT | Fault.TRACKING | Fault.DEVICE)


@pytest.mark.injection('dspace', 16)
def test_open_wire_shows_zero_volt(robot):
    at(robot, 0.0, 0.0, 0.0)
    since = robot.inject('sensor', actuator='left', voltage=0.0)
    robot.target = np.array([BAR, 0.0, 0.0])
    robot.wait_state(DeviceState.FAULT, PATIENCE)
    assert robot.outputs_off(since, 3.0) < 1.5 + BUSY
    assert robot.state.faults & (Fault.TRACKING | Fault.DEVICE)


@pytest.mark.injection('dspace', 15)
def test_values_that_stand_still(robot):
    at(robot, 0.4 * BAR, 0.2 * BAR, 0.1 * BAR)
    robot.inject('sensor_frozen', all=True)
    robot.wait_state(DeviceState.FAULT, PATIENCE)
    assert robot.state.faults & Fault.FROZEN


@pytest.mark.injection('dspace', 15)
def test_the_same_frame_again_and_again(robot):
    at(robot, 0.4 * BAR, 0.2 * BAR, 0.1 * BAR)
    since = robot.inject('repeat')
    assert_lost(robot, since)
    robot.inject('none')


# The computer ---------------------------------------------------------------------------------


@pytest.mark.injection('dspace', 10)
def test_driver_killed(robot, note_time):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.hit('driver', signal.SIGKILL)
    robot.target = None
    trip = state_event(robot, 'SAFE', since)
    note_time('serial: driver killed: device ramps', trip)
    assert trip < TTL + BUSY
    vented = robot.wait_event('vented', since, 4.0)
    note_time('serial: driver killed: pressures below 2 %', vented)
    assert vented < TTL + RAMP + VENTING + BUSY


@pytest.mark.injection('dspace', 23)
def test_frozen_driver_wakes_up_in_fault(robot):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.hit('driver', signal.SIGSTOP)
    assert state_event(robot, 'SAFE', since) < TTL + BUSY
    robot.spin(1.0)
    woken = time.monotonic()
    robot.driver.send_signal(signal.SIGCONT)
    robot.wait_for(
        lambda: robot.state.device_state in (DeviceState.FAULT, DeviceState.UNCONFIGURED),
        5.0,
        'a state that is not driven',
    )
    robot.spin(1.0)  # the stream goes on
    assert robot.raised_after(woken) == []


@pytest.mark.injection('dspace', 11)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_driver_with_vented_outputs(robot, number):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.hit('driver', number)
    robot.wait_for(lambda: robot.driver.poll() is not None, PATIENCE, 'exit')
    ended = time.monotonic() - since
    assert robot.driver.returncode == 0
    assert ended < PATIENCE  # 0.5 s where nothing else runs
    assert robot.outputs_off(since, 1.0) < ended
    robot.target = None


@pytest.mark.injection('dspace', 26)
def test_emergency_stop(robot, note_time):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.struck('emergency stop')
    robot.press_estop(True)
    off = robot.outputs_off(since, 2.0)
    note_time('serial: e-stop: outputs off', off)
    assert off < 0.15 + BUSY
    robot.wait_state(DeviceState.ESTOP, PATIENCE)
    robot.spin(0.3)
    assert robot.raised_after(since) == []


@pytest.mark.injection('dspace', 25)
def test_second_driver_is_refused(robot):
    at(robot, 0.5 * BAR, 0.0, 0.0)
    since = robot.struck('a second driver on the same port')
    second = start_node('soro_driver.node', robot.namespace, robot=ROBOT, connect_timeout=1.0)
    check_refused(robot, second, since)
