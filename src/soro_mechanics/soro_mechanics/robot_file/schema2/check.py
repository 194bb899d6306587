# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check a mapping against the tables of schema 2: keys, units, kinds, origins."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file import quantity
from soro_mechanics.robot_file.schema2 import tables
from soro_mechanics.robot_file.schema2.key import Key, Table, Variants
from soro_mechanics.robot_file.section import Section

GONE = ('steps', 'formulation')  # of networks, before their rods were two-node elements only


def check_table(section: Section, item: Table | Variants) -> None:
    """Refuse whatever a table does not know. Raises RobotFileError."""
    if isinstance(item, Variants):
        chosen = section.text(item.by, choices=tuple(item.tables))
        item = item.tables[chosen]
    with section:
        if section.path.startswith('models.'):
            _refuse_physical(section, item)
        for name, key in item.items():
            if key.required or name in section:
                _check(section, name, key)


def _check(section: Section, name: str, key: Key) -> None:
    kind = key.kind
    plainly: dict[str, Callable[[str], Any]] = {
        'integer': section.integer,
        'boolean': section.boolean,
        'names': section.texts,
        'free': section.raw,
    }
    if kind in plainly:
        plainly[kind](name)
    elif kind == 'quantity':
        if key.size == 1:
            section.quantity(name, key.unit)
        else:
            section.vector(name, key.unit, key.size or _count(section, name))
    elif kind == 'text':
        section.text(name, choices=key.choices or None)
    elif kind == 'numbers':
        _check_numbers(section, name)
    elif kind == 'either':
        _check_either(section, name, key)
    else:
        _check_nested(section, name, key)


def _check_nested(section: Section, name: str, key: Key) -> None:
    assert key.item is not None  # noqa: S101 - the tables are ours
    if key.kind == 'list':
        for part in section.sections(name):
            check_table(part, key.item)
        return
    inner = section.section(name)
    if key.kind == 'table':
        check_table(inner, key.item)
        return
    with inner:
        for one in inner.keys:
            if one == 'value':
                raise inner.error(one, 'this name is taken: it marks a value with its origin')
            check_table(inner.section(one), key.item)


def _check_either(section: Section, name: str, key: Key) -> None:
    value = section.raw(name)
    first: RobotFileError | None = None
    for option in key.options:
        if option.kind in ('table', 'map') and not isinstance(value, dict):
            continue
        if option.kind in ('list', 'numbers') and not isinstance(value, list):
            continue
        if option.kind == 'list' and not all(isinstance(part, dict) for part in value):
            continue
        before = len(section.origins)
        try:
            _check(section, name, option)
            return
        except RobotFileError as error:
            del section.origins[before:]
            if option.kind in ('list', 'table', 'map'):
                raise
            first = first or error
    raise first or section.error(name, 'is written in none of the ways that are known')


def _check_numbers(section: Section, name: str) -> None:
    value = section.raw(name)
    if not isinstance(value, list) or not value:
        raise section.error(name, 'write a list of numbers')
    try:
        for one in value:
            quantity.parse(one, '1')
    except quantity.QuantityError as error:
        raise section.error(name, str(error)) from None


def _count(section: Section, name: str) -> int:
    """Return how many numbers stand under a key."""
    value = section.raw(name)
    return len(value) if isinstance(value, list) else quantity.count(value)


def _refuse_physical(section: Section, item: Table) -> None:
    """Refuse a property of the body under a model, saying where it belongs, and keys of before."""
    for name in section.keys:
        if name not in item:
            if name in GONE and section.path.startswith('models.network'):
                remedy = 'rods are two-node elements now; remove it and write mesh: 14'
                raise section.error(name, remedy)
            homes = [x for x in _homes(tables.TOP['body'], 'body') if x.rpartition('.')[2] == name]
            if homes:
                where = ' or '.join(dict.fromkeys(homes))
                remedy = (
                    f'is no numerics of a model; the body states it, once: write it as {where}'
                )
                raise section.error(name, remedy)


def _homes(key: Key, path: str) -> Iterator[str]:
    """Return the path of every key below one."""
    if key.item is None:
        return
    parts = key.item.tables if isinstance(key.item, Variants) else {'': key.item}
    for part in parts.values():
        for name, child in part.items():
            here = f'{path}.{name}'
            yield here
            yield from _homes(child, here + {'list': '[]', 'map': '.*'}.get(child.kind, ''))


def plain(data: Any) -> Any:
    """Return data without origins: what stands under `value` alone."""
    if isinstance(data, dict):
        return (
            plain(data['value'])
            if 'value' in data and set(data) <= {'value', 'source', 'note'}
            else {k: plain(v) for k, v in data.items()}
        )
    return [plain(x) for x in data] if isinstance(data, list) else data
