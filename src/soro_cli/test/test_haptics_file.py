# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""`soro haptics FILE`: what is wrong with a file is said before any robot is looked for."""

import pytest

from soro_cli.main import main

GOOD = 'objects: [{name: ball, shape: sphere, size: 20 0 0 mm, friction: 0.3}]'


@pytest.mark.parametrize(
    ('text', 'options', 'said'),
    [
        (None, (), 'a file that exists'),
        (GOOD, ('--radius', '3mm'), '--radius'),
        (GOOD.replace('sphere', 'cone'), (), 'objects[0].shape'),
        (GOOD.replace('0.3', '-0.3'), (), 'objects[0].friction'),
        (GOOD + '\nobject: 1', (), 'object'),
    ],
)
def test_a_wrong_file_is_refused_by_field(tmp_path, monkeypatch, capsys, text, options, said):
    def robots(*_):
        raise AssertionError('a robot was looked for')

    monkeypatch.setattr('soro_cli.robot_choice.running_robot', robots)
    path = tmp_path / 'scene.yaml'
    if text is not None:
        path.write_text(text, encoding='utf-8')
    assert main(['haptics', str(path), *options]) == 1
    assert said in capsys.readouterr().err
