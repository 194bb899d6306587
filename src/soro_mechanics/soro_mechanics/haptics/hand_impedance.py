# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Hands on the handle of a haptic device: mass, damping and stiffness, all assumed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array


@dataclass(frozen=True, eq=False)
class HandImpedance:
    """A hand on the handle: mass, damping and stiffness in the five directions, all assumed."""

    name: str
    mass: Array  #: (5,) [kg, kg m^2]
    damping: Array  #: (5,) [N s/m, N m s/rad]
    stiffness: Array  #: (5,) [N/m, N m/rad]


def hand(name: str, mass: float, damping: float, stiffness: float) -> HandImpedance:
    """Return a hand that is alike in all translations; turns with the lever of a grip, 6 cm."""
    lever = np.array([1.0, 1.0, 1.0, 0.06**2, 0.06**2])
    return HandImpedance(name, mass * lever, damping * lever, stiffness * lever)


# Orders of magnitude of what is published about fingers and hands that hold a handle.
NO_HAND = hand('nobody', 0.0, 0.0, 0.0)
FINGERTIP = hand('fingertip', 0.01, 1.0, 50.0)
LIGHT_GRIP = hand('light grip', 0.05, 3.0, 200.0)
FIRM_GRIP = hand('firm grip', 0.15, 8.0, 800.0)
HANDS = {'none': NO_HAND, 'fingertip': FINGERTIP, 'light_grip': LIGHT_GRIP, 'firm_grip': FIRM_GRIP}
