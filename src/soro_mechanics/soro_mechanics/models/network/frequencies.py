# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Natural frequencies at an equilibrium: how fast quasi-static is."""

from __future__ import annotations

from contextlib import AbstractContextManager
import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.network.arrays import Inputs
from soro_mechanics.models.network.description.spec import BodySpec
from soro_mechanics.models.network.end_levers import end_moments, ends_of
from soro_mechanics.models.network.kernels.response_kernels import inner_columns, side_stiffness
from soro_mechanics.models.network.tendon.taut import SlackTangent, TautTendons
from soro_mechanics.numerics import lie

NOISE = 1e-8  # of the largest 1 / omega^2, below which one has no sign
REAL = 1e-6  # part of a 1 / omega^2 below which what is imaginary is round-off


class Tangent(SlackTangent, Protocol):
    """A linearised network, see `Linearisation`."""

    matrix: Array
    taut: TautTendons | None
    inputs: Inputs

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Held while its scratch is written."""

    @property
    def conservative(self) -> bool:
        """Whether the loads have an energy."""

    @property
    def stable(self) -> bool:
        """Whether it is stable, the actuators held."""


def natural_frequencies(linear: Tangent, count: int) -> Array:
    """Return the lowest natural frequencies, shape (count,) [Hz], the actuators held.

    Masses: bodies with their inertia, rods lumped on the mesh nodes, at their ends as in
    `end_levers`, without the rotary inertia of their sections.
    Infinite where there is no mass left.

    Raises InvalidInput: a direction or a mode is unstable: it grows and has no frequency. Or more
    frequencies are asked for than the mesh has degrees of freedom.
    """
    problem = _Masses(linear)
    if count > problem.size:
        raise InvalidInput('count', count, f'at most {problem.size}, the mesh has no more')
    if not (linear.stable and (linear.conservative or problem.swing())):
        raise InvalidInput('q', 'UNSTABLE', 'a stable Configuration: this one has a growing mode')
    values = np.zeros(problem.size)  # where there is no mass left
    found = problem.inverse_squares().real
    values[: len(found)] = found
    top = np.sort(values)[::-1][:count]
    with np.errstate(divide='ignore'):
        return np.where(top > 0.0, 1.0 / np.sqrt(np.abs(top)), math.inf) / (2.0 * math.pi)


def modes_swing(linear: Tangent) -> bool:
    """Whether every mode swings instead of growing, the actuators held, without damping."""
    return _Masses(linear).swing()


def condensed_mass(linear: Tangent) -> Array:
    """Return the masses condensed to the bodies, shape (6 b, 6 b), each body in its own axes.

    The nodes of the rods follow the bodies as they do without inertia (static condensation), the
    actuators held: kinetic energy 1/2 v M v for body twists v, linear first. Masses as in
    `natural_frequencies`; frequencies from it are above the exact ones.
    """
    problem = _Masses(linear)
    shapes = np.vstack([np.eye(problem.bodies), problem.response])
    return np.asarray(shapes.T @ problem.mass(shapes))


class _Masses:
    """Vectors are bodies (6 each) above nodes (6 each), own axes."""

    def __init__(self, linear: Tangent) -> None:
        self.linear = linear
        s = linear.layout.structure
        self.bodies = linear.matrix.shape[0]
        self.nodes = s.counts.nodes
        self.size = self.bodies + 6 * self.nodes
        self.response = linear.node_response().reshape(6 * self.nodes, self.bodies)
        self._body = np.zeros((self.bodies, self.bodies))
        for b in range(1, s.counts.bodies):
            o = slice(6 * b - 6, 6 * b)
            self._body[o, o] = body_inertia(linear.layout.spec.bodies[b])
        self._node = self._lumped()
        self._sides = np.zeros((2, int(np.diff(s.rod_node).max()), 6, 6))

    def _lumped(self) -> Array:
        s, layout, x = self.linear.layout.structure, self.linear.layout, self.linear.inputs
        mass, turns = np.zeros(self.nodes), np.zeros((self.nodes, 3))
        length = x.length * x.dilution
        owner = np.repeat(np.arange(len(length)), np.diff(s.rod_piece))
        first = np.arange(len(owner)) + owner
        half = 0.5 * layout.sections[:, 12] * length[owner] * s.share
        nodes, ends = ends_of(s)
        size = x.length[owner] * s.share
        moment, turn = end_moments(size[ends], half[ends], x.section[ends, :3])
        for k in range(2):
            mass[first + k] += half
            np.add.at(turns, first[ends] + k, turn)
        out = np.zeros((self.nodes, 6, 6))
        out[:, range(6), range(6)] = np.hstack([np.repeat(mass[:, None], 3, axis=1), turns])
        out[nodes, 3:, :3], out[nodes, :3, 3:] = moment, -moment
        return out

    def inverse_squares(self) -> NDArray[np.complex128]:
        """Return 1 / omega^2 of the modes, complex: eigenvalues of K^-1 M where there is mass."""
        mass = self.mass(np.eye(self.size))
        heavy = np.flatnonzero(mass.any(axis=0))
        if not heavy.size:
            return np.zeros(0, np.complex128)
        values = np.linalg.eigvals(self.flexibility(mass[:, heavy])[heavy])
        return np.asarray(values, dtype=np.complex128)

    def swing(self) -> bool:
        """Whether every mode swings: 1 / omega^2 is real and not negative."""
        values = self.inverse_squares()
        size = np.abs(values)
        values = values[size > NOISE * size.max(initial=0.0)]
        grows = (values.real < 0.0) | (np.abs(values.imag) > REAL * np.abs(values))
        return not grows.any()

    def mass(self, x: Array) -> Array:
        """Return M x."""
        top, low = x[: self.bodies], x[self.bodies :]
        nodes = self._node @ low.reshape(self.nodes, 6, -1)
        return np.concatenate([self._body @ top, nodes.reshape(low.shape)])

    def flexibility(self, f: Array) -> Array:
        """Return K^-1 f."""
        s = self.linear.layout.structure
        top, low = f[: self.bodies], f[self.bodies :]
        body = self.linear.free_inverse @ (top + self.response.T @ low)
        node = (self.response @ body).reshape(self.nodes, 6, -1)
        many = f.shape[1]
        for r, own in enumerate(self.linear.layout.rod_nodes):
            columns = low.reshape(self.nodes, 6, many)[own].copy()  # overwritten by the motion
            work = self.linear.work
            room = np.zeros((6, 6 + many))
            with self.linear.lock:
                side_stiffness(s, work, r, self._sides[0], self._sides[1])
                inner_columns(s, work, r, self._sides[0], self._sides[1], columns, room)
            node[own] += columns
        free = np.concatenate([body, node.reshape(-1, many)])
        if self.linear.taut is None:
            return free
        motion, lengths = self.linear.taut.sides
        return np.asarray(free - motion @ (lengths @ f))


def body_inertia(body: BodySpec) -> Array:
    """Return the (6, 6) inertia of a body, linear first, in its own frame."""
    m, c = body.mass, lie.hat3(body.centre)
    return np.block([[m * np.eye(3), -m * c], [m * c, body.inertia - m * c @ c]])
