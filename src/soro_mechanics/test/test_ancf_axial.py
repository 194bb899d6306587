# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The legs of the published energy along their axes: stiffer than their EA, at its own values."""

import math

from changed_robots import with_changes
import numpy as np
import pytest
from scipy.integrate import solve_bvp

from soro_mechanics import Robot
from soro_mechanics.models.ancf.effective_stiffness import axial_stiffness
from soro_mechanics.robot_file.reader import describe_robot

PUBLISHED = 68.4  # N


def parallel(**changes):
    """Return soft_parallel with three parallel legs and no weight."""
    platform = 153.0 / (2.0 * math.sin(math.pi / 3.0))
    data = with_changes(
        'soft_parallel',
        {'body.platform.radius': f'{platform!r} mm', 'gravity': '0 0 0 m/s^2', **changes},
    )
    return describe_robot(data, 'parallel.yaml')


def pulled(description, model, stretch_pressure=0.0, force=0.3):
    """Return by how much a force along the legs moves the platform, both ways [m]."""
    robot = Robot(description, model)
    actuation = np.full(3, stretch_pressure)
    places = [
        robot.forward(actuation, [0.0, 0.0, sign * force, 0.0, 0.0, 0.0]).tip[2, 3]
        for sign in (1.0, -1.0)
    ]
    return 0.5 * (places[0] - places[1])


@pytest.mark.parametrize('elements', [5, 12])
def test_a_leg_is_as_stiff_as_is_said(elements):
    description = parallel(**{'models.ancf.elements': elements})
    robot = Robot(description, 'ancf')
    said = robot.model_object.axial_stiffness(np.zeros(3))[0]
    assert said.material == PUBLISHED
    force = 0.03  # the Green strain is not linear
    found = force * 0.153 / (3.0 * pulled(description, 'ancf', force=force))
    assert found == pytest.approx(said.effective, rel=1e-5)


def test_the_published_robot_gives_less_than_its_rods():
    """0.3 N on three straight legs: 0.224 mm by EA, 0.185 mm by the published energy."""
    description = parallel()
    rods, published = pulled(description, 'network'), pulled(description, 'ancf')
    assert rods == pytest.approx(0.3 * 0.153 / (3.0 * PUBLISHED), rel=2e-4)
    assert published == pytest.approx(0.1847e-3, abs=1e-7)
    said = Robot(description, 'ancf').model_object.axial_stiffness(np.zeros(3))[0]
    assert rods / published == pytest.approx(said.effective / PUBLISHED, rel=5e-4)


def test_rods_with_the_effective_stiffness_follow_the_published_legs():
    said = Robot(parallel(), 'ancf').model_object.axial_stiffness(np.zeros(3))[0]
    rods = parallel(**{'body.axial_stiffness': f'{said.effective!r} N'})
    assert pulled(rods, 'network') == pytest.approx(pulled(parallel(), 'ancf'), rel=5e-4)


def test_many_elements_approach_the_formula(legs):
    wide = [axial_stiffness(legs(elements=n), 1.3) for n in (5, 20, 80, 320)]
    off = [1.0 - x.effective / x.limit for x in wide]
    assert all(0.0 < fine < 0.3 * coarse for coarse, fine in zip(off[:-1], off[1:], strict=True))
    assert off[-1] < 1e-4


@pytest.fixture(scope='module')
def legs():
    """Return a maker of the robot's legs with other numbers."""
    from dataclasses import replace

    body = parallel().structure['ancf']
    return lambda **changes: replace(body, **changes)


def test_the_formula_is_the_least_energy_of_a_strained_leg(legs):
    """Strain and the sides' contraction by solve_bvp, without eliminating anything by hand."""
    body = legs()
    ea, ei, alpha = body.tension, body.bending, body.penalty
    length, force = body.length, 1e-3

    def side(e):
        return 4.0 * e / (16.0 + 8.0)  # where 8 a^2 + (2 a - e)^2 = |F|^2 is least

    def rates(_, y):
        e, slope = y[0], y[1]
        # Euler: EI e'' = d/de (EA e^2 / 2 + alpha (8 a^2 + (2 a - e)^2)) - N, and u' = e
        a = side(e)
        return np.vstack([slope, (ea * e - 2.0 * alpha * (2.0 * a - e) - force) / ei, e])

    def ends(low, high):
        return np.array([low[0], high[0], low[2]])

    x = np.linspace(0.0, length, 400)
    found = solve_bvp(rates, ends, x, np.zeros((3, x.size)), tol=1e-10, max_nodes=100_000)
    assert found.success
    assert force * length / found.y[2, -1] == pytest.approx(axial_stiffness(body).limit, rel=1e-6)
