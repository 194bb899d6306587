# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check that a batch of the network model gives what solving sample by sample gives."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
import pickle

import numpy as np
import pytest

from soro_mechanics import Code, load_robot
from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.core.status import Warnings
from soro_mechanics.models.network import batch as batch_module
from soro_mechanics.models.network.batch import chebyshev_terms, polynomial_powers
from soro_mechanics.models.network.drive_values import driven_many, driven_ranges, driven_values

EXAMPLES = Path(__file__).resolve().parents[3] / 'config' / 'robots' / 'examples'
FREE = np.zeros(6)


@pytest.fixture(scope='module')
def robot():
    return load_robot('soft_parallel', 'network')


@pytest.fixture(scope='module')
def batch(robot):
    made = robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 5000)
    assert made is not None
    return made


def random_samples(robot, count, seed=3):
    """Return actuations that are not those of the fit."""
    low, high = robot.limits.T
    return low + (high - low) * np.random.default_rng(seed).random((count, len(low)))


def outside_theory(found):
    """Return of which samples that is said."""
    return (found.warnings & Warnings.OUTSIDE_THEORY) > 0


def assert_sample_by_sample(robot, found):
    """Compare with a cold solve of every sample."""
    for i, actuation in enumerate(found.actuation):
        q = robot.forward(actuation)
        assert int(found.codes[i]) == int(q.status.code)
        apart = found.warnings[i] ^ q.status.warnings
        assert not apart & ~Warnings.COARSE_MESH
        if q.status.converged:
            np.testing.assert_allclose(found.tip[i], q.tip, atol=1e-9)


@pytest.mark.parametrize(
    'name', ['soft_parallel', 'stiff_flop', 'haptic_5dof', str(EXAMPLES / 'planar_chain.yaml')]
)
def test_batch_is_sample_by_sample(name):
    robot = load_robot(name, 'network')
    samples = random_samples(robot, 200)
    # made for many samples (two hundred do not repay the polynomial of six motors), and kept
    made = robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 5000)
    solved = made.solve(samples)[1]
    assert robot.model_object.batch(LoadCase(FREE, (), robot.gravity), len(samples)) is made
    found = robot.workspace(samples)
    assert np.count_nonzero(solved | outside_theory(found)) > 190
    assert_sample_by_sample(robot, found)


def test_contact_and_strain_outside_the_theory_are_said_of_many_samples_too(tmp_path):
    text = (EXAMPLES / 'planar_chain.yaml').read_text(encoding='utf-8')
    outside = []
    for limit in ('0.4 %', '0.9 %'):  # of the strain, which is 0.8 % at most
        file = tmp_path / 'robot.yaml'
        file.write_text(text.replace('thickness: 1 mm', f'thickness: 1 mm, strain_limit: {limit}'))
        robot = load_robot(file)
        assert robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 5000) is not None
        found = robot.workspace(random_samples(robot, 200))
        assert_sample_by_sample(robot, found)
        outside.append(outside_theory(found))
    strained, touching = outside[0] & ~outside[1], outside[1]
    assert strained.any() and touching.any() and not outside[0].all()


def test_a_robot_with_many_branches_is_left_to_cold_solves():
    """A guess would decide on which branch a sample ends: every sample starts from rest."""
    robot = load_robot('stewart_gough')
    assert robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 5000) is None
    assert_sample_by_sample(robot, robot.workspace(random_samples(robot, 20)))


def test_order_and_threads_change_nothing(robot):
    samples = random_samples(robot, 300)
    order = np.random.default_rng(1).permutation(len(samples))
    alone = robot.workspace(samples)
    shuffled = robot.workspace(samples[order])
    with ThreadPoolExecutor(3) as threads:
        together = robot.workspace(samples, threads)
    np.testing.assert_allclose(shuffled.tip, alone.tip[order], atol=1e-12)
    np.testing.assert_array_equal(together.tip, alone.tip)
    np.testing.assert_array_equal(together.codes, alone.codes)


def test_gravity_counts(robot):
    other = robot.with_model('network')
    other.gravity = [0.0, 9.81, 0.0]
    samples = random_samples(robot, 200)
    found = other.workspace(samples)
    assert np.abs(found.tip - robot.workspace(samples).tip).max() > 1e-2
    for i in (0, 77, 199):
        np.testing.assert_allclose(found.tip[i], other.forward(samples[i]).tip, atol=1e-9)


