# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The checks with real tools: what is missing is skipped with its name, what fails is said."""

from configparser import ConfigParser

import pytest
import real_ros


@pytest.fixture
def tools(tmp_path, monkeypatch):
    """Return what installs a command of this text; nothing else is on the path but /bin."""
    monkeypatch.setenv('PATH', f'{tmp_path}:/usr/bin:/bin')

    def install(name, text):
        file = tmp_path / name
        file.write_text(f'#!/bin/sh\n{text}\n')
        file.chmod(0o755)

    return install


def rows(capsys):
    lines = capsys.readouterr().out.splitlines()
    return {line[:30].strip(): line[30:39].strip() for line in lines}, lines


def test_without_ros_all_is_skipped_and_says_why(tools, capsys):
    assert real_ros.main([]) == 0
    found, lines = rows(capsys)
    assert set(found.values()) == {'skipped'}
    assert len(found) == len(real_ros.ROWS)
    assert all('not installed: ' in line for line in lines)


def test_a_linter_that_complains_fails_the_run(tools, capsys):
    tools('ament_flake8', 'echo src/a.py:1: E501; exit 1')
    tools('ament_pep257', 'test "$1" = --convention')
    tools('ament_copyright', 'exit 1')
    assert real_ros.main(['--only', 'lint']) == 1
    found, lines = rows(capsys)
    assert found == {'ament_flake8': 'FAILED', 'ament_pep257': 'ok', 'ament_copyright': 'skipped'}
    assert 'E501' in lines[0]


def test_a_robot_that_ends_fails_every_row(tools, capsys, monkeypatch):
    monkeypatch.setattr(real_ros, 'READY', 1.0)
    tools('ros2', 'test "$1" = daemon')
    tools('soro', '')
    assert real_ros.main(['--only', 'launch']) == 1
    assert rows(capsys)[0] == {'ros2 launch': 'FAILED'}


def test_without_rosbag2_its_rows_are_skipped(tools, capsys):
    tools('ros2', 'test "$1" = daemon')
    tools('soro', '')
    rows_of_bags = [row for row in real_ros.ROWS if row.group == 'bag']
    found = {real_ros.outcome(row, None) for row in rows_of_bags}  # no check may begin
    assert found == {('skipped', 'not installed: ros2bag')}


def test_ament_flake8_takes_every_package_for_ours():
    config = ConfigParser()
    assert config.read(real_ros.ROOT / 'scripts/ament_flake8.ini')
    names = config['flake8']['application-import-names'].replace(',', ' ').split()
    folders = [*real_ros.ROOT.glob('src/soro_*'), *real_ros.ROOT.glob('studies/soro_*')]
    assert names and set(names) == {folder.name for folder in folders}
