# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The published sums (5) of the compliance over the elements of a backbone (Shi 2023, 2.1).

    C_o = sum_i Ad(g_i) c_i Ad(g_i)^T lambda_i l_i

with g_i the middle of an element, or half of each of its ends: the integral (4) by the midpoint or
the trapezoid rule, of second order in the number of elements, for arcs and Cosserat rods alike.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.segments.grid import Grid
from soro_mechanics.numerics import lie


def compliance_sums(
    grid: Grid, record: Array, held: Array, backbones: tuple[Array, ...], rule: str
) -> Array:
    """Return the sums (nodes, 6, 6) from the base to every node, about the origin of base_link.

    record: of the increments, the stretch first, and held (elements, 3): of the sections, both at
    start, middle and end of the elements; backbones: poses (k, 4, 4) of the nodes, per segment.
    """
    lengths, segments, sections, _, _, _ = grid.chain
    sums = np.zeros((sum(len(poses) for poses in backbones), 6, 6))
    total = np.zeros((6, 6))
    for e, (length, i) in enumerate(zip(lengths, segments, strict=True)):
        node = e + i
        ends = backbones[i][node - grid.slices[i].start :][:2]
        sums[node] = total
        if rule == 'midpoint':
            half = lie.se3_exp(0.5 * lie.se3_log(lie.compose(lie.inverse(ends[0]), ends[1])))
            points = [(1, 1.0, lie.compose(ends[0], half))]
        else:
            points = [(0, 0.5, ends[0]), (2, 0.5, ends[1])]
        axial, bend, twist, shear = sections[i]
        for point, share, pose in points:
            stretch, a = record[e, point, 0], held[e, point]
            density = np.array([shear, shear, axial, bend * a, bend * a, twist * a]) * a
            spread = lie.adjoint(pose)
            total = total + share * length * stretch * (spread * density) @ spread.T
        sums[node + 1] = total
    return sums
