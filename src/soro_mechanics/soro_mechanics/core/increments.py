# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The way to a solution in increments, counted outside the kernels, which stay small so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

FAILURE = 'no equilibrium found; try a nearer guess or smaller loads'
State = TypeVar('State')


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


def advance(
    good: State, attempt: Callable[[State, float], tuple[State, Any]], halvings: int
) -> tuple[State, Outcome]:
    """Go from a state to a goal in shares of the way, halved on failure, doubled on success.

    `attempt` solves from a state for a share of the way, exactly 1 at the end; it returns a new
    state and what Newton's method says: (converged, iterations, residual, negative pivots).
    Returns the last good state; after more failures than `halvings` it is short of the goal.
    """
    done, part, total = 0.0, 1.0, 0
    while True:
        goal = done + part if done + part <= 1.0 - 1e-9 else 1.0
        trial, (converged, used, residual, negative) = attempt(good, goal)
        total += used
        if converged:
            good, done, part = trial, goal, 2.0 * part
        else:
            part *= 0.5
            halvings -= 1
        if done == 1.0 or halvings < 0:
            return good, Outcome(done == 1.0, total, residual, negative)
