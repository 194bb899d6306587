# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The same injections for every device, where no test of the device itself has them.

Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

import math
import signal
import time

from fault_counts import check_garbage, ENOUGH, fresh, rises, unreadable
import numpy as np
import pytest
from robot_processes import CLEANUP, CONFIGURE, DEACTIVATE, end, start_node
from test_faults_commands import press_and_check
from test_faults_device import assert_lost

from soro_driver.device import DeviceState, Flag

BUSY = 1.5  # s that a busy computer may add
NOISE = 200, 400, 801  # bytes or frames
HOUR = 3600

pytestmark = pytest.mark.timeout(240)


FIRMWARE = ('dspace', 'stm32', 'can')  # devices that have it
COLUMN = 'dspace-firmware'
ANGLES = 'cia402', 'dynamixel', 'ros2_control'  # drives of the arm of six tendons


def on(*devices, cells, firmware=True):
    """Run a test on the rigs of these devices, for these injections; on reference firmware too.

    That of the real-time computer has its own column in the matrix.
    """
    rigs = [(d, d) for d in devices]
    hosts = [d for d in devices if firmware and d in FIRMWARE]
    rigs += [(COLUMN if d == 'dspace' else d, f'{d}-firmware') for d in hosts]
    each = [pytest.param(rig, marks=pytest.mark.injection(d, *cells)) for d, rig in rigs]
    return pytest.mark.parametrize('rig_', each, indirect=True)


@pytest.fixture
def robot(rig):
    return rig.robot


def down(robot):
    """Wait until the driver does not drive any more."""
    loose = (DeviceState.FAULT, DeviceState.UNCONFIGURED, DeviceState.INACTIVE, DeviceState.SAFE)
    robot.wait_for(lambda: robot.state.device_state in loose, 10.0, 'a driver that has stopped')


def device_safe(robot, since, within):
    """Wait until the device's own log says that it is safe; return after how long."""
    from fault_evidence import safe_after

    robot.wait_for(lambda: safe_after(robot.events(), since) is not None, 10.0, 'a safe device')
    took = safe_after(robot.events(), since)
    assert took < within + BUSY
    return took


# The wire ------------------------------------------------------------------------------------


@on('can', *ANGLES, cells=[1])
def test_device_killed(rig, robot):
    rig.drive()
    since = robot.hit('emulator', signal.SIGKILL)
    assert assert_lost(robot, since) < 0.6 + BUSY
    robot.emulator.wait()
    robot.emulator.stderr.close()
    robot.start_emulator()
    robot.wait_state(DeviceState.INACTIVE, 30.0)
    robot.spin(1.0)  # the stream goes on
    assert rig.rearmed(since) == []


@on('stm32', 'can', 'cia402', 'dynamixel', cells=[2])
def test_frozen_device_does_not_replay(rig, robot):
    rig.drive()
    since = robot.hit('emulator', signal.SIGSTOP)
    robot.wait_state(DeviceState.UNCONFIGURED, 10.0)
    robot.spin(1.0)
    robot.emulator.send_signal(signal.SIGCONT)
    device_safe(robot, since, 8.0)
    robot.spin(2.0)
    assert robot.state.device_state != DeviceState.ACTIVE
    assert rig.rearmed(since + 1.0) == []


@on('stm32', 'can', 'dynamixel', cells=[4])
def test_garbage_is_no_measurement(rig, robot):
    rig.drive()
    before, begin = np.array(robot.state.applied), time.monotonic()
    readable = unreadable(robot)
    for count in NOISE:
        robot.inject('garbage', count=count)
        robot.spin(0.2)
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    np.testing.assert_allclose(robot.state.applied, before, atol=0.02 * abs(before).max())
    check_garbage(robot, begin, readable, sum(NOISE), rig.pieces)


@on('stm32', 'dynamixel', cells=[3])
def test_nothing_but_damaged_frames(rig, robot):
    rig.drive()
    since = robot.inject('link', direction='both', corruption=1.0)
    down(robot)
    device_safe(robot, since, rig.watchdog)
    robot.inject('none')
    robot.spin(2.0)
    assert robot.state.device_state != DeviceState.ACTIVE
    assert rig.rearmed(since + rig.watchdog + BUSY) == []


