# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated haptic device from end to end: CAN wire, sensors, plant process, hand."""

import json
import socket
import threading
import time

import numpy as np
import pytest

from soro_can_driver.board import BoardState
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.device import CanEmulator, read_hand
from soro_driver.device import Flag
from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_emulation.injected_fault import parse_fault
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

pytestmark = pytest.mark.timeout(900)  # the plant compiles its model at its first start
STILL = 5e-5  # m, rad: what a handle at rest moves by


class Rig:
    def __init__(self):
        robot = read_robot_file(find_robot_file('haptic_5dof'))
        settings = read_driver_settings(robot)
        with socket.socket() as probe:
            probe.bind(('127.0.0.1', 0))
            port = probe.getsockname()[1]
        self.endpoint = Endpoint(port, None)
        properties = read_emulator_settings(robot, 'can').device
        context = EmulatorContext(
            robot, settings.section, properties, self.endpoint, 7, EventLog('')
        )
        self.emulator = CanEmulator(context, time.monotonic())
        self.emulator.start()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.tick, daemon=True)
        self.thread.start()
        section = read_driver_settings(robot).section
        self.device = CanDevice.from_section(section, robot, self.endpoint)

    def tick(self):
        while not self.stopping.wait(0.002):
            self.emulator.advance(time.monotonic())

    def close(self):
        self.device.close()
        self.stopping.set()
        self.thread.join()
        self.emulator.stop()

    def drive(self, values, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            reading = self.device.read()
            if reading.tripped:  # this computer was busy for longer than the time to live
                self.device.arm()
            self.device.write(np.asarray(values, float), 0.2)
            self.stopping.wait(0.002)
        return reading

    def settle(self, values, patience=30.0):
        """Drive until the handle has come to rest."""
        end = time.monotonic() + patience
        places = [self.emulator._plant.state.place]
        while len(places) < 10 or np.ptp(places[-10:], axis=0).max() > STILL:
            assert time.monotonic() < end, places[-10:]
            self.drive(values, 0.03)
            places.append(self.emulator._plant.state.place)

    def mean_counts(self, values, seconds=0.6):
        self.drive(values, 0.4)
        self.settle(values)
        end, counts = time.monotonic() + seconds, []
        while time.monotonic() < end:
            counts.append(self.drive(values, 0.01).sensors.raw)
        return np.mean(counts, axis=0)


@pytest.fixture(scope='module')
def rig():
    made = Rig()
    made.device.open()
    before = made.device.read().sensors
    assert (before.flags & Flag.SENSOR_FAULT).all(), 'there is no body whose strips they could be'
    end = time.monotonic() + 800.0
    while not made.emulator._plant.ready:
        assert not made.emulator._plant.error, made.emulator._plant.error
        assert time.monotonic() < end
        made.stopping.wait(0.1)
    yield made
    made.close()


def test_sensors_feel_motors_and_hand(rig):
    rig.device.open()
    rig.device.arm()
    rest = rig.mean_counts(np.zeros(6))
    assert np.all((rest > 500.0) & (rest < 3000.0))
    # The motor of leg 1 bends its strip; the sign is that of the published tripods' symmetry.
    turned = rig.mean_counts(np.array([0.3, 0.0, 0.0, 0.0, 0.0, 0.0]))
    assert np.abs(turned - rest).max() > 20.0
    rig.emulator.inject('hand', {'force': [1.0, 0.0, 0.0, 0.0, 0.0]})
    pushed = rig.mean_counts(np.zeros(6))
    assert np.abs(pushed - rest).max() > 20.0
    np.testing.assert_allclose(rig.emulator.actuation(time.monotonic()), 0.0, atol=1e-3)
    rig.emulator.inject('hand', {})
    np.testing.assert_allclose(rig.mean_counts(np.zeros(6)), rest, atol=5.0)


def test_a_board_that_has_disarmed_itself_is_noticed_without_its_emergency(rig):
    rig.device.open()
    rig.device.arm()
    assert not rig.drive(np.zeros(6), 0.1).tripped
    with rig.emulator._lock:
        rig.emulator._board.state = BoardState.SAFE  # as if the frame that says so were lost
    end = time.monotonic() + 2.0
    while not rig.device.read().tripped:
        assert time.monotonic() < end
        rig.stopping.wait(0.002)


@pytest.mark.injection('can', 16)
def test_sensor_faults(rig):
    rig.device.open()
    rig.device.arm()
    fault, values = parse_fault(json.dumps({'fault': 'flex', 'sensor': 'flex_3', 'kind': 'open'}))
    rig.emulator.inject(fault, values)
    reading = rig.drive(np.zeros(6), 0.1)
    faulty = (reading.sensors.flags & Flag.SENSOR_FAULT) != 0
    np.testing.assert_array_equal(faulty, np.arange(6) == 2)
    rig.emulator.inject('none', {})
    assert not np.any(rig.drive(np.zeros(6), 0.1).sensors.flags)


def test_wrong_faults_are_refused(rig):
    with pytest.raises(UnknownName, match='fault'):
        rig.emulator.inject('leak', {})
    with pytest.raises(UnknownName, match='sensor'):
        rig.emulator.inject('flex', {'sensor': 'flex_9'})
    with pytest.raises(InvalidInput, match='five numbers'):
        read_hand({'place': [1.0]})
    with pytest.raises(InvalidInput, match='stiffness'):
        read_hand({'stiffness': [-1.0, 0.0, 0.0, 0.0, 0.0]})


def test_a_hand_follows_its_way_and_a_wrench_presses_beside_it(rig):
    rig.device.open()
    rig.device.arm()
    way = [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.3, 0.01, 0.0, 0.0, 0.0, 0.0]]
    stiff = [1e5, 0.0, 0.0, 0.0, 0.0]
    rig.emulator.inject('hand', {'way': way, 'stiffness': stiff})
    rig.drive(np.zeros(6), 0.8)
    state = rig.emulator._plant.state
    assert state.place[0] == pytest.approx(0.01, abs=2e-4)
    # The device is a spring of some 240 N/m (docs/robots/haptic_5dof.md).
    assert 1.5 < state.wrench[0] < 3.5
    rig.emulator.inject('hand', {})
    rig.emulator.load(np.array([0.0, 0.0, -1.0, 0.0, 0.0, 0.0]))
    rig.drive(np.zeros(6), 0.5)
    state = rig.emulator._plant.state
    np.testing.assert_allclose(state.wrench, [0.0, 0.0, -1.0, 0.0, 0.0, 0.0], atol=1e-3)
    assert state.place[2] < -0.003
    rig.emulator.load(np.zeros(6))
    with pytest.raises(InvalidInput, match='increase'):
        read_hand({'way': way[::-1]})


def test_without_a_plant_the_sensors_show_open_instead_of_a_shape_of_before(rig):
    rig.device.open()
    rig.device.arm()
    assert not rig.drive(np.zeros(6), 0.1).sensors.flags.any()
    rig.emulator._plant._process.kill()  # the last test of this rig
    end = time.monotonic() + 5.0
    while not rig.emulator.error:
        assert time.monotonic() < end
        rig.drive(np.zeros(6), 0.01)
    assert 'has ended' in rig.emulator.error
    assert np.all(rig.drive(np.zeros(6), 0.2).sensors.flags & Flag.SENSOR_FAULT)
