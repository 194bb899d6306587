# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Two to sixty-four valves in any pairing: version 1.1."""

from __future__ import annotations

import numpy as np
from plain_muscles import PLAIN
import pytest
from recording_link import RecordingLink

from soro_driver.device import DeviceError
from soro_driver.serial.frame import (
    Ack,
    Arm,
    Body,
    Disarm,
    FrameReader,
    Heartbeat,
    Hello,
    Nack,
    Reason,
    SerialState,
    SESSION_BODIES,
)
from soro_emulation.event_log import EventLog
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.section import Section
from soro_stm32_driver.emulator.board import Stm32Board
from soro_stm32_driver.emulator.muscle_bank import MuscleBank
from soro_stm32_driver.emulator.properties import BoardProperties
from soro_stm32_driver.pairing import in_order, Pairing
from soro_stm32_driver.protocol import (
    Action,
    BODIES,
    SetBitmap,
    SetPairs,
    SetTimed,
    Timed,
    ValveReason,
)
from soro_stm32_driver.transport import Stm32Transport
from soro_stm32_driver.wiring import read_wiring

CURVE = {
    'inflate_time': '0 0.5 1.0 2.0 4.0 s',
    'inflate_length': '80 83 88 97 110 mm',
    'deflate_time': '0 0.2 0.4 0.8 1.6 s',
    'deflate_length': '110 104 97 88 80 mm',
}
SHUFFLED = {  # 1-based, as in a robot file
    6: '64 1; 2 63; 10 11; 33 7; 5 20; 40 41',
    4: '1 2; 3 4; 5 6; 7 8',
}


class Robot:
    """What `read_wiring` looks at of a robot."""

    def __init__(self, count, rest=0.1):
        self.actuators = tuple(
            Actuator(f'm{i}', 'length', 0.08, 0.12, 0.02, rest) for i in range(count)
        )
        self.rest = np.full(count, rest)
        self.file, self.structure = '', {}


def wiring(count, **keys):
    data = {'port': 'memory', 'budget': '5 s', 'simultaneous': 15, 'curves': {'default': CURVE}}
    return read_wiring(Section(data | keys, 'driver.stm32'), Robot(count))


def pairs_of(text):
    return {f'm{i}': pair for i, pair in enumerate(text.split('; '))}


class Rig:
    """Driver's transport and board in virtual time; `wired` is how the muscles really hang."""

    def __init__(self, given, wired=None):
        self.wiring = given
        generator = np.random.default_rng(1)
        self.bank = MuscleBank(given.rest, PLAIN, generator, 100.0, given.per_module)
        self.log = EventLog('')
        self.board = Stm32Board(
            BoardProperties(vent_time=2500), self.bank, self.log, 100.0, 7,
            wired=given.pairing if wired is None else wired,
        )  # fmt: skip
        self.link = RecordingLink(self.board, 100.0)
        self.link.pass_time(0.4)
        self.transport = Stm32Transport(given, 1.0, 5.0, self.link)

    def armed(self):
        self.transport.open()
        for _ in range(100):
            self.link.pass_time(0.1)
            self.transport.poll(self.link.now)
            if self.transport.vented(self.link.now):
                break
        self.transport.arm()
        return self

    def go(self, goal, seconds):
        for _ in range(round(seconds / 0.1)):
            self.transport.command(goal, 0.5, self.link.now)
            self.link.pass_time(0.1)
            self.transport.poll(self.link.now)

    def ask(self, body: Body, seq=None):
        self.link.take()
        self.link.send(body, seq)
        frame = self.link.take()[0].frame
        return {**SESSION_BODIES, **BODIES}[frame.type].unpack(frame.body)


@pytest.mark.parametrize(
    ('count', 'keys'),
    [
        (6, {}),
        (6, {'valves': pairs_of(SHUFFLED[6])}),
        (4, {'per_module': 2, 'valves': pairs_of(SHUFFLED[4])}),
        (32, {'per_module': 4}),
        (30, {'channels': {f'm{i}': 30 - i for i in range(30)}}),
    ],
)
def test_muscles_reach_their_lengths_and_a_lost_host_vents_them(count, keys):
    rig = Rig(wiring(count, **keys)).armed()
    per = rig.wiring.per_module
    goal = rig.wiring.rest.copy()
    goal[0::per] += 4e-3
    goal[1::per] -= 4e-3
    rig.go(goal, 5.0)
    # The curves are not those of the emulated muscles: nearer than half of the way suffices.
    off = rig.transport.estimate.lengths - goal
    assert np.abs(off).max() < 1e-3
    moved = rig.bank.lengths - rig.wiring.rest
    assert np.all(moved[0::per] > 1e-3) and np.all(moved[1::per] < -1e-3)
    assert rig.bank.overlaps == 0
    rig.link.pass_time(0.51)  # nobody says anything
    assert rig.board.state is SerialState.SAFE
    assert rig.board.valves.coils == 0
    rig.link.pass_time(1.1)
    assert rig.board.valves.venting
    rig.link.pass_time(3.0)
    assert np.all(rig.bank.pressure < -5e4)


