# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether rods may touch at all: the question after every solve, and nearly always no."""

import math

from soro_mechanics.numerics.kernels import fused_kernel


@fused_kernel
def _bound_chunks(pose, station, chunk, wide, spheres):
    """Write centre and radius (c, 4) of a sphere around each chunk of segments."""
    for c in range(wide.shape[0]):
        square = 0.0
        for i in range(3):
            low = math.inf
            high = -math.inf
            for k in range(chunk[c], chunk[c + 1]):
                for end in range(2):
                    v = pose[station[k] + end, i, 3]
                    low = min(low, v)
                    high = max(high, v)
            spheres[c, i] = 0.5 * (low + high)
            square += (high - low) * (high - low)
        spheres[c, 3] = 0.5 * math.sqrt(square) + wide[c]


@fused_kernel
def _segments_meet(pose, a, b, width):
    """Whether the spheres around two segments meet; a, b: their first stations."""
    apart = 0.0
    along_a = 0.0
    along_b = 0.0
    for i in range(3):
        a0 = pose[a, i, 3]
        a1 = pose[a + 1, i, 3]
        b0 = pose[b, i, 3]
        b1 = pose[b + 1, i, 3]
        apart += (a0 + a1 - b0 - b1) ** 2
        along_a += (a1 - a0) ** 2
        along_b += (b1 - b0) ** 2
    return math.sqrt(apart) < math.sqrt(along_a) + math.sqrt(along_b) + 2.0 * width


@fused_kernel
def may_touch(pose, station, rod, radius, chunk, wide, spheres, largest_turn):
    """Whether segments of two rods come near each other, or a rod turns enough to meet itself.

    Parameters
    ----------
    pose : ndarray, shape (stations, 4, 4)
    station, rod : ndarray of int, shape (n,)
        Of every segment: its first station and its rod.
    radius : ndarray, shape (n,) [m]
    chunk : ndarray of int, shape (c + 1,)
        First segment of every chunk; each belongs to one rod.
    wide : ndarray, shape (c,) [m]
        Largest radius in each chunk.
    spheres : ndarray, shape (c, 4)
        Scratch.
    largest_turn : float
        Turn of the tangent along a rod [rad] below which it cannot touch itself.
    """
    turn = 0.0
    for k in range(1, station.shape[0]):
        if rod[k] != rod[k - 1]:
            turn = 0.0
            continue
        cosine = 0.0
        for i in range(3):
            cosine += pose[station[k - 1], i, 2] * pose[station[k], i, 2]
        turn += math.acos(min(1.0, max(-1.0, cosine)))
        if turn > largest_turn:
            return True
    _bound_chunks(pose, station, chunk, wide, spheres)
    for c in range(wide.shape[0]):
        for e in range(c + 1, wide.shape[0]):
            if rod[chunk[c]] == rod[chunk[e]]:
                continue
            x = spheres[c, 0] - spheres[e, 0]
            y = spheres[c, 1] - spheres[e, 1]
            z = spheres[c, 2] - spheres[e, 2]
            reach = spheres[c, 3] + spheres[e, 3]
            if not x * x + y * y + z * z < reach * reach:
                continue
            for i in range(chunk[c], chunk[c + 1]):
                for j in range(chunk[e], chunk[e + 1]):
                    if _segments_meet(pose, station[i], station[j], radius[i] + radius[j]):
                        return True
    return False
