# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The stream against an ideal driver in virtual time: every phase, every reason to stop."""

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
from soro_node.actuator_feedback import ActuatorFeedback
from soro_node.actuator_state_bits import STOPPED_BIT
from soro_trajectory.command_stream import (
    CommandStream,
    nearest_feasible,
    Phase,
    SILENCE,
)
from soro_trajectory.driver_pause import pause_of_driver
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


class Bench:
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
        self.stream._watch(self.feedback(), self.now)  # as `hear` does, deaf or not
        self.stream.go_to(
            np.array(target, dtype=float), self.feedback(), self.now, self.stream.era
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
def bench(robot):
    return Bench(robot)


def test_nothing_is_sent_before_a_target(bench):
    bench.step(50)
    assert bench.sent == []


def test_first_command_is_the_measurement_and_the_last_the_target(bench):
    bench.go_to([1.0e5, 0.0, 0.5e5])
    bench.run_until(Phase.HOLD)
    assert np.array_equal(bench.sent[0], START)
    bench.step(100)
    assert np.array_equal(bench.sent[-1], [1.0e5, 0.0, 0.5e5])
    assert len(bench.sent) > 100  # it is held, not sent once


def test_ramp_takes_the_time_of_the_slowest_actuator(robot):
    bench = Bench(robot, slew=0.5)
    bench.go_to([1.2e5, 0.1e5, 0.0])
    bench.run_until(Phase.HOLD)
    rate = 0.5 * robot.actuators[0].rate
    assert (len(bench.sent) - 1) * PERIOD == pytest.approx(1.0e5 / rate, abs=2.5 * PERIOD)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_ramps_between_feasible_targets_stay_feasible_and_slow_enough(robot, seed):
    rng = np.random.default_rng(seed)
    bench = Bench(robot)
    low, high = robot.limits.T
    for _ in range(3):
        bench.go_to(nearest_feasible(robot, rng.uniform(low, high)))
        bench.step(int(rng.integers(1, 60)))  # the next target may come on the way
    sent = np.array(bench.sent)
    assert all(robot.feasible(a) for a in sent)
    rates = np.array([a.rate for a in robot.actuators])
    assert np.all(np.abs(np.diff(sent, axis=0)) <= rates * PERIOD * (1 + 1e-9))


@pytest.mark.parametrize(
    'target', [[-1e4, 0, 0], [1.6e5, 0, 0], [1.4e5, 1.4e5, 0.0], [np.nan, 0, 0]]
)
def test_targets_beyond_a_limit_are_refused_and_change_nothing(bench, target):
    bench.go_to([0.3e5, 0.3e5, 0.3e5])
    bench.run_until(Phase.HOLD)
    with pytest.raises(InvalidInput):
        bench.go_to(target)
    bench.step(10)
    assert np.array_equal(bench.sent[-1], [0.3e5] * 3)


@pytest.mark.parametrize(
    ('state', 'code'),
    [
        (ActuatorState.UNCONFIGURED, Code.NOT_ACTIVE),
        (ActuatorState.INACTIVE, Code.NOT_ACTIVE),
        (ActuatorState.FAULT, Code.DEVICE_FAULT),
        (ActuatorState.ESTOP, Code.DEVICE_FAULT),
    ],
)
def test_a_driver_that_may_not_move_refuses_targets_and_stops_the_stream(bench, state, code):
    bench.state = state
    with pytest.raises(StreamError) as caught:
        bench.go_to([0.3e5] * 3)
    assert caught.value.code is code
    bench.state = ActuatorState.ACTIVE
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.state = state
    count = len(bench.sent)
    bench.step(10)
    assert bench.stream.stopped.code is code
    assert len(bench.sent) == count  # not one more command


def test_nothing_resumes_by_itself(bench):
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.state = ActuatorState.SAFE
    bench.step()
    bench.state = ActuatorState.ACTIVE
    count = len(bench.sent)
    bench.step(100)
    assert len(bench.sent) == count
    assert 'soro stop --clear' in str(bench.stream.stopped)
    bench.go_to([0.2e5] * 3)
    bench.run_until(Phase.HOLD)
    assert bench.stream.stopped is None


def test_takeover_follows_a_driver_in_its_safe_action_until_it_obeys(bench):
    """The measured value sinks; the command sinks with it, so the driver's band is kept."""
    bench.state, bench.source = ActuatorState.SAFE, ''
    bench.go_to([0.5e5] * 3)
    for k in range(20):
        bench.present = START * (1.0 - k / 20)
        bench.now += PERIOD
        value = bench.stream.tick(feedback(bench.present, ActuatorState.SAFE, ''), bench.now)
        assert np.array_equal(value, bench.present)
    bench.state = ActuatorState.ACTIVE
    bench.run_until(Phase.HOLD)
    assert np.array_equal(bench.sent[-1], [0.5e5] * 3)


def never_obeyed(bench, state):
    """Return how long the stream tries [s]."""
    bench.state = state
    bench.go_to([0.5e5] * 3)
    begin = bench.now
    while bench.stream.phase is Phase.TAKEOVER:
        bench.now += PERIOD
        bench.stream.tick(feedback(bench.present, state, ''), bench.now)
        assert bench.now - begin < 10.0
    assert bench.stream.stopped.code is Code.NOT_IN_CONTROL
    return bench.now - begin


def test_a_driver_that_never_obeys_is_given_up(bench):
    assert never_obeyed(bench, ActuatorState.ACTIVE) == pytest.approx(0.5, abs=2.0 * PERIOD)
    assert 'did not obey within 0.5 s' in str(bench.stream.stopped)


@pytest.mark.parametrize('name', ['stiff_flop', 'pam_continuum'])
def test_a_driver_in_its_safe_action_has_the_time_of_the_longest_ramp_more(name):
    robot = load_robot(name)
    bench = Bench(robot)
    bench.present = np.array([a.rest for a in robot.actuators])
    bench.state = ActuatorState.SAFE
    bench.stream.go_to(bench.present, bench.feedback(), 0.0, bench.stream.era)
    ramp = max((a.maximum - a.rest) / a.rate for a in robot.actuators)
    end = ramp + 0.4
    while bench.now < end:
        bench.now += PERIOD
        bench.stream.tick(feedback(bench.present, ActuatorState.SAFE, ''), bench.now)
    assert bench.stream.phase is Phase.TAKEOVER
    bench.state, bench.source = ActuatorState.ACTIVE, ME
    bench.run_until(Phase.HOLD)


@pytest.mark.parametrize(
    'way',
    [
        (ActuatorState.ACTIVE, ActuatorState.SAFE),
        (ActuatorState.SAFE, ActuatorState.INACTIVE, ActuatorState.ACTIVE),
    ],
)
def test_a_stop_during_the_takeover_ends_the_target(bench, way):
    bench.state = way[0]
    bench.step()
    bench.go_to([0.5e5] * 3)
    for state in way[1:]:
        bench.state = state
        assert bench.stream.tick(feedback(START, state, ''), bench.now + PERIOD) is None
    bench.state = ActuatorState.ACTIVE
    bench.step(200)
    assert bench.stream.phase is Phase.IDLE and not bench.sent


@pytest.mark.parametrize('sent', [0, 1, 5])
@pytest.mark.parametrize('state', [ActuatorState.ACTIVE, ActuatorState.SAFE])
def test_a_stop_that_leaves_the_drivers_state_as_it_is_ends_the_target(bench, state, sent):
    bench.state, bench.source = state, '/arm/somebody'  # commands of ours reach nobody yet
    bench.step()
    bench.source = ''
    bench.go_to([0.5e5] * 3)
    for _ in range(sent):
        bench.now += PERIOD
        assert bench.stream.tick(bench.feedback(), bench.now) is not None
    bench.stops += 1
    bench.step(300)
    assert bench.stream.phase is Phase.IDLE and not bench.sent
    assert 'was stopped' in str(bench.stream.stopped)


@pytest.mark.parametrize('period', [0.02, 0.7, 5.0])
def test_no_target_moves_before_a_stop_was_cleared_however_slowly_they_come(bench, period):
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.state, bench.stops, bench.faults, bench.source = ActuatorState.SAFE, 1, STOPPED_BIT, ''
    sent = len(bench.sent)
    for _ in range(20):
        bench.step(round(period / PERIOD))
        era = bench.stream.hear(bench.now)
        with pytest.raises(StreamError, match='soro stop --clear'):
            bench.stream.go_to(START, bench.feedback(), bench.now, era)
    assert len(bench.sent) == sent
    bench.state, bench.faults = ActuatorState.ACTIVE, 0
    bench.step()
    with pytest.raises(StreamError):  # sent before, and solved after it was cleared
        bench.stream.go_to(START, bench.feedback(), bench.now, era)
    bench.step(round(1.0 / PERIOD))
    assert len(bench.sent) == sent
    era = bench.stream.hear(bench.now)
    bench.stream.go_to(np.array([0.2e5] * 3), bench.feedback(), bench.now, era)
    bench.run_until(Phase.HOLD)


def test_the_driver_is_told_of_a_release_and_not_of_a_stop(bench):
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.stream.release()
    assert bench.stream.take_leave() and not bench.stream.take_leave()
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.stream.stop(Code.DEVICE_FAULT, 'fault')
    assert not bench.stream.take_leave()


PAUSE = 0.4


def held_and_stopped(robot):
    """Return a bench whose stream the driver has just ended."""
    bench = Bench(robot, pause=PAUSE)
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.state, bench.source, bench.stops = ActuatorState.SAFE, '', 1
    bench.step()
    assert bench.stream.phase is Phase.IDLE
    return bench


def silence(bench):
    """Return how long nothing is sent [s]."""
    begin = bench.now
    bench.present, bench.source = START, ''
    while bench.stream.tick(bench.feedback(), bench.now) is None:
        bench.now += PERIOD
        assert bench.now - begin < 2.0
    return bench.now - begin


def test_a_target_soon_after_a_stop_is_sent_after_a_pause_and_then_without_one(robot):
    bench = held_and_stopped(robot)
    bench.now += 0.1
    bench.go_to([0.5e5] * 3)
    assert silence(bench) == pytest.approx(PAUSE - 0.1, abs=2.5 * PERIOD)
    for _ in range(60):  # what a stop ended in between must not become a new first command
        bench.now += PERIOD
        assert bench.stream.tick(bench.feedback(), bench.now) is not None
    bench.state, bench.source = ActuatorState.ACTIVE, ME
    bench.run_until(Phase.HOLD)


def test_commands_that_the_driver_missed_begin_no_pause_anew(robot):
    bench = Bench(robot, pause=PAUSE)
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.stream.release()
    bench.now += 0.8 * PAUSE  # its own timeout
    bench.state, bench.source = ActuatorState.SAFE, ''
    bench.step()
    bench.go_to([0.5e5] * 3)
    assert silence(bench) == pytest.approx(0.2 * PAUSE, abs=2.5 * PERIOD)


def test_a_target_long_after_a_stop_is_sent_at_once(robot):
    bench = held_and_stopped(robot)
    bench.now += PAUSE
    bench.go_to([0.5e5] * 3)
    assert silence(bench) < 2.5 * PERIOD


def test_a_target_soon_after_a_release_needs_no_pause(robot):
    bench = Bench(robot, pause=PAUSE)
    bench.go_to([0.3e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.stream.release()
    bench.go_to([0.5e5] * 3)
    bench.step()
    assert bench.stream.setpoint is not None  # the driver still obeys, and never lost a command


def test_a_new_target_begins_a_takeover_anew_that_was_in_vain(robot):
    bench = held_and_stopped(robot)
    bench.now += PAUSE
    bench.go_to([0.5e5] * 3)
    silence(bench)
    bench.now += 0.1
    bench.go_to([0.4e5] * 3)
    assert silence(bench) == 0.0  # perhaps it only needs a moment more
    bench.now += PAUSE
    bench.stream.tick(bench.feedback(), bench.now)
    bench.go_to([0.4e5] * 3)
    assert silence(bench) == pytest.approx(PAUSE, abs=2.5 * PERIOD)


def test_targets_that_come_all_the_time_do_not_keep_the_stream_silent(robot):
    bench = held_and_stopped(robot)
    sent = 0
    for _ in range(400):
        bench.go_to([0.5e5] * 3)
        bench.now += PERIOD
        sent += bench.stream.tick(bench.feedback(), bench.now) is not None
    assert 150 < sent < 250


def test_the_pause_is_longer_than_the_timeout_of_the_driver(robot):
    assert 0.3 < pause_of_driver(robot.description) < 2.0 * 0.3
    for text, timeout in (({'command_timeout': '1 s'}, 1.0), ({}, 0.2)):
        section = Section(text, 'driver', 'robot.yaml')
        found = pause_of_driver(SimpleNamespace(foreign_section=lambda name, s=section: s))
        assert timeout < found < 2.0 * timeout
    assert pause_of_driver(SimpleNamespace(foreign_section=lambda name: None)) > 0.5


def test_another_source_in_control_is_named(bench):
    bench.source = '/arm/haptic_renderer'
    with pytest.raises(StreamError, match='haptic_renderer is in control') as caught:
        bench.go_to([0.5e5] * 3)
    assert caught.value.code is Code.NOT_IN_CONTROL
    bench.source = ''
    bench.go_to([0.5e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.source = '/arm/haptic_renderer'
    bench.step()
    assert bench.stream.stopped.code is Code.NOT_IN_CONTROL


def test_no_state_refuses_and_stops(bench):
    with pytest.raises(StreamError) as caught:
        bench.stream.go_to(START, None, 0.0, bench.stream.era)
    assert caught.value.code is Code.NO_STATE
    with pytest.raises(StreamError):
        bench.stream.go_to(START, feedback([np.nan, 0, 0]), 0.0, bench.stream.era)
    bench.go_to([0.5e5] * 3)
    bench.run_until(Phase.HOLD)
    assert bench.stream.tick(None, bench.now + PERIOD) is None
    assert bench.stream.stopped.code is Code.NO_STATE


def test_release_is_silent_and_no_fault(bench):
    bench.go_to([0.5e5] * 3)
    bench.run_until(Phase.HOLD)
    bench.stream.release()
    count = len(bench.sent)
    bench.step(10)
    assert len(bench.sent) == count
    assert bench.stream.stopped is None


def test_a_stalled_loop_does_not_make_up_for_lost_time(bench):
    bench.go_to([1.2e5, 0.1e5, 0.0])
    bench.step(3)
    before = bench.sent[-1]
    bench.now += 5.0
    bench.step()
    rates = np.array([a.rate for a in bench.robot.actuators])
    assert np.all(np.abs(bench.sent[-1] - before) <= 3.001 * PERIOD * rates)


def make_schedule(robot):
    poses = np.tile(np.eye(4), (5, 1, 1))
    path = SampledPath(poses, np.linspace(0.0, 0.05, 5))
    table = np.linspace([0.2e5, 0.1e5, 0.0], [0.6e5, 0.4e5, 0.2e5], 5)
    return schedule(path, table, 0.1, [a.rate for a in robot.actuators])


def test_following_ends_at_the_last_point_and_holds_it(bench):
    plan = make_schedule(bench.robot)
    bench.go_to(plan.actuation_at(0.0))
    bench.run_until(Phase.HOLD)
    bench.stream.follow(plan, bench.now)
    begin = len(bench.sent)
    bench.run_until(Phase.HOLD)
    assert (len(bench.sent) - begin) * PERIOD == pytest.approx(plan.duration, abs=1.5 * PERIOD)
    for k, value in enumerate(bench.sent[begin:-1], start=1):
        assert value == pytest.approx(plan.actuation_at(k * PERIOD), abs=1e-3)
    bench.step(5)
    assert np.array_equal(bench.sent[-1], plan.actuation[-1])


def test_after_a_stall_following_catches_up_no_faster_than_a_ramp(bench):
    plan = make_schedule(bench.robot)
    bench.go_to(plan.actuation_at(0.0))
    bench.run_until(Phase.HOLD)
    bench.stream.follow(plan, bench.now)
    begin = bench.now
    bench.step(10)
    bench.now += 0.28
    first = len(bench.sent) - 1
    bench.run_until(Phase.HOLD)
    steps = np.abs(np.diff(bench.sent[first:], axis=0)) / bench.stream.rates
    assert steps[0].max() <= 3.0 * PERIOD * (1.0 + 1e-5)
    assert steps[1:].max() <= PERIOD * (1.0 + 1e-5)
    assert all(bench.robot.feasible(a) for a in bench.sent)
    # It holds the last point, also where the stall made it late.
    assert np.array_equal(bench.sent[-1], plan.actuation[-1])
    assert plan.duration - PERIOD <= bench.now - begin <= plan.duration + 0.3


def test_following_needs_the_first_point_to_be_held(bench):
    plan = make_schedule(bench.robot)
    with pytest.raises(StreamError):
        bench.stream.follow(plan, 0.0)
    bench.go_to([0.9e5, 0.0, 0.0])
    bench.run_until(Phase.HOLD)
    with pytest.raises(StreamError, match='not held'):
        bench.stream.follow(plan, bench.now)


def test_hold_stops_where_it_is(bench):
    plan = make_schedule(bench.robot)
    bench.go_to(plan.actuation_at(0.0))
    bench.run_until(Phase.HOLD)
    bench.stream.follow(plan, bench.now)
    bench.step(10)
    last = bench.sent[-1]
    bench.stream.hold(bench.now)
    bench.step(20)
    assert np.array_equal(bench.sent[-1], last)
    assert bench.stream.phase is Phase.HOLD


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


def stop(bench):
    bench.stream.stop(Code.DEVICE_FAULT, 'emergency stop')


def release(bench):
    bench.stream.release()


def driver_is_stopped(bench):
    bench.state, bench.stops = ActuatorState.SAFE, bench.stops + 1
    bench.step()


def driver_loses_commands(bench):
    bench.state = ActuatorState.SAFE
    bench.step()


def driver_is_stopped_where_it_rests(bench):
    bench.stops += 1
    bench.step()


def driver_trips_and_is_cleared(bench):
    bench.state = ActuatorState.FAULT
    bench.step()
    bench.state = ActuatorState.ACTIVE


def driver_that_has_tripped_is_cleared(bench):
    bench.state = ActuatorState.FAULT
    bench.step()
    bench.asked = bench.stream.hear(bench.now)
    bench.step()
    bench.state = ActuatorState.ACTIVE
    bench.step()


def path_begins(bench):
    bench.stream.begin_era()


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
    bench = Bench(robot)
    bench.step()
    era = bench.stream.era  # a target arrives, and takes long to be solved
    between(bench)
    with pytest.raises(StreamError, match='send it again'):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)
    bench.step(10)
    assert bench.stream.phase is Phase.IDLE and not bench.sent
    bench.go_to([0.5e5] * 3)  # a new one does
    assert bench.stream.phase is Phase.TAKEOVER


@pytest.mark.parametrize(
    'ends',
    [stop, release, driver_is_stopped, driver_loses_commands, driver_trips_and_is_cleared],
)
def test_targets_that_go_on_after_a_stop_move_nothing_until_they_pause(robot, ends):
    bench = Bench(robot)

    def target():
        era = bench.stream.hear(bench.now)
        bench.stream.go_to(np.full(3, 0.5e5), bench.feedback(), bench.now, era)
        bench.step(2)

    for _ in range(10):
        target()
    assert bench.sent
    ends(bench)
    bench.sent.clear()
    for _ in range(100):  # two seconds of somebody who has not noticed
        with pytest.raises(StreamError, match=r'send none for 0\.5 s'):
            target()
        bench.step(2)
    assert not bench.sent
    bench.step(round(SILENCE / PERIOD))
    target()
    assert bench.stream.phase is not Phase.IDLE


@pytest.mark.parametrize('known', [True, False])
def test_targets_that_carry_the_new_count_of_stops_need_no_pause(robot, known):
    bench = Bench(robot)
    bench.stops = 7
    bench.go_to([0.5e5] * 3)
    bench.step(5)
    driver_is_stopped(bench)
    bench.state = ActuatorState.ACTIVE  # cleared
    bench.step()
    era = bench.stream.hear(bench.now, bench.feedback(), 8 if known else 7)
    if known:
        bench.stream.go_to(START, bench.feedback(), bench.now, era)
        assert bench.stream.phase is Phase.TAKEOVER
        return
    with pytest.raises(StreamError, match='send none'):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)


def test_the_count_of_stops_says_nothing_about_a_release(robot):
    bench = Bench(robot)
    bench.stops = 7
    bench.stream.hear(bench.now, bench.feedback(), 7)
    bench.go_to([0.5e5] * 3)
    bench.step(5)
    bench.stream.release()
    era = bench.stream.hear(bench.now, bench.feedback(), 7)
    with pytest.raises(StreamError, match='send none'):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)


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
    bench = Bench(robot)
    bench.state = state
    with pytest.raises(StreamError, match=remedy):
        bench.go_to(START)


def test_a_stop_of_the_driver_counts_also_where_no_tick_has_seen_it(robot):
    bench = Bench(robot)
    bench.step()
    era = bench.stream.era
    bench.state = ActuatorState.SAFE
    with pytest.raises(StreamError, match='send it again'):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)


def test_a_target_that_was_being_solved_when_the_stream_stopped_says_why(robot):
    bench = Bench(robot)
    bench.go_to([0.5e5] * 3)
    bench.run_until(Phase.HOLD)
    era = bench.stream.era
    bench.state = ActuatorState.FAULT
    bench.step()
    bench.state = ActuatorState.ACTIVE
    with pytest.raises(StreamError, match='latched fault'):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)


