# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Checks of a beam network: units, mass, F L^2 / (E I), strain."""

from __future__ import annotations

from collections.abc import Iterator
import math
from typing import TYPE_CHECKING

import numpy as np

from soro_cli.doctor.findings import fail, Finding, merged, ok, warn
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.reader import RobotDescription

if TYPE_CHECKING:
    from soro_mechanics.core.configuration import Configuration
    from soro_mechanics.models.network.description.spec import NetworkSpec
    from soro_mechanics.robot import Robot

# Outside, a unit was probably mistaken.
YOUNG = (1e3, 1e12)  # Pa
DENSITY = (50.0, 2.5e4)  # kg/m^3
LIMP = 10.0  # weight L^2 / (E I) above which a rod hangs like a chain
LOST = 1e4  # times less than the best actuator or direction: the tip can hardly be moved
TAUT = 0.1  # of the way from rest to maximum: a slack tendon moves nothing


def check_network(robot: RobotDescription) -> Iterator[Finding]:
    """Check the section ``network`` of a robot file; nothing where there is none."""
    if 'network' not in robot.models:
        return
    from soro_mechanics.robot import Robot  # loads the solvers

    try:
        model = Robot(robot, 'network')
    except SoroError as error:
        yield fail('network', str(error), 'correct it; docs/network.md')
        return
    spec = model.model_object.spec  # type: ignore[attr-defined]
    yield from merged(_materials(spec))
    yield from _loads(robot, spec)
    yield from _rest(model)


def _materials(spec: NetworkSpec) -> Iterator[Finding]:
    bad = []
    for rod in spec.rods:
        young = getattr(rod.section, 'young', None)
        density = getattr(rod.section, 'density', 0.0)
        if young is not None and not YOUNG[0] <= young <= YOUNG[1]:
            bad.append(warn(rod.name, f'Young modulus {young:.3g} Pa', 'is the unit right?'))
        elif density and not DENSITY[0] <= density <= DENSITY[1]:
            bad.append(warn(rod.name, f'density {density:.3g} kg/m^3', 'is the unit right?'))
    yield from bad or [ok('rods', f'{len(spec.rods)}, moduli and densities plausible')]


def _loads(robot: RobotDescription, spec: NetworkSpec) -> Iterator[Finding]:
    from soro_mechanics.models.network.rod_sections import section_at

    sections = [section_at(rod, 0.5) for rod in spec.rods]
    rods = sum(s.mass * r.length for s, r in zip(sections, spec.rods, strict=True))
    bodies = sum(b.mass for b in spec.bodies)
    text = f'rods {rods * 1e3:.3g} g, bodies {bodies * 1e3:.3g} g'
    g = float(np.linalg.norm(robot.gravity))
    if g and not rods + bodies:
        yield warn('mass', 'none, but there is gravity', 'write density, mass, or no gravity')
    else:
        yield ok('mass', text)
    bending = [float(s.stiffness[3:5].min()) for s in sections]
    unit = [k / r.length**2 for k, r in zip(bending, spec.rods, strict=True)]
    total = sum(unit)
    yield ok('F L^2 / (E I)', f'1 at a tip force of {total:.3g} N; expect branches above 10')
    limp = [
        r.name
        for s, r, k in zip(sections, spec.rods, bending, strict=True)
        if s.mass * g * r.length**3 / k > LIMP
    ]
    if limp:
        yield warn('weight', f'{", ".join(limp)} hang like chains', 'is the stiffness right?')
    if bodies * g > LIMP * total:
        text = f'bodies weigh {bodies * g:.3g} N, {bodies * g / total:.3g} E I / L^2'
        yield warn('weight', text, 'are mass and stiffness right?')


def _rest(model: Robot) -> Iterator[Finding]:
    q = model.forward(model.description.rest)
    if not q.status.converged:
        yield fail('rest', 'no equilibrium', 'do the rods fit between their bodies?')
        return
    if not q.status.stable:
        yield warn('rest', q.status.message, 'another shape is stable: move the rest actuation')
    guard = model.network.validity(q)
    if guard.remark:
        yield warn('rest', guard.remark, 'see `validity` in docs/network.md')
    else:
        text = f'strained {100.0 * max(guard.surface_strain):.2g} %'
        if math.isfinite(guard.clearance):
            text += f', rods {guard.clearance * 1e3:.3g} mm apart ({" and ".join(guard.closest)})'
        yield ok('rest', text)
    length = float(np.mean([r.length for r in model.model_object.spec.rods]))
    if model.actuators and q.status.stable:
        yield from _jacobian(model, q, length)


def _jacobian(model: Robot, q: Configuration, length: float) -> Iterator[Finding]:
    """Actuators that leave the tip where it is, and directions that several have in common."""
    from soro_mechanics.models.network.description.spec import TENDONS  # more than directions

    if all(d.kind in TENDONS for d in model.model_object.spec.drives):
        taut = model.forward(q.actuation + TAUT * (model.limits[:, 1] - q.actuation))
        q = taut if taut.status.converged else q
    text = f'condition {model.conditioning(q, length).condition:.3g} at a length of {length:.3g} m'
    moved = model.jacobian(q) * np.ptp(model.limits, axis=1)  # by the whole range of each
    moved[3:] *= length
    size = np.linalg.norm(moved, axis=0)
    idle = [a.name for a, x in zip(model.actuators, size, strict=True) if x * LOST <= size.max()]
    values = np.linalg.svd(moved, compute_uv=False)
    rank = int(np.sum(values * LOST > values[0]))
    if idle:
        remedy = f'{", ".join(idle)} cannot move the tip from rest: do they drive the right rods?'
        yield warn('jacobian', text, remedy)
    elif rank < len(values) and all(d.kind in TENDONS for d in model.model_object.spec.drives):
        yield ok('jacobian', f'{text}: {len(size)} tendons move the tip in {rank} directions')
    elif rank < len(values):
        remedy = f'{len(size)} actuators move the tip from rest in {rank} directions only'
        yield warn('jacobian', text, remedy)
    else:
        yield ok('jacobian', text)