@on('stm32', 'can', 'cia402', 'dynamixel', cells=[22])
def test_device_that_does_not_read(rig, robot):
    rig.drive()
    since = robot.inject('deaf')
    down(robot)
    device_safe(robot, since, rig.watchdog + 1.0)
    assert fresh(robot, 'loop')  # it went on reporting
    assert rises(robot, since)['unread'] > ENOUGH
    robot.inject('none')
    robot.spin(1.0)
    assert robot.state.device_state != DeviceState.ACTIVE


# The device ----------------------------------------------------------------------------------


@on('stm32', 'can', cells=[9], firmware=False)  # it has the one that it has
def test_another_protocol_is_refused(rig, robot, said):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    robot.inject('protocol', major=2)
    assert not robot.transition(CONFIGURE)
    words = 'speaks protocol 2, this driver 1'
    robot.wait_for(lambda: any(words in line for line in said), 10.0, words)
    robot.inject('none')
    robot.wait_for(lambda: robot.transition(CONFIGURE), 10.0, 'configured')


@on('dspace', cells=[17])
@pytest.mark.parametrize(
    ('fault', 'values', 'flag'),
    [
        ('leak', {'rate': 50.0}, Flag.LEAK),
        ('supply', {'pressure': 2e4}, Flag.LEAK),
        ('blocked', {}, Flag.BLOCKED),
    ],
)
def test_pressure_that_does_not_follow(rig, robot, fault, values, flag):
    rig.drive()
    since = robot.inject(fault, actuator='left', **values)
    if flag == Flag.BLOCKED:
        robot.target = np.array([1.5e5, 0.4e5, 0.0])
    robot.wait_state(DeviceState.FAULT, 5.0)
    device_safe(robot, since, 1.0)
    assert any(s.flags[0] & flag for t, s in robot.states if t > since)


@on('stm32', cells=[17])
def test_supply_lost(rig, robot):
    rig.drive()
    since = robot.inject('supply', pressure=1e4)
    robot.wait_state(DeviceState.FAULT, 8.0)
    device_safe(robot, since, 1.0)
    robot.wait_for(
        lambda: (
            'supply'
            in robot.values('device').get('reason', '') + ' '.join(h.message for h in robot.heard)
        ),
        3.0,
        'supply',
    )


# The computer --------------------------------------------------------------------------------


@on('stm32', 'can', *ANGLES, cells=[11])
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_driver(rig, robot, number):
    rig.drive()
    since = robot.hit('driver', number)
    robot.wait_for(lambda: robot.driver.poll() is not None, 10.0, 'exit')
    ended = time.monotonic() - since
    assert robot.driver.returncode == 0
    assert ended < 2.0 + BUSY
    assert device_safe(robot, since, 0.5) < ended
    robot.target = None


@on('nidaq', 'dspace', 'stm32', 'can', *ANGLES, cells=[23])
def test_a_short_stall_is_counted_and_survived(rig, robot):
    rig.drive()
    values = fresh(robot, 'loop')
    before, period = int(values['missed']), 1.0 / float(values['rate_hz'])
    seen = len(robot.states)
    robot.wait_for(lambda: len(robot.states) > seen, 5.0, 'a state: a slot has just begun')
    # Of a loop that is as slow as the stall is long a slot is missed only where it begins late.
    robot.spin(0.75 * period)
    robot.hit('driver', signal.SIGSTOP)
    begin = time.monotonic()
    robot.spin(rig.stall)
    stalled = time.monotonic() - begin
    robot.driver.send_signal(signal.SIGCONT)
    missed = max(1, int(stalled / period) - 1)
    robot.wait_for(
        lambda: int(fresh(robot, 'loop')['missed']) - before >= missed, 5.0, f'{missed} slots'
    )
    robot.spin(1.0)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()


def send_of_before(robot):
    """Send a command by the clock that was not set: an hour older than the one before."""
    step, robot.wall_step = robot.wall_step, 0
    robot.send(robot.target)
    robot.wall_step = step


@on('nidaq', 'dspace', 'stm32', 'can', *ANGLES, cells=[24])
def test_steps_of_the_wall_clock(rig, robot):
    rig.drive()
    for step in (HOUR, -HOUR):
        robot.struck(f'wall clock of driver and sender steps to {step:+} s')
        rig.clock.write_text(str(step))
        robot.wall_step = step
        # Going back, only a driver whose own clock went back too takes such stamps.
        robot.wait_count('accepted', int(fresh(robot, 'commands')['accepted']) + 50)
        assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
        assert robot.state.command_source == robot.source
        if step > 0:
            old = int(fresh(robot, 'commands').get('rejected_out_of_range', '0'))
            robot.send_until_counted(
                lambda: send_of_before(robot), 'rejected_out_of_range', old + 1
            )


