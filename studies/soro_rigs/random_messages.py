# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Requests that nobody would send on purpose, for tests of nodes: nearly right, and nonsense."""

from __future__ import annotations

import copy
from importlib import import_module
import math
import re
from typing import Any

import numpy as np

NUMBERS = (
    0.0, -0.0, 1.0, -1.0, math.nan, math.inf, -math.inf, 1e-320, 1e308, -1e308, 1e-9, 0.05, 1e5,
)  # fmt: skip
LENGTHS = (0, 1, 2, 3, 4, 7, 100, 20_000)
TEXTS = ('', ' ', '/', '..', '~', '\n', 'x' * 20_000, 'ü', '%s', '{0}', 'pair_1', 'base_link')


class RandomMessages:
    """Changes messages at random.

    Parameters
    ----------
    names : sequence of str
        Names that exist: of actuators, models, frames.
    lengths : sequence of int
        Of sequences.
    """

    def __init__(
        self, seed: int, names: tuple[str, ...] = (), lengths: tuple[int, ...] = LENGTHS
    ) -> None:
        self._random = np.random.default_rng(seed)
        self._texts = (*TEXTS, *names)
        self._lengths = lengths

    def changed(self, message: Any) -> Any:
        """Return a copy of a message in which one to three fields have any value at all."""
        result = copy.deepcopy(message)
        for _ in range(int(self._random.integers(1, 4))):
            self._change_somewhere(result)
        return result

    def _change_somewhere(self, message: Any) -> None:
        kinds = message.get_fields_and_field_types()
        if not kinds:
            return  # nothing that could be wrong
        name = self._one(tuple(kinds))
        value = getattr(message, name)
        if hasattr(value, 'get_fields_and_field_types') and self._random.random() < 0.8:
            self._change_somewhere(value)
        elif (
            isinstance(value, list)
            and value
            and self._random.random() < 0.5
            and hasattr(value[0], 'get_fields_and_field_types')
        ):
            self._change_somewhere(self._one(value))
        else:
            setattr(message, name, self._any(kinds[name]))

    def _any(self, kind: str) -> Any:
        """Return any value of a field's type."""
        sequence = re.fullmatch(r'sequence<(.+?)(?:, (\d+))?>', kind)
        array = re.fullmatch(r'(.+)\[(\d+)\]', kind)
        if sequence or array:
            inner = (sequence or array).group(1)  # type: ignore[union-attr]
            length = int(array.group(2)) if array else self._one(self._lengths)
            # One value many times: what breaks by its length breaks by it alone.
            few = [self._any(inner) for _ in range(min(length, 5))]
            return [few[i % len(few)] for i in range(length)]
        if '/' in kind:
            return self._filled(_message(kind))
        if kind == 'octet':
            return bytes([self._random.integers(256)])
        if kind == 'boolean':
            return bool(self._random.integers(2))
        if kind in ('float', 'double'):
            value = self._one(NUMBERS)
            return float(np.clip(value, -3e38, 3e38)) if kind == 'float' else value
        if 'string' in kind:
            return self._one(self._texts)
        signed, bits = not kind.startswith('u'), int(re.sub(r'\D', '', kind))
        top = 2 ** (bits - signed) - 1
        return int(self._one((0, 1, 2, 3, top // 2, top, *((-1, -top - 1) if signed else ()))))

    def _filled(self, kind: Any) -> Any:
        message = kind()
        for name, inner in message.get_fields_and_field_types().items():
            if self._random.random() < 0.7:
                setattr(message, name, self._any(inner))
        return message

    def _one(self, choices: Any) -> Any:
        return choices[int(self._random.integers(len(choices)))]


def _message(kind: str) -> Any:
    package, _, name = kind.partition('/')
    return getattr(import_module(f'{package}.msg'), name)
