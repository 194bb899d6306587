# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One declared table of parameters per node: types, units, limits, and the documentation.

A table is a list of `Parameter`. `ParameterTable` declares it with descriptors, refuses wrong
values before they are set, hands accepted ones to the node after they are set, and is the one
place where the node reads them. The docs render the same list.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
import json
import math
import re
import threading
from typing import Any

import numpy as np
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rcl_interfaces.msg import Parameter as ParameterMessage
from rclpy.exceptions import InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from soro_mechanics.core.errors import closest, InvalidInput, SoroError
from soro_mechanics.core.status import Code

EXPONENT = re.compile(r'[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+')
T = RosParameter.Type  # what may be written as another one:
KINDS = {T.DOUBLE: 'float', T.DOUBLE_ARRAY: 'float[]', T.STRING_ARRAY: 'str[]'}
TYPES = ('bool', 'int', 'float', 'str', 'float[]', 'str[]')


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node."""

    name: str
    #: its type is the parameter's type; an empty list is
    #: a list of float
    default: Any
    unit: str  #: SI unit; empty where there is none
    description: str  #: one line for people
    read_only: bool = False  #: only settable at start
    #: minimum, maximum: Inclusive; of every element of a list. NaN is always refused.
    minimum: float | None = None
    maximum: float | None = None
    choices: Sequence[str] | None = None
    sizes: Sequence[int] | None = None  #: allowed lengths of a list

    @property
    def type(self) -> str:
        """One of `TYPES`."""
        if isinstance(self.default, list | tuple):
            return 'str[]' if self.default and isinstance(self.default[0], str) else 'float[]'
        return type(self.default).__name__

    def checked(self, value: Any) -> Any:
        """Return the value in the parameter's type, or raise InvalidInput saying what is expected.

        A whole number is accepted where a float is expected: YAML and launch files write 50 for
        50.0, and a node must not die of that.
        """
        kind = self.type
        if kind.endswith('[]'):
            if isinstance(value, str | bytes) or not hasattr(value, '__len__'):
                raise self._refused(value)
            if self.sizes is not None and len(value) not in self.sizes:
                sizes = ' or '.join(str(n) for n in self.sizes)
                expected = f'a list of {sizes} elements'
                raise InvalidInput(self.name, list(value), expected, Code.INVALID_SIZE)
            return [self._element(x, kind[:-2]) for x in value]
        return self._element(value, kind)

    def _element(self, value: Any, kind: str) -> Any:
        if kind == 'float' and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value).__name__ != kind:
            raise self._refused(value)
        if kind == 'float' and not math.isfinite(value):
            raise InvalidInput(self.name, value, 'a finite number', Code.NOT_FINITE)
        if self.choices is not None and value not in self.choices:
            raise InvalidInput(self.name, value, closest(str(value), tuple(self.choices)))
        below = self.minimum is not None and value < self.minimum
        above = self.maximum is not None and value > self.maximum
        if below or above:
            raise InvalidInput(self.name, value, f'a value in {self.range_text}')
        return value

    def _refused(self, value: Any) -> InvalidInput:
        return InvalidInput(self.name, value, f'a value of type {self.type}')

    @property
    def range_text(self) -> str:
        """The allowed values as people read them; empty when everything is allowed."""
        if self.choices is not None:
            return ', '.join(str(c) if c != '' else '(empty)' for c in self.choices)
        if self.minimum is None and self.maximum is None:
            return ''
        low = '(-inf' if self.minimum is None else f'[{self.minimum:g}'
        high = 'inf)' if self.maximum is None else f'{self.maximum:g}]'
        return f'{low}, {high}'

    def descriptor(self) -> ParameterDescriptor:
        """Return what `ros2 param describe` shows."""
        text = f'{self.description} [{self.unit}]' if self.unit else self.description
        # Dynamic typing: the type is checked in `checked`, which accepts 50 for 50.0.
        descriptor = ParameterDescriptor(
            name=self.name,
            description=text,
            read_only=self.read_only,
            dynamic_typing=True,
            additional_constraints=self.range_text,
        )
        if self.minimum is None and self.maximum is None:
            return descriptor
        if self.type == 'float':
            low = -math.inf if self.minimum is None else float(self.minimum)
            high = math.inf if self.maximum is None else float(self.maximum)
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
        elif self.type == 'int':
            low_int = -(2**63) if self.minimum is None else int(self.minimum)
            high_int = 2**63 - 1 if self.maximum is None else int(self.maximum)
            limits = IntegerRange(from_value=low_int, to_value=high_int, step=1)
            descriptor.integer_range = [limits]
        return descriptor


fixed = partial(Parameter, read_only=True)  #: a parameter that is set at start only


class ParameterTable:
    """The parameters of one node: declared, validated, readable as attributes or by key.

    - `validate`: called with the complete table of values as it would become (dict); raises
      SoroError to refuse. For rules that couple parameters.
    - `apply`: called after a change with the set of names that changed. Not called at declaration.

    InvalidInput; SoroError: OUT_OF_RANGE: a value given at start (file, command line) is refused.
    """

    def __init__(
        self,
        node: Node,
        parameters: Iterable[Parameter],
        validate: Callable[[dict[str, Any]], None] = lambda values: None,
        apply: Callable[[set[str]], None] = lambda changed: None,
    ) -> None:
        self.parameters = {p.name: p for p in parameters}
        self._validate = validate
        self._apply = apply
        self._lock = threading.Lock()
        self._values: dict[str, Any] = {}
        for p in self.parameters.values():
            self._values[p.name] = p.checked(_declared_value(node, p))
        self._validate(dict(self._values))
        node.add_pre_set_parameters_callback(self._typed)
        node.add_on_set_parameters_callback(self._on_set)
        node.add_post_set_parameters_callback(self._on_post_set)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__['_values'][name]
        except KeyError:
            raise AttributeError(f'no parameter {name!r} in the table') from None

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def values(self) -> dict[str, Any]:
        """Return a copy of all values."""
        with self._lock:
            return dict(self._values)

    def _checked(self, parameters: Iterable[Any]) -> dict[str, Any]:
        """Return the values of those parameters that are ours; raise InvalidInput."""
        return {
            p.name: self.parameters[p.name].checked(p.value)
            for p in parameters
            if p.name in self.parameters
        }

    def _typed(self, parameters: list[Any]) -> list[Any]:
        """Return parameters in the types of the table, where their values can be meant so.

        `ros2 param load` takes 1e-05 for a text (YAML 1.1) and an empty list for one of bytes.
        """
        return [
            _of_type(p, self.parameters[p.name].type) if p.name in self.parameters else p
            for p in parameters
        ]

    def _on_set(self, parameters: list[Any]) -> SetParametersResult:
        try:
            changed = self._checked(parameters)
            self._validate({**self._values, **changed})
        except SoroError as error:  # wrong, or not possible now
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _on_post_set(self, parameters: list[Any]) -> None:
        given = self._checked(parameters)
        with self._lock:
            changed = {k for k, v in given.items() if self._values[k] != v}
            self._values.update(given)
        if changed:
            self._apply(changed)


def has_value(node: Node, message: ParameterMessage) -> bool:
    """Whether a parameter has this value already, which then may be set at any time.

    `ros2 param load` sends everything that `ros2 param dump` wrote, also what is at start only.
    """
    given = RosParameter.from_parameter_msg(message)
    if not node.has_parameter(given.name):
        return False
    present = node.get_parameter(given.name)
    given = _of_type(given, KINDS.get(present.type_, ''))
    alike = given.type_ == present.type_ or not np.size(given.value)  # an empty list is of any
    return alike and np.array_equal(given.value, present.value)


def _of_type(given: RosParameter, kind: str) -> RosParameter:
    value = given.value
    if kind == 'float' and (number := _number(value)) is not None:
        return RosParameter(given.name, RosParameter.Type.DOUBLE, number)
    if kind == 'float[]' and isinstance(value, str):  # a list with such a text arrives as text
        with suppress(ValueError):
            value = json.loads(value)
    if kind == 'float[]' and isinstance(value, list | tuple | array):
        numbers = [_number(x) for x in value]
        if None not in numbers:
            return RosParameter(given.name, T.DOUBLE_ARRAY, numbers)
    if kind == 'str[]' and isinstance(value, list) and not value:
        return RosParameter(given.name, RosParameter.Type.STRING_ARRAY, [])
    return given


def _number(value: Any) -> float | None:
    """Return a number, also one that YAML 1.1 takes for a text; None for anything else."""
    if isinstance(value, str):
        return float(value) if EXPONENT.fullmatch(value) else None
    return float(value) if isinstance(value, int | float) and type(value) is not bool else None


def _declared_value(node: Node, parameter: Parameter) -> Any:
    try:
        declared = node.declare_parameter(
            parameter.name, parameter.default, parameter.descriptor()
        )
        typed = _of_type(declared, parameter.type)
        if typed.type_ != declared.type_ and not parameter.read_only:
            node.set_parameters([typed])  # an empty list is declared as one of bytes
        return declared.value
    except InvalidParameterValueException as error:
        # Refused by rclpy against the range in the descriptor, before we saw the value.
        raise SoroError(str(error), Code.OUT_OF_RANGE) from None
