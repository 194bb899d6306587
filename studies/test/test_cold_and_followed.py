# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A sample of the branch study; all of it is a command of its own."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_studies.mechanics import cold_and_followed as study


@pytest.mark.parametrize('name', ['stiff_flop_two_segment', 'soft_parallel', 'haptic_5dof'])
def test_no_other_branch_is_silent(name):
    found = study.run(load_robot(name), 15, seed=2)
    assert found['samples'] == 15
    assert found['silent'] == 0, found['silent cases']
    assert found['same'] >= 10


def test_two_equilibria_are_told_apart():
    robot = load_robot('stiff_flop_two_segment')
    robot.gravity = [0.0, 0.0, -9.81]
    p = np.full(6, 0.8e5)
    straight = robot.forward(p)
    pushed = robot.forward(p, [0.02, 0, 0, 0, 0, 0])
    leaning = robot.forward(p, None, pushed)
    assert study._kind(robot, straight, leaning) == 'said'
    assert study._kind(robot, leaning, leaning) == 'same'
