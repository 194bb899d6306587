# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of robot files, made from the tables that the reader checks them with."""

from __future__ import annotations

from functools import lru_cache
import re
from typing import Any

from soro_mechanics.robot_file.quantity import units_of
from soro_mechanics.robot_file.schema2.key import FREE, Key, Table, Variants
from soro_mechanics.robot_file.schema2.tables import TOP
from soro_mechanics.robot_file.section import SOURCES

Json = dict[str, Any]
DRAFT = 'http://json-schema.org/draft-07/schema#'  # the one that YAML editors know
NUMBER = r'[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?'


@lru_cache(maxsize=1)
def robot_schema() -> Json:
    """Return the JSON Schema of schema 2."""
    quantities: dict[str, Json] = {}
    found = _shared(_table(TOP), quantities)
    found['properties']['schema'] = {'const': 2}
    head = {'$schema': DRAFT, 'title': 'soro robot file, schema 2'}
    return {**head, **found, 'definitions': dict(sorted(quantities.items()))}


def _shared(node: Any, quantities: dict[str, Json]) -> Any:
    """Return the schema with every quantity written once, under ``definitions``."""
    if isinstance(node, list):
        return [_shared(part, quantities) for part in node]
    if not isinstance(node, dict):
        return node
    if 'of' not in node or 'ways' not in node:
        return {key: _shared(part, quantities) for key, part in node.items()}
    quantities[node['of']] = node['ways']
    about = {k: v for k, v in node.items() if k == 'description'}
    return {'allOf': [{'$ref': f'#/definitions/{node["of"]}'}], **about}


def _table(item: Table | Variants) -> Json:
    if not isinstance(item, Variants):
        return {
            'type': 'object',
            'additionalProperties': False,
            'properties': {name: _key(key) for name, key in item.items()},
            'required': [name for name, key in item.items() if key.required],
        }
    # One branch at a time, so that an error is about the kind that was written. The keys of all
    # kinds stand in front: editors complete from there.
    every = {name for part in item.tables.values() for name in part}
    return {
        'type': 'object',
        'required': [item.by],
        'properties': {
            item.by: {'enum': list(item.tables)},
            **{name: {} for name in sorted(every)},
        },
        'allOf': [
            {
                'if': {'properties': {item.by: {'const': kind}}, 'required': [item.by]},
                'then': _table({**part, item.by: FREE}),
            }
            for kind, part in item.tables.items()
        ],
    }


def _key(key: Key) -> Json:
    found = _value(key)
    if key.kind == 'quantity':
        name = f'{key.size or "some"}_{key.unit}'
        for sign, word in (('/', '_per_'), ('^', ''), (' ', '_')):
            name = name.replace(sign, word)
        found = {'of': name, 'ways': {'anyOf': [found, _with_origin(found)]}}
    elif key.kind not in ('table', 'list', 'map', 'free'):
        found = {'anyOf': [found, _with_origin(found)]}
    if key.about:
        found['description'] = key.about
    return found


def _with_origin(value: Json) -> Json:
    return {
        'type': 'object',
        'additionalProperties': False,
        'required': ['value'],
        'properties': {'value': value, 'source': {'enum': list(SOURCES)}, 'note': {}},
    }


def _value(key: Key) -> Json:
    kind = key.kind
    if kind == 'quantity':
        return _quantity(key)
    if kind == 'either':
        return {'anyOf': [_value(option) for option in key.options]}
    if kind in ('table', 'list', 'map'):
        assert key.item is not None  # noqa: S101 - the tables are ours
        inner = _table(key.item)
        if kind == 'list':
            return {'type': 'array', 'items': inner}
        return inner if kind == 'table' else {'type': 'object', 'additionalProperties': inner}
    if kind == 'free' and key.item is not None:
        return {**_table(key.item), 'additionalProperties': {}}
    simple: dict[str, Json] = {
        'integer': {'type': 'integer'},
        'boolean': {'type': 'boolean'},
        'names': {'type': 'array', 'items': {'type': 'string'}, 'uniqueItems': True},
        'numbers': {'type': 'array', 'items': _quantity(Key('quantity')), 'minItems': 1},
        'text': {'enum': list(key.choices)} if key.choices else {'type': 'string'},
        'free': {},
    }
    return simple[kind]


def _quantity(key: Key) -> Json:
    """Return a text of numbers and a unit of the dimension; a pure number may stand bare."""
    units = '|'.join(re.escape(u).replace(r'\ ', r'\s+') for u in units_of(key.unit) if u != '1')
    times = f'{{{key.size - 1}}}' if key.size else '*'
    bare = key.unit == '1'
    unit = f'(?:{units})' + ('?' if bare else '')
    text: Json = {'type': 'string', 'pattern': rf'^\s*(?:{NUMBER}\s+){times}{NUMBER}\s*{unit}\s*$'}
    if not bare:
        text['examples'] = [f'{"0 " * max(key.size - 1, 0)}1 {units_of(key.unit)[0]}']
    ways = [text] + ([{'type': 'number'}] if bare and key.size <= 1 else [])
    if key.size != 1:
        one = _quantity(Key('quantity', key.unit))
        ways.append(
            {
                'type': 'array',
                'items': one,
                'minItems': key.size or 1,
                **({'maxItems': key.size} if key.size else {}),
            }
        )
    return ways[0] if len(ways) == 1 else {'anyOf': ways}