def test_what_was_asked_for_in_a_fault_does_not_move_what_is_cleared_later(robot):
    bench = Bench(robot)
    driver_that_has_tripped_is_cleared(bench)
    with pytest.raises(StreamError, match='send it again'):
        bench.stream.go_to(START, bench.feedback(), bench.now, bench.asked)


@pytest.mark.parametrize('state', [ActuatorState.SAFE, ActuatorState.FAULT, ActuatorState.ESTOP])
def test_what_a_new_planner_hears_before_it_knows_of_a_stop_is_over_with_it(robot, state):
    bench = Bench(robot)
    era = bench.stream.hear(bench.now)  # and takes long to be solved
    bench.state, bench.faults = state, STOPPED_BIT
    bench.step()
    bench.state, bench.faults = ActuatorState.ACTIVE, 0
    bench.step()
    with pytest.raises(StreamError):
        bench.stream.go_to(START, bench.feedback(), bench.now, era)


def test_no_path_is_planned_while_the_driver_is_stopped(bench):
    bench.state, bench.stops, bench.faults = ActuatorState.SAFE, 1, STOPPED_BIT
    bench.step()
    with pytest.raises(StreamError, match='soro stop --clear'):
        bench.stream.begin_era()
    bench.state, bench.faults = ActuatorState.ACTIVE, 0
    bench.step()
    bench.stream.require(bench.stream.begin_era())


def test_a_target_that_follows_the_clearing_at_once_is_heard(bench):
    bench.state, bench.stops, bench.faults = ActuatorState.SAFE, 1, STOPPED_BIT
    bench.step(100)
    bench.state, bench.faults = ActuatorState.ACTIVE, 0  # and no tick since
    era = bench.stream.hear(bench.now, bench.feedback())
    bench.stream.go_to(START, bench.feedback(), bench.now, era)
    assert bench.stream.phase is Phase.TAKEOVER
