# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots of a node while its parameters change."""

import pytest

from soro_mechanics.robot import Robot
from soro_node import robot_binding
from soro_rigs.ros_session import Place

BEFORE, AFTER = [0.0, 0.0, -1.6], [0.0, 0.0, 9.81]


def test_a_robot_made_while_gravity_changes_does_not_stay(monkeypatch):
    values = {'robot': 'spatial_cc', 'model': '', 'frame_prefix': '', 'gravity': BEFORE}
    binding = robot_binding.RobotBinding(Place(), values)

    class Interrupted(Robot):
        """Meets another thread that changes the parameters."""

        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == 'gravity':
                monkeypatch.setattr(robot_binding, 'Robot', Robot)
                binding.apply({**values, 'gravity': AFTER})

    monkeypatch.setattr(robot_binding, 'Robot', Interrupted)
    assert binding.robot.gravity == pytest.approx(BEFORE)
    assert binding.robot.gravity == pytest.approx(AFTER)
