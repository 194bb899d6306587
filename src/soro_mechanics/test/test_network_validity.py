# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What leaves the theory is said: strain, rods in rods, a rod in itself, coupled limits."""

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, load_robot
from soro_mechanics.models.network.kernels.contact_kernels import axes_apart
from soro_mechanics.robot_file.catalogue import find_robot_file

ONE_ROD = """
schema: 2
name: one_rod
title: One rod with a driven rest curvature
gravity: 0 0 0 m/s^2
body:
  kind: rods
  sections:
    wire: {shape: circle, radius: 2 mm, young: 1 MPa, poisson: 0.4, strain_limit: 1 %}
  bodies: {end: {}}
  rods:
    - {name: wire, section: wire, length: 0.2 m, from: {body: ground}, to: {body: end}}
  tip: {body: end}
drives:
  - {name: bend, quantity: curvature, minimum: -100 1/m, maximum: 100 1/m, rate: 10 1/m/s,
     acts: [{drives: curvature, direction: 0 1 0, rods: [wire]}]}
  - {name: other, quantity: curvature, minimum: -100 1/m, maximum: 100 1/m, rate: 10 1/m/s,
     acts: [{drives: curvature, direction: 1 0 0, rods: [wire]}]}
coupled_limits:
  - {coefficients: {bend: 1, other: 1}, maximum: 90 1/m}
models:
  network: {mesh: 64}
"""


@pytest.fixture(scope='module')
def one_rod(tmp_path_factory):
    file = tmp_path_factory.mktemp('robot') / 'one_rod.yaml'
    file.write_text(ONE_ROD)
    return load_robot(file)


def test_distance_of_segments_against_sampling():
    rng = np.random.default_rng(4)
    ends = rng.normal(size=(4, 40, 3))
    ends[3, :10] = ends[2, :10] + ends[1, :10] - ends[0, :10]  # parallel ones
    along = np.linspace(0.0, 1.0, 201)[:, None]
    for k in range(ends.shape[1]):
        a, b, c, d = ends[:, k]
        pose = np.zeros((4, 4, 4))
        pose[:, :3, 3] = ends[:, k]
        found = axes_apart(pose, 0, 2)
        p, q = a + along * (b - a), c + along * (d - c)
        best = np.linalg.norm(p[:, None] - q[None], axis=2).min()
        assert best - 0.03 < found <= best + 1e-12


def test_strain_is_moment_over_stiffness_times_radius(one_rod):
    moment = 4e-5
    stiffness = 1e6 * np.pi / 4.0 * 0.002**4
    q = one_rod.forward([0.0, 0.0], [0, 0, 0, moment, 0, 0])
    guard = one_rod.network.validity(q)
    assert guard.surface_strain[0] == pytest.approx(moment / stiffness * 0.002, rel=1e-6)
    assert q.status.code is Code.NONE
    assert q.status.message == guard.remark == ''
    q = one_rod.forward([0.0, 0.0], [0, 0, 0, 2.0 * moment, 0, 0])
    assert q.status.code is Code.NONE
    assert 'wire is strained by 1.27 %, more than 1 %' in q.status.message


@pytest.mark.parametrize(('turns', 'touches'), [(0.9, False), (0.985, True), (1.4, True)])
def test_a_rod_closed_to_a_ring_touches_itself(one_rod, turns, touches):
    """Its ends overlap once the gap of the circle is smaller than two radii."""
    radius = 0.2 / (2.0 * np.pi * turns)
    assert (2.0 * radius * abs(np.sin(np.pi * turns)) < 0.004) == touches or turns > 1.0
    q = one_rod.forward([1.0 / radius, 0.0])
    assert q.status.converged
    assert ('wire touches itself' in q.status.message) == touches
    assert (one_rod.network.validity(q).clearance < 0.0) == touches


def test_a_coupled_limit_is_named(one_rod):
    q = one_rod.forward([50.0, 45.0])
    assert '1 bend + 1 other = 95 1/m above 90 1/m' in q.status.message
    assert one_rod.violations([50.0, 45.0]) == ('1 bend + 1 other = 95 1/m above 90 1/m',)
    assert 'bend' not in one_rod.forward([40.0, 45.0]).status.message


