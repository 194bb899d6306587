# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Limits of the actuators of a network, in what they drive, as rows of quadratic programs."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.drive_values import actuation_of, driven_ranges
from soro_mechanics.models.network.layout import Layout
from soro_mechanics.numerics.qp import solve_qp
from soro_mechanics.numerics.qp_kernels import OPTIMAL
from soro_mechanics.robot_file.reader import RobotDescription

LIMIT_SLACK = 1e-9  # in parts of a range: round-off of a step that ends on a limit
MAX_ROUNDS = 40  # towards coupled limits, which curves bend


class DrivenLimits:
    """Limits of driven values: `low` to `high`, and those that couple several actuators."""

    def __init__(self, description: RobotDescription, layout: Layout) -> None:
        self.description = description
        self.drives = layout.spec.drives
        limits = description.minimum, description.maximum
        self.limits = np.column_stack(limits)
        ends = [driven_ranges(self.drives, x)[0] for x in limits]
        self.low, self.high = np.minimum(*ends), np.maximum(*ends)
        self.range = self.high - self.low
        slack = LIMIT_SLACK * self.range
        self.least, self.most = self.low - slack, self.high + slack
        self.coupled = list(description.coupled_limits)

    def bounds(self, driven: Array) -> tuple[Array, Array, Array]:
        """Return c, low, high of the limits on a step, in parts of the ranges.

        A coupled limit holds for the actuation; along a curve it is linearised.
        """
        c = [np.eye(len(driven))]
        low, high = [(self.low - driven) / self.range], [(self.high - driven) / self.range]
        if self.coupled:
            actuation = actuation_of(self.drives, driven, self.limits)
            ranges = self.range / driven_ranges(self.drives, actuation)[1]
        for limit in self.coupled:
            weights = limit.coefficients * ranges
            size = float(np.abs(weights).max())
            c.append(weights[None] / size)
            low.append(np.array([-np.inf]))
            high.append(np.array([(limit.maximum - limit.coefficients @ actuation) / size]))
        return np.concatenate(c), np.concatenate(low), np.concatenate(high)

    def allowed(self, driven: Array) -> bool:
        """Whether driven values keep every limit."""
        ends = zip(self.least.tolist(), driven.tolist(), self.most.tolist(), strict=True)
        if not all(least <= value <= most for least, value, most in ends):
            return False
        actuation = actuation_of(self.drives, driven, self.limits) if self.coupled else driven
        inside = all(x.coefficients @ actuation <= x.maximum for x in self.coupled)
        return inside or _kept(*self.bounds(driven)[1:])

    def projected(self, driven: Array) -> Array | None:
        """Return the nearest driven values that keep every limit; None where none are found."""
        for _ in range(MAX_ROUNDS):
            c, low, high = self.bounds(driven)
            if _kept(low, high):
                return driven
            status, y, _ = solve_qp(np.eye(len(driven)), np.zeros(len(driven)), c, low, high)
            if status != OPTIMAL:
                return None
            driven = driven + y * self.range
        return None


def _kept(low: Array, high: Array) -> bool:
    return bool(np.all(low <= LIMIT_SLACK) and np.all(high >= -LIMIT_SLACK))
