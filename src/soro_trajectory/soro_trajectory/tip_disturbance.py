# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load at the tip that would explain what a tracker sees, with its covariance.

An extended Kalman filter: a force f at the tip that nobody measures, a random walk, is seen as

    measured tip = model(actuation at that moment, known wrench + f) + noise,

so that loads and errors of curves are found while the tip moves, and no delay counts. The walk is
such that the softest direction follows at a given rate, stiffer ones more slowly.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot

NOISE = 5e-4  # m (assumed), of the tracker and of what no force explains


class TipDisturbance:
    """The filter of one robot.

    `longest`: no force is believed in that would move the tip farther [m]. `force` (3,) [N], axes
    of base_link; `covariance` (3, 3) [N^2], None: nothing was seen yet.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.force: Array = np.zeros(3)
        self.covariance: Array | None = None
        self._design: Array = np.zeros((3, 3))

    def loaded(self, robot: Robot, actuation: Array, known: Configuration) -> Configuration:
        """Return the equilibrium at an actuation (m,) under the wrench of `known` and the force.

        Raises SoroError: there is none, as where it is not found.
        """
        q = robot.forward(actuation, known.wrench + [*self.force, 0.0, 0.0, 0.0], known)
        if not q.status.converged:
            raise InvalidInput('force', self.force.tolist(), 'one that leaves an equilibrium')
        return q

    def see(
        self, robot: Robot, known: Configuration, tip: Array, seconds: float, rate: float
    ) -> None:
        """Take a measured tip (3,) [m], `seconds` after the last; `rate` [1/s] of the filter.

        `known`: where the tip would be at the moment it was measured, under all known loads.
        Raises as `loaded`.
        """
        q = self.loaded(robot, known.actuation, known)
        slope = robot.compliance(q)[:3, :3]
        softest = float(np.linalg.norm(slope, 2))
        if not softest > 0.0:
            return
        gained, eye = min(rate * seconds, 1.0), np.eye(3)
        unit = (NOISE / softest) ** 2 * eye
        if self.covariance is None:  # any force that is believed in; gains begin as they stay
            self.covariance, self._design = (self._longest / softest) ** 2 * eye, gained * unit
        design = self._design + gained**2 * unit
        gain = design @ slope.T @ np.linalg.inv(slope @ design @ slope.T + NOISE**2 * eye)
        kept = eye - gain @ slope
        self._design = kept @ design
        self.covariance = kept @ (self.covariance + gained**2 * unit) @ kept.T
        self.covariance += NOISE**2 * gain @ gain.T  # of these gains (Joseph), whatever came first
        force = self.force + gain @ (tip - q.tip[:3, 3])
        far = float(np.linalg.norm(slope @ force))
        self.force = force * min(1.0, self._longest / far) if far > 0.0 else force
