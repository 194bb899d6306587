# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One clamped rod: elastica, circle, solve_bvp, convergence orders, objectivity, gravity."""

from network_cases import (
    BENDING,
    body,
    bvp_tip,
    cantilever,
    end,
    ground,
    LENGTH,
    pose,
    rod,
    section,
    solve,
)
import numpy as np
import pytest

from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.numerics import lie

# F L^2 / (E I), then (x, y) / L of the elastica (elliptic integrals)
ELASTICA = ((1.0, 0.9435668, 0.3017208), (3.0, 0.7455798, 0.6032534), (10.0, 0.4450044, 0.8106090))
STIFF = section(shear=1e9, axial=1e9)  # inextensible to seven digits


def tip(spec, **what):
    solver, outcome = solve(spec, **what)
    assert outcome.converged
    return outcome.state.body[solver.layout.tip_body]


@pytest.mark.parametrize(('load', 'along', 'across'), ELASTICA)
def test_elastica(load, along, across):
    force = load * BENDING / LENGTH**2
    found = tip(cantilever(pieces=60, of=STIFF), wrench=[force, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(found[:3, 3] / LENGTH, [across, 0.0, along], atol=3e-7)


def test_end_moment_closes_a_circle():
    """An arc of constant strain is exact for elements."""
    moment = 2.0 * np.pi * BENDING / LENGTH
    found = tip(cantilever(pieces=30, of=STIFF), wrench=[0, 0, 0, 0, moment, 0])
    np.testing.assert_allclose(found, np.eye(4), atol=1e-7)


def tips_under_load(counts):
    load = [0.4, -0.3, -0.2, 0.02, 0.01, 0.03]
    tips = []
    for n in counts:
        of = section(shear=900.0, axial=1500.0)
        spec = cantilever(curvature=(1.0, 2.0, 0.5), of=of, pieces=n)
        tips.append(tip(spec, wrench=load))
    return tips


def test_order_of_convergence():
    """Bent and twisted out of a plane by the load: second order."""
    *coarse, best = tips_under_load((10, 20, 40, 640))
    errors = [np.abs(t - best).max() for t in coarse]
    slopes = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    assert slopes[-1] == pytest.approx(2.0, abs=0.35)


def test_heavy_precurved_rod_against_collocation():
    k = np.array([900.0, 900.0, 1500.0, 0.03, 0.05, 0.02])
    curvature = np.array([1.0, 2.0, 0.5])
    load = np.array([0.2, -0.1, -0.1, 0.01, 0.0, 0.02])
    gravity = np.array([1.0, 2.0, -9.0])
    of = section(mass=0.05, shear=900.0, axial=1500.0, bending=(0.03, 0.05))
    where, rotation = bvp_tip(0.05 * gravity, load, curvature, k, LENGTH)
    found = tip(cantilever(curvature=curvature, of=of, pieces=300), wrench=load, gravity=gravity)
    np.testing.assert_allclose(found[:3, 3], where, atol=2e-5 * LENGTH)
    np.testing.assert_allclose(found[:3, :3], rotation, atol=2e-5)


def test_objectivity():
    """The same robot elsewhere, loads turned with it: the same strains."""
    turn = lie.se3_exp([0.3, -0.2, 0.5, 1.0, -2.0, 0.7])
    load = np.array([0.4, -0.3, -0.2, 0.02, 0.01, 0.03])
    moved = np.concatenate([turn[:3, :3] @ load[:3], turn[:3, :3] @ load[3:]])
    at_home = tip(cantilever(curvature=(1.0, 2.0, 0.5)), wrench=load)
    there = NetworkSpec(
        (ground(), body('tip')),
        (rod(first=end('ground', turn), curvature=(1.0, 2.0, 0.5)),),
        (),
        'tip',
        np.eye(4),
    )
    np.testing.assert_allclose(tip(there, wrench=moved), turn @ at_home, atol=1e-8)


def test_weight_of_a_body_at_its_centre_of_mass():
    """A body's weight off its origin is a force and a moment."""
    mass, offset, gravity = 0.05, np.array([0.03, 0.01, 0.02]), np.array([0.0, -3.0, -9.0])
    spec = cantilever()
    heavy = NetworkSpec(
        (ground(), body('tip', None, mass, offset)), spec.rods, (), 'tip', np.eye(4)
    )
    found = tip(heavy, gravity=gravity)
    arm = found[:3, :3] @ offset
    force = mass * gravity
    same = tip(spec, wrench=np.concatenate([force, np.cross(arm, force)]))
    np.testing.assert_allclose(found, same, atol=1e-8)


def test_tip_frame_may_lie_off_the_body():
    offset = pose((0.0, 0.02, 0.03), lie.so3_exp([0.2, 0.0, 0.4]))
    spec = cantilever()
    moved = NetworkSpec(spec.bodies, spec.rods, (), 'tip', offset)
    force = np.array([0.3, 0.0, -0.2])
    found = tip(moved, wrench=[*force, 0, 0, 0])
    at_body = found @ np.linalg.inv(offset)
    arm = found[:3, 3] - at_body[:3, 3]
    same = tip(spec, wrench=np.concatenate([force, np.cross(arm, force)]))
    np.testing.assert_allclose(at_body, same, atol=1e-8)


@pytest.mark.parametrize('pieces', [2, 4, 16])
@pytest.mark.parametrize('stiffness', [3e3, 3e6])
def test_coarse_elements_converge_in_a_few_steps(pieces, stiffness):
    """The tolerance knows the round-off of stiff elements, however long they are."""
    of = section(shear=stiffness, axial=stiffness)
    spec = cantilever(pieces=pieces, of=of)
    _, outcome = solve(spec, wrench=[0.1, 0, 0.05, 0, 0.01, 0])
    assert outcome.converged
    assert outcome.iterations <= 10
