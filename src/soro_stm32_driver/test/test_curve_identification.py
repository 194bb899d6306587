# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves are found again from noisy runs, and data that cannot be a muscle are refused."""

from __future__ import annotations

import numpy as np
import pytest
from test_muscle_curves import drawn, WHOLE

from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.curve_files import read_runs, robot_file_lines, write_runs
from soro_stm32_driver.curve_identification import identify_curve, Run

TRUE = drawn(400)


def recorded(seed: int = 1, noise: float = 5e-5, step: float = 0.2) -> list[Run]:
    """Runs of the drawn muscle, measured with noise."""
    random = np.random.default_rng(seed)
    up, down = np.arange(0.0, WHOLE, step), np.arange(0.0, 5.0, step)
    full = TRUE.inflated(0.0, up[-1])
    lengths = [TRUE.length(TRUE.inflated(0.0, t)) for t in up]
    back = [TRUE.length(TRUE.deflated(full, t)) for t in down]
    return [
        Run('inflate', up, np.array(lengths) + random.normal(0.0, noise, up.size)),
        Run('deflate', down, np.array(back) + random.normal(0.0, noise, down.size)),
    ]


def test_the_curve_is_found_again():
    fit = identify_curve(recorded() + recorded(2))
    assert fit.residual < 1.5e-4
    for t in np.linspace(0.6, 4.5, 20):
        assert fit.curve.length(t) == pytest.approx(TRUE.length(t), abs=4e-4)
    for here, goal in ((0.115, 0.09), (0.1, 0.112), (0.09, 0.1), (0.11, 0.085)):
        ours = fit.curve.time_to(fit.curve.state(here), goal)
        assert ours == pytest.approx(TRUE.time_to(TRUE.state(here), goal), abs=0.04)


def replaced(index: int, **changes: np.ndarray) -> list[Run]:
    runs = recorded()
    old = runs[index]
    runs[index] = Run(old.action, changes.get('time', old.time), changes.get('length', old.length))
    return runs


def without(low: float, high: float) -> list[Run]:
    run = recorded()[0]
    keep = (run.length < low) | (run.length > high)
    return [Run('inflate', run.time[keep], run.length[keep]), recorded()[1]]


UP, DOWN = recorded()


@pytest.mark.parametrize(
    ('runs', 'word'),
    [
        (recorded()[:1], 'no deflate run'),
        (recorded()[1:], 'no inflate run'),
        (replaced(0, length=np.where(UP.time > 2.0, np.nan, UP.length)), 'finite'),
        (replaced(0, length=1e3 * UP.length), 'metres'),
        (replaced(0, time=UP.time + 0.5), 'begin at 0'),
        (replaced(0, time=UP.time[::-1]), 'growing times'),
        (replaced(0, length=UP.length[::-1]), 'growing lengths'),
        (replaced(0, length=0.08 + 0.05 * (UP.length - 0.08)), 'valve connected'),
        (
            replaced(0, length=UP.length + 4e-3 * (np.arange(UP.time.size) == 12)),
            'wrong way|agree',
        ),
        (replaced(1, length=DOWN.length + 5e-3), 'deflate for longer'),
        (replaced(1, time=DOWN.time[:6], length=DOWN.length[:6]), 'at least 8'),
        (without(0.09, 0.105), 'along the whole stroke'),
        # Two runs of one muscle that do not agree: a leak, or two muscles under one name.
        ([*recorded(), Run('inflate', UP.time, 0.08 + 0.8 * (UP.length - 0.08))], 'agree'),
    ],
)
def test_bad_data_are_refused(runs, word):
    with pytest.raises(InvalidInput, match=word):
        identify_curve(runs)


def test_files_go_there_and_back(tmp_path):
    path = tmp_path / 'runs.csv'
    write_runs(path, [('muscle_1_1', 1, run) for run in recorded()])
    again = read_runs(path)['muscle_1_1']
    assert [r.action for r in again] == ['inflate', 'deflate']
    assert again[0].length == pytest.approx(UP.length, abs=1e-6)
    assert again[1].time == pytest.approx(DOWN.time, abs=1e-4)
    lines = robot_file_lines({'muscle_1_1': identify_curve(again).curve})
    assert lines[0] == 'curves:' and lines[1].startswith('  muscle_1_1: {inflate_time: 0.000 ')


@pytest.mark.parametrize(
    ('text', 'word'),
    [
        ('time,length\n0,80\n', 'columns'),
        ('muscle,run,action,time_s,length_mm\na,1,blow,0,80\n', ':2'),
        ('muscle,run,action,time_s,length_mm\na,1,inflate,0,wide\n', 'two numbers'),
    ],
)
def test_bad_files_are_refused_with_the_line(text, word, tmp_path):
    path = tmp_path / 'bad.csv'
    path.write_text(text)
    with pytest.raises(InvalidInput, match=word):
        read_runs(path)


@pytest.mark.parametrize('knots', [-1, 0, 3])
def test_too_few_points_of_a_table_are_refused(knots):
    with pytest.raises(InvalidInput, match='at least 4'):
        identify_curve(recorded(), knots)
