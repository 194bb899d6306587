# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedback on the measured tip against plants that are not the model: rows of two studies."""

from dataclasses import replace
import json

import numpy as np
import pytest

from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.perturbation import OVERRIDE
from soro_mechanics import load_robot
from soro_mechanics.analysis.trajectory import schedule
from soro_mechanics.core.configuration import Task
from soro_studies.system import tip_feedback, tracker_faults
from soro_studies.system.drawn_plants import COUNTS, drawn, KINDS
from soro_studies.system.muscle_errors import parts
from soro_studies.system.plant_assumptions import DELAY, SCENES
from soro_studies.system.plant_assumptions import PLANTS as MOVING
from soro_studies.system.tip_feedback import (
    at_rest,
    MUSCLES,
    path,
    planned,
    plant_of,
    PLANTS,
    STIFF_FLOP,
    VirtualTip,
)
from soro_studies.system.tip_feedback import SCENES as SCENES_OF_TIPS
from soro_studies.system.tracker_faults import held
from soro_studies.system.virtual_drives import Muscles, Regulators
from soro_trajectory.command_stream import CommandStream, Phase
from soro_trajectory.tip_control import GIVEN_UP, SEEN, SWINGS
from soro_trajectory.tip_feedback import TipFeedback

SOFT_PARALLEL = next(scene for scene in SCENES if scene.robot == 'soft_parallel')
FIRST = ('feedforward', 'feedback')
FIRST_PLANT = 'emulated robot of the file'


@pytest.mark.parametrize('plant', ['as the robot file says', 'stiffness - 20 %'])
def test_the_default_gain_does_not_swing_a_body_with_inertia(plant, monkeypatch):
    """It did, by centimetres: the gain that follows from dead times alone is at 2 zeta omega."""
    moving = replace(MOVING[plant], scene=replace(SOFT_PARALLEL, size=0.008))
    mean, largest = at_rest(moving, 'feedback')
    assert mean < 0.1e-3 and largest < 0.3e-3
    feedforward, feedback = (path(moving, c, 'circle', 0.01, DELAY)[0] for c in FIRST)
    assert feedback < 0.25 * feedforward
    if plant != 'stiffness - 20 %':  # once is enough to see that the path would show it
        return
    monkeypatch.setattr('soro_trajectory.tip_control.lowest_mode', lambda *known: None)
    assert path(moving, 'feedback', 'circle', 0.01, DELAY)[0] > 3.0 * feedback


@pytest.mark.parametrize('plant', ['emulated robot of the file', 'lag doubled'])
@pytest.mark.parametrize('curve', ['circle', 'spiral'])
def test_feedback_is_no_worse_than_feedforward_on_fast_paths(plant, curve):
    feedforward, feedback = (path(PLANTS[plant], c, curve, 0.04, DELAY)[0] for c in FIRST)
    assert feedback < feedforward


def test_a_load_that_bends_the_robot_by_a_third_of_its_length_is_answered_along_a_fast_path():
    plant = PLANTS['0.5 N that nobody knows of']
    feedforward, feedback = (path(plant, c, 'spiral', 0.04, DELAY)[0] for c in FIRST)
    assert feedback < 0.15 * feedforward


# Robot, plant, and by how much of the error feedback overshot, and after how long it left 10 % (or
# 0.3 mm), when what it answers was integrated too and no gains were estimated.
SWITCHED = [
    ('stiff_flop', '0.2 N that nobody knows of', 0.48, 0.88),
    ('stiff_flop', '0.5 N that nobody knows of', 0.99, 1.72),
    ('stiff_flop', 'stiffness - 20 %', 0.32, 3.28),
    ('stiff_flop_two_segment', 'stiffness - 20 %', 0.38, 2.78),
    ('soft_parallel', 'lag doubled', 0.23, 1.88),
]


@pytest.mark.parametrize(('robot', 'name', 'overshoot', 'seconds'), SWITCHED)
def test_feedback_that_is_switched_on_does_not_integrate_what_it_answers(
    robot, name, overshoot, seconds, monkeypatch
):
    scene = next(s for s in SCENES_OF_TIPS if s.robot == robot)
    tip, pose = VirtualTip(plant_of(scene, name), FIRST[0]), np.eye(4)
    pose[:3, 3] = target = np.array(scene.target)
    actuation, shape, seen = tip.robot.inverse(target).actuation, tip.shape, []

    def look(felt):
        q = shape(felt)
        seen.append((tip.now, q.tip[:3, 3] - target))
        return q

    monkeypatch.setattr(tip, 'shape', look)
    tip.go_to(actuation, pose)
    tip.run(4.0)
    begin, first = tip.now, np.mean([error for _, error in seen[-9:]], axis=0)
    tip._feedback = True
    tip.go_to(actuation, pose)
    tip.run(4.0)
    size = np.linalg.norm(first)
    assert size > 3e-3
    after = [(time - begin, error) for time, error in seen if time > begin]
    assert max(-error @ first for _, error in after) < overshoot * size**2
    left = [time for time, error in after if np.linalg.norm(error) > max(0.1 * size, 0.3e-3)]
    assert left[-1] < seconds


