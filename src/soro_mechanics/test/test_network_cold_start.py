# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Cold starts beyond limit points, starts from other robots, and the run that counts them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from network_cases import BENDING, cantilever, LENGTH, problem
import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Stability
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.layout import build_layout
from soro_mechanics.models.network.relaxation import relax
from soro_studies.mechanics import network_robustness as robustness
from soro_studies.mechanics.random_problems import RandomProblems, way_to_tip


def test_a_buckled_rod_comes_to_rest_on_a_stable_shape():
    """Twice the Euler load on a straight cantilever: Newton stays straight."""
    push = np.array([0.0, 0.0, -2.0 * np.pi**2 * BENDING / (4.0 * LENGTH**2), 0.0, 0.0, 0.0])
    layout = build_layout(cantilever(), 0)
    solver = Equilibrium(layout)
    straight = solver.solve(problem(push), np.zeros(0), None)
    assert abs(straight.state.body[1, 0, 3]) < 1e-9
    touch = push + np.array([1e-3 * abs(push[2]), 0.0, 0.0, 0.0, 0.0, 0.0])
    x = solver.inputs(problem(touch))
    converged, state, _, residual = relax(
        layout.structure, x, straight.state, solver.scratch, solver.tolerance
    )
    assert converged
    assert residual <= solver.tolerance
    # the elastica at twice the critical load: the tip lies far to the side of its base
    assert state.body[1, 0, 3] == pytest.approx(0.79 * LENGTH, rel=0.03)


def test_platform_past_its_limit_points_is_stable():
    """Random lengths buckle straight rods at once: the branch of the start ends."""
    problems = RandomProblems(load_robot('stewart_gough', 'network'))
    found = [problems.robot.forward(*problems.draw(1, i)) for i in range(3)]
    assert all(q.status.converged for q in found)
    for q in found:
        moved, _ = problems.robot.refinement(q)
        assert moved < 1e-3


def test_robot_of_ten_modules_from_a_cold_start():
    """Lengths that a bent backbone has; independent ones would have to tear it."""
    problems = RandomProblems(load_robot('pam_continuum', 'network'))
    actuation, wrench = problems.draw(1, 0)
    assert problems.robot.feasible(actuation)
    q = problems.robot.forward(actuation, wrench)
    assert q.status.converged
    # muscles give way by less than a millimetre; the backbone makes the mean of a module
    span = {
        r.name: np.ptp(p[[0, -1], :3, 3], axis=0)
        for r, p in zip(problems.robot.model_object.spec.rods, q.backbones, strict=True)
    }
    chords = [np.linalg.norm(span[f'tube_{1 + i // 3}_{1 + i % 3}']) for i in range(30)]
    given, told = np.reshape(chords, (10, 3)), actuation.reshape(10, 3)
    differences = [x - x.mean(axis=1, keepdims=True) for x in (given, told)]
    np.testing.assert_allclose(*differences, atol=1e-3)
    assert np.abs(given.mean(axis=1) - told.mean(axis=1)).max() < 3e-3
    assert q.status.stability is not Stability.UNKNOWN


def test_way_to_the_tip_goes_through_all_modules():
    robot = load_robot('pam_continuum', 'network')
    assert way_to_tip(robot.model_object.spec) == pytest.approx(1.0)
    assert way_to_tip(load_robot('stewart_gough').model_object.spec) == pytest.approx(0.405)


@pytest.mark.parametrize('times', [0.4, 3.0])
def test_a_solution_of_another_stiffness_is_a_start(times):
    """The strain is kept: a guess for a robot of other stiffness takes few steps."""
    robot = load_robot('stewart_gough')
    lengths = [0.41, 0.44, 0.41, 0.45, 0.41, 0.42]
    q = robot.forward(lengths, [0.05, 0, 0.02, 0, 0, 0])
    other = stiffer(load_robot('stewart_gough'), times)
    cold = other.forward(lengths, [0.05, 0, 0.02, 0, 0, 0])
    warm = other.forward(lengths, [0.05, 0, 0.02, 0, 0, 0], guess=q)
    assert warm.status.code is Code.NONE
    assert warm.status.iterations <= 6
    assert warm.status.iterations < cold.status.iterations
    # and it is the stiffer robot's own answer
    again = other.forward(lengths, [0.05, 0, 0.02, 0, 0, 0], guess=warm)
    np.testing.assert_allclose(again.tip, warm.tip, atol=1e-9)
    assert np.abs(warm.tip - q.tip).max() > 1e-4


def stiffer(robot, times):
    """Return the robot with rods of another modulus."""
    model = robot.model_object
    rods = []
    for rod in model.spec.rods:
        of = replace(rod.section, young=times * rod.section.young, shear=times * rod.section.shear)
        rods.append(replace(rod, section=of))
    model.spec = replace(model.spec, rods=tuple(rods))
    return robot


def test_interrupted_run_goes_on(tmp_path):
    def keep():
        return robustness.Keep(tmp_path, 'soft_parallel', 1, False)

    with ThreadPoolExecutor(1) as executor:
        robustness.run_robot('soft_parallel', 3, 1, keep(), executor)
        with (tmp_path / 'soft_parallel.jsonl').open('a', encoding='utf-8') as file:
            file.write('{"index": 3, "co')  # cut short in the middle of a line
        second = keep()
        assert sorted(second.records) == [0, 1, 2]
        before = dict(second.records)
        robustness.run_robot('soft_parallel', 5, 1, second, executor)
    records = keep().records
    assert sorted(records) == [0, 1, 2, 3, 4]
    assert all(records[i] == before[i] for i in before)
    other = robustness.Keep(tmp_path, 'soft_parallel', 2, False)
    assert not other.records


def test_page_counts_what_the_finer_mesh_contradicts():
    good = {
        'index': 0,
        'code': 'NONE',
        'seconds': 0.1,
        'residual': 1e-12,
        'remark': False,
        'moved': 1e-6,
        'size': 0.4,
    }
    far = {**good, 'index': 1, 'moved': 0.1}
    lost = {**good, 'index': 2, 'moved': None}
    failed = {
        'index': 3,
        'code': 'NOT_CONVERGED',
        'seconds': 1.0,
        'residual': 1.0,
        'remark': False,
    }
    text = robustness.page('command', {'arm': [good, far, lost, failed]})
    row = next(x for x in text.splitlines() if x.startswith('| arm'))
    assert [c.strip() for c in row.split('|')[2:10]] == ['4', '3', '0', '1', '0', '1', '1', '1']
    assert '- arm, sample 1: the finer mesh answers 100 mm away' in text
