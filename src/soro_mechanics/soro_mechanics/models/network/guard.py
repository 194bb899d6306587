# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a solution leaves what the theory is good for: strain of the sections, contact, limits.

An equilibrium can be solved exactly and still be no robot: a section strained beyond its linear
law, a rod that passes through another one or through itself. `Guard` looks for both after every
solve, cheaply.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.actuators import limit_violations
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import OUTSIDE
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import Inputs, State
from soro_mechanics.models.network.kernels import contact_kernels
from soro_mechanics.models.network.rod_sections import half_sizes, is_round, radius_at
from soro_mechanics.robot_file.reader import RobotDescription

CHUNKS = 8  # bounding spheres per rod


@dataclass(frozen=True)
class Validity:
    """What strain and distance a solution has."""

    #: largest strain of the outer fibre of every rod, from curvature change and stretch by load
    surface_strain: tuple[float, ...]
    strain_limit: tuple[float, ...]  #: what its section may have
    #: Smallest distance between two rods' surfaces [m], negative in an overlap, of a rod with
    #: itself too; infinite where nothing can touch. Rods that meet in a body are not compared next
    #: to it.
    clearance: float
    #: the two rods of `clearance`; the same name twice for a rod and itself
    closest: tuple[str, ...]
    remark: str  #: one sentence on what is not valid; empty when nothing was found


class Guard:
    """Checks solutions of one layout."""

    def __init__(self, description: RobotDescription, layout: lay.Layout) -> None:
        self._description = description
        self._coupled = np.array([c.coefficients for c in description.coupled_limits])
        self._bounds = np.array([c.maximum for c in description.coupled_limits])
        self.names = layout.rods
        self.limit = strain_limits(layout)
        self._segments = segments_of(layout)

    def examined(self, x: Inputs, state: State, actuation: Array) -> tuple[str, float]:
        """Say what is not valid in a solution (empty when nothing is); return its `doubt`."""
        found = []
        if len(self._coupled) and (self._coupled @ actuation > self._bounds).any():
            d = self._description
            found += limit_violations(d.actuators, d.coupled_limits, actuation, coupled_only=True)
        strain = np.empty(len(self.names))
        at = state.node, state.wrench, x.length
        r, *pair, doubt = contact_kernels.examine(*at, self._segments, self.limit, strain)
        if r >= 0:
            limit = f'more than {100.0 * self.limit[r]:.3g} %'
            found.append(f'{self.names[r]} is strained by {100.0 * strain[r]:.3g} %, {limit}')
        if pair[0] >= 0:
            a, b = self._rods(pair)
            found.append(f'{a} touches itself' if a == b else f'{a} touches {b}')
        return f'{OUTSIDE}: ' + '; '.join(found) if found else '', doubt

    def validity(self, x: Inputs, state: State, actuation: Array) -> Validity:
        """Return strain and clearance of a solution, and what is not valid in it."""
        strain = np.empty(len(self.names))
        contact_kernels.surface_strains(state.wrench, self._segments, strain)
        remark, _ = self.examined(x, state, actuation)
        limits = tuple(self.limit.tolist())
        return Validity(tuple(strain.tolist()), limits, *self.clearance(state), remark)

    def clearance(self, state: State, below: float = math.inf) -> tuple[float, tuple[str, ...]]:
        """Return the smallest distance of two surfaces below a bound [m] and whose they are."""
        gap, *pair = contact_kernels.nearest_segments(state.node, self._segments, below)
        return float(gap), self._rods(pair)

    def _rods(self, pair: Sequence[int]) -> tuple[str, ...]:
        return tuple(self.names[self._segments.rod[k]] for k in pair if k >= 0)


def strain_limits(layout: lay.Layout) -> Array:
    """Return what the sections of the rods may be strained by, shape (rods,)."""
    return np.array([rod.section.strain_limit for rod in layout.spec.rods])


def segments_of(layout: lay.Layout) -> contact_kernels.Segments:
    """Return the segments between the nodes of a layout."""
    rods, s, pieces = layout.spec.rods, layout.structure, layout.node_piece
    fraction, sizes = layout.fractions, np.diff(s.rod_node)
    extent = np.array([half_sizes(rod, at) for rod in rods for at in rod.fractions])
    c = layout.sections[pieces, 6:12]
    rod_of = np.repeat(np.arange(len(rods)), sizes - 1)
    marks = [fraction[part] for part in layout.rod_nodes]
    start, end = (np.concatenate([m[part] for m in marks]) for part in (slice(-1), slice(1, None)))
    middle, length = 0.5 * (start + end), np.array([r.length for r in rods])
    radius = np.array([radius_at(rods[r], at) for r, at in zip(rod_of, middle, strict=True)])
    number = np.concatenate([np.arange(n - 1) for n in sizes])
    size = -(-int(sizes.max() - 1) // CHUNKS)
    chunk = np.append(np.flatnonzero(number % size == 0), len(number))
    pulled = s.tendon[:, :, 2].max(axis=1, initial=0.0) if len(s.tendon) else 0.0 * s.share
    return contact_kernels.Segments(
        node=number + s.rod_node[rod_of],
        rod=rod_of,
        number=number,
        radius=radius,
        start=start * length[rod_of],
        end=end * length[rod_of],
        first=s.rod_node,
        length=length,
        bodies=s.rod_body,
        chunk=chunk,
        wide=np.maximum.reduceat(radius, chunk[:-1]),
        piece=pieces,
        round=np.repeat([is_round(r) for r in rods], sizes),
        strain=np.stack([c[:, 2], c[:, 3] * extent[:, 1], c[:, 4] * extent[:, 0]], axis=1),
        pulled=np.array([bool(pulled[own].any()) for own in layout.rod_pieces]),
        part=np.append(np.diff(fraction), 0.0),
        soft=np.ascontiguousarray(c[:, 3:6]),
    )
