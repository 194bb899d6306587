# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tracking study in virtual time: identification and delay pay, the paper is beaten."""

from pathlib import Path

import numpy as np
import pytest

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_studies.system.soft_parallel_tracking import (
    best_lag,
    IDENTIFIED,
    NOMINAL,
    PAPER,
    study,
)
from soro_studies.system.virtual_soft_parallel import VirtualRobot

PAGE = Path(__file__).resolve().parents[2] / 'docs' / 'evidence' / 'soft_parallel_tracking.md'


@pytest.mark.timeout(600)
def test_identified_curves_and_delay_make_the_error_smaller(tmp_path):
    result = study(tmp_path, curves=('circle',), speeds=(0.04,))

    def percent(kind, compensated):
        return 100.0 * result.errors[(kind, 'circle', 0.04, compensated)] / result.extent

    assert percent(IDENTIFIED, True) < 1.7
    assert percent(IDENTIFIED, False) < percent(NOMINAL, False) < PAPER[0.04]
    assert percent(IDENTIFIED, True) < percent(IDENTIFIED, False) - 0.5
    assert 0.05 < result.delay < 0.11  # regulators 60 ms, one cycle of each loop, the line
    # The plant's own curves are known here: 1.699, 1.584, 1.704 at 180 kPa, less hysteresis and
    # what has not crept yet.
    highest = [fit.curve.values[-1] for fit in result.fits]
    np.testing.assert_allclose(highest, [1.699, 1.584, 1.704], atol=0.05)


def test_the_page_says_so_too():
    """In virtual time and in real time at both rates of the wire: below 0.7 of the paper."""
    sections = PAGE.read_text(encoding='utf-8').split('\n## ')
    studies = [s for s in sections if '**mean**' in s]
    assert len(studies) == 3
    for section in studies:
        rows = [[c.strip() for c in line.split('|')] for line in section.splitlines()]
        column = next(r for r in rows if 'Curve' in r).index('Identified, delay')
        means = [float(r[column].split()[0]) for r in rows if '**mean**' in r]
        assert len(means) == len(PAPER)
        assert all(m < 0.7 * p for m, p in zip(means, PAPER.values(), strict=True))


def test_virtual_time_is_repeatable():
    ends = []
    for _ in range(2):
        robot = VirtualRobot(find_robot_file('soft_parallel'))
        robot.move(np.array([60e3, 0.0, 20e3]))
        tips = []
        robot.hold(0.2, robot.command, lambda time, tip, seen=tips: seen.append(tip))
        ends.append((robot.tick.measured, tips[-1]))
    np.testing.assert_array_equal(ends[0][0], ends[1][0])
    np.testing.assert_array_equal(ends[0][1], ends[1][1])
    np.testing.assert_allclose(ends[0][0], [60e3, 0.0, 20e3], atol=2e3)


class Sample:
    def __init__(self, time, commanded, measured):
        self.time, self.commanded, self.measured = time, commanded, measured


def test_lag_is_found_in_spite_of_offsets():
    time = np.arange(0.0, 5.0, 0.01)
    wave = lambda t: np.column_stack([np.sin(3.0 * t), np.cos(2.0 * t)])  # noqa: E731
    rows = zip(time, wave(time), 1.02 * wave(time - 0.08) + 0.1, strict=True)
    assert best_lag([Sample(*row) for row in rows]) == pytest.approx(0.08, abs=3e-3)
    still = [Sample(t, np.zeros(2), np.zeros(2)) for t in time]
    with pytest.raises(RuntimeError, match='no lag'):
        best_lag(still)
