# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Following a robot's measured actuation: each solve starts from the one before."""

from __future__ import annotations

import math

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot


class ConfigurationTracker:
    """Solves a stream of actuations with warm starts.

    `latest`: the last converged solution. `last`: what the last call returned, converged or not.
    `last_time`: solve time of the last call, both attempts together [s]; NaN before the first.
    `cold_starts`: how often a warm start failed and a cold one was tried.
    """

    def __init__(self, robot: Robot) -> None:
        self.robot = robot
        self.latest: Configuration | None = None
        self.last: Configuration | None = None
        self.last_time = math.nan
        self.cold_starts = 0

    def solve(self, actuation: Array, wrench: Array) -> Configuration:
        """Return the configuration under an actuation (m,) and a tip wrench (6,).

        A warm start may lead a jump astray, or follow a branch that the robot has left: one that
        does not converge, or whose equilibrium is unstable, is tried again cold. The caller looks
        at the status; only converged solutions become the next start.
        """
        q = self.robot.forward(actuation, wrench, self.latest)
        self.last_time = q.status.solve_time
        if self.latest is not None and q.status.code in (Code.NOT_CONVERGED, Code.UNSTABLE):
            self.cold_starts += 1
            cold = self.robot.forward(actuation, wrench)
            self.last_time += cold.status.solve_time
            if cold.status.code is Code.NONE or q.status.code is Code.NOT_CONVERGED:
                q = cold
        self.last = q
        if q.status.code is not Code.NOT_CONVERGED:
            self.latest = q
        return q