def test_a_muscle_alone_has_its_own_length():
    given = wiring(1, per_module=1)
    given.rest[:] = 0.08
    rig = Rig(given).armed()
    rig.go(np.array([0.09]), 4.0)
    assert rig.transport.estimate.lengths == pytest.approx([0.09], abs=5e-4)
    assert rig.bank.lengths[0] > 0.083


def test_frame_of_pairs():
    # Written with struct and binascii alone: version 1.1, type 0x24, sequence number 3.
    body = SetPairs(((63, 0), (1, 62)))
    wire = bytes.fromhex('04112403023F05013E223600')
    assert body.frame(3, 0x11).pack() == wire
    (frame,) = FrameReader().feed(wire)
    assert SetPairs.unpack(frame.body) == body


def test_a_board_that_was_not_told_its_valves_opens_none():
    rig = Rig(wiring(6, valves=pairs_of(SHUFFLED[6])))
    rig.ask(Hello(9, 1, 1))
    assert isinstance(rig.ask(Disarm()), Ack)
    assert rig.ask(SetBitmap(0xFFFFFFFF, 1, 100)).reason == Reason.STATE
    assert rig.ask(Arm(9)).reason == Reason.STATE
    rig.link.pass_time(5.0)
    assert rig.board.valves.coils == 0
    assert not any('inflate' in line for line in rig.link.log)


@pytest.mark.parametrize(
    'pairs', [(), ((0, 0),), ((0, 1), (1, 2)), ((0, 64),), tuple((i, i + 32) for i in range(33))]
)
def test_pairs_that_are_none_are_refused(pairs):
    rig = Rig(wiring(6))
    rig.ask(Hello(9, 1, 1))
    assert rig.ask(SetPairs(pairs)).reason == Reason.OUT_OF_RANGE


def test_pairs_change_only_at_rest_and_a_host_of_1_0_is_refused_then():
    rig = Rig(wiring(6, valves=pairs_of(SHUFFLED[6]))).armed()
    other = SetPairs(in_order(6).pairs)
    assert rig.ask(other, 900).reason == Reason.BUSY
    assert isinstance(rig.ask(SetPairs(rig.wiring.pairing.pairs), 901), Ack)  # said again
    rig.ask(Disarm(), 902)
    assert rig.ask(other, 903).reason == Reason.BUSY  # venting by the pairs of before
    rig.ask(Hello(10), 904)
    for _ in range(60):
        rig.link.pass_time(0.1)
        rig.ask(Heartbeat(10), 905)
    assert rig.ask(Arm(10), 906).reason == Reason.VERSION


def test_interlock_and_last_muscle_follow_the_pairing():
    rig = Rig(wiring(6, valves=pairs_of(SHUFFLED[6]))).armed()
    deadline = (rig.board.time + 300) & 0xFFFF
    both = SetTimed(deadline, (Timed(5, Action.INFLATE, 50), Timed(5, Action.DEFLATE, 50)))
    assert rig.ask(both, 900).reason == ValveReason.INTERLOCK
    beyond = SetTimed(deadline, (Timed(6, Action.INFLATE, 50),))
    assert rig.ask(beyond, 901).reason == ValveReason.MUSCLE
    rig.ask(SetTimed(deadline, (Timed(0, Action.INFLATE, 200),)), 902)
    rig.link.pass_time(0.1)
    assert rig.board.valves.coils == 1 << 63
    rig.transport.disarm()
    rig.link.pass_time(4.0)
    answer = rig.ask(SetBitmap(1 << 63 | 1, 1 << 63 | 1, 100), 903)
    assert isinstance(answer, Nack) and answer.reason == ValveReason.INTERLOCK


def test_old_firmware_and_a_smaller_board_are_refused():
    rig = Rig(wiring(6))
    rig.board._hello = lambda body: old(rig, body)
    with pytest.raises(DeviceError, match='1.0'):
        rig.transport.open()
    rig = Rig(wiring(6))
    rig.board.channels = 4
    with pytest.raises(DeviceError, match='4 channels'):
        rig.transport.open()


def old(rig, body):
    rig.board.session.number, rig.board._minor = body.session, 0
    rig.board.channels = 6
    return rig.board.hello_ack()


@pytest.mark.parametrize(
    ('count', 'keys', 'path'),
    [
        (33, {}, 'port'),
        (7, {}, 'per_module'),
        (3, {'valves': pairs_of('1 2; 3 4; 5 65')}, 'valves'),
        (3, {'valves': pairs_of('1 2; 2 3; 5 6')}, 'valves'),
        (3, {'valves': pairs_of('1 2; 3 4; 5 6.5')}, 'valves'),
        (3, {'valves': pairs_of('1 2; 3 4; 5 6'), 'channels': {}}, 'channels'),
    ],
)
def test_wirings_that_are_none_are_refused(count, keys, path):
    with pytest.raises(RobotFileError) as error:
        wiring(count, **keys)
    assert error.value.path == f'driver.stm32.{path}'


def test_thirty_muscles_in_order_are_version_1_0():
    assert in_order(30).minor == 0
    assert in_order(29).minor == in_order(32).minor == 1
    assert Pairing(((1, 0), *in_order(30).pairs[1:])).minor == 1
