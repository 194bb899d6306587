# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of motors that turn as far, and pull as hard, to either side."""

import numpy as np

from soro_mechanics.analysis.polytope import MotorLimits
from soro_mechanics.core.configuration import Array


def symmetric_limits(angle: Array, torque: float | None) -> MotorLimits:
    """Return limits of +-`angle` [rad] and +-`torque` [N m] per motor (None: no limit)."""
    bound = np.full(np.shape(angle), np.inf if torque is None else torque)
    return MotorLimits(-bound, bound, -np.asarray(angle, float), np.asarray(angle, float))