def test_a_body_softer_than_told_is_waited_for_and_found_out():
    """It still swung by centimetres from the approach when its path began."""
    scene = next(s for s in SCENES_OF_TIPS if s.robot == 'stiff_flop_two_segment')
    mean, largest = path(plant_of(scene, 'stiffness - 20 %'), 'feedback', 'circle', 0.01, 0.15)
    assert mean < 2e-3 and largest < 5e-3


def test_muscles_that_move_by_steps_hold_the_tip_of_a_body_that_swings(monkeypatch):
    muscles = replace(plant_of(MUSCLES, 'hysteresis 10 %'), inertia=True)
    control = VirtualTip(muscles, 'feedback').control
    decay = 2.0 * np.pi * control._mode.damping * control._mode.frequency
    assert control._gains().integral == pytest.approx(2.0 / 3.0 * decay)  # 8 1/s before
    monkeypatch.setitem(tip_feedback.RESTS, 'at rest', 10.0)  # s
    feedforward, feedback = (at_rest(muscles, c)[0] for c in FIRST)
    assert feedback < 0.25 * feedforward


STATES = {
    'lost': 'LOST',
    'frozen': 'LOST',
    'jump of 100 mm': 'OUTLIER',
    '500 ms late': 'LATE',
    'in a frame that TF does not know': 'NO_TRANSFORM',
}


def test_failing_trackers_are_named_and_the_tip_stays_where_it_was_seen_last(monkeypatch):
    monkeypatch.setattr(tracker_faults, 'FIRST', 4.0)
    monkeypatch.setattr(tracker_faults, 'BROKEN', 2.0)
    rows = held(*STATES, '200 ms late', 'jump of 5 mm')
    for fault, state in STATES.items():
        found = rows[fault]
        assert state in found['said'], fault
        assert found['before'] < 0.1e-3 and found['after'] < 0.2e-3, fault
        assert found['largest'] < 1e-3, fault  # 8 mm without the correction
    late = rows['200 ms late']  # stays in the loop
    assert late['said'] == 'GOOD' and late['largest'] < 0.5e-3
    assert rows['jump of 5 mm']['largest'] < 6e-3  # believed, it moves the tip little farther


def test_columns_are_computed_again_and_what_was_refused_may_be_found(tmp_path, monkeypatch):
    page, plant = tmp_path / 'page.md', 'emulated robot of the file'
    refusing = lambda plant: tip_feedback.refused.setdefault(plant, 'too short') and None  # noqa: E731
    monkeypatch.setattr(tip_feedback, 'refused', {})
    monkeypatch.setattr(tip_feedback, 'learned', refusing)
    monkeypatch.setattr(tip_feedback, 'delay_of', lambda scene: 0.1)
    monkeypatch.setattr(tip_feedback, 'at_rest', lambda plant, control, motion: (1.0, 1.0))
    monkeypatch.setattr(tip_feedback, 'path', lambda plant, control, *more: (1.0, 1.0))

    def rows(*again):
        tip_feedback.computed(page, ['stiff_flop'], [plant], again)
        return json.loads(page.with_suffix('.json').read_text())['rows']

    assert {row['both'] for row in rows()} == {1.0} and len(rows()) == 7
    monkeypatch.setattr(tip_feedback, 'path', lambda plant, control, *more: (2.0, 2.0))
    assert all(row['feedback'] == 1.0 for row in rows())
    moving = [row for row in rows('feedback', 'both') if row['speed']]
    values = {(r['feedforward'], r['compensation'], r['feedback'], r['both']) for r in moving}
    assert values == {(1.0, 1.0, 2.0, 2.0)} and {r['refused'] for r in moving} == {'too short'}
    tip_feedback.refused.clear()
    monkeypatch.setattr(tip_feedback, 'learned', lambda plant: 'a past')
    moving = [row for row in rows('compensation') if row['speed']]
    assert {(r['compensation'], r['refused']) for r in moving} == {(2.0, '')}


