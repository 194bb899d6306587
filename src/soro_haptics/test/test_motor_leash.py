# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where a drift could go unseen, the motors do little, whatever the sensors say."""

from dataclasses import replace

import numpy as np
import pytest
from recorded_rig import nominal_calibration, PERIOD, Rig, STILL

from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.motor_leash import CREEP, MAX_FORCE, MAX_MOMENT, MotorLeash
from soro_mechanics.haptics.rendering import natural_stiffness

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


def held_at(device, angle, place):
    """The force that keeps the handle at a place, on the nonlinear model."""
    force = np.zeros(5)
    device.restart(STILL)
    for share in np.linspace(0.1, 1.0, 10):
        for _ in range(5):
            device.update(share * angle, force)
            force = force + natural_stiffness(device.ports) @ (place - device.place())
    return device.ports.axes @ force


def test_a_held_handle_feels_no_more_than_the_leash_allows(robot):
    device, random = HapticDevice(robot), np.random.default_rng(1)
    device.restart(STILL)
    place, ports = device.place(), device.snapshot()
    for _ in range(4):
        leash, command = MotorLeash(PERIOD), STILL.copy()
        leash.shorten(command, ports)
        command[:] = random.uniform(-0.5, 0.5, 6)
        leash.shorten(command, ports)
        felt = held_at(HapticDevice(robot), command, place)
        size = np.linalg.norm(felt[:3]) / MAX_FORCE, np.linalg.norm(felt[3:]) / MAX_MOMENT
        assert max(size) == pytest.approx(1.0, abs=0.08)


def test_a_small_command_is_left_and_a_large_one_is_reached_slowly(plant):
    plant.restart(STILL)
    leash, ports = MotorLeash(PERIOD), plant.snapshot()
    leash.shorten(STILL.copy(), ports)
    small = np.full(6, 1e-3)
    leash.shorten(command := small.copy(), ports)
    np.testing.assert_array_equal(command, small)
    before = None
    for _ in range(200):
        leash.shorten(command := np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0]), ports)
        assert before is None or np.abs(command - before).max() <= CREEP * PERIOD * (1 + 1e-9)
        before = command
    assert 0.0 < command[0] < 0.4


@pytest.mark.parametrize('play', [0.0, 2e-4])
def test_sliding_strips_that_drift_together_do_not_run_away(plant, monkeypatch, play):
    """Two strips that drift are a hand to five others; a phantom of newtons moves millimetres."""
    fit = nominal_calibration()
    slides = replace(fit, sensors=tuple(replace(s, play=play) for s in fit.sensors))
    monkeypatch.setattr('recorded_rig.nominal_calibration', lambda: slides)
    rig = Rig(plant, rest_force=0.25).armed()
    law, guard = rig.control.haptics.loop.law, rig.control.haptics.guard
    assert guard.unchecked == (play > 0.0)
    # A force makes it, which no residual shows; nobody holds the handle.
    plant.update(STILL, np.array([6.0, 0.0, 0.0, 0.0, 0.0]))
    phantom = plant.ports.sensor.copy()
    plant.restart(STILL)
    phantom -= plant.ports.sensor
    farthest, sensed, place = 0.0, 0.0, plant.place()
    for k in range(500):
        seen = plant.ports.sensor + min(1.0, k / 250) * phantom
        rig.angle = rig.tick(elongation=seen).values
        farthest = max(farthest, np.linalg.norm(plant.place()[:3] - place[:3]))
        sensed = max(sensed, law.sensing.force()[0])
    assert sensed > 1.0, guard.reason
    if play:
        assert farthest < 5e-3
    else:
        assert farthest > 1.5e-2, 'what is not on a leash follows'
