# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a solution leaves what the theory is good for: strain of the sections, contact, limits.

An equilibrium can be solved exactly and still be no robot: a section strained beyond its linear
law, a rod that passes through another one or through itself. `Guard` looks for both after every
solve, cheaply.
"""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import limit_violations
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import OUTSIDE
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.kernels.contact_kernels import may_touch
from soro_mechanics.models.network.linearisation import Shape
from soro_mechanics.models.network.rod_sections import half_sizes, is_round, radius_at
from soro_mechanics.robot_file.reader import RobotDescription

Indices = NDArray[np.intp]

NEAR_RADII = 4.0  # rods that meet in a body may touch within so many radii of it,
NEAR_SEGMENTS = 2  # or within so many segments
CHUNKS = 8  # bounding spheres per rod
# A curve whose tangent turns by less keeps points pi radii apart along it from meeting: its chord
# is at least the arc times the cosine of half the turn.
TURN_TO_TOUCH = 2.0 * math.acos(2.0 / math.pi)
NO_PAIRS = (np.empty(0, np.intp), np.empty(0, np.intp))


class ChunkPairs(NamedTuple):
    """Pairs of chunks (k,), and the pairs of their segments (n,) that nothing holds together."""

    first: Indices
    second: Indices
    owner: Indices  # (n,) which pair of chunks a pair of segments is of
    a: Indices
    b: Indices

    def segments(self, close: NDArray[np.bool_]) -> tuple[Indices, Indices]:
        """Return the pairs of segments of the pairs of chunks that are close."""
        if not close.any():
            return NO_PAIRS
        chosen = close[self.owner]
        return self.a[chosen], self.b[chosen]


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
        rods = layout.spec.rods
        self._first, fraction = layout.stations
        marks = [fraction[part] for part in layout.parts]
        self._piece = layout.station_piece
        self._macro = np.repeat([r.macro for r in rods], np.diff(self._first))
        self._set_sections(layout, marks)
        self._set_segments(layout, marks)
        self._set_chunks(len(rods))

    def _set_sections(self, layout: lay.Layout, marks: list[Array]) -> None:
        steps, rods = int(layout.structure.counts[4]), layout.spec.rods
        flexibility = []
        for rod, part in zip(rods, layout.parts, strict=True):
            pieces = self._piece[part]
            along = np.arange(len(pieces)) % steps * 2 if rod.macro else np.zeros_like(pieces)
            along[-1] = -1
            flexibility.append(layout.sections[pieces, along, 6:12])
        half = [half_sizes(rod, at) for rod, mark in zip(rods, marks, strict=True) for at in mark]
        c, extent = np.concatenate(flexibility), np.array(half)
        # strain per axial force, and per moment about x and y at the outer fibre
        self._strain = np.stack([c[:, 2], c[:, 3] * extent[:, 1], c[:, 4] * extent[:, 0]], axis=1)
        self._round = np.repeat([is_round(rod) for rod in rods], np.diff(self._first))
        self.limit = np.array([rod.section.strain_limit for rod in rods])

    def _set_segments(self, layout: lay.Layout, marks: list[Array]) -> None:
        rods = layout.spec.rods
        counts = [len(m) - 1 for m in marks]
        self._a = np.concatenate([self._first[r] + np.arange(n) for r, n in enumerate(counts)])
        self._rod = np.repeat(np.arange(len(rods)), counts)
        self._start = np.concatenate([m[:-1] * r.length for m, r in zip(marks, rods, strict=True)])
        self._end = np.concatenate([m[1:] * r.length for m, r in zip(marks, rods, strict=True)])
        self._radius = np.concatenate(
            [
                [radius_at(r, 0.5 * (a + b)) for a, b in zip(m[:-1], m[1:], strict=True)]
                for m, r in zip(marks, rods, strict=True)
            ]
        )
        self._bodies = layout.structure.rod_body
        self._count = np.array(counts)
        self._number = np.concatenate([np.arange(n) for n in counts])
        self._length = np.array([r.length for r in rods])

    def _set_chunks(self, rods: int) -> None:
        size = -(-int(self._count.max()) // CHUNKS)
        starts = [own for r in range(rods) for own in np.flatnonzero(self._rod == r)[::size]]
        self._chunk = np.append(starts, len(self._rod))
        self._wide = np.maximum.reduceat(self._radius, self._chunk[:-1])
        of = self._rod[starts]
        self._others = self._pairs(*np.nonzero(of[:, None] < of))
        self._same = self._pairs(*np.nonzero(np.triu(of[:, None] == of)))
        self._same_rod = of[self._same.first]
        self._bend = self._rod[:-1] == self._rod[1:]
        # from the first station of every chunk up to its last, for `reduceat`
        ends = np.stack([self._a[self._chunk[:-1]], self._a[self._chunk[1:] - 1] + 2], axis=1)
        self._spans = ends.ravel()[:-1]

    def _pairs(self, first: Indices, second: Indices) -> ChunkPairs:
        """Return pairs of chunks whose segments may touch, without those that have none."""
        sizes = np.diff(self._chunk)
        count = sizes[first] * sizes[second]
        owner = np.repeat(np.arange(len(first)), count)
        at = np.arange(len(owner)) - np.repeat(np.cumsum(count) - count, count)
        wide = sizes[second][owner]
        a = self._chunk[first[owner]] + at // wide
        b = self._chunk[second[owner]] + at % wide
        kept = self._allowed(a, b)
        left, owner = np.unique(owner[kept], return_inverse=True)
        return ChunkPairs(first[left], second[left], owner, a[kept], b[kept])

    def remark(self, shape: Shape, stress: Array, actuation: Array) -> str:
        """Say what is not valid in a solution; empty when nothing is."""
        found = []
        if len(self._coupled) and np.any(self._coupled @ actuation > self._bounds):
            d = self._description
            found += limit_violations(d.actuators, d.coupled_limits, actuation, coupled_only=True)
        strain = self.strain(shape, stress)
        over = strain > self.limit
        if over.any():
            r = int(np.argmax(strain / self.limit))
            limit = f'more than {100.0 * self.limit[r]:.3g} %'
            found.append(f'{self.names[r]} is strained by {100.0 * strain[r]:.3g} %, {limit}')
        i, j = self._near(shape) if self.may_touch(shape) else NO_PAIRS
        if len(i):
            gap = self._gaps(shape, i, j)
            k = int(np.argmin(gap))
            if gap[k] < 0.0:
                a, b = (self.names[self._rod[x[k]]] for x in (i, j))
                found.append(f'{a} touches itself' if a == b else f'{a} touches {b}')
        return f'{OUTSIDE}: ' + '; '.join(found) if found else ''

    def validity(self, shape: Shape, stress: Array, actuation: Array) -> Validity:
        """Return strain and clearance of a solution, and what is not valid in it."""
        strain, remark = self.strain(shape, stress), self.remark(shape, stress, actuation)
        return Validity(
            tuple(strain.tolist()), tuple(self.limit.tolist()), *self.clearance(shape), remark
        )

    def may_touch(self, shape: Shape) -> bool:
        """Whether any two segments are so near that their distance has to be looked at."""
        return bool(
            may_touch(
                shape.pose,
                self._a,
                self._rod,
                self._radius,
                self._chunk,
                self._wide,
                np.empty((len(self._wide), 4)),
                TURN_TO_TOUCH,
            )
        )

    def strain(self, shape: Shape, stress: Array) -> Array:
        """Return the largest surface strain of every rod."""
        if self._macro.all():
            wrench = shape.wrench
        else:
            wrench = np.where(self._macro[:, None], shape.wrench, stress[self._piece])
        part = np.abs(wrench[:, 2:5]) * self._strain
        bend = np.where(self._round, np.hypot(part[:, 1], part[:, 2]), part[:, 1] + part[:, 2])
        return np.asarray(np.maximum.reduceat(part[:, 0] + bend, self._first[:-1]))

    def clearance(self, shape: Shape) -> tuple[float, tuple[str, ...]]:
        """Return the smallest distance of two surfaces [m] and whose they are."""
        best = math.inf
        closest: tuple[str, ...] = ()
        for p in range(len(self.names)):
            i = np.flatnonzero(self._rod == p)
            for q in range(p + 1, len(self.names)):
                j = np.flatnonzero(self._rod == q)
                grid = np.meshgrid(i, j, indexing='ij')
                a, b = grid[0].ravel(), grid[1].ravel()
                kept = self._allowed(a, b)
                gap = self._gaps(shape, a[kept], b[kept])
                if np.min(gap, initial=math.inf) < best:
                    best, closest = float(gap.min()), (self.names[p], self.names[q])
        i, j = self._near(shape)
        if len(i):  # neighbours along a rod are always near: only an overlap tells anything
            gaps = self._gaps(shape, i, j)
            k = int(np.argmin(gaps))
            if gaps[k] < min(best, 0.0):
                best = float(gaps[k])
                closest = (self.names[self._rod[i[k]]], self.names[self._rod[j[k]]])
        return best, closest

    def _near(self, shape: Shape) -> tuple[Indices, Indices]:
        """Return pairs of segments that may touch: bounding spheres of a few segments."""
        point = shape.pose[:, :3, 3]
        low = np.minimum.reduceat(point, self._spans, axis=0)[::2]
        high = np.maximum.reduceat(point, self._spans, axis=0)[::2]
        size = high - low
        middle, reach = low + high, np.sqrt(np.einsum('ij,ij->i', size, size)) + 2.0 * self._wide

        def close(pairs: ChunkPairs) -> NDArray[np.bool_]:
            apart = middle[pairs.first] - middle[pairs.second]
            total = reach[pairs.first] + reach[pairs.second]
            return np.asarray(np.einsum('ij,ij->i', apart, apart) < total * total)

        i, j = self._others.segments(close(self._others))
        axis = shape.pose[self._a, :3, 2]
        cosine = np.einsum('ij,ij->i', axis[:-1], axis[1:])
        turn = np.where(self._bend, np.arccos(np.clip(cosine, -1.0, 1.0)), 0.0)
        turned = np.bincount(self._rod[1:], turn, len(self.names)) > TURN_TO_TOUCH
        if turned.any():
            pairs = (i, j), self._same.segments(turned[self._same_rod] & close(self._same))
            i, j = np.concatenate(pairs, axis=1)
        if not len(i):
            return i, j
        start, end = point[self._a], point[self._a + 1]
        along = end - start
        half = 0.5 * np.sqrt(np.einsum('ij,ij->i', along, along)) + self._radius
        centre = 0.5 * (start + end)
        apart, width = centre[i] - centre[j], half[i] + half[j]
        touching = np.einsum('ij,ij->i', apart, apart) < width * width
        return i[touching], j[touching]

    def _allowed(self, i: Indices, j: Indices) -> NDArray[np.bool_]:
        """Whether pairs of segments are not neighbours by construction."""
        same = self._rod[i] == self._rod[j]
        width = self._radius[i] + self._radius[j]
        between = np.maximum(self._start[j] - self._end[i], self._start[i] - self._end[j])
        keep = np.where(same, (between > 0.5 * np.pi * width) & (i < j), True)
        for e in range(2):
            for f in range(2):
                shared = ~same & (self._bodies[self._rod[i], e] == self._bodies[self._rod[j], f])
                keep &= ~(shared & self._by_end(i, e, width) & self._by_end(j, f, width))
        return np.asarray(keep)

    def _by_end(self, i: Indices, end: int, width: Array) -> Array:
        """Whether segments lie next to an end of their rods."""
        if end == 0:
            away, number = self._start[i], self._number[i]
        else:
            away = self._length[self._rod[i]] - self._end[i]
            number = self._count[self._rod[i]] - 1 - self._number[i]
        return np.asarray((number < NEAR_SEGMENTS) | (away < 0.5 * NEAR_RADII * width))

    def _gaps(self, shape: Shape, i: Indices, j: Indices) -> Array:
        """Return distances between the surfaces of pairs of segments [m]."""
        point = shape.pose[:, :3, 3]
        a, b = self._a[i], self._a[j]
        apart = segment_distance(point[a], point[a + 1], point[b], point[b + 1])
        return np.asarray(apart - self._radius[i] - self._radius[j])


def segment_distance(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Return the distance of the segments a-b and c-d, all (n, 3).

    The best point of each segment for both ends of the other one, and the common perpendicular
    where it meets both.
    """
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = (np.einsum('ij,ij->i', x, y) for x, y in ((u, u), (u, v), (v, v)))
    uw, vw = np.einsum('ij,ij->i', u, w), np.einsum('ij,ij->i', v, w)
    best = np.full(len(a), math.inf)
    det = uu * vv - uv * uv
    with np.errstate(divide='ignore', invalid='ignore'):
        inner = (uv * vw - vv * uw) / det
    for s in (0.0, 1.0, np.where(det > 0.0, inner, 0.0)):
        s = np.clip(s, 0.0, 1.0)
        t = np.clip((vw + s * uv) / vv, 0.0, 1.0)
        s = np.clip((t * uv - uw) / uu, 0.0, 1.0)
        gap = w + s[:, None] * u - t[:, None] * v
        best = np.minimum(best, np.einsum('ij,ij->i', gap, gap))
    return np.asarray(np.sqrt(best))
