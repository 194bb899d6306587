# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
import math
import shlex

import pytest

from soro_mechanics.core.actuators import Actuator, QUANTITIES
from soro_node import display_units
from soro_node.user_errors import UserError

PAIRS = tuple(Actuator(f'pair_{i}', 'pressure', 0.0, 1.5e5, 2e5, 0.0) for i in (1, 2, 3))


@pytest.mark.parametrize(
    ('value', 'unit', 'text'),
    [
        (9.0e4, 'Pa', '0.9 bar'),
        (0.0452, 'm', '45.2 mm'),
        (math.pi / 2, 'rad', '90 deg'),
        (1.25, '1', '1.25'),
        (0.0, 'Pa', '0 bar'),
        (-0.0123456, 'm', '-12.35 mm'),
        (0.0042, 's', '4.2 ms'),
        (55.5, 's', '55.5 s'),
    ],
)
def test_values_are_shown_in_the_units_of_people(value, unit, text):
    assert display_units.shown(value, unit) == text


@pytest.mark.parametrize(
    ('words', 'values'),
    [
        (['0.9bar', '0', '20kPa'], [9.0e4, 0.0, 2.0e4]),
        (['pair_2=1.2bar'], [0.0, 1.2e5, 0.0]),
        ([' -0.1bar', '0', '0'], [-1.0e4, 0.0, 0.0]),
        (['0.00', '-0.0', '+0e3 '], [0.0, 0.0, 0.0]),
    ],
)
def test_actuations_are_read(words, values):
    assert display_units.actuation(words, PAIRS) == pytest.approx(values)


@pytest.mark.parametrize(
    ('words', 'reason'),
    [
        (['0.9', '0', '0'], 'pair_1 = .0.9.: the unit is missing'),
        (['0.9mm', '0', '0'], 'another dimension'),
        (['0.9bar'], '1 values for 3 actuators'),
        (['pair_4=1bar'], 'no actuator'),
        (['pair_1=1bar', '0'], 'no actuator'),
        (['nan bar', '0', '0'], 'write 1 number'),
    ],
)
def test_wrong_actuations_are_refused_with_an_example(words, reason):
    with pytest.raises(UserError, match=reason):
        display_units.actuation(words, PAIRS)


def test_the_example_of_an_actuation_can_be_typed():
    actuators = [Actuator(f'a_{q}', q, -2.0, 2.0, 1.0, 0.5) for q in QUANTITIES]
    with pytest.raises(UserError) as caught:
        display_units.actuation(['0'], actuators)
    words = shlex.split(str(caught.value).partition('by name: ')[2])
    assert {'a_curvature=0.5 1/m', 'a_force=0.5N'} < set(words) and len(words) == len(QUANTITIES)
    assert display_units.actuation(words, actuators) == pytest.approx([0.5] * len(words), rel=1e-3)


def test_wrenches_are_read():
    assert display_units.wrench(None) == [0.0] * 6
    assert display_units.wrench(['0', '0', '-0.5N']) == [0.0, 0.0, -0.5, 0.0, 0.0, 0.0]
    full = display_units.wrench(['1N', '0', '0', '1Nm', '2Nmm', '3mNm'])
    assert full == pytest.approx([1.0, 0.0, 0.0, 1.0, 2e-3, 3e-3])
    with pytest.raises(UserError, match='three forces'):
        display_units.wrench(['1N', '0'])
    with pytest.raises(UserError, match='fz'):
        display_units.wrench(['0', '0', '1mm'])


def test_quaternions_are_normalised_and_zero_is_refused():
    assert display_units.quaternion([0.0, 2.0, 0.0, 0.0]) == [0.0, 1.0, 0.0, 0.0]
    with pytest.raises(UserError, match='not all zero'):
        display_units.quaternion([0.0] * 4)
    with pytest.raises(UserError, match='not all zero'):
        display_units.quaternion([math.nan, 0.0, 0.0, 1.0])
