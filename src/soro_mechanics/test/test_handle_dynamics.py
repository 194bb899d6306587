# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The handle with inertia against the frequencies of the network, its energy, and statics."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.handle_dynamics import handle_place, HandleDynamics, HandleLoad
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.models.network.frequencies import natural_frequencies

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
TICK = 1e-3  # s


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


def plucked(robot, ratio, force):
    """Return a handle at rest under a force, which is gone from then on."""
    moving = HandleDynamics(HapticDevice(robot), ratio)
    moving.device.update(np.zeros(6), np.asarray(force, float))
    moving.place = handle_place(moving.device)
    return moving


def ringing(moving, ticks, angle=None):
    angle = np.zeros(6) if angle is None else angle
    places, energies = [], []
    for _ in range(ticks):
        moving.advance(angle, HandleLoad(), TICK)
        places.append(moving.place)
        energies.append(moving.energy)
    return np.array(places), np.array(energies)


def frequency(x):
    """Return the frequency of a decaying oscillation from its upward crossings of zero [Hz]."""
    below = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    times = below + x[below] / (x[below] - x[below + 1])
    return (len(times) - 1) / (times[-1] - times[0]) / TICK


@pytest.mark.parametrize('mode', [0, 2])
def test_free_handle_rings_at_a_frequency_of_the_whole_network(robot, mode):
    """The network's frequencies know all nodes of the legs, and nothing of this integration."""
    rest = HandleDynamics(HapticDevice(robot), 0.0)
    network = rest.device.network
    still = network.forward(np.zeros(6), LoadCase(gravity=robot.gravity), None)
    exact = natural_frequencies(network.linearise(still), 3)[mode]
    stiffness = natural_stiffness(rest.device.ports)
    shape = eigh(0.5 * (stiffness + stiffness.T), rest.mass)[1][:, mode]
    force = stiffness @ shape
    force *= 0.02 / np.abs(force[:3]).max()
    places, _ = ringing(plucked(robot, 0.0, force), 400)
    axis = int(np.argmax(np.abs(force[:3])))
    found = frequency(places[:, axis] - rest.place[axis])
    # Condensing keeps the legs from moving by themselves: a little above, never below.
    assert exact * 0.9995 < found < exact * 1.02


def test_energy_decays_as_the_damping_ratio_says(robot):
    ratio = 0.05
    moving = plucked(robot, ratio, [0.3, 0.0, 0.0, 0.0, 0.0])
    mass, stiffness = moving.mass, natural_stiffness(moving.device.ports)
    omega = math.sqrt(np.linalg.eigvals(np.linalg.solve(mass, stiffness)).real.min())
    before = moving.energy
    assert before == pytest.approx(0.5 * 0.3**2 / 234.0, rel=0.1)
    _, energy = ringing(moving, 300)
    assert np.diff(energy).max() < 2e-3 * before  # a new linearisation moves its zero a little
    assert energy[-1] / before == pytest.approx(math.exp(-2.0 * ratio * omega * 0.3), rel=0.2)


def test_energy_is_kept_without_damping(robot):
    moving = plucked(robot, 0.0, [0.3, 0.1, 0.1, 0.0, 0.0])
    before = moving.energy
    _, energy = ringing(moving, 500)
    np.testing.assert_allclose(energy, before, rtol=0.03)


@pytest.mark.parametrize('tick', [5e-4, 2e-3, 2e-2])
def test_a_held_handle_comes_to_rest_where_statics_puts_it(robot, tick):
    moving = HandleDynamics(HapticDevice(robot), 0.05)
    angle = np.array([0.2, -0.1, 0.0, 0.1, 0.0, -0.2])
    grip = np.array([400.0, 400.0, 400.0, 1.5, 1.5])
    load = HandleLoad(
        place=np.array([0.01, 0.0, -0.005, 0.05, 0.0]),
        stiffness=grip,
        damping=0.01 * grip,
        force=np.array([0.0, 0.5, 0.0, 0.0, 0.01]),
    )
    for _ in range(round(2.0 / tick)):
        moving.advance(angle, load, tick)
    force = load.stiffness * (load.place - moving.place) + load.force
    np.testing.assert_allclose(moving.hand_force, force, atol=1e-5)
    statics = HapticDevice(robot)
    statics.restart(angle)
    held = statics.held(angle, force, moving.device.ports)
    assert held is not None
    np.testing.assert_allclose(handle_place(statics), moving.place, atol=2e-6)
    np.testing.assert_allclose(statics.ports.sensor, moving.device.ports.sensor, atol=1e-7)


def test_mass_of_a_hand_slows_the_handle_and_hand_force_tells_it_apart(robot):
    def rung(mass):
        moving = plucked(robot, 0.0, [0.02, 0.0, 0.0, 0.0, 0.0])
        rest = HandleDynamics(HapticDevice(robot), 0.0).place
        x = []
        for _ in range(600):
            moving.advance(np.zeros(6), HandleLoad(mass=np.array([mass, 0, 0, 0, 0])), TICK)
            x.append(moving.place[0] - rest[0])
        return np.array(x), moving

    free, bare = rung(0.0)
    held, loaded = rung(0.1)
    # One direction alone, the others are carried along: between the two bounds of Rayleigh.
    ratio = frequency(free) / frequency(held)
    assert 1.5 < ratio < math.sqrt(1.0 + 0.1 / bare.mass[0, 0])
    assert np.abs(bare.hand_force[0]) < 1e-9  # nobody there
    assert np.abs(loaded.hand_force[0]) > 1e-4  # the hand's own inertia pulls


def test_no_time_no_motion(robot):
    moving = plucked(robot, 0.05, [0.3, 0.0, 0.0, 0.0, 0.0])
    before = moving.place.copy()
    moving.advance(np.ones(6), HandleLoad(), 0.0)
    np.testing.assert_array_equal(moving.place, before)
