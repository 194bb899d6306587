# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check that every wrong robot file is refused with the field, the value and the remedy.

The first line of each ``bad_robots/bad_*.yaml`` is a comment: the path of the field, a colon, and
a part of the remedy.
"""

from pathlib import Path

import pytest

from soro_mechanics import load_robot, RobotFileError

HERE = Path(__file__).parent
FILES = sorted((HERE / 'bad_robots').glob('bad_*.yaml'))


@pytest.mark.parametrize('file', FILES, ids=lambda f: f.stem)
def test_a_wrong_file_names_field_value_and_remedy(file):
    path, _, remedy = file.read_text(encoding='utf-8').splitlines()[0][2:].partition(': ')
    with pytest.raises(RobotFileError) as caught:
        load_robot(file)
    error = caught.value
    assert error.path == path
    assert remedy in error.remedy
    assert error.file == str(file) and str(file) in str(error)
    assert repr(error.value)[:100] in str(error)  # a long one is cut


def test_every_error_is_its_own():
    messages = set()
    for file in FILES:
        with pytest.raises(RobotFileError) as caught:
            load_robot(file)
        messages.add((caught.value.path, caught.value.remedy))
    assert len(messages) == len(FILES)


def test_a_syntax_error_says_where_and_nothing_of_the_parser():
    with pytest.raises(RobotFileError, match=r'line \d+, column \d+') as caught:
        load_robot(HERE / 'bad_robots' / 'bad_not_yaml.yaml')
    assert 'unicode' not in str(caught.value)


def test_there_are_files_to_refuse():
    assert len(FILES) > 40


def test_the_good_file_they_were_made_from_loads(tmp_path):
    wrong = (FILES[0].parent / 'bad_unknown_model.yaml').read_text(encoding='utf-8')
    good = tmp_path / 'good.yaml'
    good.write_text(wrong.replace('ncn: {}', 'ncm: {}'))
    robot = load_robot(good)
    assert robot.models == ('ncm', 'lpcc') and len(robot.actuators) == 2
