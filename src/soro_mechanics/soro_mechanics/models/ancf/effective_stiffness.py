# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How stiff a leg of the published energy (27) is along its axis: stiffer than its EA.

A leg that is strained by e(X) has r_X = 1 + e. Three terms of the energy see it::

    EA e^2 / 2                stretch (26), to first order
    EI e'^2 / 2               |r_XX|^2 is not the curvature: it holds the change of stretch too
    alpha |F|^2               y = z = 1 + a in F = (2 a, 2 a, 0, 2 a - e); least at a = e / 6,
                              alpha 2 / 3 e^2

so that E' = EA + 4 alpha / 3 resists the strain. At both ends r_X is a unit vector: e = 0 there,
and it grows over the length 1 / k, k = sqrt(E' / EI), as e = N / E' (1 - cosh k s / cosh k L / 2).
The whole leg therefore has::

    EA_eff = E' / (1 - 2 / (k L) tanh(k L / 2))

With finite elements it lies below: the cubic of one element cannot bend within 1 / k, and the
penalty stands at the interior nodes only.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.models.ancf.schema import SoftLegs


@dataclass(frozen=True)
class AxialStiffness:
    """Of one leg [N]: force over strain of its whole length, for small strains."""

    material: float  # EA of the robot file
    effective: float  # what the model computes with, at its number of elements
    limit: float  # EA_eff of infinitely many elements, the formula above


def axial_stiffness(legs: SoftLegs, stretch: float = 1.0) -> AxialStiffness:
    """Return how stiff a leg is along its axis when it is actuated to a stretch ratio (19)."""
    length = stretch * legs.length
    resisting = legs.tension + 4.0 / 3.0 * legs.penalty
    layers = length * math.sqrt(resisting / legs.bending)
    limit = resisting / (1.0 - 2.0 / layers * math.tanh(0.5 * layers))
    return AxialStiffness(legs.tension, _discrete(legs, length), limit)


def _discrete(legs: SoftLegs, length: float) -> float:
    """Return the stiffness of cubics (7) in displacement and strain, which is 0 at both ends."""
    count = legs.elements
    h = length / count
    xi, weight = np.polynomial.legendre.leggauss(4)
    xi, weight = 0.5 * (xi + 1.0), 0.5 * weight
    # strain and its slope by u1, e1, u2, e2
    strain = np.stack(
        [
            -6.0 * xi * (1.0 - xi) / h,
            1.0 - 4.0 * xi + 3.0 * xi**2,
            6.0 * xi * (1.0 - xi) / h,
            3.0 * xi**2 - 2.0 * xi,
        ]
    )
    slope = np.stack(
        [(12.0 * xi - 6.0) / h, 6.0 * xi - 4.0, (6.0 - 12.0 * xi) / h, 6.0 * xi - 2.0]
    )
    slope /= h
    element = h * (
        legs.tension * (strain * weight) @ strain.T + legs.bending * (slope * weight) @ slope.T
    )
    matrix = np.zeros((2 * count + 2, 2 * count + 2))
    for k in range(count):
        matrix[2 * k : 2 * k + 4, 2 * k : 2 * k + 4] += element
        if k > 0:
            matrix[2 * k + 1, 2 * k + 1] += 4.0 / 3.0 * legs.penalty * h
    free = [2 * k + i for k in range(1, count) for i in (0, 1)]
    by_end = matrix[free, 2 * count]
    held = matrix[2 * count, 2 * count] - by_end @ np.linalg.solve(
        matrix[np.ix_(free, free)], by_end
    )
    return float(held) * length