@on('stm32', 'can', *ANGLES, cells=[25])
def test_second_driver_is_refused(rig, robot, said):
    rig.drive()
    since = robot.struck('a second driver on the same device')
    second = start_node(
        'soro_driver.node', robot.namespace, robot=robot.robot, connect_timeout=1.0
    )
    try:
        robot.wait_for(lambda: any('in use' in line for line in said), 40.0, 'the refusal')
        robot.spin(0.5)
        assert second.poll() is None
        assert robot.events('state', since) == []  # the first one keeps its armed device
    finally:
        end(second)


# Commands ------------------------------------------------------------------------------------


@on('dspace', 'can', *ANGLES, cells=[12])
def test_source_gone(rig, robot):
    rig.drive()
    robot.target = None
    since = robot.struck('no more commands')
    robot.wait_for(
        lambda: robot.state.device_state in (DeviceState.SAFE, DeviceState.INACTIVE), 5.0, 'SAFE'
    )
    robot.spin(1.0)
    assert robot.state.command_source == ''
    back = time.monotonic()
    robot.target = np.full(len(rig.names), rig.limits[0, 1])  # not where the robot is
    robot.spin(1.0)
    assert robot.raised_after(back) == []
    assert robot.state.device_state != DeviceState.ACTIVE
    assert robot.state.command_source == '' and since < back


@on('dspace', 'stm32', 'can', *ANGLES, cells=[13])
def test_wrong_messages_are_refused_whole_and_counted(rig, robot):
    rig.drive()
    good, names = np.array(robot.target), list(rig.names)
    wrong = [
        ('not_finite', [math.nan, *good[1:]], names, rig.quantity),
        ('not_finite', [*good[:-1], math.inf], names, rig.quantity),
        ('out_of_range', [1e308, *good[1:]], names, rig.quantity),
        ('invalid_size', good[:-1], names[:-1], rig.quantity),
        ('unknown_name', good, [*names[:-1], 'nobody'], rig.quantity),
        ('out_of_range', good, names, rig.quantity + 1),
    ]
    robot.struck('NaN, infinity, 1e308, one value too few, a wrong name, a wrong quantity')
    for code, values, of, quantity in wrong:
        key = f'rejected_{code}'
        before = int(robot.values('commands').get(key, '0'))
        robot.send_until_counted(
            lambda v=values, n=of, q=quantity: robot.send(v, n, q), key, before + 1
        )
    assert robot.state.device_state == DeviceState.ACTIVE
    np.testing.assert_array_equal(robot.state.commanded, good)


@on('dspace', 'stm32', 'can', *ANGLES, cells=[14])
def test_commands_beyond_the_range_are_limited_and_flagged(rig, robot):
    rig.drive()
    low, high = rig.limits[0]
    target = np.array(robot.state.commanded)
    target[0] = high + 0.3 * (high - low)
    since = robot.struck(f'{target[0]:g} commanded, {high:g} allowed')
    robot.target = target
    robot.wait_for(lambda: robot.state.flags[0] & Flag.AT_UPPER_LIMIT, 5.0, 'flag')
    robot.spin(2.0)
    applied = np.array([s.applied[0] for t, s in robot.states if t > since])
    assert np.nanmax(applied) <= high + 1e-3 * (high - low)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()


@on('stm32', 'can', *ANGLES, cells=[26])
def test_estop_while_active(rig, robot):
    rig.drive()
    since = time.monotonic()
    robot.struck('emergency stop')
    robot.press_estop(True)
    device_safe(robot, since, 0.2)
    robot.wait_state(DeviceState.ESTOP, 5.0)
    assert not robot.clear().success
    robot.press_estop(False)
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ESTOP
    assert rig.rearmed(since + 0.5) == []


@on('dspace', 'can', *ANGLES, cells=[26])
def test_estop_while_inactive_and_unconfigured(rig, robot):
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    press_and_check(robot, time.monotonic(), was_active=False)
    robot.target = None
    assert robot.transition(CLEANUP)
    reply = robot.stop()
    assert reply.success and 'not configured' in reply.message
    assert robot.transition(CONFIGURE)
