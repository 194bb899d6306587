# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load and gains that explain a measured tip: found, with a true covariance, and bounded."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_trajectory.tip_disturbance import GAIN, LARGEST, LATEST, NOISE, OWN, TipDisturbance

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
        filtered.see(robot, q, tip, PERIOD, RATE, q.actuation)
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
            found.see(robot, q, tip, PERIOD, RATE, q.actuation)
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
        found.see(robot, q, q.tip[:3, 3] + slope @ push, PERIOD, RATE, q.actuation)
    moved = found.loaded(robot, q.actuation, q).tip[:3, 3] - q.tip[:3, 3]
    share = moved @ slope @ push / np.sum((slope @ push) ** 2)
    assert share == pytest.approx(1.0 - np.exp(-1.0), abs=0.12)
    wild = TipDisturbance(robot, 2e-3)
    for _ in range(50):
        wild.see(robot, q, q.tip[:3, 3] + [1.0, 0.0, 0.0], PERIOD, RATE, q.actuation)
        assert np.linalg.norm(slope @ wild.force) < 3e-3
        assert np.abs(wild.gain).max() <= LARGEST
    wild.reset()
    assert not wild.force.any() and wild.covariance is None and not np.any(wild.gain)


def late_by(response, commands, fine=1e-3):
    """Return commands (n, m) at `fine` [s] behind an impulse response."""
    kernel = response / response.sum()
    first = np.repeat(commands[:1], len(kernel), axis=0)
    whole = np.concatenate([first, commands])
    return np.array([np.convolve(c, kernel)[len(kernel) : len(whole)] for c in whole.T]).T


def second_order(zeta, omega, seconds=1.5, fine=1e-3):
    time = np.arange(0.0, seconds, fine)
    decay, swing = zeta * omega, omega * np.sqrt(1.0 - zeta**2)
    return np.exp(-decay * time) * np.sin(swing * time)


def moved(robot, drives, body, delay, load=0.0 * LOAD, speed=1.5, seconds=6.0):
    """Return a filter that has seen a circle of pressures under a load that is known [N].

    `drives`, `body`: impulse responses from commands to pressures, and from these to the tip.
    """
    time = np.arange(0.0, seconds, 1e-3)
    phase = speed * np.maximum(time - 1.0, 0.0)[:, None] + np.array([0.0, 2.0, 4.0])
    commands = 0.5e5 * (1.0 + 0.3 * np.sin(phase))
    measured = late_by(drives, commands)
    felt, random = late_by(body, measured), np.random.default_rng(5)
    found, wrench, q, last = TipDisturbance(robot, 0.04), [*load, 0.0, 0.0, 0.0], None, None
    for k in range(500, len(time), round(PERIOD * 1e3)):
        q = robot.forward(measured[k], wrench, q)
        last = robot.forward(felt[k], wrench, last)
        tip = last.tip[:3, 3] + 2e-4 * random.standard_normal(3)
        found.see(robot, q, tip, PERIOD, RATE, commands[k - round(delay * 1e3)])
    return found


ONCE = np.ones(1)
PURE = np.r_[np.zeros(160), 1.0]  # 0.16 s
SECOND = second_order(0.9, 12.0)  # 2 zeta / omega = 0.15 s


@pytest.mark.parametrize(
    ('drives', 'delay', 'late'),
    [(PURE, 0.1, 0.06), (SECOND, 0.1, 0.05), (SECOND, 0.15, 0.0), (PURE, 0.0, LATEST)],
)
def test_lateness_of_any_order_is_found_under_a_load_and_beyond_the_delay_that_is_known(
    robot, drives, delay, late
):
    """To 0.012 s: the first moment of a response is what it is late by for slow commands."""
    found = moved(robot, drives, ONCE, delay, LOAD)
    assert found.late == pytest.approx(late, abs=0.012)
    assert np.abs(found.force)[:2].max() < 0.01  # N: nothing of it is taken for a load


def test_no_lateness_is_made_up_at_rest_by_early_drives_or_a_jump_and_it_is_forgotten(robot):
    assert moved(robot, PURE, ONCE, 0.0, speed=0.0, seconds=2.0).late == 0.0
    assert moved(robot, ONCE, ONCE, 0.1, seconds=3.0).late == 0.0  # `delay` is too long
    found, q = moved(robot, PURE, ONCE, 0.1), robot.forward([0.5e5] * 3)
    before, tip = found.late, q.tip[:3, 3]
    for _ in range(5):
        found.see(robot, q, tip + [5e-3, 0.0, 0.0], PERIOD, RATE, q.actuation)
    assert found.late == pytest.approx(before, abs=0.02)
    found.see(robot, q, tip, 60.0, RATE, q.actuation)  # the tracker was lost
    assert found.late < 1e-3
    found.reset()
    assert found.late == 0.0
