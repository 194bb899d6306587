# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The arm of three actuators on its emulated card: launched, asked, moved, tracked, stopped."""

from __future__ import annotations

import json
import math
from pathlib import Path
import subprocess
import sys

import pytest

from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_studies.system.launched_robot import launched_robot
from soro_studies.system.venting import assert_vented

TARGET = (0.0, 6.0e4, 6.0e4)  # Pa: Table 1 bends to +y
REST_LENGTH = 0.1716


def soro(*words: str) -> dict:
    """Run a verb against the running robot; return its JSON answer."""
    done = subprocess.run(
        [sys.executable, '-m', 'soro_cli.main', *words, '--robot', 'spatial_cc', '--json'],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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


def patient_file(folder: Path) -> str:
    """Write the robot with time limits that a busy computer keeps while a curve is followed."""
    text = find_robot_file('spatial_cc').read_text(encoding='utf-8')
    for old, new in (
        ('command_timeout: 300 ms', 'command_timeout: 2 s'),
        ('feedback_timeout: 250 ms', 'feedback_timeout: 2 s'),
        ('time_to_live: 250 ms', 'time_to_live: 500 ms'),
        ('relay: {window: 300 ms', 'relay: {window: 2 s'),
    ):
        assert old in text
        text = text.replace(old, new, 1)
    file = folder / 'spatial_cc.yaml'
    file.write_text(text, encoding='utf-8')
    return str(file)


def test_verbs_of_the_command_reach_the_running_arm(tmp_path):
    file = patient_file(tmp_path)
    with launched_robot([file], tmp_path, 'spatial_cc', robot=file) as robot:
        soro('move', '--pose', '0', '20mm', '183mm')
        robot.spin(0.3)
        assert math.dist(robot.watch.tip, (0.0, 0.02, 0.183)) < 3e-3
        soro('fk', '0', '0.5bar', '0.5bar')
        soro('jacobian')
        soro('compliance')
        result = soro(
            'track', 'circle', '--centre', '0', '0', '188mm', '--size', '12mm', '--speed', '20mm/s'
        )
        assert result['error_code'] == 0
        assert robot.watch.tip[2] > REST_LENGTH
        robot.process.stop()
        assert_vented(robot)
