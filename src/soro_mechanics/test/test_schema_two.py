# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Schema 2 of the robot file: one body, strict slots, edits by program."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import search_path
from soro_mechanics.robot_file.reader import describe_robot, read_robot_file, read_yaml
from soro_mechanics.robot_file.schema2 import tables
from soro_mechanics.robot_file.schema2.check import plain
from soro_mechanics.robot_file.schema2.round_trip import comments, RoundTrip

CATALOGUE = [p for p in search_path() if (p / 'stiff_flop.yaml').is_file()][-1]


def new_file(name: str) -> Path:
    """Return a file of today's catalogue or of its examples."""
    return next(CATALOGUE.rglob(f'{name}.yaml'))


def data_of(name):
    return plain(read_yaml(new_file(name)))


# What is changed, where, and the path and words of the refusal.
REFUSED = {
    'property under a model': ('stiff_flop', 'models.network.radius', '1 mm',
                               'models.network.radius', 'body.segments'),
    'stiffness under a model': ('stiff_flop', 'models.ncm.bending_stiffness', '1 N m^2',
                                'models.ncm.bending_stiffness', 'body.segments'),
    'mass under a rod of a model': ('stewart_gough', 'models.network.mass', '1 g',
                                    'models.network.mass', 'body.bodies'),
    'numerics twice': ('stiff_flop', 'models.npcc', {'elements': 30},
                       'models.npcc.elements', 'models.ncm'),
    'damping': ('stiff_flop', 'body.segments.0.damping', '5 ms', 'body.segments[0].damping',
                'not supported yet by model ncm'),
    'damping of a section': ('stewart_gough', 'body.sections.rod.damping', '5 ms',
                             'body.sections.rod.damping', 'not supported yet by model network'),
    'wrong unit in a slot': ('stiff_flop', 'body.segments.0.damping', '5 mm',
                             'body.segments[0].damping', 'measures another dimension'),
    'inertia': ('stewart_gough', 'body.bodies.platform.inertia', '1 1 3 kg m^2',
                'body.bodies.platform.inertia', 'three moments'),
    'routing': ('tendon_arm', 'body.tendons.near_1.routing',
                [{'at': '10 mm', 'polar': {'radius': '8 mm', 'angle': '3 deg'}}],
                'body.tendons.near_1.routing', 'not supported yet by model network'),
    'ratios': ('stewart_gough', 'drives.0.acts.0.ratios', [1], 'drives[0].acts[0].ratios',
               'not supported yet by model network'),
    'rotation': ('stewart_gough', 'drives.0.acts.0',
                 {'drives': 'rotation', 'rods': ['rod_1'], 'axis': '0 0 1'},
                 'drives[0].acts[0].drives', 'not supported yet by model network'),
    'hysteresis': ('stiff_flop', 'drives.0.hysteresis',
                   {'operator': 'prandtl_ishlinskii', 'thresholds': [0, 0.1],
                    'weights': [1, -1.2]},
                   'drives[0].hysteresis.weights', 'above zero'),
    'creep': ('stiff_flop', 'drives.1.creep', {'part': 0.7, 'time_constant': '8 s'},
              'drives[1].creep.part', '50 %'),
    'torque': ('stewart_gough', 'drives.0',
               {'name': 'length_1', 'quantity': 'torque', 'minimum': '0 N m', 'maximum': '1 N m',
                'rate': '1 N m/s'}, 'drives[0].quantity', 'not supported yet by model network'),
    'torque in newton': ('stewart_gough', 'drives.0',
                         {'name': 'length_1', 'quantity': 'torque', 'minimum': '0 N',
                          'maximum': '1 N m', 'rate': '1 N m/s'}, 'drives[0].minimum',
                         'measures another dimension'),
    'spring': ('stewart_gough', 'loads',
               [{'kind': 'spring', 'body': 'platform', 'anchor': '0 0 1 m', 'stiffness': '1 N/m'}],
               'loads[0].kind', 'not supported yet by model network'),
    'load on a segment': ('stiff_flop', 'loads',
                          [{'kind': 'dead', 'rod': 'segment_1', 'at': '10 mm',
                            'force': '0 0 1 N'}], 'loads[0]', 'not supported yet by model ncm'),
    'marker': ('stewart_gough', 'sensors', [{'kind': 'marker', 'name': 'm', 'body': 'platform'}],
               'sensors[0].kind', 'not supported yet by model network'),
    'control mode': ('stewart_gough', 'control', {'mode': 'pid'}, 'control.mode', 'feedback'),
    'control gain': ('stewart_gough', 'control', {'gain': '-1 1/s'}, 'control.gain', '0'),
    'tip offset': ('stiff_flop', 'body.tip.offset', '0 0 5 mm', 'body.tip.offset',
                   'not supported yet by model ncm'),
    'chamber of no drive': ('stiff_flop', 'body.segments.0.chambers.0.drive', 'pear_1',
                            'body.segments[0].chambers[0].drive', 'pair_1'),
    'area outside': ('stiff_flop', 'body.segments.0.chambers.0.area', '1 m^2',
                     'body.segments[0].chambers', 'section of the radius'),
    'unknown kind': ('stiff_flop', 'body.kind', 'chane', 'body.kind', 'chain'),
    'unknown key': ('stiff_flop', 'body.segments.0.lenght', '1 mm', 'body.segments[0].lenght',
                    'length'),
    'model of another body': ('stewart_gough', 'models.ncm', {}, 'models.ncm', 'kind rods'),
    'curve backwards': ('soft_parallel', 'drives.1.curve.at', '0 60 30 90 120 150 180 kPa',
                        'drives[1].curve.at', 'must rise'),
    'mesh of no rod': ('stewart_gough', 'models.network.rods', {'rod_9': {'mesh': 2}},
                       'models.network.rods.rod_9', 'rod_'),
}  # fmt: skip


