# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Friction of a tendon around guides: the far end feels the tension late (Euler, Eytelwein)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.models.network.description.spec import DriveSpec, TENDONS

SLIDES = 1e-4  # m, of a motor's way from sliding in to sliding out; assumed


class Capstan:
    """m tendons, each around guides by a total angle [rad].

    The tension behind the guides stays until it differs from that before them by more than the
    factor exp(friction wrap): a play operator of logarithms, rate-independent.

    `friction`: coefficient; 0.1 to 0.3 of steel or polymer ropes on polymer (assumed where not
    measured). `tension` (m,) [N]: behind the guides at first.
    """

    def __init__(self, friction: float, tension: Array) -> None:
        self._friction = friction
        self._tension = np.array(tension, dtype=float)
        self._slid, self._pull = np.zeros(len(tension)), np.zeros(len(tension))

    def apply(self, tension: Array, wrap: Array | float) -> Array:
        """Return the tensions (m,) [N] behind guides wrapped by `wrap` [rad], at least zero."""
        pulled = np.maximum(tension, 0.0)
        factor = np.exp(self._friction * np.abs(wrap))
        self._tension = np.clip(self._tension, pulled / factor, pulled * factor)
        return self._tension.copy()

    def resist(self, tension: Array, wrap: Array | float, pull: Array) -> Array:
        """Return what motors bear that have taken in `pull` (m,) [m] of tendons with a tension.

        More by the factor while they take in, less while they let out, in between on the way.
        """
        self._slid = np.clip(self._slid + 2.0 / SLIDES * (pull - self._pull), -1.0, 1.0)
        self._pull = pull.copy()
        return np.asarray(tension * np.exp(self._friction * np.abs(wrap) * self._slid))


def tendon_wraps(drives: Sequence[DriveSpec], q: Configuration) -> Array:
    """Return by how much the rods along each actuator's tendon turn (m,) [rad]; others: zero."""
    out, seen = np.zeros(len(q.actuation)), set()
    for d in drives:
        place = d.actuator, d.rod, d.span
        if d.kind in TENDONS and place not in seen:  # tendons of one drive run side by side
            seen.add(place)
            arc, axis = q.arc_lengths[d.rod], q.backbones[d.rod][:, :3, 2]
            turn = np.arccos(np.clip(np.einsum('ki,ki->k', axis[1:], axis[:-1]), -1.0, 1.0))
            middle = 0.5 * (arc[1:] + arc[:-1]) / arc[-1]
            inside = (middle > d.span[0]) & (middle < d.span[1])
            out[d.actuator] = max(out[d.actuator], 0.0) + turn[inside].sum()
    return out
