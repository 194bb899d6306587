# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a correction may do to the stream, in virtual time: never more than the motion itself."""

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from test_command_stream import PERIOD, Rig

from soro_mechanics import load_robot
from soro_mechanics.analysis.trajectory import Schedule
from soro_msgs.msg import ActuatorState
from soro_trajectory.command_stream import Phase

TARGET = np.array([0.5e5, 0.5e5, 0.5e5])
MORE = np.array([0.1e5, -0.05e5, 0.0])


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


@pytest.fixture
def rig(robot):
    rig = Rig(robot)
    rig.go_to(TARGET)
    rig.run_until(Phase.HOLD)
    return rig


def test_it_is_added_to_what_is_held_and_to_a_path(rig):
    rig.stream.correct(rig.stream.motion, MORE)
    rig.step(50)
    assert rig.sent[-1] == pytest.approx(TARGET + MORE)
    assert rig.stream.feedforward(rig.now) == pytest.approx(TARGET)
    way = np.linspace(TARGET, TARGET + 0.2e5, 30)
    rig.stream.follow(Schedule(np.linspace(0.0, 1.0, 30), way, np.zeros((30, 3)), 0.0), rig.now)
    rig.step(50)
    assert rig.sent[-1] == pytest.approx(rig.stream.feedforward(rig.now) + MORE)
    rig.run_until(Phase.HOLD)
    assert rig.sent[-1] == pytest.approx(way[-1] + MORE)


def test_a_path_is_read_ahead_as_long_as_its_motion_is_corrected_and_ends_at_its_end(rig):
    way = np.linspace(TARGET, TARGET + 0.2e5, 30)
    path = Schedule(np.linspace(0.0, 1.0, 30), way, np.zeros((30, 3)), 0.0)
    rig.stream.correct(rig.stream.motion, MORE, 0.1)
    rig.step(50)
    assert rig.sent[-1] == pytest.approx(TARGET + MORE)  # nothing is ahead of a target
    rig.stream.follow(path, rig.now)
    begun = rig.now
    rig.step(40)
    ahead = path.actuation_at(rig.now - begun + 0.1)
    assert rig.sent[-1] == pytest.approx(ahead + MORE)
    assert rig.stream.feedforward(rig.now) == pytest.approx(ahead)  # what a correction is added to
    rig.stream.correct(rig.stream.motion, MORE)
    rig.step(20)
    assert rig.sent[-1] == pytest.approx(path.actuation_at(rig.now - begun) + MORE)
    rig.stream.correct(rig.stream.motion, MORE, 0.1)
    rig.run_until(Phase.HOLD)
    assert rig.now - begun > 0.95  # not when its end is read
    assert rig.sent[-1] == pytest.approx(way[-1] + MORE)
    kept = rig.stream.go_to(TARGET, rig.feedback(), rig.now, rig.stream.generation, True, path)
    rig.run_until(Phase.FOLLOW)
    assert kept == rig.stream.motion
    rig.step(30)
    plain = path.actuation_at(rig.now - rig.stream.started)
    assert rig.stream.feedforward(rig.now) == pytest.approx(plain)


def test_what_it_adds_to_is_known_on_the_way_and_where_limits_cut_it(rig, robot):
    assert rig.stream.uncorrected == pytest.approx(TARGET)
    rig.stream.correct(rig.stream.motion, MORE)
    rig.step(50)
    assert rig.stream.uncorrected == pytest.approx(TARGET)
    rig.stream.go_to(2.0 * TARGET / 3.0, rig.feedback(), rig.now, rig.stream.generation, True)
    rig.step(5)
    assert rig.stream.phase is Phase.RAMP  # its target is not where it is
    assert rig.stream.uncorrected == pytest.approx(rig.sent[-1] - MORE)
    rig.stream.correct(rig.stream.motion, 20.0 * MORE)
    rig.step(200)
    assert not robot.violations(rig.stream.uncorrected)


def test_another_motion_begins_without_it_unless_it_is_kept(rig):
    first = rig.stream.motion
    rig.stream.correct(first, MORE)
    rig.step(50)
    kept = rig.stream.go_to(TARGET, rig.feedback(), rig.now, rig.stream.generation, True)
    rig.step(50)
    assert rig.sent[-1] == pytest.approx(TARGET + MORE)
    rig.go_to(TARGET)
    for ended in (first, kept):
        rig.stream.correct(ended, 2 * MORE)
    rig.step(50)
    assert np.array_equal(rig.sent[-1], TARGET)


def test_hold_means_where_the_robot_is(rig):
    rig.stream.correct(rig.stream.motion, MORE)
    rig.step(1)
    on_the_way = rig.sent[-1].copy()
    assert 0.0 < on_the_way[0] - TARGET[0] < MORE[0]
    rig.stream.hold(rig.now)
    rig.step(50)
    assert np.array_equal(rig.sent[-1], on_the_way)


@pytest.mark.parametrize('how', ['stop', 'fault', 'release', 'other', 'silence'])
def test_what_was_stopped_is_moved_by_no_correction(rig, how):
    motion = rig.stream.motion
    rig.stream.correct(motion, MORE)
    rig.step(2)
    if how == 'stop':
        rig.stops += 1
    elif how == 'fault':
        rig.state = ActuatorState.FAULT
    elif how == 'other':
        rig.source = '/somebody'
    elif how == 'silence':
        rig.stream.tick(None, rig.now + PERIOD)
    else:
        rig.stream.release()
    rig.step()
    count = len(rig.sent)
    for identity in (motion, rig.stream.motion, rig.stream.motion + 1):
        rig.stream.correct(identity, MORE)
        rig.step(20)
    assert len(rig.sent) == count
    assert rig.stream.phase is Phase.IDLE
    assert rig.stream.feedforward(rig.now) is None
    # Nothing of it is left in what is asked for afterwards.
    rig.state, rig.source = ActuatorState.ACTIVE, ''
    rig.now += 1.0
    rig.go_to(TARGET)
    rig.run_until(Phase.HOLD)
    assert np.array_equal(rig.sent[-1], TARGET)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_whatever_is_added_limits_and_rates_are_kept(robot, seed):
    random = np.random.default_rng(seed)
    rig = Rig(robot)
    rig.go_to(TARGET)
    for _ in range(6):
        rig.step(int(random.integers(1, 30)))
        rig.stream.correct(rig.stream.motion, random.normal(0.0, 1e5, 3))
    sent = np.array(rig.sent)
    assert all(robot.feasible(a) for a in sent)
    rates = np.array([a.rate for a in robot.actuators])
    assert np.all(np.abs(np.diff(sent, axis=0)) <= rates * PERIOD * (1 + 1e-9))
