# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Sensing of a haptic device on the nonlinear model alone, to compare the loop's with."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.analysis.condensed_ports import CondensedPorts
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.sensing import Sensing, TipEstimate


class DeviceModel(Protocol):
    """What a mechanical model offers to the haptic loop."""

    def held(
        self, angle: Array, force: Array, guess: CondensedPorts | None
    ) -> CondensedPorts | None:
        """Solve with the motors held at `angle` and a hand force; None when not converged."""

    def reach(self, pose: Array, guess: CondensedPorts | None) -> CondensedPorts | None:
        """Solve for a pose without hand force, least actuator energy; None when unreachable."""


def sense_with_model(
    model: DeviceModel,
    sensing: Sensing,
    encoder: ArrayLike,
    sensor: ArrayLike,
    iterations: int = 5,
    tolerance: float = 1e-2,
) -> TipEstimate:
    """Estimate on the nonlinear model: solve, linearise at the solution, repeat.

    Gauss-Newton on (19); the last linearisation stays in `sensing`, so the next sample starts
    from it and one iteration suffices at loop rate. Code NOT_CONVERGED: it was not found.

    Parameters
    ----------
    tolerance : float
        Converged when the last change of every torque and force is below this share of its
        standard deviation: iterating further is below the noise.
    """
    estimate = sensing.estimate(encoder, sensor)
    for _ in range(iterations):
        if estimate.code is not Code.NONE:
            return estimate
        deviation = np.sqrt(np.diag(sensing.covariance))
        if np.all(np.abs(sensing.z) <= tolerance * deviation):
            return estimate
        ports = model.held(estimate.angle, sensing.force(), sensing.ports)
        if ports is None:
            return replace(estimate, code=Code.NOT_CONVERGED)
        sensing.linearise(ports)
        estimate = sensing.estimate(encoder, sensor)
    return replace(estimate, code=Code.NOT_CONVERGED) if iterations > 1 else estimate
