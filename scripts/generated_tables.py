#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Write the tables of pages that are made from the code: parameters, keys of robot files, sizes.

    . scripts/env.sh && python scripts/generated_tables.py

A page says which table stands where, with two comments that nobody sees:

    <!-- table: parameters soro_driver.driver_parameters -->
    <!-- end of the table -->

`parameters MODULE` are the PARAMETERS of a module, `keys` those of robot_file/schema2/tables.py,
`house` is what `house_size.py` counts.
`make lint` says when a page is older than the code.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
import importlib
from pathlib import Path
import re

import house_size

from soro_mechanics.robot_file.schema2 import tables
from soro_mechanics.robot_file.schema2.key import Key, Table, Variants
from soro_rigs.parameter_table import markdown_table

Item = Table | Variants
ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(
    r'^(<!-- table: (\w+) ?(\S*) -->\n)(.*?)^(<!-- end of the table -->)$',
    re.MULTILINE | re.DOTALL,
)


def renewed(text: str) -> str:
    """Return a page with its tables made anew."""
    return BLOCK.sub(lambda m: m[1] + TABLES[m[2]](m[3]) + m[5], text)


def _parameters(module: str) -> str:
    return markdown_table(importlib.import_module(module).PARAMETERS)


def _keys(_: str) -> str:
    """Return a table for every mapping of a robot file, in the order in which they nest."""
    return '\n'.join(_sections('', tables.TOP, []))


def _sections(
    path: str, item: Item, seen: list[tuple[Item, str]], note: str = ''
) -> Iterator[str]:
    """Yield the table of a mapping and those of what is in it, equal ones once."""
    yield f'## `{path}`{note}\n' if path else '## The file\n'
    before = next((where for other, where in seen if other == item), None)
    if before is not None:
        yield f'Like `{before}`.\n'
        return
    seen.append((item, path))
    groups: list[tuple[list[str], Table]] = [([], item)] if isinstance(item, dict) else []
    if isinstance(item, Variants):
        every = list(item.tables.values())
        if all(set(one) == set(every[0]) for one in every):  # they differ in units alone
            kinds = Key('text', choices=tuple(item.tables), required=True)
            groups = [([], {item.by: kinds, **_joined_tables(every)})]
        for name, one in item.tables.items() if not groups else ():
            same = next((names for names, other in groups if other == one), None)
            if same is None:
                groups.append(([name], one))
            else:
                same.append(name)
    for names, one in groups:
        if names:
            listed = ', '.join(f'`{name}`' for name in names)
            yield f'With `{item.by}`: {listed}\n' if isinstance(item, Variants) else ''
        yield from _rows(one)
    for names, one in groups:
        note = f', {item.by} `{names[0]}`' if names and isinstance(item, Variants) else ''
        for name, key in one.items():
            for part in (key, *key.options):
                if part.item is not None:
                    where = f'{path}.{name}'.strip('.') + MANY.get(part.kind, '')
                    yield from _sections(where, part.item, seen, note)


def _joined_tables(every: list[Table]) -> Table:
    """Return one table for several with the same keys."""
    return {name: _joined([one[name] for one in every]) for name in every[0]}


def _joined(keys: list[Key]) -> Key:
    """Return one key for the same key in several tables."""
    different = [key for i, key in enumerate(keys) if key not in keys[:i]]
    first = different[0]
    items = [key.item for key in different]
    if len(different) == 1:
        return first
    if all(isinstance(item, Variants) for item in items):
        joined: Item = replace(
            items[0],
            tables={n: _joined_tables([i.tables[n] for i in items]) for n in items[0].tables},
        )
        return replace(first, item=joined)
    if all(isinstance(item, dict) for item in items):
        return replace(first, item=_joined_tables(items))
    return replace(first, kind='either', options=tuple(different))


def _rows(item: Table) -> Iterator[str]:
    for name, key in item.items():
        about = f': {key.about}' if key.about else ''
        yield f'- {"**" * key.required}`{name}`{"**" * key.required} {_value(key)}{about}'
    yield ''


MANY = {'list': '[]', 'map': '.<name>'}
VALUES = {
    'integer': 'whole number',
    'boolean': '`true` or `false`',
    'names': 'list of names',
    'numbers': 'list of numbers',
    'table': 'mapping',
    'list': 'list of mappings',
    'map': 'names to mappings',
    'free': 'see there',
}


def _value(key: Key) -> str:
    """Return in words what may stand under a key."""
    if key.kind == 'either':
        return ' or '.join(dict.fromkeys(_value(option) for option in key.options))
    if key.kind == 'quantity':
        unit = 'number' if key.unit == '1' else key.unit
        return unit if key.size == 1 else f'{key.size or "any"} x {unit}'
    if key.kind == 'text':
        return ', '.join(f'`{c}`' for c in key.choices) or 'text'
    return VALUES[key.kind]


TABLES = {'parameters': _parameters, 'keys': _keys, 'house': lambda _: house_size.table()}


def check(files: list[Path]) -> Iterator[str]:
    """Yield the pages whose tables are older than the code."""
    for page in (f for f in files if f.suffix == '.md'):
        text = page.read_text(encoding='utf-8')
        if renewed(text) != text:
            where = page.relative_to(ROOT).as_posix()
            yield f'{where}: a table is older than the code; scripts/generated_tables.py'


def main() -> None:
    """Write the pages that are older than the code."""
    for page in sorted((ROOT / 'docs').rglob('*.md')):
        text = page.read_text(encoding='utf-8')
        new = renewed(text)
        if new != text:
            page.write_text(new, encoding='utf-8')
            print(f'{page.relative_to(ROOT)} is written')


if __name__ == '__main__':
    main()
