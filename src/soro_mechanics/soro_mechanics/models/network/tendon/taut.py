# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A linearised network whose taut tendons keep their lengths: their motors are locked.

With P what a unit of each tension does to the bodies, L how the path lengths follow the bodies, D
how they follow the tensions with the bodies held, c the tendons' own flexibility and K the tangent
of the bodies at held tensions,

    M dT = dl + pull,   M = c - D + L K^-1 P

where dl is what lengths would change by at held tensions. Everything else is K^-1 with that much
more. Slack tendons do nothing until they are taut: derivatives are those of the present side.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import Inputs, State, Work
from soro_mechanics.models.network.layout import Layout
from soro_mechanics.models.network.tendon.equilibrium import follow


class SlackTangent(Protocol):
    """A linearised network whose tendons are held at their tensions, see `Linearisation`."""

    layout: Layout
    work: Work
    columns: Array

    @property
    def free_inverse(self) -> Array:
        """Motion of the bodies per wrench on them, (n, n)."""

    def node_response(self) -> Array:
        """Return how the nodes follow the bodies."""


class TautTendons:
    """What locked tendons add to a linearisation."""

    def __init__(self, linear: SlackTangent, x: Inputs, state: State) -> None:
        self._linear = linear
        layout, w = linear.layout, linear.work
        s, tendons = layout.structure, layout.tendons
        held = np.flatnonzero(tendons.held)
        taut = tendons.held_tensions(state)[held] > 0.0
        self.held = tendons.actuators[held]
        self.actuators = self.held[taut]
        self._slope = x.pull[taut, 1]
        rows = held[taut]
        m = linear.columns.shape[1]
        motion = np.zeros((s.counts.nodes, 6, m))  # with the bodies held
        for a in range(m):
            follow(layout, x, state, w, np.zeros(len(linear.columns)), np.eye(m)[a], 0.0)
            motion[:, :, a] = w.step_node
        self._inner = motion[:, :, self.actuators].reshape(6 * len(motion), len(rows))
        response = linear.node_response()
        self._response = response.reshape(6 * len(motion), -1)
        self._by_actuator = tendons.rates(w, motion)[rows]
        self._by_body = tendons.rates(w, response)[rows]
        self._columns = linear.columns[:, self.actuators]
        matrix = np.diag(tendons.soft[rows]) - self._by_actuator[:, self.actuators]
        matrix += self._by_body @ linear.free_inverse @ self._columns
        self.matrix = matrix

    @property
    def negative(self) -> int:
        """How many unstable directions of the network at held tensions the tendons hold."""
        symmetric = 0.5 * (self.matrix + self.matrix.T)
        return int(np.count_nonzero(np.linalg.eigvalsh(symmetric) < 0.0))

    @cached_property
    def inverse(self) -> Array:
        """Motion of the bodies per wrench on them, (n, n)."""
        free = self._linear.free_inverse
        left = np.linalg.solve(self.matrix, self._by_body @ free)
        return np.asarray(free - free @ self._columns @ left)

    @cached_property
    def columns(self) -> Array:
        """What each actuator does to the bodies (n, m): K times minus their motion."""
        linear = self._linear
        free_motion = linear.free_inverse @ linear.columns
        change = np.linalg.solve(self.matrix, self._by_actuator - self._by_body @ free_motion)
        columns = linear.columns + self._columns @ change
        columns[:, self.held] = 0.0
        columns[:, self.actuators] = self._columns @ np.linalg.inv(self.matrix) * self._slope
        return np.asarray(columns)

    @cached_property
    def sides(self) -> tuple[Array, Array]:
        """Motion of bodies and nodes per tension (n + 6 nodes, a); lengths per wrench on them."""
        inverse, response = self._linear.free_inverse, self._response
        body = -inverse @ self._columns
        left = -self._by_body @ inverse
        motion = np.vstack([body, self._inner + response @ body])
        lengths = np.hstack([left, self._inner.T + left @ response.T])
        return motion, np.array(np.linalg.solve(self.matrix, lengths), dtype=float)
