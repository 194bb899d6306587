# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape of the emulated robot: a perturbed model behind hysteresis. The ground truth."""

from __future__ import annotations

import numpy as np

from soro_emulation.perturbation import BodyProperties, perturbed_robot
from soro_emulation.tendon_friction import TendonFriction
from soro_mechanics.actuator_models.hysteresis import hysteresis
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription


class EmulatedBody:
    """Computes the true configuration from what the actuators really do.

    `description`: the robot as its file describes it; `properties`: how the emulated one differs.
    """

    usual_law = 'play'  #: of the hysteresis, where the file names none

    def __init__(self, description: RobotDescription, properties: BodyProperties) -> None:
        self.robot: Robot = perturbed_robot(description, properties)
        span = np.array([a.maximum - a.minimum for a in description.actuators])
        rest = np.array([a.rest for a in description.actuators])
        law = properties.law or self.usual_law
        self._hysteresis = hysteresis(law, span, rest, properties.hysteresis)
        self.friction = TendonFriction(self.robot, properties.tendon_friction)
        self._last: Configuration | None = None
        self._wrench: Array = np.zeros(6)

    def set_wrench(self, wrench: Array) -> None:
        """Load the tip: (6,) force then moment, axes of base_link [N, N m]."""
        self._wrench = wrench.copy()

    def configuration(self, actuation: Array) -> Configuration:
        """Return the true configuration; the last good one starts the next solve."""
        felt = self.friction.felt(self._hysteresis.apply(actuation))
        q = self.robot.forward(felt, self._wrench, self._last)
        if q.status.converged:
            self._last = q
            self.friction.see(q)
        return q