def test_parts_of_the_errors_of_muscles_explain_them():
    sizes = parts('emulated robot of the file')['parts']
    assert sizes['left'][0] < 0.15 * sizes['total'][0]
    assert sizes['body'][0] < 1e-9  # its body has no hysteresis


def test_a_row_of_several_seeds_is_judged_by_each_of_them():
    row = {'speed': 0.01}
    row |= tip_feedback.values_of('feedforward', [(8e-3, 9e-3), (20e-3, 30e-3), (10e-3, 12e-3)])
    row |= tip_feedback.values_of('feedback', [(4e-3, 5e-3), (5e-3, 7e-3), (4.5e-3, 6e-3)])
    assert (row['feedback'], row['feedback_peak']) == (4.5e-3, 7e-3)
    assert tip_feedback.kept_to(row, 'feedback')
    worse = row | {'feedback_runs': [5e-3, 4e-3, 4.5e-3]}  # the same median
    assert not tip_feedback.kept_to(worse, 'feedback')
    assert tip_feedback.kept_to(worse | {'speed': 0.04}, 'feedback')
    assert not tip_feedback.lacks(row, 'feedback', 3) and tip_feedback.lacks(row, 'feedback', 5)
    single = {'speed': 0.01, 'feedforward': 8e-3, 'feedback': 4.1e-3}
    assert not tip_feedback.kept_to(single, 'feedback')
    assert [tip_feedback.lacks(single, 'feedback', n) for n in (5, 1)] == [True, False]


@pytest.mark.parametrize('kind', [Muscles, Regulators])
def test_seeds_draw_other_drives(kind):
    robot = load_robot('pam_continuum' if kind is Muscles else 'stiff_flop')
    device = robot.description.foreign['driver']['device']
    rest, found = np.array([a.rest for a in robot.actuators]), []
    for seed in (3, 3, 4):
        section = read_emulator_settings(robot.description, device).device
        drives = kind(robot, 1.0, None, section, seed)
        for _ in range(30):
            drives.advance(rest + 0.2 * (robot.limits[:, 1] - rest))
        muscles = isinstance(drives, Muscles)  # what the board's clock, radio and sensors drew
        found.append(drives._rig._random.random(3) if muscles else drives.true)
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def late_path(monkeypatch, scene, seconds, speed=0.04, lag=2.0):
    """Follow a circle with late drives; return rig, schedule and the leads of its corrections."""
    plant, leads = replace(plant_of(scene, FIRST_PLANT), lag=lag), []
    correct = CommandStream.correct

    def seen(stream, motion, correction, lead=0.0):
        leads.append((stream.phase, lead))
        correct(stream, motion, correction, lead)

    monkeypatch.setattr(CommandStream, 'correct', seen)
    tip, (sampled, actuation) = VirtualTip(plant, 'feedback'), planned(plant.scene, 'circle')
    timed = schedule(sampled, actuation, speed, tip.stream.rates, 0.1)
    tip.go_to(timed.actuation_at(0.0), sampled.poses[0])
    tip.run(2.0)
    tip.stream.follow(timed, tip.now)
    start = round(tip.now * 1e9)

    def desired(stamp):
        pose = np.eye(4)
        pose[:3, 3] = timed.position_at((stamp - start) * 1e-9 - DELAY)
        return pose

    tip.control.aim(tip.stream.motion, desired, Task.POSITION, True, True)
    tip.run(seconds)
    return tip, timed, leads


def test_a_path_goes_ahead_of_a_late_tip_and_stays_there_when_its_tracker_is_lost(monkeypatch):
    """At rest nothing is led: the schedule alone is read earlier."""
    tip, timed, leads = late_path(monkeypatch, SOFT_PARALLEL, 2.0)
    assert not any(lead for phase, lead in leads if phase is not Phase.FOLLOW)
    moving = [lead for phase, lead in leads if phase is Phase.FOLLOW]
    assert 0.03 < moving[-1] <= 0.1  # s: no later than `response_time`
    assert np.abs(np.diff(moving)).max() < 0.3 / 30.0  # s of a sample's: no path goes back in time
    monkeypatch.setattr(tip, 'fresh', lambda: None)
    tip.run(0.1)
    expected = timed.actuation_at(tip.now - tip.stream.started + moving[-1])
    assert tip.stream.feedforward(tip.now) == pytest.approx(expected)
    assert leads[-1] == (Phase.FOLLOW, moving[-1])


def test_a_path_is_not_led_where_the_tip_is_in_time(monkeypatch):
    means = []
    for lag in (0.5, 2.0):
        with monkeypatch.context() as patched:
            *_, leads = late_path(patched, SOFT_PARALLEL, 2.0, lag=lag)
        means.append(np.mean([lead for phase, lead in leads if phase is Phase.FOLLOW]))
    assert means[0] < 0.3 * means[1]


