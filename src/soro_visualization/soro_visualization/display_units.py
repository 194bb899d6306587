# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Units people read on a slider: bar, mm, deg."""

from __future__ import annotations

import math

from soro_mechanics.core.actuators import Actuator

# SI unit -> (unit shown, its size in SI, decimals)
SHOWN: dict[str, tuple[str, float, int]] = {
    'Pa': ('bar', 1e5, 3),
    'm': ('mm', 1e-3, 2),
    'rad': ('deg', math.pi / 180.0, 2),
    '1': ('', 1.0, 4),
    '1/m': ('1/m', 1.0, 3),
    'N': ('N', 1.0, 2),
    'N m': ('N m', 1.0, 3),
}


def unit_of(actuator: Actuator) -> str:
    """Return the unit in which an actuator is shown."""
    return SHOWN[actuator.unit][0]


def size_of(actuator: Actuator) -> float:
    """Return the size of that unit in SI."""
    return SHOWN[actuator.unit][1]


def step_of(actuator: Actuator) -> float:
    """Return the smallest step of a slider, in the unit shown."""
    return float(10.0 ** -SHOWN[actuator.unit][2])


def shown(value: float, si_unit: str) -> str:
    """Return a value with the unit people read; a dash for what is not known."""
    unit, size, decimals = SHOWN[si_unit]
    if not math.isfinite(value):
        return f'- {unit}'.rstrip()
    return f'{value / size:.{decimals}f} {unit}'.rstrip()


def millimetres(position: object) -> str:
    """Return a position [m] as x, y, z in millimetres."""
    x, y, z = (1e3 * float(v) for v in position)  # type: ignore[attr-defined]
    return f'{x:.1f}, {y:.1f}, {z:.1f} mm'
