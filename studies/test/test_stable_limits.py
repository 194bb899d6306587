# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is rendered does not ring on a hand with mass; whatever was asked for."""

from dataclasses import replace

import numpy as np
import pytest

from soro_haptics.haptic_parameters import PARAMETERS
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.hand_impedance import FINGERTIP, LIGHT_GRIP
from soro_mechanics.haptics.rendering import rendering_setup
from soro_mechanics.haptics.stable_limits import stable_limits
from soro_mechanics.haptics.virtual_environment import Control, PRESETS, published_environment
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.virtual_bench import BenchSetup, SPEED

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
HANDS = {'fingertip': FINGERTIP, 'light_grip': LIGHT_GRIP}
REACH = {
    'hold': (0.008, 0.0, 0.008, 0.1, 0.0),
    'wall': (-0.02, 0.0, 0.0, 0.0, 0.0),
    'angle': (0.0, 0.0, 0.0, 0.35, 0.0),
}
ASIDE = (0.02, 0.0, 0.02, 0.0, 0.0)
QUIET = 1e-3  # m, peak to peak
DEFAULTS = {parameter.name: parameter.default for parameter in PARAMETERS}
ENERGY = DEFAULTS['energy']
OLD_ENERGY = 0.3  # J: an allowance that hides less


@pytest.fixture(scope='module')
def swing(robot, signals, report):
    """Return what swings, peak to peak [m], a second after a hand has run into something."""
    calibration, device = report.calibration(), HapticDevice(robot)
    limits = stable_limits(
        device, rendering_setup(0.002, device.motor_limits(), SPEED), 'fingertip'
    )

    def run(preset, hand, energy=ENERGY, limited=True, **changes):
        objects = [replace(o, **changes) for o in published_environment(preset, np.eye(4))]
        rig = MovingBench(
            robot, calibration, signals, objects, BenchSetup(energy=energy), HANDS[hand]
        )
        if limited:
            rig.loop.law.environment, _ = limits.environment(objects)
        places = []
        for tick in range(650):
            there = min(1.0, tick / 100) if preset != 'hold' else tick / 100 * (tick < 100)
            rig.step(there * np.array(REACH.get(preset, ASIDE)))
            rig.loop.law.oscillation.reset()  # limits alone
            places.append(rig.x[:3].copy())
        assert rig.failures == 0
        return np.ptp(places[450:], axis=0).max()

    return run


# Every preset with every hand and either allowance: it is not the monitor that keeps it quiet.
@pytest.mark.parametrize(
    ('preset', 'hand', 'energy'),
    [
        (preset, hand, (ENERGY, OLD_ENERGY)[(i + j) % 2])
        for i, preset in enumerate(p for p in PRESETS if p != 'free')
        for j, hand in enumerate(HANDS)
    ],
)
def test_no_preset_rings_on_a_hand_with_mass(swing, preset, hand, energy):
    assert swing(preset, hand, energy) < QUIET


@pytest.mark.parametrize(
    ('preset', 'changes'),
    [
        ('wall', {'stiffness': 300.0, 'damping': 40.0}),
        ('hold', {'stiffness': 1e3, 'damping': 40.0}),
        ('box', {'stiffness': 1e9, 'damping': 5.0}),
        ('line', {'stiffness': 300.0, 'damping': 0.1}),
        ('circle', {'stiffness': 5e3, 'damping': 40.0, 'control': Control.HYBRID}),
    ],
)
def test_nothing_that_is_asked_for_rings_on_a_fingertip(swing, preset, changes):
    assert swing(preset, 'fingertip', OLD_ENERGY, **changes) < QUIET


def test_without_limits_the_same_bench_rings(swing):
    assert swing('wall', 'light_grip', OLD_ENERGY, limited=False) > 5e-3
    assert swing('wall', 'fingertip', OLD_ENERGY, limited=False, stiffness=300.0, damping=20.0) > (
        3e-3
    )


def test_the_default_allowance_is_small():
    assert DEFAULTS['energy'] == 0.02 and DEFAULTS['expected_hand'] == 'fingertip'
