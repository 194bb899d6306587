# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm of three actuators on its emulated card: launched, asked, moved, tracked, stopped."""

from __future__ import annotations

import json
import math
import sys

import pytest

from soro_studies.system.venting import assert_vented

TARGET = (0.0, 6.0e4, 6.0e4)  # Pa: Table 1 bends to +y
REST_LENGTH = 0.1716


def soro(running, *words: str) -> dict:
    """Run a verb against the running robot; return its JSON answer."""
    command = [sys.executable, '-m', 'soro_cli.main', *words, '--robot', 'spatial_cc', '--json']
    return json.loads(running.ask(command).stdout.splitlines()[-1])


# What the arm's page types besides is typed by test_documented_run.py.
@pytest.mark.robot('spatial_cc')
def test_verbs_of_the_command_reach_the_running_arm(running):
    soro(running, 'move', '--pose', '0', '20mm', '183mm')
    running.spin(0.3)
    assert math.dist(running.watch.tip, (0.0, 0.02, 0.183)) < 3e-3
    assert running.watch.tip[2] > REST_LENGTH
    soro(running, 'jacobian')


# After that: it ends in order.
@pytest.mark.robot('spatial_cc')
def test_the_arm_answers_moves_and_stops(running):
    running.move(TARGET)
    forward = running.mechanics.forward(list(TARGET), [0.0] * 6, '')
    assert forward.error_code == 0
    tip = forward.configuration.tip.position
    assert tip[1] > 0.03 and abs(tip[0]) < 1e-6
    assert math.dist(tip, running.watch.tip) < 4e-3
    inverse = running.mechanics.inverse(tip, None, 0, [0.0] * 6, '')
    assert inverse.error_code == 0
    assert inverse.actuation == pytest.approx(TARGET, abs=1.0)
    jacobian = running.mechanics.jacobian(None, [0.0] * 6, '')
    assert jacobian.error_code == 0 and jacobian.matrix[1][0] < 0.0 < jacobian.matrix[1][1]
    compliance = running.mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
    assert compliance.error_code == 0
    # Three degrees of freedom: the arc gives in three directions and no more.
    values = compliance.points[0].principal_compliance
    assert values[-1] > 0.0
    running.wait(lambda: len(running.shapes) == 2, 20.0, 'model and ground truth')
    model, plant = (
        running.shapes[name].tip.position for name in ('configuration', 'emulator/configuration')
    )
    apart = math.dist((model.x, model.y, model.z), (plant.x, plant.y, plant.z))
    assert 1e-5 < apart < 1.2e-2  # an elastic rod with weight is no arc
    assert running.process.stop() == 0, running.process.output
    assert_vented(running)
