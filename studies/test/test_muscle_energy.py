# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven robot by a minimum of energy that shares no code with its models."""

import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Stability
from soro_studies.mechanics.muscle_energy import raised, robot_of

APART = 0.5e-3  # m


@pytest.fixture(scope='module')
def robot():
    return load_robot('pam_continuum')


def test_its_gradient_is_that_of_its_second_variation(robot):
    """The Hessian is symmetric where the gradient is that of an energy, and zero at rest."""
    made = robot_of(robot.description, elements=2)
    lengths = raised(robot, 0.4).reshape(-1, 3)
    found = made.solve(lengths)
    assert found is not None
    matrix = made.second_variation(*found[0], lengths)
    assert np.abs(matrix - matrix.T).max() < 1e-6 * np.abs(matrix).max()


@pytest.mark.parametrize('share', [0.1, 0.4])
def test_both_models_agree_with_it(robot, share):
    made = robot_of(robot.description, elements=6)
    command = raised(robot, share)
    found = made.solve(command.reshape(-1, 3))
    assert found is not None
    shape, second = found
    assert np.linalg.eigvalsh(second)[0] > 0.0
    tip = made.positions(*shape)[0, -1]
    for model in ('kirchhoff', 'network'):
        q = robot.with_model(model).forward(command)
        assert q.status.code is Code.NONE and q.status.stability is Stability.STABLE
        assert np.linalg.norm(q.tip[:3, 3] - tip) < APART


def test_muscles_that_held_their_mean_would_press_the_robot_out_of_its_shape(robot):
    """What `network` once computed: right for its own muscles, which no driver has."""
    made = robot_of(robot.description, elements=6, mean_held=True)
    negative, pressed = [], []
    for share in (0.06, 0.065, 0.1):
        command = raised(robot, share).reshape(-1, 3)
        found = made.solve(command)
        assert found is not None
        negative.append(int(np.count_nonzero(np.linalg.eigvalsh(found[1]) < 0.0)))
        pressed.append(-made.tensions(made.muscle_lengths(*found[0]), command).min())
    assert negative == [0, 3, 3]
    # Twist: three muscles in N r^2 / l each against G J / l
    assert pressed[0] < made.torsion / (3.0 * made.radius**2) * 1.02 < pressed[2]
    assert pressed[2] > 300.0  # published is 22.7 N
