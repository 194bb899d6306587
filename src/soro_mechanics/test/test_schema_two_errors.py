# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whatever is wrong in a file of schema 2 is refused in its own words, and nothing is ignored."""

from __future__ import annotations

from collections.abc import Iterator
import copy
from pathlib import Path
import re
from typing import Any

from changed_robots import keys_of, put, REMOVED
import numpy as np
import pytest
from same_structure import differences
import yaml

from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.robot_file.reader import describe_robot, read_robot_file

PAGE = Path(__file__).resolve().parents[3] / 'docs' / 'robot_file.md'
BLOCKS = re.findall(r'^```yaml\n(.*?)^```', PAGE.read_text(encoding='utf-8'), re.M | re.S)
TEXTS = {yaml.safe_load(text)['body']['kind']: text for text in BLOCKS}
WRONG = {
    'empty': None,
    'text': 'x y',
    'without a unit': 7,
    'zero': 0,
    'negative': '-3 m',
    'another dimension': '1 kg m^2',
    'infinite': '1e999 m',
    'huge': '1e200 m',
    'not a number': float('nan'),
    'true': True,
    'a list': ['a', 1],
    'a mapping': {'a': 1},
    'removed': REMOVED,
}
# Words of the trees that models are built from: no file says them.
TREE = re.compile(
    r'\b(actuators?|actuation|segments\.chain|(ancf|kirchhoff|constant_curvature|haptic)\.\w+|'
    r'flexible_length|leg_mass|rod_diameter|muscle_radius|pressure_map|rest_length|tip_mass|'
    r'flex_sensors|axes)\b'
)
SAID = (
    'actuators',
    'coupled_limits',
    'models',
    'gravity',
    'structure',
    'name',
    'title',
    'reference',
)


def parts(node: Any, path: str = '') -> Iterator[tuple[str, Any]]:
    """Return everything that stands in a file; of a list, the first two."""
    if path:
        yield path, node
    if isinstance(node, dict):
        for key, child in node.items():
            yield from parts(child, f'{path}.{key}' if path else key)
    elif isinstance(node, list):
        for i, child in enumerate(node[:2]):
            yield from parts(child, f'{path}[{i}]')


def example(kind: str) -> Any:
    return yaml.safe_load(TEXTS[kind])


def describe(data: Any) -> Any:
    with np.errstate(all='ignore'):
        return describe_robot(data, 'x.yaml')


def same(a: Any, b: Any) -> bool:
    return not any(differences(getattr(a, k), getattr(b, k), k) for k in SAID)


def stands(data: Any, path: str) -> tuple[bool, Any]:
    for key in keys_of(path):
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            return False, None
    return True, data


def check(error: RobotFileError, data: Any) -> None:
    """Hold an error to the file: its path, the value there, and a remedy in its words."""
    found, value = stands(data, error.path)
    if found:
        if error.path != 'body.legs':  # the drives of the legs, in short
            assert repr(value) == repr(error.value), error
    else:
        assert error.value is None, error
        assert stands(data, error.path.rpartition('.')[0])[0], error
    assert error.remedy and not TREE.search(error.remedy), error


@pytest.mark.parametrize('wrong', WRONG)
@pytest.mark.parametrize('kind', TEXTS)
def test_a_wrong_value_anywhere_is_refused_where_it_stands_or_says_something_else(kind, wrong):
    data = example(kind)
    good = describe(data)
    for path, was in parts(data):
        changed = copy.deepcopy(data)
        put(changed, path, WRONG[wrong])
        try:
            other = describe(changed)
        except RobotFileError as error:
            check(error, changed)
            continue
        if wrong != 'removed' and WRONG[wrong] != was:
            assert not same(other, good), f'{path}: ignored'


