# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the motors of a device with ports."""

from __future__ import annotations

from dataclasses import dataclass

from soro_mechanics.core.configuration import Array


@dataclass(frozen=True)
class MotorLimits:
    """Limits of the motors; infinite where there is none."""

    torque_minimum: Array  #: (na,) [N m]
    torque_maximum: Array  #: (na,) [N m]
    angle_minimum: Array  #: (na,) [rad]
    angle_maximum: Array  #: (na,) [rad]
