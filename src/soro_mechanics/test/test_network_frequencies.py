# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Frequencies of driven lengths and of loads without energy: Euler-Bernoulli, Euler, Beck."""

from network_cases import BENDING, body, ground, LENGTH, problem, rod, section, solve
import numpy as np
import pytest

from soro_mechanics import InvalidInput, Load, LoadAxes
from soro_mechanics.models.network.description.spec import DriveSpec, NetworkSpec
from soro_mechanics.models.network.frequencies import condensed_mass, natural_frequencies
from soro_mechanics.models.network.linearisation import Linearisation

MASS = 0.05  # kg/m
UNIT = np.sqrt(BENDING / (MASS * LENGTH**4)) / (2.0 * np.pi)
FIRST = 1.8751041**2 * UNIT
EULER = np.pi**2 * BENDING / (4.0 * LENGTH**2)
STIFF = {'shear': 1e7, 'axial': 1e7}


def linear_of(length=LENGTH, mass=MASS, drives=(), actuation=(), **load):
    beam = rod(length=length, of=section(mass=mass, **STIFF), pieces=60)
    spec = NetworkSpec((ground(), body('tip')), (beam,), drives, 'tip', np.eye(4))
    solver, outcome = solve(spec, len(actuation), actuation, actuation=actuation, **load)
    assert outcome.converged
    x = solver.inputs(problem(actuation=actuation, **load))
    return Linearisation(solver.layout, x, outcome.state, solver.layout.work())


def followed(part, **kind):
    """Return Beck's column: the force on the end turns with it; in E I / L^2."""
    push = Load(
        np.array([0.0, 0.0, -part * BENDING / LENGTH**2, 0.0, 0.0, 0.0]), axes=LoadAxes.LOCAL
    )
    return linear_of(loads=[push], **kind)


@pytest.mark.parametrize('length', [0.5 * LENGTH, LENGTH, 1.5 * LENGTH])
def test_a_rod_weighs_what_its_driven_length_does(length):
    linear = linear_of(length, drives=(DriveSpec(0, 0, 'length'),), actuation=[LENGTH])
    np.testing.assert_allclose(natural_frequencies(linear, 2), FIRST, rtol=5e-3)
    # the static shape of an end that moves without turning carries 13 / 35 of the mass
    assert condensed_mass(linear)[0, 0] == pytest.approx(13 / 35 * MASS * LENGTH, rel=5e-3)


def test_a_buckled_column_has_no_frequencies():
    almost = natural_frequencies(linear_of(wrench=[0, 0, -0.97 * EULER, 0, 0, 0]), 2)
    assert np.all(almost < 0.25 * FIRST)
    with pytest.raises(InvalidInput, match='stable Configuration') as error:
        natural_frequencies(linear_of(wrench=[0, 0, -1.03 * EULER, 0, 0, 0]), 2)
    assert error.value.field == 'q'


def test_count_is_at_most_the_degrees_of_freedom():
    linear = linear_of()
    most = 6 * 62  # 61 nodes and the body
    assert len(natural_frequencies(linear, most)) == most
    with pytest.raises(InvalidInput, match=f'at most {most}') as error:
        natural_frequencies(linear, most + 1)
    assert error.value.field == 'count'


@pytest.mark.parametrize('part', [10.0, 19.8])
def test_a_column_under_a_following_force_is_stable_before_it_flutters(part):
    """Beck 1952: flutter at 20.05; the symmetric part is indefinite long before."""
    linear = followed(part)
    assert linear.negative > 0
    assert linear.stable
    assert linear.remark == ''
    found = natural_frequencies(linear, 4)
    assert np.all((found > FIRST) & (found < 22.034 * UNIT))


def test_flutter_is_unstable_and_has_no_frequencies():
    linear = followed(20.3)
    assert not linear.stable
    assert 'a mode grows' in linear.remark
    with pytest.raises(InvalidInput, match='growing mode'):
        natural_frequencies(linear, 2)


def test_without_masses_a_following_force_leaves_stability_open():
    linear = followed(10.0, mass=0.0)
    assert not linear.stable
    assert 'may be unstable' in linear.remark
    assert followed(5.0, mass=0.0).stable
