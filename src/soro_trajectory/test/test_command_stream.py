# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The stream against an ideal driver in virtual time: every phase, every reason to stop."""

from threading import Thread
from types import SimpleNamespace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.analysis.trajectory import SampledPath, schedule
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.section import Section
from soro_msgs.msg import ActuatorState
from soro_node.inputs.actuator_feedback import ActuatorFeedback
from soro_node.inputs.driver_constants import STOPPED_BIT
from soro_trajectory.command_stream import CommandStream, pause_of_driver, Phase, SILENCE
from soro_trajectory.nearest_feasible import nearest_feasible
from soro_trajectory.stream_action import check_goes_on
from soro_trajectory.stream_error import StreamError

ME = '/arm/trajectory_planner'
PERIOD = 0.01
START = np.array([0.2e5, 0.1e5, 0.0])


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def feedback(present, state=ActuatorState.ACTIVE, source=ME, stops=0, faults=0):
    present = np.array(present, dtype=float)
    return ActuatorFeedback(present, present, 0, 0.0, state, faults, source, stops)


class Rig:
    """A stream and a driver that does at once what it is told."""

    def __init__(self, robot, slew=1.0, pause=0.0):
        self.robot = robot
        self.stream = CommandStream(robot, ME, PERIOD, slew, takeover_timeout=0.5, pause=pause)
        self.now = 0.0
        self.present = START.copy()
        self.state = ActuatorState.ACTIVE
        self.source = ''
        self.stops = self.faults = 0
        self.sent = []

    def feedback(self):
        return feedback(self.present, self.state, self.source, self.stops, self.faults)

    def go_to(self, target):
        self.stream._watch(self.feedback(), self.now)  # as `note_arrival` does, ignoring or not
        self.stream.go_to(
            np.array(target, dtype=float), self.feedback(), self.now, self.stream.generation
        )

    def step(self, count=1):
        for _ in range(count):
            self.now += PERIOD
            value = self.stream.tick(self.feedback(), self.now)
            if value is not None:
                self.sent.append(value)
                if self.source in ('', ME):
                    self.present, self.source = value, ME

    def run_until(self, phase, most=2000):
        for _ in range(most):
            if self.stream.phase is phase:
                return
            self.step()
        raise AssertionError(f'still {self.stream.phase}')


@pytest.fixture
def rig(robot):
    return Rig(robot)


def test_nothing_is_sent_before_a_target(rig):
    rig.step(50)
    assert rig.sent == []


def test_first_command_is_the_measurement_and_the_last_the_target(rig):
    rig.go_to([1.0e5, 0.0, 0.5e5])
    rig.run_until(Phase.HOLD)
    assert np.array_equal(rig.sent[0], START)
    rig.step(100)
    assert np.array_equal(rig.sent[-1], [1.0e5, 0.0, 0.5e5])
    assert len(rig.sent) > 100  # it is held, not sent once


def test_ramp_takes_the_time_of_the_slowest_actuator(robot):
    rig = Rig(robot, slew=0.5)
    rig.go_to([1.2e5, 0.1e5, 0.0])
    rig.run_until(Phase.HOLD)
    rate = 0.5 * robot.actuators[0].rate
    assert (len(rig.sent) - 1) * PERIOD == pytest.approx(1.0e5 / rate, abs=2.5 * PERIOD)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_ramps_between_feasible_targets_stay_feasible_and_slow_enough(robot, seed):
    rng = np.random.default_rng(seed)
    rig = Rig(robot)
    low, high = robot.limits.T
    for _ in range(3):
        rig.go_to(nearest_feasible(robot, rng.uniform(low, high)))
        rig.step(int(rng.integers(1, 60)))  # the next target may come on the way
    sent = np.array(rig.sent)
    assert all(robot.feasible(a) for a in sent)
    rates = np.array([a.rate for a in robot.actuators])
    assert np.all(np.abs(np.diff(sent, axis=0)) <= rates * PERIOD * (1 + 1e-9))


