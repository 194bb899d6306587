# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The backbone of least energy against the beam network: two formulations of one robot.

In both, muscles give way, and the mean length of a module is free. What differs is that the
network's backbone stretches and shears, which moves the tip by a tenth of a millimetre. A third
formulation is in `studies/test/test_muscle_energy.py`.
"""

from __future__ import annotations

from kirchhoff_cases import twist_between
import numpy as np
import pytest

from soro_mechanics import Code, Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

APART = 0.5e-3  # m
CASES = [
    ([0.15, 0.0, 0.93], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ([0.1, 0.2, 0.85], [0.0, 0.0, 0.5, 0.0, 0.0, 0.0]),
    ([0.15, 0.0, 0.93], [0.2, 0.0, 0.0, 0.0, 0.0, 0.0]),
    ([0.15, 0.0, 0.93], [0.0, 0.0, 0.0, 0.0, 0.0, 0.02]),
]


@pytest.fixture(scope='module')
def robots(tmp_path_factory):
    """Return backbone and network of one file."""
    text = find_robot_file('pam_continuum').read_text(encoding='utf-8')
    # The backbone's finite differences are of second order: 800 put their error out of the way.
    assert 'elements: {value: 200,' in text
    file = tmp_path_factory.mktemp('fine') / 'pam_continuum.yaml'
    file.write_text(text.replace('elements: {value: 200,', 'elements: {value: 800,', 1))
    description = read_robot_file(file)
    return Robot(description, 'kirchhoff'), Robot(description, 'network')


def raised(robot, share, count=10):
    """Return rest with the first muscles a share of the way to their longest."""
    lengths = np.array([a.rest for a in robot.actuators])
    lengths[:count] += share * (robot.limits[:count, 1] - lengths[:count])
    return lengths


@pytest.mark.parametrize(('target', 'wrench'), CASES)
def test_both_models_compute_one_robot(robots, target, wrench):
    backbone, network = robots
    lengths = backbone.inverse(target).actuation
    one, other = (robot.forward(lengths, wrench) for robot in robots)
    assert one.status.code is other.status.code is Code.NONE
    assert np.linalg.norm(one.tip[:3, 3] - other.tip[:3, 3]) < APART
    unit = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # turns count as 0.1 m of arm
    soft, hard = backbone.compliance(one), network.compliance(other)
    scale = np.outer(unit, unit)
    assert np.linalg.norm(scale * (soft - hard)) < 0.01 * np.linalg.norm(scale * soft)
    soft, hard = backbone.jacobian(one), network.jacobian(other)
    assert np.linalg.norm(unit @ (soft - hard)) < 0.01 * np.linalg.norm(unit @ soft)


@pytest.mark.parametrize('share', [0.1, 0.2, 0.4])
def test_muscles_that_are_raised_together_press_nothing(robots, share):
    """They did, with 330 to 1260 N a muscle: UNSTABLE in three directions, then no equilibrium."""
    one, other = (robot.forward(raised(robot, share)) for robot in robots)
    assert one.status.code is other.status.code is Code.NONE
    assert one.status.stability is other.status.stability
    assert np.linalg.norm(one.tip[:3, 3] - other.tip[:3, 3]) < APART
    said = f'off by {20.0 * share:.1f} mm'
    assert said in one.status.message and said in other.status.message


def test_a_mean_that_is_commanded_moves_nothing(robots):
    _, network = robots
    lengths = raised(network, 0.2, 4)
    q = network.forward(lengths)
    lifted = lengths.copy()
    lifted[3:6] += 5e-3
    for guess in (None, q):
        again = network.forward(lifted, guess=guess)
        np.testing.assert_allclose(again.tip, q.tip, atol=1e-8)
        np.testing.assert_array_equal(again.actuation, lifted)
    means = network.jacobian(q).reshape(6, 10, 3).sum(axis=2)
    assert np.abs(means).max() < 1e-6 * np.abs(network.jacobian(q)).max()


def test_the_network_s_derivatives_are_those_of_free_means(robots):
    _, network = robots
    wrench = np.array([0.2, -0.1, 0.1, 0.0, 0.0, 0.0])
    lengths = raised(network, 0.3, 7)
    q = network.forward(lengths, wrench)
    jacobian, compliance = network.jacobian(q), network.compliance(q)
    for j in (0, 3, 29):
        shift = 2e-5 * np.eye(30)[j]
        plus, minus = (network.forward(lengths + s * shift, wrench, q) for s in (1.0, -1.0))
        found = twist_between(plus.tip, minus.tip, 2e-5)
        np.testing.assert_allclose(found, jacobian[:, j], atol=2e-5 * np.abs(jacobian).max())
    for j in (0, 2, 5):
        shift = 2e-3 * np.eye(6)[j] * (1.0 if j < 3 else 0.1)
        plus, minus = (network.forward(lengths, wrench + s * shift, q) for s in (1.0, -1.0))
        found = twist_between(plus.tip, minus.tip, np.abs(shift).sum())
        np.testing.assert_allclose(
            found, compliance[:, j], atol=2e-5 * np.abs(compliance[:, j]).max()
        )


def test_the_inverse_of_the_network_meets_its_forward(robots):
    _, network = robots
    target = [0.12, 0.05, 0.94]
    s = network.inverse(target, [0.0, 0.0, 0.2, 0.0, 0.0, 0.0])
    assert s.status.code is Code.NONE
    again = network.forward(s.actuation, [0.0, 0.0, 0.2, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(again.tip[:3, 3], target, atol=1e-5)
