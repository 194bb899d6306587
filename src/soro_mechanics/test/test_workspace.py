# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check batches: samples keep the limits, executors agree, failures are marked."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from soro_mechanics.workspace import sample_actuations

from soro_mechanics import Code, InvalidInput, load_robot


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop', 'lpcc')


def test_samples_keep_every_limit_and_fill_the_box(robot):
    samples = sample_actuations(robot, 200)
    assert samples.shape == (200, 3)
    assert all(robot.feasible(x) for x in samples)
    assert np.all(samples.max(axis=0) > 1.3e5) and np.all(samples.min(axis=0) < 0.1e5)
    assert np.array_equal(samples, sample_actuations(robot, 200))
    assert not np.array_equal(samples, sample_actuations(robot, 200, seed=1))


def test_batch_is_the_same_with_and_without_threads(robot):
    samples = sample_actuations(robot, 150)
    alone = robot.workspace(samples)
    with ThreadPoolExecutor(2) as threads:
        together = robot.workspace(samples, threads)
    np.testing.assert_array_equal(alone.tip, together.tip)
    assert np.all(alone.solved)
    np.testing.assert_allclose(alone.tip[7], robot.forward(samples[7]).tip, atol=1e-9)
    low, high = alone.extent
    assert np.all(high > low)


def test_a_failed_sample_is_marked_and_kept_out(robot):
    robot = robot.with_model('npcc')
    found = robot.workspace([[1e5, 0, 0], [9e5, 9e5, 9e5], [0, 1e5, 0]])
    assert list(found.codes) == [Code.NONE, Code.NOT_CONVERGED, Code.NONE]
    assert np.all(np.isnan(found.tip[1])) and np.all(np.isfinite(found.tip[2]))
    assert np.all(np.isfinite(found.extent))


def test_wrong_samples_are_refused(robot):
    with pytest.raises(InvalidInput, match='shape'):
        robot.workspace([[1.0, 2.0]])
    with pytest.raises(InvalidInput, match='finite'):
        robot.workspace([[np.nan, 0, 0]])
    with pytest.raises(InvalidInput, match='at least 1'):
        robot.workspace(0)