@pytest.mark.parametrize(
    'target', [[-1e4, 0, 0], [1.6e5, 0, 0], [1.4e5, 1.4e5, 0.0], [np.nan, 0, 0]]
)
def test_targets_beyond_a_limit_are_refused_and_change_nothing(rig, target):
    rig.go_to([0.3e5, 0.3e5, 0.3e5])
    rig.run_until(Phase.HOLD)
    with pytest.raises(InvalidInput):
        rig.go_to(target)
    rig.step(10)
    assert np.array_equal(rig.sent[-1], [0.3e5] * 3)


@pytest.mark.parametrize(
    ('state', 'code'),
    [
        (ActuatorState.UNCONFIGURED, Code.NOT_ACTIVE),
        (ActuatorState.INACTIVE, Code.NOT_ACTIVE),
        (ActuatorState.FAULT, Code.DEVICE_FAULT),
        (ActuatorState.ESTOP, Code.DEVICE_FAULT),
    ],
)
def test_a_driver_that_may_not_move_refuses_targets_and_stops_the_stream(rig, state, code):
    rig.state = state
    with pytest.raises(StreamError) as caught:
        rig.go_to([0.3e5] * 3)
    assert caught.value.code is code
    rig.state = ActuatorState.ACTIVE
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.state = state
    count = len(rig.sent)
    rig.step(10)
    assert rig.stream.stopped.code is code
    assert len(rig.sent) == count  # not one more command


def test_nothing_resumes_by_itself(rig):
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.state = ActuatorState.SAFE
    rig.step()
    rig.state = ActuatorState.ACTIVE
    count = len(rig.sent)
    rig.step(100)
    assert len(rig.sent) == count
    assert 'soro stop --clear' in str(rig.stream.stopped)
    rig.go_to([0.2e5] * 3)
    rig.run_until(Phase.HOLD)
    assert rig.stream.stopped is None


def test_takeover_follows_a_driver_in_its_safe_action_until_it_obeys(rig):
    """The measured value sinks; the command sinks with it, so the driver's band is kept."""
    rig.state, rig.source = ActuatorState.SAFE, ''
    rig.go_to([0.5e5] * 3)
    for k in range(20):
        rig.present = START * (1.0 - k / 20)
        rig.now += PERIOD
        value = rig.stream.tick(feedback(rig.present, ActuatorState.SAFE, ''), rig.now)
        assert np.array_equal(value, rig.present)
    rig.state = ActuatorState.ACTIVE
    rig.run_until(Phase.HOLD)
    assert np.array_equal(rig.sent[-1], [0.5e5] * 3)


def never_obeyed(rig, state):
    """Return how long the stream tries [s]."""
    rig.state = state
    rig.go_to([0.5e5] * 3)
    begin = rig.now
    while rig.stream.phase is Phase.TAKEOVER:
        rig.now += PERIOD
        rig.stream.tick(feedback(rig.present, state, ''), rig.now)
        assert rig.now - begin < 10.0
    assert rig.stream.stopped.code is Code.NOT_IN_CONTROL
    return rig.now - begin


def test_a_driver_that_never_obeys_is_given_up(rig):
    assert never_obeyed(rig, ActuatorState.ACTIVE) == pytest.approx(0.5, abs=2.0 * PERIOD)
    assert 'did not obey within 0.5 s' in str(rig.stream.stopped)


@pytest.mark.parametrize('name', ['stiff_flop', 'pam_continuum'])
def test_a_driver_in_its_safe_action_has_the_time_of_the_longest_ramp_more(name):
    robot = load_robot(name)
    rig = Rig(robot)
    rig.present = np.array([a.rest for a in robot.actuators])
    rig.state = ActuatorState.SAFE
    rig.stream.go_to(rig.present, rig.feedback(), 0.0, rig.stream.generation)
    ramp = max((a.maximum - a.rest) / a.rate for a in robot.actuators)
    end = ramp + 0.4
    while rig.now < end:
        rig.now += PERIOD
        rig.stream.tick(feedback(rig.present, ActuatorState.SAFE, ''), rig.now)
    assert rig.stream.phase is Phase.TAKEOVER
    rig.state, rig.source = ActuatorState.ACTIVE, ME
    rig.run_until(Phase.HOLD)


