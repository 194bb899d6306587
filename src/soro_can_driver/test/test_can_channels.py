# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One to thirty-two motors, with or without flex inputs: version 1.1."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from recording_wire import RecordingWire
from six_motors import any_motors, RATIO

from soro_can_driver.board import BoardState, EmergencyCode
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.frame import Control
from soro_can_driver.protocol import Command, HostHeartbeat
from soro_can_driver.transport import CanTransport
from soro_can_driver.wiring import bus_load, read_wiring
from soro_driver.device import DeviceError
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section

BOARDS = ((1, 0), (2, 2), (3, 4), (6, 3), (7, 6), (9, 0), (32, 0), (12, 32), (32, 32))
COUNT = np.radians(0.1)  # rad of a motor


class Rig:
    """A transport and a board in virtual time."""

    def __init__(self, motors, sensors, board=None):
        self.motors, self.sensors = motors, sensors
        self.raw = 100.0 + 10.0 * np.arange(sensors)
        made = MotorBoard(0xABCD, 77, lambda _: self.raw, 100.0, *(board or (motors, sensors)))
        self.device = CanDevice(any_motors(motors, sensors))
        self.transport = CanTransport(self.device.wiring, 1.0, 5.0)
        self.device.transport = self.transport
        self.transport.bus = self.wire = RecordingWire(made, 100.0)
        self.board = made

    def armed(self):
        self.device.open()
        self.device.arm()
        return self

    def go(self, goal, cycles=60):
        t, here = self.transport, self.transport.angles.copy()
        for k in range(1, cycles + 1):
            self.device.write(here + (goal - here) * min(1.0, k / 30), 0.1)
            t._take(self.wire.now)
            self.wire.send(HostHeartbeat(t._session))


@pytest.mark.parametrize(('motors', 'sensors'), BOARDS)
def test_every_motor_is_driven_and_every_sensor_read(motors, sensors):
    rig = Rig(motors, sensors).armed()
    goal = 0.3 * np.sin(1.0 + np.arange(motors))
    rig.go(goal)
    np.testing.assert_allclose(rig.board.motors.angle * COUNT / RATIO, goal, atol=2e-3)
    np.testing.assert_allclose(rig.transport.angles, goal, atol=2e-3)
    np.testing.assert_allclose(rig.transport.applied, goal, atol=COUNT / RATIO)
    np.testing.assert_array_equal(rig.transport.flex, rig.raw)
    assert not any(rig.transport.flex_flags)
    assert rig.transport.stale == 0
    cycle = [line for line in rig.wire.log if line.startswith('> 10')]
    assert {int(line[2:5], 16) for line in cycle} == set(range(0x101, 0x101 + -(-motors // 3)))


@pytest.mark.parametrize(('motors', 'sensors'), BOARDS)
def test_a_board_that_hears_nothing_more_holds_then_coasts(motors, sensors):
    rig = Rig(motors, sensors).armed()
    rig.go(np.full(motors, 0.1))
    rig.wire.pass_time(0.11)
    assert rig.board.state is BoardState.HOLDING
    rig.wire.pass_time(0.3)
    assert rig.board.state is BoardState.SAFE
    rig.transport._take(rig.wire.now)
    assert rig.device._tripped()


@pytest.mark.parametrize('group', range(4))
def test_a_set_point_that_lacks_a_group_moves_no_motor(group):
    rig = Rig(10, 0).armed()
    rig.go(np.zeros(10), 3)
    rig.wire.lost = lambda frame: isinstance(frame, Command) and frame.group == group
    rig.go(np.full(10, 0.05), 5)
    assert rig.board.torn == 5
    assert not rig.board.target.any()
    rig.wire.lost = lambda frame: False
    rig.go(np.full(10, 0.05))
    np.testing.assert_allclose(rig.transport.angles, 0.05, atol=2e-3)


def test_a_group_that_the_board_does_not_have_moves_nothing():
    rig = Rig(4, 0).armed()
    rig.go(np.zeros(4), 3)
    control, seq = Control.from_byte(0x11), rig.transport._setpoints.newest + 1
    rig.wire.send(*(Command(g, seq, control, (40, 40, 40)) for g in range(3)))
    rig.wire.send(rig.transport._sync())
    assert rig.board.torn == 1
    assert not rig.board.target.any()


def test_the_last_of_32_motors_is_named():
    rig = Rig(32, 0).armed()
    rig.board.fail(EmergencyCode.TRACKING, 1 << 31)
    rig.wire.pass_time(0.002)
    rig.transport._take(rig.wire.now)
    assert rig.device._reason().startswith('motor_32: ')


@pytest.mark.parametrize('motor', [0, 8, 31])
def test_limits_hold_for_every_motor(motor):
    rig = Rig(32, 0).armed()
    goal = np.zeros(32)
    goal[motor] = 1.4  # the range ends at 1 rad
    rig.go(goal, 120)
    assert rig.transport.angles[motor] == pytest.approx(1.0, abs=3e-3)
    assert all(rig.transport.limited)


@pytest.mark.parametrize(
    ('robot', 'board', 'words'),
    [
        ((7, 0), (6, 6), '6 motors'),
        ((6, 0), (7, 0), '7 motors'),
        ((7, 2), (7, 3), '3 flex inputs'),
        ((6, 3), (6, 6), r'speaks protocol 1\.0'),
    ],
)
def test_another_board_is_refused(robot, board, words):
    with pytest.raises(DeviceError, match=words):
        Rig(*robot, board).device.open()


def section(count, rate=500, **keys):
    actuators = tuple(Actuator(f'm{i}', 'angle', -1.0, 1.0, 3.0, 0.0) for i in range(count))
    data = {'interface': 'socketcan', 'channel': 'can0', 'ratio': 6.42, **keys}
    robot = SimpleNamespace(actuators=actuators, structure={}, file='')
    robot.foreign_section = lambda name: Section({'rate': f'{rate} Hz'}, 'driver')
    return Section(data, 'driver.can'), robot


def test_what_does_not_fit_the_bus_is_refused():
    # docs/hardware/can.md: six motors at 500 Hz take 57 % of 1 Mbit/s.
    assert bus_load(6, 6, 500.0) == pytest.approx(0.57e6, rel=0.01)
    for count, rate in ((1, 500), (6, 500), (9, 500), (32, 150)):
        assert len(read_wiring(*section(count, rate)).motors) == count
    for count, keys, path in (
        (33, {}, 'ratio'),
        (32, {}, 'bitrate'),
        (6, {'bitrate': 500_000}, 'bitrate'),
        (7, {'framing': 'fd'}, 'framing'),
    ):
        with pytest.raises(RobotFileError) as error:
            read_wiring(*section(count, **keys))
        assert error.value.path == f'driver.can.{path}'
