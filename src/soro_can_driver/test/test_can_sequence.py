# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that the motor board sends back: repeated, late and mixed answers do not count."""

from __future__ import annotations

from collections import deque
import time

import numpy as np
import pytest
from six_motors import six_motors

from soro_can_driver.board import BoardState, EmergencyCode
from soro_can_driver.device import CanDevice
from soro_can_driver.emulator.motor_board import MotorBoard
from soro_can_driver.protocol import Command, CommandFd, Position, unpack
from soro_can_driver.transport import MAX_BEHIND
from soro_driver.device import DeviceTimeout, Fault

TTL = 0.2  # s
COUNT = np.radians(0.1)  # rad, ratio 1


class Wire:
    """A bus that carries at once what the test lets through, both ways."""

    malformed = error_frames = 0

    def __init__(self, board: MotorBoard) -> None:
        self.board, self.late = board, 0
        self.to_board = self.to_host = lambda frame: True
        self._cycles: deque[list] = deque()
        self._arrived: list = []

    def open(self) -> None:
        """Begin anew."""
        self._arrived = []

    def close(self) -> None:
        """Nothing to give back."""

    def send(self, *frames) -> None:
        """Let the board answer; its answers arrive `late` cycles later."""
        answers = []
        for frame in frames:
            if self.to_board(frame):
                answers += self.board.receive(int(frame.id), frame.pack(), time.monotonic())
        told = [frame for frame in (unpack(*a) for a in answers) if self.to_host(frame)]
        self._cycles.append(told)
        while len(self._cycles) > self.late:
            self._arrived += self._cycles.popleft()

    def receive(self):
        """Return what has arrived; the board's heartbeat always has, it is not tested here."""
        beats = [unpack(*answer) for answer in self.board.advance(time.monotonic())]
        found, self._arrived = self._arrived + beats, []
        return found

    def wait(self, end: float) -> bool:
        """Whether there is time left."""
        return time.monotonic() < end


class Rig:
    """The driver's device, a wire and a board, cycle by cycle."""

    def __init__(self, framing: str) -> None:
        self.board = MotorBoard(1, 2, lambda now: np.full(6, 2000.0), time.monotonic())
        limit = np.full(6, 3.0)
        wiring = six_motors(
            interface='none',
            framing=framing,
            ratio=1.0,
            minimum=-limit,
            maximum=limit,
            speed=np.full(6, 100.0),
            step=np.full(6, 6.0),
            tracking=6.0,
            motors=(),
        )
        self.device = CanDevice(wiring)
        self.transport = self.device.transport
        self.wire = self.transport.bus = Wire(self.board)
        self.device.open()
        self.read()

    def read(self, values=None):
        """Do one cycle; returns its reading."""
        self.board.host_at = time.monotonic()  # heartbeats are not what is tested here
        reading = self.device.read()
        if values is not None:
            self.device.write(np.asarray(values, float), TTL)
        return reading

    def counted(self, cycles: int, values=None) -> int:
        """Do cycles; returns in how many of them a new measurement counted."""
        times = [self.read(values).time for _ in range(cycles)]
        return len(set(times)) - 1

    def armed(self):
        self.device.arm()
        self.counted(3, np.zeros(6))
        return self


@pytest.fixture(params=['classic', 'fd'])
def rig(request):
    return Rig(request.param)


@pytest.fixture
def classic():
    return Rig('classic')


@pytest.mark.parametrize('values', [None, np.zeros(6)], ids=['idle', 'commanded'])
def test_every_answer_in_time_counts_across_the_wraps(rig, values):
    if values is not None:
        rig.armed()
    assert rig.counted(601, values) == 600  # u8 wraps twice
    assert rig.transport.stale == 0


def test_applied_set_points_are_those_that_the_board_acts_on(rig):
    rig.armed()
    for k in range(300):
        values = COUNT * np.round(np.linspace(-k, k, 6))
        rig.read(values)
        np.testing.assert_allclose(rig.read(values).applied, values, atol=1e-12)


