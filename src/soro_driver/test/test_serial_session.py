# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Link and session over a pty, with a device that answers as a function says."""

from dataclasses import replace
import errno
import fcntl
import os
import select
import termios
import threading
import time
import tty

import pytest

from soro_driver.device import DeviceError, DeviceLost, DeviceTimeout
from soro_driver.serial import frame as sf
from soro_driver.serial import link as serial_link
from soro_driver.serial.link import SerialLink
from soro_driver.serial.session import Refused, SerialSession

IDENTITY = sf.HelloAck(
    session=0,
    major=1,
    minor=0,
    kind=sf.DeviceKind.PRESSURE,
    state=sf.SerialState.SAFE,
    serial=42,
    boot_id=7,
    firmware_major=1,
    firmware_minor=2,
    channels=3,
    shortest_ttl=20,
    longest_ttl=200,
    minimum=0,
    maximum=40000,
)


class Device:
    """A pty whose other end answers HELLO and whatever `answer` says."""

    def __init__(self):
        self.master, slave = os.openpty()
        os.set_blocking(self.master, False)  # what was there may be flushed before it is read
        tty.setraw(slave)
        self.path = os.ttyname(slave)
        os.close(slave)  # the master sees a hang-up until the port is opened; harmless
        self.identity = IDENTITY
        self.answer = lambda frame: [sf.Ack(frame.seq, frame.type).frame(0)]
        self.heard = []
        self.deaf = False
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        reader = sf.FrameReader()
        while not self.stopping.is_set():
            readable, _, _ = select.select([self.master], [], [], 0.01)
            if not readable or self.deaf:
                self.stopping.wait(0.002)
                continue
            try:
                data = os.read(self.master, 4096)
            except OSError:
                self.stopping.wait(0.01)  # nobody has the port open
                continue
            for frame in reader.feed(data):
                self.heard.append(frame)
                for reply in self.reply(frame):
                    os.write(self.master, reply.pack())

    def reply(self, frame):
        if frame.type != sf.SessionType.HELLO:
            return self.answer(frame)
        session = sf.Hello.unpack(frame.body).session
        return [replace(self.identity, session=session).frame(frame.seq)]

    def unplug(self):
        self.stopping.set()
        self.thread.join()
        if self.master >= 0:
            os.close(self.master)
            self.master = -1


@pytest.fixture
def device():
    made = Device()
    yield made
    made.unplug()


@pytest.fixture
def session(device):
    made = SerialSession(SerialLink(device.path, 115200), sf.DeviceKind.PRESSURE, 3)
    yield made
    made.close()


def test_hello_tells_who_answers(device, session):
    assert session.open(2.0) == replace(IDENTITY, session=session.number)
    assert session.number != 0
    first = session.number
    session.open(2.0)
    assert session.number != first


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'major': 2}, 'speaks protocol 2'),
        ({'kind': 3}, 'kind valves answers'),
        ({'channels': 6}, 'has 6 channels'),
    ],
)
def test_wrong_devices_are_refused(device, session, change, words):
    device.identity = replace(IDENTITY, **change)
    with pytest.raises(DeviceError, match=words):
        session.open(2.0)


def test_another_version_of_the_frame_is_refused(device, session):
    def reply(frame):
        return [sf.Frame(sf.SessionType.HELLO_ACK, 0, b'anything', version=0x20)]

    device.reply = reply
    with pytest.raises(DeviceError, match='speaks protocol 2'):
        session.open(2.0)


def test_serial_number_of_the_robot_file(device):
    session = SerialSession(SerialLink(device.path, 115200), sf.DeviceKind.PRESSURE, 3, serial=41)
    with pytest.raises(DeviceError, match='device 42 answers'):
        session.open(2.0)
    session.close()


def test_request_is_repeated_with_the_same_number(device, session):
    session.open(2.0)
    heard = []

    def answer_the_second(frame):
        heard.append(frame.seq)
        return [sf.Ack(frame.seq, frame.type, 99).frame(0)] if len(heard) == 2 else []

    device.answer = answer_the_second
    assert session.request(sf.Arm(session.number), 1.5).detail == 99
    assert len(heard) == 2 and heard[0] == heard[1]


def test_what_is_no_frame_of_ours_is_counted(device, session):
    session.open(2.0)
    assert session.counts() == {'frames': 1, 'crc_errors': 0, 'malformed': 0, 'strange': 0}
    broken = bytearray(sf.Ack(1, 1).frame(0).pack())
    broken[-2] ^= 0x10  # the last byte of the checksum; the zero behind it ends the frame
    good = sf.Ack(1, 1).frame(0).pack()
    os.write(device.master, bytes(broken) + b'\x05\x01\0' + good)
    assert session.link.wait(time.monotonic() + 5.0)
    assert session.counts() == {'frames': 2, 'crc_errors': 1, 'malformed': 1, 'strange': 0}


def test_nack_is_an_error_with_its_reason(device, session):
    session.open(2.0)
    device.answer = lambda f: [sf.Nack(f.seq, f.type, sf.Reason.SESSION, 3).frame(0)]
    with pytest.raises(Refused, match='refused Arm: session') as caught:
        session.request(sf.Arm(1), 1.0)
    assert (caught.value.reason, caught.value.detail) == (sf.Reason.SESSION, 3)


