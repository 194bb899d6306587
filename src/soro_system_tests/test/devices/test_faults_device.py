# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The device fails: killed, silent, frozen, restarted, wrong codes, wrong pressures."""

from __future__ import annotations

import signal
import time

from fault_counts import rises
import numpy as np
import pytest
from robot_processes import ACTIVATE, BAR
from std_msgs.msg import String

from soro_driver.device import DeviceState, Fault, Flag

SEARCHING = 'looking for the device is no reason to keep a core busy'
LOST_WITHIN = 0.6  # s: feedback timeout 0.2, one call 0.05, report; a busy test machine


def assert_lost(robot, since):
    """The driver says within the bound that the device is gone, and shows no old values."""
    robot.wait_state(DeviceState.UNCONFIGURED, 3.0)
    robot.wait_for(lambda: robot.first_error is not None, 3.0, 'ERROR in the diagnostics')
    assert np.isnan(robot.state.measured).all()
    assert np.isnan(robot.state.applied).all()
    assert robot.state.faults & Fault.COMMUNICATION
    assert robot.driver.poll() is None
    robot.wait_for(lambda: robot.lifecycle() == 'inactive', 3.0, 'lifecycle inactive')
    return robot.first_error - since


def assert_stays_down(robot, since, duration=1.0):
    """A stream that goes on moves nothing."""
    robot.target = np.array([BAR, 0.0, 0.0])
    robot.spin(duration)
    assert robot.state.device_state == DeviceState.INACTIVE
    assert robot.raised_after(since) == []


