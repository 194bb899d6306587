# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Simulated actuators: their motion against closed forms, their safe states, and the real link."""

import contextlib
import math
import time

import numpy as np
import pytest

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout
from soro_driver.endpoint import Endpoint
from soro_driver.settings import read_driver_settings, RELEASE, SIMULATED
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.event_log import EventLog
from soro_mechanics.actuator_models.motor import PositionDrive
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.section import Section
from soro_rigs.event_log import read_events
from soro_rigs.ros_session import wait_until
from soro_simulated_driver.device import SimulatedDevice
from soro_simulated_driver.emulator.bank import SimulatedBank
from soro_simulated_driver.emulator.device import SimulatedEmulator
from soro_simulated_driver.protocol import EXPIRED, Kind, Packet, State

LAG = 0.05
ACTUATORS = (
    Actuator('chamber', 'pressure', 0.0, 2e5, 1e9, 0.0),
    Actuator('motor', 'angle', -2.0, 2.0, 0.5, 0.0),
    Actuator('rod', 'length', 0.1, 0.5, 1e9, 0.2),
)
GOAL = np.array([1e5, 1.0, 0.4])


@pytest.fixture
def bank():
    axes = [PositionDrive(a.rest, a.rate, LAG) for a in ACTUATORS]
    made = SimulatedBank(ACTUATORS, axes, 77, lambda *a, **b: None, 0.0)
    made.receive(Packet(Kind.ARM, 1), 0.0)
    return made


def setpoints(values, ttl=10.0, sequence=2):
    return Packet(Kind.SETPOINTS, sequence, ttl, values=np.array(values))


def test_a_value_follows_as_its_lag_says(bank):
    bank.receive(setpoints(GOAL), 0.0)
    for k in range(1, 8):
        bank.advance(0.011 * k)
        reached = 1.0 - math.exp(-0.011 * k / LAG)
        assert bank.values[0] == pytest.approx(1e5 * reached)
        assert bank.values[2] == pytest.approx(0.2 + 0.2 * reached)


def test_a_value_changes_no_faster_than_its_rate(bank):
    bank.receive(setpoints(GOAL), 0.0)
    for k in range(1, 101):
        bank.advance(0.01 * k)
    assert bank.values[1] == pytest.approx(0.5)


def test_set_points_beyond_the_limits_are_cut(bank):
    bank.receive(setpoints([9e5, -9.0, 9.0]), 0.0)
    np.testing.assert_allclose(bank.targets, [2e5, -2.0, 0.5])


def test_without_set_points_pressure_goes_and_the_rest_stays(bank):
    bank.receive(setpoints(GOAL, ttl=0.2), 0.0)
    bank.advance(0.2)
    there = bank.values.copy()
    bank.advance(5.0)
    assert (bank.state, bank.report().flags) == (State.SAFE, EXPIRED)
    assert bank.values[0] == pytest.approx(0.0, abs=1e-3)
    assert not bank.pressurised
    np.testing.assert_allclose(bank.values[1:], there[1:])


def test_who_is_not_armed_moves_nothing(bank):
    bank.receive(Packet(Kind.DISARM, 3), 0.0)
    bank.receive(setpoints(GOAL), 0.1)
    bank.advance(3.0)
    np.testing.assert_allclose(bank.values, [0.0, 0.0, 0.2])
    # Nor does what comes late bring the actuators back: it takes a new ARM.
    assert bank.receive(setpoints(GOAL), 3.0).state is State.SAFE
    assert bank.receive(Packet(Kind.ARM, 4), 3.0).flags == 0


def test_a_wrong_number_of_set_points_is_not_acted_on(bank):
    bank.receive(setpoints([1e5]), 0.0)
    bank.advance(1.0)
    np.testing.assert_allclose(bank.values, [0.0, 0.0, 0.2])


def test_a_robot_without_a_driver_section_is_simulated():
    robot = read_robot_file(find_robot_file('stewart_gough'))
    settings = read_driver_settings(robot)
    # Rods that let go would fall: they hold.
    assert (settings.device, settings.safe_action) == (SIMULATED, RELEASE)
    with pytest.raises(RobotFileError, match=r'driver\.device.*use_emulator'):
        SimulatedDevice.from_section(settings.section, robot, None)


