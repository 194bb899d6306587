# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The shape of the emulated robot: a perturbed model behind hysteresis. The ground truth."""

from __future__ import annotations

import numpy as np

from soro_emulation.perturbation import BodyProperties, perturbed_robot
from soro_mechanics.actuator_models.capstan import Capstan, tendon_wraps
from soro_mechanics.actuator_models.hysteresis import hysteresis
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.models.network.drive_values import driven_ranges
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription


class TendonFriction:
    """What the tendons of a robot lose at its guides as it bends; without tendons nothing."""

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
        pull = np.where(self._held, driven_ranges(self._drives, actuation)[0], 0.0)
        return np.where(self._held, self._capstan.resist(effort, self._wrap, pull), effort)


class EmulatedBody:
    """Computes the true configuration from what the actuators really do.

    `description`: the robot as its file describes it; `properties`: how the emulated one differs.
    """

    usual_law = 'play'  #: of the hysteresis, where the file names none

    def __init__(self, description: RobotDescription, properties: BodyProperties) -> None:
        self.robot: Robot = perturbed_robot(description, properties)
        span = description.maximum - description.minimum
        rest = description.rest
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