@pytest.mark.parametrize('state', ['idle', 'armed', 'commanded'])
def test_a_board_that_repeats_its_last_measurement_ages(rig, state):
    if state != 'idle':
        rig.armed()
    values = np.zeros(6) if state == 'commanded' else None
    rig.board.repeats = True
    assert rig.counted(600, values) <= MAX_BEHIND + 1  # the numbers wrap twice
    assert rig.transport.stale >= 600 - MAX_BEHIND - 5
    assert rig.device.link_counts()['stale'] == rig.transport.stale
    rig.board.repeats = False
    assert rig.counted(20, values) >= 18


def test_a_board_that_repeats_itself_is_not_opened(rig):
    rig.counted(20)
    rig.board.repeats = True
    if rig.transport._fd:  # its clock stands still from one connection to the next: not seen
        rig.device.open()
        return
    with pytest.raises(DeviceTimeout, match='old measurements only'):
        rig.device.open()


@pytest.mark.parametrize(('late', 'counts'), [(MAX_BEHIND - 3, True), (MAX_BEHIND + 3, False)])
def test_late_answers_count_up_to_a_limit(rig, late, counts):
    rig.armed()
    rig.wire.late = late
    rig.counted(2 * MAX_BEHIND, np.zeros(6))
    counted = rig.counted(51, np.zeros(6))
    assert counted >= 48 if counts else counted == 0


def test_a_board_that_takes_no_set_points_ages_although_it_answers(rig):
    rig.armed()
    kind = CommandFd if rig.transport._fd else Command
    rig.wire.to_board = lambda frame: not isinstance(frame, kind)
    if kind is CommandFd:  # the board hears the question and not what is wanted
        rig.wire.to_board = lambda frame: True
        rig.board._apply = lambda *args: None
    rig.board._watch = lambda now: None  # and knows no time to live
    assert rig.counted(600, np.zeros(6)) <= MAX_BEHIND + 1
    # What it says about itself is heard all the same.
    rig.board.fail(EmergencyCode.OVER_CURRENT, 1)
    rig.counted(3)
    assert rig.read().faults & Fault.DEVICE


def test_lost_set_points_now_and_then_change_nothing(classic):
    classic.armed()
    lost = iter(range(10**6))
    classic.wire.to_board = lambda frame: not isinstance(frame, Command) or next(lost) % 5
    assert classic.counted(201, np.zeros(6)) == 200


def test_a_disarmed_board_that_took_no_set_points_is_not_stale(rig):
    rig.armed()
    rig.board._apply = lambda *args: None
    rig.counted(100, np.zeros(6))
    rig.device.make_safe()
    rig.counted(2)
    assert rig.counted(51) == 50


def test_a_number_of_the_last_session_is_not_taken_for_one_of_this(classic):
    classic.board._seq = 1  # what a board that was never restarted may remember
    classic.read()
    classic.device.arm()
    classic.wire.to_board = lambda frame: not isinstance(frame, Command)
    for _ in range(5):
        reading = classic.read(np.full(6, 0.5))
    assert np.isnan(reading.applied).all()


@pytest.mark.parametrize(
    'halves',
    [
        [(0, 7), (1, 8)],  # the others rest on another set-point
        [(1, 7), (0, 7)],  # the first half of the cycle before was lost
        [(0, 7), (0, 7)],
    ],
)
def test_halves_of_two_cycles_are_no_measurement(classic, halves):
    classic.armed()
    before = classic.read(np.zeros(6)).measured
    transport, now = classic.transport, time.monotonic()
    for half, seq in halves:
        transport._sort(Position(half, seq, BoardState.ARMED, (10, 20, 30)), now)
    assert transport.time < now
    np.testing.assert_array_equal(transport.angles, before)


def test_lost_halves_cost_their_own_cycle_only(classic):
    classic.counted(3)
    lost = iter([True, False] * 100)
    classic.wire.to_host = lambda frame: (
        not (isinstance(frame, Position) and frame.group == 0) or next(lost)
    )
    assert classic.counted(40) == pytest.approx(20, abs=1)