@pytest.mark.parametrize(
    'way',
    [
        (ActuatorState.ACTIVE, ActuatorState.SAFE),
        (ActuatorState.SAFE, ActuatorState.INACTIVE, ActuatorState.ACTIVE),
    ],
)
def test_a_stop_during_the_takeover_ends_the_target(rig, way):
    rig.state = way[0]
    rig.step()
    rig.go_to([0.5e5] * 3)
    for state in way[1:]:
        rig.state = state
        assert rig.stream.tick(feedback(START, state, ''), rig.now + PERIOD) is None
    rig.state = ActuatorState.ACTIVE
    rig.step(200)
    assert rig.stream.phase is Phase.IDLE and not rig.sent


@pytest.mark.parametrize('sent', [0, 1, 5])
@pytest.mark.parametrize('state', [ActuatorState.ACTIVE, ActuatorState.SAFE])
def test_a_stop_that_leaves_the_drivers_state_as_it_is_ends_the_target(rig, state, sent):
    rig.state, rig.source = state, '/arm/somebody'  # commands of ours reach nobody yet
    rig.step()
    rig.source = ''
    rig.go_to([0.5e5] * 3)
    for _ in range(sent):
        rig.now += PERIOD
        assert rig.stream.tick(rig.feedback(), rig.now) is not None
    rig.stops += 1
    rig.step(300)
    assert rig.stream.phase is Phase.IDLE and not rig.sent
    assert 'was stopped' in str(rig.stream.stopped)


@pytest.mark.parametrize('period', [0.02, 0.7, 5.0])
def test_no_target_moves_before_a_stop_was_cleared_however_slowly_they_come(rig, period):
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.state, rig.stops, rig.faults, rig.source = ActuatorState.SAFE, 1, STOPPED_BIT, ''
    sent = len(rig.sent)
    for _ in range(20):
        rig.step(round(period / PERIOD))
        generation = rig.stream.note_arrival(rig.now)
        with pytest.raises(StreamError, match='soro stop --clear'):
            rig.stream.go_to(START, rig.feedback(), rig.now, generation)
    assert len(rig.sent) == sent
    rig.state, rig.faults = ActuatorState.ACTIVE, 0
    rig.step()
    with pytest.raises(StreamError):  # sent before, and solved after it was cleared
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)
    rig.step(round(1.0 / PERIOD))
    assert len(rig.sent) == sent
    generation = rig.stream.note_arrival(rig.now)
    rig.stream.go_to(np.array([0.2e5] * 3), rig.feedback(), rig.now, generation)
    rig.run_until(Phase.HOLD)


def test_the_driver_is_told_of_a_release_and_not_of_a_stop(rig):
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.stream.release()
    assert rig.stream.take_leave() and not rig.stream.take_leave()
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.stream.stop(Code.DEVICE_FAULT, 'fault')
    assert not rig.stream.take_leave()


PAUSE = 0.4


def held_and_stopped(robot):
    """Return a rig whose stream the driver has just ended."""
    rig = Rig(robot, pause=PAUSE)
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.state, rig.source, rig.stops = ActuatorState.SAFE, '', 1
    rig.step()
    assert rig.stream.phase is Phase.IDLE
    return rig


def silence(rig):
    """Return how long nothing is sent [s]."""
    begin = rig.now
    rig.present, rig.source = START, ''
    while rig.stream.tick(rig.feedback(), rig.now) is None:
        rig.now += PERIOD
        assert rig.now - begin < 2.0
    return rig.now - begin


