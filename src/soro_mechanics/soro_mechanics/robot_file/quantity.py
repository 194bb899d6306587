# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Quantities as people write them: '40 mm', '1.5 bar', '0 0 -9.81 m/s^2'.

A number with a dimension always carries its unit in a robot file, so that a wrong unit is an
error and never a factor of a thousand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
import math
import re

# Unit as written -> (SI unit it stands for, factor). Equal SI text means equal dimension.
UNITS: dict[str, tuple[str, float]] = {
    '%': ('1', 0.01),
    'm': ('m', 1.0), 'cm': ('m', 1e-2), 'mm': ('m', 1e-3), 'um': ('m', 1e-6),
    'm^2': ('m^2', 1.0), 'cm^2': ('m^2', 1e-4), 'mm^2': ('m^2', 1e-6),
    'm^4': ('m^4', 1.0), 'mm^4': ('m^4', 1e-12),
    '1/m': ('1/m', 1.0), '1/mm': ('1/m', 1e3),
    'rad': ('rad', 1.0), 'mrad': ('rad', 1e-3), 'deg': ('rad', math.pi / 180.0),
    'rad/s': ('rad/s', 1.0), 'deg/s': ('rad/s', math.pi / 180.0),
    'm/s': ('m/s', 1.0), 'cm/s': ('m/s', 1e-2), 'mm/s': ('m/s', 1e-3),
    'm/s^2': ('m/s^2', 1.0),
    '1/s': ('1/s', 1.0), 'Hz': ('1/s', 1.0), 'kHz': ('1/s', 1e3),
    '1/m/s': ('1/m/s', 1.0),
    's': ('s', 1.0), 'ms': ('s', 1e-3), 'us': ('s', 1e-6),
    'kg': ('kg', 1.0), 'g': ('kg', 1e-3),
    'kg/m': ('kg/m', 1.0), 'g/m': ('kg/m', 1e-3),
    'kg/m^3': ('kg/m^3', 1.0), 'g/cm^3': ('kg/m^3', 1e3),
    'kg m^2': ('kg m^2', 1.0), 'kg cm^2': ('kg m^2', 1e-4), 'kg mm^2': ('kg m^2', 1e-6),
    'g cm^2': ('kg m^2', 1e-7), 'g mm^2': ('kg m^2', 1e-9),
    'N': ('N', 1.0), 'mN': ('N', 1e-3), 'kN': ('N', 1e3),
    'N/s': ('N/s', 1.0),
    'N m': ('N m', 1.0), 'mN m': ('N m', 1e-3), 'N mm': ('N m', 1e-3),
    'N m^2': ('N m^2', 1.0), 'N mm^2': ('N m^2', 1e-6),
    'N/m': ('N/m', 1.0), 'N/cm': ('N/m', 1e2), 'N/mm': ('N/m', 1e3),
    'N m/s': ('N m/s', 1.0), 'N s/m': ('N s/m', 1.0), 'N m/rad': ('N m/rad', 1.0),
    'N m s/rad': ('N m s/rad', 1.0),
    'Pa': ('Pa', 1.0), 'kPa': ('Pa', 1e3), 'MPa': ('Pa', 1e6), 'GPa': ('Pa', 1e9),
    'bar': ('Pa', 1e5), 'mbar': ('Pa', 1e2),
    'Pa/s': ('Pa/s', 1.0), 'kPa/s': ('Pa/s', 1e3), 'bar/s': ('Pa/s', 1e5),
    '1/Pa': ('1/Pa', 1.0), '1/kPa': ('1/Pa', 1e-3), '1/bar': ('1/Pa', 1e-5),
    'm^3': ('m^3', 1.0), 'l': ('m^3', 1e-3), 'ml': ('m^3', 1e-6),
    'm^3/(s Pa)': ('m^3/(s Pa)', 1.0), 'l/(s bar)': ('m^3/(s Pa)', 1e-8),
    'V': ('V', 1.0), 'mV': ('V', 1e-3), 'A': ('A', 1.0),
    'Pa/V': ('Pa/V', 1.0), 'kPa/V': ('Pa/V', 1e3), 'bar/V': ('Pa/V', 1e5),
}  # fmt: skip

