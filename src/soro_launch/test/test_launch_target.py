# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What stands behind `soro launch`: a robot file needs no namespace."""

import os

import pytest

from soro_launch.launch_target import find_launch_target


@pytest.mark.parametrize(
    ('file', 'words', 'namespace'),
    [
        ('my_arm.yaml', [], 'my_arm'),
        ('2-my arm.v3.yml', [], '_2_my_arm_v3'),
        ('my_arm.yaml', ['namespace:=left'], 'left'),
    ],
)
def test_a_robot_file_is_launched_under_its_name_unless_told(tmp_path, file, words, namespace):
    robot = tmp_path / file
    robot.write_text('')
    arguments = find_launch_target([str(robot), *words], os.environ).arguments
    assert sorted(arguments) == sorted([f'robot:={robot}', f'namespace:={namespace}'])
