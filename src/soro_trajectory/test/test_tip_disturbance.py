# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load and gains that explain a measured tip: found, with a true covariance, and bounded."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_trajectory.tip_disturbance import GAIN, LARGEST, NOISE, OWN, TipDisturbance

PERIOD, RATE = 1.0 / 30.0, 2.5  # s, 1/s
LOAD = np.array([0.2, -0.1, 0.3])  # N


@pytest.fixture(scope='module')
def robot():
    return load_robot('stiff_flop')


def tips(robot, count, load, gains=(0.0, 0.0, 0.0)):
    """Return configurations that the model has along a swing, and where the tip is then."""
    known, seen, last = [], [], None
    for phase in np.linspace(0.0, 2.0 * np.pi, count):
        pressures = 0.4e5 * (1.0 + np.sin(phase + np.array([0.0, 2.0, 4.0])))
        known.append(robot.forward(pressures, None, known[-1] if known else None))
        felt = pressures * (1.0 + np.array(gains))
        last = robot.forward(felt, [*load, 0.0, 0.0, 0.0], last)
        seen.append(last.tip[:3, 3])
    return known, np.array(seen)


def estimate(robot, known, seen):
    filtered = TipDisturbance(robot, 0.04)
    for q, tip in zip(known, seen, strict=True):
        filtered.see(robot, q, tip, PERIOD, RATE)
    return filtered


def test_a_load_is_found_while_the_robot_moves_as_surely_as_its_covariance_says(robot):
    scores = []
    for seed in range(6):
        random = np.random.default_rng(seed)
        gains = GAIN * (random.standard_normal() + OWN * random.standard_normal(3))
        known, seen = tips(robot, 90, LOAD, gains)
        found = estimate(robot, known, seen + NOISE * random.standard_normal(seen.shape))
        away = found.force - LOAD
        scores.append(float(away @ np.linalg.solve(found.covariance, away)))
        assert np.linalg.eigvalsh(found.covariance).min() > 0.0
        assert np.allclose(found.covariance, found.covariance.T, rtol=1e-6)
        assert np.abs(away[:2]).max() < 0.1 and np.diag(found.covariance)[:2].max() < 0.4**2
    # Of chi-squared with three degrees of freedom, six times: 99.9 %. It is wider than for a
    # load drawn by its prior, whose deviation is the largest that is believed in.
    assert sum(scores) < 42.3


def test_softer_material_is_found_on_the_way_to_a_target_and_holds_elsewhere(robot):
    known, seen = tips(robot, 90, np.zeros(3), [0.2] * 3)
    found = estimate(robot, known[:45], seen[:45])
    before, after = [], []
    for q, tip in zip(known[45:], seen[45:], strict=True):
        before.append(np.linalg.norm(q.tip[:3, 3] - tip))
        after.append(np.linalg.norm(found.loaded(robot, q.actuation, q).tip[:3, 3] - tip))
    assert np.mean(after) < 0.3 * np.mean(before)


def test_what_a_body_swings_is_not_taken_for_a_load(robot):
    q, frequency = robot.forward([0.3e5] * 3), 2.5  # Hz
    time = PERIOD * np.arange(60)
    seen = q.tip[:3, 3] + 0.01 * np.sin(2.0 * np.pi * frequency * time)[:, None] * [1.0, 0.0, 0.0]
    largest = []
    for swing in (0.0, 0.5 / (np.pi * frequency)):
        found, sizes = TipDisturbance(robot, 0.04, swing), []
        for tip in seen:
            found.see(robot, q, tip, PERIOD, RATE)
            there = found.loaded(robot, q.actuation, q).tip
            sizes.append(np.linalg.norm(there[:3, 3] - q.tip[:3, 3]))
        largest.append(max(sizes[5:]))
    assert largest[1] < 0.5 * largest[0]


def test_it_follows_at_its_rate_and_no_measurement_makes_it_larger_than_allowed(robot):
    known, still = tips(robot, 90, np.zeros(3))
    q = known[-1]
    slope = robot.compliance(q)[:3, :3]
    push = 1e-3 * np.linalg.svd(slope)[2][0]  # N, where it is softest
    found = estimate(robot, known, still)  # gains are known then
    for _ in range(round(1.0 / RATE / PERIOD)):
        found.see(robot, q, q.tip[:3, 3] + slope @ push, PERIOD, RATE)
    moved = found.loaded(robot, q.actuation, q).tip[:3, 3] - q.tip[:3, 3]
    share = moved @ slope @ push / np.sum((slope @ push) ** 2)
    assert share == pytest.approx(1.0 - np.exp(-1.0), abs=0.12)
    wild = TipDisturbance(robot, 2e-3)
    for _ in range(50):
        wild.see(robot, q, q.tip[:3, 3] + [1.0, 0.0, 0.0], PERIOD, RATE)
        assert np.linalg.norm(slope @ wild.force) < 3e-3
        assert np.abs(wild.gain).max() <= LARGEST
    wild.reset()
    assert not wild.force.any() and wild.covariance is None and not np.any(wild.gain)
