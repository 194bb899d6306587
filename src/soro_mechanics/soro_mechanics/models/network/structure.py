# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""From a checked description of a network to the arrays that no solve changes."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import Counts, Integers, Structure
from soro_mechanics.models.network.description.spec import (
    DriveSpec,
    GROUND,
    JOINTS,
    LENGTHS,
    NetworkSpec,
    RodSpec,
    STRAINS,
    TENDONS,
)
from soro_mechanics.models.network.rod_sections import piece_sections
from soro_mechanics.models.network.tendon.layout import tendon_table


def make_structure(spec: NetworkSpec) -> tuple[Structure, Array, tuple[int, ...]]:
    """Return the arrays, sections (pieces, TABLE) at rest, and the drives' slots."""
    bodies, rods, drives = [b.name for b in spec.bodies], spec.rods, spec.drives
    pieces = [len(r.fractions) - 1 for r in rods]
    rod_piece = np.concatenate([[0], np.cumsum(pieces)])
    rod_node = rod_piece + np.arange(len(rods) + 1)
    sections, changes = (
        np.concatenate(parts) for parts in zip(*map(piece_sections, rods), strict=True)
    )
    slots, shifts, tensions = _slots(drives, len(rods))
    shift = np.zeros((rod_piece[-1], shifts, 6))
    for d, slot in zip(drives, slots, strict=True):
        if d.kind in STRAINS:
            own = slice(rod_piece[d.rod], rod_piece[d.rod + 1])
            # a wrench inside the rod works as the rest strain c F (Shi 2023, eq 8 ff.)
            soft = sections[own, 6:12] if d.kind == 'pressure' else 1.0
            shift[own, slot - 1] = soft * d.shift
    maps = [(d.actuator, d.rod, slot) for d, slot in zip(drives, slots, strict=True)]
    rows = tuple(slot - 1 - shifts for slot in slots)
    heavy = {d.rod for d in drives if d.kind == 'unloaded_length'}
    restiffened = {d.rod for d in drives if d.kind in (*LENGTHS, *STRAINS)}
    length = float(np.mean([r.length for r in rods]))
    flexible = 1.0 / np.mean(sections[:, 9:11])
    structure = Structure(
        counts=Counts(
            bodies=len(bodies),
            rods=len(rods),
            nodes=int(rod_node[-1]),
            pieces=int(rod_piece[-1]),
            slots=shifts + tensions,
            maps=len(maps),
        ),
        rod_node=integers(rod_node),
        rod_piece=integers(rod_piece),
        rod_body=integers([[bodies.index(e.body) for e in r.ends] for r in rods]),
        attach=np.array([[e.attach for e in r.ends] for r in rods]),
        motor_axis=np.array([[e.motor_axis for e in r.ends] for r in rods]),
        offset=np.array([[e.crank for e in r.ends] for r in rods]),
        joint_kind=integers([[JOINTS.index(e.joint) for e in r.ends] for r in rods]),
        joint_axes=np.array([[e.axes for e in r.ends] for r in rods]),
        share=np.concatenate([np.diff(r.fractions) for r in rods]),
        shift=shift,
        change=changes,
        restiffened=np.isin(np.arange(len(rods)), list(restiffened)),
        keeps_mass=integers([int(i in heavy) for i in range(len(rods))]),
        tendon=tendon_table(drives, rods, rows, tensions),
        keep_first=integers([_keep_first(r, i, drives) for i, r in enumerate(rods)]),
        map_index=integers(maps).reshape(-1, 3),
        body_mass=np.array([b.mass for b in spec.bodies]),
        body_centre=np.array([b.centre for b in spec.bodies]),
        scale=np.array([length, flexible / length**2]),
    )
    return structure, sections, slots


def integers(values: object) -> Integers:
    """Return an array as the kernels take whole numbers."""
    return np.ascontiguousarray(np.array(values, dtype=np.int64))


def _keep_first(rod: RodSpec, index: int, drives: tuple[DriveSpec, ...]) -> int:
    first = rod.ends[0]
    if first.body != GROUND or first.joint != 'clamped':
        return 2
    return int(any(d.rod == index and d.kind == 'angle' and d.end == 0 for d in drives))


def _slots(drives: tuple[DriveSpec, ...], rods: int) -> tuple[tuple[int, ...], int, int]:
    """Return the slot of every drive, and the most rest strains and tensions of a rod."""
    used = [
        [sum(d.rod == r and d.kind in k for d in drives) for k in (STRAINS, TENDONS)]
        for r in range(rods)
    ]
    shifts, tensions = np.max(used, axis=0).tolist()
    slots = []
    seen = np.zeros((rods, 2), dtype=int)
    for d in drives:
        if d.kind in (*STRAINS, *TENDONS):
            row = int(d.kind in TENDONS)
            seen[d.rod, row] += 1
            slots.append(int(seen[d.rod, row]) + row * shifts)
        else:
            slots.append(0 if d.kind in LENGTHS else 1 + shifts + tensions + d.end)
    return tuple(slots), shifts, tensions
