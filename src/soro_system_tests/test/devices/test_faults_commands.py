# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Wrong commands, lost commands, foreign commands, stop and emergency stop."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from robot_processes import ACTIVATE, BAR, CLEANUP, CONFIGURE, DEACTIVATE, NAMES

from soro_driver.device import DeviceState, Flag

RAMP = 2.0 * BAR  # rig.yaml: on_command_loss
STOPS, FLOOD = 5, 5  # 5 times two commands every 10 ms


@pytest.mark.injection('nidaq', 13)
@pytest.mark.parametrize(
    ('code', 'values', 'names', 'quantity'),
    [
        ('not_finite', (math.nan, 0.0, 0.0), NAMES, 1),
        ('not_finite', (math.inf, 0.0, 0.0), NAMES, 1),
        ('invalid_size', (0.5 * BAR, 0.0), NAMES[:2], 1),
        ('invalid_size', (0.5 * BAR, 0.0), NAMES, 1),
        ('unknown_name', (0.5 * BAR, 0.0, 0.0), ('left', 'middle', 'up'), 1),
        ('unknown_name', (0.5 * BAR, 0.0, 0.0), ('left', 'left', 'right'), 1),
        ('out_of_range', (0.5 * BAR, 0.0, 0.0), NAMES, 2),
        ('out_of_range', (1e308, 0.0, 0.0), NAMES, 1),
        ('out_of_range', (-0.5 * BAR, 0.0, 0.0), NAMES, 1),
    ],
)
def test_wrong_message_is_refused_whole_and_counted(robot, code, values, names, quantity):
    robot.move(0.5 * BAR, 0.2 * BAR, 0.0)
    key = f'rejected_{code}'
    before = int(robot.values('commands').get(key, '0'))
    since = robot.struck(f'{len(values)} values {values}, quantity {quantity}, names {names}')
    robot.send_until_counted(lambda: robot.send(values, names, quantity), key, before + 1)
    robot.spin(0.1)
    assert robot.state.device_state == DeviceState.ACTIVE
    assert robot.state.commanded.tolist() == [0.5 * BAR, 0.2 * BAR, 0.0]
    assert robot.events('output', since) == []


@pytest.mark.injection('nidaq', 14)
def test_commands_beyond_range_and_slew_are_limited_and_flagged(robot):
    robot.move(0.0, 0.0, 0.0)
    since = robot.struck('2 bar commanded, allowed are 1.5 bar and 4 bar/s')
    robot.target = np.array([2.0 * BAR, 0.0, 2.0 * BAR])
    robot.wait_for(lambda: robot.state.flags[0] & Flag.RATE_LIMITED, 2.0, 'rate limited')
    robot.wait_for(lambda: robot.state.applied[0] >= 1.499 * BAR, 3.0, 'full pressure')
    robot.spin(0.1)
    assert robot.state.applied.tolist() == pytest.approx([1.5 * BAR, 0.0, 1.5 * BAR], abs=10.0)
    assert robot.state.flags[0] == robot.state.flags[2] == Flag.AT_UPPER_LIMIT
    assert robot.state.commanded[0] == 2.0 * BAR
    outputs = [e for e in robot.events('output', since) if e['actuator'] == 'left']
    assert max(e['pressure'] for e in outputs) <= 1.5 * BAR + 10.0
    # 4 bar/s as the device saw it, over windows of 0.1 s (a late tick may step twice).
    for a in outputs:
        later = [b for b in outputs if 0.1 <= b['t'] - a['t'] < 0.12]
        for b in later:
            assert b['pressure'] - a['pressure'] <= 4.0 * BAR * 0.14


def test_coupled_limit(robot):
    robot.move(1.0 * BAR, 1.0 * BAR, 0.0)
    robot.target = np.array([1.5 * BAR, 1.5 * BAR, 0.0])
    robot.wait_for(lambda: robot.state.flags[0] & Flag.AT_UPPER_LIMIT, 2.0, 'limit')
    robot.spin(0.5)
    assert sum(robot.state.applied[:2]) == pytest.approx(2.4 * BAR, abs=20.0)


@pytest.mark.injection('nidaq', 12)
def test_source_gone(robot, note_time):
    robot.move(BAR, 0.0, 0.0)
    robot.spin(0.05)
    robot.target = None
    since = robot.struck('no more commands')
    robot.wait_state(DeviceState.SAFE, 1.0)
    first = robot.wait_event('output', since, 1.0)
    note_time('commands lost: safe action begins', first)
    assert first < 0.35
    vented = robot.wait_event('vented', since, 3.0)
    note_time('commands lost at 1 bar: pressures below 2 % (ramp 2 bar/s)', vented)
    assert vented < 0.2 + 0.5 + 0.6
    assert 'no command from' in robot.values('device')['reason']
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.SAFE
    assert robot.state.command_source == ''
    # The source is back with its old target: nothing moves.
    back = time.monotonic()
    robot.target = np.array([BAR, 0.0, 0.0])
    robot.spin(1.0)
    assert robot.state.device_state == DeviceState.SAFE
    assert robot.raised_after(back) == []
    robot.wait_count('rejected_not_active', 1)
    # Cleared by a person, and still streaming its old target: nothing moves.
    assert robot.clear().success
    robot.spin(1.0)
    assert robot.raised_after(back) == []
    # It starts where the robot is: it moves again, without a jump.
    robot.target = None
    robot.spin(0.3)
    robot.move(0.5 * BAR, 0.0, 0.0)
    rises = robot.raised_after(back)
    assert rises and rises[0]['pressure'] < 0.15 * BAR
    assert robot.state.device_state == DeviceState.ACTIVE


