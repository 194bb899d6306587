# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What makes a rebuild necessary and what does not; which ROS is used."""

from pathlib import Path

import pytest
from workspace_build import Build
from workspace_environment import Environment
from workspace_layout import installed_ros_prefixes, Workspace

MANIFEST = '<package format="3"><name>{}</name></package>'


def say_nothing(text: str) -> None:
    """Take the place of the progress lines."""


@pytest.fixture
def workspace(tmp_path, monkeypatch) -> Workspace:
    """Return a small workspace with one package of each kind, nothing built."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    for name in ('soro_msgs', 'soro_node', 'soro_description'):
        folder = tmp_path / 'src' / name
        folder.mkdir(parents=True)
        (folder / 'package.xml').write_text(MANIFEST.format(name))
    (tmp_path / 'colcon.meta').write_text('{}')
    (tmp_path / 'src/soro_msgs/CMakeLists.txt').write_text('project(soro_msgs)')
    (tmp_path / 'src/soro_msgs/msg').mkdir()
    (tmp_path / 'src/soro_msgs/msg/Load.msg').write_text('float64 x')
    (tmp_path / 'src/soro_description/CMakeLists.txt').write_text('project(soro_description)')
    (tmp_path / 'src/soro_node/setup.py').write_text('setup()')
    (tmp_path / 'src/soro_node/soro_node').mkdir()
    (tmp_path / 'src/soro_node/soro_node/__init__.py').write_text('')
    (tmp_path / 'config/robots').mkdir(parents=True)
    (tmp_path / 'config/robots/a.yaml').write_text('name: a')
    return Workspace(tmp_path, 'kilted')


def changes(workspace: Workspace, change) -> list[str]:
    """Return the packages whose state a change altered."""
    before = {n: workspace.package_state(p) for n, p in workspace.packages().items()}
    change(workspace.root)
    after = {n: workspace.package_state(p) for n, p in workspace.packages().items()}
    return [name for name in before if before[name] != after[name]]


@pytest.mark.parametrize(
    ('file', 'text', 'expected'),
    [
        ('src/soro_msgs/msg/Load.msg', 'float64 y', ['soro_msgs']),
        ('src/soro_node/setup.py', 'setup(entry_points={})', ['soro_node']),
        ('src/soro_node/soro_node/new_module.py', 'x = 1', []),
        ('src/soro_node/soro_node/__init__.py', 'x = 1', []),
        ('src/soro_node/soro_node/frames.dbc', 'x', ['soro_node']),
        ('src/soro_node/soro_node/.cached', 'x', []),
        ('config/robots/b.yaml', 'name: b', ['soro_description']),
        ('config/robots/a.yaml', 'name: c', []),
        ('colcon.meta', '{"names": {}}', ['soro_description', 'soro_msgs']),
    ],
)
def test_only_what_a_build_reads_makes_it_due(workspace, file, text, expected):
    assert changes(workspace, lambda root: (root / file).write_text(text)) == expected


def test_deleted_robot_file_makes_a_rebuild_due(workspace):
    deleted = changes(workspace, lambda root: (root / 'config/robots/a.yaml').unlink())
    assert deleted == ['soro_description']


def test_everything_is_due_before_and_after_a_move(workspace, tmp_path):
    assert Environment(workspace, say_nothing).due() == ['environment']
    assert set(Build(workspace, say_nothing).everything_due()) == set(workspace.packages())
    before = workspace.package_state(workspace.packages()['soro_msgs'])
    moved = Workspace(tmp_path.rename(tmp_path.with_name('moved')), 'kilted')
    assert moved.package_state(moved.packages()['soro_msgs']) != before


def test_message_packages_are_those_with_messages(workspace):
    assert list(workspace.message_packages()) == ['soro_msgs']


def test_sourced_installation_is_used_and_own_prefixes_are_not(workspace, tmp_path, monkeypatch):
    ros, environment = tmp_path / 'ros', tmp_path / 'environment'
    (ros / 'share/rclpy').mkdir(parents=True)
    (environment / 'share/rclpy').mkdir(parents=True)
    (environment / 'pyvenv.cfg').write_text('')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{environment}:{ros}:{tmp_path / "missing"}')
    assert installed_ros_prefixes() == [str(ros)]
    assert Workspace(tmp_path, 'kilted').installed
    assert not Workspace(tmp_path, 'jazzy').installed
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(environment))
    assert not Workspace(tmp_path, 'kilted').installed


def test_stand_ins_are_left_out_where_ros_provides_them(workspace, tmp_path, monkeypatch):
    folder = tmp_path / 'underlay/tf2_msgs'
    folder.mkdir(parents=True)
    (folder / 'package.xml').write_text(MANIFEST.format('tf2_msgs'))
    assert list(Workspace(tmp_path, 'kilted').underlay_packages()) == ['tf2_msgs']
    for name in ('tf2_msgs', 'rclpy'):
        Path(tmp_path, 'ros/share', name).mkdir(parents=True)
    monkeypatch.setenv('AMENT_PREFIX_PATH', str(tmp_path / 'ros'))
    assert Workspace(tmp_path, 'kilted').underlay_packages() == {}
