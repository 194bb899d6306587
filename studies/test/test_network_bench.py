# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The bench on the moving network beside theory and the bench with condensed masses."""

import numpy as np
import pytest

from soro_mechanics.haptics.hand_impedance import FINGERTIP
from soro_mechanics.haptics.linear_loop import admittance_limit
from soro_mechanics.haptics.virtual_environment import Shape, VirtualObject
from soro_studies.haptics.network_bench import NetworkBench
from soro_studies.haptics.virtual_bench import BenchSetup
from soro_studies.haptics.z_width import comes_to_rest, NO_MONITOR, one_direction

pytestmark = pytest.mark.timeout(900)  # the network in motion is compiled


@pytest.fixture(scope='module')
def make(robot, signals, report):
    calibration = report.calibration()

    def rig(stiffness=None):
        held = {} if stiffness is None else {'stiffness': stiffness}
        objects = (
            [VirtualObject('s', Shape.HOLD, rotational_stiffness=1.26, **held)] if held else []
        )
        setup = BenchSetup(energy=NO_MONITOR)
        return NetworkBench(robot, calibration, signals, objects, setup, FINGERTIP)

    return rig


def test_all_modes_of_the_legs_agree_with_the_linear_loop(make):
    """Well below the computed limit a pulled spring rests; well above it rings."""
    bench = make()
    computed = min(admittance_limit(one_direction(bench, axis), 2e-3, 1) for axis in (0, 2))
    assert comes_to_rest(lambda: make(0.7 * computed))
    assert not comes_to_rest(lambda: make(1.5 * computed))


def test_sensors_and_motors_are_those_of_the_moving_network(make):
    bench = make()
    for k in range(300):
        bench.step(np.array([0.01 * min(1.0, k / 50), 0.0, 0.0, 0.0, 0.0]))
    still = bench.plant
    still.restart(bench.turned)
    assert still.held(bench.turned, bench.moving.hand_force, still.snapshot()) is not None
    np.testing.assert_allclose(bench.place, still.place(), atol=2e-4)  # it still turns slowly
    assert np.abs(bench.sensed_place[:3] - bench.place[:3]).max() < 2e-3
    assert bench.failures == 0
