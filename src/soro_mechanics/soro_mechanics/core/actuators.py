# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuators, their limits, and limits that couple several of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.errors import closest
from soro_mechanics.robot_file.section import Section

LIMIT_SLACK = 1e-9  # relative to the range: round-off of a clamped command is not a violation

# Quantity -> (constant of soro_msgs/ActuatorCommand, SI unit, SI unit of its rate)
QUANTITIES: dict[str, tuple[int, str, str]] = {
    'pressure': (1, 'Pa', 'Pa/s'),
    'length': (2, 'm', 'm/s'),
    'angle': (3, 'rad', 'rad/s'),
    'stretch': (4, '1', '1/s'),
    'curvature': (5, '1/m', '1/m/s'),
    'force': (6, 'N', 'N/s'),
    'torque': (7, 'N m', 'N m/s'),
    'position': (8, 'm', 'm/s'),
    'rotation': (9, 'rad', 'rad/s'),
}
# What a model computes yet; of the others a robot file is refused.
COMPUTED = ('pressure', 'length', 'angle', 'stretch', 'curvature', 'force')


@dataclass(frozen=True)
class Actuator:
    """One commanded degree of freedom. Values in the SI unit of `quantity`."""

    name: str
    quantity: str
    minimum: float
    maximum: float
    rate: float
    rest: float

    @property
    def unit(self) -> str:
        """SI unit."""
        return QUANTITIES[self.quantity][1]

    @property
    def quantity_code(self) -> int:
        """Constant of soro_msgs/ActuatorCommand."""
        return QUANTITIES[self.quantity][0]


@dataclass(frozen=True, eq=False)
class CoupledLimit:
    """A linear limit ``coefficients @ actuation <= maximum`` on several actuators."""

    name: str
    coefficients: NDArray[np.float64]
    maximum: float


def limit_violations(
    actuators: Sequence[Actuator],
    coupled_limits: Sequence[CoupledLimit],
    values: Sequence[float] | NDArray[np.float64],
    coupled_only: bool = False,
    say: Callable[[float, str], str] = '{:g} {}'.format,
) -> list[str]:
    """Name every limit that an actuation exceeds; `say`: a value and its SI unit as text."""
    found = []
    for a, x in zip(
        () if coupled_only else actuators, () if coupled_only else values, strict=True
    ):
        slack = LIMIT_SLACK * (a.maximum - a.minimum)
        if x < a.minimum - slack:
            found.append(f'{a.name} below {say(a.minimum, a.unit)}')
        if x > a.maximum + slack:
            found.append(f'{a.name} above {say(a.maximum, a.unit)}')
    for c in coupled_limits:
        total = float(c.coefficients @ values)
        terms = [(w, a) for w, a in zip(c.coefficients.tolist(), actuators, strict=True) if w]
        size = sum(abs(weight) * (a.maximum - a.minimum) for weight, a in terms)
        if total > c.maximum + LIMIT_SLACK * max(abs(c.maximum), size):
            unit = terms[0][1].unit  # of all of them
            found.append(f'{c.name} = {say(total, unit)} above {say(c.maximum, unit)}')
    return found


def read_actuators(root: Section) -> tuple[Actuator, ...]:
    """Read the list ``actuators`` of a robot file."""
    actuators: list[Actuator] = []
    for item in root.sections('actuators'):
        with item:
            name = item.text('name')
            if not name.isidentifier():
                raise item.error('name', 'write letters, digits and _ only, a letter first')
            kind = item.text('quantity', choices=COMPUTED)
            _, unit, rate_unit = QUANTITIES[kind]
            low = item.quantity('minimum', unit)
            high = item.quantity('maximum', unit)
            if not high > low:
                raise item.error('maximum', f'must be greater than minimum ({low:g} {unit})')
            rate = item.quantity('rate', rate_unit, positive=True)
            start = min(max(0.0, low), high)
            rest = item.quantity('rest', unit, start, minimum=low, maximum=high)
        actuators.append(Actuator(name, kind, low, high, rate, rest))
    return tuple(actuators)


def read_coupled_limits(
    root: Section, actuators: tuple[Actuator, ...]
) -> tuple[CoupledLimit, ...]:
    """Read the optional list ``coupled_limits`` of a robot file."""
    names = [a.name for a in actuators]
    limits: list[CoupledLimit] = []
    for item in root.sections('coupled_limits', ()):
        with item:
            weights = np.zeros(len(names))
            unit = ''
            with item.section('coefficients') as table:
                for name in table.keys:
                    if name not in names:
                        known = closest(name, tuple(names))
                        raise table.error(name, f'not a drive; expected {known}')
                    weights[names.index(name)] = table.number(name)
                    this = actuators[names.index(name)].unit
                    if unit not in ('', this):
                        raise table.error(name, f'measured in {this}, the others in {unit}')
                    unit = this
            if not np.any(weights):
                raise item.error('coefficients', 'name at least one drive')
            maximum = item.quantity('maximum', unit)
            terms = [f'{w:g} {n}' for w, n in zip(weights, names, strict=True) if w]
            title = item.text('name', ' + '.join(terms))
        limits.append(CoupledLimit(title, weights, maximum))
    return tuple(limits)
