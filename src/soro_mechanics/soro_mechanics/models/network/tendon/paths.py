# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The tendons of a network, one for each actuator that pulls any: lengths, tensions, pulls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import Inputs, Integers, State, Structure, Work
from soro_mechanics.models.network.description.spec import TENDONS
from soro_mechanics.models.network.kernels.tendon_kernels import path_lengths

# Of what the rods give way: how much a tendon without a stiffness does. Where tendons work against
# each other without moving the robot, that finds the least tensions.
MIN_SOFT = 1e-9


@dataclass(frozen=True, eq=False)
class TendonState:
    """What the tendons of a solution do."""

    names: tuple[str, ...]  #: their actuators
    length: Array  #: (k,) [m]; of the path inside the robot
    #: (k,) [m]; by how much that is shorter than along the rods in their rest shapes, and what an
    #: elastic tendon is stretched: what its motor takes in when it is just taut
    pull: Array
    tension: Array  #: (k,) [N]; Zero: slack


class Tendons:
    """Where each tendon of a layout runs. All tendon drives of one actuator are one tendon."""

    def __init__(self, layout: Any) -> None:
        s = layout.structure
        pairs = zip(layout.spec.drives, layout.slots, strict=True)
        drives = [(d, slot) for d, slot in pairs if d.kind in TENDONS]
        actuators = sorted({d.actuator for d, _ in drives})
        self.actuators = np.array(actuators, dtype=np.int64)
        self.where = np.zeros((len(actuators), *s.tendon.shape[:2]))
        self.held = np.zeros(len(actuators), dtype=bool)
        self.soft = np.zeros(len(actuators))
        for d, slot in drives:
            k = actuators.index(d.actuator)
            row = slot - 1 - s.shift.shape[1]
            pieces = layout.rod_pieces[d.rod]
            self.where[k, pieces, row] = s.tendon[pieces, row, 2]
            self.held[k] = d.kind == 'tendon'
            self.soft[k] = d.soft
        self.rest, self.yielding = self._at_rest(s, layout.sections, layout.lengths)
        self.soft += MIN_SOFT * self.yielding
        self._structure = s
        owner = np.repeat(np.arange(s.counts.rods), np.diff(s.rod_piece))
        self._node: Integers = np.arange(len(owner)) + owner  # at the first end of every piece

    def _at_rest(self, s: Structure, e: Array, lengths: Array) -> tuple[Array, Array]:
        """Return the lengths (k,) [m] in the rods' rest shapes, and what rods let them give way.

        The latter (k,) [m/N] is that of rods with one free end: how large a tension is.
        """
        if not s.tendon.size:
            return np.zeros(len(self.actuators)), np.zeros(len(self.actuators))
        x, y = s.tendon[:, :, 0], s.tendon[:, :, 1]
        v, u = e[:, None, 0:3], e[:, None, 3:6]
        speed = np.sqrt(
            (v[..., 0] - u[..., 2] * y) ** 2
            + (v[..., 1] + u[..., 2] * x) ** 2
            + (v[..., 2] + u[..., 0] * y - u[..., 1] * x) ** 2
        )
        length = s.share * np.repeat(lengths, np.diff(s.rod_piece))
        soft = e[:, None, 8] + e[:, None, 9] * y**2 + e[:, None, 10] * x**2
        rest, yielding = (
            np.einsum('kpt,p,pt->k', self.where, length, part) for part in (speed, soft)
        )
        return rest, yielding

    def lengths(self, state: State) -> Array:
        """Return the length (k,) [m] of every tendon's path inside the robot."""
        out = np.zeros(self.where.shape[1:])
        path_lengths(self._structure, state, out)
        return np.asarray(np.einsum('kpt,pt->k', self.where, out))

    def tensions(self, x: Inputs, state: State) -> Array:
        """Return the tension (k,) [N] of every tendon."""
        total = np.einsum('kpt,pt->k', self.where, x.tension + state.tension)
        return np.asarray(total / self.where.sum(axis=(1, 2)))

    def held_tensions(self, state: State) -> Array:
        """Return the tension (k,) [N] of tendons whose length is held, zero of others."""
        return np.asarray(np.max(self.where * state.tension, axis=(1, 2), initial=0.0))

    def put(self, state: State, tension: Array) -> None:
        """Set the tension of every tendon whose length is held."""
        state.tension[:] = np.einsum('k,kpt->pt', tension * self.held, self.where)

    def rates(self, work: Work, motion: Array) -> Array:
        """Return how the lengths (k, c) follow motions (nodes, 6, c) of the nodes, own axes."""
        first = work.params.shape[2] - self.where.shape[2]
        by_node = work.params[:, :, first:]
        ends = np.concatenate([motion[self._node], motion[self._node + 1]], axis=1)
        return np.asarray(np.einsum('kpt,pit,pic->kc', self.where, by_node, ends, optimize=True))
