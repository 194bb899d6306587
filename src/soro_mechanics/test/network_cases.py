# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small networks that the tests of the beam network share."""

import numpy as np
from scipy.integrate import solve_bvp

from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.network.description.cross_section import CrossSection, ShapedSection
from soro_mechanics.models.network.description.spec import (
    BodySpec,
    DriveSpec,
    EndSpec,
    NetworkSpec,
    RodSpec,
)
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.layout import build_layout

LENGTH = 0.4
BENDING = 0.03  # N m^2


def section(mass=0.0, radius=1e-3, shear=3e6, axial=3e6, bending=(BENDING, BENDING), torsion=0.02):
    """A nearly inextensible rod unless told otherwise."""
    k = np.array([shear, shear, axial, *bending, torsion])
    return CrossSection(k, mass, radius)


def wire(radius=0.65e-3, density=0.0):
    return ShapedSection('circle', np.array([radius]), 207e9, 207e9 / 2.61, 1.0, density)


def pose(position=(0.0, 0.0, 0.0), rotation=None):
    out = np.eye(4)
    out[:3, 3] = position
    if rotation is not None:
        out[:3, :3] = rotation
    return out


def end(body, attach=None, joint='clamped', axes=None, motor_axis=(0.0, 0.0, 1.0), crank=None):
    return EndSpec(
        body,
        np.eye(4) if attach is None else attach,
        np.array(motor_axis),
        np.eye(4) if crank is None else crank,
        joint,
        np.zeros((2, 3)) if axes is None else np.array(axes, dtype=float),
    )


def body(name, place=None, mass=0.0, centre=(0.0, 0.0, 0.0)):
    return BodySpec(name, place, mass, np.array(centre))


def ground():
    return body('ground', np.eye(4))


def rod(
    name='rod',
    first=None,
    second=None,
    length=LENGTH,
    of=None,
    curvature=(0.0, 0.0, 0.0),
    pieces=14,
):
    return RodSpec(
        name,
        length,
        section() if of is None else of,
        None,
        np.array([[0.0, *curvature]]),
        (end('ground') if first is None else first, end('tip') if second is None else second),
        np.linspace(0.0, 1.0, pieces + 1),
    )


def cantilever(**kind):
    return NetworkSpec((ground(), body('tip')), (rod(**kind),), (), 'tip', np.eye(4))


def problem(wrench=None, gravity=None, actuation=(), loads=()):
    return Problem(
        np.array(actuation, dtype=float),
        LoadCase(
            np.zeros(6) if wrench is None else np.array(wrench, dtype=float),
            tuple(loads),
            np.zeros(3) if gravity is None else np.array(gravity, dtype=float),
        ),
    )


def solve(spec, actuators=0, rest=(), **what):
    """Return solver and outcome from a cold start."""
    solver = Equilibrium(build_layout(spec, actuators))
    outcome = solver.solve(problem(**what), np.array(rest, dtype=float), None)
    return solver, outcome


TENDON_ROD = np.array([300.0, 300.0, 900.0, 5e-3, 5e-3, 4e-3])  # stiffness
TENDON_LENGTH = 0.2


def tendon_rod(places, mesh=16, kind='tension', soft=0.0, mass=0.0):
    """A soft cantilever with tendons at places (x, y [m], end as a fraction of the length)."""
    k = TENDON_ROD
    of = section(mass, shear=k[0], axial=k[2], bending=(k[3], k[4]), torsion=k[5])
    drives = tuple(
        DriveSpec(i, 0, kind, hole=np.array([x, y]), span=(0.0, end), soft=soft)
        for i, (x, y, end) in enumerate(places)
    )
    arm = rod(length=TENDON_LENGTH, of=of, pieces=mesh)
    return NetworkSpec((ground(), body('tip')), (arm,), drives, 'tip', np.eye(4))


def bvp_tip(weight, force, curvature, k, length):
    """Solve a heavy cantilever under a dead tip wrench by collocation, in the base frame."""

    def rates(s, y):
        turned, n, m = y[3:12].T.reshape(-1, 3, 3), y[12:15].T, y[15:18].T
        v = np.array([0.0, 0.0, 1.0]) + np.einsum('nji,nj->ni', turned, n) / k[:3]
        u = curvature + np.einsum('nji,nj->ni', turned, m) / k[3:]
        along = np.einsum('nij,nj->ni', turned, v)
        turning = np.cross(turned, u[:, None])  # rows: R hat(u)
        weights = np.tile(-weight, (len(n), 1))
        return np.hstack([along, turning.reshape(-1, 9), weights, -np.cross(along, n)]).T

    def ends(a, b):
        start = a[:12] - np.concatenate([np.zeros(3), np.eye(3).ravel()])
        return np.concatenate([start, b[12:15] - force[:3], b[15:18] - force[3:]])

    s = np.linspace(0.0, length, 21)
    y = np.zeros((18, s.size))
    y[2] = s
    y[[3, 7, 11]] = 1.0
    found = solve_bvp(rates, ends, s, y, tol=1e-9, max_nodes=20000)
    assert found.success
    return found.y[:3, -1], found.y[3:12, -1].reshape(3, 3)
