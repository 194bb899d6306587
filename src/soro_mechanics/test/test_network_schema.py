# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the section ``network`` refuses, and what it makes of the rest."""

import copy
import dataclasses

import numpy as np
import pytest

from soro_mechanics.core.actuators import Actuator
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.models.network.description.schema import (
    read_network,
    rotation_matrix,
    shortest_turn,
)
from soro_mechanics.models.network.drive_values import actuation_of, driven_ranges, driven_values
from soro_mechanics.models.network.layout import build_layout
from soro_mechanics.robot_file.record import given, read_record
from soro_mechanics.robot_file.section import Section

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

BOTH = {'position': '0 0 1 cm', 'polar': {'radius': '1 cm', 'angle': '0 deg'}}


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


@pytest.mark.parametrize(
    ('path', 'value', 'field'),
    [
        (('rods', 0, 'section'), 'wir', 'network.rods[0].section'),
        (('rods', 0, 'length'), '0.2', 'network.rods[0].length'),
        (('rods', 0, 'to', 'body'), 'plat', 'network.rods[0].to.body'),
        (('rods', 0, 'to', 'joint'), 'revolute', 'network.rods[0].to.axis'),
        (('rods', 0, 'from', 'motor', 'axis'), '0 0 0', 'network.rods[0].from.motor.axis'),
        (('rods', 0, 'mesh'), [0, 0.5, 0.4, 1], 'network.rods[0].mesh'),
        (('rods', 0, 'thickness'), '1 mm', 'network.rods[0].thickness'),
        (('sections', 'wire', 'strain_limit'), 60, 'network.sections.wire.strain_limit'),
        (('rods',), [], 'network.rods'),
        (('bodies',), {}, 'network.bodies'),
        (('bodies', 'ground'), {}, 'network.bodies.ground'),
        (('actuation', 0, 'rods'), ['arm'], 'network.actuation[0].rods'),
        (('actuation', 0, 'drives'), 'length', 'network.actuation[0].drives'),
        (
            ('actuation', 0),
            {'actuator': 'air', 'drives': 'stretch', 'rods': ['leg']},
            'network.actuation[0].drives',
        ),
        (('sections', 'wire', 'poisson'), 0.7, 'network.sections.wire.poisson'),
        (('sections', 'wire', 'poisson'), -1, 'network.sections.wire.poisson'),
        (('actuation', 0, 'end'), 'to', 'network.actuation[0].drives'),
        (('actuation', 1, 'curve', 1, 'value'), '1.1 m', 'network.actuation[1].curve[1].value'),
        (('actuation', 1, 'curve', 1, 'value'), 1.6, 'network.actuation[1].curve'),
        (('actuation', 1, 'curve', 1, 'value'), 1.0, 'network.actuation[1].curve'),
        (('rods', 0, 'to', 'body'), 'ground', 'network.rods[0].to'),
        (('bodies', 'lost'), {'mass': '1 g'}, 'network.bodies.lost'),
        (('tip', 'body'), 'ground', 'network.tip.body'),
        (('bodies', 'plate', 'position'), [0.05, 0, '10 mm'], 'network.bodies.plate.position'),
        (('bodies', 'plate'), BOTH, 'network.bodies.plate.position'),
        (('tip',), {'body': 'plate', **BOTH}, 'network.tip.position'),
    ],
)
def test_refused_with_the_place(path, value, field):
    with pytest.raises(RobotFileError) as refused:
        read(changed(path, value))
    assert refused.value.path == field
    assert refused.value.remedy


@pytest.mark.parametrize(('drives', 'unit'), [('length', 'm'), ('curvature', '1/m')])
def test_the_value_of_a_curve_carries_the_unit_of_what_it_drives(drives, unit):
    def driven(*values):
        data = copy.deepcopy(GOOD)
        entry = {
            'actuator': 'air',
            'drives': drives,
            'rods': ['leg'],
            'curve': [{'at': '0 bar', 'value': values[0]}, {'at': '2 bar', 'value': values[1]}],
        }
        data['actuation'][1] = entry | ({'direction': '1 0 0'} if drives == 'curvature' else {})
        return read(data).drives[1].curve

    np.testing.assert_allclose(driven(f'0.2 {unit}', f'0.3 {unit}'), [[0.0, 0.2], [2e5, 0.3]])
    with pytest.raises(RobotFileError, match='the unit is missing') as refused:
        driven(0.2, 0.3)
    assert refused.value.path == 'network.actuation[1].curve[0].value'


