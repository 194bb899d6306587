# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a two-node element takes of its rod: means over its length, and what changes along it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.models.network.cross_section import CrossSection
from soro_mechanics.models.network.spec import RodSpec
from soro_mechanics.numerics import lie

PARTS = 8  # into which an element is cut where the rod is not the same all along it
GAUSS = 0.5 / np.sqrt(3.0)  # of two points in a part, from its middle


def element_section(
    rod: RodSpec, start: float, end: float, section_at: Callable[[RodSpec, float], CrossSection]
) -> tuple[Array, Array]:
    """Return section (13,) and change (12,) of a piece from one fraction of the rod to another.

    The section holds rest strain, flexibility and mass per length, the change that of the first
    two over the piece. Its rest strain joins the frames that the rod itself has at rest.
    """
    inside = (rod.curvature[:, 0] > start) & (rod.curvature[:, 0] < end)
    bent = bool(np.ptp(_curvature(rod, [start, *rod.curvature[inside, 0], end]), axis=0).any())
    parts = PARTS if bent or rod.section_end is not None else 1
    middle = (np.arange(parts) + 0.5) / parts
    at = (middle[:, None] + np.array([-GAUSS, GAUSS]) / parts).ravel()
    rows = np.zeros((2 * parts, 13))
    rows[:, 2] = 1.0
    rows[:, 3:6] = _curvature(rod, start + (end - start) * at)
    for row, place in zip(rows, start + (end - start) * at, strict=True):
        section = section_at(rod, place)
        row[6:12] = 1.0 / section.stiffness
        row[12] = section.mass
    mean = rows.mean(axis=0)
    away = at - 0.5
    change = away @ rows[:, :12] / (away @ away)
    if bent:
        mean[:6] = _joining_strain(rows[:, :6].reshape(parts, 2, 6), (end - start) * rod.length)
    return mean, change


def _joining_strain(strain: Array, length: float) -> Array:
    """Return the constant strain (6,) that joins two frames of a rod at rest (Magnus, order 4).

    strain (parts, 2, 6) at the Gauss points of equal parts.
    """
    h, pose = length / len(strain), np.eye(4)
    for a, b in strain:
        turned = lie.small_adjoint(a) @ b
        pose = pose @ lie.se3_exp(0.5 * h * (a + b) + np.sqrt(3.0) / 12.0 * h * h * turned)
    return np.asarray(lie.se3_log(pose)) / length


def _curvature(rod: RodSpec, at: Sequence[float] | Array) -> Array:
    """Return the rest curvature (k, 3) at fractions of the length."""
    return np.stack(
        [np.interp(np.asarray(at), rod.curvature[:, 0], c) for c in rod.curvature.T[1:]], axis=1
    )
