# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The load at the tip and the gains of drives that would explain what a tracker sees.

An extended Kalman filter: a force f at the tip that nobody measures and gains g of the drives,
random walks, are seen as

    measured tip = model(rest + (1 + g) (actuation - rest), known wrench + f) + noise,

so that both are found while the tip moves, and no delay counts. Most of what may be wrong with
gains is the same for all drives: softer material than was told. Walks are such that the
direction of the tip that each moves most follows at a given rate, others more slowly. Both begin
with less than is not known. What is seen of a swing is noise: its speed over the frequency.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.robot import Robot

NOISE = 5e-4  # m (assumed), of the tracker and of what neither explains
GAIN = 0.2  # (assumed) deviation of what all drives share of their gains, before
FIRST = 0.3  # (assumed) of these, with which gains begin
OWN = 0.25  # (assumed) of a drive by itself, of that
LARGEST = 0.5  # (assumed): no gain is believed in beyond
CALMS = 0.5  # s (assumed), in which a swing that was seen counts less by e


class TipDisturbance:
    """The filter of one robot, in whichever of its models.

    `longest`: no force is believed in that would move the tip farther [m]. `swing`: 1 / (2 pi f)
    of the lowest mode [s], zero without any. `force` (3,) [N], axes of base_link; `gain` (m,),
    zero where the model is right; `covariance` (3, 3) of the force [N^2], None: nothing was seen.
    `seen`: where the body was last, with what is estimated.
    """

    def __init__(self, robot: Robot, longest: float, swing: float = 0.0) -> None:
        self._longest, self._slowness = longest, swing
        self._rest = robot.description.rest
        self._half = 0.5 * (robot.limits[:, 1] - robot.limits[:, 0])
        count = len(self._rest)
        self._forces = np.diag([1.0] * 3 + [0.0] * count)  # what is alike of forces, of gains
        self._gains = np.zeros_like(self._forces)
        self._gains[3:, 3:] = 1.0 + OWN**2 * np.eye(count)
        self.reset()

    def reset(self) -> None:
        """Forget what was seen."""
        self.seen: Configuration | None = None
        self.force: Array = np.zeros(3)
        self.gain: Array | float = 0.0
        self.covariance: Array | None = None
        self._away: Array = np.zeros(3)  # of the tip, last
        self._swing = 0.0  # m, that may be in what is seen

    def loaded(self, robot: Robot, actuation: Array, known: Configuration) -> Configuration:
        """Return the equilibrium at an actuation (m,) with gains, wrench of `known` and force.

        Its own actuation is the one felt. Raises SoroError: there is none, or it is not found.
        """
        felt = actuation + self.gain * (actuation - self._rest)
        q = robot.forward(felt, known.wrench + [*self.force, 0.0, 0.0, 0.0], known)
        if not q.status.converged:
            raise InvalidInput('force', self.force.tolist(), 'one that leaves an equilibrium')
        return q

    def see(
        self, robot: Robot, known: Configuration, tip: Array, seconds: float, rate: float
    ) -> Array:
        """Take a measured tip (3,) [m], `seconds` after the last; `rate` [1/s] of the filter.

        `known`: where the tip would be at the moment it was measured, under all known loads.
        Returns what more of the tip's place (3,) [m] is explained. Raises as `loaded`.
        """
        q = self.seen = self.loaded(robot, known.actuation, known)
        soft, rows = robot.compliance(q)[:3, :3], robot.jacobian(q)[:3]
        forces, gains, half = self._forces, self._gains, rows * self._half
        reach = float(np.linalg.norm(half @ gains[3:, 3:] @ half.T, 2)) ** 0.5
        softest = float(np.linalg.norm(soft, 2))
        if not (softest > 0.0 and reach > 0.0):
            return np.zeros(3)
        slope = np.hstack([soft, rows * (known.actuation - self._rest)])
        away, gained = tip - q.tip[:3, 3], min(rate * seconds, 1.0)
        unit = (NOISE / softest) ** 2 * forces + (NOISE / reach) ** 2 * gains
        if self.covariance is None:  # whatever is believed in; gains of the filter by less
            self._whole = (self._longest / softest) ** 2 * forces + GAIN**2 * gains
            self._design = (NOISE / softest) ** 2 * forces + (FIRST * GAIN) ** 2 * gains
            self.gain, self._away = np.zeros_like(self._rest), away
        design = self._design + gained**2 * unit
        speed, self._away = float(np.linalg.norm(away - self._away)) / seconds, away
        self._swing = max(self._slowness * speed, self._swing * math.exp(-seconds / CALMS))
        noise = NOISE**2 + self._swing**2
        gain = design @ slope.T @ np.linalg.inv(slope @ design @ slope.T + noise * np.eye(3))
        kept = np.eye(len(design)) - gain @ slope
        self._design = kept @ design
        self._whole = kept @ (self._whole + gained**2 * unit) @ kept.T
        self._whole += noise * gain @ gain.T  # of these gains (Joseph), whatever came first
        self.covariance = self._whole[:3, :3]
        change = gain @ away
        load, more = self.force + change[:3], np.clip(self.gain + change[3:], -LARGEST, LARGEST)
        load *= min(1.0, self._longest / max(float(np.linalg.norm(soft @ load)), 1e-300))
        explained: Array = slope @ np.concatenate([load - self.force, more - self.gain])
        self.force, self.gain = load, more
        return explained
