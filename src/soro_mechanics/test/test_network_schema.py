# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the section ``network`` refuses, and what it makes of the rest."""

import copy

import numpy as np
import pytest
from soro_mechanics.actuators import Actuator
from soro_mechanics.errors import RobotFileError
from soro_mechanics.network.drive_values import actuation_of, driven_ranges, driven_values
from soro_mechanics.network.layout import build_layout
from soro_mechanics.network.schema import read_network, rotation_matrix, shortest_turn
from soro_mechanics.section import Section

ACTUATORS = (
    Actuator('motor', 'angle', -1.0, 1.0, 1.0, 0.0),
    Actuator('air', 'pressure', 0.0, 2e5, 1e5, 0.0),
)
GOOD = {
    'sections': {
        'wire': {'shape': 'circle', 'radius': '1 mm', 'young': '200 GPa', 'poisson': 0.3},
    },
    'bodies': {'plate': {'mass': '10 g'}},
    'rods': [{
        'name': 'leg', 'section': 'wire', 'length': '0.2 m',
        'from': {'body': 'ground', 'motor': {'axis': '0 1 0'}}, 'to': {'body': 'plate'},
    }],
    'actuation': [
        {'actuator': 'motor', 'drives': 'angle', 'rods': ['leg']},
        {'actuator': 'air', 'drives': 'stretch', 'rods': ['leg'], 'curve': [
            {'at': '0 bar', 'value': 1.0}, {'at': '1 bar', 'value': 1.1},
            {'at': '2 bar', 'value': 1.5},
        ]},
    ],
    'tip': {'body': 'plate'},
}  # fmt: skip


def read(data):
    return read_network(Section({'network': data}), ACTUATORS)


def changed(path, value):
    data = copy.deepcopy(GOOD)
    place = data
    for key in path[:-1]:
        place = place[key]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return data


@pytest.mark.parametrize(('path', 'value', 'field'), [
    (('rods', 0, 'section'), 'wir', 'network.rods[0].section'),
    (('rods', 0, 'length'), '0.2', 'network.rods[0].length'),
    (('rods', 0, 'to', 'body'), 'plat', 'network.rods[0].to.body'),
    (('rods', 0, 'to', 'joint'), 'revolute', 'network.rods[0].to.axis'),
    (('rods', 0, 'from', 'motor', 'axis'), '0 0 0', 'network.rods[0].from.motor.axis'),
    (('rods', 0, 'mesh'), [0, 0.5, 0.4, 1], 'network.rods[0].mesh'),
    (('rods', 0, 'thickness'), '1 mm', 'network.rods[0].thickness'),
    (('rods',), [], 'network.rods'),
    (('bodies',), {}, 'network.bodies'),
    (('bodies', 'ground'), {}, 'network.bodies.ground'),
    (('actuation', 0, 'rods'), ['arm'], 'network.actuation[0].rods'),
    (('actuation', 0, 'drives'), 'length', 'network.actuation[0].drives'),
    (('actuation', 0), {'actuator': 'air', 'drives': 'stretch', 'rods': ['leg']},
     'network.actuation[0].drives'),
    (('sections', 'wire', 'poisson'), 0.7, 'network.sections.wire.poisson'),
    (('tip', 'body'), 'ground', 'network.tip.body'),
])  # fmt: skip
def test_refused_with_the_place(path, value, field):
    with pytest.raises(RobotFileError) as refused:
        read(changed(path, value))
    assert refused.value.path == field
    assert refused.value.remedy


def test_an_actuator_must_drive_something():
    data = copy.deepcopy(GOOD)
    del data['actuation'][0]
    with pytest.raises(RobotFileError, match='motor drives nothing'):
        read(data)


def test_curves_are_monotone_smooth_and_invertible():
    layout = build_layout(read(GOOD), 2)
    limits = np.array([[-1.0, 1.0], [0.0, 2e5]])
    grid = np.linspace(0.0, 2e5, 41)
    values, slopes = [], []
    for pressure in grid:
        value, slope = driven_values(layout, np.array([0.1, pressure]))
        values.append(value[1] + 1.0)
        slopes.append(slope[1])
        driven = driven_ranges(layout, np.array([0.1, pressure]))
        back = actuation_of(layout, driven, limits)
        np.testing.assert_allclose(back, [0.1, pressure], atol=1e-4)
    assert np.all(np.diff(values) > 0.0)
    assert values[20] == pytest.approx(1.1)
    for k in (3, 11, 27, 36):
        ends = [driven_values(layout, np.array([0.0, grid[k] + s]))[0][1] for s in (1.0, -1.0)]
        assert (ends[0] - ends[1]) / 2.0 == pytest.approx(slopes[k], rel=1e-6)


def test_turns():
    for z in ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8], [1.0, 0.0, 0.0]):
        turn = shortest_turn(np.array(z))
        np.testing.assert_allclose(turn[:, 2], z, atol=1e-12)
        np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    quarter = rotation_matrix(np.array([0.0, 0.0, np.pi / 2.0]))
    np.testing.assert_allclose(quarter @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)


def test_sections_of_known_shapes():
    data = changed(('sections', 'wire'), {
        'shape': 'rectangle', 'width': '10 mm', 'thickness': '10 mm', 'young': '1 MPa',
        'shear_modulus': '0.4 MPa', 'density': '1000 kg/m^3',
    })  # fmt: skip
    k = read(data).rods[0].section.cross_section()
    np.testing.assert_allclose(k.stiffness[3:5], 1e6 * 0.01**4 / 12.0)
    # torsion constant of a square: 0.1406 a^4 (Timoshenko)
    assert k.stiffness[5] == pytest.approx(0.4e6 * 0.1406 * 0.01**4, rel=5e-3)
    assert k.mass == pytest.approx(0.1)