def test_a_load_at_the_tip_counts(robot):
    wrench = np.array([0.03, 0.0, 0.1, 0.0, 1e-3, 0.0])
    samples = random_samples(robot, 5)
    tips, solved = robot.model_object.batch(LoadCase(wrench, (), robot.gravity), 200).solve(
        samples
    )
    assert solved.all()
    for tip, actuation in zip(tips, samples, strict=True):
        np.testing.assert_allclose(tip, robot.forward(actuation, wrench).tip, atol=1e-9)


def test_a_sample_without_equilibrium_is_reported(robot):
    samples = random_samples(robot, 200)
    samples[17] = [-1e6, -1e6, -1e6]  # legs of negative length
    assert robot.forward(samples[17]).status.code is Code.NOT_CONVERGED
    found = robot.workspace(samples)
    assert found.codes[17] == Code.NOT_CONVERGED and np.isnan(found.tip[17]).all()
    assert np.count_nonzero(found.solved) == 199


def test_what_lies_far_from_its_prediction_is_not_taken(robot, batch):
    samples = random_samples(robot, 4)
    assert batch.solve(samples)[1].all()
    wrong = batch.fit.coefficients.copy()
    wrong[0, 8] += 2.0 * batch_module.NEAR  # the platform's height
    tips, solved = replace(batch, fit=replace(batch.fit, coefficients=wrong)).solve(samples)
    assert not solved.any() and np.isnan(tips).all()


@pytest.mark.parametrize(('force', 'holds'), [(0.2, True), (2.0, False)])
def test_a_buckled_column_is_not_taken_for_stable(force, holds):
    """An upright column under equal pressures stays straight, stable or not."""
    robot = load_robot('stiff_flop', 'network')
    robot.gravity = [0.0, 0.0, 0.0]
    made = robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 5000)
    press = np.array([0.0, 0.0, -force, 0.0, 0.0, 0.0])
    pressed = replace(made, rest=made.rest._replace(dead=made.rest.dead + press))
    straight = np.full((1, 3), 40e3)
    q = robot.forward(straight[0], press)
    assert q.status.code is (Code.NONE if holds else Code.UNSTABLE)
    tips, solved = pressed.solve(straight)
    assert solved[0] == holds
    if holds:
        np.testing.assert_allclose(tips[0], q.tip, atol=1e-9)


def test_few_samples_are_not_worth_a_fit(robot):
    assert (
        robot.with_model('network').model_object.batch(LoadCase(FREE, (), robot.gravity), 50)
        is None
    )


def test_driven_values_of_many(robot):
    layout = robot.model_object.equilibrium(()).layout
    samples = random_samples(robot, 50) * 1.5 - 40e3  # beyond both ends of the curves too
    ranges, values = driven_many(layout.spec.drives, samples)
    for i, actuation in enumerate(samples):
        np.testing.assert_allclose(
            values[i], driven_values(layout.spec.drives, actuation)[0], rtol=1e-14
        )
        np.testing.assert_allclose(
            ranges[i], driven_ranges(layout.spec.drives, actuation)[0], rtol=1e-14
        )


def test_terms_are_chebyshev_products():
    powers = polynomial_powers(3, 40)
    assert len(powers) == 35 and len({tuple(p) for p in powers}) == 35
    u = np.random.default_rng(0).uniform(-1.0, 1.0, (6, 3))
    expected = np.prod(np.cos(powers * np.arccos(u)[:, None]), axis=2)
    np.testing.assert_allclose(chebyshev_terms(u, powers), expected, atol=1e-14)


def test_robot_and_batch_cross_a_wire(robot, batch):
    far, shipped = pickle.loads(pickle.dumps((robot, batch)))  # noqa: S301 - our own
    samples = random_samples(robot, 3)
    np.testing.assert_array_equal(shipped.solve(samples)[0], batch.solve(samples)[0])
    np.testing.assert_allclose(
        far.forward(samples[0]).tip, robot.forward(samples[0]).tip, atol=1e-12
    )


def test_no_sample_within_the_limits_is_left_over(robot):
    """Every sample of the limits, their corners included, is solved by the batch itself."""
    low, high = robot.limits.T
    corners = np.array(np.meshgrid(*np.array([low, high]).T)).reshape(3, -1).T
    samples = np.concatenate([corners, sample_actuations(robot, 500)])
    assert robot.model_object.batch(LoadCase(FREE, (), robot.gravity), 500).solve(samples)[1].all()
