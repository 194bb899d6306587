# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One to sixteen pressures: version 1.1, what it takes to agree on it, channels that are meant."""

from __future__ import annotations

from types import SimpleNamespace

from computer_on_a_link import ComputerLink, wiring
import numpy as np
import pytest

from soro_driver.device import DeviceError
from soro_driver.serial.frame import (
    Ack,
    Arm,
    Disarm,
    Frame,
    FrameReader,
    Hello,
    HelloAck,
    Nack,
    Reason,
    SerialState,
)
from soro_dspace_driver.device import DspaceDevice
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.protocol import BODIES, Command, CommandFlag, DeviceFault, Feedback, Limits
from soro_dspace_driver.transport import DspaceTransport
from soro_dspace_driver.wiring import read_wiring
from soro_emulation.analog_input import AnalogProperties
from soro_emulation.event_log import EventLog
from soro_emulation.pneumatic_bench import BenchProperties, PneumaticBench
from soro_mechanics.actuator_models.regulator import RegulatorProperties
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section

COUNTS = (1, 2, 5, 16)


class Computer:
    """A board of `count` channels in virtual time."""

    def __init__(self, count):
        properties = BenchProperties(
            RegulatorProperties(0.06, 1e6, 4e5, 0.06, 0.0), AnalogProperties(3e-3, 10.5, 16), None
        )
        self.count, self.now, self.seq, self.heard = count, 100.0, 0, []
        names = tuple(f'p{i}' for i in range(count))
        log = EventLog('')
        self.bench = PneumaticBench(
            names, np.full(count, 1.8e5), (SCALE, 0.0), properties, 1, log, self.now
        )
        self.board = DspaceBoard(self.bench, 77, 5, log, self.now)
        self.run(0.3)

    def say(self, body):
        self.seq += 1
        return self.board.receive(Frame(body.type, self.seq, body.pack()), self.now)

    def ask(self, body):
        (answer,) = self.say(body)
        kinds = {int(k.type): k for k in (Ack, Nack, HelloAck)}
        return kinds[answer.type].unpack(answer.body)

    def run(self, duration):
        end = self.now + duration
        while self.now < end - 1e-9:
            self.now += 0.002
            for frame in self.board.tick(self.now):
                if frame.type in BODIES:
                    self.heard.append((frame.version, BODIES[frame.type].unpack(frame.body)))

    def stream(self, setpoints, duration):
        for _ in range(round(duration / 0.01)):
            assert self.say(Command(50, CommandFlag.ENABLE, setpoints)) == []
            self.run(0.01)

    def armed(self, minor=1):
        assert self.ask(Hello(9, 1, minor)).minor == minor
        assert isinstance(self.ask(Limits((18000,) * self.count, 2000, 100)), Ack)
        assert isinstance(self.ask(Arm(9)), Ack)
        self.stream((0,) * self.count, 0.01)
        return self

    @property
    def feedback(self):
        return [b for _, b in self.heard if isinstance(b, Feedback)][-1]


@pytest.mark.parametrize(
    ('body', 'seq', 'wire'),
    [
        (
            Command(125, CommandFlag.ENABLE, (0, 6000, 18000, 1, 2)),
            4,
            '04111004037D0101067017504601020203673900',
        ),
        (
            Feedback(4, 1000000, (12, 5987, 65535, 0, 7), (0, 6000, 18000, 1, 2), 2, 7, 4, 1 << 4),
            256,
            '0311900301040440420F020C056317FFFF0102070101067017504601020204020704021003E5D000',
        ),
    ],
)
def test_frames_of_version_1_1(body, seq, wire):
    # Written with struct and binascii alone, from docs/hardware/dspace.md.
    assert body.frame(seq, 0x11).pack() == bytes.fromhex(wire)
    (frame,) = FrameReader().feed(bytes.fromhex(wire))
    assert BODIES[frame.type].unpack(frame.body) == body