@pytest.mark.parametrize('curve', [None, [(0.0, 0.2), (1.0, 0.1)], [(0.0, 0.1), (1.0, 0.2)]])
@pytest.mark.parametrize('kind', ['length', 'stretch'])
def test_no_rod_is_driven_to_nothing(kind, curve):
    """Neither at the lower limit nor, along a falling curve, at the upper one."""
    falls = curve is not None and curve[1][1] < curve[0][1]
    low, high = (-1.0, 2.5) if falls else (-1.5, 1.0)
    actuators = (Actuator('feed', kind, low, high, 1.0, 0.0),)
    entry = {'actuator': 'feed', 'drives': kind, 'rods': ['leg']}
    if curve is not None:
        at, value = (' m', ' m') if kind == 'length' else ('', '')
        entry['curve'] = [{'at': f'{a}{at}', 'value': f'{v}{value}'} for a, v in curve]
    data = {**copy.deepcopy(GOOD), 'actuation': [entry]}
    del data['rods'][0]['from']['motor']
    with pytest.raises(RobotFileError, match=f'feed brings the {kind} down to .*curve') as refused:
        read_network(Section({'network': data}), actuators)
    assert refused.value.path == 'network.actuation[0].actuator'
    inside = (Actuator('feed', kind, 0.1, 0.9, 1.0, 0.1),)
    assert read_network(Section({'network': data}), inside).drives


PULLS = (
    Actuator('pull', 'force', 0.0, 10.0, 1.0, 0.0),
    Actuator('push', 'force', -1.0, 10.0, 1.0, 0.0),
    Actuator('spool', 'length', -0.02, 0.02, 0.01, 0.0),
)
HOLE = {'rods': ['leg'], 'position': '8 0 mm'}


def tendons(*entries):
    data = copy.deepcopy(GOOD)
    aside = {'position': '0 2 0 cm'}
    leg = data['rods'][0]
    ends = {key: {**leg[key], **aside} for key in ('from', 'to')}
    data['rods'].append({**leg, 'name': 'second', **ends})
    whole = [HOLE | entry for entry in entries]
    data['actuation'] = [{k: v for k, v in e.items() if v is not None} for e in whole]
    used = {e['actuator'] for e in entries}
    actuators = tuple(a for a in PULLS if a.name in used)
    return read_network(Section({'network': data}), actuators).drives


def test_a_tendon_runs_where_the_file_says():
    (first,) = tendons({'actuator': 'pull', 'drives': 'tension', 'from': '50 mm', 'to': '150 mm'})
    assert first.kind == 'tension'
    np.testing.assert_allclose([*first.hole, *first.span], [8e-3, 0.0, 0.25, 0.75])
    both = tendons(
        {
            'actuator': 'spool',
            'drives': 'tendon',
            'rods': ['leg', 'second'],
            'stiffness': '2 N/mm',
            'position': None,
            'polar': {'radius': '8 mm', 'angle': '90 deg'},
        }
    )
    assert [d.rod for d in both] == [0, 1]
    for d in both:
        np.testing.assert_allclose([*d.hole, *d.span, d.soft], [0, 8e-3, 0, 1, 5e-4], atol=1e-12)


@pytest.mark.parametrize(
    ('entries', 'field', 'words'),
    [
        ([{'actuator': 'push', 'drives': 'tension'}], '[0].actuator', 'below 0 N'),
        ([{'actuator': 'pull', 'drives': 'tendon'}], '[0].drives', 'pull is a force'),
        ([{'actuator': 'pull', 'drives': 'tension', 'to': '0 mm'}], '[0].to', 'beyond from'),
        ([{'actuator': 'pull', 'drives': 'tension', 'to': '1 m'}], '[0].to', 'at most'),
        (
            [{'actuator': 'pull', 'drives': 'tension', 'rods': ['leg', 'second'], 'to': '0.1 m'}],
            '[0].to',
            'one rod, or whole rods',
        ),
        (
            [
                {
                    'actuator': 'pull',
                    'drives': 'tension',
                    'polar': {'radius': '1 mm', 'angle': '0 deg'},
                }
            ],
            '[0].position',
            'not both',
        ),
        (
            [
                {'actuator': 'spool', 'drives': 'tendon'},
                {
                    'actuator': 'spool',
                    'drives': 'tendon',
                    'rods': ['second'],
                    'stiffness': '1 N/mm',
                },
            ],
            '',
            'same stiffness',
        ),
        (
            [
                {'actuator': 'spool', 'drives': 'tendon'},
                {
                    'actuator': 'spool',
                    'drives': 'length',
                    'rods': ['second'],
                    'curve': [{'at': '-1 m', 'value': '0.1 m'}, {'at': '1 m', 'value': '0.2 m'}],
                    'position': None,
                },
            ],
            '',
            'nothing else',
        ),
        ([{'actuator': 'pull', 'drives': 'tension'}] * 17, '[16].rods', '17 tendons; at most 16'),
    ],
)
def test_what_no_tendon_can_do_is_refused(entries, field, words):
    with pytest.raises(RobotFileError, match=words) as refused:
        tendons(*entries)
    assert refused.value.path == f'network.actuation{field}'