def test_rods_that_pass_through_each_other_are_named(tmp_path):
    """Two wires of a platform are crossed where they would meet."""
    text = find_robot_file('stewart_gough').read_text()
    crossed = text.replace('angle: -50 deg', 'angle: 50.001 deg').replace(
        'to: {body: platform, polar: {radius: 87 mm, angle: 50 deg}',
        'to: {body: platform, polar: {radius: 87 mm, angle: -50.001 deg}',
    )
    assert crossed != text
    file = tmp_path / 'crossed.yaml'
    file.write_text(crossed)
    robot = load_robot(file)
    q = robot.forward(np.full(6, 0.405))
    assert q.status.converged
    assert 'rod_1 touches rod_2' in q.status.message
    guard = robot.network.validity(q)
    assert guard.closest == ('rod_1', 'rod_2')
    assert -0.0013 - 1e-9 < guard.clearance < 0.0
    assert load_robot('stewart_gough').forward(np.full(6, 0.405)).status.message == ''


def test_rods_may_touch_where_spheres_around_two_segments_meet():
    robot = load_robot('stewart_gough')
    q = robot.forward([a.rest for a in robot.actuators])
    guard, state = robot.model_object.guard(q.state.equilibrium), q.state.state
    rod = q.state.equilibrium.layout.node_rod
    radius = np.concatenate(q.radii)
    rng, found = np.random.default_rng(8), []
    for squeeze in (1.0, 0.6, 0.3, 0.2, 0.1, 0.05):
        pose = state.node.copy()
        pose[:, :2, 3] = squeeze * pose[:, :2, 3] + rng.normal(0.0, 1e-3, (len(pose), 2))
        a, b = pose[:-1, :3, 3], pose[1:, :3, 3]
        inside = rod[:-1] == rod[1:]
        middle, half = 0.5 * (a + b), 0.5 * np.linalg.norm(b - a, axis=1) + radius[:-1]
        apart = np.linalg.norm(middle[:, None] - middle, axis=2)
        meet = (apart < half[:, None] + half) & (rod[:-1, None] != rod[:-1])
        expected = bool((meet & inside[:, None] & inside).any())
        bent = state._replace(node=pose)
        gap, rods = guard.clearance(bent, 0.0)
        assert expected or not rods
        assert bool(rods) == (gap < 0.0) == (guard.clearance(bent)[0] < 0.0)
        found.append(bool(rods))
    assert not found[0] and found[-1]


def test_the_fast_inverse_carries_the_remark(tmp_path):
    """A remark that the general inverse would make is made along a path as well."""
    text = find_robot_file('stewart_gough').read_text()
    file = tmp_path / 'weak.yaml'
    file.write_text(text.replace('poisson:', 'strain_limit: 0.3 %, poisson:'))
    robot = load_robot(file)
    pose = np.eye(4)
    pose[:3, 3] = [0.0, 0.0, 0.42]
    solution = robot.inverse(pose)
    assert solution.status.message == ''
    for y in np.linspace(0.0, 0.15, 31)[1:]:
        pose[1, 3] = y
        solution = robot.inverse(pose, guess=solution)
    assert 'strained' in solution.configuration.status.message
    assert max(robot.network.validity(solution.configuration).surface_strain) > 0.003


def test_other_models_refuse(one_rod):
    chain = load_robot('stiff_flop')
    q = chain.forward([0.0, 0.0, 0.0])
    for ask in (
        lambda: chain.network.natural_frequencies(q),
        lambda: chain.network.validity(q),
        lambda: chain.network.sensitivity(q, ['*.young']),
    ):
        with pytest.raises(InvalidInput) as error:
            ask()
        assert error.value.code is Code.UNSUPPORTED
        assert 'network' in str(error.value)
    assert chain.conditioning(q, 0.01).condition > 1.0  # needs a Jacobian only
    with pytest.raises(InvalidInput):
        chain.conditioning(q, 0.0)
    with pytest.raises(InvalidInput):
        one_rod.solutions(one_rod.forward([0.0, 0.0]), 0)
