# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load at the tip and the errors of curves that would explain what a tracker sees.

An extended Kalman filter: a force f at the tip that nobody measures and gains g of the drives,
random walks, are seen as

    measured tip = model(rest + (1 + g) (actuation - rest), known wrench + f) + noise,

so that both are found while the tip moves, and no delay counts. Most of what may be wrong with
gains is the same for all drives: softer material than was told. Walks are such that the
direction of the tip that each moves most follows at a given rate, others more slowly. A force
begins with the covariance with which it stays, so that a swing at first does not count; gains
begin with all that is not known of them, for the motion to the first target tells them. What
is seen of a swing is noise: its speed over the frequency of the mode.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot

NOISE = 5e-4  # m (assumed), of the tracker and of what neither explains
GAIN = 0.2  # (assumed) deviation of what all drives share of their gains, before
OWN = 0.25  # (assumed) of a drive by itself, of that
LARGEST = 0.5  # (assumed): no gain is believed in beyond
CALMS = 0.5  # s (assumed), in which a swing that was seen counts less by e


class TipDisturbance:
    """The filter of one robot.

    `longest`: no force is believed in that would move the tip farther [m]. `force` (3,) [N], axes
    of base_link; `gain` (m,), zero where the model is right; `covariance` (3, 3) of the force
    [N^2], None: nothing was seen yet.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.force: Array = np.zeros(3)
        self._away: Array | None = None  # of the tip, last
        self._swing = 0.0  # m, that may be in what is seen
        self.gain: Array | float = 0.0
        self._covariance: Array | None = None
        self._design: Array = np.zeros((3, 3))

    @property
    def covariance(self) -> Array | None:
        """Return that of the force."""
        return None if self._covariance is None else self._covariance[:3, :3]

    def loaded(self, robot: Robot, actuation: Array, known: Configuration) -> Configuration:
        """Return the equilibrium at an actuation (m,) under the wrench of `known` and the force.

        Its own actuation is what the body feels with these gains. Raises SoroError: there is no
        equilibrium, as where it is not found.
        """
        felt = actuation + self.gain * (actuation - _rest(robot))
        q = robot.forward(felt, known.wrench + [*self.force, 0.0, 0.0, 0.0], known)
        if not q.status.converged:
            raise InvalidInput('force', self.force.tolist(), 'one that leaves an equilibrium')
        return q

    def see(
        self,
        robot: Robot,
        known: Configuration,
        tip: Array,
        seconds: float,
        rate: float,
        swing: float = 0.0,
    ) -> None:
        """Take a measured tip (3,) [m], `seconds` after the last; `rate` [1/s] of the filter.

        `known`: where the tip would be at the moment it was measured, under all known loads.
        `swing`: 1 / (2 pi f) of the lowest mode [s], zero without any. Raises as `loaded`.
        """
        q = self.loaded(robot, known.actuation, known)
        soft, rows = robot.compliance(q)[:3, :3], robot.jacobian(q)[:3]
        count = rows.shape[1]
        shared = np.ones((count, count)) + OWN**2 * np.eye(count)
        half = 0.5 * rows * (robot.limits[:, 1] - robot.limits[:, 0])
        reach = float(np.linalg.norm(half @ shared @ half.T, 2)) ** 0.5
        softest = float(np.linalg.norm(soft, 2))
        if not (softest > 0.0 and reach > 0.0):
            return
        slope = np.hstack([soft, rows * (known.actuation - _rest(robot))])
        gained, eye = min(rate * seconds, 1.0), np.eye(3 + count)
        unit = _blocks((NOISE / softest) ** 2, (NOISE / reach) ** 2 * shared)
        if self._covariance is None:  # whatever is believed in; gains begin as they stay
            self._covariance = _blocks((self._longest / softest) ** 2, GAIN**2 * shared)
            self._design = _blocks(gained * (NOISE / softest) ** 2, GAIN**2 * shared)
            self.gain = np.zeros(count)
        design = self._design + gained**2 * unit
        away = tip - q.tip[:3, 3]
        speed = 0.0 if self._away is None else float(np.linalg.norm(away - self._away)) / seconds
        self._away = away
        self._swing = max(swing * speed, self._swing * float(np.exp(-seconds / CALMS)))
        noise = NOISE**2 + self._swing**2
        gain = design @ slope.T @ np.linalg.inv(slope @ design @ slope.T + noise * np.eye(3))
        kept = eye - gain @ slope
        self._design = kept @ design
        covariance = kept @ (self._covariance + gained**2 * unit) @ kept.T
        # Of these gains (Joseph), whatever came first.
        self._covariance = covariance + noise * gain @ gain.T
        change = gain @ away
        force = self.force + change[:3]
        far = float(np.linalg.norm(soft @ force))
        self.force = force * min(1.0, self._longest / far) if far > 0.0 else force
        self.gain = np.clip(self.gain + change[3:], -LARGEST, LARGEST)


def _rest(robot: Robot) -> Array:
    return np.array([a.rest for a in robot.actuators])


def _blocks(force: float, gains: Array) -> Array:
    """Return (3 + m, 3 + m): a force's variance and gains' covariance (m, m)."""
    both = np.zeros((3 + len(gains), 3 + len(gains)))
    both[:3, :3], both[3:, 3:] = force * np.eye(3), gains
    return both