@pytest.mark.injection('nidaq', 25)
def test_second_source_is_refused(robot):
    robot.move(0.5 * BAR, 0.0, 0.0)
    before = int(robot.values('commands').get('rejected_not_in_control', '0'))
    robot.struck('another node sends commands')
    for _ in range(20):
        robot.send((0.0, 0.0, 0.0), source='/somebody/else')
        robot.spin(0.02)
    robot.wait_count('rejected_not_in_control', before + 15)
    assert robot.state.command_source == robot.source
    assert robot.state.applied[0] == pytest.approx(0.5 * BAR, abs=10.0)


def test_stop_against_a_running_stream(robot, note_time):
    robot.move(BAR, 0.0, 0.0)
    since = time.monotonic()
    reply = robot.stop()
    assert reply.success
    first = robot.wait_event('output', since, 1.0)
    note_time('driver/stop: safe action begins', first)
    assert robot.wait_event('vented', since, 3.0) < 1.3
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.SAFE
    assert robot.events('pressurised', since) == []


def test_no_stop_is_missed_under_a_flood_of_commands(robot, note_time):
    slowest = 0.0
    for _ in range(STOPS):
        robot.recover()
        robot.move(0.3 * BAR, 0.0, 0.0)

        def flood() -> None:
            for k in range(FLOOD):  # the stream itself, somebody else, and nonsense
                robot.send((0.3 * BAR, 0.0, 0.0), source='/somebody/else' if k % 2 else '')
                robot.send((math.nan, 0.0, 0.0))

        timer = robot.node.create_timer(0.01, flood)
        robot.spin(0.2)
        since = time.monotonic()
        assert robot.stop().success
        slowest = max(slowest, robot.wait_state(DeviceState.SAFE, 2.0))
        robot.spin(0.5)
        robot.node.destroy_timer(timer)
        assert robot.state.device_state == DeviceState.SAFE
        assert robot.raised_after(since + 0.1) == []
    note_time('driver/stop under 1000 commands a second: SAFE after the reply', slowest)


def press_and_check(robot, since, was_active=True):
    robot.struck('emergency stop')
    robot.press_estop(True)
    robot.wait_state(DeviceState.ESTOP, 2.0)
    robot.wait_for(lambda: robot.lifecycle() == 'inactive', 2.0, 'lifecycle inactive')
    assert not robot.transition(ACTIVATE)
    assert not robot.clear().success  # still pressed
    robot.press_estop(False)
    robot.spin(0.3)
    assert robot.state.device_state == DeviceState.ESTOP
    robot.target = np.array([BAR, 0.0, 0.0])
    # A helper process of the driver may still be starting after a lost device; it says so.
    robot.wait_for(lambda: robot.clear().success, 20.0, 'cleared')
    robot.spin(0.5)  # clearing moves nothing, whatever is streamed
    assert robot.raised_after(since) == []
    assert robot.state.device_state == (DeviceState.ACTIVE if was_active else DeviceState.INACTIVE)


@pytest.mark.injection('nidaq', 26)
def test_estop_while_active(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.struck('emergency stop')
    robot.press_estop(True)
    off = robot.outputs_off(since, 2.0)
    note_time('e-stop: outputs off', off)
    assert off < 0.15
    press_and_check(robot, since)


@pytest.mark.injection('nidaq', 26)
def test_estop_while_safe(robot):
    robot.move(BAR, 0.0, 0.0)
    robot.stop()
    since = time.monotonic()
    press_and_check(robot, since)
    assert robot.outputs_off(since, 1.0) < 0.3


@pytest.mark.injection('nidaq', 26)
def test_estop_while_inactive(robot):
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    press_and_check(robot, time.monotonic(), was_active=False)


@pytest.mark.injection('nidaq', 26)
def test_estop_while_in_fault(robot):
    robot.move(0.5 * BAR, 0.0, 0.0)
    since = robot.inject('sensor', actuator='left', voltage=11.0)
    robot.wait_state(DeviceState.FAULT, 2.0)
    robot.inject('none')
    press_and_check(robot, since)


@pytest.mark.injection('nidaq', 26)
def test_estop_while_the_device_is_away(robot):
    robot.move(0.5 * BAR, 0.0, 0.0)
    since = robot.inject('silent')
    robot.wait_state(DeviceState.UNCONFIGURED, 2.0)
    robot.press_estop(True)
    robot.wait_state(DeviceState.ESTOP, 3.0)
    robot.inject('none')
    robot.spin(1.0)
    press_and_check(robot, since)


@pytest.mark.injection('nidaq', 26)
def test_estop_while_unconfigured_and_configuring(robot):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    reply = robot.stop()
    assert reply.success and 'not configured' in reply.message
    robot.press_estop(True)
    robot.spin(0.3)
    robot.press_estop(False)
    robot.spin(0.3)
    since = time.monotonic()
    assert robot.transition(CONFIGURE)
    robot.wait_state(DeviceState.ESTOP, 2.0)
    press_and_check(robot, since, was_active=False)


def test_deactivating_vents(robot, note_time):
    robot.move(BAR, 0.0, 0.0)
    since = time.monotonic()
    assert robot.transition(DEACTIVATE)
    off = robot.outputs_off(since, 1.0)
    note_time('deactivated: outputs off', off)
    assert off < 0.3
    robot.spin(0.3)
    assert robot.raised_after(since) == []
    robot.wait_for(lambda: not np.isnan(robot.state.measured).any(), 1.0, 'states readable')
