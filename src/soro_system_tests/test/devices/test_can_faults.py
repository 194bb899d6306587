# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""CAN faults with driver and emulator as processes: what every board and bus has to survive.

The rest of the fault matrix is in `matrix_can.py` and `matrix_common.py` (`make reliability`).
"""

from __future__ import annotations

import signal

from can_robot import CanRobot
import pytest
from test_faults_device import assert_lost

from soro_can_driver.board import EmergencyCode
from soro_driver.device import DEVICE_FAULT_SHIFT, DeviceState, Fault

TTL = 0.2  # s
BUSY = 1.0  # s that a busy computer may add
FIRMWARE = 'serial: 5\n    firmware: '


@pytest.fixture(scope='module', params=['emulated', 'host'])
def robot_(request, tmp_path_factory):
    """Return one robot for the whole module, its board emulated, then the reference firmware."""
    robot = CanRobot(tmp_path_factory.mktemp('motors'), ('serial: 5', FIRMWARE + request.param))
    try:
        yield robot.start()
    finally:
        robot.close()


def disarmed(robot, since):
    """Wait until the board has left its armed state by its own log."""
    return robot.wait_event('state', since, 5.0, lambda e: e['state'] != 'ARMED')


def stays_down(robot, since):
    """Nothing was armed again although the stream goes on."""
    robot.spin(1.0)
    assert robot.state.device_state != DeviceState.ACTIVE
    assert [e for e in robot.events('state', since) if e['state'] == 'ARMED'] == []


@pytest.mark.injection('can', 10)
def test_driver_killed(robot):
    robot.turn(0.5)
    since = robot.hit('driver', signal.SIGKILL)
    robot.target = None
    assert disarmed(robot, since) < TTL + BUSY


@pytest.mark.injection('can', 2)
def test_silent_board(robot):
    robot.turn(0.5)
    since = robot.inject('silent')
    assert assert_lost(robot, since) < 0.25 + BUSY
    assert disarmed(robot, since) < 0.25 + TTL + BUSY
    robot.inject('none')
    # Asked to disarm and not answering, the board may have got the emergency stop too: latched.
    robot.wait_for(lambda: robot.state.device_state != DeviceState.UNCONFIGURED, 15.0, 'connected')
    stays_down(robot, since)


@pytest.mark.injection('can', 19)
def test_bus_off(robot):
    robot.turn(0.5)
    since = robot.inject('bus_off')
    robot.wait_state(DeviceState.FAULT, 5.0)
    assert robot.state.faults & (Fault.DEVICE | 1 << DEVICE_FAULT_SHIFT + EmergencyCode.BUS_OFF)
    assert disarmed(robot, since - 0.1) < BUSY
    stays_down(robot, since)


@pytest.mark.injection('can', 8)
def test_restarted_board_is_not_armed_again(robot):
    robot.turn(0.5)
    since = robot.inject('reboot')
    robot.wait_for(lambda: robot.state.device_state == DeviceState.FAULT, 5.0, 'FAULT')
    robot.wait_for(lambda: robot.state.faults & Fault.REBOOT, 5.0, 'a restart that is said')
    stays_down(robot, since)
    # A person's `clear_fault` gives the board session and limits anew.
    robot.target = None
    assert robot.clear().success
    robot.wait_state(DeviceState.ACTIVE, 5.0)
    robot.spin(0.5)  # a stream that a fault has ended is heard after a pause
    robot.turn(0.2)
