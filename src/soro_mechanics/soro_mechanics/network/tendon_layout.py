# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where tendons run: the mesh that they need, and their places in the sections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.configuration import Array
from soro_mechanics.network.rod_loads import NODE_MERGE
from soro_mechanics.network.spec import DriveSpec, NetworkSpec, RodSpec, TENDONS


def with_tendon_mesh(spec: NetworkSpec) -> NetworkSpec:
    """Return the network with a node after every step, and where a tendon begins or ends.

    A tendon acts from node to node, so integrated pieces are cut into their steps: the same
    discrete network otherwise. Without tendons nothing changes.
    """
    if not any(d.kind in TENDONS for d in spec.drives):
        return spec
    rods = []
    for r, rod in enumerate(spec.rods):
        fractions = rod.fractions
        for d in spec.drives:
            if d.kind in TENDONS and d.rod == r:
                fractions = _with_ends(fractions, d)
        if rod.macro:
            fractions = cut_fractions(fractions, spec.steps)
        rods.append(replace(rod, fractions=fractions))
    return replace(spec, rods=tuple(rods), steps=1)


def cut_fractions(fractions: Array, parts: int) -> Array:
    """Return the boundaries of pieces that are each cut into equal parts."""
    inner = fractions[:-1, None] + np.diff(fractions)[:, None] * (np.arange(parts) / parts)
    return np.append(inner.ravel(), fractions[-1])


def _with_ends(fractions: Array, drive: DriveSpec) -> Array:
    for at in drive.span:
        if np.min(np.abs(fractions - at)) > NODE_MERGE:
            fractions = np.sort(np.append(fractions, at))
    return fractions


def tendon_table(
    drives: tuple[DriveSpec, ...], rods: tuple[RodSpec, ...], rows: tuple[int, ...], count: int
) -> Array:
    """Return place in the section [m] and 1 where a tendon runs, shape (pieces, count, 3).

    rows: of every drive, the row of its rod's tendons; count: most tendons of a rod.
    """
    first = np.concatenate([[0], np.cumsum([len(r.fractions) - 1 for r in rods])])
    table = np.zeros((int(first[-1]) if count else 0, count, 3))
    for d, row in zip(drives, rows, strict=True):
        if d.kind not in TENDONS:
            continue
        fractions = rods[d.rod].fractions
        middle = 0.5 * (fractions[:-1] + fractions[1:])
        inside = np.flatnonzero((middle > d.span[0]) & (middle < d.span[1]))
        table[first[d.rod] + inside, row] = [*d.hole, 1.0]
    return table
