# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where rods touch, and how far sections are strained: asked after every solve.

The gap of two segments is the distance of their axes less both radii. Spheres around segments, and
around chunks of them, tell most pairs apart. Below, pose (m, 4, 4) are frames of nodes, base
axes [m], and g is Segments.

Source: Ericson (2005), Real-Time Collision Detection, 5.1.9 (distance of segments), checked by
sampling in test_network_validity.py, as is the strain of the outer fibre of a beam.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import fused_kernel, kernel, makes_arrays
from soro_mechanics.compilation.kernels_by_reference import by_reference
from soro_mechanics.models.network.kernels.mesh_kernels import doubt
from soro_mechanics.numerics.vector_kernels import column_at, dot, minus, plus, row_at, times

NEAR_RADII = 4.0  # rods that meet in a body may touch within so many radii of it,
NEAR_SEGMENTS = 2  # or within so many segments
# A curve whose tangent turns by less keeps points pi radii apart along it from meeting: its chord
# is at least the arc times the cosine of half the turn.
TURN_TO_TOUCH = 2.0 * math.acos(2.0 / math.pi)


@by_reference
class Segments(NamedTuple):
    """The segments (n,) of all rods, one after the other, and their nodes (m,)."""

    node: NDArray[np.int64]  # (n,) first node
    rod: NDArray[np.int64]  # (n,)
    number: NDArray[np.int64]  # (n,) of the segment along its rod
    radius: NDArray[np.float64]  # (n,) [m]
    start: NDArray[np.float64]  # (n,) arc [m]
    end: NDArray[np.float64]  # (n,) arc [m]
    first: NDArray[np.int64]  # (rods + 1,) node of every rod
    length: NDArray[np.float64]  # (rods,) [m]
    bodies: NDArray[np.int64]  # (rods, 2)
    chunk: NDArray[np.int64]  # (c + 1,) first segment of every chunk; each is of one rod
    wide: NDArray[np.float64]  # (c,) [m] largest radius
    piece: NDArray[np.int64]  # (m,)
    round: NDArray[np.bool_]  # (m,)
    strain: NDArray[np.float64]  # (m, 3) per axial force and moments, at the outer fibre
    pulled: NDArray[np.bool_]  # (rods,) by tendons
    part: NDArray[np.float64]  # (m,) way to the next node, in lengths of the rod
    soft: NDArray[np.float64]  # (m, 3) flexibility against moments


@kernel
def examine(pose, stress, length, g, limit, strain):
    """Write `surface_strains`; return what is not valid, and the `doubt`.

    That is the rod that is strained the farthest beyond its limit (rods,), and the two segments
    that overlap most; -1 where there is none. pose, g: above; stress (pieces, 6): of elements
    [N, N m]; length (rods,) [m]; strain (rods,): out.
    """
    surface_strains(stress, g, strain)
    worst, share = -1, 1.0
    for r in range(strain.shape[0]):
        if strain[r] / limit[r] > share:
            worst, share = r, strain[r] / limit[r]
    _, first, second = nearest_segments(pose, g, 0.0)
    return worst, first, second, doubt(stress, length, g)


@fused_kernel
def surface_strains(stress, g, strain):
    """Write the largest strain (rods,) of the outer fibre: of stretch and bending together.

    |N| / EA + r |M| / EI, not round: r_y |M_x| / EI_x + r_x |M_y| / EI_y for the last. stress
    (pieces, 6) [N, N m]: of elements; g: Segments; strain: out.
    """
    for r in range(strain.shape[0]):
        strain[r] = 0.0
        for k in range(g.first[r], g.first[r + 1]):
            w = stress[g.piece[k]]
            x = abs(w[3]) * g.strain[k, 1]
            y = abs(w[4]) * g.strain[k, 2]
            bend = math.sqrt(x * x + y * y) if g.round[k] else x + y
            strain[r] = max(strain[r], abs(w[2]) * g.strain[k, 0] + bend)


@makes_arrays
@fused_kernel
def nearest_segments(pose, g, below):
    """Return the smallest gap [m] under `below`, and its two segments; -1 where there is none.

    Neighbours are left out: next to a body in which both rods end, or along one rod, where only an
    overlap is a gap, and only of a rod that turns by TURN_TO_TOUCH. pose, g: as above; below [m].
    """
    first = second = -1
    turned = _turned(pose, g)
    spheres = _spheres(pose, g)
    for c in range(g.wide.shape[0]):
        for e in range(c, g.wide.shape[0]):
            same = g.rod[g.chunk[c]] == g.rod[g.chunk[e]]
            if same and not turned[g.rod[g.chunk[c]]]:
                continue
            limit = min(below, 0.0) if same else below
            apart = minus(row_at(spheres, c, 0), row_at(spheres, e, 0))
            reach = spheres[c, 3] + spheres[e, 3] + limit
            if not (reach > 0.0 and dot(apart, apart) < reach * reach):
                continue
            for i in range(g.chunk[c], g.chunk[c + 1]):
                for j in range(max(i + 1, g.chunk[e]), g.chunk[e + 1]):
                    width = g.radius[i] + g.radius[j]
                    if not _may_meet(pose, g.node[i], g.node[j], width + limit):
                        continue
                    if _neighbours(g, i, j, width):
                        continue
                    gap = axes_apart(pose, g.node[i], g.node[j]) - width
                    if gap < limit:
                        below = gap
                        limit = gap
                        first = i
                        second = j
    return below, first, second


