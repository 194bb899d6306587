# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The handle with inertia: its frequencies, its energy, and limits that agree with theory."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.hand_impedance import FINGERTIP, FIRM_GRIP, hand, LIGHT_GRIP, NO_HAND
from soro_mechanics.haptics.linear_loop import (
    admittance_limit,
    OneDirection,
    sliding_radius,
    spectral_radius,
    STIFFEST,
)
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.haptics.stable_limits import handle_mass, modal_damping
from soro_mechanics.haptics.virtual_environment import ContactFeel, Control, Shape, VirtualObject
from soro_mechanics.models.network.frequencies import natural_frequencies
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.virtual_bench import BenchSetup
from soro_studies.haptics.z_width import (
    colgate_limit,
    comes_to_rest,
    growth,
    limit,
    NO_MONITOR,
    one_direction,
)

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


@pytest.fixture(scope='module')
def make(robot, signals, report):
    calibration = report.calibration()

    def rig(held_by, stiffness=None, damping_ratio=0.05, **setup):
        turns = 1.26  # N m/rad: about what the legs have
        spring = (
            []
            if stiffness is None
            else [VirtualObject('s', Shape.HOLD, stiffness=stiffness, rotational_stiffness=turns)]
        )
        made = BenchSetup(energy=NO_MONITOR, **setup)
        return MovingBench(robot, calibration, signals, spring, made, held_by, damping_ratio)

    return rig


def test_condensed_handle_rings_as_the_whole_network_does(robot):
    device = HapticDevice(robot)
    stiffness = natural_stiffness(device.ports)
    squares = eigh(0.5 * (stiffness + stiffness.T), handle_mass(device))[0]
    found = np.sqrt(squares) / (2.0 * np.pi)
    rest = device.network.forward(np.zeros(6), LoadCase(gravity=robot.gravity), None)
    exact = natural_frequencies(device.network.linearise(rest), 5)
    # Condensing forbids the legs to move by themselves: never below, and close.
    assert np.all(found >= exact * (1.0 - 1e-6))
    np.testing.assert_allclose(found, exact, rtol=0.05)


def test_every_mode_is_damped_alike(robot):
    device = HapticDevice(robot)
    mass, stiffness = handle_mass(device), natural_stiffness(device.ports)
    flow = np.block(
        [
            [np.zeros((5, 5)), np.eye(5)],
            [
                -np.linalg.solve(mass, stiffness),
                -np.linalg.solve(mass, modal_damping(mass, stiffness, 0.05)),
            ],
        ]
    )
    poles = np.linalg.eigvals(flow)
    np.testing.assert_allclose(-poles.real / np.abs(poles), 0.05, rtol=1e-6)


def test_a_free_handle_loses_energy_all_the_time(make):
    rig = make(NO_HAND)
    rig.held = True
    push = np.array([1.0, 0.5, 0.5, 0.0, 0.0])
    for _ in range(100):
        rig.step(np.zeros(5), push)
    energy = []
    for _ in range(250):
        rig.step(np.zeros(5))
        energy.append(rig.energy)
    assert energy[0] > 1e-3
    # A new linearisation moves the zero of the energy a little; the integrator adds nothing.
    assert np.diff(energy).max() < 5e-3 * energy[0]
    # 5 % of critical damping at 12.8 Hz: exp(-2 zeta omega t).
    assert energy[-1] / energy[0] == pytest.approx(math.exp(-0.1 * 80.0 * 0.498), rel=0.5)


def test_the_integrator_conserves_energy_on_one_linearisation(make):
    rig = make(NO_HAND, damping_ratio=0.0)
    stiffness, rest = rig.stiffness(), rig.place.copy()
    random = np.random.default_rng(0)
    rig.x = rest + 1e-2 * random.normal(size=5)
    rig.v = random.normal(size=5)

    def energy():
        stretch = rig.x - rest
        return 0.5 * (rig.v @ rig.mass @ rig.v + stretch @ stiffness @ stretch)

    before, still = energy(), np.zeros(5)
    rig._move(still, still, rig.angle, still, 3, 0.03)  # steps of an eighth of a period
    assert energy() == pytest.approx(before, rel=1e-6)
    assert np.abs(rig.x - rest).max() > 1e-3


def test_a_textbook_wall_is_stable_up_to_the_bound_that_is_quoted():
    """A mass with damping b in a sampled wall: exact poles beside b > k T / 2 (massive limit)."""
    mass, b, period = 5.0, 4.0, 1e-3
    bound = colgate_limit(b, period)
    assert bound == pytest.approx(8000.0)
    decay = math.exp(-b * period / mass)

    def radius(k):
        # Exact sampling of m v' = -b v + u with u = -k x held over a period.
        g = (1.0 - decay) / b
        h = (period - mass * g) / b
        step = np.array([[1.0 - k * h, mass * g], [-k * g, decay]])
        return np.abs(np.linalg.eigvals(step)).max()

    assert radius(0.98 * bound) < 1.0
    assert radius(1.02 * bound) > 1.0
    assert colgate_limit(b, period, 1.5e-3) == pytest.approx(2000.0)
    assert colgate_limit(b, period, rendered=-3.0) == pytest.approx(2000.0)
    assert colgate_limit(b, period, rendered=5.0) == 0.0


