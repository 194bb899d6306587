# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Two ways to a CAN bus: python-can, and the batched client of a socketcand server."""

import socket
import threading
import time
import uuid

import can
import numpy as np
import pytest
from six_motors import RATIO, six_motors

from soro_can_driver.board import CanId
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.protocol import Position, Sync, unpack
from soro_driver.device import DeviceError, DeviceLost
from soro_driver.python_can_link import PythonCanLink
from soro_driver.socketcand_link import SocketcandLink
from soro_emulation.socketcand_server import SocketcandServer

ENCODER = np.radians(0.1) / RATIO


def wiring(interface, channel, port=1, framing='classic'):
    return six_motors(
        interface=interface, channel=channel, port=port, framing=framing, tracking=2.0, motors=()
    )


def board():
    return MotorBoard(0x1234, 77, lambda now: np.full(6, 2000.0), time.monotonic())


def test_the_unmodified_client_of_python_can_speaks_with_the_emulated_bus():
    made = board()
    server = SocketcandServer(0, lambda i, d: made.receive(i, d, time.monotonic()), lambda: [])
    server.start()
    bus = can.Bus(interface='socketcand', channel='can0', host='127.0.0.1', port=server.port)
    try:
        made.motors.angle[:] = [1.0, 2.0, 3.0, -4.0, 5.0, 6.0]
        sync = Sync(7)
        bus.send(can.Message(arbitration_id=int(sync.id), data=sync.pack(), is_extended_id=False))
        frames = []
        while len(frames) < 6:
            message = bus.recv(5.0)
            assert message is not None
            frames.append(unpack(message.arbitration_id, bytes(message.data)))
        found = {f.group: f.angles for f in frames if isinstance(f, Position)}
        assert found == {0: (1, 2, 3), 1: (-4, 5, 6)}
    finally:
        bus.shutdown()
        server.stop()
    assert server.malformed == 0


class VirtualBoard:
    """The emulated board on a bus that python-can keeps inside this process."""

    def __init__(self, channel):
        self.bus = can.Bus(interface='virtual', channel=channel)
        self.board = board()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.stopping.is_set():
            message = self.bus.recv(0.002)
            now = time.monotonic()
            frames = list(self.board.advance(now))
            if message is not None:
                frames += self.board.receive(message.arbitration_id, bytes(message.data), now)
            for identifier, data in frames:
                self.bus.send(
                    can.Message(
                        arbitration_id=identifier,
                        data=data,
                        is_extended_id=False,
                        is_fd=len(data) > 8,
                    )
                )

    def close(self):
        self.stopping.set()
        self.thread.join()
        self.bus.shutdown()


@pytest.mark.parametrize('framing', ['classic', 'fd'])
def test_motors_are_driven_through_python_can(framing):
    channel = uuid.uuid4().hex
    served = VirtualBoard(channel)
    device = CanDevice(wiring('virtual', channel, framing=framing))
    goal = np.array([0.2, -0.3, 0.1, 0.0, 0.4, -0.5])
    try:
        assert device.open().serial == '77'
        device.arm()
        end = time.monotonic() + 20.0
        reading = device.read()
        while np.abs(reading.measured - goal).max() > ENCODER:
            assert time.monotonic() < end, reading
            if reading.tripped:  # this computer was busy for longer than the time to live
                device.arm()
            device.write(goal, 0.2)
            threading.Event().wait(0.002)
            reading = device.read()
        device.make_safe()
        bus = device.transport.bus
        assert (bus.malformed, bus.error_frames) == (0, 0)
    finally:
        device.close()
        served.close()


def test_an_interface_that_nobody_knows_is_refused():
    device = CanDevice(wiring('carrier_pigeon', 'can0'))
    with pytest.raises(DeviceError, match='carrier_pigeon'):
        device.open()


class RawServer:
    """Greets as a socketcand server does, then says what a test wants."""

    def __init__(self, greeting=b'< hi >'):
        self.listener = socket.create_server(('127.0.0.1', 0))
        self.port = self.listener.getsockname()[1]
        self.greeting = greeting
        self.client = None
        self.greeted = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        self.client, _ = self.listener.accept()
        self.client.sendall(self.greeting)
        for _ in range(2):
            if self.client.recv(256):
                self.client.sendall(b'< ok >')
        self.greeted.set()

    def close(self):
        self.listener.close()
        self.thread.join()
        self.client.close()


@pytest.fixture
def raw():
    server = RawServer()
    link = SocketcandLink(wiring('socketcand', 'can0', server.port), 0.05, 2.0)
    assert server.greeted.wait(5.0)
    yield server, link
    link.close()
    server.close()


def received(link, count):
    found, end = [], time.monotonic() + 5.0
    while len(found) < count and time.monotonic() < end:
        found += link.receive()
        threading.Event().wait(0.001)
    return found


def test_frames_in_pieces_and_garbage_between_them(raw):
    server, link = raw
    assert link.receive() == []
    server.client.sendall(b'< frame 181 1.5 01')
    threading.Event().wait(0.02)
    assert link.receive() == []
    server.client.sendall(b'02FF >< nonsense >< frame 7 >< error 004 2.0 >< frame 190 3 >')
    assert received(link, 2) == [(0x181, b'\x01\x02\xff'), (0x190, b'')]
    assert (link.malformed, link.error_frames) == (2, 1)


def test_extended_identifiers_are_those_of_others(raw):
    """A socketcand server writes them with eight digits, whatever their value."""
    server, link = raw
    server.client.sendall(b'< frame 00000181 1.5 0102 >< frame 181 1.5 03 >')
    assert received(link, 1) == [(0x181, b'\x03')]
    assert link.malformed == 1


def test_extended_and_remote_frames_of_python_can_are_those_of_others():
    channel = uuid.uuid4().hex
    other = can.Bus(interface='virtual', channel=channel)
    link = PythonCanLink(wiring('virtual', channel), 0.05)
    try:
        for options in (
            {'is_extended_id': True},
            {'is_extended_id': False, 'is_remote_frame': True},
            {'is_extended_id': False},
        ):
            data = None if 'is_remote_frame' in options else bytes(8)
            other.send(can.Message(arbitration_id=0x181, data=data, dlc=8, **options))
        assert received(link, 1) == [(0x181, bytes(8))]
        assert link.malformed == 2
    finally:
        link.close()
        other.shutdown()


def test_a_server_that_goes_is_lost_at_once(raw):
    server, link = raw
    server.client.shutdown(socket.SHUT_RDWR)
    with pytest.raises(DeviceLost, match='closed the connection'):
        received(link, 1)


def test_a_server_that_reads_nothing_does_not_hold_the_loop(raw):
    _, link = raw
    frames = [(int(CanId.COMMAND_A), bytes(8))] * 1000
    begin = time.monotonic()
    with pytest.raises(DeviceLost, match='does not read'):
        for _ in range(10_000):
            link.send(frames)
    assert time.monotonic() - begin < 20.0


def test_a_bus_in_use_is_said_in_the_words_of_the_server():
    server = RawServer(b'< error the bus is in use >')
    try:
        with pytest.raises(DeviceLost, match='the bus is in use'):
            SocketcandLink(wiring('socketcand', 'can0', server.port), 0.05, 1.0)
    finally:
        server.close()
