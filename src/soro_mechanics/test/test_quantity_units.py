# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Units that begin with a digit."""

import pytest

from soro_mechanics.robot_file.quantity import parse, QuantityError


@pytest.mark.parametrize(
    ('text', 'unit', 'values'),
    [
        ('5 1/m', '1/m', (5.0,)),
        ('12 1/mm', '1/m', (12000.0,)),
        ('0 -16.5 0 1/m', '1/m', (0.0, -16.5, 0.0)),
        ('2e1 1/bar', '1/Pa', (2e-4,)),
        ('7 N/m', 'N/m', (7.0,)),
    ],
)
def test_reciprocal_units(text, unit, values):
    assert parse(text, unit, len(values)) == pytest.approx(values)


@pytest.mark.parametrize('text', ['1/m', '12/m', '5 1 /m', '5 12/m'])
def test_a_bare_reciprocal_is_no_quantity(text):
    with pytest.raises(QuantityError):
        parse(text, '1/m')
