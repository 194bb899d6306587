# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Shaped motions: on oscillators integrated by scipy, and on a robot that swings."""

import functools
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from soro_mechanics import load_robot
from soro_mechanics.core.errors import SoroError
from soro_mechanics.dynamics.modes import Modes
from soro_mechanics.dynamics.stepper import Options
from soro_trajectory.input_shaping import (
    impulses,
    shaped_motion,
    ShapedValue,
    SHAPERS,
    slowest_modes,
)

pytestmark = pytest.mark.timeout(900)  # the network in motion is compiled


def test_a_planner_imports_no_network_in_motion_before_it_is_wanted():
    code = 'import sys, soro_trajectory.node; print("soro_mechanics.dynamics" in sys.modules)'
    done = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == 'False', done.stderr


def found(*pairs):
    frequency, damping = np.array(pairs).T
    return Modes(frequency, damping, np.zeros(0), np.zeros(0))


def swung(command, end, frequency, damping):
    """Return the amplitude of an oscillator when a command from 0 to 1 has ended."""
    omega = 2.0 * math.pi * frequency

    def rates(t, y):
        return [y[1], omega**2 * (command(t) - y[0]) - 2.0 * damping * omega * y[1]]

    y = solve_ivp(rates, (0.0, end), [0.0, 0.0], max_step=1e-3, rtol=1e-8, atol=1e-10).y[:, -1]
    free = omega * math.sqrt(1.0 - damping**2)
    x = y[0] - 1.0
    return math.hypot(x, (y[1] + damping * omega * x) / free)


@pytest.mark.parametrize('kind', SHAPERS)
def test_what_is_said_to_be_left_is_left_of_oscillators(kind):
    pairs = [(5.0, 0.08), (6.1, 0.1), (17.0, 0.3)]
    start, end = np.array([1.0, 5.0]), np.array([3.0, 4.0])
    schedule, said = shaped_motion(kind, found(*pairs), start, end, np.array([20.0, 20.0]))

    def command(t):
        return (schedule.actuation_at(t)[0] - 1.0) / 2.0

    for k, (frequency, damping) in enumerate(pairs):
        left = swung(command, schedule.duration, frequency, damping)
        scale = math.sqrt(1.0 - damping**2)  # a step's amplitude at its own moment is 1 / this
        assert left * scale == pytest.approx(said['vibration'][k], abs=2e-4)
        before = swung(lambda t: min(1.0, 10.0 * t), 0.1, frequency, damping)
        assert before * scale == pytest.approx(said['unshaped'][k], abs=2e-4)
    assert said['vibration'][0] == 0.0
    assert said['unshaped'][0] > 0.1
    assert said['modes'] == [5.0, 6.1, 17.0]


def test_a_second_pair_of_impulses_bears_a_wrong_frequency():
    times, parts = impulses('zvd', 5.0, 0.0)
    np.testing.assert_allclose(times, [0.0, 0.1, 0.2])
    np.testing.assert_allclose(parts, [0.25, 0.5, 0.25])
    motions = {
        kind: shaped_motion(kind, found((5.0, 0.05), (5.75, 0.05)), *np.eye(2)[:, :1], np.ones(1))
        for kind in SHAPERS
    }
    assert motions['zvd'][1]['vibration'][1] < 0.4 * motions['zv'][1]['vibration'][1]


def test_a_value_that_comes_in_time_leaves_the_mode_of_each_of_its_parts_at_rest():
    """Six parts jump at once, from the first value on; oscillators integrated by scipy."""
    frequency, damping, period, begin = 3.0, 0.05, 0.01, 7.0
    pieces, value = impulses('zvd', frequency, damping), np.array([1.0, -2.0, 0.0, 5.0, 1e3, 1e-3])
    shaped, end = ShapedValue(), begin + 1.2 * pieces[0][-1]
    times = np.arange(begin, end, period)
    given = np.array([shaped.add(time, value, pieces) for time in times])
    assert given[0] == pytest.approx(pieces[1][0] * value)
    assert given[-1] == pytest.approx(value)
    for before, after in zip(given, given[1:], strict=False):
        assert (np.diff([before, after], axis=0) * np.sign(value) >= -1e-12).all()
    assert not given[:, 2].any()
    for part in given[:, value != 0.0].T:
        command = functools.partial(np.interp, xp=times - begin, fp=part / part[-1], left=0.0)
        assert swung(command, end - begin, frequency, damping) < 0.03


def test_it_stays_on_the_line_and_within_the_rates():
    start, end, rates = np.array([1.0, 5.0, 2.0]), np.array([3.0, 4.0, 2.0]), np.array([4.0, 1, 1])
    shaped = shaped_motion('zvd', found((5.0, 0.08)), start, end, rates)[0]
    steps = np.diff(shaped.actuation, axis=0) / np.diff(shaped.time)[:, None]
    assert (np.abs(steps) <= rates * (1.0 + 1e-9)).all()
    way = (shaped.actuation - start) @ (end - start) / np.sum((end - start) ** 2)
    np.testing.assert_allclose(shaped.actuation, start + way[:, None] * (end - start), atol=1e-12)
    assert (np.diff(way) >= -1e-12).all() and way[0] == 0.0 and way[-1] == pytest.approx(1.0)
    assert shaped_motion('zv', found((5.0, 0.08)), start, start, rates) is None


@pytest.mark.parametrize('kind', SHAPERS)
def test_a_robot_swings_less_after_a_shaped_motion(kind):
    """The platform on its legs: nonlinear, with all its modes."""
    robot = load_robot('soft_parallel')
    start, end = np.full(3, 3e4), np.array([7e4, 3e4, 3e4])
    rates = np.full(3, 1e6)  # faster than its regulators: a plain motion swings
    schedule, _ = shaped_motion(kind, slowest_modes(robot, end), start, end, rates)
    network, options = robot.with_model('network'), Options(elements=4)

    def swing(command, until):
        motion = network.simulate(until + 0.4, 5e-3, command, options=options)
        after = motion.tip[motion.time >= until, :3, 3]
        return np.ptp(after, axis=0).max()

    way, plain = (end - start), float(np.max(np.abs(end - start) / rates))
    before = swing(lambda t: start + min(1.0, t / plain) * way, plain)
    left = swing(schedule.actuation_at, schedule.duration)
    assert before > 5e-3
    assert left < 0.15 * before


def test_a_robot_without_a_network_says_so():
    with pytest.raises(SoroError, match='network'):
        slowest_modes(load_robot('spatial_cc'), np.zeros(3))
