# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The chain of segments cut into elements, with the loads on it, as arrays for the kernels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array, Load, LoadAxes, LoadCase
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.models.segments.cosserat_kernels import Chain
from soro_mechanics.models.segments.rod_kernels import PointLoads
from soro_mechanics.models.segments.schema import SegmentChain

SAME_STATION = 1e-9  # of the segment's length: two cuts closer than this are one


@dataclass(frozen=True, eq=False)
class Grid:
    """Elements of a chain."""

    chain: Chain
    densities: Array  # (segments,) [kg/m]
    stations: tuple[Array, ...]  # arc length of every node of every segment, unloaded [m]
    radii: tuple[Array, ...]  # there [m]
    slices: tuple[slice, ...]  # nodes of every segment among all nodes
    last_elements: tuple[int, ...]
    # arc lengths where elements were cut for loads, per segment: identifies the grid
    cuts: tuple[tuple[float, ...], ...]


def make_grid(structure: SegmentChain, cuts: tuple[tuple[float, ...], ...]) -> Grid:
    """Cut every segment into equal elements and, further, where point loads act."""
    lengths: list[float] = []
    owner: list[int] = []
    stations, radii, slices, last = [], [], [], []
    node = 0
    for i, (segment, extra) in enumerate(zip(structure.segments, cuts, strict=True)):
        places = np.linspace(0.0, segment.length, structure.elements + 1)
        for cut in extra:
            if np.abs(places - cut).min() > SAME_STATION * segment.length:
                places = np.sort(np.append(places, cut))
        lengths += list(np.diff(places))
        owner += [i] * (len(places) - 1)
        radii.append(np.full(len(places), segment.radius))
        for shared in (places, radii[-1]):  # by every configuration
            shared.setflags(write=False)
        stations.append(places)
        slices.append(slice(node, node + len(places)))
        node += len(places)
        last.append(len(lengths) - 1)
    segments = structure.segments
    sections = np.array(
        [
            [
                1.0 / s.axial_stiffness,
                1.0 / s.bending_stiffness,
                1.5 / s.bending_stiffness,
                3.0 / (s.shear_factor * s.axial_stiffness),
            ]
            for s in segments
        ]
    )
    links, link_masses = np.zeros((2, len(lengths)))
    links[last], link_masses[last] = np.array([(s.link, s.link_mass) for s in segments]).T
    masses = np.empty((len(lengths), 3))
    beyond = structure.tip_mass
    for e in range(len(lengths) - 1, -1, -1):
        own = segments[owner[e]].linear_density * lengths[e]
        beyond += link_masses[e]
        masses[e] = beyond + own, beyond + 0.5 * own, beyond
        beyond += own
    chain = Chain(np.array(lengths), np.array(owner), sections, masses, links, link_masses)
    densities = np.array([s.linear_density for s in segments])
    shape = tuple(stations), tuple(radii), tuple(slices), tuple(last)
    return Grid(chain, densities, *shape, cuts)


def load_cuts(structure: SegmentChain, loads: tuple[Load, ...]) -> tuple[tuple[float, ...], ...]:
    """Return where loads cut elements, per segment; refuses loads on what does not exist.

    Raises UnknownName, InvalidInput.
    """
    names = [s.name for s in structure.segments]
    links = [f'{s.name}_link' for s in structure.segments if s.link > 0.0]
    found: list[list[float]] = [[] for _ in names]
    for k, load in enumerate(loads):
        if load.on == '' or load.on in links:
            continue
        if load.on not in names:
            raise UnknownName(f'loads[{k}].on', load.on, (*names, *links))
        i = names.index(load.on)
        length = structure.segments[i].length
        if not 0.0 <= load.arc_length <= length:
            expected = f'between 0 and {length:g} m along {load.on}, unloaded'
            raise InvalidInput(
                f'loads[{k}].arc_length', load.arc_length, expected, Code.OUT_OF_RANGE
            )
        found[i].append(load.arc_length)
    return tuple(tuple(x) for x in found)


def load_arrays(structure: SegmentChain, grid: Grid, load: LoadCase) -> PointLoads:
    """Return every load: weights, tip, points.

    The weights of tip and links belong to the actuation stage, so they are never ramped here.
    """
    rows: list[tuple[int, float, Array, bool, bool]] = []
    gravity = load.gravity
    segments = structure.segments
    for segment, element in zip(segments, grid.last_elements, strict=True):
        if segment.link_mass > 0.0:
            weight = _force(segment.link_mass * gravity)
            rows.append((element, 0.5 * segment.link, weight, False, False))
    tip = grid.last_elements[-1]
    if structure.tip_mass > 0.0:
        rows.append((tip, 0.0, _force(structure.tip_mass * gravity), False, False))
    if np.any(load.wrench):
        rows.append((tip, 0.0, load.wrench, False, True))
    names = [s.name for s in segments]
    for one in load.loads:
        local = one.axes is LoadAxes.LOCAL
        if one.on in names:
            i = names.index(one.on)
            node = int(np.abs(grid.stations[i] - one.arc_length).argmin())
            if node == 0 and i == 0:
                continue  # on the clamped base
            element = grid.slices[i].start - i + node - 1
            offset = segments[i - 1].link if node == 0 else 0.0
            rows.append((element, offset, one.wrench, local, True))
        elif one.on == '':
            rows.append((tip, 0.0, one.wrench, local, True))
        else:
            i = [f'{n}_link' for n in names].index(one.on)
            rows.append((grid.last_elements[i], 0.0, one.wrench, local, True))
    rows.sort(key=lambda row: row[0])
    return PointLoads(
        np.array([r[0] for r in rows], dtype=np.int64),
        np.array([r[1] for r in rows], dtype=float),
        np.array([r[2] for r in rows], dtype=float).reshape(-1, 6),
        np.array([r[3] for r in rows], dtype=np.bool_),
        np.array([r[4] for r in rows], dtype=np.bool_),
    )


def _force(force: Array) -> Array:
    return np.concatenate([force, np.zeros(3)])
