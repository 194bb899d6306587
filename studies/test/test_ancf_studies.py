# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The published findings on the soft parallel robot."""

import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot, Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot, read_yaml
from soro_mechanics.robot_file.schema2.check import plain
from soro_studies.mechanics import ancf_studies as studies


@pytest.fixture(scope='module')
def robot():
    return load_robot('soft_parallel')


def test_five_elements_are_enough(robot):
    changes = studies.element_study(robot, 8)
    assert np.all(np.diff(changes) < 0.0)
    assert changes[3] < 1e-5  # from five to six elements the tip moves by micrometres


def test_constraint_residual_falls_with_the_penalty(robot):
    penalties = np.array([0.5, 2.0, 8.0, 32.0])
    residuals = studies.penalty_study(robot, penalties, np.array([180e3, 0, 0]))
    assert np.all(np.diff(residuals) < 0.0)
    assert residuals[2] < 0.02


@pytest.mark.parametrize(('legs', 'schemes'), [(2, 5), (3, 18), (4, 56)])
def test_schemes_of_any_number_of_legs_are_different_edges_and_diagonals(legs, schemes):
    found = studies.boundary_schemes(np.zeros(legs), np.ones(legs), 3)
    assert found.shape == (schemes, 3, legs)
    assert len({scheme.tobytes() for scheme in found}) == schemes
    assert ((found == 0.5).sum(axis=(1, 2)) <= 2).all()  # in the middle, of one or two


def test_the_boundary_of_four_legs_has_a_fourfold_symmetry():
    data = plain(read_yaml(find_robot_file('soft_parallel')))
    first = data['drives'][0] | {'maximum': '30 kPa'}  # beyond, a leg that works alone buckles
    names = [f'leg_{i}' for i in range(4)]
    data['drives'] = [first | {'name': name} for name in names]
    data['body']['legs'] = [
        {'name': name, 'drive': name, 'angle': f'{90 * i} deg'} for i, name in enumerate(names)
    ]
    del data['driver'], data['emulator']
    found = studies.boundary(Robot(describe_robot(data, 'four.yaml'), 'ancf'), 3)
    assert found.failed == 0
    assert len(found.positions) == 56 * 3
    np.testing.assert_allclose(found.position_range[0], found.position_range[1], rtol=1e-6)
    np.testing.assert_allclose(
        np.abs(found.positions).max(axis=0)[:2], found.position_range[0] / 2
    )


def test_eighteen_boundary_schemes():
    schemes = studies.boundary_schemes(np.zeros(3), np.full(3, 180e3), 5)
    assert schemes.shape == (18, 5, 3)
    assert np.all(np.ptp(schemes, axis=1).max(axis=1) == 180e3)
    moving = np.count_nonzero(np.ptp(schemes, axis=1) > 0, axis=1)
    assert np.count_nonzero(moving == 1) == 12
    assert np.count_nonzero(moving == 2) == 6
    assert len({scheme.tobytes() for scheme in schemes}) == 18
    with pytest.raises(InvalidInput):
        studies.boundary_schemes(np.zeros(3), np.ones(3), 1)


def test_workspace_has_the_published_length_and_hardly_turns_about_z(robot):
    boundary = studies.boundary(robot, 7)
    assert boundary.failed == 0
    assert boundary.extent == pytest.approx(0.239, abs=0.002)  # fitted
    assert boundary.rotation_range[2] < 0.1 * boundary.rotation_range[:2].min()
    inside = studies.sample(robot, studies.random_actuations(robot, 300))
    assert inside.failed == 0
    assert inside.extent <= boundary.extent * 1.005


def test_random_actuations_keep_the_set_of_the_generator(robot):
    ordered = studies.random_actuations(robot, 200, seed=5)
    plain = np.random.default_rng(5).random((200, 3)) * 180e3
    assert np.allclose(np.sort(ordered, axis=0), np.sort(plain, axis=0))
    assert (
        np.linalg.norm(np.diff(ordered, axis=0), axis=1).mean()
        < 0.8 * np.linalg.norm(np.diff(plain, axis=0), axis=1).mean()
    )


def test_stiffness_against_spacing(robot):
    horizontal, vertical, extents = [], [], []
    for ratio in (0.5, 1.0, 1.5):
        design = studies.redesigned(robot, spacing_ratio=ratio)
        around = studies.stiffness_map(design, azimuths=8, elevations=3)
        assert np.ptp(around[1]) < 0.02 * around[1].mean()  # uniform in the plane
        assert around[1].min() > 1.9 * around[[0, 2]].max()  # far softer than vertically
        horizontal.append(around[1].mean())
        vertical.append(np.linalg.norm(studies.displacement(design, np.array([0, 0, -0.1]))))
        extents.append(studies.boundary(design, 4).extent)
    assert np.all(np.diff(horizontal) < 0.0)
    assert np.all(np.diff(vertical) > 0.0)
    assert np.all(np.diff(extents) < 0.0)


def test_payload_curve_is_the_compliance_at_first(robot):
    curve = studies.payload_curve(robot, np.array([0.0, 1.0, 0.0]), np.array([1e-3, 0.1, 0.3]))
    q = robot.forward([0, 0, 0])
    assert curve[0, 1] == pytest.approx(1e-3 * robot.compliance(q)[1, 1], rel=1e-4)
    assert curve[0, 1] < curve[1, 1] < curve[2, 1]
