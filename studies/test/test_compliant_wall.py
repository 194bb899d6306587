# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Walls with stiffness and damping on the rig, beside the linear loop and plain balances."""

import math

import pytest

from soro_mechanics.haptics.hand_impedance import LIGHT_GRIP
from soro_studies.haptics.compliant_wall import (
    compliant_wall,
    felt_impedance,
    press_slowly,
    run_into,
    swing,
)
from soro_studies.haptics.compliant_wall_section import compliant_section, CompliantWalls
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.rendering_experiments import natural
from soro_studies.haptics.virtual_bench import SOFTER, VirtualBench

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


@pytest.fixture(scope='module')
def make(robot, signals, report):
    calibration = report.calibration()
    return lambda objects, setup=None: VirtualBench(robot, calibration, signals, objects, setup)


@pytest.fixture(scope='module')
def make_moving(robot, signals, report):
    calibration = report.calibration()
    return lambda objects, setup, held_by: MovingBench(
        robot, calibration, signals, objects, setup, held_by
    )


@pytest.fixture(scope='module')
def cycled(make):
    walls = ((60.0, 5.0), (240.0, 20.0), (1000.0, 0.0))
    return [swing(make, *wall) for wall in walls]


@pytest.mark.parametrize('stiffness', [80.0, 800.0])
def test_slowly_a_wall_is_as_stiff_as_asked(make, stiffness):
    pressed = press_slowly(make, stiffness)
    assert not 0.5 < stiffness / pressed.natural < 2.0
    # What remains is the model's belief in a material that is 3 % stiffer than it is.
    assert pressed.felt == pytest.approx(SOFTER * stiffness, rel=0.01)


def test_a_swing_feels_what_the_linear_loop_computes(cycled):
    """Time domain on the nonlinear model against transfer functions: force and phase."""
    for wall in cycled:
        assert abs(wall.felt - wall.computed) < 0.02 * abs(wall.computed)


def test_energy_of_a_cycle_is_that_of_the_damper_and_of_the_lag(cycled):
    soft, middle, stiff = cycled
    for wall in cycled:
        # Area of the curve, and the part of the force in phase with the speed.
        by_phase = math.pi * wall.felt.imag * wall.amplitude**2
        assert wall.lost == pytest.approx(by_phase, rel=0.02)
        assert wall.lost == pytest.approx(wall.computed_loss, rel=0.04)
    # Near the natural stiffness the motors have little to do: the damper is felt as asked.
    assert middle.felt_damping == pytest.approx(SOFTER * middle.damping, rel=0.02)
    assert soft.felt_damping > soft.damping
    assert stiff.lost < 0.0


def test_first_order_of_the_lag_is_the_formula_of_the_page(make):
    """T k (1 - k / K): what the page says about walls below and above the natural stiffness."""
    rig = make([compliant_wall(100.0)], None)
    rate = 0.1  # rad/s: first order
    # Two ticks less half of the lag that sampling takes off each low-pass, and their constants.
    lag = 2 * rig.dt + 6e-3 + rig.dt / math.expm1(rig.dt / 5.5e-3)
    legs = natural(rig)
    for k in (50.0, 150.0, 400.0):
        felt = felt_impedance(rig, k / SOFTER, 0.0, rate)
        assert felt.real == pytest.approx(k, rel=1e-3)
        assert felt.imag / rate == pytest.approx(lag * k * (1.0 - k / legs), rel=0.02)


def test_penetration_and_rebound_at_contact(make_moving):
    bare, damped = (run_into(make_moving, 500.0, b, LIGHT_GRIP) for b in (0.0, 10.0))
    grip, beyond = 200.0, 0.015
    for contact in (bare, damped):
        rest = beyond * grip / (grip + SOFTER * 500.0)
        assert contact.settled == pytest.approx(rest, rel=0.02)
        assert contact.settled < contact.deepest < 1.5 * contact.settled
        assert contact.losses == 0
    assert damped.deepest < 0.95 * bare.deepest
    assert damped.rebound < 0.7 * bare.rebound


def test_section_shows_every_wall(cycled):
    text = compliant_section(CompliantWalls([], cycled, []))
    for wall in cycled:
        assert f'| {wall.stiffness:.0f} | {wall.damping:.0f} | {wall.felt.real:.0f} |' in text
