# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated motor board by itself, in time of its own: what it applies, judges and refuses."""

import math

import numpy as np
import pytest

from soro_can_driver.board import Access, BoardState, CanId, EmergencyCode, Mode, Parameter, Status
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.frame import Control
from soro_can_driver.protocol import Command, EmergencyStop, ParameterFrame, Sync, unpack
from soro_mechanics.actuator_models.motor import MotorProperties, PositionDrive


def quiet_board():
    board = MotorBoard(1, 1, lambda now: np.full(6, 2000.0), 0.0)

    def write(index, value, now, motor=0):
        frame = ParameterFrame(False, Access.WRITE, index, motor, value)
        return board.receive(frame.id, frame.pack(), now)

    write(Parameter.SESSION, 9, 0.0)
    write(Parameter.ARM, 9, 0.0)
    return board, write


def send(board, frame, now):
    return board.receive(frame.id, frame.pack(), now)


LIMITS = {
    Parameter.MAXIMUM_SPEED: 6000,
    Parameter.MAXIMUM_STEP: 50,
    Parameter.MAXIMUM_ERROR: 300,
}  # deg/s and 0.1 deg


class LimitedBoard:
    """An armed board with limits, driven in time of its own; no bus, no clock."""

    def __init__(self):
        self.board, write = quiet_board()
        for index, value in LIMITS.items():
            for motor in range(6):
                write(index, value, 0.0, motor)
        self.now, self.seq = 0.0, 0

    def set(self, angles, skip=0):
        """Send a set-point 2 ms later; `skip` of them were lost before it."""
        self.now += 0.002 * (1 + skip)
        self.seq = (self.seq + 1 + skip) & 0xFF
        self.board.host_at = self.now
        good = Control(True, Mode.POSITION, 4)
        a, b, c, d, e, f = angles
        halves = Command(0, self.seq, good, (a, b, c)), Command(1, self.seq, good, (d, e, f))
        return [
            x for frame in (*halves, Sync(self.seq)) for x in send(self.board, frame, self.now)
        ]

    def keep(self, seconds):
        """Repeat the target for a while."""
        angles = [int(x) for x in self.board.target]
        for _ in range(round(seconds / 0.002)):
            self.set(angles)

    @property
    def emergency(self):
        """Codes of what the board latched."""
        return {code for code in EmergencyCode if self.board.faults >> code & 1}


def emergencies(frames):
    return [unpack(i, d) for i, d in frames if i == CanId.EMERGENCY]


def test_first_set_point_far_from_the_motors_moves_nothing():
    limited = LimitedBoard()
    frames = limited.set([0, 0, 151, 0, 0, -151])
    assert limited.board.state is BoardState.FAULT
    (emergency,) = emergencies(frames)
    assert (emergency.code, emergency.motors) == (EmergencyCode.FIRST_COMMAND, 0b100100)
    limited.keep(0.1)
    np.testing.assert_array_equal(limited.board.motors.angle, 0.0)


def test_first_set_point_within_the_band_is_taken():
    limited = LimitedBoard()
    limited.set([0, 0, 150, 0, 0, -150])
    assert limited.board.state is BoardState.ARMED
    np.testing.assert_array_equal(limited.board.target, [0, 0, 150, 0, 0, -150])


@pytest.mark.parametrize('lost', [0, 1, 9])
def test_steps_are_limited_for_every_set_point_since_the_last_one(lost):
    limited = LimitedBoard()
    limited.set([0] * 6)
    limited.set([2000, -2000, 10, 0, 0, 0], skip=lost)
    most = 50 * (1 + lost)
    np.testing.assert_array_equal(limited.board.target, [most, -most, 10, 0, 0, 0])
    assert limited.board.status_bits & Status.SATURATED
    limited.set([most + 50, -most, 10, 0, 0, 0])
    assert not limited.board.status_bits & Status.SATURATED


@pytest.mark.parametrize('back', [0, 1, 127])
def test_a_set_point_that_comes_again_or_late_moves_nothing_and_keeps_nothing_alive(back):
    limited = LimitedBoard()
    for _ in range(130):
        limited.set([40, 0, 0, 0, 0, 0])
    taken = limited.board.applied
    while limited.board.state is BoardState.ARMED:
        limited.seq = (limited.seq - 1 - back) & 0xFF  # as before, or before that
        limited.set([2000, 0, 0, 0, 0, 0])
        limited.seq = (limited.seq + back) & 0xFF
        assert limited.now < 10.0
    assert limited.board.applied == taken and limited.board.stale > 0
    np.testing.assert_allclose(limited.board.target, [40, 0, 0, 0, 0, 0], atol=1e-9)
    assert limited.board.state is BoardState.HOLDING


@pytest.mark.parametrize('lost', [20, 40])
def test_a_long_gap_lifts_the_limit_of_a_step_no_further(lost):
    limited = LimitedBoard()
    limited.set([0] * 6)
    limited.set([2000, 0, 0, 0, 0, 0], skip=lost)
    np.testing.assert_array_equal(limited.board.target, [500, 0, 0, 0, 0, 0])


def ramp(limited, steps):
    for k in range(1, steps + 1):
        limited.set([20 * k, 0, 0, 0, 0, 0])


