# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where tendons run: the mesh that they need, and their places in the sections."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.description.spec import DriveSpec, NetworkSpec, RodSpec, TENDONS
from soro_mechanics.models.network.rod_nodes import with_node


def with_tendon_mesh(spec: NetworkSpec) -> NetworkSpec:
    """Return the network with a node where a tendon begins or ends: it acts from node to node."""
    rods = list(spec.rods)
    for d in spec.drives:
        if d.kind in TENDONS:
            for at in d.span:
                fractions = with_node(rods[d.rod].fractions, at)
                rods[d.rod] = replace(rods[d.rod], fractions=fractions)
    return replace(spec, rods=tuple(rods))


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
