# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Emergency stop in every state, a long stall, and length sensors that fail.

Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

import signal

from matrix_common import ANGLES, BUSY, device_safe, down, on
import numpy as np
import pytest
from robot_processes import DEACTIVATE
from valve_robot import quick_file, ValveRobot

from soro_driver.device import DeviceState, Fault, Flag

pytestmark = pytest.mark.timeout(240)

# What brings each device to FAULT, and keeps it there once it is repaired.
FAULTS = {
    'dspace': ('sensor', {'actuator': 'left', 'voltage': 11.0}),
    'stm32': ('supply', {'pressure': 1e4}),
    'can': ('overcurrent', {'actuator': 'motor_1'}),
    'cia402': ('error', {'actuator': 'near_1'}),
    'dynamixel': ('overload', {'actuator': 'near_1'}),
    'ros2_control': ('stranger', {}),
}
LOST = 10.0  # s, the valve board is given up after 3 s


@pytest.fixture
def robot(rig):
    return rig.robot


def device_of(request):
    return request.node.callspec.params['rig_'].partition('-')[0]


def press_and_clear(rig, active):
    """Press, release and clear: nothing moves by any of it, whatever is streamed.

    An armed valve board is another matter: it brings vented muscles to their lengths at rest.
    """
    robot = rig.robot
    since = robot.struck('emergency stop')
    robot.press_estop(True)
    robot.wait_state(DeviceState.ESTOP, 5.0)
    robot.wait_for(lambda: robot.lifecycle() == 'inactive', 5.0, 'lifecycle inactive')
    assert not robot.clear().success  # still pressed
    robot.press_estop(False)
    robot.target = rig.limits[:, 1]  # not where the robot is
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ESTOP
    assert rig.rearmed(since + 0.5) == []
    robot.wait_for(lambda: robot.clear().success, 30.0, 'cleared')
    robot.spin(0.5)
    assert robot.raised_after(since + 0.5) == []
    armed = [e['t'] for e in robot.events('state', since + 0.5) if e['state'] == 'ARMED']
    valves = [e for e in robot.events('valve', since + 0.5) if e['t'] < min(armed, default=np.inf)]
    assert [e for e in valves if e['action'] == 'inflate' and e['on']] == []
    after = DeviceState.ACTIVE if active else DeviceState.INACTIVE
    assert robot.state.device_state == after, robot.describe()
    assert robot.state.command_source == ''


@on('stm32', cells=[26])
def test_estop_while_inactive(rig, robot):
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    press_and_clear(rig, active=False)


@on('dspace', 'stm32', 'can', *ANGLES, cells=[26])
def test_estop_while_safe(rig, robot):
    rig.drive()
    assert robot.stop().success
    robot.wait_for(lambda: robot.state.device_state == DeviceState.SAFE, 5.0, 'SAFE')
    press_and_clear(rig, active=True)
    robot.target = None
    robot.spin(rig.pause)  # clearing forgets what a fault has stopped, not what a person has


@on('dspace', 'stm32', 'can', *ANGLES, cells=[26])
def test_estop_while_in_fault(rig, robot, request):
    fault, values = FAULTS[device_of(request)]
    rig.drive()
    robot.inject(fault, **values)
    robot.wait_state(DeviceState.FAULT, 8.0)
    robot.inject('none')
    press_and_clear(rig, active=True)


@on('dspace', 'stm32', 'can', *ANGLES, cells=[26])
def test_estop_while_the_device_is_away(rig, robot):
    rig.drive()
    robot.inject('silent')
    robot.wait_state(DeviceState.UNCONFIGURED, LOST)
    robot.press_estop(True)
    robot.wait_state(DeviceState.ESTOP, 5.0)
    robot.inject('none')
    robot.spin(1.0)
    press_and_clear(rig, active=True)


@on('can', *ANGLES, cells=[23])
def test_frozen_driver_moves_nothing_when_it_wakes_up(rig, robot):
    rig.drive()
    since = robot.hit('driver', signal.SIGSTOP)
    device_safe(robot, since, rig.watchdog)
    robot.spin(0.5)
    robot.driver.send_signal(signal.SIGCONT)
    down(robot)
    robot.spin(1.0)  # the stream goes on
    assert robot.state.device_state != DeviceState.ACTIVE
    assert rig.rearmed(since + rig.watchdog + BUSY) == []


# Length sensors ------------------------------------------------------------------------------


@pytest.fixture(scope='module')
def sensed_(tmp_path_factory):
    folder = tmp_path_factory.mktemp('sensed')
    file = quick_file(
        folder,
        ('length_sensors: false', 'length_sensors: true'),
        (
            'supervision: {sensor_for: 500 ms}',
            'supervision: {sensor_for: 500 ms, frozen_for: 2 s}',
        ),
    )
    made = ValveRobot(folder, file)
    try:
        yield made.start()
    finally:
        made.close()


@pytest.fixture
def sensed(sensed_):
    sensed_.recover()
    return sensed_


def bent(robot):
    """Bend the robot a little and keep streaming."""
    robot.bend(4e-3)
    robot.wait_for(
        lambda: (
            robot.state.device_state == DeviceState.ACTIVE
            and robot.state.command_source == robot.source
        ),
        8.0,
        'in control',
    )
    robot.spin(1.0)


@pytest.mark.injection('stm32', 16)
def test_a_length_sensor_that_is_open_is_flagged_and_trips(sensed):
    bent(sensed)
    since = sensed.inject('sensor', actuator='muscle_2_1')
    sensed.wait_state(DeviceState.FAULT, 8.0)
    device_safe(sensed, since, 3.0)
    flagged = [np.array(s.flags) & Flag.SENSOR_FAULT for t, s in sensed.states if t > since]
    assert any(f[3] for f in flagged)
    assert not any(np.delete(f, 3).any() for f in flagged)


@pytest.mark.injection('stm32', 15)
def test_length_sensors_that_stand_still_are_found(sensed):
    bent(sensed)
    since = sensed.inject('sensor_frozen')
    sensed.wait_state(DeviceState.FAULT, 10.0)
    assert sensed.state.faults & Fault.FROZEN
    device_safe(sensed, since, 6.0)
