# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check quantities as people write them."""

import math

import pytest

from soro_mechanics.robot_file.quantity import changed, parse, QuantityError, units_of


@pytest.mark.parametrize(
    ('text', 'unit', 'value'),
    [
        ('40 mm', 'm', 0.04),
        ('4e1mm', 'm', 0.04),
        ('  1.5   bar ', 'Pa', 1.5e5),
        ('90 deg', 'rad', math.pi / 2),
        ('-3 %', '1', -0.03),
        ('7', '1', 7.0),
        (7, '1', 7.0),
        ('+.5 N', 'N', 0.5),
        ('2 N  m', 'N m', 2.0),
        ('358 g/m', 'kg/m', 0.358),
        ('3 kg mm^2', 'kg m^2', 3e-6),
        ('3 kg cm^2', 'kg m^2', 3e-4),
        ('3 g cm^2', 'kg m^2', 3e-7),
    ],
)
def test_one_number(text, unit, value):
    assert parse(text, unit) == (pytest.approx(value, rel=1e-15),)


def test_several_numbers_share_a_unit():
    assert parse('0 0 -9.81 m/s^2', 'm/s^2', 3) == (0.0, 0.0, -9.81)


@pytest.mark.parametrize(
    ('text', 'unit', 'says'),
    [
        ('40', 'm', 'unit is missing'),
        (40, 'm', 'unit is missing'),
        ('40 bar', 'm', 'another dimension'),
        ('40 furlong', 'm', 'unknown unit'),
        ('4 0 mm', 'm', '2 numbers given'),
        ('mm', 'm', 'for example'),
        ('', 'm', 'for example'),
        (True, '1', 'write 1 number'),
        (None, 'm', 'write 1 number'),
        ([1], 'm', 'write 1 number'),
        ('1e999 m', 'm', 'not a finite number'),
        ('nan m', 'm', 'not a finite number'),
        ('-Infinity bar', 'Pa', 'not a finite number'),
        ('nanm', 'm', 'for example'),
        ('1e305 GPa', 'Pa', 'not a finite number'),
        ('1e999', '1', 'not a finite number'),
        ('inf m', 'm', 'for example'),
        ('1 mm mm', 'm', 'unknown unit'),
        ('40 MM', 'm', 'unknown unit'),
        ('5 m', '1', 'another dimension'),
        ('80,5 mm', 'm', 'a point and no comma'),
        ('0,85', '1', 'a point and no comma'),
        ('0, 0, 9.81 m/s^2', 'm/s^2', 'no comma, and blanks between'),
    ],
)
def test_what_is_refused_says_what_to_write(text, unit, says):
    with pytest.raises(QuantityError, match=says):
        parse(text, unit)


def test_units_of_a_dimension_begin_with_the_si_unit():
    assert units_of('Pa')[0] == 'Pa' and 'bar' in units_of('Pa')


@pytest.mark.parametrize(
    ('text', 'twice'),
    [('1.5 mm^2', '3.0 mm^2'), ('0 -1 2e1 m', '0.0 -2.0 40.0 m'), ('5 1/m', '10.0 1/m')],
)
def test_only_the_numbers_before_the_unit_are_changed(text, twice):
    assert changed(text, lambda x: repr(2.0 * x)) == twice


@pytest.mark.parametrize('text', ['mm', '', True, None, ['1 mm']])
def test_what_begins_with_no_number_is_not_changed(text):
    with pytest.raises(QuantityError, match='no number'):
        changed(text, repr)