def test_linear_loop_with_nothing_to_render_is_the_damped_handle():
    device = OneDirection(0.04, 0.3, 240.0, 0.0, 5.5e-3, 6e-3)
    period = 2e-3
    pole = complex(-0.3 / 0.08, math.sqrt(240.0 / 0.04 - (0.3 / 0.08) ** 2))
    # At the natural stiffness the motors stand still: the slowest pole is the handle's.
    radius = spectral_radius(device, 240.0, period, 1)
    assert radius == pytest.approx(abs(np.exp(pole * period)), rel=1e-9)


def test_stiff_springs_need_a_hand_that_damps():
    def device(h):
        return OneDirection(
            0.04 + h.mass[0], 0.3 + h.damping[0], 240.0, h.stiffness[0], 5.5e-3, 6e-3
        )

    limits = [admittance_limit(device(h), 2e-3, 1) for h in (NO_HAND, FINGERTIP, LIGHT_GRIP)]
    assert 240.0 < limits[0] < 300.0
    assert limits[0] < limits[1] < limits[2] < STIFFEST
    assert math.isinf(admittance_limit(device(FIRM_GRIP), 2e-3, 1))
    undamped = hand('steel', 0.05, 0.0, 200.0)
    assert admittance_limit(device(undamped), 2e-3, 1) < limits[1]


def moved_by(h, mass, damping, natural):
    return OneDirection(
        mass + h.mass[0], damping + h.damping[0], natural, h.stiffness[0], 5.5e-3, 6e-3
    )


@pytest.mark.parametrize(('rate', 'least'), [(250.0, 1.4), (500.0, 0.8), (1000.0, 0.6)])
def test_who_slides_along_an_admittance_does_not_ring(rate, least):
    """What docs/models/haptics.md says: nobody, fingertip and grips, across and along."""
    coupling = ContactFeel().coupling
    for h in (NO_HAND, FINGERTIP, LIGHT_GRIP, FIRM_GRIP):
        for handle in ((0.037, 0.3, 234.0), (0.02, 0.16, 130.0)):
            device = moved_by(h, *handle)
            for damping in np.geomspace(least, 300.0, 40):
                radius = sliding_radius(device, damping, coupling, 1.0 / rate, 1)
                assert radius < 1.0 + 1e-9, (h.name, handle, damping)
    across = moved_by(FINGERTIP, 0.037, 0.3, 234.0)
    assert sliding_radius(across, 0.3 * least, coupling, 1.0 / rate, 1) > 1.001
    # A proxy without a spring, or with a stiff one, is a hold that rings.
    assert sliding_radius(across, 20.0, 1e6, 1.0 / rate, 1) > 1.001


def test_a_fingertip_on_a_line_comes_to_rest_on_the_full_model(robot, signals, report):
    line = VirtualObject(
        'l',
        Shape.LINE,
        Control.ADMITTANCE,
        stiffness=200.0,
        rotational_stiffness=1.26,
        damping=2.0,
    )
    setup = BenchSetup(energy=NO_MONITOR)
    held = robot, report.calibration(), signals, [line], setup, FINGERTIP
    assert comes_to_rest(lambda: MovingBench(*held))


def test_bisection_finds_a_limit_from_both_sides():
    assert limit(lambda k: k < 500.0, 100.0, 1e5) == pytest.approx(500.0, rel=0.1)
    assert limit(lambda k: k > 50.0, 100.0, 5.0) == pytest.approx(50.0, rel=0.1)
    assert math.isinf(limit(lambda k: True, 100.0, 1e5))
    assert limit(lambda k: True, 100.0, 5.0) == 0.0
    assert math.isnan(limit(lambda k: False, 100.0, 1e5))


def test_full_model_agrees_with_the_linear_loop(make):
    """Well below the computed limit a pulled spring rests; well above it rings."""
    devices = [one_direction(make(FINGERTIP), axis) for axis in (0, 2)]
    computed = min(admittance_limit(d, 2e-3, 1) for d in devices)
    assert comes_to_rest(lambda: make(FINGERTIP, 0.7 * computed))
    assert not comes_to_rest(lambda: make(FINGERTIP, 1.5 * computed))


@pytest.mark.parametrize('stiffness', [2175.0, 1e5])
def test_a_pull_grows_as_the_poles_of_the_linear_loop_do(make, stiffness):
    """A light grip, just stable and just not: rates of -0.6 and 1.2 per second."""
    device = one_direction(make(LIGHT_GRIP), 0)
    expected = math.log(spectral_radius(device, stiffness, 2e-3, 1)) / 2e-3
    found = growth(lambda: make(LIGHT_GRIP, stiffness))
    assert found * expected > 0.0 and found == pytest.approx(expected, abs=0.6)


def test_a_firm_grip_that_comes_back_slowly_does_not_ring(make):
    """The limits of speed and torque make it slow; its poles are at -11 per second."""
    assert comes_to_rest(lambda: make(FIRM_GRIP, 2500.0), 1.0)


def test_a_limit_is_the_first_one_whatever_is_stable_beyond():
    for theory in (math.nan, 2000.0):
        found = limit(lambda k: k < 900.0 or k > 5e4, 100.0, 1e5, theory)
        assert found == pytest.approx(900.0, rel=0.1)
    assert limit(lambda k: k > 30.0, 100.0, 5.0) == pytest.approx(30.0, rel=0.1)
    assert math.isinf(limit(lambda k: True, 100.0, 1e5)) and limit(lambda k: True, 9.0, 5.0) == 0.0
    assert math.isnan(limit(lambda k: False, 100.0, 1e5))
