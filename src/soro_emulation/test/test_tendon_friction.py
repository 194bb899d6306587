# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons of emulated arms lose what Euler and Eytelwein say for the angle that the arm turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from soro_emulation.emulated_body import EmulatedBody, TendonFriction
from soro_emulation.emulator_settings import read_emulator_settings
from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file

EXAMPLES = find_robot_file('stiff_flop').with_name('examples')
FRICTION = 0.2


def bent(name, pull):
    """Return an arm that one long tendon bends in a plane, and the angle that its tip turns."""
    robot = load_robot(EXAMPLES / name)
    q = robot.forward([0.0, 0.0, 0.0, pull, 0.0, 0.0])
    return robot, q, np.arccos(q.tip[2, 2])


def test_a_tension_comes_through_late_by_what_the_bend_takes():
    robot, q, angle = bent('tendon_arm.yaml', 3.0)
    assert angle > 0.3
    friction = TendonFriction(robot, FRICTION)
    one = np.eye(6)[3]
    assert friction.felt(3.0 * one) == pytest.approx(3.0 * one)  # straight: nothing is lost
    friction.see(q)
    up, kept, down = (friction.felt(size * one)[3] for size in (8.0, 7.9, 2.0))
    assert up == pytest.approx(8.0 * np.exp(-FRICTION * angle))
    assert kept == up
    assert down == pytest.approx(2.0 * np.exp(FRICTION * angle))


def test_a_winch_bears_more_while_it_winds():
    robot, q, angle = bent('tendon_arm_drives.yaml', 0.4)
    friction, one = TendonFriction(robot, FRICTION), np.eye(6)[3]
    friction.see(q)
    wound, let = (friction.borne(2.0 * one, at * one) for at in (0.4, 0.3))
    assert wound == pytest.approx(2.0 * one * np.exp(FRICTION * angle))
    assert let == pytest.approx(2.0 * one * np.exp(-FRICTION * angle))


def test_an_emulated_arm_hangs_back_on_either_way():
    description = read_robot_file(EXAMPLES / 'tendon_arm.yaml')
    settings = read_emulator_settings(description, 'simulated').body
    assert settings.tendon_friction > 0.0
    bend = {}
    for friction in (0.0, settings.tendon_friction):
        body = EmulatedBody(
            description, replace(settings, hysteresis=0.0, tendon_friction=friction)
        )
        tensions = [*np.linspace(0.0, 4.0, 9), *np.linspace(4.0, 0.0, 9)[1:]]
        tips = [body.configuration(size * np.eye(6)[3]).tip[0, 3] for size in tensions]
        bend[friction] = np.abs(tips[4]), np.abs(tips[-5])
    frictionless, lossy = bend.values()
    assert frictionless[0] == pytest.approx(frictionless[1], abs=1e-6)
    assert lossy[0] < frictionless[0] - 1e-4
    assert lossy[1] > frictionless[1] + 1e-4
