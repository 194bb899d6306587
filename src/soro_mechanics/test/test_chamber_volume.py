# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Volumes of chambers, against what reciprocity says of any elastic body."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from soro_mechanics import load_robot
from soro_mechanics.actuator_models.chamber_volume import chamber_volumes
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import describe_robot

PRESSURE, FORCE = 200.0, 1e-3  # Pa, N: steps of the differences
LOAD = np.array([0.02, -0.01, 0.05, 0.0, 0.0, 0.0])


@pytest.mark.parametrize('name', ['stiff_flop', 'stiff_flop_two_segment'])
def test_pressure_works_on_volumes_as_a_force_does_on_the_tip(name):
    """Maxwell: dV_i/dp_j = dV_j/dp_i, a force opens chambers as their pressure moves the tip."""
    file = find_robot_file(name)
    data = yaml.safe_load(Path(file).read_text(encoding='utf-8'))
    data['models'].setdefault('network', {})
    robot = Robot(describe_robot(data, file), 'network')
    middle = np.linspace(2e4, 5e4, len(robot.actuators))
    at = robot.forward(middle, LOAD)

    def volumes(actuation, load):
        q = robot.forward(actuation, load, guess=at)
        assert q.status.converged
        return chamber_volumes(robot.description.structure, q)

    def slope(pressures, force):
        after = volumes(middle + pressures, LOAD + force)
        return 0.5 * (after - volumes(middle - pressures, LOAD - force))

    by_pressure = np.array([slope(PRESSURE * e, 0.0) for e in np.eye(len(middle))]) / PRESSURE
    scale = np.abs(by_pressure).max()
    np.testing.assert_allclose(by_pressure, by_pressure.T, atol=5e-3 * scale)
    assert np.linalg.eigvalsh(by_pressure + by_pressure.T).min() > 0.0
    by_force = np.array([slope(0.0, FORCE * e) for e in np.eye(6)[:3]]) / FORCE
    moved = robot.jacobian(at)[:3]
    np.testing.assert_allclose(by_force, moved, atol=5e-3 * np.abs(moved).max())


def test_an_arc_holds_the_air_of_the_rod_that_it_stands_for():
    """Areas of other chambers times an arc's length, against a rod's of finite elements."""
    arc = load_robot('spatial_cc')
    rod = arc.with_model('ncm')
    pressures = 0.3 * arc.limits[:, 1] * [1.0, 0.8, 0.9]
    structure = arc.description.structure
    found, other = (chamber_volumes(structure, r.forward(pressures)) for r in (arc, rod))
    np.testing.assert_allclose(found, other, rtol=0.02)
    assert (found > 1e-7).all()
