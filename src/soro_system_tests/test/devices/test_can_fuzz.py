# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated CAN bus, its board and its client, with anything at all on the wire."""

from __future__ import annotations

from dataclasses import replace
import socket
import threading
import time

from fuzzing import fuzz, LONG, make_context, open_files, send_and_hang_up, threads_called
from hypothesis import example, given
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_can_driver.board import Access, BoardState, CanId, Mode, Parameter
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.frame import Control, ProtocolError
from soro_can_driver.protocol import (
    Command,
    CommandFd,
    HostHeartbeat,
    ParameterFrame,
    Position,
    Sync,
    unpack,
)
from soro_can_driver.wiring import read_wiring
from soro_driver.device import DeviceLost
from soro_driver.socketcand_link import LONGEST, SocketcandLink
from soro_emulation.socketcand_server import LARGEST, SocketcandServer
from soro_rigs.ros_session import wait_until

pytestmark = LONG

SESSION = 2  # what a host may open here is even, what arms is odd: nobody is ever armed
I32 = st.sampled_from([0, -1, -1000, 1, 2**31 - 1, -(2**31)]) | st.integers(-(2**31), 2**31 - 1)
I16 = st.sampled_from([0, -32768, 32767]) | st.integers(-32768, 32767)
controls = st.builds(Control, st.booleans(), st.sampled_from(Mode), st.integers(0, 7))
triples = st.tuples(I16, I16, I16)
bytes_ = st.integers(0, 255)
parameters = st.sampled_from(sorted(Parameter)) | st.integers(0, 0xFFFF)


def wiring(port):
    context = make_context('haptic_5dof', 'can')
    read = read_wiring(context.wiring, context.robot)
    return replace(read, interface='socketcand', channel='can0', port=port, framing='classic')


def harmless(frame):
    """Return the frame with a value that opens or arms no session of its own."""
    if frame.access is not Access.WRITE:
        return frame
    fixed = {Parameter.SESSION: frame.value & ~1, Parameter.ARM: frame.value | 1}
    value = fixed.get(frame.index, frame.value)
    return ParameterFrame(False, frame.access, frame.index, frame.sub, value)


requests = st.builds(
    ParameterFrame,
    st.just(False),
    st.sampled_from(Access),
    parameters,
    st.integers(0, 7) | bytes_,
    I32,
).map(harmless)
frames = st.one_of(
    requests,
    st.builds(Command, st.integers(0, 1), bytes_, controls, triples),
    st.builds(CommandFd, bytes_, controls, st.tuples(*[I16] * 6)),
    st.builds(Sync, bytes_),
    st.builds(HostHeartbeat, st.integers(0, 2**32 - 1)),
).map(lambda frame: (int(frame.id), frame.pack()))
# Any bytes but those of a parameter, which are made above.
raw = st.tuples(
    (st.sampled_from([int(i) for i in CanId]) | st.integers(0, 2**32 - 1)).filter(
        lambda i: i != CanId.PARAMETER_REQUEST
    ),
    st.binary(max_size=64) | st.binary(min_size=8, max_size=8),
)
traffic = st.lists(st.tuples(frames | raw, st.sampled_from([0.0, 0.001, 0.02, 0.5])), max_size=40)


def write(index, value, sub=0):
    """Return the frame that writes a parameter."""
    frame = ParameterFrame(False, Access.WRITE, index, sub, value)
    return int(frame.id), frame.pack()


def make_board(now=0.0):
    return MotorBoard(0x1234, 77, lambda t: np.full(6, 2000.0), now)


def check_answers(answers):
    for identifier, data in answers:
        unpack(identifier, data)  # raises where the board says nonsense


