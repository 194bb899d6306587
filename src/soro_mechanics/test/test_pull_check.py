# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pulls on a robot that is not quite the model's: what is named, and what is refused."""

from changed_robots import with_changes
import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot, Robot
from soro_mechanics.analysis.measured_compliance import fit_compliance
from soro_mechanics.analysis.pull_check import check_pulls
from soro_mechanics.robot_file.reader import describe_robot

BENT = [0.9e5, 0.9e5, 0.0]
NOISE = 0.05e-3  # m: a camera


def pull(robot, forces):
    rest = robot.forward(BENT)
    moved = [robot.forward(BENT, [*f, 0.0, 0.0, 0.0], rest).tip[:3, 3] for f in forces]
    return np.array(moved) - rest.tip[:3, 3]


@pytest.fixture(scope='module')
def pulls():
    """Return forces, what a robot with 15 % more EI did under them, and what the model says."""
    forces = np.vstack([s * np.eye(3) for s in (0.1, -0.1, 0.2, -0.2)])
    path = 'body.segments[0].bending_stiffness'
    other = with_changes('stiff_flop', {path: f'{1.15 * 1.503e-3!r} N m^2'})
    real = Robot(describe_robot(other, 'other.yaml'))
    noise = NOISE * np.random.default_rng(4).normal(size=forces.shape)
    return forces, pull(real, forces) + noise, pull(load_robot('stiff_flop'), forces)


def test_a_model_that_is_off_is_told_from_bad_data(pulls):
    forces, moved, predicted = pulls
    found = check_pulls(forces, moved, predicted)
    np.testing.assert_allclose(found.residual, moved - predicted)
    assert found.rms == pytest.approx(np.sqrt(np.mean((moved - predicted) ** 2)))
    assert found.outliers == ()
    # What is left beyond a compliance that is missing: noise, and little of finite pulls.
    assert 0.5 * NOISE < found.scatter < 0.4 * found.rms
    assert found.skew < 3.0 * found.skew_error < 0.05


def test_finite_pulls_are_predicted_better_than_by_the_tangent(pulls):
    forces, _, _ = pulls
    robot = load_robot('stiff_flop')
    true = pull(robot, forces)
    tangent = robot.compliance(robot.forward(BENT))[:3, :3]
    noise = NOISE * np.random.default_rng(5).normal(size=forces.shape)
    by_solve = check_pulls(forces, true + noise, true)
    by_tangent = check_pulls(forces, true + noise, forces @ tangent)
    assert by_solve.rms == pytest.approx(NOISE, rel=0.4)
    assert by_tangent.rms > 4.0 * by_solve.rms


def test_one_bad_pull_is_named(pulls):
    forces, moved, predicted = pulls
    for bad in (0, 7, 11):
        spoilt = moved.copy()
        spoilt[bad] += [0.0, 2e-3, 0.0]
        assert check_pulls(forces, spoilt, predicted).outliers == (bad,)
    spoilt = moved.copy()
    spoilt[3] = -spoilt[3]
    spoilt[8] += [3e-3, 0.0, 0.0]
    assert set(check_pulls(forces, spoilt, predicted).outliers) == {3, 8}


@pytest.mark.parametrize(
    ('change', 'words', 'hint'),
    [
        (lambda d: -d, 'against every force', '-x -y -z'),
        (lambda d: d * [-1.0, 1.0, 1.0], 'against a force along', '-x y z'),
        (lambda d: d[:, [1, 0, 2]], 'the tip moves against', 'y x z'),
    ],
)
def test_reversed_signs_and_exchanged_columns_are_refused(pulls, change, words, hint):
    forces, moved, predicted = pulls
    with pytest.raises(InvalidInput, match='displacements') as caught:
        check_pulls(forces, change(moved), predicted)
    assert words in str(caught.value)
    assert f'met with {hint} in the place of x y z' in str(caught.value)


def test_turned_axes_leave_a_skew_part_that_is_refused(pulls):
    forces, moved, predicted = pulls
    angle = np.radians(25.0)
    turn = np.array(
        [
            [np.cos(angle), -np.sin(angle), 0.0],
            [np.sin(angle), np.cos(angle), 0.0],
            [0.0, 0.0, 1.0],
        ]
    )
    with pytest.raises(InvalidInput, match='skew part') as caught:
        check_pulls(forces, moved @ turn.T, predicted)
    share, error = str(caught.value).split('skew part of ')[1].split('%')[:2]
    assert float(share) > 4.0 * float(error.split()[-1])


def test_the_error_of_the_skew_part_is_its_scatter():
    random = np.random.default_rng(6)
    true = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.2], [-0.5, 0.2, 0.7]]) * 1e-2
    forces = np.vstack([np.eye(3), -np.eye(3), [[0.5, 0.5, 0.0], [0.0, 0.5, -0.5]]])
    size = np.linalg.norm(true)
    shares, said, named = [], [], 0
    for _ in range(300):
        moved = forces @ true + 1e-4 * random.normal(size=forces.shape)
        found = check_pulls(forces, moved, forces @ true)
        shares.append(found.skew)
        said.append(found.skew_error)
        named += len(found.outliers)
    assert np.sqrt(np.mean(np.square(shares))) == pytest.approx(
        np.sqrt(np.mean(np.square(said))), rel=0.1
    )
    assert named < 12  # 1 % of 300 tables
    assert max(shares) * size < 1e-3


def test_three_pulls_have_no_error(pulls):
    forces, moved, predicted = (part[:3] for part in pulls)
    found = check_pulls(forces, moved, predicted)
    assert np.isnan(found.skew_error) and found.outliers == ()
    assert fit_compliance(forces, moved).pulls == 3
