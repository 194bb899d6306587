# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Any number of legs, motors and strips: the loop is made for what the robot file has."""

import numpy as np
import pytest
from recorded_rig import nominal_calibration, PERIOD, values
import yaml

from soro_haptics.haptic_setup import make_haptics
from soro_haptics.sensor_guard import STUCK_SAMPLES
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
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


@pytest.mark.parametrize('strips', [0, 1])
def test_a_device_with_hardly_a_strip_goes_by_its_encoders(tmp_path, strips):
    data = yaml.safe_load(find_robot_file('haptic_5dof').read_text())
    del data['sensors'][0]['strips'][strips:]
    file = tmp_path / 'few.yaml'
    file.write_text(yaml.safe_dump(data))
    calibration = nominal_calibration(('flex_1',)) if strips else None
    made = make_haptics(read_robot_file(file), calibration, PERIOD, values())
    law, guard, still = made.loop.law, made.guard, np.zeros(6)
    made.loop.start(still)
    for _ in range(2 * STUCK_SAMPLES):  # a reading that rests beside others is no stuck one
        guard.before(np.full(strips, 3500.0), np.zeros(strips, bool))
        assert made.loop.tick(still, guard.elongation) is Code.NONE
        assert made.loop.advance() is Code.NONE
        assert not guard.after(still, law.strips.elongation)
    assert guard.good.all() and guard.rank <= strips