def test_a_target_soon_after_a_stop_is_sent_after_a_pause_and_then_without_one(robot):
    rig = held_and_stopped(robot)
    rig.now += 0.1
    rig.go_to([0.5e5] * 3)
    assert silence(rig) == pytest.approx(PAUSE - 0.1, abs=2.5 * PERIOD)
    for _ in range(60):  # what a stop ended in between must not become a new first command
        rig.now += PERIOD
        assert rig.stream.tick(rig.feedback(), rig.now) is not None
    rig.state, rig.source = ActuatorState.ACTIVE, ME
    rig.run_until(Phase.HOLD)


def test_commands_that_the_driver_missed_begin_no_pause_anew(robot):
    rig = Rig(robot, pause=PAUSE)
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.stream.release()
    rig.now += 0.8 * PAUSE  # its own timeout
    rig.state, rig.source = ActuatorState.SAFE, ''
    rig.step()
    rig.go_to([0.5e5] * 3)
    assert silence(rig) == pytest.approx(0.2 * PAUSE, abs=2.5 * PERIOD)


def test_a_target_long_after_a_stop_is_sent_at_once(robot):
    rig = held_and_stopped(robot)
    rig.now += PAUSE
    rig.go_to([0.5e5] * 3)
    assert silence(rig) < 2.5 * PERIOD


