# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The moving device with a hand: frequencies of the linearised network, energy, and statics."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.held_handle import HeldHandle, STEP
from soro_mechanics.haptics.stable_limits import handle_mass
from soro_mechanics.models.network.frequencies import natural_frequencies

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
STILL = np.zeros(6)
GRIP = np.array([400.0, 400.0, 400.0, 1.5, 1.5])


def hand(**parts):
    names = ('place', 'speed', 'stiffness', 'damping', 'mass', 'force')
    return SimpleNamespace(**{n: np.asarray(parts.get(n, np.zeros(5)), float) for n in names})


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


def plucked(robot, ratio, force, load=None):
    """Return places and strain energies of a handle pulled slowly and let go, and the handle."""
    moving = HeldHandle(HapticDevice(robot), 0.5)
    for k in range(1000):
        moving.advance(STILL, hand(force=min(1.0, k / 500) * np.asarray(force, float)), STEP)
    moving.stepper.motion.retardation[:-2] *= ratio / 0.5
    places = []
    for _ in range(500):
        moving.advance(STILL, hand() if load is None else load, STEP)
        places.append(moving.place)
    assert moving.restarts == 0
    return np.array(places), moving


def frequency(x):
    """Return the frequency of a decaying oscillation from its upward crossings of zero [Hz]."""
    x = x - x.mean()
    below = np.flatnonzero((x[:-1] < 0.0) & (x[1:] >= 0.0))
    times = below + x[below] / (x[below] - x[below + 1])
    return (len(times) - 1) / (times[-1] - times[0]) / STEP


def test_a_free_handle_rings_and_fades_as_the_slowest_mode(robot):
    """The frequencies of statics know nothing of this integration."""
    ratio = 0.02
    places, moving = plucked(robot, ratio, [0.3, 0.0, 0.0, 0.0, 0.0])
    network = HapticDevice(robot).network
    still = network.forward(STILL, LoadCase(gravity=robot.gravity), None)
    exact = natural_frequencies(network.linearise(still), 1)[0]
    x = places[:, 0]
    assert frequency(x) == pytest.approx(exact, rel=5e-3)
    peaks = [np.abs(x[k : k + 100]).max() for k in (0, 400)]
    fade = math.exp(-ratio * 2.0 * math.pi * exact * 0.4)
    assert peaks[1] / peaks[0] == pytest.approx(fade, rel=0.1)
    assert np.abs(moving.hand_force).max() == 0.0  # nobody there


@pytest.mark.parametrize('stiff', [1.0, 100.0])
def test_a_held_handle_comes_to_rest_where_statics_puts_it(robot, stiff):
    moving = HeldHandle(HapticDevice(robot), 0.05)
    angle = np.array([0.2, -0.1, 0.0, 0.1, 0.0, -0.2])
    held = hand(
        place=[0.01, 0.0, -0.005, 0.05, 0.0],
        stiffness=stiff * GRIP,
        damping=0.01 * stiff * GRIP,
        force=[0.0, 0.5, 0.0, 0.0, 0.01],
    )
    for k in range(1500):
        moving.advance(min(1.0, k / 200) * angle, held, STEP)
    force = held.stiffness * (held.place - moving.place) + held.force
    np.testing.assert_allclose(moving.hand_force, force, atol=1e-5)
    statics = HapticDevice(robot)
    statics.restart(angle)
    guess = statics.snapshot()
    guess.axes[:] = moving.axes
    assert statics.held(angle, force, guess) is not None
    np.testing.assert_allclose(statics.place(), moving.place, atol=1e-7)
    np.testing.assert_allclose(statics.ports.sensor, moving.elongation(), atol=1e-8)
    assert moving.restarts == 0


def test_a_hand_without_legs_to_speak_of_is_its_own_oscillator(robot):
    """A heavy hand on its own spring: sqrt(k / m), and exp(-d t / 2 m), whatever holds it."""
    mass, stiffness, damping = 50.0, 8e4, 40.0
    along = np.array([1.0, 0.0, 0.0, 0.0, 0.0])
    held = hand(stiffness=stiffness * along, mass=mass * along, damping=damping * along)
    places, moving = plucked(robot, 0.02, [0.5, 0.0, 0.0, 0.0, 0.0], held)
    x = places[:, 0]
    assert frequency(x) == pytest.approx(math.sqrt(stiffness / mass) / 2.0 / math.pi, rel=5e-3)
    peaks = [np.abs(x[k : k + 160]).max() for k in (0, 320)]
    assert peaks[1] / peaks[0] == pytest.approx(math.exp(-0.5 * damping / mass * 0.32), rel=0.05)
    push = moving.hand_force[0]  # the hand moves the legs and what moves with them
    assert abs(push) < 0.01 * stiffness * np.abs(x).max()
    assert handle_mass(HapticDevice(robot))[0, 0] < 0.1


def test_time_less_than_a_step_waits(robot):
    moving = HeldHandle(HapticDevice(robot), 0.05)
    load, before = hand(force=[1.0, 0.0, 0.0, 0.0, 0.0]), moving.place
    moving.advance(STILL, load, 0.4 * STEP)
    np.testing.assert_array_equal(moving.place, before)
    moving.advance(STILL, load, 0.7 * STEP)
    assert moving.place[0] > before[0]


def test_what_rests_and_is_left_alone_is_not_computed(robot):
    moving = HeldHandle(HapticDevice(robot), 0.5)
    angle, held = np.linspace(-0.2, 0.1, 6), hand(stiffness=GRIP, damping=0.02 * GRIP)
    for _ in range(5):
        moving.advance(angle, held, STEP)
    assert not moving.rests
    for _ in range(600):
        moving.advance(angle, held, STEP)
    time, place = moving.stepper.time, moving.place
    moving.advance(angle, held, 1.0)
    assert moving.rests and moving.stepper.time == time
    for k in range(100):  # what is left out changes nothing
        held.force[4] = 1e-12 * k
        moving.advance(angle, held, STEP)
    assert moving.stepper.time > time
    np.testing.assert_allclose(moving.place, place, atol=1e-7)
    held.force[0] = 0.1
    moving.advance(angle, held, 0.1)
    assert moving.place[0] > place[0] + 1e-5 and not moving.rests
