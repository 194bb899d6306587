# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots and configurations in other threads and processes: the same numbers."""

from concurrent.futures import ThreadPoolExecutor
import pickle

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import robot_files

PARTS = np.linspace(0.1, 0.5, 12)


def actuations(robot):
    """From rest towards the upper limits; muscles only as far as their lengths fit each other."""
    rest = np.array([a.rest for a in robot.actuators])
    far = 0.1 if len(rest) > 12 else 1.0
    return [rest + far * part * (robot.limits[:, 1] - rest) for part in PARTS]


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_what_was_pickled_goes_on_as_before(name):
    robot = load_robot(name)
    first, *_, last = actuations(robot)
    q = robot.forward(first)
    other, there = pickle.loads(pickle.dumps((robot, q)))
    assert repr(there.status) == repr(q.status)  # NaN is not equal to itself
    np.testing.assert_array_equal(there.tip, q.tip)
    ours, theirs = robot.forward(last, None, q), other.forward(last, None, there)
    np.testing.assert_allclose(theirs.tip, ours.tip, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(other.jacobian(theirs), robot.jacobian(ours), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_threads_get_the_numbers_of_one(name):
    robot = load_robot(name)

    def everything(p):
        q = robot.forward(p)
        return np.concatenate([q.tip.ravel(), robot.jacobian(q).ravel()])

    alone = [everything(p) for p in actuations(robot)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(everything, actuations(robot) * 3))
    np.testing.assert_array_equal(together, alone * 3)
