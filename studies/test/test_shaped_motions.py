# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Shaped motions on an emulated robot whose numbers are others than those that shape."""

import pytest

from soro_studies.system.shaped_motions import KINDS, section, swing
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
    lines = [line for line in section(rows).splitlines() if line.startswith('| soft_parallel')]
    assert len(lines) == len(KINDS) and '| 1.00 |' in lines[0]
