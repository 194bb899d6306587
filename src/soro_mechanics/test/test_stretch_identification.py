# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""lambda(P) out of tables: known curves come back, bad data is refused, files are written."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soro_mechanics.core.errors import InvalidInput, RobotFileError
from soro_mechanics.identification.stretch_fit import identify_stretch
from soro_mechanics.identification.stretch_robot_file import write_identified
from soro_mechanics.identification.stretch_table import (
    read_stretch_table,
    stretches_at,
    StretchTable,
)
from soro_mechanics.robot import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.schema2.round_trip import RoundTrip

P_MAX = 180e3
MAXIMUM = np.full(3, P_MAX)
LEGS = ('leg_1', 'leg_2', 'leg_3')


@pytest.fixture(scope='module')
def robot():
    return load_robot('soft_parallel')


def truth(pressure, height):
    """Return a smooth curve that no knots were chosen for."""
    x = np.asarray(pressure) / P_MAX
    return 1.0 + height * (0.25 * x + 0.9 * x**2 - 0.15 * x**3)


def sweep(points=61):
    up = np.linspace(0.0, P_MAX, points)
    return np.r_[up, up[::-1]]


def measured(height, loop=0.0, noise=0.0, seed=1):
    p = sweep()
    half = len(p) // 2
    bow = loop * np.sin(np.pi * p / P_MAX) * np.r_[np.full(half, -0.5), np.full(half, 0.5)]
    random = np.random.default_rng(seed)
    return p, truth(p, height) + bow + noise * random.standard_normal(len(p))


def table(*pairs):
    return StretchTable(LEGS, tuple(p for p, _ in pairs), tuple(s for _, s in pairs))


HEIGHTS = (0.65, 0.61, 0.68)


def test_a_table_of_a_spreadsheet_may_begin_with_a_byte_order_mark(robot, tmp_path):
    file = tmp_path / 'table.csv'
    file.write_text('leg,pressure [kPa],stretch\nleg_2,100,1.2\n', encoding='utf-8-sig')
    found = read_stretch_table(file, robot.model_object)
    assert [list(p) for p in found.pressures] == [[], [1e5], []]


def test_a_column_given_twice_is_refused(robot, tmp_path):
    file = tmp_path / 'table.csv'
    file.write_text('leg,pressure [kPa],pressure [bar],stretch\nleg_2,100,2,1.2\n')
    with pytest.raises(InvalidInput, match='the column pressure once'):
        read_stretch_table(file, robot.model_object)


def test_smooth_curves_come_back():
    fits = identify_stretch(table(*(measured(h) for h in HEIGHTS)), MAXIMUM)
    for fit, height in zip(fits, HEIGHTS, strict=True):
        np.testing.assert_allclose(fit.curve.values, truth(fit.curve.pressures, height), atol=3e-3)
        assert fit.rms < 2e-3 and fit.r_squared > 0.9999
        assert np.all(np.diff(fit.curve.values) > 0.0)


def test_loops_and_noise_leave_the_middle():
    pairs = [measured(h, loop=0.03, noise=0.002, seed=i) for i, h in enumerate(HEIGHTS)]
    for fit, height in zip(identify_stretch(table(*pairs), MAXIMUM), HEIGHTS, strict=True):
        np.testing.assert_allclose(fit.curve.values, truth(fit.curve.pressures, height), atol=4e-3)
        # The loop's mean opening is its height times the mean of the sine.
        assert fit.hysteresis == pytest.approx(0.03 * 2.0 / np.pi, abs=2e-3)
        assert fit.points == 122


def spoil(pair, change):
    p, s = pair[0].copy(), pair[1].copy()
    return change(p, s)


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        (lambda p, s: (p[:8], s[:8]), 'at least 10 measurements'),
        (lambda p, s: (p, np.where(p > 9e4, np.nan, s)), 'finite'),
        (lambda p, s: (p, s * 153.0), 'units'),
        (lambda p, s: (p / 1e3, s), 'to cover 0 to'),
        (lambda p, s: (p * 10.0, s), 'units'),
        (lambda p, s: (p[p < 1e5], s[p < 1e5]), 'to cover 0 to'),
        (lambda p, s: (p[abs(p - 9e4) > 3e4], s[abs(p - 9e4) > 3e4]), 'no gap wider'),
        (lambda p, s: (p, 2.0 - 0.5 * s), 'rises with the pressure'),
        (lambda p, s: (p, s + 0.08), 'check the rest length'),
        (lambda p, s: (p, s + 0.3 * (np.arange(len(p)) == 40)), 'outlier'),
        (lambda p, s: (p, s + 0.1 * np.sin(40.0 * np.arange(len(p)))), 'at most'),
    ],
)
def test_bad_data_is_refused_with_its_leg(change, words):
    good = measured(0.65)
    bad = spoil(measured(0.65), change)
    with pytest.raises(InvalidInput, match='leg_2') as caught:
        identify_stretch(table(good, bad, good), MAXIMUM)
    assert words in str(caught.value)


def test_tips_tell_the_stretches(robot):
    pressures = np.array([[0.0, 0.0, 0.0], [60e3, 20e3, 0.0], [120e3, 90e3, 150e3]])
    tips = [robot.forward(p).tip[:3, 3] for p in pressures]
    expected = [robot.model_object.stretches(p)[0] for p in pressures]
    np.testing.assert_allclose(
        stretches_at(robot.model_object, np.array(tips)), expected, atol=1e-8
    )
    with pytest.raises(InvalidInput, match=r'positions\[1\]'):
        stretches_at(robot.model_object, np.array([tips[0], [5.0, 5.0, 5.0]]))


