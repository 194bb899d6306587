# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How much of a mesh is in doubt: a bound that costs next to nothing, for every solve.

Source: no paper; orders of Runge-Kutta 4, of two-node elements and of lumped loads, with factors
fitted to much finer meshes, as test_network_mesh_error.py checks.
"""

import math

from soro_mechanics.compilation.kernels import kernel
from soro_mechanics.numerics.vector_kernels import dot, each, row_at, times

STEPS, ELEMENTS, TENDONS = 0, 1, 2  # what a rod's pieces are; tendons act from node to node
# Factors that keep the sum above the true error of cantilevers and of the catalogue's robots.
TURNED = 1.0 / 300.0  # of an element that turns by an angle, in parts of its cube
STEPPED = 1.0 / 300.0  # of a step, in parts of (turn^2 + n h^2 / EI)^(5/2)
PULLED = 1.2  # of a piece with tendons, in parts of its turn and of the square of n h^2 / (12 EI)


@kernel
def doubt(pose, wrench, stress, length, g):
    """Return what the turns and forces of a solution leave to doubt, in parts of a rod's length.

    Largest sum over a rod of, for the turn t [rad] and force n of a step or piece of length h,

        STEPPED (t^2 + n h^2 / EI)^(5/2),   TURNED |h M / EI|^3   or   PULLED t (n h^2 / 12 EI)^2

    of a step of Runge-Kutta, of what the load turns an element, or of a tendon's load that is
    lumped. Errors of all pieces add up here, and each moves the tip by the whole length: the true
    one is mostly far smaller. pose (m, 4, 4), wrench (m, 6) [N, N m]: of the stations of all rods
    (`Shape`); stress (pieces, 6) [N, N m]; length (rods,) [m]; g: Segments.
    """
    worst = 0.0
    for r in range(g.kind.shape[0]):
        total = 0.0
        for k in range(g.first[r], g.first[r + 1] - 1):
            h = g.part[k] * length[r]
            if g.kind[r] == ELEMENTS:
                bent = times(h, each(row_at(g.soft, k, 0), row_at(stress, g.piece[k], 3)))
                turn = dot(bent, bent)
                total += TURNED * turn * math.sqrt(turn)
                continue
            force, trace = dot(row_at(wrench, k, 0), row_at(wrench, k, 0)), 0.0
            for j in range(3):
                trace += dot(row_at(pose[k], j, 0), row_at(pose[k + 1], j, 0))
            turn = max(3.0 - trace, 0.0)
            pull = math.sqrt(force) * h * h * max(g.soft[k, 0], g.soft[k, 1])
            if g.kind[r] == TENDONS:
                pull /= 12.0
                total += PULLED * math.sqrt(turn) * pull * pull
            else:
                size = turn + pull
                total += STEPPED * size * size * math.sqrt(size)
        worst = max(worst, total)
    return worst
