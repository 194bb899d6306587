# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of a haptic device's motors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array


@dataclass(frozen=True)
class MotorLimits:
    """Limits of the motors; infinite where there is none."""

    torque_minimum: Array  #: (na,) [N m]
    torque_maximum: Array  #: (na,) [N m]
    angle_minimum: Array  #: (na,) [rad]
    angle_maximum: Array  #: (na,) [rad]


def symmetric_limits(angle: Array, torque: float | None) -> MotorLimits:
    """Return limits of +-`angle` [rad] and +-`torque` [N m] per motor (None: no limit)."""
    bound = np.full(np.shape(angle), np.inf if torque is None else torque)
    return MotorLimits(-bound, bound, -np.asarray(angle, float), np.asarray(angle, float))
