# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Words in which the tables of schema 2 are written, for the reader and the JSON Schema."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Key:
    """What may stand under one key."""

    # 'quantity' (`size` numbers and a unit; 0: any number of them), 'integer', 'boolean', 'text',
    # 'names', 'numbers', 'table', 'list' (of mappings), 'map' (names to mappings), 'either' (one
    # of `options`) or 'free' (another package reads it; `item` tells editors the keys that are
    # known beforehand)
    kind: str
    unit: str = '1'  # SI unit of a quantity, '1' for a pure number
    size: int = 1
    choices: tuple[str, ...] = ()  # of a text; empty: any
    item: Table | Variants | None = None  # of a table, list or map
    options: tuple[Key, ...] = ()
    required: bool = False
    about: str = ''  # one line for people, shown by editors


Table = dict[str, Key]


@dataclass(frozen=True)
class Variants:
    """Mappings told apart by the text under one key."""

    by: str
    tables: dict[str, Table] = field(default_factory=dict)


def need(key: Key) -> Key:
    """Return the key, required."""
    return replace(key, required=True)


def q(unit: str, about: str = '', size: int = 1) -> Key:
    """Return a quantity, or a vector of one unit."""
    return Key('quantity', unit, size, about=about)


def text(*choices: str, about: str = '') -> Key:
    """Return a text."""
    return Key('text', choices=choices, about=about)


def table(item: Table | Variants, about: str = '') -> Key:
    """Return one mapping."""
    return Key('table', item=item, about=about)


def rows(item: Table | Variants, about: str = '') -> Key:
    """Return a list of mappings."""
    return Key('list', item=item, about=about)


def named(item: Table | Variants, about: str = '') -> Key:
    """Return a mapping of free names to mappings."""
    return Key('map', item=item, about=about)


def either(*options: Key, about: str = '') -> Key:
    """Return what may be written in several ways; the first that fits is taken."""
    return Key('either', options=options, about=about)


NUMBER = q('1')
WHOLE = Key('integer')
FLAG = Key('boolean')
TEXT = text()
NAMES = Key('names', about='a list of names')
NUMBERS = Key('numbers', about='a list of numbers')
FREE: Any = Key('free')
