# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven backbone: Jacobian and compliance against differences."""

from kirchhoff_cases import twist_between, WRENCH
import numpy as np
import pytest

from soro_mechanics import Code, Load, load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.kirchhoff.compliance import full_system, station_port
from soro_mechanics.models.kirchhoff.hold_solve_kernels import hold_newton
from soro_mechanics.models.kirchhoff.model import Kirchhoff


@pytest.fixture(scope='module')
def robot():
    return load_robot('pam_continuum')


@pytest.fixture(scope='module')
def model(robot):
    return Kirchhoff(robot.description)


def test_jacobian_and_compliance_match_differences(robot):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    q = robot.forward(lengths, WRENCH)
    assert q.status.code is Code.NONE
    jacobian = robot.jacobian(q)
    for j in (0, 1, 2, 13, 29):
        shift = 1e-6 * np.eye(30)[j]
        plus = robot.forward(lengths + shift, WRENCH, guess=q)
        minus = robot.forward(lengths - shift, WRENCH, guess=q)
        np.testing.assert_allclose(
            twist_between(plus.tip, minus.tip, 1e-6),
            jacobian[:, j],
            atol=1e-6 * np.abs(jacobian).max(),
        )
    compliance = robot.compliance(q)
    for j in range(6):
        shift = 1e-4 * np.eye(6)[j]
        plus = robot.forward(lengths, WRENCH + shift, guess=q)
        minus = robot.forward(lengths, WRENCH - shift, guess=q)
        np.testing.assert_allclose(
            twist_between(plus.tip, minus.tip, 1e-4),
            compliance[:, j],
            atol=1e-6 * np.abs(compliance).max(),
        )


def test_compliance_symmetry_and_the_asymmetry_of_a_dead_moment(robot):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    free = robot.compliance(robot.forward(lengths, [0.2, -0.3, 0.1, 0, 0, 0]))
    assert np.abs(free - free.T).max() < 1e-9 * np.abs(free).max()
    stiffness = np.linalg.inv(robot.compliance(robot.forward(lengths, WRENCH)))
    m = WRENCH[3:]
    want = np.zeros((6, 6))
    want[3:, 3:] = -np.array([[0, -m[2], m[1]], [m[2], 0, -m[0]], [-m[1], m[0], 0]])
    np.testing.assert_allclose(stiffness - stiffness.T, want, atol=1e-6 * np.abs(stiffness).max())


def test_compliance_along_the_backbone(robot, model):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    q = robot.forward(lengths, WRENCH)
    along = robot.compliance_along(q)[0]
    assert along.shape == (41, 6, 6)
    assert np.abs(along[0]).max() == 0.0
    np.testing.assert_allclose(along[-1], robot.compliance(q), rtol=1e-8, atol=1e-10)
    for station in (12, 22):
        arc = q.arc_lengths[0][station]
        for j in range(3):
            force = 1e-4 * np.eye(6)[j]
            plus = robot.forward(lengths, WRENCH, q, [Load(force, 'backbone', arc)])
            minus = robot.forward(lengths, WRENCH, q, [Load(-force, 'backbone', arc)])
            twist = twist_between(plus.backbones[0][station], minus.backbones[0][station], 1e-4)
            np.testing.assert_allclose(
                twist, along[station][:, j], atol=1e-5 * np.abs(along[station]).max()
            )
    state = q.state
    shape = (state.q, state.force, state.bend)
    full = full_system(shape, model.rod.rod_data, state.dead, state.moment)
    turns = np.array([g[:3, :3] for g in q.backbones[0]])
    assert full.shape == (680, 680)
    assert station_port(0, turns, 0.005, 680).any() == np.False_


@pytest.mark.parametrize('bent', [0.0, 0.003, 0.012, 0.06])
def test_the_inertia_is_that_of_the_full_system(robot, model, bent):
    """Also of the straight robot, whose modules have neither stiffness nor give along the rod."""
    lengths = 0.1 + bent * np.sin(np.arange(30.0)).reshape(10, 3)
    wrench = np.zeros(6) if bent == 0.0 else WRENCH
    q = model.forward(lengths.ravel(), LoadCase(wrench), None)
    assert q.status.converged
    s = q.state
    shape, loads = (s.q, s.force, s.bend), (s.dead, s.moment)
    ended = hold_newton(shape, model.rod.rod_data, loads, s.bends, 1e-9, 25)[3]
    full = full_system(shape, model.rod.rod_data, *loads)
    below = np.count_nonzero(np.linalg.eigvalsh(0.5 * (full + full.T)) < 0.0)
    assert ended[0] and ended[3] == below
    assert (q.status.code is Code.NONE) == (below == 50)
