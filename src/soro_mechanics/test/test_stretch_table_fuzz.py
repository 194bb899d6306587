# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tables of pressure and stretch with anything in them: read, or refused by line; then fitted."""

from __future__ import annotations

import os

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from soro_mechanics import InvalidInput, load_robot
from soro_mechanics.identification.stretch_fit import identify_stretch
from soro_mechanics.identification.stretch_table import read_stretch_table
from soro_mechanics.robot_file.unit_table import LARGEST

# SORO_FUZZ=20: twenty times as many examples, every time others.
EFFORT = int(os.environ.get('SORO_FUZZ', '0'))
FUZZ = settings(
    max_examples=100 * max(EFFORT, 1),
    deadline=None,
    derandomize=EFFORT == 0,
    database=None,
    suppress_health_check=list(HealthCheck),
)
pytestmark = pytest.mark.timeout(3600 if EFFORT else 300)

LEGS = 'leg,pressure [kPa],stretch'
LENGTHS = 'leg,pressure [kPa],length [mm]'
POSTURES = 'leg_1 [kPa],leg_2 [kPa],leg_3 [kPa],x [mm],y [mm],z [mm]'
MAXIMUM = np.full(3, 180e3)
heads = st.sampled_from([LEGS, LENGTHS, POSTURES]) | st.text(max_size=40)
cells = st.sampled_from([
    'leg_1', 'leg_2', 'leg_3', 'leg_9', '0', '20', '40.5', '180', '1.1', '170', '1e308', '1e306',
    '-1', 'nan', 'inf', '1e999', '', ' ', '"', '#', '\0', '1_0', '0x1', '1,5', '\u0663',
]) | st.text(max_size=6)  # fmt: skip
good = st.tuples(
    st.sampled_from(['leg_1', 'leg_2', 'leg_3']),
    st.floats(0.0, 180.0).map(lambda p: f'{p:.3f}'),
    st.floats(0.5, 2.0).map(lambda s: f'{s:.4f}'),
).map(list)
rows = st.lists(good | st.lists(cells, max_size=7), max_size=30)


@pytest.fixture(scope='module')
def model():
    return load_robot('soft_parallel').model_object


@given(head=heads, body=rows)
@example(head=LEGS, body=[['leg_1', '1e306', '1.0']])  # beyond all numbers in pascal
@example(head=LEGS, body=[['"' + 'x' * 200_000]])  # more than the csv module takes
@example(head=LEGS, body=[['leg_1', '0', '\0']])
@example(head=POSTURES, body=[['0', '0', '0', '1e300', '0', '1e300']])
@example(head=POSTURES, body=[['0', '0', '0', '0', '0', '0']])
@example(head='leg,leg,leg', body=[['leg_1']])
@FUZZ
def test_a_table_is_read_or_names_its_line(model, tmp_path, head, body):
    file = tmp_path / 'table.csv'
    text = '\n'.join([head, *(','.join(row) for row in body)])
    file.write_bytes(text.encode('utf-8', 'surrogatepass'))
    try:
        table = read_stretch_table(file, model)
    except InvalidInput as error:
        assert error.field and len(str(error)) < 500_000
        return
    for pressures, stretches in zip(table.pressures, table.stretches, strict=True):
        assert pressures.shape == stretches.shape
        assert np.isfinite(pressures).all() and np.isfinite(stretches).all()
    try:
        fits = identify_stretch(table, MAXIMUM)
    except InvalidInput as error:
        assert error.field
    else:
        assert all(np.isfinite(fit.curve.values).all() for fit in fits)


@given(data=st.binary(max_size=200))
@example(data=b'\xff\xfe')
@FUZZ
def test_bytes_that_are_no_table_are_refused(model, tmp_path, data):
    file = tmp_path / 'table.csv'
    file.write_bytes(data)
    with pytest.raises(InvalidInput):
        read_stretch_table(file, model)


def test_a_file_that_is_too_large_is_refused(model, tmp_path):
    file = tmp_path / 'table.csv'
    file.write_bytes(b'leg,pressure [kPa],stretch\n' + b'leg_1,0,1\n' * (LARGEST // 10))
    with pytest.raises(InvalidInput, match='at most'):
        read_stretch_table(file, model)


def test_what_is_no_file_is_refused(model, tmp_path):
    with pytest.raises(InvalidInput, match='readable'):
        read_stretch_table(tmp_path, model)
