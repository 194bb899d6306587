# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One solve per model against closed forms; small enough to run without compilation too."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import Code, load_robot
from soro_mechanics.numerics.dense_kernels import invert_three
from soro_mechanics.robot import Robot

ACTUATION = np.array([0.8e5, 0.3e5, 0.0])


def coarse(model, elements=8):
    description = load_robot('stiff_flop').description
    chain = replace(description.structure['segments'], elements=elements)
    return Robot(replace(description, structure={'segments': chain}), model)


@pytest.mark.parametrize('model', ['ncm', 'npcc', 'lcm', 'lpcc'])
def test_bending_without_weight_is_the_closed_form(model):
    robot = coarse(model)
    robot.gravity = np.zeros(3)
    segment = robot.description.structure['segments'].segments[0]
    moment, force = np.zeros(2), 0.0
    for c, p in zip(segment.chambers, ACTUATION, strict=True):
        moment += c.area * p * c.offset * np.array([np.sin(c.angle), -np.cos(c.angle)])
        force += c.area * p
    strain = force / segment.axial_stiffness
    stretch = 1.0 + strain if model in ('lcm', 'lpcc') else 1.0 / (1.0 - strain)
    grown = stretch if model in ('lcm', 'lpcc') else stretch**2
    angle = np.linalg.norm(moment) * grown * segment.length / segment.bending_stiffness
    q = robot.forward(ACTUATION)
    assert q.status.code is Code.NONE
    assert np.arccos(q.tip[2, 2]) == pytest.approx(angle, rel=1e-4)
    radius = stretch * segment.length / angle
    assert q.tip[2, 3] == pytest.approx(radius * np.sin(angle), rel=1e-4)
    assert np.hypot(*q.tip[:2, 3]) == pytest.approx(radius * (1 - np.cos(angle)), rel=1e-4)


@pytest.mark.parametrize('model', ['ncm', 'npcc', 'lcm', 'lpcc'])
def test_jacobian_and_compliance_are_differences(model):
    robot = coarse(model)
    wrench = np.array([0.1, -0.05, 0.05, 0, 0, 0])
    q = robot.forward(ACTUATION, wrench)
    assert q.status.code is Code.NONE
    step = 50.0 * np.array([1.0, 0.0, 0.0])
    ahead = robot.forward(ACTUATION + step, wrench)
    behind = robot.forward(ACTUATION - step, wrench)
    slope = (ahead.tip - behind.tip)[:3, 3] / 100.0
    np.testing.assert_allclose(robot.jacobian(q)[:3, 0], slope, rtol=1e-3, atol=5e-11)
    step = 1e-3 * np.array([0, 1.0, 0, 0, 0, 0])
    ahead = robot.forward(ACTUATION, wrench + step)
    behind = robot.forward(ACTUATION, wrench - step)
    slope = (ahead.tip - behind.tip)[:3, 3] / 2e-3
    np.testing.assert_allclose(robot.compliance(q)[:3, 1], slope, rtol=2e-3, atol=1e-5)


def test_negative_pivots_are_counted():
    """Compiled, three comparisons add up; of NumPy's booleans `+` is or."""
    inverse = np.empty((3, 3))
    assert invert_three(np.diag([-1.0, -2.0, -4.0]), inverse) == 3
    assert np.array_equal(inverse, np.diag([-1.0, -0.5, -0.25]))