@given(sequence=traffic)
@example(sequence=[(write(Parameter.MAXIMUM_SPEED, -1000), 0.02), (write(0, 0), 0.02)])
@example(sequence=[(write(Parameter.MINIMUM_ANGLE, 32767), 0.0), ((0x080, b'\0'), 0.02)])
@fuzz(200)
def test_a_board_that_nobody_arms_moves_nothing(sequence):
    board, now = make_board(), 0.0
    for (identifier, data), wait in sequence:
        check_answers(board.receive(identifier, data, now))
        now += wait
        check_answers(board.advance(now))
        assert board.state in (BoardState.SAFE, BoardState.ESTOP)
        assert not board.motors.angle.any() and board.applied == 0
    for index in (Parameter.PROTOCOL, Parameter.FAULTS):
        request = ParameterFrame(False, Access.READ, index, 0, 0)
        answers = [unpack(i, d) for i, d in board.receive(int(request.id), request.pack(), now)]
        assert any(isinstance(a, ParameterFrame) and a.access is Access.VALUE for a in answers)


@given(sequence=traffic)
@example(sequence=[(write(Parameter.MINIMUM_ANGLE, 32767, m), 0.0) for m in range(6)])
@fuzz(100)
def test_an_armed_board_stays_in_range_and_disarms_without_its_host(sequence):
    board, now = make_board(), 0.0
    board.receive(*write(Parameter.SESSION, SESSION), now)
    board.receive(*write(Parameter.ARM, SESSION), now)
    assert board.state is BoardState.ARMED
    for (identifier, data), wait in sequence:
        check_answers(board.receive(identifier, data, now))
        now += wait
        check_answers(board.advance(now))
        assert np.abs(board.motors.angle).max() <= 32768.0
    for _ in range(100):
        now += 0.01
        board.advance(now)
    assert board.state is not BoardState.ARMED
    there = board.motors.angle.copy()
    board.advance(now + 1.0)
    np.testing.assert_array_equal(board.motors.angle, there)


# The server ----------------------------------------------------------------------------------


class Bus:
    """A board behind a socketcand server."""

    def __init__(self, patience=5.0):
        self.board = make_board(time.monotonic())
        self.server = SocketcandServer(
            0,
            lambda i, d: self.board.receive(i, d, time.monotonic()),
            lambda: self.board.advance(time.monotonic()),
            patience,
        )
        self.server.start()

    def connect(self):
        """Return a connected client; one that has just gone may still be noticed."""
        end = time.monotonic() + 30.0
        while True:
            try:
                return SocketcandLink(wiring(self.server.port), 0.5, 5.0)
            except DeviceLost:
                assert time.monotonic() < end

    def check(self):
        """Do as a driver does; the motors are where they were."""
        link = self.connect()
        try:
            sync = Sync(1)
            link.send([(int(sync.id), sync.pack())])
            found = []
            wait_until(lambda: found.extend(link.receive()) or len(found) >= 6)
            positions = [f for x in found if isinstance(f := unpack(*x), Position)]
            assert {p.group: p.angles for p in positions} == {0: (0, 0, 0), 1: (0, 0, 0)}
        finally:
            link.close()


@pytest.fixture(scope='module')
def bus():
    made = Bus()
    yield made
    assert threads_called('socketcand') == 1
    made.server.stop()


def as_command(frame):
    identifier, data = frame
    return f'< send {identifier:03X} {len(data):X} {data.hex(" ")} >'.encode()


words = st.sampled_from([
    b'< open can0 >', b'< rawmode >', b'<', b'>', b'< send', b'< send 101 8 1 2 >',
    b'< send FFFFFFFF 0 >', b'< send 101 FF' + b' 00' * 255 + b' >', b'< send -1 0 >',
    b'< send 1_0 0 >', b'< send ' + b'9' * 5000 + b' 0 >', b'< echo >', b'<<>><<>>', b'\0' * 50,
])  # fmt: skip


@given(parts=st.lists(words | frames.map(as_command) | st.binary(max_size=60), max_size=12))
@example(parts=[])
@example(parts=[b'< open can0 >< rawmode >', b'< send 101 8 1 2'])
@example(parts=[b'<' * (2 * LARGEST)])
@fuzz(60)
def test_the_server_outlives_what_is_no_socketcand(bus, parts):
    send_and_hang_up(bus.server.port, b''.join(parts))
    bus.check()


