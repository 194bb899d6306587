# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Loads on the tip body act at its origin and in its axes, wherever the tip is on it."""

from dataclasses import replace

from network_cases import body, end, ground, pose, problem, rod, section, solve
import numpy as np
import pytest

from soro_mechanics import InvalidInput, Load, LoadAxes
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.numerics import lie

TIP = pose([0.02, -0.01, 0.1], lie.so3_exp([0.3, 1.2, -0.4]))
WRENCH = np.array([0.3, -0.2, -0.1, 0.01, -0.02, 0.005])
AXES = [LoadAxes.BASE, LoadAxes.LOCAL]
SOFT = section(shear=900.0, axial=1500.0)


def one_rod(tip, place=(0.0, 0.0, 0.0)):
    held = rod(of=SOFT, second=end('tip', pose(place)), pieces=20)
    return NetworkSpec((ground(), body('tip')), (held,), (), 'tip', tip)


def platform(tip, joint='clamped'):
    """Three rods around the origin of the platform, none of them ends there."""
    rods = []
    for i in range(3):
        turn = 2.0 * np.pi * i / 3.0
        place = pose([0.06 * np.cos(turn), 0.06 * np.sin(turn), 0.0])
        second = end('tip', place, joint)
        rods.append(rod(f'rod_{i}', end('ground', place), second, of=SOFT, pieces=10))
    return NetworkSpec((ground(), body('tip')), tuple(rods), (), 'tip', tip)


def place_of(spec, **load):
    solver, outcome = solve(spec, **load)
    assert outcome.converged
    return outcome.state.body[solver.layout.tip_body] @ np.linalg.inv(spec.tip)


@pytest.mark.parametrize('axes', AXES)
@pytest.mark.parametrize(
    'build',
    [
        one_rod,
        # the origin is on the line from the tip to the end of the rod
        lambda tip: one_rod(tip, place=-0.3 * TIP[:3, 3]),
        platform,
        lambda tip: platform(tip, 'spherical'),
    ],
)
def test_the_body_does_not_care_where_the_tip_is(axes, build):
    loads = [Load(WRENCH, 'tip', axes=axes)]
    expected = place_of(build(np.eye(4)), loads=loads)
    assert np.linalg.norm(expected[:3, 3] - place_of(build(np.eye(4)))[:3, 3]) > 1e-3
    np.testing.assert_allclose(place_of(build(TIP), loads=loads), expected, atol=1e-8)


@pytest.mark.parametrize('axes', AXES)
def test_the_tangent_is_that_of_the_body(axes):
    loads = [Load(WRENCH, 'tip', axes=axes)]
    tangents = []
    for tip in (np.eye(4), TIP):
        solver, outcome = solve(one_rod(tip), loads=loads)
        work = solver.layout.work()
        x = solver.inputs(problem(loads=loads))
        linear = Linearisation(solver.layout, x, outcome.state, work)
        tangents.append(linear.matrix)
    turn = lie.adjoint(TIP)
    np.testing.assert_allclose(tangents[1], turn.T @ tangents[0] @ turn, rtol=1e-6, atol=1e-6)


def test_the_wrench_of_the_tip_stays_at_the_tip():
    """A dead force at the tip is one at the origin of the body and a moment, where it ends up."""
    force = np.array([0.3, -0.2, -0.1, 0.0, 0.0, 0.0])
    spec = one_rod(TIP)
    found = place_of(spec, wrench=force)
    np.testing.assert_allclose(place_of(spec, loads=[Load(force)]), found, atol=1e-9)
    arm = found[:3, :3] @ TIP[:3, 3]
    moved = np.concatenate([force[:3], np.cross(arm, force[:3])])
    by_hand = place_of(one_rod(np.eye(4)), wrench=moved)
    np.testing.assert_allclose(by_hand, found, atol=1e-7)


def test_a_force_that_cannot_be_put_together_is_refused():
    spec = one_rod(TIP, place=[0.05, 0.0, 0.0])
    force = Load(WRENCH, 'tip')
    with pytest.raises(InvalidInput, match='a load at the tip') as error:
        solve(spec, loads=[force])
    assert error.value.field == 'loads.on'
    moment = replace(force, wrench=WRENCH * [0, 0, 0, 1, 1, 1])
    for load in (moment, replace(force, axes=LoadAxes.LOCAL)):
        expected = place_of(replace(spec, tip=np.eye(4)), loads=[load])
        np.testing.assert_allclose(place_of(spec, loads=[load]), expected, atol=1e-8)
