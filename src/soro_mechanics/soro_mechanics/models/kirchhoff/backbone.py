# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rod of the muscle-driven robot: its nodes, its loads, the muscles' lengths of a shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Array, LoadAxes, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.models.kirchhoff.muscle_kernels import shape_lengths
from soro_mechanics.models.kirchhoff.rod_kernels import station_poses
from soro_mechanics.models.kirchhoff.schema import MuscleBackbone

BACKBONE = 'backbone'
Refusal = Callable[[str, object, str], InvalidInput]


class RodState(NamedTuple):
    """A solved shape with everything the next solve starts from."""

    q: Array  # (n, 4) quaternions, scalar first
    force: Array  # (modules, 3) internal force beside the known loads
    bend: Array  # (modules, 2) muscle multipliers
    dead: Array  # (n, 3) known loads times Simpson weights
    moment: Array  # (3,) dead tip moment
    bends: Array  # (modules, 2) bends commanded
    compliance: Array  # (6, 6) at the tip
    by_bend: Array  # (6, modules, 2)


def unsolved(q: Array, force: Array, dead: Array, moment: Array, bends: Array) -> RodState:
    """Return a shape to start from, whose multipliers and responses are not known."""
    m = len(force)
    unknown = np.zeros((6, 6)), np.zeros((6, m, 2))
    return RodState(q, force, np.zeros((m, 2)), dead, moment, bends, *unknown)


class KirchhoffBackbone:
    """A backbone of finite differences in quaternions."""

    def __init__(self, body: MuscleBackbone) -> None:
        self.body = body
        self.element = body.length / body.elements  # distance of two nodes [m]
        turned = np.stack([np.cos(body.muscle_angles), np.sin(body.muscle_angles)], axis=1)
        self.combine = 2.0 / 3.0 * turned  # (modules, 2, 3): bends are ``combine @ lengths``
        each = np.eye(len(turned))[:, None, :, None] * self.combine[:, :, None]
        self.combined = each.reshape(2 * len(turned), -1)  # the same of all modules at once
        # stiffness, element, muscle radius, give of a bend and `combine`, as the kernels take them
        give = body.bend_give
        self.rod_data = body.stiffness, self.element, body.muscle_radius, give, self.combine
        self._simpson = self._weights_before(body.length)
        self.arc = np.linspace(0.0, body.length, body.elements + 1)  # of the nodes [m]
        self._beyond = (body.length - self.arc)[:, None]  # length there is, of every node [m]
        # nodes from one station to the next
        self.every = body.elements // (body.modules * body.stations_per_module)
        straight = np.zeros((body.elements + 1, 4))
        straight[:, 0] = 1.0
        force, bends = np.zeros((body.modules, 3)), np.zeros((body.modules, 2))
        dead = np.zeros((body.elements + 1, 3))
        self.straight = unsolved(straight, force, dead, np.zeros(3), bends)  # without any load

    def loads(self, load: LoadCase, unsupported: Refusal) -> tuple[Array, Array]:
        """Return the force beyond every node times its Simpson weight, and the tip moment.

        Raises InvalidInput: a load that this rod does not know; `unsupported` makes the error.
        """
        body = self.body
        weight = body.mass * load.gravity / body.length
        dead = self._simpson[:, None] * (self._beyond * weight + load.wrench[:3])
        moment = load.wrench[3:].copy()
        for one in load.loads:
            if one.axes is LoadAxes.LOCAL:
                raise unsupported('loads', one.on, 'write the load in base axes')
            if one.on == '':
                dead += np.outer(self._simpson, one.wrench[:3])
                moment += one.wrench[3:]
                continue
            if one.on != BACKBONE:
                expected = f"'' (the tip) or {BACKBONE!r}"
                raise InvalidInput('loads.on', one.on, expected, Code.UNKNOWN_NAME)
            if not 0.0 <= one.arc_length <= body.length:
                expected = f'between 0 and {body.length:g} m'
                raise InvalidInput('loads.arc_length', one.arc_length, expected)
            if np.any(one.wrench[3:]):
                remedy = 'moments act on the tip only'
                raise unsupported('loads', one.wrench.tolist(), remedy)
            dead += np.outer(self._weights_before(one.arc_length), one.wrench[:3])
        return dead, moment

    def _weights_before(self, arc: float) -> Array:
        """Return the Simpson weights of the panels up to an arc length, the last one in part."""
        weights = np.zeros(self.body.elements + 1)
        panel = 2.0 * self.element
        for k in range(self.body.elements // 2):
            share = min(1.0, max(0.0, arc / panel - k))
            weights[2 * k : 2 * k + 3] += share * self.element / 3.0 * np.array([1.0, 4.0, 1.0])
        return weights

    def lengths_of(self, q: Array) -> Array:
        """Return the muscle lengths (modules, 3) [m] of a shape, eqs (52)-(54)."""
        lengths = np.empty((self.body.modules, 3))
        shape_lengths(q, self.element, self.body.muscle_radius, self.combine, lengths)
        return lengths

    def commands(self, state: RodState) -> Array:
        """Return the lengths (modules, 3) [m] that command a state: its own, less what gave."""
        lengths = self.lengths_of(state.q)
        gave = self.combined.dot(lengths.ravel()) - state.bends.ravel()
        return lengths - 1.5 * self.combined.T.dot(gave).reshape(lengths.shape)

    def tip(self, state: RodState) -> Array:
        """Return the pose (4, 4) of the tip."""
        ends = np.empty((2, 4, 4))
        station_poses(state.q, self.element, self.body.elements, ends)
        return ends[1]
