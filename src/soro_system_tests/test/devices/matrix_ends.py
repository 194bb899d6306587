# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How a driver ends: with its device, without it, beside another one; what it says of the outputs.

Not collected by `make test`: `make reliability` runs them, or pytest with this file's name.
"""

from __future__ import annotations

import signal

from matrix_common import ANGLES, on
import pytest
from robot_processes import check_refused, DEACTIVATE, end, start_node

from soro_driver.device import DeviceState

UNSAFE = 'outputs not made safe from here'

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def robot(rig):
    return rig.robot


def ended(robot, name):
    """Wait for the end of a process; return its exit code and what it wrote."""
    process = getattr(robot, name)
    robot.wait_for(lambda: process.poll() is not None, 8.0, f'exit of the {name}')
    setattr(robot, name, None)
    return process.returncode, end(process)


@on('nidaq', 'dspace', 'stm32', 'can', *ANGLES, cells=[28])
def test_a_device_lost_for_good_makes_the_end_an_error(rig, robot):
    rig.drive()
    lost_then_told_to_end(robot)


@on('nidaq', 'dspace', 'can', cells=[28])
def test_so_does_one_lost_at_rest(rig, robot):
    """Not of the valve board: it has confirmed that it vents, and does that by itself."""
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    lost_then_told_to_end(robot)


def lost_then_told_to_end(robot):
    robot.wait_for(
        lambda: 'model' in robot.values('device'), 10.0, 'what the driver is connected to'
    )
    name = [robot.values('device')[key] for key in ('model', 'serial')]
    robot.hit('emulator', signal.SIGKILL)
    robot.wait_state(DeviceState.UNCONFIGURED, 10.0)
    robot.target = None
    robot.driver.send_signal(signal.SIGINT)
    code, text = ended(robot, 'driver')
    assert code == 1
    (line,) = [line for line in text.splitlines() if f'{UNSAFE}: {" ".join(name)}' in line]
    assert line.startswith('[ERROR]')


@on('dspace', 'stm32', 'can', *ANGLES, cells=[11])
@pytest.mark.parametrize('active', [True, False])
def test_told_to_end_together_nobody_raises_a_false_alarm(rig, robot, active):
    """As the launchers do it. The emulator hears it first, and serves until the driver is done."""
    if active:
        rig.drive()
    else:
        assert robot.transition(DEACTIVATE)
        robot.wait_state(DeviceState.INACTIVE)
    robot.struck('SIGINT to the emulator, then to the driver')
    robot.emulator.send_signal(signal.SIGINT)
    robot.spin(0.3)
    robot.target = None
    robot.driver.send_signal(signal.SIGINT)
    code, text = ended(robot, 'driver')
    assert code == 0 and UNSAFE not in text
    assert ended(robot, 'emulator')[0] == 0


@on('dspace', 'stm32', 'can', *ANGLES, cells=[25])
def test_a_second_driver_with_another_temporary_folder_is_refused(
    rig, robot, tmp_path, monkeypatch
):
    rig.drive()
    since = robot.struck('a second driver on the same device, TMPDIR another one')
    with monkeypatch.context() as other:
        for name in ('TMPDIR', 'XDG_RUNTIME_DIR', 'HOME'):
            other.setenv(name, str(tmp_path))
        second = start_node('soro_driver.node', robot.namespace, robot=robot.robot)
    check_refused(robot, second, since)


@on('dspace', cells=[34])
def test_a_pressure_that_somebody_else_drives(rig, robot):
    assert robot.transition(DEACTIVATE)
    robot.wait_state(DeviceState.INACTIVE)
    robot.spin(2.5)  # vented: no alarm
    assert robot.state.faults == 0
    robot.inject('sensor', actuator='left', voltage=3.0)
    robot.wait_state(DeviceState.FAULT, 6.0)
    robot.wait_for(
        lambda: 'stays up although' in robot.values('device')['reason'], 5.0, 'the reason'
    )
