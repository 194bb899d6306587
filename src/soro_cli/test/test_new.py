# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro new`: what it writes is what doctor and the models accept, and is what was answered."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest

from soro_cli.doctor.findings import Level
from soro_cli.doctor.robot import robot_findings
from soro_cli.main import main
from soro_cli.robot_templates import TEMPLATES
from soro_cli.verbs.new import KINDS
from soro_mechanics import load_robot


def test_every_kind_can_be_chosen():
    assert tuple(TEMPLATES) == KINDS


@pytest.mark.parametrize('kind', KINDS)
def test_what_is_written_without_a_question_has_no_finding_of_the_doctor(kind, tmp_path):
    file = tmp_path / 'mine.yaml'
    assert main(['new', 'mine', '--kind', kind, '--yes', '--output', str(file)]) == 0
    found = list(robot_findings(str(file)))
    assert {'file', 'provenance', 'gravity', 'driver', 'emulator'} <= {f.subject for f in found}
    assert {f.level for f in found} == {Level.OK}
    assert file.read_text(encoding='utf-8').count('#') > 4  # it explains itself


@pytest.mark.parametrize(('kind', 'away'), [('arm', True), ('tendons', False)])
def test_the_first_actuator_bends_where_it_stands(kind, away, tmp_path):
    file = tmp_path / 'mine.yaml'
    words = ['--kind', kind, '--yes', '--set', 'count=5', '--output', str(file)]
    assert main(['new', 'mine', *words]) == 0
    robot = load_robot(str(file))
    assert len(robot.actuators) == 5
    tips = []
    for i in range(5):
        actuation = np.zeros(5)
        actuation[i] = 0.5 * robot.actuators[i].maximum
        x, y = robot.forward(actuation).tip[:2, 3]
        tips.append(math.degrees(math.atan2(y, x)) % 360.0)
    side = 180.0 if away else 0.0  # a chamber pushes, a tendon pulls
    expected = [(72.0 * i + side) % 360.0 for i in range(5)]
    turns = (np.array(tips) - expected + 180.0) % 360.0 - 180.0
    np.testing.assert_allclose(turns, 0.0, atol=0.5)


def test_answers_are_taken_and_a_wrong_one_is_asked_again(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    lines = ['arm', '9', '90 mm', '', '', '2', '-1 bar', '0.3 bar']
    monkeypatch.setattr('sys.stdin', io.StringIO('\n'.join(lines) + '\n'))
    assert main(['new', 'long_arm']) == 0
    robot = load_robot(str(tmp_path / 'long_arm.yaml'))
    assert robot.forward([0.0, 0.0]).arc_lengths[0][-1] == pytest.approx(0.09)
    assert [a.maximum for a in robot.actuators] == [0.3e5, 0.3e5]
    asked = capsys.readouterr().out
    assert 'length' in asked and "'9'" in asked and 'positive' in asked


@pytest.mark.parametrize(
    'words',
    [
        ('Name',),
        ('mine', '--set', 'length=3'),
        ('mine', '--set', 'length=0mm'),
        ('mine', '--set', 'count=1'),
        ('mine', '--set', 'colour=red'),
        ('mine', '--set', 'length=90mm', '--set', 'length=80mm'),
        ('mine', '--set', 'length=1e40m'),
    ],
)
def test_what_makes_no_robot_is_refused_and_nothing_is_written(words, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(['new', *words, '--kind', 'arm', '--yes']) == 1
    assert not list(tmp_path.iterdir())


NAMES = ('My Robot', '2fingers', 'a: b', '', 'stiff_flop', 'höhe', 'no', 'on', 'null', 'nan')


@pytest.mark.parametrize('name', NAMES)
def test_a_name_is_refused_before_anything_is_asked(name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('sys.stdin', io.StringIO('arm\n'))
    assert main(['new', name]) == 1
    said = capsys.readouterr()
    assert not said.out and name in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('words', [('--set', 'maximum=3'), ('--output', 'missing/mine.yaml')])
def test_what_is_wrong_on_the_line_is_refused_before_anything_is_asked(
    words, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr('sys.stdin', io.StringIO('90 mm\n'))
    assert main(['new', 'mine', '--kind', 'arm', *words]) == 1
    said = capsys.readouterr()
    assert not said.out and words[1].split('=')[0].split('/')[0] in said.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    'words',
    [
        ('new', 'mine', '--yes', '--output'),
        ('bench', 'stiff_flop', '--output'),
        ('simulate', 'stiff_flop', '0.1bar', '0', '0', '--record'),
        ('curves', 'record'),
    ],
    ids=lambda words: words[0],
)
def test_what_was_measured_or_written_by_hand_is_left_alone(capsys, tmp_path, words):
    """By every verb that makes such a file; recordings: see there."""
    file = tmp_path / 'mine.yaml'
    file.write_text('mine', encoding='utf-8')
    assert main([*words, str(file)]) == 1
    assert 'mine.yaml exists: write another name' in capsys.readouterr().err
    assert file.read_text(encoding='utf-8') == 'mine'