def test_a_target_soon_after_a_release_needs_no_pause(robot):
    rig = Rig(robot, pause=PAUSE)
    rig.go_to([0.3e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.stream.release()
    rig.go_to([0.5e5] * 3)
    rig.step()
    assert rig.stream.setpoint is not None  # the driver still obeys, and never lost a command


def test_a_new_target_begins_a_takeover_anew_that_was_in_vain(robot):
    rig = held_and_stopped(robot)
    rig.now += PAUSE
    rig.go_to([0.5e5] * 3)
    silence(rig)
    rig.now += 0.1
    rig.go_to([0.4e5] * 3)
    assert silence(rig) == 0.0  # perhaps it only needs a moment more
    rig.now += PAUSE
    rig.stream.tick(rig.feedback(), rig.now)
    rig.go_to([0.4e5] * 3)
    assert silence(rig) == pytest.approx(PAUSE, abs=2.5 * PERIOD)


def test_targets_that_come_all_the_time_do_not_keep_the_stream_silent(robot):
    rig = held_and_stopped(robot)
    sent = 0
    for _ in range(400):
        rig.go_to([0.5e5] * 3)
        rig.now += PERIOD
        sent += rig.stream.tick(rig.feedback(), rig.now) is not None
    assert 150 < sent < 250


def test_the_pause_is_longer_than_the_timeout_of_the_driver(robot):
    assert 0.3 < pause_of_driver(robot.description) < 2.0 * 0.3
    for text, timeout in (({'command_timeout': '1 s'}, 1.0), ({}, 0.2)):
        section = Section(text, 'driver', 'robot.yaml')
        found = pause_of_driver(SimpleNamespace(foreign_section=lambda name, s=section: s))
        assert timeout < found < 2.0 * timeout
    assert pause_of_driver(SimpleNamespace(foreign_section=lambda name: None)) > 0.5


def test_another_source_in_control_is_named(rig):
    rig.source = '/arm/haptic_renderer'
    with pytest.raises(StreamError, match='haptic_renderer is in control') as caught:
        rig.go_to([0.5e5] * 3)
    assert caught.value.code is Code.NOT_IN_CONTROL
    rig.source = ''
    rig.go_to([0.5e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.source = '/arm/haptic_renderer'
    rig.step()
    assert rig.stream.stopped.code is Code.NOT_IN_CONTROL


def test_no_state_refuses_and_stops(rig):
    with pytest.raises(StreamError) as caught:
        rig.stream.go_to(START, None, 0.0, rig.stream.generation)
    assert caught.value.code is Code.NO_STATE
    with pytest.raises(StreamError):
        rig.stream.go_to(START, feedback([np.nan, 0, 0]), 0.0, rig.stream.generation)
    rig.go_to([0.5e5] * 3)
    rig.run_until(Phase.HOLD)
    assert rig.stream.tick(None, rig.now + PERIOD) is None
    assert rig.stream.stopped.code is Code.NO_STATE


def test_release_is_silent_and_no_fault(rig):
    rig.go_to([0.5e5] * 3)
    rig.run_until(Phase.HOLD)
    rig.stream.release()
    count = len(rig.sent)
    rig.step(10)
    assert len(rig.sent) == count
    assert rig.stream.stopped is None


def test_a_stalled_loop_does_not_make_up_for_lost_time(rig):
    rig.go_to([1.2e5, 0.1e5, 0.0])
    rig.step(3)
    before = rig.sent[-1]
    rig.now += 5.0
    rig.step()
    rates = np.array([a.rate for a in rig.robot.actuators])
    assert np.all(np.abs(rig.sent[-1] - before) <= 3.001 * PERIOD * rates)


def make_schedule(robot):
    poses = np.tile(np.eye(4), (5, 1, 1))
    path = SampledPath(poses, np.linspace(0.0, 0.05, 5))
    table = np.linspace([0.2e5, 0.1e5, 0.0], [0.6e5, 0.4e5, 0.2e5], 5)
    return schedule(path, table, 0.1, [a.rate for a in robot.actuators])


def test_following_ends_at_the_last_point_and_holds_it(rig):
    plan = make_schedule(rig.robot)
    rig.go_to(plan.actuation_at(0.0))
    rig.run_until(Phase.HOLD)
    rig.stream.follow(plan, rig.now)
    begin = len(rig.sent)
    rig.run_until(Phase.HOLD)
    assert (len(rig.sent) - begin) * PERIOD == pytest.approx(plan.duration, abs=1.5 * PERIOD)
    for k, value in enumerate(rig.sent[begin:-1], start=1):
        assert value == pytest.approx(plan.actuation_at(k * PERIOD), abs=1e-3)
    rig.step(5)
    assert np.array_equal(rig.sent[-1], plan.actuation[-1])


def test_after_a_stall_following_catches_up_no_faster_than_a_ramp(rig):
    plan = make_schedule(rig.robot)
    rig.go_to(plan.actuation_at(0.0))
    rig.run_until(Phase.HOLD)
    rig.stream.follow(plan, rig.now)
    begin = rig.now
    rig.step(10)
    rig.now += 0.28
    first = len(rig.sent) - 1
    rig.run_until(Phase.HOLD)
    steps = np.abs(np.diff(rig.sent[first:], axis=0)) / rig.stream.rates
    assert steps[0].max() <= 3.0 * PERIOD * (1.0 + 1e-5)
    assert steps[1:].max() <= PERIOD * (1.0 + 1e-5)
    assert all(rig.robot.feasible(a) for a in rig.sent)
    # It holds the last point, also where the stall made it late.
    assert np.array_equal(rig.sent[-1], plan.actuation[-1])
    assert plan.duration - PERIOD <= rig.now - begin <= plan.duration + 0.3


def test_following_needs_the_first_point_to_be_held(rig):
    plan = make_schedule(rig.robot)
    with pytest.raises(StreamError):
        rig.stream.follow(plan, 0.0)
    rig.go_to([0.9e5, 0.0, 0.0])
    rig.run_until(Phase.HOLD)
    with pytest.raises(StreamError, match='not held'):
        rig.stream.follow(plan, rig.now)


def test_hold_stops_where_it_is(rig):
    plan = make_schedule(rig.robot)
    rig.go_to(plan.actuation_at(0.0))
    rig.run_until(Phase.HOLD)
    rig.stream.follow(plan, rig.now)
    rig.step(10)
    last = rig.sent[-1]
    rig.stream.hold(rig.now)
    rig.step(20)
    assert np.array_equal(rig.sent[-1], last)
    assert rig.stream.phase is Phase.HOLD


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_nearest_feasible_is_feasible_and_leaves_feasible_values_alone(robot, seed):
    rng = np.random.default_rng(seed)
    low, high = robot.limits.T
    value = rng.uniform(low - 0.1e5, high + 0.3e5)
    inside = nearest_feasible(robot, value)
    assert robot.feasible(inside)
    assert nearest_feasible(robot, inside) == pytest.approx(inside, rel=1e-12)
    if robot.feasible(value):
        assert np.allclose(inside, value, rtol=1e-9, atol=1e-3)


def stop(rig):
    rig.stream.stop(Code.DEVICE_FAULT, 'emergency stop')


def release(rig):
    rig.stream.release()


def driver_is_stopped(rig):
    rig.state, rig.stops = ActuatorState.SAFE, rig.stops + 1
    rig.step()


def driver_loses_commands(rig):
    rig.state = ActuatorState.SAFE
    rig.step()


def driver_is_stopped_where_it_rests(rig):
    rig.stops += 1
    rig.step()


def driver_trips_and_is_cleared(rig):
    rig.state = ActuatorState.FAULT
    rig.step()
    rig.state = ActuatorState.ACTIVE


def driver_that_has_tripped_is_cleared(rig):
    rig.state = ActuatorState.FAULT
    rig.step()
    rig.asked = rig.stream.note_arrival(rig.now)
    rig.step()
    rig.state = ActuatorState.ACTIVE
    rig.step()


def path_begins(rig):
    rig.stream.begin_era(rig.stream.ends)


@pytest.mark.parametrize(
    'between',
    [
        stop,
        release,
        driver_is_stopped,
        driver_loses_commands,
        driver_is_stopped_where_it_rests,
        driver_trips_and_is_cleared,
        path_begins,
    ],
)
def test_what_was_asked_for_before_a_stop_does_not_move_the_robot_after_it(robot, between):
    rig = Rig(robot)
    rig.step()
    generation = rig.stream.generation  # a target arrives, and takes long to be solved
    between(rig)
    with pytest.raises(StreamError, match='send it again'):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)
    rig.step(10)
    assert rig.stream.phase is Phase.IDLE and not rig.sent
    rig.go_to([0.5e5] * 3)  # a new one does
    assert rig.stream.phase is Phase.TAKEOVER


@pytest.mark.parametrize(
    'ends', [stop, release, driver_is_stopped, driver_loses_commands, driver_trips_and_is_cleared]
)
def test_targets_that_go_on_after_a_stop_move_nothing_until_they_pause(robot, ends):
    rig = Rig(robot)

    def target():
        generation = rig.stream.note_arrival(rig.now)
        rig.stream.go_to(np.full(3, 0.5e5), rig.feedback(), rig.now, generation)
        rig.step(2)

    for _ in range(10):
        target()
    assert rig.sent
    ends(rig)
    rig.sent.clear()
    for _ in range(100):  # two seconds of somebody who has not noticed
        with pytest.raises(StreamError, match=r'send none for 0\.5 s'):
            target()
        rig.step(2)
    assert not rig.sent
    rig.step(round(SILENCE / PERIOD))
    target()
    assert rig.stream.phase is not Phase.IDLE


@pytest.mark.parametrize('known', [True, False])
def test_targets_that_carry_the_new_count_of_stops_need_no_pause(robot, known):
    rig = Rig(robot)
    rig.stops = 7
    rig.go_to([0.5e5] * 3)
    rig.step(5)
    driver_is_stopped(rig)
    rig.state = ActuatorState.ACTIVE  # cleared
    rig.step()
    generation = rig.stream.note_arrival(rig.now, rig.feedback(), 8 if known else 7)
    if known:
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)
        assert rig.stream.phase is Phase.TAKEOVER
        return
    with pytest.raises(StreamError, match='send none'):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)


def test_the_count_of_stops_says_nothing_about_a_release(robot):
    rig = Rig(robot)
    rig.stops = 7
    rig.stream.note_arrival(rig.now, rig.feedback(), 7)
    rig.go_to([0.5e5] * 3)
    rig.step(5)
    rig.stream.release()
    generation = rig.stream.note_arrival(rig.now, rig.feedback(), 7)
    with pytest.raises(StreamError, match='send none'):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)


