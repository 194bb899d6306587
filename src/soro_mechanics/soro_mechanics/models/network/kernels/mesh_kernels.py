# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How much of a mesh is in doubt: a bound that costs next to nothing, for every solve.

Source: no paper; orders of two-node elements and of lumped loads, with factors fitted to much
finer meshes, as test_network_mesh_error.py checks.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.vector_kernels import dot, each, row_at, times

# Factors that keep the sum above the true error of cantilevers and of the catalogue's robots.
TURNED = 1.0 / 300.0  # of an element that turns by an angle, in parts of its cube
PULLED = 1.2  # of a piece with tendons, in parts of its turn and of the square of n h^2 / (12 EI)


@kernel
def doubt(stress, length, g):
    """Return what the turns and forces of a solution leave to doubt, in parts of a rod's length.

    Largest sum over a rod of, for force n and moment M of an element of length h, t = |h M / EI|,

        TURNED t^3 + PULLED t (n h^2 / 12 EI)^2

    of what the load turns an element, and of a tendon's load that is lumped, where one runs.
    Errors of all elements add up here, and each moves the tip by the whole length: the true one is
    mostly far smaller. stress (pieces, 6) [N, N m]; length (rods,) [m]; g: Segments.
    """
    worst = 0.0
    for r in range(g.pulled.shape[0]):
        total = 0.0
        for k in range(g.first[r], g.first[r + 1] - 1):
            h, held = g.part[k] * length[r], row_at(stress, g.piece[k], 0)
            bent = times(h, each(row_at(g.soft, k, 0), row_at(stress, g.piece[k], 3)))
            turn = math.sqrt(dot(bent, bent))
            total += TURNED * turn**3
            if g.pulled[r]:
                pull = math.sqrt(dot(held, held)) * h * h * max(g.soft[k, 0], g.soft[k, 1]) / 12.0
                total += PULLED * turn * pull * pull
        worst = max(worst, total)
    return worst