def test_only_what_lies_along_a_path_is_late():
    """A path along x at 4 cm/s; latency 0.03 s, dead 0.05 s, response_time 0.1 s."""
    tip, pace, dt = VirtualTip(plant_of(SOFT_PARALLEL, FIRST_PLANT), 'feedback'), 0.04, 0.03
    law, gains = tip.control._law, tip.control._gains()
    gain = 0.25 / (0.03 + 0.05 + 0.1)  # 1/s
    assert gain < gains.integral

    def led(error, pace=pace, dt=dt, before=0.02):
        law.lead = before
        way = np.array([pace, 0.0, 0.0])
        law.keep_up(lambda time: time * way, np.array(error), dt, gains, 0.03 + 0.05, 0.1)
        return law.lead - before

    late = 0.05 * pace  # m, of 0.05 s
    whole = gain * dt * 0.05
    assert led([late, 0.0, 0.0]) == pytest.approx(whole, rel=0.01)
    assert led([-late, 0.0, 0.0], before=0.05) == pytest.approx(-whole, rel=0.01)
    assert led([-late, 0.0, 0.0], before=0.0) == 0.0
    assert led([late, 0.0, 0.0], before=0.0999) == pytest.approx(1e-4)  # `response_time` at most
    assert led([0.0, 3e-3, 3e-3]) == 0.0
    assert led([late, late, 0.0]) == pytest.approx(0.5 * whole, rel=0.01)  # at 45 degrees
    assert led([1.0, 0.0, 0.0]) == pytest.approx(gain * dt * 0.1)  # whatever the error
    assert led([3e-3 * 0.05, 0.0, 0.0], pace=3e-3) == pytest.approx(0.5 * whole, rel=0.01)
    assert (
        led([late, 0.0, 0.0], pace=0.0) == led([0.0, 0.0, 0.0]) == led([late, 0, 0], dt=0.0) == 0.0
    )
    law.integrate(np.full(6, late), dt, gains)  # of no path
    assert law.lead == 0.0


@pytest.mark.parametrize(
    ('robot', 'curve', 'speed', 'delay', 'gained'),
    [
        ('stiff_flop_two_segment', 'circle', 0.01, 0.15, 0.9),
        ('soft_parallel', 'circle', 0.04, 0.05, 0.7),
    ],
)
def test_what_a_late_tip_loses_is_led(robot, curve, speed, delay, gained, monkeypatch):
    scene = next(s for s in SCENES_OF_TIPS if s.robot == robot)
    row = plant_of(scene, 'lag doubled'), 'feedback', curve, speed, delay
    led = path(*row)[0]
    monkeypatch.setattr(TipFeedback, 'keep_up', lambda *arguments: None)
    assert led < gained * path(*row)[0]


def frequency_response(body, felt, omega):
    """Return (n, 3, m) of a body's tip around its rest at `felt` (m,): from steps of drives."""
    period, push, columns = 0.01, 1e3, []  # s, Pa
    for k in range(len(felt)):
        body._rest(felt)
        after, places = felt.copy(), [body.stepper.tip[:3, 3]]
        after[k] += push
        for _ in range(400):
            assert body._stepped(period, after)
            places.append(body.stepper.tip[:3, 3])
        moves = np.diff(places, axis=0) / push
        assert np.linalg.norm(moves[-50:], axis=1).max() < 2e-3 * np.linalg.norm(moves.sum(axis=0))
        columns.append(np.exp(-1j * np.outer(omega, period * np.arange(400))) @ moves)
    return np.stack(columns, axis=2)


