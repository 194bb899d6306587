# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated real-time computer in virtual time: session, time to live, limits, faults."""

import numpy as np
import pytest

from soro_driver.serial import frame as sf
from soro_driver.serial.frame import Frame, Reason, SerialState
from soro_dspace_driver.emulator.board import DspaceBoard, SCALE
from soro_dspace_driver.protocol import (
    Command,
    CommandFlag,
    DeviceFault,
    Feedback,
    INVALID,
    Limits,
    Status,
    Type,
)
from soro_emulation.analog_input import AnalogProperties
from soro_emulation.event_log import EventLog
from soro_emulation.pneumatic_bench import BenchProperties, PneumaticBench
from soro_emulation.serial_line import SerialLine
from soro_mechanics.actuator_models.regulator import RegulatorProperties

STEP = 0.002  # s, as the thread of the pty
KPA = 100  # counts
FEEDBACK = Feedback(0, 0, (0, 0, 0), (0, 0, 0), 0, 0, 0)


class Host:
    """A board in virtual time and the frames that go to and fro."""

    def __init__(self, maximum=180 * KPA):
        properties = BenchProperties(
            RegulatorProperties(0.06, 1e6, 4e5, 0.06, 0.0), AnalogProperties(3e-3, 10.5, 16), None
        )
        self.now = 100.0
        names = ('a', 'b', 'c')
        self.rig = PneumaticBench(
            names, np.full(3, 1.8e5), (SCALE, 0.0), properties, 1, EventLog(''), self.now
        )
        self.board = DspaceBoard(self.rig, 77, 5, EventLog(''), self.now)
        self.seq, self.maximum = 0, maximum
        self.heard = []
        self.run(0.3)

    def send(self, body, seq=None, version=sf.VERSION):
        if seq is None:
            self.seq = seq = (self.seq + 1) & 0xFFFF
        replies = self.board.receive(Frame(body.type, seq, body.pack(), version), self.now)
        return [self.read(f) for f in replies]

    def read(self, frame):
        kinds = {**sf.SESSION_BODIES, Type.FEEDBACK: Feedback, Type.STATUS: Status}
        return kinds[frame.type].unpack(frame.body)

    def run(self, duration):
        end = self.now + duration
        while self.now < end - 1e-9:
            self.now += STEP
            self.heard += [self.read(f) for f in self.board.tick(self.now)]
        return self

    def ready(self):
        assert isinstance(self.send(sf.Hello(9))[0], sf.HelloAck)
        limits = Limits((self.maximum,) * 3, 2000, 100)
        assert isinstance(self.send(limits)[0], sf.Ack)
        return self

    def armed(self):
        self.ready()
        assert isinstance(self.send(sf.Arm(9))[0], sf.Ack)
        assert self.send(Command(100, 1, (0, 0, 0))) == []
        return self

    def stream(self, setpoints, duration, ttl=100):
        end = self.now + duration
        while self.now < end - 1e-9:
            self.send(Command(ttl // 2, CommandFlag.ENABLE, setpoints))
            self.run(0.01)
        return self

    @property
    def feedback(self):
        return [b for b in self.heard if isinstance(b, Feedback)][-1]


@pytest.fixture
def host():
    return Host()


def reason(replies):
    (nack,) = replies
    assert isinstance(nack, sf.Nack)
    return nack.reason


def test_start_is_announced_and_outputs_are_dumped(host):
    assert host.heard == [
        sf.HelloAck(
            0, 1, 0, sf.DeviceKind.PRESSURE, SerialState.SAFE, 5, 77, 1, 0, 3, 20, 500, 0, 40000
        )
    ]
    assert not host.rig.regulators.supplied
    assert host.board.tick(host.now + STEP) == []  # silent without a session


def test_nothing_moves_without_the_present_session(host):
    assert reason(host.send(sf.Arm(9))) == Reason.SESSION
    assert reason(host.send(Command(100, 1, (0, 0, 0)))) == Reason.SESSION
    host.ready()
    assert reason(host.send(sf.Arm(8))) == Reason.SESSION
    assert reason(host.send(Command(100, 1, (0, 0, 0)))) == Reason.STATE
    host.armed().stream((1000, 0, 0), 0.3)
    host.send(sf.Hello(10))  # another host
    assert host.board.state is SerialState.SAFE
    assert not host.board.applied.any()
    assert reason(host.send(sf.Arm(9))) == Reason.SESSION


def test_set_points_are_reached_with_the_slew_and_echoed(host):
    host.armed().stream((60 * KPA, 0, 30 * KPA), 0.2)
    assert host.feedback.applied[0] == pytest.approx(0.2 * 200 * KPA, abs=3 * KPA)
    host.stream((60 * KPA, 0, 30 * KPA), 0.6)
    f = host.feedback
    assert f.applied == (60 * KPA, 0, 30 * KPA)
    assert f.measured[0] == pytest.approx(60 * KPA, abs=150)
    assert (f.state, f.last_seq, f.faults) == (SerialState.ARMED, host.seq, 0)
    assert f.age <= 12


def test_time_to_live_ramps_to_zero_and_dumps(host):
    host.armed().stream((100 * KPA, 0, 0), 1.0, ttl=100)
    silent = host.now - 0.01  # the last command
    host.run(0.088)
    assert host.board.state is SerialState.ARMED
    host.run(0.006)
    assert host.board.state is SerialState.SAFE
    assert host.now - silent == pytest.approx(0.1, abs=2 * STEP + 1e-9)
    assert host.board.faults & DeviceFault.EXPIRED
    assert host.rig.regulators.supplied  # a ramp needs the regulators
    host.run(0.25)
    assert host.board.applied[0] == pytest.approx(50e3, abs=2e3)
    host.run(0.3)
    assert not host.board.applied.any() and not host.rig.regulators.supplied
    assert reason(host.send(Command(100, 1, (100 * KPA, 0, 0)))) == Reason.STATE
    host.run(0.5)
    assert host.rig.pressures(host.now).max() < 100.0


@pytest.mark.parametrize(('ttl', 'expected'), [(0, 0.02), (125, 0.25), (255, 0.5)])
def test_time_to_live_is_clamped(host, ttl, expected):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.send(Command(ttl, 1, (50 * KPA, 0, 0)))
    since = host.now
    while host.board.state is SerialState.ARMED:
        host.run(STEP)
    assert host.now - since == pytest.approx(expected, abs=2 * STEP + 1e-9)


def test_idle_robot_may_wait_longer(host):
    host.armed().stream((0, 0, 0), 0.1)
    host.run(0.9)
    assert host.board.state is SerialState.ARMED
    host.run(0.3)
    assert host.board.state is SerialState.SAFE


def test_frozen_device_does_not_replay_what_waited(host):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.now += 3.0  # it was stopped; then the old commands are read at once
    for _ in range(20):
        host.send(Command(100, 1, (80 * KPA, 0, 0)))
    assert host.board.state is SerialState.SAFE
    host.run(1.0)
    assert not host.board.applied.any()


def test_duplicates_and_late_commands_are_dropped(host):
    host.armed().stream((20 * KPA, 0, 0), 0.5)
    old = host.seq
    host.stream((30 * KPA, 0, 0), 0.3)
    for seq in (old, host.seq):
        assert host.send(Command(100, 1, (90 * KPA, 0, 0)), seq=seq) == []
    host.run(0.05)
    assert host.board.target[0] == 30e3


def test_sequence_numbers_may_wrap(host):
    host.armed()
    host.seq = 0xFFF0
    host.stream((20 * KPA, 0, 0), 0.5)
    assert host.seq < 100
    assert host.feedback.applied[0] == 20 * KPA
    assert host.feedback.last_seq == host.seq


def test_range_is_kept_and_said(host):
    host.armed().stream((180 * KPA, 0, 0), 1.2)
    host.stream((300 * KPA, 0, 0), 0.1)
    assert host.feedback.applied[0] == 180 * KPA
    assert host.feedback.faults == DeviceFault.LIMITED
    host.stream((100 * KPA, 0, 0), 0.1)
    assert host.feedback.faults == 0


def test_first_command_must_not_jump(host):
    host.ready().send(sf.Arm(9))
    assert reason(host.send(Command(100, 1, (60 * KPA, 0, 0)))) == Reason.OUT_OF_RANGE
    assert host.send(Command(100, 1, (10 * KPA, 0, 0))) == []
    assert host.send(Command(100, 1, (60 * KPA, 0, 0))) == []


@pytest.mark.parametrize(
    'limits',
    [Limits((40001, 0, 0), 2000, 100), Limits((1, 1, 1), 0, 100), Limits((1, 1, 1), 1, 5)],
)
def test_impossible_limits_are_refused(host, limits):
    host.send(sf.Hello(9))
    assert reason(host.send(limits)) == Reason.OUT_OF_RANGE
    assert reason(host.send(sf.Arm(9))) == Reason.STATE


def tripped(host, fault, channel):
    expected = DeviceFault[fault] | DeviceFault[f'CHANNEL_{channel}']
    f = host.feedback
    assert (f.state, f.faults & ~DeviceFault.LIMITED) == (SerialState.FAULT, expected)
    assert not host.board.applied.any() and not host.rig.regulators.supplied
    assert reason(host.send(sf.Arm(9))) == Reason.STATE
    assert isinstance(host.send(sf.Reset(9))[0], sf.Ack)
    assert host.board.state is SerialState.SAFE and host.board.faults == 0


def test_over_pressure_trips_and_dumps(host):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.rig.regulators.stuck_open[1] = True
    host.stream((50 * KPA, 0, 0), 0.5)
    host.rig.regulators.stuck_open[1] = False
    tripped(host, 'OVER_PRESSURE', 2)
    host.run(0.4)
    assert host.rig.pressures(host.now).max() < 2e3


@pytest.mark.parametrize('volts', [-0.2, 10.3])
def test_broken_monitor_trips(host, volts):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.rig.inputs.forced[2] = volts
    host.stream((50 * KPA, 0, 0), 0.1)
    assert host.feedback.measured[2] == INVALID
    tripped(host, 'SENSOR', 3)


def test_commanded_but_nothing_comes(host):
    host.armed().stream((0, 0, 0), 0.1)
    host.rig.inputs.forced[0] = 0.0  # zero volt: an open wire, or a burst leg
    host.stream((60 * KPA, 0, 0), 0.4)
    assert host.board.state is SerialState.ARMED
    host.stream((60 * KPA, 0, 0), 0.6)
    tripped(host, 'NO_PRESSURE', 1)


def test_emergency_stop_is_latched(host):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.send(Command(0, CommandFlag.ESTOP, (0, 0, 0)))
    assert host.board.state is SerialState.ESTOP
    assert not host.rig.regulators.supplied
    assert isinstance(host.send(sf.Disarm())[0], sf.Ack)
    assert host.board.state is SerialState.ESTOP
    assert reason(host.send(sf.Arm(9))) == Reason.STATE
    host.send(sf.Reset(9))
    assert host.board.state is SerialState.SAFE
    host.run(1.0)
    assert not host.board.applied.any()  # a reset moves nothing


def test_restart_forgets_everything(host):
    host.armed().stream((50 * KPA, 0, 0), 0.5)
    host.board.start(78, host.now)
    host.run(0.1)
    assert host.send(sf.Hello(9)) == []  # still booting
    host.run(0.2)
    assert host.heard[-1].boot_id == 78 and host.heard[-1].session == 0
    assert reason(host.send(Command(100, 1, (50 * KPA, 0, 0)))) == Reason.SESSION
    assert not host.rig.regulators.supplied


def test_unknown_frames_are_refused(host):
    host.ready()

    def answer(frame):
        (reply,) = host.board.receive(frame, host.now)
        return sf.Nack.unpack(reply.body).reason

    assert answer(Frame(0x55, 1)) == Reason.UNKNOWN_TYPE
    assert answer(Frame(Type.COMMAND, 2, b'abc')) == Reason.BAD_LENGTH
    assert answer(Frame(sf.SessionType.ARM, 3, bytes(4), version=0x20)) == Reason.VERSION
    assert answer(Frame(Type.FEEDBACK, 4, FEEDBACK.pack())) == Reason.UNKNOWN_TYPE


def test_any_frame_is_survived(host):
    random = np.random.default_rng(4)
    host.armed()
    for _ in range(3000):
        kind, size = int(random.integers(0, 256)), int(random.integers(0, 30))
        host.board.receive(Frame(kind, int(random.integers(65536)), random.bytes(size)), host.now)
        host.run(STEP)
    assert not host.rig.pressures(host.now).max() > 200e3


def test_feedback_keeps_its_period_and_counts_itself(host):
    host.ready().run(2.0)
    frames = [b for b in host.heard if isinstance(b, Feedback)]
    assert len(frames) == pytest.approx(200, abs=2)
    times = np.diff([f.time for f in frames])
    assert times.max() <= 12_000 and times.min() >= 8_000
    status = [b for b in host.heard if isinstance(b, Status)]
    assert len(status) in (3, 4) and status[-1].boot_id == 77


# The line -------------------------------------------------------------------------------------


def line(baudrate=115200, seed=1):
    return SerialLine(baudrate, np.random.default_rng(seed))


def test_line_is_as_slow_as_its_baud_rate():
    wire = line()
    for _ in range(10):
        wire.put(b'\1' * 29 + b'\0', 5.0)
    second_per_frame = 30 * 10 / 115200
    assert wire.leaving(5.0 + 0.99 * second_per_frame) == []
    assert len(wire.leaving(5.0 + 3.01 * second_per_frame)) == 3
    assert wire.leaving(5.0 + 3.99 * second_per_frame) == []
    assert len(wire.leaving(5.0 + 4.01 * second_per_frame)) == 1
    assert len(wire.leaving(6.0)) == 6


def test_damage_is_counted_exactly():
    wire, reader = line(), sf.FrameReader()
    wire.damage({'corruption': 0.5, 'loss': 0.1})
    sent = [sf.Arm(n).frame(n) for n in range(1, 301)]
    got = []
    for frame in sent:
        wire.put(frame.pack(), 0.0)
    for unit in wire.leaving(1e3):
        got += reader.feed(unit)
    corrupted, lost = wire.counters['corrupted'], wire.counters['lost']
    assert reader.crc_errors + reader.malformed == corrupted > 100
    assert len(got) == 300 - corrupted - lost
    assert all(frame in sent for frame in got)


def test_burst_repetition_delay_and_repair():
    wire = line()
    wire.damage({'burst': 3.0, 'delay': 0.2, 'repetition': 1.0})
    for n in range(5):
        wire.put(bytes([n + 1, 0]), 0.0)
    assert wire.leaving(0.19) == []
    assert wire.leaving(1.0) == [b'\4\0', b'\4\0', b'\5\0', b'\5\0']
    wire.repair()
    wire.put(b'\7\0', 2.0)
    assert wire.leaving(2.01) == [b'\7\0']
    assert (wire.counters['lost'], wire.counters['repeated']) == (3, 2)