@pytest.mark.injection('nidaq', 1, 8)
def test_emulator_killed_and_restarted(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    working = robot.driver_load()
    since = robot.hit('emulator', signal.SIGKILL)
    took = assert_lost(robot, since)
    note_time('device killed: ERROR in diagnostics', took)
    assert took < LOST_WITHIN
    assert robot.driver_load() < 1.25 * working, SEARCHING
    restart = time.monotonic()
    robot.emulator.wait()
    robot.emulator.stderr.close()
    robot.start_emulator()
    robot.wait_state(DeviceState.INACTIVE, 15.0)
    assert_stays_down(robot, restart)
    robot.target = None
    # A helper process of the driver may still be starting; then it says so.
    robot.wait_for(lambda: robot.clear().success, 10.0, 'cleared')
    robot.wait_state(DeviceState.ACTIVE)
    robot.move(0.5 * BAR, 0.0, 0.0)


@pytest.mark.injection('nidaq', 2, 22)
def test_device_that_stops_answering_vents_by_its_relay(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.inject('silent')
    took = robot.wait_event('relay', since, 2.0, lambda e: not e['closed'])
    assert rises(robot, since)['unanswered'] > 0
    note_time('device silent: supply cut by the relay', took)
    assert took < 0.3
    vented = robot.wait_event('vented', since, 2.0)
    note_time('device silent: pressures below 2 %', vented)
    assert vented < 0.8
    reported = assert_lost(robot, since)
    note_time('device silent: ERROR in diagnostics', reported)
    assert reported < LOST_WITHIN
    robot.target = None
    robot.inject('none')
    robot.wait_state(DeviceState.INACTIVE, 10.0)
    assert_stays_down(robot, since)


@pytest.mark.injection('nidaq', 2)
def test_frozen_device_does_not_replay_commands(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.hit('emulator', signal.SIGSTOP)
    reported = assert_lost(robot, since)
    note_time('device frozen: ERROR in diagnostics', reported)
    assert reported < LOST_WITHIN
    robot.spin(1.0)
    robot.emulator.send_signal(signal.SIGCONT)
    robot.wait_state(DeviceState.INACTIVE, 10.0)
    assert_stays_down(robot, since)
    drops = [e for e in robot.events('relay', since) if not e['closed']]
    assert drops and drops[0]['t'] - since < 0.3
    assert not any(e['closed'] for e in robot.events('relay', drops[0]['t'] + 1e-6))


@pytest.mark.injection('nidaq', 26)
@pytest.mark.parametrize(
    ('code', 'state'),
    [
        (-200279, DeviceState.FAULT),
        (-200284, DeviceState.UNCONFIGURED),
        (-201190, DeviceState.UNCONFIGURED),
    ],
)
def test_error_codes_of_the_card(robot, code, state):
    robot.move(0.8 * BAR, 0.0, 0.0)
    since = robot.inject('error', call='ReadAnalogF64', code=code)
    robot.wait_state(state, 3.0)
    robot.wait_for(lambda: str(code) in robot.values('device').get('reason', ''), 3.0, 'reason')
    assert robot.outputs_off(since, 2.0) < 0.6
    assert robot.driver.poll() is None
    if state is DeviceState.FAULT:
        assert robot.state.faults == Fault.DEVICE
        assert not robot.transition(ACTIVATE)


@pytest.mark.injection('nidaq', 16)
@pytest.mark.parametrize('voltage', [-0.5, 10.5])
def test_sensor_out_of_range(robot, note_time, voltage):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.inject('sensor', actuator='middle', voltage=voltage)
    robot.wait_state(DeviceState.FAULT, 2.0)
    off = robot.outputs_off(since, 2.0)
    note_time('sensor out of range: outputs off', off)
    assert off < 0.4
    assert robot.state.faults & Fault.SENSOR
    assert robot.state.flags[1] & Flag.SENSOR_FAULT
    assert not robot.state.flags[0] & Flag.SENSOR_FAULT
    assert np.isnan(robot.state.measured[1]) and not np.isnan(robot.state.measured[0])
    robot.wait_for(lambda: 'middle' in robot.values('device').get('reason', ''), 2.0, 'reason')


@pytest.mark.injection('nidaq', 18)
def test_regulator_stuck_open_is_dumped_by_the_relay(robot, note_time):
    robot.move(0.5 * BAR, 0.0, 0.0)
    since = robot.inject('stuck_open', actuator='right')
    robot.wait_state(DeviceState.FAULT, 2.0)
    assert robot.state.faults & (Fault.OVER_LIMIT | Fault.TRACKING)
    off = robot.wait_event('relay', since, 2.0, lambda e: not e['closed'])
    note_time('over-pressure: supply cut', off)
    assert off < 0.8
    vented = robot.wait_event('vented', since, 2.0)
    note_time('over-pressure: pressures below 2 %', vented)
    over = [s for _, s in robot.states if s.flags[2] & Flag.OVER_LIMIT]
    assert over


@pytest.mark.injection('nidaq', 17)
@pytest.mark.parametrize(
    ('fault', 'values', 'flag'),
    [('leak', {'rate': 50.0}, Flag.LEAK), ('supply', {'pressure': 0.2 * BAR}, Flag.LEAK)],
)
def test_lost_pressure_is_a_leak(robot, note_time, fault, values, flag):
    robot.move(BAR, 0.0, 0.0)
    since = robot.inject(fault, actuator='left', **values)
    robot.wait_state(DeviceState.FAULT, 2.0)
    robot.wait_for(lambda: robot.state.faults, 1.0)
    first = next(t for t, s in robot.states if t > since and s.faults)
    note_time(f'{fault}: found', first - since)
    assert first - since < 0.8
    assert robot.state.faults == Fault.TRACKING
    flagged = [s for t, s in robot.states if t > since and s.flags[0] & flag]
    assert flagged


@pytest.mark.injection('nidaq', 17)
def test_blocked_line(robot):
    robot.move(0.4 * BAR, 0.0, 0.0)
    since = robot.inject('blocked', actuator='left')
    robot.target = np.array([1.2 * BAR, 0.0, 0.0])
    robot.wait_state(DeviceState.FAULT, 3.0)
    assert robot.state.faults == Fault.TRACKING
    assert any(s.flags[0] & Flag.BLOCKED for t, s in robot.states if t > since)


@pytest.mark.injection('nidaq', 15)
def test_frozen_feedback(robot):
    robot.move(0.4 * BAR, 0.2 * BAR, 0.1 * BAR)
    for name in ('left', 'middle', 'right'):
        robot.inject('sensor_frozen', actuator=name)
    robot.wait_state(DeviceState.FAULT, 3.0)
    assert robot.state.faults & Fault.FROZEN


def test_unknown_fault_is_refused_with_the_names(robot):
    since = time.monotonic()
    robot.faults.publish(String(data='{"fault": "meteor"}'))
    robot.wait_event('fault_refused', since, 3.0, lambda e: 'stuck_open' in e['error'])
