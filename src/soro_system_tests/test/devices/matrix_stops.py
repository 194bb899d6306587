# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What goes on after a stop, and emergency stops of every sender: nothing moves, none is lost.

Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import time

from matrix_common import ANGLES, BUSY, device_safe, on
import numpy as np
from other_nodes import button, COMMANDS, flood, QUALITIES, RELEASES
import pytest
from robot_processes import ACTIVATE, CLEANUP, CONFIGURE, DEACTIVATE, end
from std_srvs.srv import Trigger

from soro_driver.device import DeviceState
from soro_driver.loop.law import CLOCK_STEP

pytestmark = pytest.mark.timeout(240)
EVERY = 'nidaq', 'dspace', 'stm32', 'can', *ANGLES
STOP_WITHIN = 0.1  # s, under a flood; plus what a busy computer adds
PRESSES = 50
SETTLED = 3.0  # s, in which every safe action is over


@pytest.fixture
def robot(rig):
    return rig.robot


def here(robot):
    """Return where the robot is: what a polite controller begins with."""
    state = robot.state
    return np.where(np.isfinite(state.measured), state.measured, np.nan_to_num(state.applied))


def nothing_moves(rig, since, seconds, settled=SETTLED):
    """Watch a stopped robot for a while."""
    robot = rig.robot
    robot.spin(max(0.0, since + settled - time.monotonic()))
    calm = time.monotonic()
    robot.spin(seconds)
    assert rig.rearmed(calm) == []
    heard = [s for t, s in robot.states if t > since]
    assert {s.device_state for s in heard} & {DeviceState.ACTIVE} == set(), robot.describe()
    assert {s.command_source for s in heard if s.device_state == DeviceState.SAFE} <= {''}


# Who goes on -----------------------------------------------------------------------------------


def stopped_with(rig, period, send):
    """Stop a driven robot while something is sent every `period`; return when, and the timer."""
    robot = rig.robot
    rig.drive()
    robot.target = None if period else robot.target
    timer = robot.node.create_timer(period, send) if period else None
    assert robot.stop().success
    robot.wait_state(DeviceState.SAFE)
    return robot.struck(f'driver/stop; commands go on every {period or 0.02:.3g} s'), timer


@on(*EVERY, cells=[29])
@pytest.mark.parametrize('pauses', [0.1, 0.9, 1.1, 3.0])  # of the command timeout
def test_commands_that_go_on_after_a_stop_move_nothing(rig, robot, pauses):
    period = pauses * rig.pause / 1.2
    since, timer = stopped_with(rig, period, lambda: robot.send(here(robot)))
    try:
        nothing_moves(rig, since, max(2.0, 2.2 * period))
        assert not robot.transition(ACTIVATE)
        assert robot.transition(DEACTIVATE)
        assert not robot.transition(ACTIVATE)  # a stop is not forgotten by that
        nothing_moves(rig, time.monotonic(), 2.0, settled=1.0)
    finally:
        robot.node.destroy_timer(timer)


@on(*EVERY, cells=[30])
@pytest.mark.parametrize(
    'between', ['nan', 'old', 'short', 0.9 * CLOCK_STEP, 1.1 * CLOCK_STEP, 0.15, 0.4, 3600.0]
)
def test_refused_messages_and_stamps_that_step_back_are_no_pause(rig, robot, between):
    begun = time.monotonic()

    def send():
        phase = time.monotonic() - begun
        values = here(robot)
        if isinstance(between, float) or phase % 1.0 > 0.4:  # valid again and again
            return robot.send(values)
        if between == 'nan':
            return robot.send([math.nan, *values[1:]])
        if between == 'short':
            return robot.send(values[:-1], list(rig.names[:-1]))
        robot.wall_step = -7
        robot.send(values)
        robot.wall_step = 0
        return None

    rig.drive()
    if isinstance(between, float):
        step_stamps(robot, between)
    try:
        since, timer = stopped_with(rig, 0.02, send)
        nothing_moves(rig, since, 2.0)
    finally:
        robot.node.destroy_timer(timer)
        step_stamps(robot, 0.0)


