# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The section along a rod, and what its elements take of it."""

from __future__ import annotations

from collections.abc import Sequence
import itertools

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.models.network.arrays import TABLE
from soro_mechanics.models.network.description.cross_section import CrossSection, ShapedSection
from soro_mechanics.models.network.description.spec import RodSpec
from soro_mechanics.numerics import lie

PARTS = 8  # into which an element is cut where the rod is not the same all along it
GAUSS = 0.5 / np.sqrt(3.0)  # of two points in a part, from its middle


def section_at(rod: RodSpec, at: float) -> CrossSection:
    """Return the section at a fraction of the length."""
    if isinstance(rod.section, CrossSection):
        return rod.section
    if rod.section_end is None:
        return rod.section.cross_section()
    a: ShapedSection = rod.section
    return a.cross_section((1.0 - at) * a.size + at * rod.section_end.size)


def radius_at(rod: RodSpec, at: float) -> float:
    """Return the half thickness of a rod at a fraction of its length [m]."""
    return section_at(rod, at).radius


def half_sizes(rod: RodSpec, at: float) -> tuple[float, float]:
    """Return half the extent of the section along its local x and y [m]."""
    a = rod.section
    if isinstance(a, ShapedSection) and not is_round(rod):
        b = a if rod.section_end is None else rod.section_end
        size = 0.5 * ((1.0 - at) * a.size + at * b.size)
        return float(size[0]), float(size[1])
    radius = radius_at(rod, at)
    return radius, radius


def is_round(rod: RodSpec) -> bool:
    """Whether moments about x and y strain the same fibre only where they add up."""
    return not (isinstance(rod.section, ShapedSection) and rod.section.shape == 'rectangle')


def piece_sections(rod: RodSpec) -> tuple[Array, Array]:
    """Return the means (pieces, TABLE) and changes (pieces, 12) of a rod's elements."""
    pieces = [_element_section(rod, *ends) for ends in itertools.pairwise(rod.fractions)]
    means, changes = zip(*pieces, strict=True)
    return np.array(means), np.array(changes)


def _element_section(rod: RodSpec, start: float, end: float) -> tuple[Array, Array]:
    """Return section (13,) and change (12,) of a piece from one fraction of the rod to another.

    The section holds rest strain, flexibility and mass per length, the change that of the first
    two over the piece. Its rest strain joins the frames that the rod itself has at rest.
    """
    inside = (rod.curvature[:, 0] > start) & (rod.curvature[:, 0] < end)
    bent = bool(np.ptp(_curvature(rod, [start, *rod.curvature[inside, 0], end]), axis=0).any())
    parts = PARTS if bent or rod.section_end is not None else 1
    middle = (np.arange(parts) + 0.5) / parts
    at = (middle[:, None] + np.array([-GAUSS, GAUSS]) / parts).ravel()
    rows = _rows(rod, start + (end - start) * at)
    mean = rows.mean(axis=0)
    away = at - 0.5
    change = away @ rows[:, :12] / (away @ away)
    if bent:
        mean[:6] = _joining_strain(rows[:, :6].reshape(parts, 2, 6), (end - start) * rod.length)
    return mean, change


def thin(rest: Array, driven: Array) -> None:
    """Let sections (..., TABLE) of incompressible material get thinner under pressure, in place.

    The rest strain that comes in is e = c W. With EA as 1 / s and EI as 1 / s^2 of the stretch,
    along a straight path of W, s = 1 / (1 - e_z), the curvature per length at rest is s^2 e, and
    loads strain the section of then (Shi 2023, (13), (24), many increments). Raises InvalidInput
    where it stretches without bound.
    """
    strain = driven[..., 0:6] - rest[..., 0:6]
    room = 1.0 - strain[..., 2:3]
    if not (room > 0.0).all():
        expected = 'pressures that the material bears: it stretches without bound'
        raise InvalidInput('actuation', float(strain[..., 2].max()), expected)
    strain[..., 2:3] /= room
    strain[..., 3:6] /= room**2
    driven[..., 0:6] = rest[..., 0:6] + strain
    driven[..., 6:9] = rest[..., 6:9] / room**2
    driven[..., 9:12] = rest[..., 9:12] / room**3


def _rows(rod: RodSpec, at: Array) -> Array:
    """Return rest strain, flexibility and mass per length (k, TABLE) at fractions (k,)."""
    rows = np.zeros((len(at), TABLE))
    rows[:, 2] = 1.0
    rows[:, 3:6] = _curvature(rod, at)
    for row, place in zip(rows, at, strict=True):
        section = section_at(rod, place)
        row[6:12] = 1.0 / section.stiffness
        row[12] = section.mass
    return rows


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
