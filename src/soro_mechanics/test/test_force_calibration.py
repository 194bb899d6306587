# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Zero and tool of a force sensor are found where they were put, or postures are refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_mechanics.analysis.force_calibration import calibrate_force
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.robot_file.sensor_sections import ForceSensor, measured, write_section

ZERO = np.array([0.3, -0.2, 1.0, 0.01, 0.02, -0.03])
MASS, CENTRE = 0.05, np.array([0.001, 0.0, 0.02])
NOISE = np.array([0.01] * 3 + [1e-4] * 3)


def readings(seed, turn=1.0, mass=MASS, noise=1.0, count=16):
    random = np.random.default_rng(seed)
    turns = Rotation.from_rotvec(turn * random.uniform(-1.0, 1.0, (count, 3)))
    gravity = turns.inv().apply([0.0, 0.0, -9.81])
    weight = np.hstack([mass * gravity, np.cross(CENTRE, mass * gravity)])
    return gravity, ZERO + weight + noise * NOISE * random.standard_normal((count, 6))


def test_without_noise_everything_is_found_and_taken_off():
    gravity, wrenches = readings(0, noise=0.0)
    found = calibrate_force(gravity, wrenches)
    assert found.zero == pytest.approx(ZERO, abs=1e-9)
    assert found.mass == pytest.approx(MASS)
    assert found.centre == pytest.approx(CENTRE)
    sensor = ForceSensor('sensor', found.zero, found.mass, found.centre)
    load = np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    for g, w in zip(gravity, wrenches, strict=True):
        assert sensor.load(w + load, g) == pytest.approx(load, abs=1e-9)


def test_intervals_hold_the_truth_about_as_often_as_they_say():
    held = []
    for seed in range(200):
        found = calibrate_force(*readings(seed))
        off = np.append(found.zero - ZERO, found.mass - MASS)
        held.append(np.abs(off) <= found.half)
    assert ((np.mean(held, axis=0) >= 0.90) & (np.mean(held, axis=0) <= 0.99)).all()


def test_without_a_tool_there_is_no_mass():
    found = [calibrate_force(*readings(seed, mass=0.0)) for seed in range(20)]
    assert sum(f.mass == 0.0 for f in found) >= 17
    assert all((f.centre == 0.0).all() for f in found if f.mass == 0.0)


def test_what_postures_cannot_tell_is_refused():
    for turn, count, code in ((0.0, 16, Code.POOR_FIT), (0.01, 16, Code.POOR_FIT),
                              (1.0, 3, Code.INVALID_SIZE)):  # fmt: skip
        with pytest.raises(InvalidInput) as refused:
            calibrate_force(*readings(0, turn, count=count))
        assert refused.value.code is code


def test_a_robot_file_keeps_what_was_found(tmp_path):
    values = {
        'frame': 'sensor',
        'force': measured(ZERO[:3], 'N', 'test'),
        'moment': measured(ZERO[3:], 'N m', 'test'),
        'mass': measured(1e3 * MASS, 'g', 'test'),
        'centre': measured(1e3 * CENTRE, 'mm', 'test'),
    }
    file = tmp_path / 'mine.yaml'
    write_section(str(find_robot_file('stiff_flop')), 'force_sensor', values, file)
    sensor = read_robot_file(file).structure['force_sensor']
    assert sensor.zero == pytest.approx(ZERO)
    assert (sensor.frame, sensor.mass) == ('sensor', pytest.approx(MASS))
    assert sensor.centre == pytest.approx(CENTRE)
