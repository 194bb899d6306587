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
from soro_mechanics.models.network.arrays import Structure

MARGIN = 1.01  # of the rotary inertia that keeps the inertia of an end positive
HATS = np.zeros((3, 9))
HATS[[0, 0, 1, 1, 2, 2], [5, 7, 2, 6, 1, 3]] = [-1.0, 1.0, 1.0, -1.0, -1.0, 1.0]


class EndLevers:
    """The ends of all rods: first ones, then last ones.

    `node`, `piece` (2 rods,): their nodes and elements.
    """

    def __init__(self, s: Structure) -> None:
        self.node = np.append(s.rod_node[:-1], s.rod_node[1:] - 1)
        self.piece = np.append(s.rod_piece[:-1], s.rod_piece[1:] - 1)
        self._sign = np.repeat([1.0, -1.0], len(s.rod_piece) - 1)
        self._share = s.share[self.piece]

    def moments(self, length: Array, half: Array, axis: Array) -> tuple[Array, Array]:
        """Return matrices of m c x (2 rods, 3, 3) [kg m], and what turns (2 rods, 3) [kg m^2].

        The latter belongs to both nodes of the element.

        Parameters
        ----------
        length : ndarray, shape (rods,) [m]
        half : ndarray, shape (2 rods,) [kg]
            Of the elements' masses.
        axis : ndarray, shape (2 rods, 3)
            Tangents there at rest: strains.
        """
        arm = np.append(length, length) * self._share / 6.0
        hats = (((self._sign * arm * half)[:, None] * axis) @ HATS).reshape(-1, 3, 3)
        return hats, (MARGIN * half * arm**2)[:, None] * (1.0 - axis**2)
