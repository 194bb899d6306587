# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Calibration files and waypoints with anything in them: read, or refused by name."""

from __future__ import annotations

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np

from soro_mechanics import InvalidInput, RobotFileError
from soro_mechanics.analysis.curves import read_curve
from soro_mechanics.haptics.flex_calibration import read_calibration

FUZZ = settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
CALIBRATION = """\
schema: 1
robot: haptic_5dof
created: '2026-11-20'
sensors:
- {name: a, offset: 3500.0, gain: 2e-6 m, nodes: [{node: 1, weight: 0.01 m}], deviation: 1e-5 m,
   error_share: 0.1}
"""
BOMB = '\n'.join(
    ['a0: &a0 [x, x]', *(f'a{i}: &a{i} [{", ".join([f"*a{i - 1}"] * 10)}]' for i in range(1, 9))]
)
cells = st.sampled_from(['0', '0.01', 'nan', 'inf', '1e999', '', 'x', '"', '-1', '1', ',', '#'])


@given(start=st.integers(0, len(CALIBRATION)), cut=st.integers(0, 30), part=st.text(max_size=12))
@example(start=0, cut=0, part=BOMB + '\n')
@example(start=0, cut=500, part='schema: &a [*a]')
@example(start=0, cut=500, part='schema: 2026-99-99')
@example(start=0, cut=500, part='[' * 3000)
@FUZZ
def test_a_changed_calibration_is_read_or_names_its_field(tmp_path, start, cut, part):
    file = tmp_path / 'calibration.yaml'
    text = CALIBRATION[:start] + part + CALIBRATION[start + cut :]
    file.write_bytes(text.encode('utf-8', 'surrogatepass'))
    try:
        assert read_calibration(file).sensors
    except RobotFileError as error:
        assert error.path and len(str(error)) < 10_000


def test_the_unchanged_calibration_is_read(tmp_path):
    file = tmp_path / 'calibration.yaml'
    file.write_text(CALIBRATION)
    assert [s.name for s in read_calibration(file).sensors] == ['a']


@given(rows=st.lists(st.lists(cells, max_size=8), max_size=8))
@example(rows=[['"' + 'x' * 200_000]])
@example(rows=[['0', '0', '0'], ['1e308', '1e308', '1e308']])
@FUZZ
def test_waypoints_are_read_or_refused(tmp_path, rows):
    file = tmp_path / 'path.csv'
    file.write_text('\n'.join(','.join(row) for row in rows))
    try:
        assert np.isfinite(read_curve(file).poses).all()
    except InvalidInput as error:
        assert error.field and len(str(error)) < 10_000
