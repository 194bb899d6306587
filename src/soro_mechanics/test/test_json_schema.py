# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of robot files: editors complete keys from it and mark wrong units."""

from __future__ import annotations

import copy
import json
from pathlib import Path
import re
from typing import Any

import pytest
from soro_mechanics.catalogue import search_path
from soro_mechanics.errors import RobotFileError
from soro_mechanics.robot_file import describe_robot, read_yaml
from soro_mechanics.schema2.json_schema import robot_schema

CATALOGUE = [p for p in search_path() if (p / 'stiff_flop.yaml').is_file()][-1]
ROBOTS = {p.stem: read_yaml(p) for p in sorted(CATALOGUE.rglob('*.yaml'))}
SHIPPED = Path(__file__).resolve().parents[3] / 'config' / 'robot.schema.json'
TYPES = {'object': dict, 'array': list, 'string': str, 'boolean': bool}


def faults(schema: Any, value: Any, path: str = '') -> list[str]:
    """Return the paths that a validator marks; of the keywords that robot_schema uses."""
    if '$ref' in schema:
        return faults(
            robot_schema()['definitions'][schema['$ref'].rpartition('/')[2]], value, path
        )
    bad = [path] if not fits(schema, value) else []
    for part in schema.get('allOf', ()):
        bad += faults(part, value, path)
    if 'anyOf' in schema and all(faults(part, value, path) for part in schema['anyOf']):
        bad.append(path)
    if 'if' in schema and not faults(schema['if'], value, path):
        bad += faults(schema['then'], value, path)
    if isinstance(value, dict):
        known = schema.get('properties', {})
        bad += [f'{path}.{name}' for name in schema.get('required', ()) if name not in value]
        for name, child in value.items():
            rest = schema.get('additionalProperties', True)
            inner = known.get(name, rest)
            if inner is False:
                bad.append(f'{path}.{name}')
            elif isinstance(inner, dict):
                bad += faults(inner, child, f'{path}.{name}')
    if isinstance(value, list) and 'items' in schema:
        for i, child in enumerate(value):
            bad += faults(schema['items'], child, f'{path}.{i}')
    return bad


def fits(schema: Any, value: Any) -> bool:
    kind = schema.get('type')
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if (
        kind == 'number'
        and not number
        or kind == 'integer'
        and not (number and value == int(value))
    ):
        return False
    if kind in TYPES and not isinstance(value, TYPES[kind]):
        return False
    if 'enum' in schema and value not in schema['enum']:
        return False
    if 'const' in schema and value != schema['const']:
        return False
    if 'pattern' in schema and isinstance(value, str) and not re.search(schema['pattern'], value):
        return False
    if not isinstance(value, list):
        return True
    size = len(value)
    return schema.get('minItems', 0) <= size <= schema.get('maxItems', size)


def marked(data: Any) -> list[str]:
    """Return what is marked in a file, by every validator that is installed."""
    found = faults(robot_schema(), data)
    try:
        from jsonschema import Draft7Validator
    except ImportError:
        return found
    assert Draft7Validator(robot_schema()).is_valid(data) == (not found)
    return found


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
    'an unknown rule': ('stiff_flop', 'models.ncm.compensation.rule', 'exactly', None),
}  # fmt: skip


@pytest.mark.parametrize('name', WRONG)
def test_what_the_reader_refuses_is_marked_at_its_place(name):
    robot, path, value, _ = WRONG[name]
    data = copy.deepcopy(ROBOTS[robot])
    *parents, last = [int(x) if x.isdigit() else x for x in path.split('.')]
    node = data
    for key in parents:
        node = node[key]
    node[last] = value
    assert f'.{path}' in marked(data)
    with pytest.raises(RobotFileError):
        describe_robot(data, 'x.yaml')


def test_keys_of_every_kind_are_offered():
    body = robot_schema()['properties']['body']
    assert {'segments', 'legs', 'backbone', 'rods', 'tendons', 'tip'} <= set(body['properties'])
    drive = robot_schema()['properties']['drives']['items']
    assert {'minimum', 'maximum', 'rate', 'acts', 'curve'} <= set(drive['properties'])