def test_a_robot_held_where_pressure_has_softened_it_does_not_swing(monkeypatch):
    """From 10 to 2.9 Hz: gains for the mode at rest are unstable there."""
    monkeypatch.setenv(OVERRIDE, 'dynamic')
    tip, pose = VirtualTip(plant_of(STIFF_FLOP, FIRST_PLANT), 'feedback'), np.eye(4)
    robot, at_start = tip.robot, tip.control._gains()
    actuation, seen, shape = np.array([1.078e5, 1.207e5, 1.141e5]), [], tip.shape

    def look(felt):
        q = shape(felt)
        seen.append(q.tip[:3, 3])
        return q

    tip.shape, known = look, robot.forward(actuation)
    pose[:3, 3] = known.tip[:3, 3]
    tip.go_to(actuation, pose)
    tip.run(6.0)
    assert np.ptp(seen[-60:], axis=0).max() < 0.6e-3  # in 2 s; 1.4 mm, and more and more
    omega = 2.0 * np.pi * np.logspace(-1.5, 1.3, 1000)
    plant, law, s = frequency_response(tip._body, actuation, omega), tip.control._law, 1j * omega
    jacobian, small = robot.jacobian(known), 1e-4 * np.eye(6)[:3]
    steps = [law.step(jacobian, known.tip, Task.POSITION, e) / 1e-4 for e in small]
    unstable = []
    for gains in (at_start, tip.control._gains()):
        control = (gains.proportional + gains.integral / s) * np.exp(-0.08 * s) / (0.08 * s + 1.0)
        control *= np.exp(np.outer(-s, gains.pieces[0])) @ gains.pieces[1]
        loop = control[:, None, None] * (plant @ np.transpose(steps))
        free = np.linalg.det(np.eye(3) + loop) * (s / (s + 10.0)) ** 3
        turned = np.ptp(np.unwrap(np.angle(free))[[0, -1]]) / np.pi
        unstable.append(round(turned))  # poles to the right of the axis (Nyquist)
    assert unstable[0] > 0 and unstable[1] == 0


def loaded(load, robot='stiff_flop_two_segment'):
    """Return a robot under a load along x [N] that nobody knows of, and how to rest there."""
    scene = next(s for s in SCENES_OF_TIPS if s.robot == robot)
    tip, pose = VirtualTip(replace(plant_of(scene, FIRST_PLANT), load=load), 'feedback'), np.eye(4)
    pose[:3, 3] = target = np.array(scene.target)
    actuation = tip.robot.inverse(target).actuation

    def left(seconds, anew=True):
        if anew:
            tip.go_to(actuation, pose)
        return float(np.mean(tip.run(seconds, lambda time: target)[-5:]))

    return tip, left


@pytest.mark.parametrize('load', [0.2, 0.3])
def test_feedback_that_leads_the_tip_away_ends_until_a_motion_is_without_it(load):
    """They bend two segments by 60 and 70 mm; pressed to their limits they bend twice as much."""
    tip, left = loaded(load)
    corrected = left(7.0)
    assert tip.control.given_up.startswith(GIVEN_UP) and tip.control.lost > 1.0
    assert left(2.0) == pytest.approx(corrected, rel=0.05) and tip.control.given_up
    tip._feedback = False
    assert left(2.0) == pytest.approx(corrected, rel=0.05) and not tip.control.given_up
    tip._feedback = True
    left(0.3)
    assert not tip.control.given_up


def test_a_load_that_limits_hold_comes_and_goes_and_feedback_stays():
    tip, left = loaded(0.2, 'stiff_flop')
    assert left(4.0) < 0.5e-3
    for load in (0.9, 0.0, -0.9, 0.2):
        tip._body.set_wrench(np.array([load, 0.0, 0.0, 0.0, 0.0, 0.0]))
        error, at_limits = left(4.0, anew=False), bool(tip.control._law.saturated)
        assert at_limits == (abs(load) > 0.5) and (at_limits or error < 0.5e-3)
    assert not tip.control.given_up


def test_a_soft_robot_whose_load_lets_go_does_not_stay_away(monkeypatch):
    """0.1 N bends two segments by 38 mm: feedback makes its swing larger, and ends."""
    monkeypatch.setenv(OVERRIDE, 'dynamic')
    tip, left = loaded(0.1)
    assert left(6.0) < 1e-3
    tip._body.set_wrench(np.zeros(6))
    assert left(SWINGS + SEEN + 5.0, anew=False) < 5e-3
    assert tip.control.given_up.startswith(GIVEN_UP)


def test_plants_drawn_by_lot_stay_the_same_and_within_the_ranges_of_the_table():
    for scene in SCENES_OF_TIPS:
        plain, first = plant_of(scene, FIRST_PLANT), list(drawn(scene))
        assert first == list(drawn(scene))
        assert len(first) == sum(counts[scene.robot] for counts in COUNTS.values())
        for one in first:
            plant = one.plant
            assert 0.8 <= plant.stiffness <= 1.2 and 1.0 <= plant.lag <= 2.0
            assert 0.0 <= (plant.hysteresis or 0.0) <= 0.1 and 0.0 <= plant.creep <= 0.1
            changed = sum(getattr(plant, kind) != getattr(plain, kind) for kind in KINDS)
            assert changed == (1 if one.group == 'one thing' else len(KINDS))
    kinds = {(one.curve, one.speed) for scene in SCENES_OF_TIPS for one in drawn(scene)}
    assert len(kinds) == len(tip_feedback.CURVES) * len(tip_feedback.SPEEDS)
