# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulated force sensor reads load, zero and tool in its own axes, as noisy as asked for."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from soro_emulation.emulated_sensor import EmulatedForceSensor, PARAMETERS

DEFAULTS = {p.name: p.default for p in PARAMETERS} | {'rate': 30.0}
TIP, GRAVITY = np.eye(4), np.array([0.0, 0.0, -9.81])
TIP[:3, :3] = Rotation.from_rotvec([0.4, -0.2, 0.1]).as_matrix()
LOAD = np.array([0.2, 0.1, -0.3, 0.01, 0.0, 0.02])


def felt(count=300, **values):
    """Return what comes of so many moments at 30 Hz."""
    sensor, found = EmulatedForceSensor(DEFAULTS | values, GRAVITY, 1), []
    for k in range(count):
        sensor.feel(LOAD, TIP, k, k / 30.0, k / 30.0 + 0.004)
    return found + sensor.due(1e9)


def test_it_reads_load_zero_and_tool_in_its_axes():
    zero, mass, centre = [0.5, 0.0, 0.0, 0.0, 0.1, 0.0], 0.1, [0.0, 0.01, 0.02]
    (one,) = felt(
        1, force_sensor_noise=[0.0] * 6, force_sensor_zero=zero, force_sensor_tool=[mass, *centre]
    )
    turn = TIP[:3, :3]
    back = one.wrench - zero
    force = turn @ back[:3] - mass * GRAVITY
    moment = turn @ back[3:] - np.cross(turn @ centre, mass * GRAVITY)
    assert np.append(force, moment) == pytest.approx(LOAD)


def test_noise_is_white_and_as_large_as_asked_for():
    wrenches = np.array([f.wrench for f in felt(3000)])
    assert wrenches.std(axis=0) == pytest.approx(DEFAULTS['force_sensor_noise'], rel=0.06)


def test_readings_come_late_and_some_are_lost():
    assert len(felt(force_sensor_drop_outs=0.3)) == pytest.approx(210, abs=30)
    sensor = EmulatedForceSensor(DEFAULTS | {'force_sensor_latency': 0.1}, GRAVITY, 1)
    sensor.feel(LOAD, TIP, 'stamp', 5.0, 5.004)
    assert not sensor.due(5.099)
    assert [f.stamp for f in sensor.due(5.101)] == ['stamp']
