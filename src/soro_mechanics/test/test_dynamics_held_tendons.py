# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tendons whose lengths are held, in motion, against the same robot driven by tensions."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.dynamics.energy import EnergyMeter
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.robot_motion import stepper
from soro_mechanics.dynamics.stepper import Options, Stepper

FOLDER = Path(load_robot('haptic_5dof').description.file).parent / 'examples'
STEP, EXACT = 2e-3, Options(tolerance=1e-10)


@pytest.fixture(scope='module')
def robot():
    return load_robot(FOLDER / 'tendon_arm_drives.yaml').with_model('network')


def pulled(robot, part):
    low, high = robot.limits.T
    return low + np.resize([part, 0.1 * part], len(low)) * (high - low)


def held_motion(robot, size, steps):
    """Pull and let go; the stepper at the end, with tensions, gaps [m] and tips on the way."""
    moving = stepper(robot, robot.forward(pulled(robot, 0.15)), EXACT)
    tendons = moving.layout.tendons
    found = []
    for k in range(steps):
        part = 0.15 + size * np.sin(2.0 * np.pi * (k + 1) * STEP / 0.15) ** 2
        assert moving.step(STEP, pulled(robot, part), LoadCase(gravity=robot.gravity)).taken
        tension = tendons.held_tensions(moving.state)
        wanted = tendons.rest - moving.inputs.pull[:, 0]
        gap = wanted + tendons.soft * tension - tendons.lengths(moving.state)
        found.append((tension, gap, moving.tip[:3, 3]))
    return moving, *map(np.array, zip(*found, strict=True))


def test_lengths_are_held_and_tendons_never_push(robot):
    _, tension, gap, _ = held_motion(robot, -0.2, 100)
    assert tension.min() >= 0.0
    assert gap.min() > -1e-9
    np.testing.assert_allclose(tension * gap, 0.0, atol=1e-9)
    slack = tension == 0.0
    assert slack.any() and not slack.all()


def test_the_tensions_it_finds_move_the_same_robot_alike(robot):
    """A robot that is pulled by these tensions as given forces knows nothing of lengths."""
    moving, tension, _, tips = held_motion(robot, 0.3, 60)
    assert tension.min() > 0.0
    spec = moving.layout.spec
    drives = tuple(
        replace(d, kind='tension', curve=None, offset=0.0, soft=0.0) for d in spec.drives
    )
    free = Stepper(replace(spec, drives=drives), np.zeros(len(robot.actuators)), EXACT)
    start = stepper(robot, robot.forward(pulled(robot, 0.15)), EXACT)
    pulls = start.layout.tendons.held_tensions(start.state)
    free.rest(pulls, LoadCase(gravity=robot.gravity))
    free.fit(modes(start, 1).frequency[0])
    for value, tip in zip(tension, tips, strict=True):
        assert free.step(STEP, value, LoadCase(gravity=robot.gravity)).taken
        np.testing.assert_allclose(free.tip[:3, 3], tip, atol=2e-6)
    assert np.ptp(tips, axis=0).max() > 5e-3


def test_what_the_motors_put_in_is_stored_or_lost(robot):
    moving = stepper(robot, robot.forward(pulled(robot, 0.15)), Options(spectral_radius=1.0))
    meter = EnergyMeter(moving)
    for k in range(200):
        part = 0.15 + 0.1 * np.sin(np.pi * min(k + 1, 100) / 200) ** 2
        assert moving.step(1e-3, pulled(robot, part), LoadCase(gravity=robot.gravity)).taken
        energy = meter.measure()
    begun = EnergyMeter(stepper(robot, robot.forward(pulled(robot, 0.15)))).present()
    assert abs(energy.lost + begun.strain) < 0.01 * abs(energy.work)


@pytest.mark.parametrize('step', [2e-3, 5e-4])
def test_motors_that_begin_to_pull_do_not_kick(robot, step):
    """They take in what they do in the first step during that step, not at its beginning."""
    spec = robot.model_object.spec
    stiff = replace(spec, drives=tuple(replace(d, soft=0.0) for d in spec.drives))
    moving = Stepper(stiff, pulled(robot, 0.0))
    moving.rest(pulled(robot, 0.15), LoadCase(gravity=robot.gravity))
    meter, begun = EnergyMeter(moving), EnergyMeter(moving).present().strain
    for k in range(round(0.1 / step)):
        to = pulled(robot, 0.15 + 2.0 * (k + 1) * step)
        assert moving.step(step, to, LoadCase(gravity=robot.gravity)).taken
        energy = meter.measure()
    assert abs(energy.lost + begun) < 0.05 * energy.work


def test_modes_are_those_of_statics_with_locked_motors(robot):
    q = robot.forward(pulled(robot, 0.3))
    found = modes(stepper(robot, q, Options(rotary_inertia=False)), 4).frequency
    expected = robot.network.natural_frequencies(q, 4)  # of another mesh
    np.testing.assert_allclose(found, expected, rtol=2e-3)
