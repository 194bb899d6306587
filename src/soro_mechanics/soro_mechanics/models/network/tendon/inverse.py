# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse of a network with tendons whose lengths are held: sought by their tensions.

In the tensions the problem is smooth, a slack tendon is one at the limit zero, and the least
tension is the choice among many. The pulls follow from the shape, p = l0 + c T - l; their limits
are linearised at every step. A slack tendon is left just taut, or shorter where its limits say so.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array, Guess, LoadCase, Target
from soro_mechanics.inverse.task_error import sizes
from soro_mechanics.models.network.arrays import copy_state, Inputs, State
from soro_mechanics.models.network.drive_values import actuation_of, driven_ranges
from soro_mechanics.models.network.equilibrium import Outcome, Problem
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.models.network.inverse_statics.inverse_problem import InverseState, TOUCHING
from soro_mechanics.models.network.inverse_statics.least_energy import LeastEnergy

PULL_SLACK = 1e-6  # in parts of a range: what linearised limits leave


class TendonInverse(LeastEnergy):
    """One target for one network; driven values of held tendons are their tensions."""

    def __init__(self, model: ForwardNetwork, load: LoadCase, target: Target) -> None:
        super().__init__(model, load, target)
        tendons = self.layout.tendons
        self._rows = np.flatnonzero(tendons.held)
        self._held = held = tendons.actuators[self._rows]
        if any(limit.coefficients[held].any() for limit in self.coupled):
            raise model.unsupported(
                'coupled_limits', 'of tendons by length', 'the inverse keeps limits of each one'
            )
        self._shortest, self._longest = self.low[held], self.high[held]
        self._span = self.range[held]
        self.low[held], self.high[held] = 0.0, math.inf
        self.range[held] = self._span / (tendons.yielding + tendons.soft)[self._rows]
        self.least[held], self.most[held] = -1e-9 * self.range[held], math.inf
        self.middle[held] = 0.0
        self._measured: tuple[Array, Array, Array] | None = None

    def start(self, model: ForwardNetwork, guess: Guess) -> InverseState:
        """Return the guess or the rest, with all tendons let go and their tensions as driven."""
        actuation = model.rest if guess is None else guess.actuation
        actuation = np.clip(actuation, *self.limits.T)
        near = None
        if guess is not None and guess.state.equilibrium is self.equilibrium:
            near = (guess.state.problem, guess.state.state)
        outcome = self.equilibrium.solve(Problem(actuation, self.load), model.rest, near)
        driven, _ = driven_ranges(self.drives, actuation)
        driven[self._held] = self.layout.tendons.held_tensions(outcome.state)[self._rows]
        state = copy_state(outcome.state)
        state.tension[:] = 0.0
        return InverseState(driven, state, outcome.residual if outcome.converged else math.inf)

    def inputs(self, driven: Array) -> Inputs:
        """Return the kernels' inputs with all tendons pulled by tension."""
        x = super().inputs(driven)
        where = self.layout.tendons.where[self._rows]
        tension = x.tension + np.einsum('k,kpt->pt', driven[self._held], where)
        return x._replace(tension=tension, pull=np.tile([-np.inf, 0.0], (len(self._rows), 1)))

    def pulls(self, driven: Array, state: State) -> Array:
        """Return how far each tendon is pulled when it is just taut (h,) [m]."""
        tendons = self.layout.tendons
        free = (tendons.rest - tendons.lengths(state))[self._rows]
        return np.asarray(free + tendons.soft[self._rows] * driven[self._held])

    def measure(self, at: InverseState) -> None:
        """Linearise the pulls in the driven values."""
        tendons, m = self.layout.tendons, len(at.driven)
        rates = np.empty((len(self._rows), m + 1))
        for j in range(m + 1):
            da = np.zeros(m)
            da[j : j + 1] = 1.0  # the last one: the step of Newton's method alone
            self.follow(at, da, float(j == m))
            step = self.work.step_node[:, :, None]
            rates[:, j] = tendons.rates(self.work, step)[self._rows, 0]
        slope = -rates[:, :m]
        slope[:, self._held] += np.diag(tendons.soft[self._rows])
        pull = self.pulls(at.driven, at.state) - rates[:, m]
        self._measured = (at.driven.copy(), pull, slope)

    def bounds(self, driven: Array) -> tuple[Array, Array, Array]:
        """Return c, low, high of the limits on a step, in parts of the ranges."""
        c, low, high = super().bounds(driven)
        if self._measured is None or not self.limited:
            return c, low, high
        at, pull, slope = self._measured
        pull = pull + slope @ (driven - at)
        rows = slope * self.range / self._span[:, None]
        slack = driven[self._held] <= 0.0
        least = (self._shortest - pull) / self._span
        most = np.where(slack, math.inf, (self._longest - pull) / self._span)
        return np.vstack([c, rows]), np.append(low, least), np.append(high, most)

    def within(self, at: InverseState) -> bool:
        """Whether a point keeps every limit."""
        if not super().within(at):
            return False
        if not self.limited:
            return True
        pull, slack = self.pulls(at.driven, at.state), PULL_SLACK * self._span
        taut = at.driven[self._held] > 0.0
        kept = (pull >= self._shortest - slack) & ((pull <= self._longest + slack) | ~taut)
        return bool(kept.all())

    def actuation(self, at: InverseState) -> Array:
        """Return the actuation (m,), its pulls within their limits."""
        driven = at.driven.copy()
        pull = self.pulls(at.driven, at.state)
        driven[self._held] = np.clip(pull, self._shortest, self._longest)
        return actuation_of(self.drives, driven, self.limits)

    def outcome(self, at: InverseState, spent: int) -> tuple[Array, Outcome]:
        """Return actuation and solution of a point, solved again with the lengths held."""
        actuation, found = super().outcome(at, spent)
        if not found.converged:
            return actuation, found
        state = copy_state(at.state)
        tension = np.zeros(len(self.layout.tendons.held))
        tension[self._rows] = np.maximum(at.driven[self._held], 0.0)
        self.layout.tendons.put(state, tension)
        x = self.equilibrium.inputs(Problem(actuation, self.load))
        again = self.equilibrium.newton(x, state)
        at.task_error = sizes(self.lacking(again.state))
        at.residual = again.residual if again.converged else math.inf
        return actuation, Outcome(
            again.converged, again.state, found.iterations + again.iterations, again.residual
        )

    def touched(self, at: InverseState) -> tuple[str, ...]:
        """Name the limits that a point has reached or passed."""
        names = super().touched(InverseState(self._inside(at.driven), at.state))
        pull, slack = self.pulls(at.driven, at.state), TOUCHING * self._span
        near = (pull <= self._shortest + slack) | (pull >= self._longest - slack)
        near &= (at.driven[self._held] > 0.0) | (pull <= self._shortest + slack)
        actuators = self.description.actuators
        return (*names, *(actuators[i].name for i in self._held[near]))

    def _inside(self, driven: Array) -> Array:
        """Return driven values with tensions that touch nothing."""
        inside = driven.copy()
        inside[self._held] = self.range[self._held]
        return inside
