# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A published trajectory on the emulated robot, and the table of the page."""

from __future__ import annotations

import json

import pytest

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.emulation.muscle_tracking import (
    BEGIN,
    END,
    MuscleTracking,
    store,
    table,
    write_table,
)


def test_a_circle_is_tracked_within_a_few_percent(tmp_path):
    description = read_robot_file(find_robot_file('pam_continuum'))
    row = MuscleTracking(description, 'kirchhoff').play('circle', 0.2)
    # The yardstick is the prototype of the paper: 2.457 %.
    assert 0.002 < row.mean < 0.035
    assert row.mean <= row.worst < 0.08
    assert row.lengths < 4e-4
    text = table([row])
    assert '2.457 %' in text and f'{100.0 * row.mean:.3f} %' in text
    page = tmp_path / 'page.md'
    page.write_text(f'before\n{BEGIN}\nold\n{END}\nafter\n')
    write_table(page, text)
    assert page.read_text() == f'before\n{BEGIN}\n{text}\n{END}\nafter\n'
    store(tmp_path / 'page.json', [row])
    (kept,) = json.loads((tmp_path / 'page.json').read_text())['runs']
    assert kept['name'] == 'circle' and kept['load'] == 0.2 and kept['mean'] == row.mean


def test_a_page_without_marks_is_not_written(tmp_path):
    page = tmp_path / 'page.md'
    page.write_text('nothing')
    with pytest.raises(ValueError):
        write_table(page, 'table')
    assert page.read_text() == 'nothing'
