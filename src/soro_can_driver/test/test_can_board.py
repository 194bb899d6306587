# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The CAN device against the emulated board, over a socketcand server on loopback."""

import threading
import time

import numpy as np
import pytest
from six_motors import RATIO, six_motors

from soro_can_driver.board import BoardState, EmergencyCode
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_driver.device import DeviceError, DeviceLost, Fault, Flag
from soro_emulation.socketcand_server import SocketcandServer
from soro_rigs.held_up import undisturbed
from soro_rigs.ros_session import wait_until

ENCODER = np.radians(0.1) / RATIO
PATIENCE = 20.0  # s, for a board that shares this process and its processor


class PatientDevice(CanDevice):
    """Waits for answers for longer: the board is as late as this computer is busy."""

    io_timeout = open_timeout = PATIENCE


class Rig:
    """A board on loopback and a device that talks to it."""

    def __init__(self, framing='classic', serial=0, direction=1.0, step=2.0):
        self.counts = np.full(6, 2000.0)
        self.lock = threading.Lock()
        self.board = MotorBoard(0x1234, 77, lambda now: self.counts, time.monotonic())
        self.server = SocketcandServer(0, self.receive, self.idle)
        self.server.start()
        self.device = PatientDevice(
            six_motors(
                port=self.server.port,
                framing=framing,
                serial=serial,
                zero=np.full(6, 0.05),
                direction=np.full(6, direction),
                step=np.full(6, step),
                sensors=tuple(f'flex_{i}' for i in range(6)),
            )
        )

    def receive(self, can_id, data):
        with self.lock:
            return self.board.receive(can_id, data, time.monotonic())

    def idle(self):
        with self.lock:
            return self.board.advance(time.monotonic())

    def fresh(self, after=None, within=PATIENCE):
        """Read until a measurement younger than `after` is there."""
        after = time.monotonic() if after is None else after
        end = time.monotonic() + within
        while time.monotonic() < end:
            reading = self.device.read()
            if reading.time > after:
                return reading
            threading.Event().wait(0.001)
        raise AssertionError('no fresh measurement')

    def drive(self, values, arrived=lambda reading: True, ttl=0.2):
        """Command a constant until something is so; returns the reading that shows it."""
        end = time.monotonic() + PATIENCE
        started = self.board.applied
        while time.monotonic() < end:
            reading = self.device.read()
            if self.board.applied > started and arrived(reading):
                return reading
            if reading.tripped:  # this computer was busy for longer than the time to live
                self.device.arm()
            self.device.write(np.asarray(values, float), ttl)
            threading.Event().wait(0.002)
        raise AssertionError(f'did not happen: {reading}')

    def until(self, condition, within=PATIENCE):
        end = time.monotonic() + within
        while time.monotonic() < end:
            reading = self.device.read()
            if condition(reading):
                return reading
            threading.Event().wait(0.002)
        raise AssertionError('did not happen')

    def close(self):
        self.device.close()
        self.server.stop()


@pytest.fixture
def rig(request):
    made = Rig(**getattr(request, 'param', {}))
    yield made
    made.close()


@pytest.mark.parametrize(
    'rig',
    [{'framing': 'classic'}, {'framing': 'fd'}, {'framing': 'classic', 'direction': -1.0}],
    indirect=True,
)
def test_drives_all_six_motors_to_their_angles(rig):
    identity = rig.device.open()
    assert (identity.serial, identity.session) == ('77', 0x1234)
    first = rig.device.read()
    assert np.isfinite(first.time)
    assert np.isfinite(first.measured).all()
    start = rig.fresh()
    np.testing.assert_allclose(start.measured, 0.05)  # encoders at zero
    assert np.all(np.isnan(start.applied))
    rig.device.arm()
    goal = np.array([0.2, -0.3, 0.1, 0.0, 0.4, -0.5])

    def there(reading):
        near = np.abs(reading.measured - goal).max() <= ENCODER
        return near and np.abs(reading.applied - goal).max() <= ENCODER

    reading = rig.drive(goal, there)
    np.testing.assert_allclose(reading.measured, goal, atol=ENCODER)
    np.testing.assert_allclose(reading.applied, goal, atol=ENCODER)
    assert reading.faults == 0
    assert not reading.tripped
    np.testing.assert_array_equal(reading.sensors.raw, 2000.0)
    np.testing.assert_array_equal(reading.sensors.flags, 0)
    rig.device.make_safe()
    assert rig.board.state is BoardState.SAFE
    assert rig.device.transport.bus.malformed == 0
    assert rig.server.malformed == 0


