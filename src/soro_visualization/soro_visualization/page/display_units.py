# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Units people read on a slider: bar, mm, deg."""

from __future__ import annotations

import math

from soro_mechanics.core.actuators import Actuator
from soro_node.display_units import SHOWN

# Decimals of a value in the unit that people read.
DECIMALS = {'Pa': 3, 'm': 2, 'rad': 2, '1': 4, '1/m': 3, 'N': 2, 'N m': 3}


def unit_of(actuator: Actuator) -> str:
    """Return the unit in which an actuator is shown."""
    return SHOWN[actuator.unit][0]


def size_of(actuator: Actuator) -> float:
    """Return the size of that unit in SI."""
    return SHOWN[actuator.unit][1]


def step_of(actuator: Actuator) -> float:
    """Return the smallest step of a slider, in the unit shown."""
    return 10.0 ** -DECIMALS[actuator.unit]


def shown(value: float, si_unit: str) -> str:
    """Return a value with the unit people read; a dash for what is not known."""
    unit, size = SHOWN[si_unit]
    if not math.isfinite(value):
        return f'- {unit}'.rstrip()
    return f'{value / size:.{DECIMALS[si_unit]}f} {unit}'.rstrip()


def millimetres(position: object) -> str:
    """Return a position [m] as x, y, z in millimetres."""
    x, y, z = (1e3 * float(v) for v in position)  # type: ignore[attr-defined]
    return f'{x:.1f}, {y:.1f}, {z:.1f} mm'
