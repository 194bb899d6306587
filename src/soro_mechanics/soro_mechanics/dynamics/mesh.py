# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The mesh of a network in motion: two-node elements, whose nodes carry the mass of the rods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Array, Load
from soro_mechanics.dynamics.motion import Motion
from soro_mechanics.models.network.arrays import Inputs
from soro_mechanics.models.network.description.cross_section import ShapedSection
from soro_mechanics.models.network.description.spec import LENGTHS, NetworkSpec, RodSpec, TENDONS
from soro_mechanics.models.network.end_levers import end_moments, ends_of
from soro_mechanics.models.network.frequencies import body_inertia
from soro_mechanics.models.network.layout import build_layout, Layout
from soro_mechanics.models.network.rod_loads import split_at_loads
from soro_mechanics.models.network.rod_sections import section_at

EQUAL = 1e-6  # parts of an element by which equal ones may differ


def moving_layout(
    spec: NetworkSpec, actuators: int, elements: int | None, loads: Sequence[Load] = ()
) -> Layout:
    """Return a network on the mesh of its motion.

    `elements`: of every rod that has equal ones in statics, which is the default; a rod that
    nothing bends (without mass, hinged at both ends) is one. `loads`: nodes are put where those on
    rods act.
    """
    rods = []
    for i, rod in enumerate(spec.rods):
        count, sizes = 1 if _is_strut(spec, i) else elements, np.diff(rod.fractions)
        if count is not None and np.ptp(sizes) < EQUAL * sizes[0]:
            rod = replace(rod, fractions=np.linspace(0.0, 1.0, count + 1))
        rods.append(rod)
    made = replace(spec, rods=tuple(rods))
    return build_layout(split_at_loads(made, tuple(loads)), actuators)


def _is_strut(spec: NetworkSpec, index: int) -> bool:
    rod = spec.rods[index]
    hinged = all(e.joint in ('universal', 'spherical') for e in rod.ends)
    bent = any(d.rod == index and d.kind in ('curvature', *TENDONS) for d in spec.drives)
    straight = not rod.curvature[:, 1:].any() and not bent
    return hinged and straight and section_at(rod, 0.5).mass == 0.0


def rotary_inertia(rod: RodSpec, at: float) -> Array:
    """Return the moments of inertia (3,) [kg m] per length of a rod at a fraction of it.

    Of a section that is given by its stiffness: those of a full disk of its radius (assumed).
    """
    section = section_at(rod, at)
    if isinstance(rod.section, ShapedSection):
        bending = rod.section.density / rod.section.young * section.stiffness[3:5]
    else:
        bending = np.full(2, 0.25 * section.mass * section.radius**2)
    return np.append(bending, bending.sum())


class Inertia:
    """Masses of bodies and elements; `rotary`: whether sections resist turning."""

    def __init__(self, layout: Layout, rotary: bool = True) -> None:
        s = layout.structure
        rods = layout.spec.rods
        self.owner = np.repeat(np.arange(len(rods)), np.diff(s.rod_piece))
        middles = [0.5 * (r.fractions[:-1] + r.fractions[1:]) for r in rods]
        per_length = np.zeros((len(s.share), 6))
        per_length[:, :3] = layout.sections[:, 12:]
        if rotary:
            turns = [rotary_inertia(r, a) for r, at in zip(rods, middles, strict=True) for a in at]
            per_length[:, 3:] = turns
        self.half = 0.5 * per_length * s.share[:, None]  # of an element, per length of its rod
        self.body = np.array([body_inertia(b) for b in layout.spec.bodies])
        self.moving = bool(self.body.any() or per_length.any())
        self.scale = 1.0  # of all inertia, see `Stepper.fit`
        self._nodes, self._ends = ends_of(s)
        self._at, self._fed = layout.lengths, any(d.kind in LENGTHS for d in layout.spec.drives)
        self._rods, self._share = self.owner[self._ends], s.share[self._ends]

    def write(self, m: Motion) -> None:
        """Write what the kernels make the inertia of."""
        m.body_mass[:] = self.scale * self.body
        m.mass[:] = self.scale * self.half

    def write_levers(self, x: Inputs, m: Motion, again: bool = False) -> None:
        """Place the mass of the ends of the rods at their lengths; again: if those change."""
        if again and (not self._fed or (x.length == self._at).all()):
            return
        self._at = x.length.copy()
        ends, nodes, length = self._ends, self._nodes, x.length[self._rods]
        part = length * x.dilution[self._rods]
        half, axis = m.mass[ends, 0] * part, x.section[ends, :3]
        moment, turn = end_moments(length * self._share, half, axis)
        m.mass[ends, 3:] = self.scale * self.half[ends, 3:] + turn / part[:, None]
        m.node_mass[nodes, 3:, :3], m.node_mass[nodes, :3, 3:] = moment, -moment
