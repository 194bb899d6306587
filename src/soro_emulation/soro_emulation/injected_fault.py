# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults as they arrive on `~/inject_fault`: JSON text, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import json
import math
from typing import Any

from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code

EXAMPLE = '{"fault": "leak", "actuator": "pair_1", "rate": 20.0}'


def parse_fault(text: str) -> tuple[str, dict[str, Any]]:
    """Return the name of a fault and its values.

    InvalidInput: the text is not a JSON object with a text under 'fault'.
    """
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not isinstance(values.get('fault'), str):
        raise InvalidInput('inject_fault', text, f'JSON such as {EXAMPLE}')
    return values.pop('fault'), values


def finite(values: dict[str, Any], key: str, default: float) -> float:
    """Return a finite number out of the values."""
    value = values.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidInput(key, value, 'a finite number', Code.NOT_FINITE)
    return float(value)


def whole_number(values: dict[str, Any], key: str, default: int, most: int) -> int:
    """Return a whole number, 0 to `most`, out of the values."""
    value = finite(values, key, default)
    if not 0 <= value <= most or value != int(value):
        raise InvalidInput(key, value, f'a whole number, 0 to {most}')
    return int(value)


def choice(values: dict[str, Any], key: str, default: str, names: Iterable[str]) -> str:
    """Return one of the names out of the values."""
    value = values.get(key, default)
    known = tuple(names)
    if value not in known:
        raise UnknownName(key, str(value), known)
    return str(value)


def actuator_index(values: dict[str, Any], names: tuple[str, ...]) -> int:
    """Return the index of the actuator that is named (default: the first)."""
    return names.index(choice(values, 'actuator', names[0], names))


def block(axes: Sequence[Any], fault: str, values: dict[str, Any], names: tuple[str, ...]) -> None:
    """Have the axis of an actuator stand still ('blocked'), or none of them ('none')."""
    if fault == 'blocked':
        axes[actuator_index(values, names)].blocked = True
    for axis in axes if fault == 'none' else ():
        axis.blocked = False