LARGEST = 1e30  # in SI: nothing is, and its fourth power is still a number
COMMA = 'numbers have a point and no comma, and blanks between them'
LONGEST = 4000  # characters of a quantity: the pattern below takes time in their square

# Not followed by a slash: the 1 of '1/m' belongs to the unit.
NUMBER = r'[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\d/])|(?i:nan|inf(?:inity)?)\b)'
_QUANTITY = re.compile(rf'\s*((?:{NUMBER}\s+)*{NUMBER})\s*(.*?)\s*')


class QuantityError(ValueError):
    """The text is not a quantity of the wanted dimension; the message says what to write."""


def written(value: object) -> str:
    """Return a scalar as text. Raises ValueError where no quantity is that long."""
    text = str(value)  # a whole number of some thousand digits has none
    if len(text) > LONGEST:
        raise ValueError(f'{len(text)} characters are too long for a quantity')
    return text


def count(text: object) -> int:
    """Return how many numbers stand before a unit; at least 1."""
    try:
        match = _QUANTITY.fullmatch(written(text))
    except ValueError:
        return 1
    return 1 if match is None else len(match.group(1).split())


def changed(text: object, change: Callable[[float], str]) -> str:
    """Return a quantity with other numbers before its unit, which may hold digits too (mm^2).

    Raises QuantityError: no text that begins with a number.
    """
    head = re.match(rf'(?:\s*{NUMBER})+', text) if isinstance(text, str) else None
    if head is None:
        raise QuantityError('no number stands here')
    return re.sub(NUMBER, lambda m: change(float(m[0])), head[0]) + head.string[head.end() :]


@cache
def units_of(si_unit: str) -> tuple[str, ...]:
    """Return every unit a person may write for a dimension, the SI unit first."""
    names = [name for name, (si, _) in UNITS.items() if si == si_unit]
    return (*[n for n in names if n == si_unit], *[n for n in names if n != si_unit])


def parse(text: object, si_unit: str, size: int = 1) -> tuple[float, ...]:
    """Read `size` numbers with a unit of the dimension of `si_unit` ('1': none), in SI.

    Raises QuantityError: with a message that says what to write.
    """
    wanted = _wanted(si_unit, size)
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        raise QuantityError(f'write {wanted}')
    try:
        match = _QUANTITY.fullmatch(written(text))
    except ValueError as error:
        raise QuantityError(f'{error}; write {wanted}') from None
    if isinstance(text, str) and ',' in text:
        raise QuantityError(f'{COMMA}; write {wanted}')
    if match is None:
        raise QuantityError(f'write {wanted}')
    if word := re.search('nan|inf', match.group(1), re.IGNORECASE):
        raise QuantityError(f'not a finite number: {word[0]}; write {wanted}')
    numbers = [float(x) for x in match.group(1).split()]
    unit = re.sub(r'\s+', ' ', match.group(2))
    if len(numbers) != size:
        raise QuantityError(f'{len(numbers)} numbers given; write {wanted}')
    if si_unit == '1' and unit == '':
        return _finite(numbers, wanted)
    if unit == '':
        raise QuantityError(f'the unit is missing; write {wanted}')
    if unit not in UNITS:
        raise QuantityError(f'unknown unit {unit!r}; write {wanted}')
    dimension, factor = UNITS[unit]
    if dimension != si_unit:
        raise QuantityError(f'{unit!r} measures another dimension ({dimension}); write {wanted}')
    return _finite([x * factor for x in numbers], wanted)


@cache
def _wanted(si_unit: str, size: int) -> str:
    wanted = f'{size} number{"s" * (size > 1)}'
    if si_unit == '1':
        return wanted
    units, example = units_of(si_unit), ' '.join(['0'] * (size - 1) + ['1'])
    return f'{wanted} with a unit ({", ".join(units)}), for example {example} {units[0]}'


def _finite(numbers: list[float], wanted: str) -> tuple[float, ...]:
    if not all(math.isfinite(x) for x in numbers):
        raise QuantityError(f'not a finite number; write {wanted}')
    if any(abs(x) > LARGEST for x in numbers):
        raise QuantityError(f'larger than {LARGEST:g} in SI units; write {wanted}')
    return tuple(numbers)