def step_stamps(robot, step):
    """Have the stamps of commands be that much older [s]."""
    clock = robot.node.get_clock()
    if not hasattr(robot, 'clock_now'):
        robot.clock_now = clock.now
    from rclpy.duration import Duration

    begin = robot.clock_now
    clock.now = begin if not step else lambda: begin() - Duration(seconds=step)


@on(*EVERY, cells=[29])
def test_what_goes_on_after_lost_commands_moves_nothing(rig, robot):
    rig.drive()
    robot.target = None
    since = robot.struck('no more commands, and then again')
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 8.0, 'lost commands')
    since = time.monotonic()
    timer = robot.node.create_timer(0.02, lambda: robot.send(here(robot)))
    try:
        nothing_moves(rig, since, 2.0)
    finally:
        robot.node.destroy_timer(timer)


@on('nidaq', 'can', cells=[29])
def test_a_stop_before_the_driver_is_configured_is_kept(rig, robot):
    assert robot.transition(DEACTIVATE)
    assert robot.transition(CLEANUP)
    since = robot.struck('driver/stop while nothing is configured')
    assert robot.stop().success
    assert robot.transition(CONFIGURE)
    assert not robot.transition(ACTIVATE)
    robot.spin(0.5)
    assert rig.rearmed(since) == []
    robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared')
    robot.wait_for(lambda: robot.transition(ACTIVATE), 30.0, 'activated')


@on('nidaq', 'can', cells=[29])
def test_nobody_else_ends_control_and_no_release_ends_a_stop(rig, robot):
    rig.drive()
    robot.struck('commands without actuators, of somebody else and after a stop')
    for _ in range(20):
        robot.send((), (), source='/somebody/else')
        robot.spin(0.02)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    robot.target = None

    def send():
        robot.send((), (), source='/somebody/else')
        robot.send((), ())
        robot.send(here(robot))

    since, timer = stopped_with(rig, 0.05, send)
    try:
        nothing_moves(rig, since, 2.0)
    finally:
        robot.node.destroy_timer(timer)


@on('nidaq', 'dspace', 'can', cells=[32])
@pytest.mark.parametrize('pause', [0.0, 5e-4])
@pytest.mark.parametrize('by', ['stop', 'estop'])
def test_no_flood_of_commands_delays_a_stop(rig, robot, note_time, by, pause):
    rest = [float(x) for x in here(robot)]
    quantity = [rig.quantity] * len(rig.names)
    values = {'names': list(rig.names), 'quantity': quantity, 'values': rest, 'pause': pause}
    with flood(robot.namespace, 1, COMMANDS, **values) as begin:
        rig.drive()
        begin()
        robot.spin(1.0)
        assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
        before, speed = robot.state.stops, f'one every {pause:g} s' if pause else 'full speed'
        since = robot.struck(f'{by} under a flood of commands, {speed}')
        if by == 'stop':
            future = robot.stop_client.call_async(Trigger.Request())
            robot.wait_for(future.done, 5.0, 'an answer')
        else:
            robot.press_estop(True)
        wanted = DeviceState.SAFE if by == 'stop' else DeviceState.ESTOP

        def stopped(state):
            return state.device_state == wanted and state.stops != before

        robot.wait_for(lambda: stopped(robot.state), 5.0, 'a stop')
        heard = next(t for t, s in robot.states if t > since and stopped(s)) - since
        note_time(f'{rig.names[0]}: {by} under a flood, {speed}', heard)
        assert heard < STOP_WITHIN + BUSY


# The emergency stop ----------------------------------------------------------------------------


@on('nidaq', 'can', cells=[31])
@pytest.mark.parametrize('quality', QUALITIES)
def test_a_press_of_every_quality_of_service_is_heard(rig, robot, quality):
    with button(robot.namespace, quality) as node:
        rig.drive()
        node.say('release')  # it is there now
        since = robot.struck(f'emergency stop, {quality}')
        node.say('press')
        device_safe(robot, since, 0.2)
        robot.wait_state(DeviceState.ESTOP)
        reply = robot.release_estop()
        assert not reply.success and 'still there' in reply.message
        node.vanish()
        robot.spin(1.0)
        refused = robot.clear()
        assert not refused.success and 'release_estop' in refused.message
    assert robot.state.device_state == DeviceState.ESTOP
    robot.wait_for(lambda: robot.release_estop().success, 30.0, 'a sender that is gone')
    assert robot.state.device_state == DeviceState.ESTOP
    robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared')
    robot.wait_state(DeviceState.ACTIVE)


