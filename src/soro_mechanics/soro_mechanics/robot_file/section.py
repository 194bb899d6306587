# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Read one mapping of a robot file strictly: every key is asked for, or it is an error.

A reader takes what it knows from a `Section` and leaves the `with` block; keys that nobody
asked for are refused there with the nearest valid name, so a typing error never becomes a default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import difflib
import math
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.errors import closest, RobotFileError, shown, UnknownKey
from soro_mechanics.robot_file import quantity

SOURCES = ('published', 'fitted', 'assumed', 'measured')
MAX_PARTS = 1000  # of one kind in a model: far beyond what any solve here is made for
ALIKE = 0.8  # of two keys: a misspelling, not another word of the same ending
_REQUIRED: Any = object()
Read = TypeVar('Read')


@dataclass(frozen=True)
class Provenance:
    """Where a number comes from: 'published', 'fitted', 'assumed', 'measured' or 'unstated'."""

    path: str
    source: str
    note: str


class Section:
    """One mapping of a robot file, with its path for error messages.

    Any value may be written plainly (``40 mm``) or with its origin
    (``{value: 40 mm, source: published, note: Fig. 3}``).
    """

    def __init__(
        self, data: Any, path: str = '', file: str = '', origins: list[Provenance] | None = None
    ) -> None:
        self.path = path
        self.file = file
        self.origins: list[Provenance] = [] if origins is None else origins
        if not isinstance(data, dict):
            raise RobotFileError(path or 'file', data, 'write a mapping of keys to values', file)
        for key in data:
            if not isinstance(key, str):
                raise RobotFileError(self._at(shown(key)), key, 'write the key as text', file)
        self._data: dict[str, Any] = data
        self._asked: list[str] = []

    def __enter__(self) -> Section:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if kind is None:
            self.close()

    def __contains__(self, key: str) -> bool:
        """Whether the key is present; asking makes it a known key."""
        self._asked.append(key)
        return key in self._data

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that stands in the file, in its order."""
        return tuple(self._data)

    def close(self) -> None:
        """Refuse every key that nobody asked for."""
        for key in self._data:
            if key not in self._asked:
                valid = tuple(dict.fromkeys(self._asked))
                remedy = f'unknown key; expected {closest(key, valid)}'
                raise UnknownKey(self._at(key), self._data[key], remedy, self.file)

    def error(self, key: str, remedy: str) -> RobotFileError:
        """Make the error for one key: path, value, remedy."""
        return RobotFileError(self._at(key), self._data.get(key), remedy, self.file)

    def raw(self, key: str, default: Any = _REQUIRED) -> Any:
        """Return the value as YAML has it, its origin noted and taken off."""
        if key not in self:
            if default is _REQUIRED:
                raise self._missing(key)
            return default
        value = self._data[key]
        if isinstance(value, dict) and 'value' in value:
            value = self._with_origin(key, value)
        if value is None:
            raise self.error(key, 'empty; write a value or remove the key')
        return value

    def quantity(
        self,
        key: str,
        si_unit: str,
        default: Any = _REQUIRED,
        *,
        minimum: float = -math.inf,
        maximum: float = math.inf,
        positive: bool = False,
    ) -> float:
        """Return one number in SI; bounds are inclusive, `positive` excludes zero."""
        if default is _REQUIRED:
            self._require(key, si_unit, 1)
        value = self.raw(key, default)
        if value is default and key not in self._data:
            return value
        number = self._parse(key, value, si_unit, 1)[0]
        self._check_range(key, number, si_unit, minimum, maximum, positive)
        return number

    def vector(
        self, key: str, si_unit: str, size: int, default: Any = _REQUIRED
    ) -> NDArray[np.float64]:
        """Return `size` numbers in SI, written '0 0 1 m', or a list, every entry with its unit."""
        if default is _REQUIRED:
            self._require(key, si_unit, size)
        value = self.raw(key, default)
        if key not in self._data:
            return np.array(value, dtype=float)
        if not isinstance(value, list):
            return np.array(self._parse(key, value, si_unit, size))
        if len(value) != size:
            raise self.error(key, f'{len(value)} entries given; write {size}')
        # joined to one text, the unit of the last entry would scale those before it
        return np.array([self._parse(key, x, si_unit, 1, 'every entry: ')[0] for x in value])

    def number(self, key: str, default: Any = _REQUIRED, **bounds: Any) -> float:
        """Return a pure number."""
        return self.quantity(key, '1', default, **bounds)

    def integer(
        self,
        key: str,
        default: Any = _REQUIRED,
        *,
        minimum: int | None = None,
        maximum: int | None = None,
    ) -> int:
        """Return a whole number; bounds are inclusive."""
        value = self.raw(key, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, 'write a whole number')
        if minimum is not None and value < minimum:
            raise self.error(key, f'must be at least {minimum}')
        if maximum is not None and value > maximum:
            raise self.error(key, f'must be at most {maximum}')
        return value

    def count(self, key: str, default: Any = _REQUIRED, *, minimum: int = 1) -> int:
        """Return how many parts of a kind a model is cut into; memory grows with it."""
        return self.integer(key, default, minimum=minimum, maximum=MAX_PARTS)

    def boolean(self, key: str, default: Any = _REQUIRED) -> bool:
        """Return true or false."""
        value = self.raw(key, default)
        if not isinstance(value, bool):
            raise self.error(key, 'write true or false')
        return value

    def text(
        self, key: str, default: Any = _REQUIRED, *, choices: Sequence[str] | None = None
    ) -> str:
        """Return a text, one of `choices` where they are given."""
        value = self.raw(key, default)
        if key not in self._data:
            return value
        if not isinstance(value, str):
            raise self.error(key, 'write a text')
        if choices is not None and value not in choices:
            raise self.error(key, f'expected {closest(value, tuple(choices))}')
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of texts without repetition, one or more."""
        value = self.raw(key)
        if not isinstance(value, list | tuple) or not all(isinstance(x, str) for x in value):
            raise self.error(key, 'write a list of names')
        if len(set(value)) != len(value):
            raise self.error(key, 'a name stands twice')
        if not value:
            raise self.error(key, 'write at least one name')
        return tuple(value)

    def section(self, key: str) -> Section:
        """Return the mapping under a key."""
        if key not in self:
            raise self._missing(key)
        return self.optional(key)

    def optional(self, key: str) -> Section:
        """Return the mapping under a key; where it is missing, an empty one."""
        self._asked.append(key)
        return Section(self._data.get(key, {}), self._at(key), self.file, self.origins)

    def sections(self, key: str, default: Any = _REQUIRED) -> list[Section]:
        """Return the list of mappings under a key."""
        value = self.raw(key, default)
        if not isinstance(value, list | tuple):
            raise self.error(key, 'write a list')
        return [
            Section(item, f'{self._at(key)}[{i}]', self.file, self.origins)
            for i, item in enumerate(value)
        ]

    def each(
        self, key: str, read: Callable[[Section], Read], default: Any = _REQUIRED
    ) -> list[Read]:
        """Return what a reader makes of every mapping in a list, keys that it leaves refused."""
        found = []
        for item in self.sections(key, default):
            with item:
                found.append(read(item))
        return found

    def _require(self, key: str, si_unit: str, size: int) -> None:
        """Refuse a file without numbers that must stand there, saying what to write."""
        if key not in self._data:
            units = ', '.join(quantity.units_of(si_unit))
            unit = '' if si_unit == '1' else f' with a unit ({units})'
            raise self._missing(key, f'; write {size} number{"s" * (size > 1)}{unit}')

    def _missing(self, key: str, hint: str = '') -> RobotFileError:
        """Make the error for a key that must stand there; a misspelt one is named."""
        others = [k for k in self._data if k not in self._asked]
        near = difflib.get_close_matches(key, others, n=1, cutoff=ALIKE)
        if near:
            hint = f'; is {near[0]!r} meant to be it?'
        return RobotFileError(self._at(key), None, f'required, but missing{hint}', self.file)

    def _at(self, key: str) -> str:
        return f'{self.path}.{key}' if self.path else key

    def _parse(
        self, key: str, value: Any, si_unit: str, size: int, place: str = ''
    ) -> tuple[float, ...]:
        try:
            return quantity.parse(value, si_unit, size)
        except quantity.QuantityError as error:
            raise self.error(key, f'{place}{error}') from None

    def _check_range(
        self, key: str, number: float, unit: str, minimum: float, maximum: float, positive: bool
    ) -> None:
        suffix = '' if unit == '1' else f' {unit}'
        if positive and not number > 0.0:
            raise self.error(key, 'must be greater than zero')
        if not number >= minimum:
            raise self.error(key, f'must be at least {minimum:g}{suffix}')
        if not number <= maximum:
            raise self.error(key, f'must be at most {maximum:g}{suffix}')

    def _with_origin(self, key: str, value: dict[str, Any]) -> Any:
        extra = set(value) - {'value', 'source', 'note'}
        if extra:
            name = min(extra, key=shown)
            path = f'{self._at(key)}.{name if isinstance(name, str) else shown(name)}'
            raise UnknownKey(
                path, value[name], 'unknown key; expected value, source, note', self.file
            )
        source = value.get('source', 'unstated')
        if source not in SOURCES:
            path = f'{self._at(key)}.source'
            expected = f'expected {closest(shown(source), SOURCES)}'
            raise RobotFileError(path, source, expected, self.file)
        note = value.get('note', '')
        text = note if isinstance(note, str) else shown(note)
        self.origins.append(Provenance(self._at(key), source, text))
        return value['value']