def test_connections_leave_nothing_open(bus):
    bus.check()
    before = open_files()
    for _ in range(100):
        send_and_hang_up(bus.server.port, b'< open can0 >< send 080 1 01 >')
    bus.check()
    wait_until(lambda: open_files() <= before)


def test_a_client_that_reads_nothing_is_given_up(bus):
    sync = as_command((int(CanId.SYNC), b'\1')) * 500
    with socket.create_connection(('127.0.0.1', bus.server.port)) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(20.0)
        client.sendall(b'< open can0 >')
        with pytest.raises(OSError):  # reset, or broken pipe: never "timed out"
            while True:
                client.sendall(sync)
    bus.check()


def test_a_client_that_never_opens_the_bus_keeps_nobody_out():
    bus = Bus(patience=0.3)
    try:
        with socket.create_connection(('127.0.0.1', bus.server.port)):
            bus.check()
        with socket.create_connection(('127.0.0.1', bus.server.port)) as client:
            client.sendall(b'< nonsense')
            bus.check()
    finally:
        bus.server.stop()


# The client ----------------------------------------------------------------------------------


class Peer:
    """Answers a client with bytes from a test: `greeting` at once, the rest once it is opened."""

    def __init__(self, greeting=b'< hi >', endless=False):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.greeting, self.endless = greeting, endless
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        self.client, _ = self.listener.accept()
        try:
            while self.endless:
                self.client.sendall(b'x' * 256)
            self.client.sendall(self.greeting)
            for _ in range(2):
                if self.client.recv(256):
                    self.client.sendall(b'< ok >')
        except OSError:
            pass  # the client did not like the greeting

    def close(self):
        self.thread.join(10.0)
        self.client.close()
        self.listener.close()


FRAME = b'< frame 181 1.5 0102030405060708 >'
said = st.sampled_from(
    [
        FRAME,
        b'< frame',
        b'>',
        b'<',
        b'< error 004 2.0 >',
        b'< frame -5 1 00 >',
        b'\0',
        b'< frame 1_8 1 0 >',
        b'< frame ' + b'F' * 5000 + b' 1 00 >',
        b'< frame 181 1 \xff\xff >',
        b'< frame 181 1 0 >',
    ]
)


@given(parts=st.lists(said | st.binary(max_size=60), max_size=12))
@example(parts=[b'<' * (3 * LONGEST)])
@fuzz(60)
def test_the_client_takes_frames_and_counts_the_rest(parts):
    peer = Peer()
    link = SocketcandLink(wiring(peer.port), 0.5, 10.0)
    try:
        peer.thread.join(10.0)
        data = b''.join([*parts, b'>', FRAME])
        peer.client.sendall(data)
        peer.client.shutdown(socket.SHUT_WR)
        found = []
        with pytest.raises(DeviceLost, match='closed the connection'):
            wait_until(lambda: found.extend(link.receive()))
        assert (0x181, bytes(range(1, 9))) in found
        assert len(found) + link.malformed + link.error_frames <= len(data)
        for identifier, payload in found:
            try:
                unpack(identifier, payload)
            except ProtocolError:
                pass  # `CanBus` counts it
    finally:
        link.close()
        peer.close()


@given(greeting=st.binary(max_size=400))
@example(greeting=b'< hi >' * 3)
@example(greeting=b'x' * (2 * LONGEST))
@fuzz(30)
def test_a_server_that_is_none_is_said_in_time(greeting):
    peer = Peer(greeting)
    began = time.monotonic()
    try:
        SocketcandLink(wiring(peer.port), 0.5, 0.2).close()
    except DeviceLost as error:
        assert 'socketcand' in str(error) and len(str(error)) < 1000
    finally:
        peer.close()
    assert time.monotonic() - began < 20.0


def test_a_server_that_never_ends_its_greeting_does_not_hold_the_driver():
    peer = Peer(b'', endless=True)
    try:
        with pytest.raises(DeviceLost, match='socketcand'):
            SocketcandLink(wiring(peer.port), 0.5, 0.3)
    finally:
        peer.close()