def write_csv(path, header, rows):
    lines = [header, *(','.join(str(x) for x in row) for row in rows)]
    path.write_text('# recorded by hand\n' + '\n'.join(lines) + '\n', encoding='utf-8')
    return path


def test_both_kinds_of_table_are_read(robot, tmp_path):
    p = np.linspace(0.0, 180.0, 13)
    rows = [(leg, x, 153.0 * truth(x * 1e3, 0.6)) for leg in LEGS for x in p]
    file = write_csv(tmp_path / 'legs.csv', 'leg,pressure [kPa],length [mm]', rows)
    read = read_stretch_table(file, robot.model_object)
    for k in range(3):
        np.testing.assert_allclose(read.pressures[k], p * 1e3)
        np.testing.assert_allclose(read.stretches[k], truth(p * 1e3, 0.6))
    pressures = np.random.default_rng(2).uniform(0.0, P_MAX, (20, 3))
    tips = np.array([robot.forward(x).tip[:3, 3] for x in pressures])
    rows = np.c_[pressures / 1e3, tips * 1e3]
    header = 'leg_1 [kPa],leg_2 [kPa],leg_3 [kPa],x [mm],y [mm],z [mm]'
    read = read_stretch_table(write_csv(tmp_path / 'tips.csv', header, rows), robot.model_object)
    np.testing.assert_allclose(np.array(read.pressures).T, pressures)
    expected = [robot.model_object.stretches(x)[0] for x in pressures]
    np.testing.assert_allclose(np.array(read.stretches).T, expected, atol=1e-8)


@pytest.mark.parametrize(
    ('text', 'words'),
    [
        ('leg,pressure [kPa],stretch\n', 'at least one row'),
        ('leg,pressure,stretch\nleg_1,0,1\n', r'pressure \[unit\]'),
        ('leg,pressure [mm],stretch\nleg_1,0,1\n', r'pressure \[unit\]'),
        ('leg,pressure [kPa]\nleg_1,0\n', 'a column stretch'),
        ('leg,pressure [kPa],stretch\nleg_9,0,1\n', 'line 2'),
        ('leg,pressure [kPa],stretch\nleg_1,0\n', 'as many cells'),
        ('leg,pressure [kPa],stretch\nleg_1,zero,1\n', 'a finite number'),
        ('leg,pressure [kPa],stretch,mood\nleg_1,0,1,good\n', 'mood'),
    ],
)
def test_unreadable_tables_are_refused(robot, tmp_path, text, words):
    file = tmp_path / 'bad.csv'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(InvalidInput, match=words):
        read_stretch_table(file, robot.model_object)


def test_missing_file_is_refused(robot, tmp_path):
    with pytest.raises(InvalidInput, match='readable CSV'):
        read_stretch_table(tmp_path / 'none.csv', robot.model_object)


def test_robot_file_gets_the_curves_and_keeps_the_rest(robot, tmp_path):
    fits = identify_stretch(table(*(measured(h) for h in HEIGHTS)), MAXIMUM)
    source = find_robot_file('soft_parallel')
    target = tmp_path / 'soft_parallel.yaml'
    written = write_identified(robot.description, fits, target)
    for fit, curve in zip(fits, written.structure['ancf'].curves, strict=True):
        np.testing.assert_allclose(curve.values, fit.curve.values, atol=1e-5)
        np.testing.assert_allclose(curve.pressures, fit.curve.pressures)
    before = Path(source).read_text(encoding='utf-8').splitlines()
    after = target.read_text(encoding='utf-8').splitlines()
    changed = [x for x in before if x not in after]
    assert len(changed) == 3 and all('curve: {at:' in x for x in changed)
    assert [x for x in after if 'source: measured' in x]
    # Both models tell the same story again.
    identified = load_robot(target)
    q = identified.forward([150e3, 30e3, 0.0])
    n = load_robot(target, 'network').forward([150e3, 30e3, 0.0])
    assert np.linalg.norm(q.tip[:3, 3] - n.tip[:3, 3]) < 6e-3
    assert not (tmp_path / '.soft_parallel.new.yaml').exists()
    assert read_robot_file(target).name == 'soft_parallel'


def test_curves_that_hardly_rise_are_written_as_they_are(robot, tmp_path):
    fit = identify_stretch(table(*(measured(h) for h in HEIGHTS)), MAXIMUM)[0]
    values = 1.0 + 1e-6 * np.arange(len(fit.curve.values))
    flat = replace(fit, curve=fit.curve._replace(values=values))
    written = write_identified(robot.description, [flat], tmp_path / 'flat.yaml')
    np.testing.assert_allclose(written.structure['ancf'].curves[0].values, values, atol=1e-8)


def test_what_an_alias_has_elsewhere_too_is_not_replaced(tmp_path):
    file = tmp_path / 'x.yaml'
    file.write_text('a: &x {b: 1}\nc: *x\nd: {e: 2}\n')
    document = RoundTrip(file)
    document.put('d.e', 3)
    with pytest.raises(RobotFileError, match='alias'):
        document.put('a.b', 2)


def test_a_file_without_the_legs_is_left_alone(robot, tmp_path):
    fits = identify_stretch(table(*(measured(h) for h in HEIGHTS)), MAXIMUM)
    text = Path(find_robot_file('soft_parallel')).read_text(encoding='utf-8')
    own = tmp_path / 'own.yaml'
    own.write_text(text.replace('name: leg_2, drive', 'name: leg_two, drive'), encoding='utf-8')
    with pytest.raises(RobotFileError, match='leg_2'):
        write_identified(read_robot_file(own), fits, tmp_path / 'out.yaml')
    assert not (tmp_path / 'out.yaml').exists()