def test_board_holds_then_coasts_when_commands_stop(rig):
    rig.device.open()
    rig.device.arm()
    rig.drive(np.full(6, 0.1), ttl=0.02)
    reading = rig.until(lambda r: r.tripped)
    assert rig.board.state in (BoardState.HOLDING, BoardState.SAFE)
    rig.until(lambda r: rig.board.state is BoardState.SAFE)
    assert np.isfinite(reading.measured).all()


def test_limits_are_kept_by_the_board_and_echoed(rig):
    rig.device.open()
    rig.device.arm()
    reading = rig.drive(np.full(6, 1.5), lambda r: np.abs(r.measured - 1.0).max() < 2 * ENCODER)
    assert np.all(reading.flags & Flag.RATE_LIMITED)


def test_faults_are_named_and_latched_until_reset(rig):
    rig.device.open()
    rig.device.arm()
    rig.drive(np.full(6, 0.1))
    with rig.lock:
        rig.board.fail(EmergencyCode.OVER_CURRENT, 0b000100)
    reading = rig.until(lambda r: r.faults & Fault.DEVICE)
    own = [text for bit, text in CanDevice.fault_text.items() if reading.faults & bit]
    assert own == ['a motor drew too much current']
    assert reading.reason == 'motor_2: a motor drew too much current'
    with pytest.raises(DeviceError, match='wrong state'):
        rig.device.arm()
    rig.device.reset()
    assert rig.until(lambda r: r.faults == 0) is not None
    rig.device.arm()


def test_restarted_board_is_noticed(rig):
    rig.device.open()
    rig.fresh()
    with rig.lock:
        rig.board.reboot(0x4321)
    assert rig.until(lambda r: r.faults & Fault.REBOOT)
    with pytest.raises(DeviceError, match='wrong session'):
        rig.device.arm()


def test_flex_sensor_at_its_end_is_flagged(rig):
    rig.device.open()
    rig.counts = np.array([2000.0, 0.0, 4095.0, 1.0, 4094.0, 5000.0])
    wrong = [False, True, True, False, False, True]

    def flagged(reading):  # what was measured before may be on its way
        return np.array_equal((reading.sensors.flags & Flag.SENSOR_FAULT) != 0, wrong)

    rig.until(flagged)


def test_pulled_cable_and_silence_are_seen_by_age_and_do_not_raise_for_ever(rig):
    rig.device.open()
    before = rig.fresh().time
    rig.server.silent = True
    # What was on its way is read first; then the newest measurement stays what it is, and ages.
    stale = wait_until(lambda: (t := rig.device.read().time) < time.monotonic() - 0.04 and t, 5.0)
    assert stale >= before
    rig.server.silent = False
    rig.fresh()
    rig.server.drop_client()
    end = time.monotonic() + 1.0
    lost = False
    while time.monotonic() < end and not lost:
        try:
            rig.device.read()
        except DeviceLost:
            lost = True
        threading.Event().wait(0.005)
    assert lost or rig.device.transport.time < time.monotonic() - 0.5
    rig.device.close()
    rig.device.open()  # and it can be opened again
    assert rig.fresh().faults == 0


@undisturbed
def test_nobody_listening_is_said_quickly(rig):
    rig.server.stop()
    device, start = CanDevice(rig.device.wiring), time.monotonic()
    with pytest.raises(DeviceLost, match='socketcand 127.0.0.1'):
        device.open()
    assert time.monotonic() - start < 1.0


def test_second_master_is_turned_away(rig):
    rig.device.open()
    other = CanDevice(rig.device.wiring)
    with pytest.raises(DeviceError):
        other.open()
    other.close()
    rig.fresh()


@pytest.mark.parametrize('rig', [{'serial': 5}], indirect=True)
def test_another_board_is_refused(rig):
    with pytest.raises(DeviceError, match='board 77 answers'):
        rig.device.open()


def test_writing_without_arming_is_refused(rig):
    rig.device.open()
    with pytest.raises(DeviceError, match='without arming'):
        rig.device.write(np.zeros(6), 0.1)