def test_an_end_without_a_motor_is_not_turned():
    data = changed(('rods', 0, 'from', 'motor'), None)
    with pytest.raises(RobotFileError, match=r'leg has no motor there.*motor: \{axis: .*from'):
        read(data)


@pytest.mark.parametrize(
    'first',
    [
        {'actuator': 'motor', 'drives': 'angle', 'rods': ['leg']},
        {
            'actuator': 'motor',
            'drives': 'length',
            'rods': ['leg'],
            'curve': [{'at': '0 rad', 'value': '0.2 m'}, {'at': '1 rad', 'value': '0.3 m'}],
        },
    ],
)
def test_nothing_is_driven_twice(first):
    data = changed(('actuation', 0), first)
    kind = first['drives']
    unit = 'rad' if kind == 'angle' else 'm'
    data['actuation'][1] = {
        'actuator': 'air',
        'drives': kind,
        'rods': ['leg'],
        'curve': [
            {'at': '0 bar', 'value': f'0.2 {unit}'},
            {'at': '1 bar', 'value': f'0.3 {unit}'},
        ],
    }
    with pytest.raises(RobotFileError, match=f'motor already drives the {kind}.* of leg') as error:
        read(data)
    assert error.value.path == 'network.actuation[1].rods'


def test_what_adds_up_may_be_driven_twice():
    data = copy.deepcopy(GOOD)
    data['actuation'].append(
        {
            'actuator': 'motor',
            'drives': 'stretch',
            'rods': ['leg'],
            'curve': [{'at': '0 rad', 'value': 1.0}, {'at': '1 rad', 'value': 0.9}],
        }
    )
    data['actuation'][0] |= {
        'curve': [{'at': '0 rad', 'value': '1 rad'}, {'at': '1 rad', 'value': '0.9 rad'}]
    }
    assert [d.kind for d in read(data).drives] == ['angle', 'stretch', 'stretch']


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('young', '100 GPa'),
        ('poisson', 0.4),
        ('density', '1000 kg/m^3'),
        ('shear_factor', 0.9),
        ('strain_limit', '40 %'),
    ],
)
def test_a_taper_is_of_one_material(name, value):
    data = changed(('rods', 0, 'section_end'), 'thin')
    thin = {**GOOD['sections']['wire'], 'radius': '0.5 mm'}
    data['sections']['thin'] = thin
    assert read(data).rods[0].section_end.size == pytest.approx(0.5e-3)
    thin[name] = value
    with pytest.raises(RobotFileError, match='one material') as refused:
        read(data)
    assert refused.value.path == 'network.rods[0].section_end'


def test_bodies_that_hold_each_other_only_are_refused():
    data = copy.deepcopy(GOOD)
    data['bodies'] |= {'a': {}, 'b': {}}
    data['rods'].append(
        {
            'name': 'loose',
            'section': 'wire',
            'length': '0.2 m',
            'from': {'body': 'a'},
            'to': {'body': 'b'},
        }
    )
    with pytest.raises(RobotFileError, match='no rods connect it to the ground') as refused:
        read(data)
    assert refused.value.path == 'network.bodies.a'
    data['rods'][1]['from']['body'] = 'plate'
    with pytest.raises(RobotFileError, match=r'bodies\.a'):
        read(data)


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
        value, slope = driven_values(layout.spec.drives, np.array([0.1, pressure]))
        values.append(value[1] + 1.0)
        slopes.append(slope[1])
        driven, _ = driven_ranges(layout.spec.drives, np.array([0.1, pressure]))
        back = actuation_of(layout.spec.drives, driven, limits)
        np.testing.assert_allclose(back, [0.1, pressure], atol=1e-4)
    assert np.all(np.diff(values) > 0.0)
    assert values[20] == pytest.approx(1.1)
    for k in (3, 11, 27, 36):
        ends = [
            driven_values(layout.spec.drives, np.array([0.0, grid[k] + s]))[0][1]
            for s in (1.0, -1.0)
        ]
        assert (ends[0] - ends[1]) / 2.0 == pytest.approx(slopes[k], rel=1e-6)


