# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The cards' supervisor fails, and ends with its driver; nobody else drives the cards."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import subprocess
import time

import pytest
from robot_processes import (
    ACTIVATE,
    BAR,
    check_refused,
    CLEANUP,
    CONFIGURE,
    DEACTIVATE,
    end,
    read_more,
    RobotProcesses,
    start_node,
)
from test_faults_host import without_heartbeat  # noqa: F401 - a fixture

from soro_driver.device import DeviceState
from soro_nidaq_driver.device import NOT_WATCHED
from soro_rigs.process_table import ProcessTable

BUSY = 1.5  # s that a busy computer may add


def alive(pid):
    """Whether a process runs; who has ended and is not waited for does not."""
    try:
        return Path(f'/proc/{pid}/stat').read_text().rsplit(')', 1)[1].split()[0] != 'Z'
    except FileNotFoundError:
        return False


def supervisor_of(robot):
    """Return the one process that the driver has started."""
    (pid,) = ProcessTable().children(robot.driver.pid)
    return pid


def freeze(robot):
    """Stop the supervisor; return it and when."""
    pid = supervisor_of(robot)
    since = robot.struck('SIGSTOP to the supervisor')
    os.kill(pid, signal.SIGSTOP)
    return pid, since


@pytest.mark.injection('nidaq', 27)
def test_supervisor_frozen_while_armed(robot, note_time):
    robot.move(BAR, 0.5 * BAR, 0.0)
    pid, since = freeze(robot)
    off = robot.outputs_off(since, 5.0)
    note_time('supervisor frozen: outputs off, by the driver', off)
    assert off < 0.6 + BUSY
    robot.wait_state(DeviceState.FAULT)
    assert robot.state.faults & NOT_WATCHED
    robot.wait_for(lambda: 'has not answered' in robot.values('device')['reason'], 5.0, 'reason')
    robot.spin(1.0)  # the stream goes on
    assert robot.raised_after(since + off) == []
    assert not alive(pid) and supervisor_of(robot) != pid
    robot.target = None
    robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared: the new one answers')
    robot.wait_state(DeviceState.ACTIVE)


@pytest.mark.injection('nidaq', 27)
def test_supervisor_frozen_before_arming(robot):
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    pid, since = freeze(robot)
    assert not robot.transition(ACTIVATE)  # at once: it did not answer when it was asked
    robot.target = None
    robot.spin(1.0)
    assert robot.state.device_state in (DeviceState.INACTIVE, DeviceState.FAULT)
    assert robot.raised_after(since) == []
    robot.wait_for(lambda: not alive(pid), 5.0, 'the frozen one replaced')
    robot.wait_for(lambda: robot.clear().success, 10.0, 'cleared')
    robot.wait_for(lambda: robot.transition(ACTIVATE), 30.0, 'armed with another supervisor')


@pytest.mark.injection('nidaq', 27)
def test_supervisor_killed_while_armed(robot):
    robot.move(BAR, 0.5 * BAR, 0.0)
    since = robot.struck('SIGKILL to the supervisor')
    os.kill(supervisor_of(robot), signal.SIGKILL)
    assert robot.outputs_off(since, 5.0) < 0.2 + BUSY
    robot.wait_state(DeviceState.FAULT)
    robot.target = None


@pytest.mark.injection('nidaq', 11)
def test_a_driver_that_ends_takes_its_supervisor_along(robot):
    """At once with safe outputs, whatever the supervisor does: here it is frozen."""
    pid, _ = freeze(robot)
    robot.driver.send_signal(signal.SIGINT)
    robot.wait_for(lambda: robot.driver.poll() is not None, 5.0, 'exit')
    assert not alive(pid)
    assert robot.driver.returncode == 0


@pytest.mark.injection('nidaq', 11)
@pytest.mark.parametrize('state', ['inactive', 'active'])
def test_told_to_end_together_nobody_raises_a_false_alarm(robot, state):
    """As the launchers do it: SIGINT to all at once. The emulator comes first, and waits."""
    if state == 'inactive':
        assert robot.transition(DEACTIVATE)
        robot.wait_state(DeviceState.INACTIVE)
    pid = supervisor_of(robot)
    robot.emulator.send_signal(signal.SIGINT)
    robot.spin(0.3)
    robot.driver.send_signal(signal.SIGINT)
    for process in (robot.driver, robot.emulator):
        robot.wait_for(lambda p=process: p.poll() is not None, 6.0, 'exit')
        assert process.returncode == 0
    assert not alive(pid)
    assert 'not made safe' not in end(robot.driver)
    end(robot.emulator)
    robot.driver = robot.emulator = None


@pytest.mark.injection('nidaq', 25)
def test_a_second_driver_with_another_temporary_folder_is_refused(robot, tmp_path, monkeypatch):
    robot.move(0.5 * BAR, 0.0, 0.0)
    since = robot.struck('a second driver on the same cards, TMPDIR another one')
    with monkeypatch.context() as other:
        for name in ('TMPDIR', 'XDG_RUNTIME_DIR', 'HOME'):
            other.setenv(name, str(tmp_path))
        second = start_node('soro_driver.node', robot.namespace, robot=robot.robot)
    check_refused(robot, second, since)


def test_cards_that_an_orphan_still_clears_are_not_opened(tmp_path):
    """The driver was killed with an output on, the link is dead: a relaunch waits for the end."""
    robot = RobotProcesses(tmp_path)
    second = None
    try:
        robot.start()
        robot.move(BAR, 0.5 * BAR, 0.0)
        pid = supervisor_of(robot)
        robot.inject('silent')  # its resets do not come through
        robot.target = None
        robot.driver.kill()
        robot.driver.wait()
        killed = time.monotonic()
        second = subprocess.Popen(
            [*robot.driver.args, '-r', '__node:=driver'], stderr=subprocess.PIPE, text=True
        )
        said = ''

        def told():
            nonlocal said
            said += read_more(second)
            return f'(process {pid}) of a driver that has ended is still clearing' in said

        robot.wait_for(told, 10.0, 'the supervisor named')
        robot.wait_for(lambda: not alive(pid), 15.0, 'the supervisor gone')
        assert time.monotonic() - killed < 7.0 + BUSY
    finally:
        end(second)
        robot.close()


@pytest.mark.injection('nidaq', 34)
def test_a_pressure_that_somebody_else_drives(without_heartbeat):  # noqa: F811
    """The regulator opens by itself while the driver says that its outputs are safe."""
    robot = without_heartbeat
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    robot.spin(2.5)  # vented: no alarm
    assert robot.state.faults == 0
    robot.inject('stuck_open', actuator='left')
    robot.wait_state(DeviceState.FAULT, 6.0)


def test_configured_anew_it_is_watched_by_one_supervisor(robot):
    for _ in range(2):
        assert robot.transition(DEACTIVATE) and robot.transition(CLEANUP)
        assert ProcessTable().children(robot.driver.pid) == []
        assert robot.transition(CONFIGURE)
        assert robot.clear().success  # commands may have been lost meanwhile, which latches
        robot.wait_for(lambda: robot.transition(ACTIVATE), 30.0, 'active')
        supervisor_of(robot)
