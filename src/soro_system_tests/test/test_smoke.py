# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole robot comes up, answers, moves, and stops with its pressures vented."""

from __future__ import annotations

import math

from soro_studies.system.launched_robot import launched_robot
from soro_studies.system.venting import assert_vented

TARGET = (8.0e4, 0.0, 0.0)  # Pa


def check(robot):
    """Check that a robot answers and moves."""
    robot.move(TARGET)
    forward = robot.mechanics.forward(list(TARGET), [0.0] * 6, '')
    assert forward.error_code == 0
    tip = forward.configuration.tip.position
    # The pair at 0 deg bends the robot to -x; the present tip is where the solver says.
    assert tip[0] < -0.005
    assert math.dist(tip, robot.watch.tip) < 3e-3
    inverse = robot.mechanics.inverse(tip, None, 0, [0.0] * 6, '')
    assert inverse.error_code == 0
    again = robot.mechanics.forward(inverse.actuation, [0.0] * 6, '')
    assert math.dist(again.configuration.tip.position, tip) < 1e-4
    compliance = robot.mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
    assert compliance.error_code == 0
    assert compliance.points[0].principal_compliance[-1] > 0.0
    jacobian = robot.mechanics.jacobian(None, [0.0] * 6, '')
    assert jacobian.error_code == 0
    assert len(jacobian.matrix) == 6
    assert jacobian.matrix[0][0] < 0.0
    robot.wait(lambda: len(robot.shapes) == 2, 5.0, 'model and ground truth')
    model, plant = (robot.shapes['configuration'].tip, robot.shapes['emulator/configuration'].tip)
    apart = math.dist(*((p.position.x, p.position.y, p.position.z) for p in (model, plant)))
    # The plant is no twin of the solver, and no stranger either.
    assert 1e-6 < apart < 1.5e-2


def test_smoke_a_robot_comes_up_answers_and_moves(running):
    check(running)


def test_smoke_so_it_does_in_the_root_namespace_and_is_vented_at_the_end(tmp_path):
    with launched_robot(['stiff_flop'], tmp_path, '/') as robot:
        check(robot)
        assert robot.process.stop() == 0, robot.process.output
        assert_vented(robot)
