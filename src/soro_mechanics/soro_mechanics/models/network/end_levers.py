# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the mass of the first and the last element of a rod sits: not in its end.

Of a mass that moves as Hermite's cubic between the frames of an element, half sits a sixth of its
length inside either end, as its weight does (`add_element_weight`). Between equal elements the
levers cancel; without those at the ends, frequencies err by the second order of the length.
"""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.arrays import Integers, Structure

MARGIN = 1.01  # of the rotary inertia that keeps the inertia of an end positive
HATS = np.zeros((3, 9))
HATS[[0, 0, 1, 1, 2, 2], [5, 7, 2, 6, 1, 3]] = [-1.0, 1.0, 1.0, -1.0, -1.0, 1.0]


def ends_of(s: Structure) -> tuple[Integers, Integers]:
    """Return nodes and elements (2 rods,) at the first ends of all rods, then at the last."""
    nodes = np.append(s.rod_node[:-1], s.rod_node[1:] - 1)
    return nodes, np.append(s.rod_piece[:-1], s.rod_piece[1:] - 1)


def end_moments(size: Array, half: Array, axis: Array) -> tuple[Array, Array]:
    """Return matrices of m c x (2 rods, 3, 3) [kg m], and what turns (2 rods, 3) [kg m^2].

    Of lengths (2 rods,) [m] and half masses (2 rods,) [kg] of the elements, and tangents
    (2 rods, 3) at rest. What turns belongs to both nodes of an element.
    """
    arm = size / 6.0 * np.repeat([1.0, -1.0], len(size) // 2)
    hats = (((arm * half)[:, None] * axis) @ HATS).reshape(-1, 3, 3)
    across = (axis**2).sum(axis=1, keepdims=True) - axis**2  # a rest stretch makes tangents longer
    return hats, (MARGIN * half * arm**2)[:, None] * across
