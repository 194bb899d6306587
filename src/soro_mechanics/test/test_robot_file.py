# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check what YAML of version 1.1 would take for other numbers than a reader does."""

import re

import pytest

from soro_mechanics import load_robot, RobotFileError
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_yaml


def test_an_octal_number_is_refused(tmp_path):
    file = tmp_path / 'robot.yaml'
    text = find_robot_file('stiff_flop').read_text(encoding='utf-8')
    file.write_text(re.sub('elements: .*', 'elements: 050', text))
    with pytest.raises(RobotFileError, match="elements = '050': write a whole number"):
        load_robot(file)


def test_numbers_that_look_like_others_are_texts(tmp_path):
    file = tmp_path / 'some.yaml'
    file.write_text('[050, -07, 1:30, 1:30.5, 50, 0, -7, 0x1F, 1_000, 0.5, 1.0e+3, .5, -.inf]')
    texts, numbers = ['050', '-07', '1:30', '1:30.5'], [50, 0, -7, 31, 1000, 0.5, 1e3, 0.5]
    assert read_yaml(file) == [*texts, *numbers, float('-inf')]


@pytest.mark.parametrize('text', ['[' * 400_000, '[' * 200_000 + ']' * 200_000, '{a: ' * 200_000])
@pytest.mark.parametrize('begin', ['', 'a: 1\nb: '])
def test_what_is_nested_without_end_is_refused_before_the_loader_gets_it(tmp_path, text, begin):
    """libyaml's would end the process."""
    file = tmp_path / 'deep.yaml'
    file.write_text(begin + text)
    with pytest.raises(RobotFileError, match='deep.yaml.*line [12] is nested deeper than 100'):
        read_yaml(file)


@pytest.mark.parametrize('mark', ['- ', '? '])
def test_blocks_are_nested_as_deep(tmp_path, mark):
    file = tmp_path / 'deep.yaml'
    file.write_text(mark * 400_000)
    with pytest.raises(RobotFileError, match='nested deeper than 100'):
        read_yaml(file)
    file.write_text(99 * '- ' + 'end')
    found = read_yaml(file)
    for _ in range(99):
        (found,) = found
    assert found == 'end'


def test_aliases_are_as_deep_as_what_they_name(tmp_path):
    file = tmp_path / 'deep.yaml'
    parts = [f'a{k}: &x{k} {40 * "["}{f"*x{k - 1}" if k else 1}{40 * "]"}' for k in range(3)]
    file.write_text('\n'.join(parts[:2]))
    assert read_yaml(file)['a1']
    file.write_text('\n'.join(parts))
    with pytest.raises(RobotFileError, match='line 3 is nested deeper than 100'):
        read_yaml(file)
    with pytest.raises(RobotFileError, match='inside of what it names'):
        file.write_text('a: &x [1, [*x]]')
        read_yaml(file)