@fused_kernel
def _turned(pose, g):
    """Return of every rod (rods,) whether its tangent turns enough to meet itself; pose, g: above.

    The sum of angles from node to node, without the last, is above TURN_TO_TOUCH.
    """
    turned = np.empty(g.length.shape[0], np.bool_)
    for r in range(turned.shape[0]):
        turn = 0.0
        for k in range(g.first[r] + 1, g.first[r + 1] - 1):
            cosine = dot(column_at(pose[k - 1], 0, 2), column_at(pose[k], 0, 2))
            turn += math.acos(min(1.0, max(-1.0, cosine)))
        turned[r] = turn > TURN_TO_TOUCH
    return turned


@fused_kernel
def _spheres(pose, g):
    """Return centre and radius (c, 4) [m] of a sphere around the box of each chunk; pose, g."""
    spheres = np.empty((g.wide.shape[0], 4))
    for c in range(spheres.shape[0]):
        square = 0.0
        for i in range(3):
            low = math.inf
            high = -math.inf
            for k in range(g.node[g.chunk[c]], g.node[g.chunk[c + 1] - 1] + 2):
                low = min(low, pose[k, i, 3])
                high = max(high, pose[k, i, 3])
            spheres[c, i] = 0.5 * (low + high)
            square += (high - low) * (high - low)
        spheres[c, 3] = 0.5 * math.sqrt(square) + g.wide[c]
    return spheres


@fused_kernel
def _may_meet(pose, a, b, width):
    """Return whether spheres around the segments after nodes a, b meet; pose: above.

    |mid_a - mid_b| < (|u| + |v|) / 2 + width of segments u, v; width [m]: sum of radii.
    """
    a0, a1 = column_at(pose[a], 0, 3), column_at(pose[a + 1], 0, 3)
    b0, b1 = column_at(pose[b], 0, 3), column_at(pose[b + 1], 0, 3)
    apart, u, v = minus(plus(a0, a1), plus(b0, b1)), minus(a1, a0), minus(b1, b0)
    reach = math.sqrt(dot(u, u)) + math.sqrt(dot(v, v)) + 2.0 * width
    return math.sqrt(dot(apart, apart)) < reach


@fused_kernel
def _neighbours(g, i, j, width):
    """Return whether segments i, j of g are next to each other by construction.

    Along one rod: at most pi / 2 width between them; else both `_by_end`. width [m]: sum of radii.
    """
    a = g.rod[i]
    b = g.rod[j]
    if a == b:
        return max(g.start[j] - g.end[i], g.start[i] - g.end[j]) <= 0.5 * math.pi * width
    for e in range(2):
        for f in range(2):
            if g.bodies[a, e] == g.bodies[b, f]:
                if _by_end(g, i, e, width) and _by_end(g, j, f, width):
                    return True
    return False


@fused_kernel
def _by_end(g, i, e, width):
    """Return whether segment i lies next to end e of its rod.

    Its number from there is below NEAR_SEGMENTS, or its way below NEAR_RADII width / 2 [m];
    g: Segments; width [m]: sum of radii.
    """
    r = g.rod[i]
    away = g.start[i] if e == 0 else g.length[r] - g.end[i]
    number = g.number[i] if e == 0 else g.first[r + 1] - g.first[r] - 2 - g.number[i]
    return number < NEAR_SEGMENTS or away < 0.5 * NEAR_RADII * width


@fused_kernel
def axes_apart(pose, a, b):
    """Return the distance [m] of the segments after nodes a and b; pose (m, 4, 4) [m].

    Least |w + s u - t v|, w = p_a - p_b, u and v the segments, 0 <= s, t <= 1: the best point of
    each for both ends of the other, and the common perpendicular where it meets both.
    """
    u = minus(column_at(pose[a + 1], 0, 3), column_at(pose[a], 0, 3))
    v = minus(column_at(pose[b + 1], 0, 3), column_at(pose[b], 0, 3))
    w = minus(column_at(pose[a], 0, 3), column_at(pose[b], 0, 3))
    uu, uv, vv, uw, vw = dot(u, u), dot(u, v), dot(v, v), dot(u, w), dot(v, w)
    det = uu * vv - uv * uv
    best = math.inf
    for k in range(3):
        s = float(k)
        if k == 2:
            s = (uv * vw - vv * uw) / det if det > 0.0 else 0.0
        s = min(1.0, max(0.0, s))
        t = min(1.0, max(0.0, (vw + s * uv) / vv))
        s = min(1.0, max(0.0, (t * uv - uw) / uu))
        apart = plus(w, minus(times(s, u), times(t, v)))
        best = min(best, dot(apart, apart))
    return math.sqrt(best)