@pytest.mark.parametrize(
    ('state', 'remedy'),
    [
        (ActuatorState.UNCONFIGURED, 'check cable and power'),
        (ActuatorState.INACTIVE, 'soro stop --clear'),
        (ActuatorState.FAULT, 'find the cause, then `soro stop --clear`'),
        (ActuatorState.ESTOP, '`soro estop --release`, then `soro stop --clear`'),
    ],
)
def test_a_refusal_says_what_to_do(robot, state, remedy):
    rig = Rig(robot)
    rig.state = state
    with pytest.raises(StreamError, match=remedy):
        rig.go_to(START)


def test_a_stop_of_the_driver_counts_also_where_no_tick_has_seen_it(robot):
    rig = Rig(robot)
    rig.step()
    generation = rig.stream.generation
    rig.state = ActuatorState.SAFE
    with pytest.raises(StreamError, match='send it again'):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)


def test_a_target_that_was_being_solved_when_the_stream_stopped_says_why(robot):
    rig = Rig(robot)
    rig.go_to([0.5e5] * 3)
    rig.run_until(Phase.HOLD)
    generation = rig.stream.generation
    rig.state = ActuatorState.FAULT
    rig.step()
    rig.state = ActuatorState.ACTIVE
    with pytest.raises(StreamError, match='latched fault'):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)


