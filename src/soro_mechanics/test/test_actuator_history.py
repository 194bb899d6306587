# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Creep and hysteresis of actuators: undone, read, identified from what another law has made."""

from dataclasses import replace
import shutil

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.actuator_models.creep import CreepProperties
from soro_mechanics.actuator_models.history import ActuatorHistory, HistoryProperties
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.identification.fit import NotIdentifiable
from soro_mechanics.identification.history_fit import (
    _Problem,
    identify_history,
    Movement,
    UNKNOWNS,
    write_history,
)
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.mechanics.history_study import motion, Preisach

REST = np.array([0.2, 0.0])


def properties(part=((0.05, 0.1), (0.04, 0.0))):
    return HistoryProperties(
        np.array([[0.0, 0.02, 0.05, 0.1], [0.0, 0.1, 0.1, 0.1]]),
        np.array([[0.4, 0.2, 0.3, 0.1], [0.9, 0.1, 0.0, 0.0]]),
        CreepProperties(np.array(part), np.array([[2.0, 8.0], [30.0, 1.0]])),
    )


@pytest.fixture(scope='module')
def robot():
    return load_robot('spatial_cc')


@pytest.fixture(scope='module')
def moved(robot):
    return motion(robot, 3)


@pytest.mark.parametrize('seed', range(5))
def test_what_is_undone_is_felt_as_it_was_wanted(seed):
    random, history, now = np.random.default_rng(seed), ActuatorHistory(properties(), REST), 5.0
    for _ in range(200):
        now += random.choice([0.001, 0.01, 1.0, 50.0])
        if random.uniform() < 0.3:  # somebody else has moved it
            history.follow(random.uniform(-1.0, 1.0, 2), now)
            continue
        wanted = random.uniform(-1.0, 1.0, 2)
        command = history.undo(wanted, now)
        assert history.undo(wanted, now) == pytest.approx(command)  # asking moves nothing
        assert history.follow(command, now) == pytest.approx(wanted, abs=1e-12)


def test_hysteresis_is_that_of_relays_and_creep_that_of_the_differential_equation():
    random = np.random.default_rng(1)
    half, count = 0.06, 25
    plays = half * (np.arange(count) + 0.5) / count
    thresholds = np.concatenate([[0.0], plays])[None]
    weights = np.concatenate([[1e-9], np.full(count, 1.0 / count)])[None]
    still = CreepProperties(np.zeros((1, 1)), np.ones((1, 1)))
    ours = ActuatorHistory(HistoryProperties(thresholds, weights, still), np.zeros(1))
    relays = Preisach(half)
    for value in random.uniform(0.0, 1.0, 200):
        felt = ours.follow(np.array([value]), 0.0)[0]
        assert felt == pytest.approx(relays.apply(value), abs=2e-3)  # a step of their places
    creep = replace(still, part=np.full((1, 1), 0.1), time_constant=np.full((1, 1), 3.0))
    one = ActuatorHistory(HistoryProperties(np.zeros((1, 1)), np.ones((1, 1)), creep), np.zeros(1))
    one.follow(np.zeros(1), 0.0)
    for now in np.arange(0.01, 6.0, 0.01):
        felt = one.follow(np.ones(1), now)[0]
    assert felt == pytest.approx(0.9 + 0.1 * (1.0 - np.exp(-now / 3.0)), abs=1e-6)


def test_a_robot_file_says_the_past_of_some_of_its_drives(tmp_path):
    file = tmp_path / 'robot.yaml'
    text = find_robot_file('stiff_flop').read_text()
    text = text.replace('name: pair_2,', 'name: pair_2, creep: {part: 0.1, time_constant: 8 s},')
    hysteresis = '{operator: prandtl_ishlinskii, thresholds: [0, 0.05], weights: [0.8, 0.3]}'
    text = text.replace('name: pair_3,', f'name: pair_3, hysteresis: {hysteresis},')
    file.write_text(text)
    found = read_robot_file(file).structure['history']
    span = np.array([a.maximum - a.minimum for a in read_robot_file(file).actuators])
    assert found.thresholds == pytest.approx(np.array([[0, 0], [0, 0], [0, 0.05 * span[2]]]))
    assert found.weights == pytest.approx(np.array([[1, 0], [1, 0], [0.8, 0.3]]))
    assert found.creep.part == pytest.approx(np.array([[0.0, 0.1, 0.0]]))
    history = ActuatorHistory(found, np.zeros(3))
    history.follow(np.zeros(3), 0.0)
    assert history.follow(np.full(3, 1e5), 0.0) == pytest.approx(
        [1e5, 0.9e5, 0.8e5 + 0.3 * (1e5 - 0.05 * span[2])]
    )
    assert 'history' not in read_robot_file(find_robot_file('stiff_flop')).structure


def test_slopes_are_the_differences_of_the_residuals(robot, moved):
    problem = _Problem(robot, moved.data, UNKNOWNS)
    random = np.random.default_rng(0)
    x = problem.start[problem.free]
    x += 0.02 * random.uniform(-1.0, 1.0, len(x))
    x[problem.names.index('delay')] = 0.0833
    slope = problem.solved(x)[1]
    for i in range(len(x)):
        unit = np.zeros(len(x))
        unit[i] = 1e-6
        by_difference = (problem.solved(x + unit)[0] - problem.solved(x - unit)[0]) / 2e-6
        # At a kink of a play, or of the straight lines between samples, both sides are right.
        wrong = np.abs(slope[:, i] - by_difference) > 1e-4 * np.abs(slope[:, i]).max()
        assert wrong.mean() < 0.01, problem.names[i]


def test_the_past_is_found_and_written_and_undone(robot, moved, tmp_path):
    found = identify_history(robot, moved.data, UNKNOWNS)
    for number in found.found:
        if number.name in moved.values:
            half = 0.5 * (number.high - number.low)  # of 95 %
            assert number.value == pytest.approx(moved.values[number.name], abs=2.0 * half)
            assert half < {'time': 1.0, 'delay': 0.01}.get(number.name, 0.02)
    assert found.better and found.errors['held_after'] < 0.3 * found.errors['held_before']
    file = tmp_path / 'robot.yaml'
    shutil.copy(find_robot_file('spatial_cc'), file)
    write_history(read_robot_file(file), found, file)
    written = read_robot_file(file)
    kept = written.structure['history']
    rest = np.zeros(3)
    history, ours = (ActuatorHistory(p, rest) for p in (kept, found.history))
    for k, value in enumerate(moved.data.actuation[:500:10]):
        expected = ours.follow(value, 0.2 * k)
        assert history.follow(value, 0.2 * k) == pytest.approx(expected, abs=20.0)  # Pa
    assert {o.source for o in written.origins if 'weights' in o.path} == {'fitted'}


def test_data_that_cannot_tell_are_refused_by_name(robot, moved):
    data = moved.data
    up = np.sort(data.actuation, axis=0)  # never comes back
    with pytest.raises(NotIdentifiable) as error:
        identify_history(robot, replace(data, actuation=up), ['hysteresis'])
    assert {'width_actuator_1', 'hysteresis'} & {n for group in error.value.groups for n in group}
    early = data.time < 2.0
    short = Movement(data.time[early], data.actuation[early], data.seen, data.points)
    with pytest.raises((NotIdentifiable, InvalidInput)) as error:
        identify_history(robot, short, ['creep'])
    still = replace(data, actuation=0.0 * data.actuation + 0.3e5)
    with pytest.raises(NotIdentifiable):
        identify_history(robot, still, ['delay'])
    with pytest.raises(InvalidInput):
        identify_history(robot, data, ['colour'])