@pytest.mark.parametrize('name', REFUSED)
def test_wrong_or_uncomputed_entries_are_refused_where_they_stand(name):
    robot, path, value, where, words = REFUSED[name]
    data = data_of(robot)
    *parents, last = [int(x) if x.isdigit() else x for x in path.split('.')]
    node = data
    for key in parents:
        node = node[key]
    node[last] = value
    with pytest.raises(RobotFileError) as caught:
        describe_robot(data, 'x.yaml')
    assert caught.value.path == where
    assert words in str(caught.value) and caught.value.file == 'x.yaml'


def test_an_edit_keeps_comments_and_origins(tmp_path):
    source = new_file('stiff_flop')
    document = RoundTrip(source)
    document.put('body.segments.0.axial_stiffness', '31 N')
    document.put('coupled_limits', [{'coefficients': {'pair_1': 1}, 'maximum': '1 bar'}])
    target = tmp_path / 'robot.yaml'
    written = document.save(target)
    assert written.structure['segments'].segments[0].axial_stiffness == 31.0
    assert 'axial_stiffness: {value: 31 N, source: fitted}' in target.read_text()
    assert comments(target.read_text()) == comments(source.read_text())


def test_an_impossible_edit_leaves_the_file_alone(tmp_path):
    file = tmp_path / 'robot.yaml'
    file.write_text(new_file('stiff_flop').read_text())
    before = file.read_text()
    document = RoundTrip(file)
    document.put('body.segments.0.axial_stiffness', '31 mm')
    with pytest.raises(RobotFileError, match='another dimension'):
        document.save(file)
    assert file.read_text() == before and list(tmp_path.iterdir()) == [file]


PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'robot_file.md'
EXAMPLES = re.findall(r'^```yaml\n(.*?)^```', PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize('text', EXAMPLES, ids=[re.search('kind: (.*)', x)[1] for x in EXAMPLES])
def test_the_examples_of_the_page_are_robots(tmp_path, text):
    file = tmp_path / 'robot.yaml'
    file.write_text(text)
    description = read_robot_file(file)
    for model in description.models:
        robot = Robot(description, model)
        assert robot.forward([a.rest for a in robot.actuators]).status.converged, model


def test_there_is_an_example_of_every_kind_and_every_key_is_on_a_page():
    assert [re.search('kind: (.*)', x)[1] for x in EXAMPLES] == list(tables.BODY.tables)
    text = PAGE.read_text() + (PAGE.parent / 'network.md').read_text()

    def keys(item):
        for part in item.tables.values() if hasattr(item, 'tables') else [item]:
            for name, key in part.items():
                yield name
                for inner in (key, *key.options):
                    if inner.item is not None:
                        yield from keys(inner.item)

    for home in ('body', 'models'):
        missing = {k for k in keys(tables.TOP[home].item) if not re.search(rf'\b{k}\b', text)}
        assert not missing, missing
