# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One clamped rod with known answers, through every model that can be one rod."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from soro_mechanics.core.configuration import Array, LoadCase, Target, Task
from soro_mechanics.models.kirchhoff.model import Kirchhoff
from soro_mechanics.models.network.description.cross_section import CrossSection
from soro_mechanics.models.network.description.spec import BodySpec, EndSpec, NetworkSpec, RodSpec
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.layout import build_layout
from soro_mechanics.robot import load_robot, Robot
from soro_studies.validation.robots import Group, Loader
from soro_studies.validation.row import Kind, number, Row

# F L^2 / (E I), then the tip along and across over L: elliptic integrals (mechanics of materials).
ELASTICA = ((1.0, 0.9435668, 0.3017208), (3.0, 0.7455798, 0.6032534), (10.0, 0.4450044, 0.8106090))
LENGTH, BENDING = 0.4, 0.03  # m, N m^2
STIFF = 1e7  # N: neither stretches nor shears in the digits of the table
WITHIN = 1e-5  # of the table's digits and of the meshes below
REACTION_WITHIN = 2e-3  # finite differences of second order, 200 elements


def _rows(load: Loader) -> list[Row]:
    """Return the rows: elastica, the circle of an end moment."""
    rods: dict[str, Callable[[Array], Array]] = {
        'Cosserat (ncm, 50 RK4 steps)': _segment,
        'network, 400 two-node elements': partial(_network, count=400),
    }
    found = []
    for pull, along, across in ELASTICA:
        force = [pull * BENDING / LENGTH**2, 0.0, 0.0, 0.0, 0.0, 0.0]
        for name, tip in rods.items():
            x, _, z = tip(np.array(force))[:3, 3] / LENGTH
            found += [
                number(f'elastica, F L^2/EI = {pull:g}: along/L, {name}', along, z, '', WITHIN,
                       kind=Kind.CHECK, digits=7),
                number(f'elastica, F L^2/EI = {pull:g}: across/L, {name}', across, x, '', WITHIN,
                       kind=Kind.CHECK, digits=7),
            ]  # fmt: skip
        found.append(
            number(
                f'elastica, F L^2/EI = {pull:g}: reaction of the rod of least energy, Kirchhoff',
                pull,
                _reaction(along, across),
                '',
                REACTION_WITHIN,
                kind=Kind.CHECK,
                digits=5,
            )
        )
    moment = np.array([0.0, 0.0, 0.0, 0.0, 2.0 * np.pi * BENDING / LENGTH, 0.0])
    for name, tip in rods.items():
        gap = float(np.linalg.norm(tip(moment)[:3, 3])) / LENGTH
        found.append(
            number(
                f'end moment 2 pi EI/L: full turn minus gap/L, {name}',
                1.0,
                1.0 - gap,
                '',
                1e-3,
                kind=Kind.CHECK,
                digits=7,
            )
        )
    return found


def _segment(wrench: Array) -> Array:
    """Return the tip of the rod as a soft segment without pressure."""
    description = load_robot('stiff_flop').description
    chain = description.structure['segments']
    segment = replace(
        chain.segments[0], length=LENGTH, axial_stiffness=STIFF, bending_stiffness=BENDING
    )
    structure = {'segments': replace(chain, segments=(segment,), elements=50)}
    robot = Robot(replace(description, structure=structure), 'ncm')
    robot.gravity = np.zeros(3)
    q = robot.forward(np.zeros(len(robot.actuators)), wrench)
    if not q.status.converged:
        raise RuntimeError(f'the segment: {q.status.message}')
    return q.tip


def _network(wrench: Array, count: int) -> Array:
    """Return the tip of the rod as a network of one rod."""
    of = CrossSection(np.array([STIFF, STIFF, STIFF, BENDING, BENDING, 0.02]), 0.0, 1e-3)
    ends = tuple(
        EndSpec(b, np.eye(4), np.array([0.0, 0.0, 1.0]), np.eye(4), 'clamped', np.zeros((2, 3)))
        for b in ('ground', 'tip')
    )
    mesh = np.linspace(0.0, 1.0, count + 1)
    rod = RodSpec('rod', LENGTH, of, None, np.zeros((1, 4)), (ends[0], ends[1]), mesh)
    bodies = (
        BodySpec('ground', np.eye(4), 0.0, np.zeros(3)),
        BodySpec('tip', None, 0.0, np.zeros(3)),
    )
    solver = Equilibrium(build_layout(NetworkSpec(bodies, (rod,), (), 'tip', np.eye(4)), 0))
    problem = Problem(np.zeros(0), LoadCase(wrench))
    outcome = solver.solve(problem, np.zeros(0), None)
    if not outcome.converged:
        raise RuntimeError('the network of one rod does not converge')
    tip: Array = outcome.state.body[solver.layout.tip_body]
    return tip


def _reaction(along: float, across: float) -> float:
    """Return F L^2 / (E I) that holds the end of the rod of least energy through a point."""
    model = Kirchhoff(load_robot('pam_continuum').description)
    length = model.backbone.length
    pose = np.eye(4)
    pose[:3, 3] = [across * length, 0.0, along * length]
    found = model.reach(Target(pose, Task.POSITION), LoadCase())
    return float(found.reaction[0]) * length**2 / float(model.backbone.stiffness[0])


GROUPS: tuple[Group, ...] = (_rows,)