@pytest.mark.parametrize('kind', TEXTS)
def test_every_number_counts(kind):
    data = example(kind)
    good = describe(data)
    number = re.compile(r'[-+]?\d*\.?\d+(?:e[-+]?\d+)?')
    for path, was in parts(data):
        if not isinstance(was, str) or not number.match(was) or path.endswith('axis'):
            continue
        changed = copy.deepcopy(data)
        put(changed, path, number.sub(lambda m: f'{float(m[0]) * 1.01 or 0.01!r}', was, count=1))
        try:
            assert not same(describe(changed), good), f'{path}: ignored'
        except RobotFileError as error:
            check(error, changed)


@pytest.mark.parametrize('kind', TEXTS)
def test_every_value_may_carry_its_origin(kind):
    data = example(kind)
    good = describe(data)
    for path, was in parts(data):
        if isinstance(was, dict) or re.search(r'(stretch|rods|tendons|chambers)\[\d\]$', path):
            continue
        changed = copy.deepcopy(data)
        put(changed, path, {'value': was, 'source': 'measured', 'note': 'twice'})
        described = describe(changed)
        assert same(described, good), path
        assert (path, 'measured', 'twice') in [
            (o.path, o.source, o.note) for o in described.origins
        ]


def test_legs_that_a_drive_stretches_to_nothing_are_refused():
    data = yaml.safe_load(TEXTS['legs'])
    for drive in data['drives']:
        drive.pop('curve', None)
        drive.update(quantity='stretch', minimum=-0.2, maximum=0.3, rate='1 1/s')
    with pytest.raises(RobotFileError, match='above zero'):
        describe_robot(data, 'x.yaml')


LENGTH = {'quantity': 'length', 'minimum': '0 m', 'maximum': '1 m', 'rate': '1 m/s'}
# kind, where, what is written there, path of the refusal, words of it.
CASES = [
    ('chain', 'drives[3]', {'name': 'x', **LENGTH}, 'body.segments', "drive 'x'"),
    ('legs', 'drives[3]', {'name': 'x', **LENGTH}, 'body.legs', 'one leg per drive'),
    ('legs', 'drives', [{'name': 'x', **LENGTH}], 'drives', 'at least two legs'),
    ('muscles', 'drives[3]', {'name': 'x', **LENGTH}, 'body.modules', 'third of the drives'),
    ('rods', 'drives[3]', {'name': 'x', **LENGTH}, 'drives[3].acts', 'required'),
    ('legs', 'drives[1].name', 'air_1', 'drives[1].name', 'two drives'),
    ('rods', 'body.tip.mass', '1 g', 'body.tip.mass', 'unknown key'),
    ('chain', 'body.platform', {}, 'body.platform', 'unknown key'),
    ('chain', 'segments', {}, 'segments', 'unknown key'),
    ('chain', 'schema', 1, 'schema', 'reads schema 2'),
    ('chain', 'body.segments[0].torsion_stiffness', '0 N m^2',
     'body.segments[0].torsion_stiffness', 'greater than zero'),
    ('chain', 'body.segments[0].chambers[1].area', REMOVED,
     'body.segments[0].chambers[1].area', 'required'),
    ('chain', 'models', {'network': {}, 'ancf': {}}, 'models.ancf', 'kind chain'),
    ('chain', 'models.network.rods', {'fingr': {'mesh': 3}}, 'models.network.rods.fingr',
     "did you mean 'finger'"),
    ('chain', 'models.network.guess', {'plat': {}}, 'models.network.guess.plat', "'plate'"),
    ('legs', 'models.network.rods', {'leg_9': {'mesh': 3}}, 'models.network.rods.leg_9', 'leg_'),
    ('legs', 'models.network.mesh', [0, 2], 'models.network.mesh', 'fractions'),
    ('muscles', 'models.network.rods', {'tube_1_1': {'mesh': 0}},
     'models.network.rods.tube_1_1.mesh', 'at least 1'),
    ('muscles', 'models.network.guess', {'disk_9': {}}, 'models.network.guess.disk_9', 'disk_1'),
    ('muscles', 'body.backbone.shear_factor', 0, 'body.backbone.shear_factor', 'greater than'),
    ('rods', 'body.bodies.value', {'mass': '1 g'}, 'body.bodies.value', 'taken'),
    ('rods', 'body.chambers.air.parts', [], 'body.chambers.air.parts', 'at least one'),
    ('rods', 'body.chambers.spare', {'rods': ['spine'], 'parts': []}, 'body.chambers.spare',
     'no drive acts on it'),
    ('rods', 'drives[2].acts[1]', {'drives': 'pressure', 'chambers': ['air']},
     'drives[2].acts[1].chambers[0]', 'already'),
    ('rods', 'drives[1].acts[0].tendons', ['pul'], 'drives[1].acts[0].tendons[0]', "'pull'"),
    ('rods', 'drives[0].acts[0].rods', ['spin'], 'drives[0].acts[0].rods', 'not a rod'),
    ('rods', 'body.tendons.pull.rods', [], 'body.tendons.pull.rods', 'at least one name'),
    ('rods', 'drives[1].acts[0].tendons', [], 'drives[1].acts[0].tendons', 'at least one name'),
    ('rods', 'drives[0].acts[0].rods', [], 'drives[0].acts[0].rods', 'at least one name'),
    ('rods', 'body.tendons.pull.stiffness', '1 N/m', 'body.tendons.pull.stiffness', 'not used'),
    ('rods', 'body.sections.hose.young', '1 GPa', 'body.sections.hose.young', 'not used'),
    ('rods', 'loads[0].from', '1 mm', 'loads[0].from', 'not used'),
    ('rods', 'loads[0].force', '0 0 1 N/m', 'loads[0].force', 'dimension'),
    ('rods', 'sensors', [{'kind': 'flex', 'distance': '1 mm', 'deviation': '1 um', 'strips': []}],
     'sensors[0]', 'control.haptic'),
]  # fmt: skip


