# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Serial devices whose own state is not what the driver believes, in virtual time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from soro_driver.device import DeviceError, Fault
from soro_driver.endpoint import Endpoint
from soro_driver.serial.frame import Disarm, Hello, SerialState
from soro_driver.settings import read_driver_settings
from soro_dspace_driver.device import DspaceDevice
from soro_dspace_driver.emulator.device import DspaceEmulator
from soro_emulation.device_emulator import EmulatorContext
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.event_log import EventLog
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_stm32_driver.protocol import VentAll
from soro_studies.emulation.stm32_virtual import VirtualRig
from soro_studies.emulation.virtual_serial import VirtualLink

TTL = 0.5  # s
BENCH = Path(__file__).with_name('dspace_bench.yaml')


class Pressures:
    """Driver's device, line and computer of three regulators."""

    def __init__(self) -> None:
        robot = read_robot_file(BENCH)
        driver = read_driver_settings(robot)
        emulator = read_emulator_settings(robot, driver.device)
        endpoint = Endpoint(0, Path('virtual'))
        context = EmulatorContext(
            robot, driver.section, emulator.device, endpoint, emulator.seed, EventLog('')
        )
        made = DspaceEmulator(context, 1000.0)
        self.board = made._board
        self.link = VirtualLink(made.wire, 1000.0)
        section = read_driver_settings(robot).section
        self.device = DspaceDevice.from_section(section, robot, endpoint)
        self.device.transport.session.link = self.link
        self.rest, self.away = np.zeros(3), np.full(3, 4e3)
        self.device.open()
        self.device.arm()

    def behind_its_back(self, body) -> None:
        self.board.receive(body.frame(1), self.link.now)

    def pass_time(self, seconds) -> None:
        end = self.link.now + seconds
        while self.link.now < end:
            self.link.step()


class Valves:
    """Driver's device, radio and board of thirty muscles."""

    def __init__(self) -> None:
        self.rig = VirtualRig(read_robot_file(find_robot_file('pam_continuum')), EventLog(''))
        self.rig.start()
        self.device, self.board = self.rig.device, self.rig.board
        self.rest = self.device.wiring.rest
        self.away = self.rest.copy()
        self.away[:3] += 2e-3, -1e-3, -1e-3

    def behind_its_back(self, body) -> None:
        self.board.receive(body.frame(1), self.rig.clock.time)

    def pass_time(self, seconds) -> None:
        self.rig.link.pass_time(seconds)


@pytest.fixture(params=[Pressures, Valves])
def rig(request):
    return request.param()


def stream(rig, values, seconds):
    """Command for a while; returns the first reading that says that the device tripped."""
    for _ in range(round(seconds / 0.1)):
        rig.pass_time(0.1)
        reading = rig.device.read()
        if reading.tripped or reading.faults:
            return reading
        rig.device.write(values, TTL)
    return reading


def test_an_armed_device_has_not_tripped_at_any_moment(rig):
    assert not rig.device.read().tripped
    reading = stream(rig, rig.away, 2.0)
    assert not reading.tripped and reading.faults == 0
    assert rig.board.state is SerialState.ARMED


@pytest.mark.parametrize(
    ('make', 'body'),
    [
        (Pressures, Disarm()),
        (Pressures, Hello(12345)),
        (Valves, Disarm()),
        (Valves, VentAll()),
        (Valves, Hello(12345)),
    ],
)
def test_a_device_that_is_safe_while_it_should_be_armed_has_tripped(make, body):
    rig = make()
    stream(rig, rig.away, 1.0)
    rig.behind_its_back(body)
    assert rig.board.state is SerialState.SAFE
    reading = stream(rig, rig.away, 1.0)
    if isinstance(rig, Pressures) and isinstance(body, Hello):
        assert rig.link.now - reading.time > 0.9  # it reports to the other host: lost by age
    else:
        assert reading.tripped


def test_a_device_that_was_made_safe_has_not_tripped(rig):
    stream(rig, rig.away, 1.0)
    rig.device.make_safe()
    rig.pass_time(0.5)
    assert not rig.device.read().tripped


@pytest.mark.parametrize('value', [np.nan, np.inf, -np.inf])
def test_what_is_no_number_does_not_reach_the_wire(rig, value):
    stream(rig, rig.rest, 0.5)
    heard = rig.device.transport.session.link._seq
    values = rig.rest.copy()
    values[1] = value
    with pytest.raises(DeviceError, match='finite'):
        rig.device.write(values, TTL)
    assert rig.device.transport.session.link._seq == heard


def test_a_restart_shows_in_the_status_when_nothing_else_of_it_arrived():
    rig = Valves()
    stream(rig, rig.rest, 1.0)
    link = rig.rig.link
    link.to_host.damage({'loss': 1.0})
    rig.board.reboot(rig.rig.clock.time)
    rig.pass_time(0.5)  # the board has said that it is there; nobody heard it
    link.to_host.repair()
    rig.pass_time(0.3)
    assert rig.device.read().faults & Fault.REBOOT
