# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensitivities against robots that are read from a changed file and solved again."""

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, load_robot, UnknownName
from soro_mechanics.numerics import lie

TEXT = """
schema: 2
name: pair
title: A steel rod and a measured hose hold a platform
gravity: 0 0 -9.81 m/s^2
body:
  kind: rods
  sections:
    wire: {{shape: tube, radius: {radius} mm, inner_radius: 0.4 mm, young: {young} GPa,
            poisson: 0.3, density: 7800 kg/m^3}}
    hose:
      stiffness: {{axial: 300 N, shear: 200 N, bending_x: {bending} N m^2, bending_y: 0.02 N m^2,
                  torsion: 0.01 N m^2}}
      mass_per_length: 0.05 kg/m
      radius: 4 mm
  bodies: {{platform: {{position: 30 0 290 mm, mass: 30 g}}}}
  rods:
    - name: wire
      section: wire
      length: {length} m
      rest_curvature: 0 {curve} 0 1/m
      from: {{body: ground, motor: {{axis: 0 1 0}}}}
      to: {{body: platform, position: -30 0 0 mm}}
    - name: hose
      section: hose
      length: 0.31 m
      from: {{body: ground, position: 60 0 0 mm}}
      to: {{body: platform, position: 30 0 0 mm, joint: spherical}}
  tip: {{body: platform, position: 0 0 20 mm}}
drives:
  - {{name: turn, quantity: angle, minimum: -60 deg, maximum: 60 deg, rate: 90 deg/s,
     acts: [{{drives: angle, rods: [wire]}}]}}
models:
  network: {{rods: {{hose: {{mesh: 10}}}}}}
"""
VALUES = {'radius': 0.9, 'young': 60.0, 'bending': 0.03, 'length': 0.3, 'curve': 0.8}
# parameter, key in the file, SI per unit of the file
CASES = (
    ('wire.radius', 'radius', 1e-3),
    ('hose.bending_x', 'bending', 1.0),
    ('wire.length', 'length', 1.0),
    ('wire.rest_curvature_y', 'curve', 1.0),
)
WRENCH = [0.5, 0.3, -0.4, 0.01, 0.02, 0.0]


@pytest.fixture(scope='module')
def solve(tmp_path_factory):
    folder = tmp_path_factory.mktemp('pair')

    def solved(**change):
        file = folder / 'pair.yaml'
        file.write_text(TEXT.format(**{**VALUES, **change}))
        robot = load_robot(file)
        q = robot.forward([0.2], WRENCH)
        assert q.status.converged
        return robot, q

    return solved


@pytest.fixture(scope='module')
def middle(solve):
    robot, q = solve()
    return robot, q, robot.network.sensitivity(q, [c[0] for c in CASES], compliance=True)


@pytest.mark.parametrize('case', range(len(CASES)))
def test_tip_and_compliance_against_solving_again(solve, middle, case):
    _, q, found = middle
    name, key, unit = CASES[case]
    step = 3e-3 * VALUES[key]  # files are solved to 1e-9 only
    ends = [solve(**{key: VALUES[key] + sign * step}) for sign in (1.0, -1.0)]
    tips = [e[1].tip for e in ends]
    turn = lie.so3_log(tips[0][:3, :3] @ tips[1][:3, :3].T)
    twist = np.concatenate([tips[0][:3, 3] - tips[1][:3, 3], turn]) / (2.0 * step * unit)
    assert found.parameters[case] == name
    assert found.value[case] == pytest.approx(VALUES[key] * unit)
    for rows in (slice(0, 3), slice(3, 6)):
        scale = np.abs(twist[rows]).max()
        np.testing.assert_allclose(found.tip[rows, case], twist[rows], atol=2e-3 * scale)
    change = (ends[0][0].compliance(ends[0][1]) - ends[1][0].compliance(ends[1][1])) / (
        2.0 * step * unit
    )
    np.testing.assert_allclose(found.compliance[case], change, atol=5e-3 * np.abs(change).max())


def test_a_step_of_newton_leads_to_the_tip_of_other_numbers(solve, middle):
    _, q, _ = middle
    changed, solved = solve(young=1.0003 * VALUES['young'])
    assert np.abs(solved.tip - q.tip).max() > 1e-5
    tip = changed.model_object.shifted_tip(q)
    np.testing.assert_allclose(tip, solved.tip, rtol=0.0, atol=1e-7)  # the square of that


def test_stiffer_and_heavier_alike_changes_nothing():
    """Scaling all stiffness like all loads leaves the shape: a law the derivatives obey."""
    robot = load_robot('stewart_gough')
    q = robot.forward([0.42, 0.40, 0.41, 0.43, 0.40, 0.42], [0.3, 0.2, -0.5, 0, 0, 0])
    found = robot.network.sensitivity(q, ['*.young', '*.shear_modulus'])
    scaled = found.relative.sum(axis=1)
    load = robot.compliance(q) @ q.wrench
    np.testing.assert_allclose(scaled, -load, rtol=1e-4, atol=1e-4 * np.abs(load).max())


def test_what_cannot_be_asked(middle):
    robot, q, _ = middle
    with pytest.raises(UnknownName, match='wire'):
        robot.network.sensitivity(q, ['wyre.young'])
    with pytest.raises(UnknownName, match='bending_x'):
        robot.network.sensitivity(q, ['hose.young'])
    with pytest.raises(InvalidInput):
        robot.network.sensitivity(q, 'hose.bending_x')
    platform = load_robot('stewart_gough')
    with pytest.raises(InvalidInput) as error:
        platform.network.sensitivity(platform.forward(np.full(6, 0.405)), ['rod_1.length'])
    assert error.value.code is Code.UNSUPPORTED