def test_silence_is_a_timeout(device, session):
    session.open(2.0)
    device.answer = lambda frame: []
    with pytest.raises(DeviceTimeout, match='did not answer Reset'):
        session.request(sf.Reset(1), 0.3)
    device.deaf = True
    with pytest.raises(DeviceTimeout, match='no device answers'):
        session.open(0.3)


def take(session, count=1):
    found, end = [], time.monotonic() + 5.0
    while len(found) < count:
        assert time.monotonic() < end
        session.link.wait(time.monotonic() + 0.05)
        found += session.take()
    return found


def test_other_frames_come_in_order_with_their_times(device, session):
    session.open(2.0)
    own = [sf.Frame(0x90, i, bytes(3)) for i in range(3)]
    device.answer = lambda f: [own[0], sf.Ack(f.seq, f.type).frame(0), own[1], own[2]]
    before = time.monotonic()
    session.request(sf.Arm(1), 1.0)
    arrivals = take(session, 3)
    assert [a.frame for a in arrivals] == own
    assert before <= arrivals[0].time <= arrivals[2].time <= time.monotonic()


def test_restart_is_noticed(device, session):
    session.open(2.0)
    again = replace(IDENTITY, boot_id=8).frame(0)
    device.answer = lambda f: [again, sf.Ack(f.seq, f.type).frame(0)]
    session.request(sf.Arm(1), 1.0)
    session.take()
    assert session.rebooted
    session.open(2.0)
    assert not session.rebooted


def test_closed_pty_is_a_lost_device(device, session):
    session.open(2.0)
    device.unplug()
    end = time.monotonic() + 2.0
    with pytest.raises(DeviceLost):
        while time.monotonic() < end:
            session.link.wait(time.monotonic() + 0.1)
            session.take()
    with pytest.raises(DeviceLost):
        for _ in range(100):
            session.link.send(sf.Arm(1))
    with pytest.raises(DeviceLost):
        session.open(0.5)  # there is no such port any more


def test_peer_that_does_not_read_costs_the_write_timeout(device, session):
    session.open(2.0)
    device.deaf = True
    block = b'\1' * 250 + b'\0'
    start = time.monotonic()
    with pytest.raises(DeviceTimeout, match='does not read'):
        for _ in range(4000):
            session.link.send_bytes(block)
    assert time.monotonic() - start < 2.0
    session.close()  # does not wait for what was not read


def test_port_belongs_to_one(device, session):
    session.open(2.0)
    with pytest.raises(DeviceError, match='in use'):
        SerialLink(device.path, 115200).open()
    session.close()
    other = SerialLink(device.path, 115200)
    other.open()
    other.close()


def exclusive(path):
    """Whether the kernel refuses the line to others (TIOCGEXCL); root may still open it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError as error:
        return error.errno == errno.EBUSY
    try:
        return any(fcntl.ioctl(file, 0x80045440, b'\0' * 4))
    finally:
        os.close(file)


@pytest.mark.parametrize('real', [True, False])
def test_the_line_is_refused_to_others_until_it_is_given_back(device, monkeypatch, real):
    """Not that of a pty: nobody could open it once a driver was killed."""
    if real:
        monkeypatch.setattr(serial_link, 'PTYS', '/nowhere/')
    link = SerialLink(device.path, 115200)
    link.open()
    assert exclusive(device.path) == real
    link.close()
    assert not exclusive(device.path)


@pytest.mark.parametrize('number', [errno.EBUSY, errno.EAGAIN])
def test_a_port_that_another_process_has_is_no_lost_device(device, monkeypatch, number):
    def refuse(*arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(serial_link, '_refuse_others', refuse)
    with pytest.raises(DeviceError, match='in use by another process') as error:
        SerialLink(device.path, 115200).open()
    assert not isinstance(error.value, DeviceLost)


@pytest.mark.parametrize('call', ['tcsetattr', 'tcflush'])
def test_a_port_that_vanishes_while_it_is_opened_is_a_lost_device(
    device, session, monkeypatch, call
):
    def fail(*arguments):
        raise termios.error(5, 'Input/output error')

    with monkeypatch.context() as patch:
        patch.setattr(termios, call, fail)
        with pytest.raises(DeviceLost, match=f'{device.path}: Input/output error'):
            session.open(2.0)
    session.open(2.0)


def test_whatever_keeps_a_port_from_being_opened_the_lock_is_given_back(device, monkeypatch):
    def fail(*arguments):
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(termios, 'tcsetattr', fail)
        with pytest.raises(MemoryError):
            SerialLink(device.path, 115200).open()
    other = SerialLink(device.path, 115200)
    other.open()
    other.close()


def test_a_number_that_does_not_fit_its_field_is_an_error_of_the_device(device, session):
    session.open(2.0)
    heard = len(device.heard)
    with pytest.raises(DeviceError, match='not sent: Arm: '):
        session.link.send(sf.Arm(2**32))
    session.request(sf.Arm(session.number), 1.0)
    assert [frame.body for frame in device.heard[heard:]] == [sf.Arm(session.number).pack()]


def test_missing_port():
    with pytest.raises(DeviceLost, match='nowhere'):
        SerialLink('/dev/nowhere', 115200).open()