@pytest.mark.parametrize('count', COUNTS)
def test_every_channel_is_driven_measured_and_stopped(count):
    computer = Computer(count).armed()
    goal = tuple(2000 + 500 * i for i in range(count))
    computer.stream(goal, 1.2)
    f = computer.feedback
    assert f.applied == goal
    assert f.measured == pytest.approx(goal, abs=150)
    assert computer.heard[-1][0] == 0x11
    computer.run(1.5)  # nobody commands: ramp to zero, dump
    assert computer.board.state is SerialState.SAFE
    assert computer.feedback.applied == (0,) * count
    assert computer.feedback.faults & DeviceFault.EXPIRED


@pytest.mark.parametrize('channel', [0, 4, 15])
def test_the_channel_that_is_meant_is_named(channel):
    computer = Computer(16).armed()
    computer.stream((1000,) * 16, 0.3)
    computer.bench.break_channel('sensor', channel, {'volts': 11.0})
    computer.run(0.2)
    f = computer.feedback
    assert f.state == SerialState.FAULT
    assert (f.faults, f.channels) == (DeviceFault.SENSOR, 1 << channel)


def test_a_body_of_another_number_of_channels_is_refused_and_a_stop_is_obeyed():
    computer = Computer(5).armed()
    for count in (3, 4, 6):
        answer = computer.ask(Command(50, CommandFlag.ENABLE, (100,) * count))
        assert answer.reason == Reason.BAD_LENGTH
    assert not computer.board.target.any()
    computer.stream((1000,) * 5, 0.2)
    assert computer.say(Command(0, CommandFlag.ESTOP, (0, 0, 0))) == []
    assert computer.board.state is SerialState.ESTOP
    assert not computer.board.applied.any()


def test_a_host_of_version_1_0_cannot_arm_what_it_cannot_hear():
    computer = Computer(5)
    answer = computer.ask(Hello(9))
    assert (answer.minor, answer.channels) == (0, 5)
    assert computer.ask(Limits((18000,) * 5, 2000, 100)).reason == Reason.VERSION
    assert computer.ask(Arm(9)).reason == Reason.STATE
    assert isinstance(computer.ask(Disarm()), Ack)


@pytest.mark.parametrize('count', COUNTS)
def test_old_firmware_is_refused_by_a_robot_that_needs_more(count):
    transport = DspaceTransport(wiring(count), 1.0, 5.0)
    transport.session.link = ComputerLink(count, minor=0)
    with pytest.raises(DeviceError, match='1.0.*need 1.1'):
        transport.open()
    transport.session.link = ComputerLink(count)
    transport.open()
    assert transport.measured == pytest.approx(np.zeros(count))


@pytest.mark.parametrize(('count', 'other'), [(3, 4), (5, 3), (2, 1)])
def test_another_number_of_channels_is_refused(count, other):
    transport = DspaceTransport(wiring(count), 1.0, 5.0)
    transport.session.link = ComputerLink(other, minor=1)
    with pytest.raises(DeviceError, match=f'{other} channels'):
        transport.open()


def test_a_fault_names_the_actuator_behind_its_channel():
    device = DspaceDevice(wiring(5))
    device.wiring.channels[:] = [4, 3, 2, 1, 0]
    t = device.transport
    t.state, t.faults, t.meant = SerialState.FAULT, DeviceFault.SENSOR, 1 << 4
    assert device._reason().startswith('p1: ')


def section(count, baudrate=115200, rate='100 Hz'):
    actuators = tuple(Actuator(f'p{i}', 'pressure', 0.0, 1.8e5, 2e5, 0.0) for i in range(count))
    data = {'port': 'memory', 'baudrate': baudrate, 'rate': rate}
    return Section(data, 'driver.dspace'), SimpleNamespace(actuators=actuators)


def test_more_channels_than_there_are_and_too_slow_a_line_are_refused():
    assert len(read_wiring(*section(16)).channels) == 16
    with pytest.raises(RobotFileError, match='1 to 16'):
        read_wiring(*section(17))
    # 84 bytes of 10 bits at 500 Hz are 420 kbit/s.
    assert read_wiring(*section(16, 500_000, '500 Hz')).rate == 500.0
    with pytest.raises(RobotFileError) as error:
        read_wiring(*section(16, 460_800, '500 Hz'))
    assert error.value.path == 'driver.dspace.baudrate'