def test_turns():
    for z in ([0.0, 0.0, 1.0], [0.0, 0.0, -1.0], [0.6, 0.0, 0.8], [1.0, 0.0, 0.0]):
        turn = shortest_turn(np.array(z))
        np.testing.assert_allclose(turn[:, 2], z, atol=1e-12)
        np.testing.assert_allclose(turn.T @ turn, np.eye(3), atol=1e-12)
    quarter = rotation_matrix(np.array([0.0, 0.0, np.pi / 2.0]))
    np.testing.assert_allclose(quarter @ [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], atol=1e-12)


def test_sections_of_known_shapes():
    data = changed(
        ('sections', 'wire'),
        {
            'shape': 'rectangle',
            'width': '10 mm',
            'thickness': '10 mm',
            'young': '1 MPa',
            'shear_modulus': '0.4 MPa',
            'density': '1000 kg/m^3',
        },
    )
    k = read(data).rods[0].section.cross_section()
    np.testing.assert_allclose(k.stiffness[3:5], 1e6 * 0.01**4 / 12.0)
    # torsion constant of a square: 0.1406 a^4 (Timoshenko)
    assert k.stiffness[5] == pytest.approx(0.4e6 * 0.1406 * 0.01**4, rel=5e-3)
    assert k.mass == pytest.approx(0.1)


TUBE = {'section': 'wire', 'length': '0.2 m', 'rest_curvature': '0 5 0 1/m'}
GROUND, PLATE = {'body': 'ground', 'motor': {'axis': '0 0 1'}}, {'body': 'plate'}
BALL = {'body': 'plate', 'joint': 'spherical'}


@pytest.mark.parametrize(
    ('rods', 'where'),
    [
        ([{'from': GROUND, 'to': PLATE}, {'from': GROUND, 'to': PLATE}], 'from'),
        (
            [
                {'from': {**GROUND, 'position': '1 0 0 cm'}, 'to': PLATE},
                {'from': GROUND, 'to': PLATE},
            ],
            'to',
        ),
        (
            [
                {
                    'from': {'body': 'ground', 'joint': 'spherical'},
                    'to': BALL,
                    'rest_curvature': '0 0 0 1/m',
                }
            ]
            * 2,
            'from',
        ),
    ],
)
def test_rods_that_share_a_line_are_refused(rods, where):
    data = copy.deepcopy(GOOD)
    data['rods'] = [{**TUBE, 'name': name, **rod} for name, rod in zip('ab', rods, strict=True)]
    data['actuation'] = []
    with pytest.raises(RobotFileError, match='leaves where rod a does') as refused:
        read_network(Section({'network': data}), ())
    assert refused.value.path == f'network.rods[1].{where}'


def test_rods_that_only_touch_are_read():
    data = copy.deepcopy(GOOD)
    turned = {'body': 'ground', 'direction': '1 0 0'}
    data['rods'] = [
        {**TUBE, 'name': 'a', 'from': GROUND, 'to': BALL},
        {**TUBE, 'name': 'b', 'from': turned, 'to': BALL},  # another way to the same place
        {**TUBE, 'name': 'c', 'from': {**PLATE, 'position': '0 0 0 cm'}, 'to': {'body': 'end'}},
    ]
    data['bodies']['end'] = {}
    data['actuation'] = []
    assert len(read_network(Section({'network': data}), ()).rods) == 3


def test_a_record_takes_no_annotation_that_it_has_no_reader_for():
    @dataclasses.dataclass
    class Odd:
        value: complex = given('m')

    with pytest.raises(KeyError, match='complex'):
        read_record(Section({'value': '3 m'}), Odd)
