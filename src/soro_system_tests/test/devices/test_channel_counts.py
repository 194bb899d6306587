# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Benches of other sizes by robot file only: armed, commanded, stopped, and with the link lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import functools
from pathlib import Path

from channel_robots import (
    chain_robot,
    ChannelRobot,
    controlled_robot,
    drive_robot,
    four_muscles,
    mixed_robot,
    muscle_robot,
    pressure_robot,
    servo_robot,
    tendon_robot,
)
import numpy as np
import pytest
from rig_robots import again
from test_faults_device import assert_lost
from valve_robot import SILENCE

from soro_driver.device import DeviceState

BUSY = 1.0  # s that a busy computer may add

pytestmark = pytest.mark.timeout(240)


@dataclass(frozen=True)
class Case:
    """A robot and where it goes.

    Attributes
    ----------
    make : callable
        Writes the robot file into a folder.
    part : float
        Of the range, how far the first actuator goes from rest.
    tolerance : float
        SI, of what is measured there.
    fault : str
        What loses the link.
    silence : float
        Within which the device is safe by itself then [s].
    on : tuple
        Event of the device's log, key and value of a device that could move.
    """

    make: Callable[[Path], Path]
    part: float
    tolerance: float
    fault: str
    silence: float
    on: tuple[str, str, object] = ('state', 'state', 'ARMED')


CASES = {
    'dspace-2': Case(functools.partial(pressure_robot, count=2), 0.4, 8e3, 'unplug', 0.4),
    'dspace-5': Case(functools.partial(pressure_robot, count=5), 0.4, 8e3, 'unplug', 0.4),
    'can-2': Case(chain_robot, 0.2, 0.02, 'silent', 0.2),
    'can-2-firmware': Case(
        functools.partial(chain_robot, firmware='host'), 0.2, 0.02, 'silent', 0.2
    ),
    'stm32-12': Case(muscle_robot, 0.1, 1e-3, 'unplug', SILENCE + 1.0),
    'stm32-12-firmware': Case(
        functools.partial(muscle_robot, firmware='host'), 0.1, 1e-3, 'unplug', SILENCE + 1.0
    ),
    'stm32-8': Case(four_muscles, 0.1, 1e-3, 'unplug', SILENCE + 1.0),
    'stm32-24': Case(
        functools.partial(muscle_robot, modules=4), 0.1, 1e-3, 'unplug', SILENCE + 1.0
    ),
    'nidaq-4': Case(mixed_robot, 0.3, 8e3, 'silent', 0.4, ('relay', 'closed', True)),
    'can-6': Case(tendon_robot, 0.3, 0.02, 'silent', 0.2),
    'can-9': Case(functools.partial(tendon_robot, count=9), 0.3, 0.02, 'silent', 0.2),
    'dynamixel-6': Case(servo_robot, 0.3, 0.02, 'unplug', 0.4),
    'cia402-6': Case(drive_robot, 0.3, 0.02, 'silent', 0.2),
    'ros2_control-6': Case(
        controlled_robot, 0.3, 0.02, 'silent', 0.8, ('commands', 'stream', True)
    ),
}


def shape_of(robot: ChannelRobot) -> np.ndarray:
    """Return how far each actuator goes; three muscles around a backbone keep their mean."""
    count = len(robot.actuators)
    if robot.actuators[0].quantity == 'length' and count % 3 == 0:
        return np.tile([1.0, -0.5, -0.5], count // 3)
    return np.linspace(1.0, 0.2, count)


@pytest.fixture
def robot(case, tmp_path):
    """Return the robot of a case, ACTIVE and at rest."""
    robot = ChannelRobot(tmp_path, case.make(tmp_path), case.tolerance)
    try:
        yield robot.start()
    finally:
        robot.close()


@pytest.mark.parametrize('case', CASES.values(), ids=CASES)
def test_a_bench_of_another_size(case, robot):
    span = np.array([a.maximum - a.minimum for a in robot.actuators])
    goal = robot.rest + case.part * span * shape_of(robot)
    again(robot, lambda: robot.go(goal))
    robot.stop()
    robot.wait_for(lambda: robot.state.device_state != DeviceState.ACTIVE, 5.0, 'stopped')
    robot.check_stays(1.0)
    robot.recover()
    again(robot, lambda: robot.go(goal))
    since = robot.inject(case.fault)
    assert_lost(robot, since)
    event, key, value = case.on
    left = robot.wait_event(event, since, 5.0, lambda e: e[key] != value)
    assert left < case.silence + BUSY
    robot.target = goal  # a stream that goes on moves nothing
    robot.inject('plug' if case.fault == 'unplug' else 'none')
    robot.wait_for(lambda: robot.state.device_state != DeviceState.UNCONFIGURED, 15.0, 'connected')
    robot.spin(1.0)
    # A CAN board that was silent has been sent the emergency stop meanwhile.
    assert robot.state.device_state in (DeviceState.INACTIVE, DeviceState.FAULT)
    assert [e for e in robot.events(event, since) if e[key] == value] == []
