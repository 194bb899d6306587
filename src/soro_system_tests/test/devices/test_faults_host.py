# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The computer fails: the driver killed, frozen, interrupted, started twice."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import time

from fault_counts import rises
import numpy as np
import pytest
from robot_processes import BAR, BENCH, check_refused, end, RobotProcesses, says, start_node

from soro_driver.device import DeviceState, Fault
from soro_rigs.process_table import ProcessTable


def kill_driver(robot, *others: int) -> float:
    """Kill the driver, and other processes first; return when."""
    for pid in others:
        os.kill(pid, signal.SIGKILL)
    since = robot.hit('driver', signal.SIGKILL)
    robot.target = None
    return since


@pytest.mark.injection('nidaq', 10)
def test_driver_killed(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = kill_driver(robot)
    off = robot.outputs_off(since, 2.0)
    note_time('driver killed: outputs off', off)
    assert off < 0.3
    vented = robot.wait_event('vented', since, 2.0)
    note_time('driver killed: pressures below 2 %', vented)
    assert vented < 0.9


@pytest.mark.injection('nidaq', 10)
def test_driver_and_supervisor_killed_leaves_the_relay(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = kill_driver(robot, *ProcessTable().children(robot.driver.pid))
    cut = robot.wait_event('relay', since, 2.0, lambda e: not e['closed'])
    note_time('driver and supervisor killed: supply cut by the relay', cut)
    assert cut < 0.3
    assert robot.wait_event('vented', since, 2.0) < 0.9


@pytest.fixture
def without_heartbeat(tmp_path):
    """Return a robot whose cards have no heartbeat line, so no relay."""
    lines = BENCH.read_text(encoding='utf-8').splitlines(keepends=True)
    file = tmp_path / 'rig.yaml'
    kept = [x for x in lines if 'heartbeat:' not in x and 'relay:' not in x]
    file.write_text(''.join(kept), encoding='utf-8')
    assert len(kept) == len(lines) - 2
    robot = RobotProcesses(tmp_path, file)
    try:
        yield robot.start()
    finally:
        robot.close()


@pytest.mark.injection('nidaq', 10)
def test_without_relay_the_supervisor_clears_the_outputs(without_heartbeat, note_time):
    robot = without_heartbeat
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = kill_driver(robot)
    off = robot.outputs_off(since, 3.0)
    note_time('driver killed, no relay: outputs cleared by the supervisor', off)
    assert off < 0.5
    assert [e['pressure'] for e in robot.events('output')[-2:]] == [0.0, 0.0]


@pytest.mark.injection('nidaq', 23)
def test_frozen_driver_is_cleared_by_the_supervisor_and_wakes_up_in_fault(
    without_heartbeat, note_time
):
    robot = without_heartbeat
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.hit('driver', signal.SIGSTOP)
    off = robot.outputs_off(since, 3.0)
    note_time('driver frozen, no relay: outputs cleared by the supervisor', off)
    assert off < 0.7
    robot.spin(0.5)
    robot.driver.send_signal(signal.SIGCONT)

    def latched() -> bool:
        return robot.state.device_state == DeviceState.FAULT and bool(robot.state.faults)

    robot.wait_for(latched, 5.0, 'latched fault')
    assert robot.state.faults & Fault.STALL
    robot.spin(1.0)  # the stream goes on
    assert robot.raised_after(since + off) == []


@pytest.mark.injection('nidaq', 11)
@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_driver_with_vented_outputs(robot, note_time, number):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.hit('driver', number)
    robot.wait_for(lambda: robot.driver.poll() is not None, 5.0, 'exit')
    ended = time.monotonic() - since
    note_time(f'{number.name}: driver has ended', ended)
    assert robot.driver.returncode == 0
    assert ended < 2.0
    cleared = [e for e in robot.events('output', since) if e['pressure'] == 0.0]
    assert {e['actuator'] for e in cleared} == {'left', 'middle'}
    assert max(e['t'] for e in cleared) - since < ended
    robot.target = None


def test_stopped_together_the_driver_vents_first(robot):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = time.monotonic()
    robot.emulator.send_signal(signal.SIGINT)
    robot.driver.send_signal(signal.SIGINT)
    robot.wait_for(lambda: robot.driver.poll() is not None, 5.0, 'exit')
    robot.wait_for(lambda: robot.emulator.poll() is not None, 5.0, 'exit')
    assert robot.driver.returncode == robot.emulator.returncode == 0
    cleared = [e for e in robot.events('output', since) if e['pressure'] == 0.0]
    assert {e['actuator'] for e in cleared} == {'left', 'middle'}
    assert robot.events('stopped', since)[0]['t'] > cleared[-1]['t']
    robot.target = None


def test_repeated_signals_do_not_cut_the_venting_short(robot):
    robot.move(BAR, 0.0, 0.0)
    since = time.monotonic()
    for _ in range(5):
        robot.driver.send_signal(signal.SIGINT)
    robot.wait_for(lambda: robot.driver.poll() is not None, 5.0, 'exit')
    assert robot.driver.returncode == 0
    assert robot.outputs_off(since, 1.0) < 0.5
    robot.target = None


@pytest.mark.injection('nidaq', 11)
def test_signal_while_the_device_does_not_answer(robot):
    robot.move(BAR, 0.0, 0.0)
    silent = robot.inject('silent')
    since = robot.hit('driver', signal.SIGINT)
    robot.wait_for(lambda: robot.driver.poll() is not None, 5.0, 'exit')
    assert time.monotonic() - since < 2.0
    assert robot.driver.returncode == 1  # it cannot know what the relay has done
    assert rises(robot, silent)['unanswered'] > 0
    assert robot.events('output', since) == []  # not one call came through: it was the relay
    assert robot.wait_event('vented', since, 2.0) < 1.0
    robot.target = None


@pytest.mark.injection('nidaq', 25)
def test_second_driver_is_refused_and_the_first_goes_on(robot):
    robot.move(0.5 * BAR, 0.0, 0.0)
    since = robot.struck('a second driver on the same cards')
    second = start_node('soro_driver.node', robot.namespace, robot=robot.robot, autostart=True)
    # The first driver keeps its device: no fault, no reset of the card by the second one.
    check_refused(robot, second, since)
    assert not any(np.isnan(s.measured).any() for t, s in robot.states if t > since)


def test_use_sim_time_is_refused_with_real_hardware(robot):
    node = start_node(
        'soro_driver.node', '/sim', robot=robot.robot, use_sim_time=True, use_emulator=False
    )
    try:
        says(robot, node, 'use_sim_time', 'real hardware runs in real time')
    finally:
        end(node)


@pytest.mark.injection('nidaq', 26)
def test_missing_ni_driver_is_said_plainly(robot):
    node = start_node('soro_driver.node', '/local', robot=robot.robot, use_emulator=False)
    try:
        says(robot, node, 'Install the NI-DAQmx driver on this computer')
        assert node.poll() is None
    finally:
        end(node)


def test_two_robots_at_once(robot, tmp_path_factory: pytest.TempPathFactory):
    other = RobotProcesses(Path(tmp_path_factory.mktemp('other')))
    try:
        other.start()
        robot.companions, other.companions = [other], [robot]
        robot.move(0.6 * BAR, 0.0, 0.0)
        other.move(0.0, 0.4 * BAR, 0.0)
        robot.spin(0.2)
        assert np.argmax(robot.state.measured) == 0 and np.argmax(other.state.measured) == 1
        other.emulator.kill()
        other.wait_state(DeviceState.UNCONFIGURED, 3.0)
        robot.spin(0.3)
        assert robot.state.device_state == DeviceState.ACTIVE
    finally:
        robot.companions.clear()
        other.close()
