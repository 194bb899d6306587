# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What sliding strips leave of free space: computed on a linearisation, seen on the legs."""

from pathlib import Path

import numpy as np
import pytest

from soro_mechanics.haptics import motor_leash
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.robot import load_robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.free_limits import free_limits, leashed, read_limits, WAYS
from soro_studies.haptics.virtual_bench import make_plant

STORE = Path(__file__).parents[2] / 'docs/evidence/haptic_5dof_free_limits.json'
HALF = PlantErrors().play


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


@pytest.fixture(scope='module')
def plant(robot):
    plant, zero, _ = make_plant(robot, PlantErrors())
    plant.restart(np.zeros(6))
    for share in np.linspace(0.0, 1.0, 12):
        plant.update(share * zero, np.zeros(5))
    return plant


def test_stored_limits_are_computed_again_and_above_what_was_asked_for(robot, plant):
    stored = read_limits(STORE)
    again = free_limits(plant.ports, HALF, robot.limits, plant.motor_limits().torque_maximum[0])
    for name in ('concealed', 'leashed', 'shake', 'torque'):
        np.testing.assert_allclose(getattr(again, name), getattr(stored[0], name), rtol=2e-2)
    assert len(stored) == 100 and min(min(limits.leashed) for limits in stored) > 0.4
    assert max(limits.allowed for limits in stored) < 6


@pytest.mark.parametrize('axis', [0, 2, 3])
def test_so_much_force_bends_the_legs_unseen(robot, plant, axis):
    limits = free_limits(plant.ports, HALF, robot.limits, 0.3)
    natural = 1.0 / np.diag(np.linalg.inv(natural_stiffness(plant.ports)))
    unseen = limits.concealed[axis] * natural[axis] * WAYS[axis]
    at, force = plant.ports.angle.copy(), np.zeros(5)
    changes = []
    for side in (0.5, -0.5):
        for share in np.linspace(0.0, 1.0, 12):
            force[axis] = side * share * unseen
            plant.update(at, force)
        changes.append(plant.ports.sensor.copy())
        for share in np.linspace(1.0, 0.0, 12):
            force[axis] = side * share * unseen
            plant.update(at, force)
    assert np.abs(changes[0] - changes[1]).max() == pytest.approx(2.0 * HALF, rel=0.1)


def test_a_leash_leaves_what_the_motors_do_not_follow(plant, monkeypatch):
    axis, way = 2, 0.02
    stiffness = natural_stiffness(plant.ports)[axis, axis]
    short = leashed(plant.ports, axis, way)
    monkeypatch.setattr(motor_leash, 'MAX_FORCE', 0.5 * motor_leash.MAX_FORCE)
    assert leashed(plant.ports, axis, way) == pytest.approx(
        short + 0.5 / (stiffness * way), abs=0.1
    )
    monkeypatch.setattr(motor_leash, 'MAX_FORCE', 1e3)
    monkeypatch.setattr(motor_leash, 'MAX_MOMENT', 1e3)
    assert leashed(plant.ports, axis, way) < 1e-6
