# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load that explains a measured tip: found, with a covariance that is true, and bounded."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_trajectory.tip_disturbance import NOISE, TipDisturbance

PERIOD, RATE = 1.0 / 30.0, 2.5  # s, 1/s
LOAD = np.array([0.2, -0.1, 0.3])  # N


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def tips(robot, count, load):
    """Return configurations that the model has along a swing, and where a loaded tip is then."""
    known, seen, last = [], [], None
    for phase in np.linspace(0.0, 2.0 * np.pi, count):
        pressures = 0.4e5 * (1.0 + np.sin(phase + np.array([0.0, 2.0, 4.0])))
        known.append(robot.forward(pressures, None, known[-1] if known else None))
        last = robot.forward(pressures, [*load, 0.0, 0.0, 0.0], last)
        seen.append(last.tip[:3, 3])
    return known, np.array(seen)


def estimate(robot, known, seen):
    filtered = TipDisturbance(0.04)
    for q, tip in zip(known, seen, strict=True):
        filtered.see(robot, q, tip, PERIOD, RATE)
    return filtered


def test_a_load_is_found_while_the_robot_moves_as_surely_as_its_covariance_says(robot):
    known, seen = tips(robot, 90, LOAD)
    scores = []
    for seed in range(6):
        noise = NOISE * np.random.default_rng(seed).standard_normal(seen.shape)
        found = estimate(robot, known, seen + noise)
        away = found.force - LOAD
        scores.append(float(away @ np.linalg.solve(found.covariance, away)))
    assert np.linalg.eigvalsh(found.covariance).min() > 0.0
    assert np.array_equal(found.covariance, found.covariance.T) or np.allclose(
        found.covariance, found.covariance.T, rtol=1e-6
    )
    # Of chi-squared with three degrees of freedom, six times: 0.1 % and 99.9 %.
    assert 2.3 < sum(scores) < 42.3
    assert np.abs(away[:2]).max() < 0.05


def test_it_follows_at_its_rate_and_no_measurement_makes_it_larger_than_allowed(robot):
    q = robot.forward([0.3e5] * 3)
    slope = robot.compliance(q)[:3, :3]
    push = 1e-3 * np.linalg.svd(slope)[2][0]  # N, where it is softest
    seen = q.tip[:3, 3] + slope @ push
    found = estimate(robot, [q] * round(1.0 / RATE / PERIOD), [seen] * round(1.0 / RATE / PERIOD))
    assert found.force @ push / (push @ push) == pytest.approx(1.0 - np.exp(-1.0), abs=0.12)
    wild = TipDisturbance(2e-3)
    for _ in range(50):
        wild.see(robot, q, q.tip[:3, 3] + [1.0, 0.0, 0.0], PERIOD, RATE)
        assert np.linalg.norm(slope @ wild.force) < 3e-3
    wild.reset()
    assert not wild.force.any() and wild.covariance is None
