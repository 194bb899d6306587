# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A network linearised at an equilibrium: stability, Jacobian, compliance between any places.

The inertia of the eliminated blocks sees a rod that buckles between its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math
import threading

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, State, Work
from soro_mechanics.models.network.bundles import Bundles
from soro_mechanics.models.network.frequencies import modes_swing
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.linear_kernels import follow_change, inertia, linearise
from soro_mechanics.models.network.kernels.response_kernels import body_response, inner_compliance
from soro_mechanics.models.network.kernels.sensor_kernels import sensor_response, Sensors
from soro_mechanics.models.network.kernels.system_kernels import SINGULAR
from soro_mechanics.models.network.tendon.taut import TautTendons

MAX_SPARE = 2  # scratch of a layout that is kept for the next linearisation


@dataclass(frozen=True, eq=False)
class SensorResponse:
    """Flex sensors: value [rad], and derivatives with everything else held."""

    value: Array  # (k,)
    bodies: Array  # (k, n) per motion of the bodies, own axes
    actuators: Array  # (k, m)
    inner: Array  # (k, k) per generalised force of the sensors


class Linearisation:
    """What small changes of load and actuation do at one equilibrium, the actuators held.

    Its scratch, `work`, is used again by others when nobody has the linearisation any more: what
    is returned must not lie in it. `found`: what `linearise` says of what a solve has left in
    `work`, which is from `Layout.spare_work`. `exact`: not the tangent that Newton's method uses;
    at a solution they are the same.
    """

    def __init__(
        self,
        layout: lay.Layout,
        x: Inputs,
        state: State,
        work: Work | None = None,
        found: tuple[float, int] | None = None,
        exact: bool = True,
    ) -> None:
        s = layout.structure
        self.layout = layout
        self._spare: list[Work] = layout.spare if work is None or found else []
        self.work = work = layout.spare_work() if work is None else work
        # a Configuration keeps one linearisation for all threads, and answers write its scratch
        self.lock = threading.RLock()
        self.inputs, self.state = x, state
        known: tuple[float, int] = found or linearise(s, x, state, work, exact, LANES)
        self.error, self.negative = known
        self.matrix = work.matrix.copy()
        self.columns, self.vector = work.columns.copy(), work.vector.copy()
        if layout.spec.bundles:
            free = Bundles(layout.spec).free
            self.matrix, self.columns = free(layout, x, state, self.matrix, self.columns)
        self.singular = self.negative == SINGULAR
        self.effort = work.effort.copy()
        self.taut: TautTendons | None = None
        self._least = math.nan  # eigenvalue, where it was cheap
        if not self.singular:
            below, self._least = inertia(self.matrix, layout.body_units, work.dense)
            self.negative += below
            if len(x.pull) and np.isfinite(x.pull[:, 0]).any():
                self.taut = TautTendons(self, x, state)
                self.negative -= self.taut.negative

    def __del__(self) -> None:
        if hasattr(self, 'work') and len(self._spare) < MAX_SPARE:
            self._spare.append(self.work)

    @cached_property
    def free_inverse(self) -> Array:
        """Inverse of the condensed tangent, (n, n); of tendons the tensions are held."""
        return np.asarray(np.linalg.inv(self.matrix), dtype=float)

    @property
    def inverse(self) -> Array:
        """Motion of the bodies per wrench on them (n, n), all actuators held."""
        return self.free_inverse if self.taut is None else self.taut.inverse

    def moved(
        self, change: Array, bodies: Array, part: float = 1.0, one: float = 0.0
    ) -> tuple[State, float]:
        """Return where the network moves to first order, and the part of the way that is taken.

        change (m,) of what the actuators drive, with the motion (n,) of the bodies that goes with
        it; of it at most `part`. `one` as in `follow_change`.
        """
        new, w = copy_state(self.state), self.work
        with self.lock:
            w.step_body[0] = 0.0
            w.step_body[1:] = bodies.reshape(-1, 6)
            s = self.layout.structure
            part = follow_change(s, self.inputs, self.state, w, change, part, one, new)
        return new, float(part)

    @property
    def plain(self) -> bool:
        """Whether the tangent says all of a small change: no tendon held, no bundle, regular."""
        return not (self.singular or self.taut or self.layout.spec.bundles)

    @property
    def conservative(self) -> bool:
        """Whether the loads have an energy: no moments, and no loads that follow the body."""
        x = self.inputs
        loads = (x.follower, x.node_follower, x.dead[:, 3:], x.node_dead[:, 3:])
        return not any(np.count_nonzero(part) for part in loads)

    @property
    def stable(self) -> bool:
        """Whether every eigenvalue of the whole tangent's symmetric part is positive.

        That is more than stability asks for where the loads have no energy. If all rods have mass,
        it is enough there that every mode swings.
        """
        known = self.negative == 0 or self.singular or self.conservative or not self._heavy
        return self.negative == 0 if known else self._swings

    @cached_property
    def _swings(self) -> bool:
        return modes_swing(self)

    @property
    def remark(self) -> str:
        """What is not stable with the actuators held, in words; empty where all is."""
        if self.stable:
            return ''
        if self.singular or self.conservative:
            count = f'{self.negative} unstable directions with the actuators held'
            return f'{count} (Robot.solutions finds where it may go)'
        if self._heavy:
            return 'a mode grows with the actuators held'
        return (
            'may be unstable with the actuators held: moments and loads that follow the body have '
            'no energy, and only the masses of all rods (density) could tell'
        )

    @property
    def _heavy(self) -> bool:
        return bool(self.layout.sections[:, 12].all())

    def smallest_eigenvalue(self) -> float:
        """Return that of the condensed tangent, moments by the characteristic length."""
        unit = self.layout.body_units
        if self.taut is not None:  # held lengths have no tangent, but a flexibility
            if self.negative:
                return math.nan
            soft = self.inverse / unit
            return 1.0 / float(np.linalg.eigvalsh(0.5 * (soft + soft.T))[-1])
        if not math.isnan(self._least):
            return self._least
        scaled = self.matrix * unit
        return float(np.linalg.eigvalsh(0.5 * (scaled + scaled.T))[0])

    def axes(self, body: int) -> Array:
        """Return (6, 6): twists in a body's own axes to axes of base_link."""
        turns = np.zeros((6, 6))
        turns[:3, :3] = turns[3:, 3:] = self.state.body[body][:3, :3]
        return turns

    def body_compliance(self, a: int, b: int) -> Array:
        """Return (6, 6): twist of body a per wrench on body b, base axes, at their origins."""
        rows, columns = slice(6 * a - 6, 6 * a), slice(6 * b - 6, 6 * b)
        return self.axes(a) @ self.inverse[rows, columns] @ self.axes(b).T

    def jacobian(self, body: int) -> Array:
        """Return (6, m): twist of a body per actuator, base axes, at its origin."""
        rows = slice(6 * body - 6, 6 * body)
        columns = self.columns if self.taut is None else self.taut.columns
        return -self.axes(body) @ (self.free_inverse[rows] @ columns)

    def node_response(self) -> Array:
        """Return (nodes, 6, n): motion of every node per motion of the bodies, own axes."""
        s = self.layout.structure
        out = np.zeros((s.counts.nodes, 6, self.matrix.shape[0]))
        with self.lock:
            body_response(s, self.inputs, self.state, self.work, 1 + s.counts.slots, out)
        return out

    def node_compliance(self) -> Array:
        """Return (nodes, 6, 6): twist of every node per wrench on it, base axes."""
        s = self.layout.structure
        inner = np.zeros((s.counts.nodes, 6, 6))
        sides = np.zeros((2, self.layout.most_nodes, 6, 6))
        with self.lock:
            for r in range(s.counts.rods):
                inner_compliance(s, self.work, r, sides[0], sides[1], inner)
        response = self.node_response()
        total = inner + response @ self.free_inverse @ response.transpose(0, 2, 1)
        if self.taut is not None:
            n, nodes = self.matrix.shape[0], len(total)
            motion, lengths = self.taut.sides
            by_wrench = lengths[:, n:].reshape(len(lengths), nodes, 6).transpose(1, 0, 2)
            total -= motion[n:].reshape(nodes, 6, len(lengths)) @ by_wrench
        axes = np.zeros((total.shape[0], 6, 6))
        axes[:, :3, :3] = axes[:, 3:, 3:] = self.state.node[:, :3, :3]
        return np.asarray(axes @ total @ axes.transpose(0, 2, 1))

    @property
    def torque(self) -> Array:
        """Torque (m,) [N m] that each motor applies to the robot; zero for other actuators."""
        return np.array(self.effort[:, -1])

    def motor_stiffness(self) -> Array:
        """Return (m, m): motor torque per motor angle with the bodies free."""
        n, m = self.columns.shape
        e = self.effort
        return np.asarray(e[:, n : n + m] - e[:, :n] @ self.free_inverse @ self.columns)

    def sensors(self) -> SensorResponse:
        """Return values of the flex sensors and how they follow bodies, actuators and loads."""
        s, places = self.layout.structure, self.layout.sensors
        count, (n, m) = len(places.rod), self.columns.shape
        longest = self.layout.most_nodes
        found = np.empty(count), *(np.empty((count, k)) for k in (n, m, count))
        with self.lock:
            sensors = Sensors(
                places.rod,
                places.nodes,
                places.axis,
                np.empty((2, longest, 6, 6)),
                np.empty((longest, 6, count)),
                np.empty((6, 6 + count)),
                *found,
            )
            sensor_response(s, self.inputs, self.state, self.work, sensors)
        back = places.back
        value, bodies, actuators, inner = found
        return SensorResponse(
            value[back], bodies[back], actuators[back], inner[np.ix_(back, back)]
        )
