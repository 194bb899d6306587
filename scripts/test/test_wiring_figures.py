# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The figures of docs/hardware show what the robot files say today."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from draw_wiring import figures, ROBOTS
import pytest

from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file


def test_the_figures_are_those_of_today():
    old = [path.name for path, text in figures().items() if path.read_text('utf-8') != text]
    assert not old, 'run: python scripts/draw_wiring.py'


@pytest.mark.parametrize('robot', ROBOTS)
def test_every_actuator_and_the_device_stand_in_a_figure(robot):
    described = read_robot_file(find_robot_file(robot))
    device = read_driver_settings(described).device
    text = next(text for path, text in figures().items() if path.stem == f'wiring_{device}')
    words = ' '.join(element.text or '' for element in ElementTree.fromstring(text).iter())
    assert device in words
    assert all(f'{actuator.name} (' in words for actuator in described.actuators)
