# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads spread over a rod: collocation, order of convergence, weight, balance, robot files."""

from dataclasses import replace
import re

from network_cases import cantilever, LENGTH, section, solve
import numpy as np
import pytest
from scipy.integrate import solve_bvp

from soro_mechanics import InvalidInput, Load, load_robot, LoadAxes, UnknownName
from soro_mechanics.models.network.rod_loads import split_at_loads
from soro_mechanics.robot_file.catalogue import find_robot_file

K = np.array([900.0, 900.0, 1500.0, 0.03, 0.05, 0.02])
CURVATURE = (1.0, 2.0, 0.5)
DEAD = np.array([0.6, -0.4, -0.5, 0.02, 0.01, -0.03])  # [N/m, N]
FOLLOWING = np.array([0.3, 0.5, -0.2, 0.0, 0.03, 0.01])
FORCES = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0])
SPREAD = (
    Load(DEAD, 'rod', 0.0, LoadAxes.BASE, LENGTH),
    Load(FOLLOWING, 'rod', 0.0, LoadAxes.LOCAL, LENGTH),
)
FORCES_ONLY = tuple(replace(x, wrench=FORCES * x.wrench) for x in SPREAD)


def collocation(loads):
    """Solve the cantilever under both loads by collocation, in the base frame."""
    dead, following = (x.wrench for x in loads)

    def rates(s, y):
        turned, n, m = y[3:12].T.reshape(-1, 3, 3), y[12:15].T, y[15:18].T
        v = np.array([0.0, 0.0, 1.0]) + np.einsum('nji,nj->ni', turned, n) / K[:3]
        u = np.array(CURVATURE) + np.einsum('nji,nj->ni', turned, m) / K[3:]
        along = np.einsum('nij,nj->ni', turned, v)
        turning = np.cross(turned, u[:, None]).reshape(-1, 9)  # rows: R hat(u)
        moment = np.cross(along, n) + dead[3:] + turned @ following[3:]
        return np.hstack([along, turning, -dead[:3] - turned @ following[:3], -moment]).T

    def ends(a, b):
        return np.concatenate([a[:3], a[3:12] - np.eye(3).ravel(), b[12:18]])

    s = np.linspace(0.0, LENGTH, 21)
    y = np.zeros((18, s.size))
    y[2] = s
    y[[3, 7, 11]] = 1.0
    found = solve_bvp(rates, ends, s, y, tol=1e-9, max_nodes=20000)
    assert found.success
    return found.y[:3, -1]


def tip(panels, loads=SPREAD, **kind):
    of = section(shear=900.0, axial=1500.0, bending=(0.03, 0.05))
    spec = replace(cantilever(curvature=CURVATURE, of=of, **kind), load_panels=panels)
    solver, outcome = solve(split_at_loads(spec, loads), loads=loads)
    assert outcome.converged
    return outcome.state.body[solver.layout.tip_body][:3, 3]


@pytest.mark.parametrize('loads', [FORCES_ONLY, SPREAD])
def test_order_against_collocation(loads):
    """Panels and elements are refined together: second order."""
    reference = collocation(loads)
    errors = []
    for n in (2, 4, 8):
        errors.append(float(np.linalg.norm(tip(n, loads, pieces=2 * n) - reference)))
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert slopes[-1] == pytest.approx(2.0, abs=0.5), errors
    assert errors[-1] < 1e-4


def test_parts_of_a_load_add_up():
    halves = tuple(
        replace(x, arc_length=a * LENGTH, until=b * LENGTH)
        for x in SPREAD
        for a, b in ((0.0, 0.4), (0.4, 1.0))
    )
    np.testing.assert_allclose(tip(12, halves, pieces=200), tip(12, pieces=200), atol=2e-7)


def platform_file(tmp_path, loads=''):
    text = find_robot_file('stewart_gough').read_text()
    text = re.sub(r'\n    mesh: .*\n', '\n    mesh: 64\n', text)
    file = tmp_path / 'robot.yaml'
    file.write_text(text + loads)
    return file


def test_robot_and_file_agree_and_the_root_carries_the_load(tmp_path):
    """The same load from the call and from the file; force balance over all roots."""
    robot = load_robot(platform_file(tmp_path))
    lengths = np.full(6, 0.405)
    load = Load([0.5, 0.0, -1.0, 0, 0, 0], 'rod_2', 0.1, LoadAxes.BASE, 0.3)
    q = robot.forward(lengths, loads=[load])
    assert q.status.converged
    base = robot.model_object.linearise(q).work.balance[0, :3]
    np.testing.assert_allclose(base, -0.2 * np.array([0.5, 0.0, -1.0]), atol=1e-8)
    text = 'loads:\n  - {kind: dead, rod: rod_2, from: 100 mm, to: 300 mm, force: 0.5 0 -1 N/m}\n'
    own = load_robot(platform_file(tmp_path, text))
    same = own.forward(lengths)
    assert same.loads == ()
    np.testing.assert_allclose(same.tip, q.tip, atol=1e-9)
    pose = q.tip.copy()
    pose[2, 3] += 0.01
    back = own.inverse(pose, guess=same)
    np.testing.assert_allclose(own.forward(back.actuation).tip, pose, atol=1e-6)
    moved, _ = own.refinement(same)
    assert 0.0 < moved < 1e-6


def test_jacobian_and_compliance_with_a_spread_load():
    robot = load_robot('stewart_gough')
    load = Load([1.0, 0.0, 0.5, 0, 0, 0], 'rod_1', 0.0, LoadAxes.LOCAL, 0.405)
    lengths = np.array([0.41, 0.40, 0.405, 0.41, 0.40, 0.40])
    q = robot.forward(lengths, loads=[load])
    assert q.status.converged
    step = 1e-3
    ends = [
        robot.forward(lengths, [s * step, 0, 0, 0, 0, 0], loads=[load], guess=q).tip[:3, 3]
        for s in (1.0, -1.0)
    ]
    expected = (ends[0] - ends[1]) / (2.0 * step)
    found = robot.compliance(q)[:3, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize(
    ('load', 'error'),
    [
        (Load(DEAD, 'rod_1', 0.2, LoadAxes.BASE, 0.1), InvalidInput),
        (Load(DEAD, 'rod_1', 0.2, LoadAxes.BASE, 0.5), InvalidInput),
        (Load(DEAD, 'platform', 0.0, LoadAxes.BASE, 0.1), UnknownName),
        (Load(DEAD, 'rod_1', 0.0, LoadAxes.BASE, np.nan), InvalidInput),
    ],
)
def test_wrong_parts_are_refused(load, error):
    with pytest.raises(error):
        load_robot('stewart_gough').forward(np.full(6, 0.405), loads=[load])


def test_other_models_refuse_spread_loads():
    robot = load_robot('stiff_flop')
    with pytest.raises(InvalidInput, match='model ncm'):
        robot.forward([0, 0, 0], loads=[Load(DEAD, 'segment_1', 0.0, LoadAxes.BASE, 0.01)])
