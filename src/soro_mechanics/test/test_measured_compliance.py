# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check the compliance that pulls on a tip give, and how a model is held against it."""

import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot
from soro_mechanics.analysis.measured_compliance import fit_compliance, read_pulls

HEADER = 'fx [N],fy [mN],fz [N],x [mm],y [mm],z [m]'


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def test_small_pulls_on_a_robot_give_the_tangent(robot):
    rest = robot.forward([0.9e5, 0.9e5, 0.0])
    forces = 1e-3 * np.vstack([np.eye(3), -np.eye(3)])
    moved = [
        robot.forward(rest.actuation, [*f, 0.0, 0.0, 0.0], rest).tip[:3, 3] - rest.tip[:3, 3]
        for f in forces
    ]
    found = fit_compliance(forces, moved)
    tangent = robot.compliance(rest)
    np.testing.assert_allclose(found.matrix, tangent[:3, :3], atol=1e-5 * tangent[:3, :3].max())
    assert found.pulls == 6 and found.asymmetry < 1e-5
    assert abs(found.norm_error(tangent)) < 1e-5 and found.difference(tangent) < 1e-5
    # A linear model errs with as little force: the size counts, and so does the shape.
    linear = robot.with_model('lcm')
    other = linear.compliance(linear.forward(rest.actuation))
    assert found.norm_error(other) < -0.2 and found.difference(other) > abs(
        found.norm_error(other)
    )


def test_scatter_of_many_fits_is_the_deviation_that_is_said():
    random = np.random.default_rng(3)
    true = np.array([[4.0, 1.0, -0.5], [1.0, 3.0, 0.2], [-0.5, 0.2, 0.7]]) * 1e-2
    forces = np.vstack([np.eye(3), [[0.5, 0.5, 0.0], [0.0, 0.5, -0.5], [-0.5, 0.0, 0.5]]])
    fits = [
        fit_compliance(forces, forces @ true + 1e-4 * random.normal(size=(6, 3)))
        for _ in range(2000)
    ]
    matrices = np.array([fit.matrix for fit in fits])
    said = np.sqrt(np.mean([fit.deviation**2 for fit in fits], axis=0))
    np.testing.assert_allclose(matrices.std(axis=0), said, rtol=0.06)
    np.testing.assert_allclose(matrices.mean(axis=0), true, atol=2e-5)
    assert np.array_equal(matrices, np.swapaxes(matrices, 1, 2))


def test_three_pulls_along_the_axes_are_the_columns_of_the_paper():
    columns = np.array([[3.0, 0.2, 0.1], [0.2, 2.0, 0.3], [0.1, 0.3, 1.0]]) * 1e-2
    found = fit_compliance(0.5 * np.eye(3), 0.5 * columns.T)
    np.testing.assert_allclose(found.matrix, columns, atol=1e-15)
    assert found.residual < 1e-15
    twisted = columns + 1e-3 * np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = fit_compliance(0.5 * np.eye(3), 0.5 * twisted.T)
    np.testing.assert_allclose(found.matrix, columns, atol=1e-15)
    assert found.asymmetry == pytest.approx(
        np.sqrt(2.0) * 1e-3 / np.linalg.norm(twisted), rel=1e-9
    )


@pytest.mark.parametrize(
    'forces', [[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], np.eye(3) * [1.0, 1.0, 1e-4], np.zeros((0, 3))]
)
def test_forces_in_one_plane_are_refused(forces):
    with pytest.raises(InvalidInput, match='one plane'):
        fit_compliance(forces, np.zeros((len(forces), 3)))


def test_other_sizes_are_refused():
    with pytest.raises(InvalidInput, match='displacements'):
        fit_compliance(np.eye(3), np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match='model'):
        fit_compliance(np.eye(3), np.eye(3)).norm_error(np.eye(2))


def test_a_table_counts_from_its_rows_without_force(tmp_path):
    file = tmp_path / 'pulls.csv'
    file.write_text(
        f'# a rig\n{HEADER}\n0,0,0,9,0,0.05\n0,0,0,11,0,0.05\n0.1,0,0,13,1,0.051\n'
        '0,200,0,10,4,0.05\n',
        encoding='utf-8',
    )
    forces, moved, lines = read_pulls(file)
    assert lines == (5, 6)
    np.testing.assert_allclose(forces, [[0.1, 0.0, 0.0], [0.0, 0.2, 0.0]])
    np.testing.assert_allclose(moved, [[3e-3, 1e-3, 1e-3], [0.0, 4e-3, 0.0]], atol=1e-15)


@pytest.mark.parametrize(
    ('text', 'what'),
    [
        (f'{HEADER}\n0.1,0,0,1,0,0\n', 'at least one without'),
        (f'{HEADER}\n0,0,0,1,0,0\n', 'at least one without'),
        (f'{HEADER}\n0,0,0,1,0\n', 'as many cells'),
        (f'{HEADER}\n0,0,nan,1,0,0\n', 'finite'),
        (HEADER.replace('fx [N]', 'fx'), 'header and at least one row'),
        (HEADER.replace('fx [N]', 'fx [mm]') + '\n0,0,0,0,0,0\n', 'fx'),
        (HEADER.replace(',z [m]', '') + '\n0,0,0,0,0\n', 'column z'),
    ],
)
def test_what_is_no_table_of_pulls_is_refused(tmp_path, text, what):
    file = tmp_path / 'pulls.csv'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(InvalidInput, match=what):
        read_pulls(file)
