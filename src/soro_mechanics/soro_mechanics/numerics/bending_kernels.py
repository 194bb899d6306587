# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernel of the strain that bending gives the outer fibres of a rod.

Source: Euler-Bernoulli beam, radius times curvature; checked by an arc in test_strain_check.py.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.vector_kernels import column_at, dot, minus


@kernel
def outer_strain(poses, radii):
    """Return the largest radius times turn of the z axis over distance between two stations.

    2 r asin(|dz| / 2) / |dp|, and of which rod; poses (rods, n, 4, 4), radii (n,) [m] of each rod.
    """
    worst, where = 0.0, 0
    for rod in range(poses.shape[0]):
        for n in range(1, poses.shape[1]):
            now, last = poses[rod, n], poses[rod, n - 1]
            chord = minus(column_at(now, 0, 2), column_at(last, 0, 2))
            way = minus(column_at(now, 0, 3), column_at(last, 0, 3))
            half = 0.5 * math.sqrt(dot(chord, chord))  # sin(turn / 2)
            strain = radii[n] * 2.0 * math.asin(min(half, 1.0)) / math.sqrt(dot(way, way))
            if not strain <= worst:
                worst, where = strain, rod
    return worst, where