def test_what_was_asked_for_in_a_fault_does_not_move_what_is_cleared_later(robot):
    rig = Rig(robot)
    driver_that_has_tripped_is_cleared(rig)
    with pytest.raises(StreamError, match='send it again'):
        rig.stream.go_to(START, rig.feedback(), rig.now, rig.asked)


@pytest.mark.parametrize('state', [ActuatorState.SAFE, ActuatorState.FAULT, ActuatorState.ESTOP])
def test_what_a_new_planner_hears_before_it_knows_of_a_stop_is_over_with_it(robot, state):
    rig = Rig(robot)
    generation = rig.stream.note_arrival(rig.now)  # and takes long to be solved
    rig.state, rig.faults = state, STOPPED_BIT
    rig.step()
    rig.state, rig.faults = ActuatorState.ACTIVE, 0
    rig.step()
    with pytest.raises(StreamError):
        rig.stream.go_to(START, rig.feedback(), rig.now, generation)


def test_no_path_is_planned_while_the_driver_is_stopped(rig):
    rig.state, rig.stops, rig.faults = ActuatorState.SAFE, 1, STOPPED_BIT
    rig.step()
    with pytest.raises(StreamError, match='soro stop --clear'):
        rig.stream.begin_era(rig.stream.ends)
    rig.state, rig.faults = ActuatorState.ACTIVE, 0
    rig.step()
    rig.stream.require(rig.stream.begin_era(rig.stream.ends))


def test_a_target_that_follows_the_clearing_at_once_is_heard(rig):
    rig.state, rig.stops, rig.faults = ActuatorState.SAFE, 1, STOPPED_BIT
    rig.step(100)
    rig.state, rig.faults = ActuatorState.ACTIVE, 0  # and no tick since
    generation = rig.stream.note_arrival(rig.now, rig.feedback())
    rig.stream.go_to(START, rig.feedback(), rig.now, generation)
    assert rig.stream.phase is Phase.TAKEOVER


def test_a_goal_is_not_told_that_it_ended_before_it_is_known_why(robot, monkeypatch):
    rig, told = Rig(robot), []
    rig.go_to(START)
    generation, release = rig.stream.generation, rig.stream.release

    def look():
        with pytest.raises(StreamError) as ended:
            check_goes_on(SimpleNamespace(is_cancel_requested=False), rig.stream, generation)
        told.append(ended.value.code)

    goal = Thread(target=look)

    def released_meanwhile():
        release()
        goal.start()
        goal.join(0.2)

    monkeypatch.setattr(rig.stream, 'release', released_meanwhile)
    rig.stream.stop(Code.NOT_ACTIVE, 'the planner was deactivated')
    goal.join(5.0)
    assert told == [Code.NOT_ACTIVE]