@pytest.mark.parametrize(('kind', 'at', 'value', 'path', 'words'), CASES)
def test_what_does_not_fit_is_refused(kind, at, value, path, words):
    data = example(kind)
    *parents, last = keys_of(at)
    home = stands(data, '.'.join(map(str, parents)))[1]
    if isinstance(home, list) and last == len(home):
        home.append(value)
    else:
        put(data, at, value)
    with pytest.raises(RobotFileError) as caught:
        describe(data)
    check(caught.value, data)
    assert caught.value.path == path and words in str(caught.value)


def test_a_guess_replaces_the_place_of_a_body():
    data = example('rods')
    polar = {'polar': {'radius': '1 mm', 'angle': '0 deg', 'height': '99 mm'}}
    data['models']['network']['guess'] = {'disk': polar}
    disk = describe(data).structure['network'].bodies[1]
    np.testing.assert_allclose(disk.pose[:3, 3], [1e-3, 0.0, 99e-3])


HEAD = TEXTS['chain']
HOSTILE = {
    'empty': '',
    'a list': '- schema: 2\n',
    'only a comment': '# nothing\n',
    'tab': HEAD.replace('  kind', '\tkind'),
    'a key twice': HEAD + 'body: {}\n',
    'merge key': HEAD.replace('  kind: chain', '  <<: {kind: chain}'),
    'an alias of what is not there': HEAD.replace('length: 60 mm', 'length: *other'),
    'an anchor on a mapping with another unit': HEAD.replace('radius: 10 mm', 'radius: &r 1 bar'),
    'two documents': HEAD + '---\n' + HEAD,
    'octal': HEAD.replace('shear_factor: 0.85', 'shear_factor: 017 m'),
}


@pytest.mark.parametrize('text', HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused(tmp_path, text):
    file = tmp_path / 'x.yaml'
    file.write_text(text, encoding='utf-8')
    with pytest.raises(RobotFileError) as caught:
        read_robot_file(file)
    assert caught.value.path and caught.value.remedy and str(file) in str(caught.value)


def test_an_anchored_value_stands_for_itself(tmp_path):
    file = tmp_path / 'x.yaml'
    text = HEAD.replace('area: 40 mm^2', 'area: &area 40 mm^2', 1)
    file.write_text(text.replace('area: 40 mm^2', 'area: *area'), encoding='utf-8')
    assert same(read_robot_file(file), describe(example('chain')))
