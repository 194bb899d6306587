# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Actuations that are sent although they were not planned are moved inside the limits first."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.robot import Robot


def nearest_feasible(robot: Robot, actuation: Array) -> Array:
    """Return an actuation (m,), measured or corrected, moved inside the limits that it exceeds.

    Each actuator is clamped to its range; where a coupled limit is still exceeded, all go
    together towards rest, as drivers do.
    """
    low, high = robot.limits.T
    inside = np.clip(actuation, low, high)
    rest = robot.description.rest
    for limit in robot.description.coupled_limits:
        total, at_rest = float(limit.coefficients @ inside), float(limit.coefficients @ rest)
        if total > limit.maximum:
            inside = rest + (inside - rest) * (limit.maximum - at_rest) / (total - at_rest)
    return inside
