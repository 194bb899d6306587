# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""At defaults nothing rings, also where the expected hand is not the one that holds the handle."""

import pytest

from soro_mechanics.haptics.oscillation import OscillationWatch
from soro_studies.haptics.held import FORCE, held_bench, MOTION

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


@pytest.mark.parametrize(
    'cell',
    [
        ('hold', 'letting go', 'E +25 %'),  # nobody bears what a fingertip bears
        ('wall', 'tapping', 'E -20 %'),
        ('box', 'fingertip', 'lag 10 ms'),
        ('circle', 'light grip', 'backlash 0.5 deg'),
        ('circle', 'light grip', 'real motors'),
        ('circle', 'firm grip', 'lag 10 ms'),  # what is pressed outward turns with the hand, late
    ],
)
def test_a_cell_of_the_table_is_quiet(robot, report, signals, cell):
    held = held_bench(robot, report.calibration(), signals, *cell)
    assert held.failures == 0
    assert held.motion < MOTION
    assert held.force < FORCE


def test_limits_alone_do_not_keep_a_handle_quiet_that_nobody_holds(
    robot, report, signals, monkeypatch
):
    monkeypatch.setattr(OscillationWatch, 'update', lambda *_: None)
    held = held_bench(robot, report.calibration(), signals, 'circle', 'none', 'E')
    assert held.motion > MOTION