def test_stalled_motor_is_found_by_its_error_within_its_time():
    limited = LimitedBoard()
    ramp(limited, 100)  # 20 counts in 2 ms: 1000 deg/s, with a lag of 55 counts
    assert limited.board.state is BoardState.ARMED
    limited.board.motors.stalled[0] = True
    ramp_from, began = limited.board.motors.angle[0], limited.now
    while limited.board.state is BoardState.ARMED and limited.now < began + 1.0:
        target = limited.board.target[0] + 20
        limited.set([int(target), 0, 0, 0, 0, 0])
    assert limited.emergency == {EmergencyCode.TRACKING}
    # It takes (300 - 55) / 10 ms until the error is there, and 50 ms more.
    assert limited.now - began == pytest.approx(0.0245 + 0.05, abs=0.006)
    assert limited.board.motors.angle[0] == ramp_from


def test_a_load_takes_a_motor_from_its_set_point():
    limited, motor = LimitedBoard(), MotorProperties(1e-3, 2.0, 0.01, 0.01, 20.0, 0.4)
    unit = math.radians(0.1) / 14.0  # of an output behind gears of 14
    axes = [PositionDrive(0.0, math.inf, 1.0, motor, unit) for _ in range(6)]
    limited.board.motors.axes = axes
    limited.set([0] * 6)
    for load in np.linspace(0.0, 0.5, 400):
        axes[2].load = load
        limited.set([0] * 6)
    assert not limited.emergency
    assert -unit * limited.board.motors.angle[2] == pytest.approx(0.5 / 20.0, abs=2e-3)
    for load in np.linspace(0.5, 2.3, 1200):  # beyond what the board lets it give way
        axes[2].load = load
        limited.set([0] * 6)
    assert limited.emergency == {EmergencyCode.TRACKING}
    assert limited.board.state is BoardState.FAULT
    assert limited.board.motors.angle[2] < -1000.0  # without torque
    assert (np.delete(limited.board.motors.angle, 2) == 0.0).all()


def test_motor_that_turns_the_wrong_way_is_found_before_its_error_is():
    limited = LimitedBoard()
    limited.set([0] * 6)
    limited.board.motors.reversed[1] = True
    frames = []
    for k in range(1, 100):
        frames += limited.set([0, 10 * k, 0, 0, 0, 0])
    (emergency,) = emergencies(frames)
    assert (emergency.code, emergency.motors) == (EmergencyCode.REVERSED, 0b10)


@pytest.mark.parametrize(('degrees', 'faulty'), [(11.0, False), (-11.0, False), (13.0, True)])
def test_encoder_that_jumps_farther_than_a_motor_turns_is_a_fault(degrees, faulty):
    limited = LimitedBoard()
    limited.set([0] * 6)
    limited.board.slip_encoder(3, degrees)  # 6000 deg/s: at most 12 deg in a cycle
    assert (limited.board.state is BoardState.FAULT) == faulty
    assert limited.emergency == ({EmergencyCode.ENCODER_JUMP} if faulty else set())
    if not faulty:  # nobody can see it: the motor is turned back to where the encoder was
        limited.keep(0.1)
        assert limited.board.motors.encoder[3] == pytest.approx(0.0, abs=0.1)
        assert limited.board.motors.angle[3] == pytest.approx(-10.0 * degrees, abs=0.1)


def test_torn_command_is_not_applied():
    board, _ = quiet_board()
    good = Control(True, Mode.POSITION, 4)
    send(board, Command(0, 1, good, (100, 100, 100)), 0.001)
    send(board, Command(1, 2, good, (100, 100, 100)), 0.001)
    send(board, Sync(1), 0.001)
    assert board.applied == 0
    for half in range(2):
        send(board, Command(half, 3, good, (100, 100, 100)), 0.002)
    assert board.applied == 0  # not before the SYNC
    send(board, Sync(2), 0.002)
    assert board.applied == 1


def test_motors_settle_in_the_published_time():
    board, _ = quiet_board()
    good = Control(True, Mode.POSITION, 6)
    for half in range(2):
        send(board, Command(half, 1, good, (1000, 1000, 1000)), 0.0)
    send(board, Sync(1), 0.0)
    board.advance(0.022)
    np.testing.assert_allclose(board.motors.angle, 1000.0, rtol=0.02)
    assert np.all(board.motors.angle < 1000.0)


def test_emergency_stop_outlasts_everything_but_a_reset():
    board, write = quiet_board()
    frames = send(board, EmergencyStop(0), 0.001)
    assert board.state is BoardState.ESTOP
    assert frames[0][0] == CanId.EMERGENCY
    write(Parameter.ARM, 9, 0.002)
    write(Parameter.DISARM, 0, 0.002)
    assert board.state is BoardState.ESTOP
    write(Parameter.RESET, 8, 0.003)  # another session
    assert board.state is BoardState.ESTOP
    write(Parameter.RESET, 9, 0.003)
    assert board.state is BoardState.SAFE


def test_host_that_dies_disarms_the_board():
    board, _ = quiet_board()
    good = Control(True, Mode.POSITION, 6)
    for k in range(300):
        now = 0.002 * k
        for half in range(2):
            send(board, Command(half, k & 255, good, (0, 0, 0)), now)
        send(board, Sync(k & 255), now)
    # Commands went on, heartbeats did not: whoever sends is not the host of this session.
    assert board.state is BoardState.SAFE


def test_garbage_on_the_bus_changes_nothing():
    board, _ = quiet_board()
    rng = np.random.default_rng(0)
    harmless = [i for i in range(0x800) if i not in tuple(CanId)]
    for _ in range(20000):
        can_id = int(rng.choice(harmless))
        assert board.receive(can_id, rng.bytes(int(rng.integers(0, 9))), 0.0) == []
    for can_id in CanId:
        assert board.receive(can_id, b'\xff' * 7, 0.0) == []
    assert board.state is BoardState.ARMED
