# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The perturbed robot, the ground truth, and faults as text."""

from __future__ import annotations

from pathlib import Path
import tempfile
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from soro_emulation.emulated_body import EmulatedBody
from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.injected_fault import actuator_index, finite, parse_fault
from soro_emulation.node import PARAMETERS
from soro_emulation.perturbation import BodyProperties, changed_data, perturbed_robot
from soro_mechanics import load_robot
from soro_mechanics.core.errors import InvalidInput, RobotFileError, UnknownName
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs.parameter_table import markdown_table

ROOT = Path(__file__).resolve().parents[3]
RIG = Path(__file__).with_name('rig.yaml')
STIFF_FLOP = ['stiff_flop', 'stiff_flop_two_segment']


@pytest.fixture
def rig():
    return read_robot_file(RIG)


def with_changes(*changes):
    return BodyProperties('', 0.0, changes)


def test_a_factor_scales_every_number_and_keeps_the_unit(rig):
    changes = [(f'body.segments.0.chambers.{i}.angle', 2.0, None) for i in range(3)]
    robot = perturbed_robot(rig, with_changes(*changes))
    angles = robot.description.structure['constant_curvature'].angles
    assert np.rad2deg(angles) == pytest.approx([180.0, 420.0, 660.0])


def test_nothing_is_left_in_the_temporary_folder_whenever_the_process_is_killed(
    rig, tmp_path, monkeypatch
):
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path / 'absent'))
    perturbed_robot(rig, with_changes())


def test_entries_of_lists_are_named_in_both_ways(rig):
    for path in ('drives.0.maximum', 'drives[0].maximum'):
        robot = perturbed_robot(rig, with_changes((path, 0.5, None)))
        assert robot.limits[0, 1] == pytest.approx(0.5 * load_robot(RIG).limits[0, 1])


def test_a_value_is_replaced_and_provenance_is_kept_whole(rig):
    change = ('body.segments.0.length', None, '150 mm')
    robot = perturbed_robot(rig, with_changes(change))
    assert robot.forward([0.0, 0.0, 0.0]).tip[2, 3] == pytest.approx(0.150)
    assert load_robot(RIG).forward([0.0, 0.0, 0.0]).tip[2, 3] == pytest.approx(0.1716)


@pytest.mark.parametrize(
    'change',
    [
        ('body.segments.0.nothing', 1.1, None),
        ('drives.7.maximum', 1.1, None),
        ('title', 1.1, None),
        ('models', 1.1, None),
        ('body.segments.0.length', -1.0, None),
    ],
)
def test_wrong_changes_are_refused(rig, change):
    with pytest.raises(RobotFileError):
        perturbed_robot(rig, with_changes(change))


def test_body_without_changes_and_hysteresis_is_the_robot(rig):
    body = EmulatedBody(rig, BodyProperties('', 0.0, ()))
    values = np.array([0.9e5, 0.3e5, 0.0])
    assert body.configuration(values).tip == pytest.approx(load_robot(RIG).forward(values).tip)


@pytest.mark.parametrize('name', STIFF_FLOP)
def test_the_emulated_robot_is_near_the_described_one_and_not_its_twin(name):
    description = read_robot_file(find_robot_file(name))
    settings = read_emulator_settings(description, 'nidaq')
    described = load_robot(name)
    values = np.zeros(len(described.actuators))
    values[0] = values[1] = 0.8e5
    body = EmulatedBody(description, settings.body)
    true = body.configuration(values)
    modelled = described.forward(values)
    assert true.status.converged
    length = np.linalg.norm(modelled.tip[:3, 3])
    error = np.linalg.norm(true.tip[:3, 3] - modelled.tip[:3, 3]) / length
    assert 0.005 < error < 0.12
    assert len(true.backbones[0]) > len(modelled.backbones[0])  # divided more finely


def test_the_body_remembers_the_way(rig):
    settings = read_emulator_settings(rig, 'nidaq')
    body = EmulatedBody(rig, settings.body)
    half, full = np.array([0.7e5, 0.0, 0.0]), np.array([1.4e5, 0.0, 0.0])
    up = body.configuration(half).tip[:3, 3]
    body.configuration(full)
    down = body.configuration(half).tip[:3, 3]
    assert 1e-4 < np.linalg.norm(down - up) < 1e-2


