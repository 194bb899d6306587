# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the tendons of an emulated robot lose at its guides as it bends."""

from __future__ import annotations

import numpy as np

from soro_mechanics.actuator_models.capstan import Capstan, tendon_wraps
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.models.network.drive_values import driven_ranges
from soro_mechanics.robot import Robot


class TendonFriction:
    """Of a robot and a coefficient; of one without tendons nothing."""

    def __init__(self, robot: Robot, friction: float) -> None:
        drives = getattr(getattr(robot.model_object, 'spec', None), 'drives', ())
        count, self._drives = len(robot.actuators), drives
        self._pulled, self._held = (
            np.isin(range(count), [d.actuator for d in drives if d.kind == kind])
            for kind in ('tension', 'tendon')
        )
        self._capstan, self._wrap = Capstan(friction, np.zeros(count)), np.zeros(count)

    def see(self, q: Configuration) -> None:
        """Take where the robot is."""
        if self._pulled.any() or self._held.any():
            self._wrap = tendon_wraps(self._drives, q)

    def felt(self, actuation: Array) -> Array:
        """Return what of an actuation (m,) comes through."""
        if not self._pulled.any():
            return actuation
        passed = self._capstan.apply(actuation, self._wrap)
        return np.where(self._pulled, passed, actuation)

    def borne(self, effort: Array, actuation: Array) -> Array:
        """Return what actuators bear (m,) that hold the tendons' other ends with `effort`."""
        if not self._held.any():
            return effort
        pull = np.where(self._held, driven_ranges(self._drives, actuation), 0.0)
        return np.where(self._held, self._capstan.resist(effort, self._wrap, pull), effort)
