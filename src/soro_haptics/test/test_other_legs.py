# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Any number of legs, motors and strips: the loop is made for what the robot file has."""

import numpy as np
import pytest
from recorded_rig import nominal_calibration, PERIOD, values

from soro_haptics.haptic_setup import make_haptics
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import read_robot_file
from soro_rigs.legs import legs_file

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels


@pytest.mark.parametrize('legs', [3, 8])
def test_a_device_of_another_number_of_legs_senses_and_renders(tmp_path, legs):
    calibration = nominal_calibration(tuple(f'flex_{i + 1}' for i in range(legs)))
    made = make_haptics(read_robot_file(legs_file(tmp_path, legs)), calibration, PERIOD, values())
    device, law = made.loop.device, made.loop.law
    assert device.ports.sizes == (legs, 5, legs)
    assert made.guard.unchecked == (legs <= 5) and 0 < made.guard.rank <= min(legs, 5)
    still, push = np.zeros(legs), np.array([-1.0, 0.0, 0.0, 0.0, 0.0])
    seen = device.held(still, push).sensor
    made.loop.start(still)
    for _ in range(50):
        assert made.loop.tick(still, seen) is Code.NONE
        assert made.loop.advance() is Code.NONE
    if legs > 5:  # fewer do not see all directions
        np.testing.assert_allclose(law.sensing.force()[:3], push[:3], atol=0.1)
    assert np.abs(law.command).max() > 0.01, 'the motors give way'
