# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The radio link loses, damages, repeats, delays, reorders frames; the valves' log is judged."""

from __future__ import annotations

import signal
import time

from fault_counts import check_damage_is_counted, check_parts, rises, unreadable
import numpy as np
import pytest
from valve_robot import quick_file, REST, SILENCE, ValveRobot

from soro_driver.device import DeviceState, Fault

PAST = {
    'loss': 'lost',
    'corruption': 'corrupted',
    'repetition': 'repeated',
    'reordering': 'reordered',
}


@pytest.fixture(scope='module')
def robot_(tmp_path_factory):
    """Return one robot for the whole module."""
    folder = tmp_path_factory.mktemp('valves')
    robot = ValveRobot(folder, quick_file(folder))
    try:
        yield robot.start()
    finally:
        robot.close()


def bend_and_return(robot) -> float:
    """Bend, and bend back; returns the time of the beginning. Both ends are reached."""
    since = time.monotonic()
    robot.bend(4e-3)
    robot.arrive()
    robot.bend(1e-3)
    robot.arrive()
    robot.spin(1.2)  # everything on its way is settled
    return since


def check_at_most_once(robot, since: float) -> None:
    """Every sequence number was carried out once, and valves were open for exactly that long."""
    numbers = [e['seq'] for e in robot.events('command', since)]
    assert len(numbers) == len(set(numbers)) > 1

    def carried_out() -> bool:
        # The last command may have come a moment ago: its valves wait for their turn.
        seconds, on = robot.valve_times(since)
        return not on and seconds == pytest.approx(robot.ordered(since), abs=1.1e-3)

    try:
        robot.wait_for(carried_out, 5.0, 'valves open for as long as ordered')
    except AssertionError as error:
        seconds, on = robot.valve_times(since)
        off = seconds - robot.ordered(since)
        wrong = [(int(i), int(k), off[i, k]) for i, k in np.argwhere(np.abs(off) > 1.1e-3)]
        raise AssertionError(f'muscle, action, too long by: {wrong}; still on: {on}') from error
    robot.check_interlock()


def test_a_good_link(robot):
    since = bend_and_return(robot)
    check_at_most_once(robot, since)
    assert robot.events('refused', since) == []
    assert robot.events('repeated', since) == []
    assert robot.state.device_state == DeviceState.ACTIVE


@pytest.mark.injection('stm32', 3, 5)
@pytest.mark.parametrize(
    'damage',
    [{'loss': 0.2}, {'corruption': 0.2}, {'loss': 0.1, 'repetition': 0.5, 'reordering': 0.1}],
    ids=['lost', 'damaged', 'everything'],
)
def test_lost_and_damaged_frames(robot, damage):
    before = unreadable(robot)
    begin = robot.inject('link', **damage)
    since = bend_and_return(robot)
    check_at_most_once(robot, since)
    assert robot.state.device_state == DeviceState.ACTIVE
    for line in ('to_device', 'to_host'):
        check_parts(robot, begin, line, **{PAST[fault]: part for fault, part in damage.items()})
    if 'corruption' in damage:
        check_damage_is_counted(robot, begin, before)


@pytest.mark.injection('stm32', 6)
def test_repeated_frames_act_once(robot):
    begin = robot.inject('link', direction='to_device', repetition=1.0)
    robot.spin(0.5)  # what was on its way is not repeated
    since = bend_and_return(robot)
    check_parts(robot, begin, 'to_device', repeated=1.0)
    # Frames still pass: the repetition of the last command may be under way.
    done = len(robot.events('command', since))
    robot.wait_for(lambda: len(robot.events('repeated', since)) >= done, 2.0, 'repetitions')
    check_at_most_once(robot, since)


@pytest.mark.injection('stm32', 7)
def test_reordered_frames(robot):
    begin = robot.inject('link', reordering=0.3)
    since = bend_and_return(robot)
    check_at_most_once(robot, since)
    assert robot.state.device_state == DeviceState.ACTIVE
    for line in ('to_device', 'to_host'):
        check_parts(robot, begin, line, reordered=0.3)
        assert rises(robot, begin)[f'{line}_overtaking'] > 0


@pytest.mark.injection('stm32', 7)
def test_late_commands_are_refused_and_planned_anew(robot):
    start = time.monotonic()
    robot.bend(5e-3)
    robot.wait_for(lambda: robot.state.applied[0] > 0.1005, 10.0, 'bending')
    # Longer than a command may take, shorter than the watchdog: then everything at once.
    since = robot.inject('link', direction='to_device', delay=0.42)
    robot.wait_event('refused', since, 5.0, lambda e: e['reason'] == 'STALE')
    robot.inject('none')
    late = time.monotonic()
    robot.arrive()
    robot.spin(1.0)
    assert [e for e in robot.events('refused', late + 1.5) if e['reason'] == 'STALE'] == []
    check_at_most_once(robot, start)


