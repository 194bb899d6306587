# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What drives bear: the slope of the energy of equilibria on both sides, at rest and in motion."""

from __future__ import annotations

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.dynamics.energy import EnergyMeter
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options
from soro_mechanics.models.network.drive_values import drive_efforts
from soro_mechanics.robot_file.catalogue import find_robot_file

EXAMPLES = find_robot_file('stiff_flop').with_name('examples')
STEPS = {
    'stewart_gough': 1e-4,
    EXAMPLES / 'crank_platform.yaml': 1e-3,
    EXAMPLES / 'planar_chain.yaml': 1e-3,
    EXAMPLES / 'tendon_arm_drives.yaml': 1e-3,
}


@pytest.mark.parametrize('name', STEPS, ids=str)
def test_a_drive_bears_what_its_motion_adds_to_the_energy(name):
    robot, step = load_robot(name), STEPS[name]
    low, high = robot.limits.T
    rest = np.array([a.rest for a in robot.actuators])
    share = np.random.default_rng(3).uniform(0.02, 0.08, len(rest))
    at = np.clip(rest + share * (high - low), low, high)
    q = robot.forward(at)
    still = drive_efforts(robot.model_object.linearise_solution(q.state), at)
    moving = stepper(robot, q, Options(elements=16))
    now = drive_efforts(moving, at)
    meter, slopes = EnergyMeter(moving), []
    for unit in np.eye(len(at)):
        ends = []
        for side in (-step, step):
            moving.rest(at + side * unit, np.zeros(6), robot.gravity)
            look = meter._look()
            tendons = moving.layout.tendons
            stretched = tendons.soft @ tendons.held_tensions(moving.state) ** 2
            ends.append(sum(meter._stored(look.x, look)) + 0.5 * stretched)
        slopes.append((ends[1] - ends[0]) / (2.0 * step))
    largest = np.abs(slopes).max()
    assert largest > 1e-3
    assert still == pytest.approx(np.array(slopes), abs=2e-4 * largest)
    assert now == pytest.approx(np.array(slopes), abs=5e-4 * largest)
