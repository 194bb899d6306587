# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""soro identify: from a table to a robot file, and the refusals."""

from collections import Counter
import json
from pathlib import Path
import re

import numpy as np
import pytest
import yaml

from soro_cli.main import main
from soro_mechanics.identification.stretch_table import read_stretch_table
from soro_mechanics.robot import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.schema2.round_trip import comments

HEADER = 'leg,pressure [kPa],stretch'
PAGES = Path(__file__).resolve().parents[3] / 'docs'


def table(path, heights=(0.6, 0.62, 0.64), count=25):
    x = np.linspace(0.0, 1.0, count)
    rows = [
        f'leg_{i + 1},{180.0 * a:.3f},{1.0 + h * a * a:.5f}'
        for i, h in enumerate(heights)
        for a in x
    ]
    path.write_text('\n'.join([HEADER, *rows]) + '\n', encoding='utf-8')
    return str(path)


def test_curves_go_into_a_robot_file(tmp_path, capsys):
    target = tmp_path / 'mine.yaml'
    words = ['identify', table(tmp_path / 'legs.csv'), '--robot', 'soft_parallel']
    assert main([*words, '--write', str(target)]) == 0
    out = capsys.readouterr()
    assert 'leg_3' in out.out and 'mine.yaml' in out.err
    curves = load_robot(target).model_object.legs.curves
    highest = [float(c.values[-1]) for c in curves]
    assert highest == pytest.approx([1.6, 1.62, 1.64], abs=3e-3)


def test_json_is_si(tmp_path, capsys):
    words = ['identify', table(tmp_path / 'legs.csv'), '--robot', 'soft_parallel', '--json']
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer['leg_1']['pressures'][-1] == 180e3
    assert answer['leg_1']['points'] == 25 and answer['leg_1']['rms'] < 2e-3


def test_a_file_that_cannot_be_written_is_named(tmp_path, capsys):
    target = tmp_path / 'missing' / 'mine.yaml'
    words = ['identify', table(tmp_path / 'legs.csv'), '--robot', 'soft_parallel']
    assert main([*words, '--write', str(target)]) == 1
    assert f'{target} cannot be written: No such file' in capsys.readouterr().err


def test_bad_data_ends_with_its_reason(tmp_path, capsys):
    file = table(tmp_path / 'legs.csv', heights=(0.6, 0.62, -0.3))
    target = tmp_path / 'mine.yaml'
    words = ['identify', file, '--robot', 'soft_parallel', '--write', str(target)]
    assert main(words) == 1
    assert 'leg_3' in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.parametrize('robot', ['stiff_flop', 'stewart_gough'])
def test_robots_without_the_curve_are_refused(tmp_path, capsys, robot):
    assert main(['identify', table(tmp_path / 'legs.csv'), '--robot', robot]) == 1
    assert 'lambda' in capsys.readouterr().err


@pytest.mark.parametrize('named', ['leg', 'air'])
def test_legs_are_named_by_themselves_or_by_their_drives(tmp_path, named):
    own = tmp_path / 'own.yaml'
    own.write_text(documented(), encoding='utf-8')
    model = load_robot(own).model_object
    rows = table(tmp_path / 'legs.csv')
    text = Path(rows).read_text(encoding='utf-8').replace('leg_', f'{named}_')
    Path(rows).write_text(text, encoding='utf-8')
    found = read_stretch_table(rows, model)
    assert found.legs == ('leg_1', 'leg_2', 'leg_3')
    assert [x.size for x in found.stretches] == [25, 25, 25]
    tip = (1e3 * load_robot(own).forward([3e4, 6e4, 0.0]).tip[:3, 3]).tolist()
    postures = tmp_path / 'tips.csv'
    postures.write_text(
        f'{named}_1 [kPa],{named}_2[kPa],{named}_3 [kPa],x [mm],y [mm],z [mm]\n'
        f'30,60,0,{tip[0]!r},{tip[1]!r},{tip[2]!r}\n',
        encoding='utf-8',
    )
    found = read_stretch_table(postures, model)
    assert found.legs == ('leg_1', 'leg_2', 'leg_3')
    expected = model.stretches(np.array([3e4, 6e4, 0.0]))[0]
    np.testing.assert_allclose(np.ravel(found.stretches), expected, atol=1e-8)


def soft_parallel():
    return find_robot_file('soft_parallel').read_text(encoding='utf-8')


def documented():
    """Return the example of the page of the model, as a whole robot file."""
    page = (PAGES / 'models' / 'ancf.md').read_text(encoding='utf-8')
    (example,) = re.findall(r'^```yaml\n(body:.*?)^```', page, re.MULTILINE | re.DOTALL)
    head = 'schema: 2\nname: mine\ntitle: my legs\ngravity: 0 0 -9.81 m/s^2 # upright\n'
    return head + example


def in_blocks(text):
    """Return a robot file with every mapping and list in block style."""
    return yaml.safe_dump(yaml.safe_load(text), default_flow_style=False, sort_keys=False)


@pytest.mark.parametrize('style', [str, in_blocks])
@pytest.mark.parametrize('source', [documented, soft_parallel])
def test_a_file_of_any_style_gets_the_curves(tmp_path, source, style):
    own = tmp_path / 'own.yaml'
    own.write_text(style(source()), encoding='utf-8')
    before = yaml.safe_load(own.read_text(encoding='utf-8'))
    notes = comments(own.read_text(encoding='utf-8'))
    words = ['identify', table(tmp_path / 'legs.csv'), '--robot', str(own), '--write', str(own)]
    assert main(words) == 0
    written = own.read_text(encoding='utf-8')
    highest = [float(c.values[-1]) for c in load_robot(own).model_object.legs.curves]
    assert highest == pytest.approx([1.6, 1.62, 1.64], abs=3e-3)
    assert not Counter(notes) - Counter(comments(written))
    after = yaml.safe_load(written)
    for tree in (before, after):
        for drive in tree['drives']:
            del drive['curve']
    assert after == before
    assert main(words) == 0  # and once more, on what was written
    again = [float(c.values[-1]) for c in load_robot(own).model_object.legs.curves]
    assert again == highest
