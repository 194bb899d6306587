# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The studies of the docs, shortened: what they claim holds on the bench in simulated time."""

import numpy as np
import pytest
from soro_haptics.studies.rendering_experiments import (
    angle_limit,
    box,
    circle,
    contact,
    line,
    stiffness_curves,
)
from soro_haptics.studies.sensing_experiments import force_ellipsoid, sensing_errors
from soro_haptics.studies.virtual_bench import (
    SOFTER,
    VirtualBench,
)
from soro_haptics.studies.workspace_maps import MATERIALS, TORQUES, workspace_maps
from soro_mechanics.virtual_environment import Control

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


@pytest.fixture(scope='module')
def make(robot, signals, report):
    assert max(fit.error_share for fit in report.fits) < 0.046  # published
    calibration = report.calibration()
    return lambda objects, setup=None: VirtualBench(robot, calibration, signals, objects, setup)


def test_springs_below_and_above_the_natural_stiffness_are_felt_as_asked(make):
    held, soft, stiff = stiffness_curves(make, (100.0, 600.0))
    assert soft.asked < 0.5 * held.felt
    assert stiff.asked > 2.0 * held.felt
    # What remains is the model's belief in a material that is 3 % stiffer than it is.
    for curve in (soft, stiff):
        assert curve.felt == pytest.approx(SOFTER * curve.asked, rel=0.02)
        assert curve.lowest_energy > -0.3


def test_the_circle_is_held_to_a_millimetre_and_the_hand_gets_no_energy(make):
    followed = circle(make, Control.HYBRID)
    assert followed.mean < 1e-3
    assert followed.lowest_energy > -0.3


def test_a_rigid_wall_stops_a_hand_and_lets_it_go(make):
    impact = contact(make, 0.1)
    assert 0.0 < impact.deepest < 4e-3
    assert abs(impact.settled) < 1e-4
    assert impact.pull < 0.5
    assert impact.lowest_energy > -0.3


def test_wall_of_a_turn_box_and_line_hold_the_handle(make):
    turned, pressed = angle_limit(make), box(make)
    assert turned.mean < 2e-3  # rad, beyond the wall at 0.2 rad
    assert pressed.largest < 1e-4
    for control in Control:
        assert line(make, control).mean < 1e-3
    for followed in (turned, pressed):
        assert followed.lowest_energy > -0.3


@pytest.mark.parametrize('held', [False, True])
def test_hand_is_sensed_better_than_published_in_all_five_directions(make, held):
    errors = sensing_errors(make, held, 300)
    # Published: 2 to 5.5 % of the workspace.
    assert np.all(errors.place_share < 0.055)
    assert np.all(errors.force_share < 0.055)


def test_scatter_of_the_force_is_what_the_covariance_says(make):
    ellipsoid = force_ellipsoid(make)
    np.testing.assert_allclose(ellipsoid.measured_axes, ellipsoid.predicted_axes, rtol=0.05)


def test_maps_have_the_published_ordering(robot):
    maps = {(m.material, m.torque): m for m in workspace_maps(robot, 0.02)}
    stiff, soft = MATERIALS
    free, some, little = TORQUES
    assert maps[stiff, free].at_centre()[0] > 3.0 * maps[soft, free].at_centre()[0]
    assert maps[stiff, free].held >= maps[soft, free].held
    # Under torque limits the stiff device loses its workspace, the soft one keeps it.
    assert maps[stiff, some].held < 0.5 * maps[stiff, free].held
    assert maps[soft, some].held == maps[soft, free].held
    assert maps[soft, little].held >= maps[stiff, little].held