@pytest.mark.injection('stm32', 2)
def test_a_silent_link_loses_the_device(robot, note_time):
    robot.bend(4e-3)
    robot.arrive()
    since = robot.inject('silent')
    robot.wait_state(DeviceState.UNCONFIGURED, 8.0)
    lost = time.monotonic() - since
    note_time('valves: link silent: device lost', lost)
    robot.wait_event('vent', since, 3.0)
    assert lost < 5.0
    robot.inject('none')
    robot.spin(2.0)
    assert robot.state.device_state != DeviceState.ACTIVE  # nothing resumes by itself


@pytest.mark.injection('stm32', 1)
def test_unplugged(robot):
    robot.bend(4e-3)
    robot.arrive()
    since = robot.inject('unplug')
    robot.wait_state(DeviceState.UNCONFIGURED, 8.0)
    stopped = robot.wait_event('watchdog', since, 6.0)
    vent = robot.wait_event('vent', since, 8.0)
    assert SILENCE - 0.5 < stopped < SILENCE + 0.3
    assert vent == pytest.approx(stopped + 1.0, abs=0.1)
    robot.inject('plug')
    robot.wait_for(
        lambda: robot.state.device_state == DeviceState.INACTIVE, 15.0, 'connected again'
    )


@pytest.mark.injection('stm32', 8)
def test_reboot_while_inflating(robot, note_time):
    robot.bend(5e-3)
    robot.wait_for(lambda: robot.state.applied[0] > 0.1005, 10.0, 'bending')
    since = robot.inject('reboot')
    robot.wait_state(DeviceState.FAULT, 4.0)
    note_time('valves: reboot while inflating: FAULT', time.monotonic() - since)
    assert robot.state.faults & Fault.REBOOT
    begin = since - 1.0  # the board restarts before the injected fault is noted
    reboot = robot.wait_event('reboot', begin, 1.0) + begin
    robot.wait_event('vent', reboot, 3.0)
    robot.spin(1.0)
    after = [e for e in robot.events('valve', reboot) if e['action'] == 'inflate' and e['on']]
    assert after == []  # nothing was resumed, by the device or by the driver
    assert robot.state.device_state == DeviceState.FAULT
    robot.recover()
    robot.bend(2e-3)
    robot.arrive()
    robot.check_interlock()


@pytest.mark.injection('stm32', 10)
def test_driver_killed_while_inflating(robot, note_time):
    robot.bend(5e-3)
    robot.wait_for(lambda: robot.state.applied[0] > 0.1005, 10.0, 'bending')
    since = robot.hit('driver', signal.SIGKILL)
    robot.target = None
    closed = robot.wait_event('watchdog', since, 6.0)
    vent = robot.wait_event('vent', since, 8.0)
    note_time('valves: driver killed: inflation valves closed', closed)
    note_time('valves: driver killed: venting begins', vent)
    assert closed < SILENCE + 0.3
    assert vent == pytest.approx(closed + 1.0, abs=0.1)
    robot.wait_event('vented', since, 5.0)
    opened = [e for e in robot.events('valve', since + closed) if e['action'] == 'inflate']
    assert not [e for e in opened if e['on']]


@pytest.mark.injection('stm32', 23)
def test_driver_frozen(robot):
    robot.bend(5e-3)
    robot.wait_for(lambda: robot.state.applied[0] > 0.1005, 10.0, 'bending')
    since = robot.hit('driver', signal.SIGSTOP)
    robot.wait_event('watchdog', since, 6.0)
    robot.wait_event('vent', since, 8.0)
    robot.driver.send_signal(signal.SIGCONT)
    woken = time.monotonic()
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 5.0, 'not active')
    robot.spin(1.0)
    assert not [e for e in robot.events('valve', woken) if e['action'] == 'inflate' and e['on']]


@pytest.mark.injection('stm32', 12)
def test_commands_lost_ramps_to_rest(robot):
    robot.bend(4e-3)
    robot.arrive()
    robot.target = None
    robot.struck('no more commands')
    robot.wait_state(DeviceState.SAFE, 8.0)
    robot.wait_for(
        lambda: np.max(np.abs(np.array(robot.state.applied) - REST)) < 1e-3, 15.0, 'at rest'
    )
