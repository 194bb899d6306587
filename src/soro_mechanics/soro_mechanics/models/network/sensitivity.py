# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How the tip follows what a network is made of: moduli, sizes, lengths, rest curvatures.

The network is solved again with the parameter a little smaller and larger. From the solution in
hand that takes a few Newton steps, which go on to the floor of double precision, so the central
difference is good to about five digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import State
from soro_mechanics.models.network.description.cross_section import CrossSection, ShapedSection
from soro_mechanics.models.network.description.spec import LENGTHS, RodSpec
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.numerics import lie

STEP = 1e-3  # of a parameter, in parts of itself
FLOOR = 1e-3  # of the usual tolerance, down to which Newton goes on
MAX_STEPS = 8
ALL = '*'  # in place of a rod's name: all rods together


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Derivatives by parameters."""

    parameters: tuple[str, ...]
    #: (k,); of each parameter [SI]; of the first rod where the parameter belongs to all
    value: Array
    #: (6, k); twist of the tip (linear first, at the tip, base axes) per unit of each parameter
    tip: Array
    #: (k, 6, 6), or None; change of the tip's compliance per unit, base axes; None unless asked
    #: for
    compliance: Array | None = None

    @property
    def relative(self) -> Array:
        """Return (6, k): twist of the tip per whole change of each parameter."""
        return self.tip * self.value


def sensitivity(
    q: Configuration, parameters: Sequence[str], compliance: bool = False
) -> Sensitivity:
    """Return how tip (and compliance) follow parameters, the actuators held.

    Parameters
    ----------
    parameters : sequence of str
        ``rod.quantity``, or ``*.quantity`` for all rods together. Quantities: `length`,
        `rest_curvature_x`, `_y`, `_z` (added everywhere), `density`; of shaped sections `young`,
        `shear_modulus`, `radius`, `inner_radius`, `width`, `thickness`; of measured ones `axial`,
        `shear`, `bending_x`, `bending_y`, `torsion`.
    compliance : bool
        Also differentiate the compliance.
    """
    named = isinstance(parameters, list | tuple) and all(isinstance(p, str) for p in parameters)
    if not named or not parameters:
        raise InvalidInput('parameters', parameters, 'a list of names like rod.young')
    study = _Study(q)
    values, tips, changes = [], [], []
    for name in parameters:
        value, step = study.parameter(name)
        values.append(value)
        ends = [study.solved(name, sign * step) for sign in (-1.0, 1.0)]
        tips.append(lie.pose_error(ends[0][0], ends[1][0]) / (2.0 * step))
        if compliance:
            pair = [study.compliance(solver, state) for _, solver, state in ends]
            changes.append((pair[1] - pair[0]) / (2.0 * step))
    found = np.array(changes) if compliance else None
    return Sensitivity(tuple(parameters), np.array(values), np.array(tips).T, found)


class _Study:
    def __init__(self, q: Configuration) -> None:
        self._solution = q.state
        self._layout: lay.Layout = q.state.equilibrium.layout
        self._names = list(self._layout.rods)

    def parameter(self, name: str) -> tuple[float, float]:
        """Return the value of a parameter and a step of it."""
        chosen, quantity = self._rods(name), name.rpartition('.')[2]
        rods = [self._layout.spec.rods[i] for i in chosen]
        value = [_read(r, quantity, name) for r in rods][0]
        driven = {d.rod for d in self._layout.spec.drives if d.kind in LENGTHS}
        if quantity == 'length' and driven & set(chosen):
            remedy = 'a rod whose length no actuator drives (its Jacobian says that)'
            raise InvalidInput('parameters', name, remedy, Code.UNSUPPORTED)
        # a rest curvature may be zero: a turn of the rod by STEP is its scale
        return value, STEP * abs(value) if value else STEP / rods[0].length

    def solved(self, name: str, change: float) -> tuple[Array, Equilibrium, State]:
        """Return the tip (4, 4) with a parameter changed, and the solution."""
        rods = list(self._layout.spec.rods)
        for i in self._rods(name):
            rods[i] = _changed(rods[i], name.rpartition('.')[2], change)
        spec = replace(self._layout.spec, rods=tuple(rods))
        solver = Equilibrium(lay.build_layout_raw(spec, self._layout.actuators))
        enough = solver.tolerance
        solver.tolerance = FLOOR * enough
        x = solver.inputs(self._solution.problem)
        outcome = solver.newton(x, self._solution.state, MAX_STEPS)
        if not outcome.residual <= enough:
            raise InvalidInput('q', 'singular', 'a configuration that is not at a limit point')
        return outcome.state.body[self._layout.tip_body], solver, outcome.state

    def _rods(self, name: str) -> list[int]:
        rod, _, quantity = name.rpartition('.')
        if rod != ALL and rod not in self._names:
            raise UnknownName('parameters', name, [f'{r}.{quantity}' for r in self._names])
        return [i for i, r in enumerate(self._names) if rod in (ALL, r)]

    def compliance(self, solver: Equilibrium, state: State) -> Array:
        """Return the tip's compliance (6, 6) of a changed network."""
        tip = self._layout.tip_body
        x = solver.inputs(self._solution.problem)
        return Linearisation(solver.layout, x, state).body_compliance(tip, tip)


MEASURED = {'axial': (2,), 'shear': (0, 1), 'bending_x': (3,), 'bending_y': (4,), 'torsion': (5,)}
MATERIAL = {'young': 'young', 'shear_modulus': 'shear', 'density': 'density'}
SIZES = {
    'circle': ('radius',),
    'tube': ('radius', 'inner_radius'),
    'rectangle': ('width', 'thickness'),
}
CURVATURES = ('rest_curvature_x', 'rest_curvature_y', 'rest_curvature_z')


def _read(rod: RodSpec, quantity: str, name: str) -> float:
    """Return a parameter of a rod; refuse one that it does not have."""
    section = rod.section
    known = {'length': rod.length}
    known |= dict(zip(CURVATURES, rod.curvature[0, 1:].tolist(), strict=True))
    if isinstance(section, ShapedSection):
        known |= {key: float(getattr(section, name)) for key, name in MATERIAL.items()}
        known |= dict(zip(SIZES[section.shape], section.size.tolist(), strict=True))
    else:
        known |= {key: float(section.stiffness[rows[0]]) for key, rows in MEASURED.items()}
    if quantity not in known:
        raise UnknownName('parameters', name, [f'{rod.name}.{key}' for key in known])
    return known[quantity]


def _changed(rod: RodSpec, quantity: str, change: float) -> RodSpec:
    """Return a rod with one parameter changed; both ends of a taper change alike."""
    if quantity == 'length':
        return replace(rod, length=rod.length + change)
    if quantity in CURVATURES:
        curvature = rod.curvature.copy()
        curvature[:, 1 + CURVATURES.index(quantity)] += change
        return replace(rod, curvature=curvature)
    section = rod.section
    if isinstance(section, CrossSection):
        stiffness = section.stiffness.copy()
        stiffness[list(MEASURED[quantity])] += change
        return replace(rod, section=replace(section, stiffness=stiffness))
    other = rod.section_end
    return replace(
        rod,
        section=_changed_shape(section, quantity, change),
        section_end=None if other is None else _changed_shape(other, quantity, change),
    )


def _changed_shape(section: ShapedSection, quantity: str, change: float) -> ShapedSection:
    if quantity in MATERIAL:
        key = MATERIAL[quantity]
        return replace(section, **{key: getattr(section, key) + change})
    size = section.size.copy()
    size[SIZES[section.shape].index(quantity)] += change
    return replace(section, size=size)
