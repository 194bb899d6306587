# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Dataclasses read from a section: units, defaults, bounds, and keys that nobody knows."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.record import given, read_optional, read_record
from soro_mechanics.robot_file.section import Section


@dataclass(frozen=True)
class Motor:
    """A field of every kind."""

    torque: float = given('N m', positive=True)
    lag: float = given('s', 0.1, minimum=0.0)
    poles: int = given(default=2, minimum=2)
    reversed: bool = given(default=False)
    kind: str = given(default='stepper', choices=('stepper', 'servo'))
    inertia: float = given('kg m^2', 0.0, key='J')
    found: int = 0  # not of the file


def test_a_record_is_read_with_units_and_defaults():
    data = {'torque': '20 mN m', 'poles': 4, 'reversed': True, 'kind': 'servo', 'J': '2 kg m^2'}
    found = read_record(Section(data), Motor, found=3)
    assert found == Motor(0.02, 0.1, 4, True, 'servo', 2.0, found=3)


@pytest.mark.parametrize(
    ('data', 'path'),
    [
        ({}, 'torque'),
        ({'torque': '0 N m'}, 'torque'),
        ({'torque': '1 N m', 'lag': '-1 s'}, 'lag'),
        ({'torque': '1 N m', 'lag': '1 m'}, 'lag'),
        ({'torque': '1 N m', 'poles': 1}, 'poles'),
        ({'torque': '1 N m', 'reversed': 1}, 'reversed'),
        ({'torque': '1 N m', 'kind': 'brushed'}, 'kind'),
        ({'torque': '1 N m', 'found': 1}, 'found'),
    ],
)
def test_a_wrong_record_is_refused_with_its_path(data, path):
    with pytest.raises(RobotFileError) as caught:
        read_optional(Section({'motor': data}), 'motor', Motor)
    assert caught.value.path == f'motor.{path}'


def test_an_optional_record_is_its_defaults():
    @dataclass(frozen=True)
    class Relay:
        window: float = given('s', 0.2)

    with Section({}) as root:
        assert read_optional(root, 'relay', Relay) == Relay()
