# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernel of the strain that bending gives the outer fibres of a rod."""

import math

from soro_mechanics.numerics.kernels import kernel


@kernel
def outer_strain(poses, radii):
    """Return the largest radius times turn of the z axis over distance between two stations.

    Poses (n, 4, 4), radii (n,) [m]; NaN where a pose is.
    """
    worst = 0.0
    for n in range(1, poses.shape[0]):
        chord = way = 0.0
        for i in range(3):
            chord += (poses[n, i, 2] - poses[n - 1, i, 2]) ** 2
            way += (poses[n, i, 3] - poses[n - 1, i, 3]) ** 2
        turn = 2.0 * math.asin(min(0.5 * math.sqrt(chord), 1.0))  # the chord is 2 sin(turn / 2)
        strain = radii[n] * turn / math.sqrt(way)
        if not strain <= worst:
            worst = strain
    return worst
