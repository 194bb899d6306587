# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of robot files: editors complete keys from it and mark wrong units."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator
from jsonschema.exceptions import ValidationError
import pytest

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.catalogue import search_path
from soro_mechanics.robot_file.reader import describe_robot, read_yaml
from soro_mechanics.robot_file.schema2.json_schema import robot_schema

CATALOGUE = [p for p in search_path() if (p / 'stiff_flop.yaml').is_file()][-1]
ROBOTS = {p.stem: read_yaml(p) for p in sorted(CATALOGUE.rglob('*.yaml'))}
SHIPPED = Path(__file__).resolve().parents[3] / 'config' / 'robot.schema.json'


def marked(data: Any) -> list[str]:
    """Return the places that a validator marks."""
    errors = list(Draft7Validator(robot_schema()).iter_errors(data))
    return sorted({place for error in errors for place in places(error)})


def places(error: ValidationError) -> list[str]:
    """Return where an editor underlines an error: an unknown key itself, not its mapping."""
    path = ''.join(f'.{part}' for part in error.absolute_path)
    if error.validator == 'additionalProperties':
        known = error.schema.get('properties', {})
        return [f'{path}.{name}' for name in error.instance if name not in known]
    return [path]


def changed(robot: str, path: str, value: Any) -> Any:
    data = copy.deepcopy(ROBOTS[robot])
    *parents, last = [int(x) if x.isdigit() else x for x in path.split('.')]
    node = data
    for key in parents:
        node = node[key]
    node[last] = value
    return data


def test_the_schema_is_one():
    Draft7Validator.check_schema(robot_schema())


def test_the_shipped_schema_is_that_of_the_reader():
    assert json.loads(SHIPPED.read_text()) == robot_schema(), 'soro doctor --json-schema FILE'


@pytest.mark.parametrize('name', ROBOTS)
def test_every_robot_is_valid(name):
    assert marked(ROBOTS[name]) == []


# Robot, place, value, and the place that is marked.
WRONG = {
    'a wrong unit': ('stiff_flop', 'body.segments.0.length', '40 N', None),
    'no unit': ('stiff_flop', 'body.segments.0.length', '40', None),
    'a bare number': ('stiff_flop', 'body.segments.0.length', 40, None),
    'two numbers': ('stiff_flop', 'body.segments.0.length', '40 40 mm', None),
    'a wrong unit in a vector': ('stiff_flop', 'gravity', '0 0 -9.81 m/s', None),
    'a wrong unit with an origin': ('stiff_flop', 'body.segments.0.radius',
                                    {'value': '1 bar', 'source': 'published'}, None),
    'an unknown source': ('stiff_flop', 'body.segments.0.radius',
                          {'value': '1 mm', 'source': 'guessed'}, None),
    'a rate of another quantity': ('stiff_flop', 'drives.0.rate', '2 deg/s', None),
    'an unknown key': ('stiff_flop', 'body.segments.0.lenght', '40 mm', None),
    'an unknown key of a drive': ('stiff_flop', 'drives.0.maximun', '1 bar', None),
    'an unknown kind': ('stiff_flop', 'body.kind', 'chane', None),
    'an unknown model': ('stiff_flop', 'models.ncn', {}, None),
    'a property under a model': ('stiff_flop', 'models.network.radius', '1 mm', None),
    'an unknown joint': ('stewart_gough', 'body.rods.0.to.joint', 'revolut', None),
    'a torque in a length': ('stewart_gough', 'drives.0.minimum', '1 N m', None),
    'a stiffness in a material': ('stiff_flop', 'body.segments.0.material', {'young': '3 N'},
                                  '.young'),
    'an unknown rule': ('stiff_flop', 'models.ncm.compensation.rule', 'exactly', None),
}  # fmt: skip


# Read by the packages of driver and emulator, which refuse them.
WRONG_ELSEWHERE = {
    'emulator.body.changes.2.factor': 'a bit',
    'driver.rate': '100 bar',
    'driver.on_command_loss.action': 'hold',
    'driver.supervision.sensor_for': '3 m',
}


@pytest.mark.parametrize('path', WRONG_ELSEWHERE)
def test_driver_and_emulator_are_marked_too(path):
    data = changed('stiff_flop', path, WRONG_ELSEWHERE[path])
    assert f'.{path}' in marked(data)


@pytest.mark.parametrize('name', WRONG)
def test_what_the_reader_refuses_is_marked_at_its_place(name):
    robot, path, value, below = WRONG[name]
    data = changed(robot, path, value)
    assert f'.{path}{below or ""}' in marked(data)
    with pytest.raises(RobotFileError):
        describe_robot(data, 'x.yaml')


def test_keys_of_every_kind_are_offered():
    body = robot_schema()['properties']['body']
    assert {'segments', 'legs', 'backbone', 'rods', 'tendons', 'tip'} <= set(body['properties'])
    drive = robot_schema()['properties']['drives']['items']
    assert {'minimum', 'maximum', 'rate', 'acts', 'curve'} <= set(drive['properties'])
