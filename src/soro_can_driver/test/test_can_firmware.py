# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The firmware in C against the emulated board: the same frames at the same millisecond.

Both were written from docs/hardware/can.md. The C side runs under the address and
undefined-behaviour sanitizers. `SORO_FUZZ` multiplies the number of runs.
"""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from soro_can_driver.board import Access, BoardState, CanId, EmergencyCode, Mode, Parameter
from soro_can_driver.emulator.firmware_board import FirmwareBoard, PACKAGE
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.frame import Control
from soro_can_driver.protocol import (
    Command,
    CommandFd,
    EmergencyStop,
    FRAMES,
    HostHeartbeat,
    ParameterFrame,
    Sync,
)
from soro_emulation.host_firmware import build

RUNS = 4 * int(os.environ.get('SORO_FUZZ', '1'))
STEPS = 220
SANITIZERS = ('-g', '-fsanitize=address,undefined', '-fno-sanitize-recover=all')
# A millisecond and a bit: no time that is compared is ever equal to its limit.
TICK = 1.000001e-3
BOARDS = [(6, 6), (6, 0), (1, 0), (4, 5), (10, 0), (32, 32)]


@pytest.fixture(scope='module')
def program(tmp_path_factory):
    return build(PACKAGE, tmp_path_factory.mktemp('firmware'), SANITIZERS)


class Pair:
    """The two boards, told and asked alike; every answer is compared at once."""

    def __init__(self, program, motors, inputs):
        self.counts = np.full(inputs, 2000.0)
        arguments = (0xABCD, 77, lambda now: self.counts, 0.0, motors, inputs)
        self.python, self.c = (
            MotorBoard(*arguments),
            FirmwareBoard(*arguments, program=program, tick=TICK),
        )
        turn = self.python.motors.turn  # for exactly a tick, not for what a clock makes of it
        self.python.motors.turn = lambda target, fastest, _: turn(target, fastest, TICK)
        self.ticks, self.motors, self.sent, self.seq = 0, motors, 0, 0
        self.seen, self.codes = set(), 0

    @property
    def now(self):
        return self.ticks * TICK

    def pass_time(self, milliseconds):
        for _ in range(milliseconds):
            self.ticks += 1
            self.compare(self.python.advance(self.now), self.c.advance(self.now))

    def receive(self, identifier, data):
        ours = self.python.receive(identifier, data, self.now)
        self.compare(ours, self.c.receive(identifier, data, self.now))

    def send(self, *frames):
        for frame in frames:
            self.receive(int(frame.id), frame.pack())

    def write(self, index, value, sub=0):
        self.send(ParameterFrame(False, Access.WRITE, index, sub, value))

    def compare(self, ours, theirs):
        self.sent += len(ours)
        self.seen.add(self.python.state)
        self.codes |= self.python.faults
        assert [(hex(i), d.hex()) for i, d in theirs] == [(hex(i), d.hex()) for i, d in ours]
        assert self.c.state is self.python.state
        assert np.array_equal(self.c.motors.angle, self.python.motors.angle)

    def both(self, change, *arguments):
        for board in (self.python, self.c):
            change(board, *arguments)

    @staticmethod
    def damage(board, name, motor, on):
        getattr(board.motors, name)[motor] = on

    @staticmethod
    def slip(board, motor, degrees):
        board.slip_encoder(motor, degrees)

    @staticmethod
    def fail(board, code, motors):
        board.fail(code, motors)

    def command(self, angles, seq, code=3, wrong=''):
        """Send a set-point; `wrong`: its last group is lost, of another number, or not enabled."""
        whole = [*angles, *[0] * (-len(angles) % 3)]
        last = len(whole) // 3 - 1
        for group in range(last + 1):
            odd = wrong if group == last else ''
            control = Control(odd != 'off', Mode.POSITION, code)
            part = tuple(whole[3 * group : 3 * group + 3])
            if odd != 'lost':
                self.send(Command(group, (seq + (odd == 'late')) & 0xFF, control, part))
        self.send(Sync(seq & 0xFF))

    def arm(self, generator, session):
        self.write(Parameter.RESET, session)
        self.send(HostHeartbeat(session))
        self.write(Parameter.ARM, session)
        here = np.rint(self.python.target).astype(int).clip(-32768, 32767).tolist()
        self.work(generator, session, here)

    def work(self, generator, session, here):
        """Command an armed board, mostly as a host does."""
        if generator.random() < 0.3:  # nothing but the heartbeat stands guard
            self.pass_time(generator.choice([298, 299, 300, 301]))
        goal = [generator.randint(-400, 400) for _ in here]
        step, beats = generator.choice([20, 60, 300]), generator.choice([0.3, 0.3, 0.0])
        pauses = [1, 2, 2, 4] if beats else [9, 10, 11]
        for _ in range(generator.randint(5, 40)):
            self.seq += generator.choice([1] * 12 + [0, 2, 9, 12, -3, 127, 128, 129])
            here = [h + max(-step, min(step, g - h)) for h, g in zip(here, goal, strict=True)]
            wrong = generator.choice(['lost', 'late', 'off']) if generator.random() < 0.1 else ''
            self.command(here, self.seq, generator.choice([2, 3, 3, 7]), wrong)
            if generator.random() < beats:
                self.send(HostHeartbeat(session))
            self.pass_time(generator.choice(pauses))
        self.pass_time(generator.choice([0, 5, 20, 49, 50, 51, 210, 260, 320]))


def anything(generator, session, motors):
    """Return a frame that means something, a wrong one, or none of the protocol."""
    kind = generator.random()
    if kind < 0.25:
        known = [*FRAMES, generator.randint(0, 0x7FF)]
        identifier = generator.choice(known)
        size = FRAMES[identifier].layout.size if identifier in FRAMES else generator.randint(0, 8)
        return identifier, generator.randbytes(size + generator.choice([0] * 9 + [1, -1][:1]))
    if kind < 0.7:
        index = generator.choice([*Parameter, 0x1234, 0xFFFF])
        value = generator.choice([session, 0, 1, -5, 30000, 2**31 - 1, -(2**31)])
        access = generator.choice(list(Access))
        frame = ParameterFrame(False, access, index, generator.choice([0, 1, 3, 31, 200]), value)
        if index == Parameter.SESSION and access is Access.WRITE:
            frame = ParameterFrame(False, access, index, 0, session)
    elif kind < 0.8:
        angles = tuple(generator.randint(-32768, 32767) for _ in range(6))
        control = Control(generator.random() < 0.5, generator.choice(list(Mode)), 4)
        frame = CommandFd(generator.randint(0, 255), control, angles)
    elif kind < 0.85:
        frame = EmergencyStop(2)
    else:
        frame = generator.choice([HostHeartbeat(session), HostHeartbeat(3), Sync(9)])
    return int(frame.id), frame.pack()


@pytest.mark.parametrize('seed', range(RUNS))
@pytest.mark.parametrize(('motors', 'inputs'), BOARDS)
def test_both_boards_say_the_same_at_the_same_millisecond(program, motors, inputs, seed):
    generator = random.Random(f'{motors} {inputs} {seed}')
    pair, session = Pair(program, motors, inputs), 9
    pair.write(Parameter.SESSION, session)
    for motor in range(motors if generator.random() < 0.8 else 0):
        for index, value in (
            (Parameter.MINIMUM_ANGLE, -300), (Parameter.MAXIMUM_ANGLE, 350),
            (Parameter.MAXIMUM_SPEED, 6000), (Parameter.MAXIMUM_STEP, 50),
            (Parameter.MAXIMUM_ERROR, generator.choice([300, 300, 40])),
        ):  # fmt: skip
            pair.write(index, value, motor)
    for _ in range(STEPS // max(1, motors // 4)):
        choice = generator.random()
        motor = generator.randrange(motors)
        if choice < 0.3:
            pair.pass_time(generator.choice([1, 2, 10, 50]))
        elif choice < 0.45:
            pair.arm(generator, session)
        elif choice < 0.5:
            pair.counts[:] = generator.choice([0.0, 1.0, 4094.5, 4095.0, 5000.0, 2000.4])
        elif choice < 0.56:
            name, on = generator.choice(['stalled', 'reversed']), generator.random() < 0.5
            pair.both(Pair.damage, name, motor, on)
        elif choice < 0.58:
            degrees = generator.choice([-30.0, 1.0, 40.0])
            pair.both(Pair.slip, motor, degrees)
            pair.pass_time(1)
        elif choice < 0.6:
            code = generator.choice([EmergencyCode.OVER_CURRENT, EmergencyCode.BUS_OFF])
            pair.both(Pair.fail, code, 1 << motor)
            pair.pass_time(1)
        else:
            pair.receive(*anything(generator, session, motors))
    assert pair.sent > STEPS // 4
    assert BoardState.ARMED in pair.seen
    assert pair.c.close() == 0


def test_the_fuzz_reaches_what_the_page_lists(program):
    """Together a few runs meet every state, and every fault that a board finds by itself."""
    seen, codes = set(), 0
    for seed in range(12):
        generator, session = random.Random(seed), 9
        pair = Pair(program, 6, 6)
        pair.write(Parameter.SESSION, session)
        for motor in range(6):
            for index, value in (
                (Parameter.MAXIMUM_SPEED, 6000), (Parameter.MAXIMUM_STEP, 300),
                (Parameter.MAXIMUM_ERROR, 100),
            ):  # fmt: skip
                pair.write(index, value, motor)
        name = ('stalled', 'reversed', '')[seed % 3]
        pair.arm(generator, session)
        if name:
            pair.both(Pair.damage, name, 2, True)
        pair.arm(generator, session)
        if not name:
            pair.write(Parameter.ARM, session)
            pair.both(Pair.slip, 1, 40.0)
            pair.pass_time(1)
            pair.write(Parameter.RESET, session)
            pair.write(Parameter.ARM, session)
            pair.command([2000] * 6, pair.seq + 1)
            pair.send(EmergencyStop(1))
        pair.pass_time(400)
        seen |= pair.seen
        codes |= pair.codes
        assert pair.c.close() == 0
    assert seen >= set(BoardState) - {BoardState.BOOT}
    found = {code for code in EmergencyCode if codes >> code & 1}
    assert found >= {
        EmergencyCode.TRACKING, EmergencyCode.REVERSED, EmergencyCode.ENCODER_JUMP,
        EmergencyCode.COMMAND_LOST, EmergencyCode.ESTOP, EmergencyCode.FIRST_COMMAND,
    }  # fmt: skip


def test_a_restart_keeps_the_angles_and_nothing_else(program):
    pair = Pair(program, 6, 6)
    pair.write(Parameter.SESSION, 9)
    pair.arm(random.Random(1), 9)
    angles = pair.c.motors.angle.copy()
    assert np.abs(angles).max() > 1.0
    pair.c.reboot(0xABCE)
    assert pair.c.state is BoardState.SAFE
    assert np.array_equal(pair.c.motors.angle, angles)
    frames = pair.c.receive(CanId.SYNC, b'\1', pair.now + 0.1)
    assert any(i == CanId.BOARD_HEARTBEAT and d[1:3] == b'\xce\xab' for i, d in frames)
    assert pair.c.close() == 0


def test_motors_stand_where_they_are_placed_also_after_a_restart(program):
    pair = Pair(program, 6, 6)
    placed = np.array([300.0, -450.0, 0.0, 1.0, 899.0, -12.0])
    for board in (pair.python, pair.c):
        board.place(placed)
    pair.pass_time(5)
    pair.receive(CanId.SYNC, b'\1')
    for board in (pair.python, pair.c):
        assert np.array_equal(board.motors.angle, placed)
        board.reboot(0xABCE)
    pair.pass_time(5)
    assert np.array_equal(pair.python.motors.angle, placed)
    assert np.array_equal(pair.c.motors.angle, placed)
    assert pair.c.close() == 0
