# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check ellipsoids, eigenscrews and moving a compliance against invariants and closed forms."""

import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot
from soro_mechanics.analysis import stiffness
from soro_mechanics.numerics import lie


def random_compliance(seed):
    a = np.random.default_rng(seed).normal(size=(6, 6))
    unit = np.repeat([0.1, 3.0], 3)
    return (a @ a.T + 0.1 * np.eye(6)) * np.outer(unit, unit)


@pytest.fixture(scope='module')
def bent():
    robot = load_robot('stiff_flop')
    q = robot.forward([1.0e5, 0.3e5, 0.0])
    return robot.compliance(q, method='integral')


def test_eigenscrews_solve_their_equation(bent):
    swap = np.roll(np.eye(6), 3, axis=0)
    for matrix in (bent, random_compliance(1)):
        screws = stiffness.eigenscrews(matrix)
        left = np.linalg.inv(matrix) @ swap @ screws.wrenches
        np.testing.assert_allclose(left, screws.wrenches * screws.values, rtol=1e-8, atol=1e-9)
        assert np.sum(screws.values > 0.0) == 3 and np.sum(screws.values < 0.0) == 3


def test_each_screw_is_a_wrench_and_its_twist_on_one_axis(bent):
    screws = stiffness.eigenscrews(bent)
    for k in range(6):
        force, moment = screws.wrenches[:3, k], screws.wrenches[3:, k]
        rebuilt = np.cross(screws.points[k], force) + screws.pitches[k] * force
        np.testing.assert_allclose(rebuilt, moment, atol=1e-12)
        assert abs(screws.points[k] @ force) < 1e-12


def test_eigenstiffness_does_not_depend_on_the_frame(bent):
    pose = lie.se3_exp([0.3, -0.2, 0.5, 0.7, -1.1, 0.4])
    for matrix in (bent, random_compliance(2)):
        there = stiffness.eigenscrews(stiffness.change_frame(matrix, pose))
        here = stiffness.eigenscrews(matrix)
        np.testing.assert_allclose(there.values, here.values, rtol=1e-9)
        np.testing.assert_allclose(there.pitches, here.pitches, rtol=1e-7)


def test_eigenstiffness_is_a_force_whatever_the_unit_of_length(bent):
    here = stiffness.eigenscrews(bent).values
    for length, force in ((1e3, 1.0), (1.0, 1e-3), (100.0, 0.102)):  # mm, kN, cm and kp
        twist = np.repeat([length, 1.0], 3)
        wrench = np.repeat([force, force * length], 3)
        there = stiffness.eigenscrews(twist[:, None] * bent / wrench).values
        np.testing.assert_allclose(there, force * here, rtol=1e-9)


def test_eigencompliances_of_the_published_integral_sum_to_zero(bent):
    # trace(C Delta) = 2 trace(C_vw) vanishes because every section's compliance is diagonal
    assert abs(np.sum(1.0 / stiffness.eigenscrews(bent).values)) < 1e-10


def test_planar_shape_has_eigenvalues_in_pairs():
    robot = load_robot('stiff_flop')
    matrix = robot.compliance(robot.forward([0.9e5, 0.0, 0.0]), method='integral')
    values = stiffness.eigenscrews(matrix).values
    np.testing.assert_allclose(values[:3], -values[:2:-1], rtol=1e-6)


def test_ellipsoid_of_a_known_matrix():
    turn = lie.so3_exp([0.2, -0.5, 0.9])
    matrix = np.eye(6)
    matrix[:3, :3] = turn @ np.diag([1.0, 5.0, 2.0]) @ turn.T
    shape, _ = stiffness.ellipsoids(matrix)
    np.testing.assert_allclose(shape.values, [5.0, 2.0, 1.0])
    np.testing.assert_allclose(np.abs(shape.axes.T @ turn[:, [1, 2, 0]]), np.eye(3), atol=1e-12)
    assert np.linalg.det(shape.axes) == pytest.approx(1.0)
    assert shape.asymmetry < 1e-15


