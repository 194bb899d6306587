# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from soro_cli.demo_pattern import PAUSE, stretches, TRIANGLE
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file


def test_amplitudes_and_order_are_those_of_the_experiment():
    peaks = {}
    for stretch in stretches():
        times = PAUSE + TRIANGLE * (np.arange(len(stretch.pairs)) + 0.5)
        peaks[stretch.label] = [(stretch.pressure(t) / 1e5).round(9).tolist() for t in times]
    assert list(peaks) == [
        'one pair 0.9 bar',
        'one pair 1.2 bar',
        'one pair 1.5 bar',
        'two pairs 0.6 bar',
        'two pairs 0.9 bar',
        'two pairs 1.2 bar',
    ]
    # Section 5.2: P3P4, then P5P6, then P1P2; and P1-P4, then P3-P6, then P1P2P5P6.
    assert peaks['one pair 1.5 bar'] == [[0, 1.5, 0], [0, 0, 1.5], [1.5, 0, 0]]
    assert peaks['two pairs 1.2 bar'] == [[1.2, 1.2, 0], [0, 1.2, 1.2], [1.2, 0, 1.2]]


def test_the_pattern_is_continuous_and_begins_and_ends_at_rest():
    for stretch in stretches():
        times = np.linspace(0.0, stretch.duration, 4001)
        pressures = np.array([stretch.pressure(t) for t in times])
        assert not pressures[0].any()
        assert not pressures[-1].any()
        slope = np.abs(np.diff(pressures, axis=0)).max() / (times[1] - times[0])
        assert slope == pytest.approx(2.0 * stretch.amplitude * 1e5 / TRIANGLE, rel=1e-6)


def test_the_pattern_keeps_the_limits_of_the_robot():
    robot = read_robot_file(find_robot_file('stiff_flop'))
    for stretch in stretches():
        for t in np.linspace(0.0, stretch.duration, 301):
            p = stretch.pressure(t)
            assert all(
                a.minimum <= x <= a.maximum for a, x in zip(robot.actuators, p, strict=True)
            )
            assert all(c.coefficients @ p <= c.maximum * (1 + 1e-9) for c in robot.coupled_limits)
            rates = [a.rate for a in robot.actuators]
            assert 2.0 * stretch.amplitude * 1e5 / TRIANGLE < min(rates)
