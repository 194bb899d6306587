# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Chains and legs described by material and section: stiffness against sums over the section."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.catalogue import search_path
from soro_mechanics.robot_file.reader import describe_robot, read_yaml

CATALOGUE = [p for p in search_path() if (p / 'stiff_flop.yaml').is_file()][-1]
YOUNG, POISSON, DENSITY = 80e3, 0.45, 1070.0
MATERIAL = {
    'young': {'value': f'{YOUNG} Pa', 'source': 'measured'},
    'poisson': POISSON,
    'density': f'{DENSITY} kg/m^3',
}


def robot(name, inner=None, material=MATERIAL):
    """Return a file of the catalogue whose body has a material in place of its stiffness."""
    data = read_yaml(CATALOGUE / f'{name}.yaml')
    bodies = data['body'].get('segments', [data['body']])
    for item in bodies:
        for key in (
            'axial_stiffness',
            'bending_stiffness',
            'torsion_stiffness',
            'linear_density',
            'mass',
            'shear_factor',
        ):
            item.pop(key, None)
        item['material'] = copy.deepcopy(material)
        if inner is not None:
            item['inner_radius'] = inner
    return data


def sums(outer, inner, holes=()):
    """Return area and mean second moment of a section with round holes, summed over a grid."""
    step = outer / 1500.0
    x, y = np.meshgrid(*[np.arange(-outer, outer, step) + 0.5 * step] * 2)
    r = np.hypot(x, y)
    solid = (r <= outer) & (r >= inner)
    for area, offset, angle in holes:
        centre = offset * math.cos(angle), offset * math.sin(angle)
        solid &= np.hypot(x - centre[0], y - centre[1]) > math.sqrt(area / math.pi)
    return solid.sum() * step**2, 0.5 * (r[solid] ** 2).sum() * step**2


def test_a_chain_with_chambers():
    made = describe_robot(robot('stiff_flop', '3 mm'), 'x.yaml')
    segment = made.structure['segments'].segments[0]
    holes = [(c.area, c.offset, c.angle) for c in segment.chambers]
    area, second = sums(segment.radius, 3e-3, holes)
    assert segment.axial_stiffness == pytest.approx(YOUNG * area, rel=1e-3)
    assert segment.bending_stiffness == pytest.approx(YOUNG * second, rel=1e-3)
    assert segment.linear_density == pytest.approx(DENSITY * area, rel=1e-3)
    shear = YOUNG / (2.0 * (1.0 + POISSON)) * area
    assert segment.shear_factor * segment.axial_stiffness / 3.0 == pytest.approx(shear, rel=1e-3)
    network = made.structure['network'].rods[0].section.stiffness
    torsion = YOUNG / (1.0 + POISSON) * second
    assert network == pytest.approx(
        [shear, shear, YOUNG * area, YOUNG * second, YOUNG * second, torsion], rel=1e-3
    )


def test_legs():
    made = describe_robot(robot('soft_parallel', '6 mm'), 'x.yaml')
    legs = made.structure['ancf']
    area, second = sums(legs.radius, 6e-3)
    assert legs.tension == pytest.approx(YOUNG * area, rel=1e-3)
    assert legs.bending == pytest.approx(YOUNG * second, rel=1e-3)
    assert legs.torsion == pytest.approx(YOUNG / (1.0 + POISSON) * second, rel=1e-3)
    assert legs.leg_mass == pytest.approx(DENSITY * area * legs.length, rel=1e-3)


WRONG = {
    'twice': ({'axial_stiffness': '3 N'}, 'axial_stiffness'),
    'a hole larger than the section': ({'inner_radius': '13 mm'}, 'radius'),
    'two moduli': ({'material': {**MATERIAL, 'shear_modulus': '1 MPa'}}, 'material'),
    'one modulus': ({'material': {'young': '1 MPa'}}, 'material'),
    'no modulus': ({'material': {'poisson': 0.3}}, 'material.young'),
    'a ratio beyond incompressible': (
        {'material': {**MATERIAL, 'poisson': 0.6}},
        'material.poisson',
    ),
    'too soft to be a number': ({'material': {**MATERIAL, 'young': '0 Pa'}}, 'material.young'),
}


@pytest.mark.parametrize('name', WRONG)
@pytest.mark.parametrize('file', ['stiff_flop', 'soft_parallel'])
def test_what_contradicts_itself_is_refused_where_it_stands(file, name):
    data = robot(file)
    home = 'body.segments[0]' if file == 'stiff_flop' else 'body'
    item = data['body']['segments'][0] if file == 'stiff_flop' else data['body']
    changes, path = WRONG[name]
    item |= changes
    with pytest.raises(RobotFileError) as error:
        describe_robot(data, 'x.yaml')
    assert error.value.path == f'{home}.{path}'


@pytest.mark.parametrize('file', ['stiff_flop', 'soft_parallel'])
def test_an_inner_radius_without_a_material_is_refused(file):
    data = read_yaml(CATALOGUE / f'{file}.yaml')
    item = data['body']['segments'][0] if file == 'stiff_flop' else data['body']
    item['inner_radius'] = '2 mm'
    with pytest.raises(RobotFileError, match='material'):
        describe_robot(data, 'x.yaml')


def test_derived_numbers_that_a_model_refuses_are_named_by_what_was_written():
    data = robot('stiff_flop')
    data['body']['segments'][0]['material']['density'] = '-1 kg/m^3'
    with pytest.raises(RobotFileError) as error:
        describe_robot(data, 'x.yaml')
    assert error.value.path == 'body.segments[0].material'
