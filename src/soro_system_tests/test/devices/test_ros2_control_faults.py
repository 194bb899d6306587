# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Controllers that keep their last command for ever, and what watches in their place."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import time

from channel_robots import ChannelRobot, controlled_robot
import numpy as np
import pytest
from rig_robots import again

from soro_driver.device import DeviceState, Fault
from soro_ros2_control_driver.device import OTHERS

pytestmark = pytest.mark.timeout(240)
BUSY = 1.0  # s that a busy computer may add
TTL = 0.3  # s, of the robot


def guard_of(driver):
    """Return the process id of the driver's guard."""
    tasks = Path(f'/proc/{driver.pid}/task').glob('*/children')
    found = [int(pid) for task in tasks for pid in task.read_text().split()]
    return next(p for p in found if b'.guard' in Path(f'/proc/{p}/cmdline').read_bytes())


@pytest.fixture(scope='module')
def processes(tmp_path_factory):
    folder = tmp_path_factory.mktemp('ros2_control')
    robot = ChannelRobot(folder, controlled_robot(folder), 0.02)
    try:
        yield robot.start()
    finally:
        robot.close()


@pytest.fixture
def robot(processes):
    processes.recover()
    return processes


def goal_of(robot):
    return robot.rest + 0.3 * np.array([a.maximum - a.minimum for a in robot.actuators])


def held(robot, since):
    """Return when the stream had ended, and the last command then."""
    after = robot.wait_event('commands', since, 5.0, lambda e: not e['stream'])
    return after, robot.events('output')[-1]['values']


@pytest.mark.parametrize('number', [signal.SIGKILL, signal.SIGSTOP])
def test_a_driver_that_is_killed_or_frozen_leaves_it_held(robot, number):
    # On the way: what is held is not the target, and not the last command either.
    again(robot, lambda: robot.go(robot.rest))
    begin, robot.target = time.monotonic(), robot.rest + 2.0 * (goal_of(robot) - robot.rest)
    robot.wait_event('output', begin, 5.0)
    since = robot.hit('driver', number)
    after, command = held(robot, since)
    assert after < TTL + 0.2 + BUSY
    last = robot.states[-1][1]
    assert np.all(np.abs(np.array(command) - last.applied) < 0.15)
    assert not np.allclose(command, robot.target)
    robot.spin(0.5)
    assert [e for e in robot.events('commands', since + after) if e['stream']] == []
    robot.target = None
    robot.driver.send_signal(signal.SIGCONT)


@pytest.mark.injection('ros2_control', 27)
def test_a_guard_that_dies_is_a_lost_device(robot):
    again(robot, lambda: robot.go(goal_of(robot)))
    os.kill(guard_of(robot.driver), signal.SIGKILL)
    robot.wait_state(DeviceState.UNCONFIGURED, 5.0)
    robot.target = goal_of(robot)
    robot.wait_state(DeviceState.INACTIVE, 20.0)
    robot.check_stays(0.5)


@pytest.mark.injection('ros2_control', 25)
def test_another_publisher_is_a_fault_until_it_is_gone(robot):
    again(robot, lambda: robot.go(goal_of(robot)))
    robot.inject('stranger')
    robot.wait_state(DeviceState.FAULT, 5.0)
    assert robot.state.faults & OTHERS
    robot.inject('none')
    robot.spin(0.5)
    robot.recover()
    again(robot, lambda: robot.go(goal_of(robot)))


@pytest.mark.injection('ros2_control', 20)
def test_a_blocked_joint_is_a_fault(robot):
    again(robot, lambda: robot.go(robot.rest))
    robot.inject('blocked', actuator='far_2')
    robot.target = goal_of(robot)
    robot.wait_state(DeviceState.FAULT, 5.0)
    assert robot.state.faults & Fault.TRACKING
