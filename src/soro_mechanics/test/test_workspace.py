# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check batches: samples keep the limits, executors agree, failures are marked."""

from concurrent.futures import ThreadPoolExecutor
import dataclasses
import re

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, load_robot
from soro_mechanics.analysis import workspace
from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop', 'lpcc')


def test_samples_keep_every_limit_and_fill_the_box(robot):
    samples = sample_actuations(robot, 200)
    assert samples.shape == (200, 3)
    assert all(robot.feasible(x) for x in samples)
    assert np.all(samples.max(axis=0) > 1.3e5) and np.all(samples.min(axis=0) < 0.1e5)
    assert np.array_equal(samples, sample_actuations(robot, 200))
    assert not np.array_equal(samples, sample_actuations(robot, 200, seed=1))


@pytest.fixture
def bound(tmp_path):
    """Return a function that gives the robot with a sum of pressures at most, and at least."""
    text = find_robot_file('stiff_flop').read_text(encoding='utf-8')

    def make(most, least):
        limits = (
            'coupled_limits:\n'
            f'  - {{coefficients: {{pair_1: 1, pair_2: 1}}, maximum: {most} bar}}\n'
            f'  - {{coefficients: {{pair_1: -1, pair_2: -1}}, maximum: {-least} bar}}\n'
        )
        file = tmp_path / 'robot.yaml'
        file.write_text(re.sub(r'(?m)^coupled_limits:\n(?:[ #].*\n)*', '', text) + limits)
        return load_robot(file, 'lpcc')

    return make


def test_samples_keep_coupled_limits_that_leave_little(bound):
    robot = bound(1.001, 1.0)
    samples = sample_actuations(robot, 100)
    sums = samples[:, :2].sum(axis=1)
    assert len(samples) == 100 and np.all((sums >= 1.0e5) & (sums <= 1.001e5))


def test_limits_that_contradict_each_other_are_refused_soon(bound, monkeypatch):
    drawn, halton = [], workspace._halton

    def counted(index, dimensions):
        drawn.append(len(index))
        return halton(index, dimensions)

    monkeypatch.setattr(workspace, '_halton', counted)
    for most, least in ((1.0, 1.1), (1.00001, 1.0)):  # none, and one in a hundred thousand
        drawn.clear()
        with pytest.raises(InvalidInput, match='1 part in 10000'):
            sample_actuations(bound(most, least), 1000)
        assert 1e5 <= sum(drawn) < 1.2e5


def test_batch_is_the_same_with_and_without_threads(robot):
    samples = sample_actuations(robot, 150)
    alone = robot.workspace(samples)
    with ThreadPoolExecutor(2) as threads:
        together = robot.workspace(samples, threads)
    np.testing.assert_array_equal(alone.tip, together.tip)
    assert np.all(alone.solved)
    np.testing.assert_allclose(alone.tip[7], robot.forward(samples[7]).tip, atol=1e-9)
    low, high = alone.extent
    assert np.all(high > low)


def test_a_failed_sample_is_marked_and_kept_out(robot):
    robot = robot.with_model('npcc')
    found = robot.workspace([[1e5, 0, 0], [9e5, 9e5, 9e5], [0, 1e5, 0]])
    assert list(found.codes) == [Code.NONE, Code.NOT_CONVERGED, Code.NONE]
    assert np.all(np.isnan(found.tip[1])) and np.all(np.isfinite(found.tip[2]))
    assert np.all(np.isfinite(found.extent))


def test_wrong_samples_are_refused(robot):
    with pytest.raises(InvalidInput, match='shape'):
        robot.workspace([[1.0, 2.0]])
    with pytest.raises(InvalidInput, match='finite'):
        robot.workspace([[np.nan, 0, 0]])
    with pytest.raises(InvalidInput, match='at least 1'):
        robot.workspace(0)


def test_a_workspace_is_that_of_solves_by_themselves_where_there_are_branches():
    robot = load_robot('pam_continuum')
    robot.gravity = [9.81, 0.0, 0.0]
    found = workspace.sample_workspace(robot, 6)
    for actuation, tip, code in zip(found.actuation, found.tip, found.codes, strict=True):
        q = robot.forward(actuation)
        assert q.status.code == code
        if q.status.converged:
            np.testing.assert_array_equal(q.tip, tip)
    assert np.any(found.codes == Code.NONE)


@pytest.mark.parametrize('samples', [[[1.0, 2.0, 3.0], [1.0]], 'many', [['a', 'b', 'c']]])
def test_samples_that_are_no_table_are_refused(robot, samples):
    with pytest.raises(InvalidInput, match='samples'):
        robot.workspace(samples)


def test_no_sample_starts_from_an_unstable_one(robot, monkeypatch):
    """Samples above 1 bar play unstable; each is asked cold, and begins nobody's search."""
    guesses = []

    def forward(actuation, wrench, guess, loads, real=robot.forward):
        guesses.append(guess)
        q = real(actuation)
        if actuation[0] > 1.0e5:
            q = dataclasses.replace(q, status=dataclasses.replace(q.status, code=Code.UNSTABLE))
        return q

    monkeypatch.setattr(robot, 'forward', forward)
    found = robot.workspace([[0.1e5, 0, 0], [1.2e5, 0, 0], [0.2e5, 0, 0], [0.3e5, 0, 0]])
    assert list(found.codes) == [Code.NONE, Code.UNSTABLE, Code.NONE, Code.NONE]
    starts = [None if g is None else g.actuation[0] for g in guesses]
    assert starts == [None, 0.1e5, None, None, 0.2e5]


def test_a_motor_whose_range_begins_at_rest_and_takes_turns_has_a_workspace():
    rod = {'name': 'r', 'section': 's', 'length': '200 mm', 'to': {'body': 'plate'}}
    crank = {'rotation': '0 0.5 0 rad'}
    rod['from'] = {'body': 'ground', 'motor': {'axis': '0 0 1', 'crank': crank}}
    section = {'shape': 'circle', 'radius': '2 mm', 'young': '100 MPa', 'poisson': 0.4}
    section |= {'density': '1000 kg/m^3'}
    body = {'kind': 'rods', 'sections': {'s': section}, 'bodies': {'plate': {'mass': '5 g'}}}
    body |= {'rods': [rod], 'tip': {'body': 'plate'}}
    drive = {'name': 'm', 'quantity': 'angle', 'minimum': '0 deg', 'maximum': '270 deg'}
    drive |= {'rate': '90 deg/s', 'acts': [{'drives': 'angle', 'rods': ['r']}]}
    data = {'schema': 2, 'name': 'x', 'title': 'x', 'gravity': '0 0 -9.81 m/s^2', 'body': body}
    data |= {'drives': [drive], 'models': {'network': {}}}
    robot = Robot(describe_robot(data, 'x.yaml'), 'network')
    assert robot.workspace(40).solved.all()
