# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A mesh chosen by tolerance is as good as it says, and no finer than it must be."""

import numpy as np
import pytest
import yaml

from soro_mechanics import load_robot, RobotFileError
from soro_mechanics.core.actuation_limits import extremes
from soro_mechanics.models.network import meshing
from soro_mechanics.models.network.arrays import new_state
from soro_mechanics.models.network.description.schema import FEWEST, graded
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.mesh_error import MeshCheck
from soro_mechanics.robot_file.catalogue import find_robot_file

ARM = find_robot_file('config/robots/examples/tendon_arm.yaml')
CHAIN = find_robot_file('config/robots/examples/planar_chain.yaml')


def chain(tmp_path, mesh):
    text = CHAIN.read_text().replace('  network: {mesh: 32}\n', f'  network: {{mesh: {mesh}}}\n')
    file = tmp_path / 'chain.yaml'
    file.write_text(text)
    return load_robot(file)


@pytest.mark.parametrize('tolerance', [2e-3, 1e-5, 1e-7])
def test_the_error_against_a_much_finer_mesh(tmp_path, tolerance):
    robot = chain(tmp_path, f'{{tolerance: {tolerance * 1e3:g} mm}}')
    report = robot.model_object.mesh
    assert report.tolerance == pytest.approx(tolerance)
    assert report.error <= report.tolerance
    (tmp_path / 'fine').mkdir()
    fine = chain(tmp_path / 'fine', '320')
    errors = []
    for actuation in extremes(robot.description).values():
        q = robot.forward(actuation)
        best = fine.forward(actuation)
        if not (q.status.converged and best.status.converged):
            continue
        errors.append(float(np.linalg.norm(q.tip[:3, 3] - best.tip[:3, 3])))
    assert len(errors) >= 5
    assert max(errors) <= 1.001 * tolerance
    # the estimate is of the size of the error, not just above it
    assert report.error < 50.0 * max(errors)


def test_a_tolerance_costs_no_more_than_it_must(tmp_path):
    coarse = chain(tmp_path, '{tolerance: 1 mm}').model_object
    fine = chain(tmp_path, '{tolerance: 0.1 um}').model_object
    assert len(coarse.spec.rods[0].fractions) < len(fine.spec.rods[0].fractions)


def test_an_impossible_tolerance_is_refused(tmp_path):
    with pytest.raises(RobotFileError, match='cannot be met'):
        chain(tmp_path, '{tolerance: 1.0e-9 um}')


def arm(tmp_path, most: str, tolerance: str = '0.02 mm', second: bool = False):
    """Return an arm whose tendons pull with up to `most`, of one rod or of two."""
    tree = yaml.safe_load(ARM.read_text())
    tree['models'] = {'network': {'mesh': {'tolerance': tolerance}}}
    for drive in tree['drives']:
        drive['maximum'] = most
    body = tree['body']
    if second:
        ends = {
            k: {'body': b, 'position': '60 0 0 mm'} for k, b in (('from', 'ground'), ('to', 'tip'))
        }
        body['rods'].append(body['rods'][0] | {'name': 'arm2'} | ends)
        for name in ('far_2', 'near_2'):
            body['tendons'][name]['rods'] = ['arm2']
    file = tmp_path / 'arm.yaml'
    file.write_text(yaml.safe_dump(tree, sort_keys=False))
    return load_robot(file)


def test_extremes_that_coarse_meshes_do_not_solve_count_on_finer_ones(tmp_path):
    # The first meshes solve the arm where it is straight only, and are exact there.
    robot = arm(tmp_path, '150 N')
    assert robot.model_object.mesh.error < 0.02e-3
    for actuation in extremes(robot.description).values():
        q = robot.forward(actuation)
        assert q.status.converged
        assert robot.refinement(q)[0] < 0.02e-3


def test_a_tolerance_where_there_is_no_equilibrium_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(meshing, 'MAX_DOUBLINGS', 0)
    with pytest.raises(RobotFileError, match=r'at 6 of 15 extremes \(near_1 at maximum\); lower'):
        arm(tmp_path, '150 N')


def test_finer_meshes_start_where_coarser_ones_agree(tmp_path, monkeypatch):
    cold = []
    solve = Equilibrium.solve
    monkeypatch.setattr(
        Equilibrium, 'solve', lambda self, *a: cold.append(self) or solve(self, *a)
    )
    first = arm(tmp_path, '40 N', '0.05 mm', second=True).model_object
    warm, cases = len(cold), 15
    meshes = 2 + int(np.log2((len(first.spec.rods[0].fractions) - 1) / FEWEST))
    assert warm < 0.5 * cases * meshes
    cold.clear()
    monkeypatch.setattr(MeshCheck, 'between', lambda self, fine, _: new_state(fine.structure))
    again = arm(tmp_path, '40 N', '0.05 mm', second=True).model_object
    assert len(cold) > warm
    assert len(again.spec.rods[0].fractions) == len(first.spec.rods[0].fractions)
    assert again.mesh.error == pytest.approx(first.mesh.error, rel=1e-4)


def test_number_and_grading(tmp_path):
    robot = chain(tmp_path, '{pieces: 9, grading: 3}')
    sizes = np.diff(robot.model_object.spec.rods[0].fractions)
    assert len(sizes) == 9
    assert robot.model_object.mesh is None
    assert sizes[4] / sizes[0] == pytest.approx(3.0)
    assert sizes[0] == pytest.approx(sizes[-1])
    np.testing.assert_allclose(graded(8, 1.0), np.linspace(0.0, 1.0, 9), atol=1e-15)
    even = np.diff(graded(8, 2.0))
    assert even[3] / even[0] == pytest.approx(2.0)
    with pytest.raises(RobotFileError, match='grading'):
        chain(tmp_path, '{pieces: 9, grading: 0}')
