# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Shaped motions on an emulated robot whose numbers are others than those that shape."""

from pathlib import Path

import pytest

from soro_studies.system.measured_section import kept_values
from soro_studies.system.shaped_motions import (
    KINDS,
    LEGS_MOVE,
    part_of_plain,
    section,
    SEEN,
    swing,
)
from soro_studies.system.tip_feedback import LEGS, SCENES

pytestmark = pytest.mark.timeout(900)  # the network in motion is compiled


def test_pressed_legs_swing_less_when_a_motion_is_shaped():
    scene = next(s for s in SCENES if s.stiff == LEGS)
    rows = [swing(scene, 0.3, kind) for kind in KINDS]
    plain, *shaped = (row['swing'] for row in rows)
    assert plain > 3e-4
    assert max(shaped) < 0.2 * plain
    durations = [row['seconds'] for row in rows]
    assert durations == sorted(durations)
    assert all(row['vibration'] < 0.01 < row['unshaped'] for row in rows[1:])
    kept = {'date': '', 'rows': rows, 'live': {'date': '', 'rows': rows}}
    lines = section(kept).splitlines()
    assert sum(line.startswith('| soft_parallel') for line in lines) == len(KINDS)
    assert sum(line.startswith('| 0.3 |') for line in lines) == len(KINDS)
    assert sum(line.endswith('| 1.00 |') for line in lines) == 2


@pytest.mark.parametrize('kind', KINDS[1:])
def test_a_launched_robot_was_seen_to_swing_less_when_its_motion_is_shaped(kind):
    page = Path(__file__).parents[2] / 'docs/evidence/plant_assumptions.md'
    rows = kept_values(page)['shaping']['live']['rows']
    shaped = [row for row in rows if row['kind'] == kind]
    assert {row['share'] for row in shaped} == set(LEGS_MOVE[1])
    assert all(part_of_plain(rows, row) < 0.5 for row in shaped)
    assert all(row['poses'] > SEEN for row in rows)