def test_asymmetry_is_reported():
    matrix = np.eye(6)
    matrix[0, 1], matrix[1, 0] = 0.1, -0.1
    assert stiffness.ellipsoids(matrix)[0].asymmetry == pytest.approx(
        0.2 / np.sqrt(2) / np.sqrt(3.02)
    )
    assert stiffness.asymmetry(np.diag([1, 1, 1, 4, 4, 4.0])) == 0.0


def test_stiffness_along_free_and_held():
    matrix = random_compliance(3)
    free = stiffness.stiffness_along(matrix, [0, 2.0, 0])
    held = stiffness.stiffness_along(matrix, [0, 2.0, 0], others='held')
    assert free == pytest.approx(1.0 / matrix[1, 1])
    assert held == pytest.approx(np.linalg.inv(matrix)[1, 1])
    assert held > free


def test_transport_is_the_change_of_reference_point():
    matrix, offset = random_compliance(4), np.array([0.1, -0.2, 0.3])
    moved = stiffness.transport(matrix, offset)
    force = np.array([0.3, 0.1, -0.2])
    # the same force through the new point is a wrench about the old one
    twist = matrix @ np.concatenate([force, np.cross(offset, force)])
    expected = twist[:3] + np.cross(twist[3:], offset)
    np.testing.assert_allclose((moved @ [*force, 0, 0, 0])[:3], expected, rtol=1e-12)
    back = stiffness.transport(moved, -offset)
    np.testing.assert_allclose(back, matrix, rtol=1e-9, atol=1e-12)


def test_deflection_turns_about_the_tip():
    matrix = np.diag([0, 0, 0, 1.0, 1.0, 1.0])
    pose = lie.se3_exp([0.1, 0.2, 0.3, 0.5, 0, 0])
    out = stiffness.deflection(matrix, pose, [1.0, 0, 0, 0, 0.4, 0])
    np.testing.assert_allclose(out[:3, 3], pose[:3, 3])
    np.testing.assert_allclose(out[:3, :3], lie.so3_exp([0, 0.4, 0]) @ pose[:3, :3], atol=1e-15)


def test_what_is_not_a_compliance_is_refused():
    with pytest.raises(InvalidInput, match='positive definite'):
        stiffness.eigenscrews(-np.eye(6))
    with pytest.raises(InvalidInput, match='not zero'):
        stiffness.stiffness_along(np.eye(6), [0, 0, 0])
    with pytest.raises(InvalidInput, match='free'):
        stiffness.stiffness_along(np.eye(6), [0, 0, 1], others='loose')


def test_a_clamped_place_has_no_asymmetry():
    with np.errstate(all='raise'):
        for part in stiffness.ellipsoids(np.zeros((6, 6))):
            np.testing.assert_array_equal(part.values, 0.0)
            assert part.asymmetry == 0.0
        assert stiffness.asymmetry(np.zeros((6, 6))) == 0.0


def test_round_off_gives_a_rigid_direction_no_stiffness():
    """A factor of Cholesky exists now and then; the numbers that follow from it are noise."""
    arm = load_robot('spatial_cc')
    passed = 0
    for actuation in np.random.default_rng(1).uniform(*arm.limits.T, (100, 3)):
        matrix = arm.compliance(arm.forward(actuation))
        try:
            np.linalg.cholesky(0.5 * (matrix + matrix.T))
        except np.linalg.LinAlgError:
            pass
        else:
            passed += 1
        for read in (
            stiffness.eigenscrews,
            lambda m: stiffness.stiffness_along(m, [0.0, 0.0, 1.0], 'held'),
        ):
            with pytest.raises(InvalidInput, match='rigid in some direction'):
                read(matrix)
    assert passed  # else this tests nothing


def test_a_robot_that_is_rigid_in_some_direction_is_not_called_unstable():
    robot = load_robot('spatial_cc')  # three numbers shape it: its compliance has rank three
    compliance = robot.compliance(robot.forward([2e4, 4e4, 3e4]))
    for call in (
        lambda: stiffness.eigenscrews(compliance),
        lambda: stiffness.stiffness_along(
            np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), [1, 0, 0], 'held'
        ),
    ):
        with pytest.raises(InvalidInput, match='rigid in some direction'):
            call()
    with pytest.raises(InvalidInput, match='positive definite'):
        stiffness.eigenscrews(-np.eye(6))
