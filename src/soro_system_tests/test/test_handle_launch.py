# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot file with a handle is launched with its renderer, whatever its number of legs."""

import os

import pytest

from soro_launch.arguments import parse_assignments
from soro_launch.errors import LaunchError
from soro_launch.launch_target import find_launch_target
from soro_launch.run import command_lines
from soro_rigs.legs import legs_file


def test_a_robot_file_with_a_handle_is_launched_with_its_renderer(tmp_path):
    file = legs_file(tmp_path, 7)

    def started(*words):
        target = find_launch_target([str(file), 'namespace:=seven', *words], os.environ)
        lines = command_lines(target.file, parse_assignments(target.arguments), os.environ)
        return {os.path.basename(line[0]): ' '.join(line) for line in lines}

    nodes = started()
    assert {'haptic_renderer', 'flex_calibration', 'emulator'} <= set(nodes)
    assert 'driver' not in nodes and str(file) in nodes['haptic_renderer']
    assert 'haptic_renderer' not in started('haptics:=off')
    file.write_text('[]')
    with pytest.raises(LaunchError, match='file = '):
        started()
