# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated serial boards with anything at all on the line: garbage, halves, wrong frames.

Most examples run in virtual time, through the same pacing, reader and board as on a pty.
"""

from __future__ import annotations

import os
from pathlib import Path
import time
import uuid

from fuzzing import fuzz, LONG, make_context, open_files, serving
from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_driver.serial.frame import (
    Arm,
    Disarm,
    Frame,
    FrameReader,
    Hello,
    HelloAck,
    MAX_BODY,
    SerialState,
    SESSION_BODIES,
)
from soro_dspace_driver.emulator.device import DspaceEmulator
from soro_dspace_driver.protocol import BODIES as DSPACE_BODIES
from soro_dspace_driver.protocol import Command, Limits
from soro_emulation.serial_line import MAX_WAITING
from soro_rigs.ros_session import wait_until
from soro_stm32_driver.emulator.device import Stm32Emulator
from soro_stm32_driver.pairing import in_order
from soro_stm32_driver.protocol import Action, SetBitmap, SetTimed, Timed
from soro_stm32_driver.protocol import BODIES as STM32_BODIES

pytestmark = LONG

INFLATE_MASK = sum(1 << inflate for inflate, _ in in_order(30).pairs)

STEP = 0.01  # s
START = 100.0  # s
ROBOTS = {'dspace': 'soft_parallel', 'stm32': 'pam_continuum'}
EMULATORS = {'dspace': DspaceEmulator, 'stm32': Stm32Emulator}
TYPES = {'dspace': DSPACE_BODIES, 'stm32': STM32_BODIES}
u16, u32 = st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF)
counts = st.sampled_from([0, 1, 2000, 18_000, 40_000, 0xFFFF]) | u16
triples = st.tuples(counts, counts, counts)
flags = st.integers(0, 255)
# What opens a session here is even, what arms is odd: nobody is ever armed by these.
sessions = st.builds(Hello, st.sampled_from([0, 2]) | u32.map(lambda x: x & ~1))
arming = st.builds(Arm, st.sampled_from([1, 3]) | u32.map(lambda x: x | 1))
masks = st.sampled_from([0, 1, 2, 3, 2**60, 2**64 - 1]) | st.integers(0, 2**64 - 1)
actions = st.lists(
    st.builds(Timed, st.integers(0, 40) | flags, st.integers(0, 3) | flags, counts), max_size=60
)
MEANT = {
    'dspace': st.one_of(
        st.builds(Command, st.integers(0, 255), st.integers(0, 255), triples),
        st.builds(Limits, triples, counts, counts),
    ),
    'stm32': st.one_of(
        st.builds(SetTimed, u16, actions.map(tuple)), st.builds(SetBitmap, masks, masks, counts)
    ),
}


def frames_of(device):
    """Return whole frames as bytes: those that mean something, and any body for any type."""
    meant = st.one_of(sessions, arming, MEANT[device]).map(lambda body: (body.type, body.pack()))
    # HELLO and ARM are made above.
    known = st.sampled_from(sorted({*TYPES[device], *SESSION_BODIES} - {Hello.type, Arm.type}))
    other = st.integers(0, 255).filter(lambda t: t not in (Hello.type, Arm.type))
    anything = st.tuples(known | other, st.binary(max_size=MAX_BODY))
    versions = st.sampled_from([16, 16, 16, 0, 32, 255])
    return st.builds(
        lambda content, seq, version: Frame(content[0], seq, content[1], version).pack(),
        meant.filter(lambda c: len(c[1]) <= MAX_BODY) | anything,
        u16,
        versions,
    )


def bytes_of(device):
    """Return pieces of what a host may send: whole frames, parts of them, and garbage."""
    frames = frames_of(device)
    halves = st.builds(lambda data, at: data[: at % len(data)], frames, st.integers(0, 300))
    return st.lists(frames | halves | st.binary(max_size=40), max_size=25)


class Line:
    """An emulated device on a line of bytes, in virtual time."""

    def __init__(self, device):
        path = Path('/tmp/never_made')
        context = make_context(ROBOTS[device], device, None, path)
        self.now, self.reader = START, FrameReader()
        self.device, self.emulator = device, EMULATORS[device](context, self.now)
        self.wire = self.emulator.wire
        self.board = self.emulator._board
        self.seq, self.heard = 0, []
        self.pass_time(1.0)
        self.rest = self.emulator.actuation(self.now).copy()

    def receive(self, data):
        """Send bytes and let time pass until they are there."""
        self.wire.receive(data, self.now)
        self.pass_time(0.05)

    def pass_time(self, seconds):
        end = self.now + seconds
        while self.now < end:
            self.now += STEP
            for unit in self.wire.carry(self.now):
                self.heard += self.reader.feed(unit)

    def say(self, body):
        self.seq += 1
        self.receive(body.frame(self.seq).pack())

    def answers(self):
        """Say who is there; whether the device still answers as one."""
        self.heard.clear()
        self.receive(b'\0')  # ends what was begun
        self.pass_time(5.0)
        self.say(Hello(77))
        self.pass_time(1.0)
        kinds = [f for f in self.heard if f.type == HelloAck.type]
        return any(HelloAck.unpack(f.body).session == 77 for f in kinds)

    def arm(self):
        self.say(Hello(77))
        if self.device == 'dspace':
            self.say(Limits((18_000,) * 3, 2000, 100))
        else:
            self.say(Disarm())
            self.pass_time(8.0)  # everything is vented first
            self.say(Hello(77))
        self.say(Arm(77))
        self.pass_time(0.1)
        assert self.board.state is SerialState.ARMED


def frame(body, seq=1):
    """Return the bytes of a frame."""
    return body.frame(seq).pack()


def check_at_rest(line):
    """Check that nothing has moved a device that nobody armed."""
    assert line.board.state is not SerialState.ARMED
    if line.device == 'dspace':
        assert not line.board.applied.any() and not line.board.target.any()


@pytest.mark.parametrize('device', ROBOTS)
@given(data=st.data())
@fuzz(25)
def test_a_board_that_nobody_arms_moves_nothing(device, data):
    line = Line(device)
    for piece in data.draw(bytes_of(device)):
        line.receive(piece)
        check_at_rest(line)
        # Valves may be worked on by hand (SET_BITMAP), once somebody has said who it is.
        if device == 'stm32' and not line.board.session.number:
            assert not line.board.valves.coils & INFLATE_MASK
        assert len(line.wire.to_device._waiting) <= MAX_WAITING
        assert len(line.wire.to_host._waiting) <= MAX_WAITING
    assert line.answers()
    if device == 'dspace':
        assert line.emulator.actuation(line.now) == pytest.approx(line.rest, abs=1.0)


def test_valves_are_not_opened_for_a_stranger():
    line = Line('stm32')
    line.receive(frame(SetBitmap(1, INFLATE_MASK, 60_000)))
    line.receive(frame(SetBitmap(INFLATE_MASK, INFLATE_MASK, 60_000), 2))
    line.receive(frame(SetTimed(0xFFFF, (Timed(0, Action.INFLATE, 100),)), 3))
    assert not line.board.valves.coils & INFLATE_MASK
    assert line.answers()


@pytest.mark.parametrize('device', ROBOTS)
@given(data=st.data())
@fuzz(25)
def test_an_armed_board_obeys_its_rules_and_lets_go_without_its_host(device, data):
    line = Line(device)
    line.arm()
    for piece in data.draw(bytes_of(device)):
        line.receive(piece)
        if device == 'dspace':
            assert (line.board.applied <= 180e3 + 1e-6).all() and (line.board.applied >= 0.0).all()
        else:
            both = line.board.valves.coils & INFLATE_MASK
            assert bin(both).count('1') <= line.board.properties.simultaneous
            assert line.board.bank.overlaps == 0
    line.pass_time(8.0)  # silence
    assert line.board.state is not SerialState.ARMED
    if device == 'dspace':
        assert not line.board.applied.any()
    else:
        assert not line.board.valves.coils & INFLATE_MASK
    assert line.answers()


@pytest.mark.parametrize('device', ROBOTS)
def test_a_flood_is_bounded(device):
    line = Line(device)
    for _ in range(200):
        line.wire.receive(b'\x01' * 50_000, line.now)
        line.wire.receive(frame(Hello(3)) * 1000, line.now)
        assert len(line.wire.to_device._waiting) <= MAX_WAITING
    line.pass_time(20.0)
    check_at_rest(line)
    assert line.answers()


# A pty ---------------------------------------------------------------------------------------


@pytest.fixture(scope='module', params=ROBOTS)
def plugged(request):
    path = Path(f'/tmp/soro-{os.getuid()}', f'fuzz-{uuid.uuid4().hex[:8]}')
    context = make_context(ROBOTS[request.param], request.param, None, path)
    emulator = EMULATORS[request.param](context, time.monotonic())
    with serving(emulator):
        yield request.param, emulator, path


def ask(path):
    """Open the port, ask who is there, and close it again."""
    number = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    reader = FrameReader()
    try:

        def answered():
            try:
                os.write(number, b'\0' + frame(Hello(77)))
                heard = reader.feed(os.read(number, 4096))
            except BlockingIOError:
                return False
            kinds = [HelloAck.unpack(f.body) for f in heard if f.type == HelloAck.type]
            return any(k.session == 77 for k in kinds)

        wait_until(answered, 30.0)
    finally:
        os.close(number)


@given(data=st.data())
@example(data=None)
@fuzz(8)
def test_a_port_outlives_what_comes_through_it(plugged, data):
    device, emulator, path = plugged
    before = open_files()
    pieces = [b'\xff' * 60_000] if data is None else data.draw(bytes_of(device))
    number = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        for piece in pieces:
            try:
                os.write(number, piece)
            except BlockingIOError:
                break  # the line is full
    finally:
        os.close(number)
    ask(path)
    assert open_files() == before
    assert emulator._board.state is not SerialState.ARMED
    if device == 'dspace':
        assert np.abs(emulator.actuation(time.monotonic())).max() < 500.0  # Pa, noise
