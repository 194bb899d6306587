# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The way to a solution in increments, counted outside the kernels, which stay small so."""

from __future__ import annotations

from typing import NamedTuple

FAILURE = 'no equilibrium found; try a nearer guess or smaller loads'


class Outcome(NamedTuple):
    """How a sequence of solves ended."""

    converged: bool
    iterations: int
    residual: float
    negative: int

    def numbers(self, tolerance: float, seconds: float) -> tuple[int, float, float, float]:
        """Return what `status_of` tells; a residual that did not converge is none below."""
        least = 0.0 if self.converged else 2.0 * tolerance
        return self.iterations, max(self.residual, least), tolerance, seconds


class Steps:
    """Shares of the way still to go; halved on failure, doubled on success."""

    def __init__(self, halvings: int) -> None:
        self.done = 0.0
        self.part = 1.0
        self.left = halvings

    @property
    def goal(self) -> float:
        """Where to go next; exactly 1 at the end."""
        goal = self.done + self.part
        return 1.0 if goal > 1.0 - 1e-9 else goal

    def record(self, converged: bool) -> bool:
        """Note the outcome of a step; False when there were too many failures."""
        if converged:
            self.done, self.part = self.goal, 2.0 * self.part
            return True
        self.part *= 0.5
        self.left -= 1
        return self.left >= 0
