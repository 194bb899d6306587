# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from soro_cli.demo.experiment import evaluate
from soro_cli.demo.pattern import PAUSE, stretches, TRIANGLE
from soro_cli.demo.recording import Recording
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.user_errors import UserError


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


def played(stretch, lag=0.0, lost=False):
    """Return a recording of a stretch whose pressures lag behind, of a model that bends by 0.1."""
    time = np.arange(0.0, stretch.duration, 0.025)
    commanded = np.array([stretch.pressure(t) for t in time])
    measured = np.array([stretch.pressure(t - lag) for t in time])
    if lost:
        commanded[len(time) // 2 :], measured[len(time) // 2 :] = np.nan, 0.0
    shape = np.column_stack([np.zeros((len(time), 3)), measured.sum(axis=1) * 1e-6, 0.0 * time])
    plant = shape + [3e-3, 4e-3, 0.0, 0.0, 1e-3]
    return Recording(('a', 'b', 'c'), 100.0, time, commanded, measured, shape, plant)


def test_a_stretch_is_evaluated_where_the_robot_follows():
    stretch = stretches()[0]
    row = evaluate(stretch, played(stretch, lag=0.05).part(100.0, 100.0 + stretch.duration))
    assert row.bending_model == pytest.approx(0.09, rel=0.02)
    assert row.position_rmse == pytest.approx(5e-3)
    assert row.elongation_plant - row.elongation_model == pytest.approx(1e-3)
    # A triangle of slope s that lags by t is off by s t while it is played, one actuator of three.
    slope = 2.0 * stretch.amplitude * 1e5 / TRIANGLE
    share = 1.0 - PAUSE / stretch.duration
    assert row.pressure_rmse == pytest.approx(slope * 0.05 * (share / 3.0) ** 0.5, rel=0.05)


@pytest.mark.parametrize('wrong', [{'lag': 0.8}, {'lost': True}])
def test_a_stretch_that_the_robot_does_not_follow_is_refused(wrong):
    stretch = stretches()[0]
    with pytest.raises(UserError, match='one pair 0.9 bar'):
        evaluate(stretch, played(stretch, **wrong))