class Link:
    """Emulator and device of a robot of six rods, both real, and the log between them."""

    def __init__(self, folder):
        self.robot = read_robot_file(find_robot_file('stewart_gough'))
        self.rest = np.array([a.rest for a in self.robot.actuators])
        self.endpoint = Endpoint(0, folder / 'link' / 'simulated')
        self.log = folder / 'log.jsonl'
        context = EmulatorContext(
            self.robot,
            Section({}, 'driver.simulated', ''),
            Section({}, 'emulator.simulated', ''),
            self.endpoint,
            1,
            EventLog(str(self.log)),
        )
        self.emulator = SimulatedEmulator(context, time.monotonic())
        self.emulator.start()
        self.context = context
        self.device = SimulatedDevice(self.endpoint, len(self.rest))

    def armed(self):
        self.device.open()
        self.device.arm()

    def close(self):
        self.device.close()
        self.emulator.stop()


@pytest.fixture
def link(tmp_path):
    made = Link(tmp_path)
    yield made
    made.close()


def test_driver_and_actuators_over_the_real_socket(link):
    assert link.device.open().model == 'simulated actuators'
    with pytest.raises(DeviceError, match='without arming'):
        link.device.write(link.rest, 0.4)
    link.device.arm()
    goal = link.rest + 0.01
    link.device.write(goal, 5.0)
    wait_until(lambda: np.allclose(link.device.read().measured, goal, atol=1e-6))
    assert link.emulator.in_use(time.monotonic())
    np.testing.assert_allclose(link.device.read().applied, goal)
    link.device.make_safe()
    assert not link.emulator.in_use(time.monotonic())
    states = [e['state'] for e in read_events(link.log, 'state')]
    assert states == ['ARMED', 'SAFE']


def test_silence_of_the_driver_makes_safe_and_says_so(link):
    link.armed()
    link.device.write(link.rest + 0.05, 0.03)
    reading = wait_until(lambda: (r := link.device.read()).tripped and r)
    held = reading.measured
    assert (held < link.rest + 0.05).all()
    assert read_events(link.log, 'state')[-1]['why'] == 'expired'
    link.device.reset()
    link.device.arm()
    assert not link.device.read().tripped


def test_actuators_that_somebody_else_disarmed_have_tripped(link):
    link.armed()
    assert not link.device.read().tripped
    link.device.transport.disarm()
    assert link.device.read().tripped


def test_a_driver_that_hangs_up_leaves_safe_actuators(link):
    link.armed()
    link.device.close()
    wait_until(lambda: not link.emulator.in_use(time.monotonic()))
    assert read_events(link.log, 'state')[-1]['why'] == 'disconnected'


def test_actuators_that_go_away_are_lost(link):
    link.armed()
    link.emulator.inject('reboot', {})
    with pytest.raises(DeviceLost):
        wait_until(lambda: link.device.read() and None)

    def back():
        with contextlib.suppress(DeviceLost):  # a connection from before may still end
            link.armed()
            return True

    wait_until(back)
    assert not link.device.read().tripped


def test_actuators_that_say_nothing_answer_no_request(link):
    link.device.open()
    link.emulator.inject('silent', {'duration': 30.0})
    with pytest.raises(DeviceTimeout):
        wait_until(link.device.arm)
    link.emulator.inject('none', {})


def test_garbage_is_counted_and_harmless(link):
    link.armed()
    link.emulator.inject('garbage', {'count': 50})
    wait_until(lambda: link.device.read() and link.device.link_counts()['malformed'] >= 45)
    goal = link.rest + 0.01
    link.device.write(goal, 5.0)
    wait_until(lambda: np.allclose(link.device.read().measured, goal, atol=1e-6))


def test_another_robot_and_another_driver_are_refused(link):
    other = SimulatedDevice(link.endpoint, 3)
    with pytest.raises(DeviceError, match='6 actuators are simulated there, this robot has 3'):
        other.open()
    link.armed()
    with pytest.raises(DeviceError, match='in use by process'):
        other.open()
    second = SimulatedEmulator(link.context, time.monotonic())
    with pytest.raises(InvalidInput, match='without a running emulator'):
        second.start()
    link.device.write(link.rest, 1.0)  # nobody has been disturbed
    assert not link.device.read().tripped


def test_a_blocked_actuator_stays_behind(link):
    link.armed()
    link.emulator.inject('blocked', {'actuator': 'length_2'})
    goal = link.rest + 0.01
    link.device.write(goal, 5.0)
    expected = np.where(np.arange(6) == 1, link.rest, goal)
    wait_until(lambda: np.allclose(link.device.read().measured, expected, atol=1e-6))
    with pytest.raises(UnknownName, match='blocked'):
        link.emulator.inject('explode', {})
