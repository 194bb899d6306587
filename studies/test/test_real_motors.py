# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Motors with inertia, friction and a limit of torque under the moving bench."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics.haptics.hand_impedance import NO_HAND
from soro_studies.haptics.moving_bench import MovingBench, REAL_MOTOR
from soro_studies.haptics.virtual_bench import BenchSetup

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
PUSH = np.array([-3.0, 1.0, 0.0, 0.0, 0.05])


def pressed(robot, report, signals, motor):
    """Press on a handle whose motors are told to stay, until it rests."""
    setup = BenchSetup(material=1.0, motor=motor, step=5e-4)
    rig = MovingBench(robot, report.calibration(), signals, (), setup, NO_HAND, damping_ratio=0.5)
    rig.held = True
    for _ in range(400):
        rig.step(np.zeros(5), PUSH)
    return rig


def test_at_rest_a_motor_holds_what_the_legs_turn_it_with(robot, report, signals):
    rig = pressed(robot, report, signals, REAL_MOTOR)
    legs = rig.plant.ports.torque
    assert np.abs(legs).max() > 0.03
    assert np.abs(rig.motor.torque - legs).max() < REAL_MOTOR.coulomb + 1e-3
    # Its position loop gives way like a spring, less what friction holds.
    given = np.abs(rig.motor.angle * REAL_MOTOR.stiffness + legs)
    assert given.max() < REAL_MOTOR.coulomb + 1e-3
    np.testing.assert_allclose(rig.plant.ports.force, PUSH, atol=0.05)


def test_a_motor_at_its_limit_lets_the_handle_go(robot, report, signals):
    strong = pressed(robot, report, signals, REAL_MOTOR)
    weak = pressed(robot, report, signals, replace(REAL_MOTOR, torque_limit=0.02))
    assert np.abs(weak.motor.torque).max() <= 0.02
    assert np.linalg.norm(weak.x[:3]) > 1.15 * np.linalg.norm(strong.x[:3])