@on('nidaq', 'can', cells=[31])
def test_a_button_that_is_released_needs_no_service(rig, robot):
    with button(robot.namespace) as node, button(robot.namespace) as other:
        rig.drive()
        node.say('press')
        robot.struck('emergency stop by two buttons')
        robot.wait_state(DeviceState.ESTOP)
        other.say('press')
        robot.spin(0.3)
        other.say('release')
        robot.spin(0.3)
        assert not robot.clear().success  # the first one still presses
        node.say('release')
        robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared')


@on('nidaq', 'can', cells=[31])
def test_no_flood_of_releases_swallows_a_press(rig, robot, note_time):
    slowest = 0.0
    with flood(robot.namespace, 2, RELEASES, pause=5e-4) as begin:
        begin()
        for _ in range(PRESSES):
            robot.wait_for(lambda: robot.state.device_state == DeviceState.ACTIVE, 30.0, 'armed')
            robot.struck('emergency stop under 4000 releases a second of two nodes')
            robot.press_estop(True)
            robot.press_estop(False)
            slowest = max(slowest, robot.wait_state(DeviceState.ESTOP, STOP_WITHIN + BUSY))
            robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared')
    note_time(f'{rig.names[0]}: e-stop under a flood of releases', slowest)


@on('nidaq', 'dspace', 'can', cells=[33])
@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize('goes', [True, False])
def test_a_restarted_driver_remembers_the_emergency_stop(rig, robot, number, goes):
    with button(robot.namespace) as node:
        rig.drive()
        node.say('press')
        robot.wait_state(DeviceState.ESTOP)
        robot.target = None
        if goes:
            node.vanish()
        robot.spin(0.3)  # it goes to the disk
        since = robot.hit('driver', number)
        robot.wait_for(lambda: robot.driver.poll() is not None, 20.0, 'end')
        end(robot.driver)
        robot.spin(0.3)
        robot.start_driver()
        robot.wait_state(DeviceState.ESTOP, 60.0)
        robot.target = here(robot)
        robot.spin(2.0)
        assert robot.state.device_state == DeviceState.ESTOP
        assert rig.rearmed(since) == []
        assert not robot.clear().success and not robot.transition(ACTIVATE)
        if not goes:
            assert not robot.release_estop().success
            node.say('release')
            robot.spin(0.3)
    robot.wait_for(lambda: robot.release_estop().success, 30.0, 'released')
    robot.wait_for(lambda: robot.clear().success, 60.0, 'cleared')
    robot.wait_state(DeviceState.ACTIVE)


def soro(*words):
    """Run a verb as a person does."""
    return subprocess.run(
        [sys.executable, '-m', 'soro_cli.main', *words],
        capture_output=True,
        text=True,
        timeout=60.0,
        check=False,
    )


@on('nidaq', 'can', cells=[31])
def test_the_verbs_press_release_and_clear(rig, robot):
    rig.drive()
    name = robot.namespace.strip('/')
    robot.struck('soro estop')
    pressed = soro('estop', '-n', name)
    assert pressed.returncode == 0, pressed.stdout + pressed.stderr
    robot.wait_state(DeviceState.ESTOP)
    refused = soro('stop', '--clear', '-n', name)
    assert refused.returncode == 1 and 'soro estop --release' in refused.stderr + refused.stdout
    robot.wait_for(
        lambda: soro('estop', '--release', '-n', name).returncode == 0, 60.0, 'released'
    )
    assert robot.state.device_state == DeviceState.ESTOP
    robot.wait_for(lambda: soro('stop', '--clear', '-n', name).returncode == 0, 60.0, 'cleared')
    robot.wait_state(DeviceState.ACTIVE)
