# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots and configurations in other threads and processes: the same numbers."""

from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
import gc
import multiprocessing
import pickle
import weakref

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput, MissingFile, RobotFileError, UnknownName
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


@pytest.mark.parametrize('name', sorted(robot_files()))
def test_a_robot_that_nobody_has_is_gone_at_once(name):
    for of in load_robot(name).models:
        robot = load_robot(name, of)
        q = robot.forward(actuations(robot)[0])
        found = robot.inverse(q.tip, guess=q)
        robot.inverse(found.configuration.tip, guess=found)
        robot.compliance(q)
        gone = weakref.ref(robot.model_object)
        gc.disable()
        try:
            del robot, q, found
            assert gone() is None, of
        finally:
            gc.enable()


def test_errors_cross_to_other_processes(tmp_path):
    robot, wrong = load_robot('spatial_cc'), tmp_path / 'wrong.yaml'
    wrong.write_text('schema: 2\n')
    calls = {
        InvalidInput: partial(robot.forward, [np.nan, 0.2, 0.2]),
        UnknownName: partial(load_robot, 'nobody'),
        MissingFile: partial(load_robot, tmp_path / 'none.yaml'),
        RobotFileError: partial(load_robot, wrong),
    }
    with ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:
        for kind, call in calls.items():
            with pytest.raises(kind) as here:
                call()
            with pytest.raises(kind) as there:
                pool.submit(call).result()
            assert type(there.value) is type(here.value) and str(there.value) == str(here.value)
            known = {**vars(there.value), '__notes__': None, 'value': None}
            assert known == {**vars(here.value), '__notes__': None, 'value': None}