def test_faults_as_text():
    assert parse_fault('{"fault": "leak", "rate": 3}') == ('leak', {'rate': 3})
    for text in ('', 'leak', '[]', '{"leak": 1}', '{"fault": 3}'):
        with pytest.raises(InvalidInput, match='JSON'):
            parse_fault(text)
    assert finite({'rate': 3}, 'rate', 1.0) == 3.0
    assert finite({}, 'rate', 1.0) == 1.0
    for value in (float('nan'), '3', True, None):
        with pytest.raises(InvalidInput):
            finite({'rate': value}, 'rate', 1.0)
    assert actuator_index({'actuator': 'b'}, ('a', 'b')) == 1
    with pytest.raises(UnknownName):
        actuator_index({'actuator': 'c'}, ('a', 'b'))


@pytest.mark.parametrize(
    ('section', 'path'),
    [
        ({'seed': -1}, 'emulator.seed'),
        ({'sede': 1}, 'emulator.sede'),
        ({'body': {'hysteresis': '80 %'}}, 'emulator.body.hysteresis'),
        ({'body': {'changes': [{'path': 'title'}]}}, 'emulator.body.changes[0].value'),
        ({'body': {'changes': [{'factor': 2}]}}, 'emulator.body.changes[0].path'),
    ],
)
def test_wrong_emulator_sections(tmp_path, section, path):
    data = yaml.safe_load(RIG.read_text(encoding='utf-8'))
    data['emulator'] = section
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    with pytest.raises(RobotFileError) as error:
        read_emulator_settings(read_robot_file(file), 'nidaq')
    assert error.value.path == path


#: parts of the section whose every number says where it comes from, and keys elsewhere
PARTS = ('motor', 'regulator', 'muscles', 'motion', 'flex', 'dynamics', 'creep')
SAID = ('factor', 'hysteresis', 'noise', 'tendon_friction')


def unsaid(data, path='', within=False):
    """Return the paths of numbers without an origin."""
    rows = data.items() if isinstance(data, dict) else enumerate(data)
    out = []
    for key, value in rows:
        here = f'{path}.{key}'
        if isinstance(value, dict | list):
            if not (isinstance(value, dict) and 'source' in value):
                out += unsaid(value, here, key in PARTS)
        elif (within or key in SAID) and not isinstance(value, bool) and value not in (0, '0 %'):
            out += [] if key == 'elements' else [here]
    return out


def test_numbers_of_actuators_say_where_they_come_from():
    files = sorted(find_robot_file('stiff_flop').parent.rglob('*.yaml'))
    assert len(files) > 10
    found = {f.name: unsaid(yaml.safe_load(f.read_text()).get('emulator', {})) for f in files}
    assert {name: paths for name, paths in found.items() if paths} == {}
    found = unsaid({'x': {'motor': {'limit': '2 N m'}}, 'body': {'hysteresis': '3 %'}})
    assert found == ['.x.motor.limit', '.body.hysteresis']


def test_everything_in_the_section_is_optional(tmp_path):
    data = yaml.safe_load(RIG.read_text(encoding='utf-8'))
    del data['emulator']
    file = tmp_path / 'robot.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    settings = read_emulator_settings(read_robot_file(file), 'nidaq')
    assert (settings.seed, settings.body.changes) == (1, ())


def test_documented_parameters_are_the_table():
    page = (ROOT / 'docs/nodes/emulator.md').read_text(encoding='utf-8')
    assert markdown_table(PARAMETERS) in page


def test_configured_parameters_exist():
    names = {p.name: p for p in PARAMETERS}
    data = yaml.safe_load((ROOT / 'config/nodes/emulator.yaml').read_text(encoding='utf-8'))
    for name, value in data['/**/emulator']['ros__parameters'].items():
        names[name].checked(value)


def test_a_part_that_an_alias_repeats_is_changed_where_the_path_says(tmp_path):
    file = tmp_path / 'x.yaml'
    file.write_text('models: [x]\na: &x {b: 1.0}\nc: *x\n')
    robot = SimpleNamespace(file=str(file))
    changed = changed_data(robot, BodyProperties(changes=(('a.b', 2.0, None),)))
    assert (changed['a'], changed['c']) == ({'b': 2.0}, {'b': 1.0})
