# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The soft parallel robot behind its emulated serial line: asked, moved, tracked, stopped."""

from __future__ import annotations

import json
import math
import sys

import pytest

from soro_driver.device import DeviceState
from soro_studies.system.soft_parallel_real_time import DELAY, set_parameters
from soro_studies.system.venting import assert_vented

TARGET = (1.2e5, 0.6e5, 0.0)  # Pa


def soro(running, *words: str) -> dict:
    """Run a verb against the running robot; return its JSON answer."""
    command = [sys.executable, '-m', 'soro_cli.main', *words, '--robot', 'soft_parallel', '--json']
    return json.loads(running.ask(command).stdout.splitlines()[-1])


@pytest.mark.robot('soft_parallel')
def test_the_robot_answers_and_moves(running):
    assert running.state() == DeviceState.ACTIVE, running.story
    running.move(TARGET)
    forward = running.mechanics.forward(list(TARGET), [0.0] * 6, '')
    assert forward.error_code == 0
    tip = forward.configuration.tip.position
    # The leg at angle 0 is longest: the platform leans away from it, and is raised.
    assert tip[0] < -0.01 and tip[2] > 0.15
    assert math.dist(tip, running.watch.tip) < 8e-3
    inverse = running.mechanics.inverse(tip, None, 0, [0.0] * 6, '')
    assert inverse.error_code == 0
    assert inverse.actuation == pytest.approx(TARGET, abs=1.0)
    compliance = running.mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
    assert compliance.error_code == 0
    running.wait(lambda: len(running.shapes) == 2, 30.0, 'model and ground truth')
    # The emulated robot is not the described one, and not a stranger either.
    model, plant = (
        running.shapes[name].tip.position for name in ('configuration', 'emulator/configuration')
    )
    apart = math.dist((model.x, model.y, model.z), (plant.x, plant.y, plant.z))
    assert 2e-4 < apart < 3e-2


@pytest.mark.robot('soft_parallel')
@pytest.mark.timeout(300)
def test_verbs_of_the_command_reach_the_robot_which_then_stops(running):
    soro(running, 'move', '--pose', '10mm', '-5mm', '170mm')
    running.spin(0.3)
    assert math.dist(running.watch.tip, (0.01, -0.005, 0.17)) < 4e-3
    soro(running, 'fk', '0.9bar', '0.3bar', '0')
    soro(running, 'ik', '10mm', '0', '170mm')
    soro(running, 'compliance')
    space = soro(running, 'workspace', '--samples', '200', '--random')
    assert space['failed'] == 0
    assert 0.15 < space['longest_extent'] < 0.25  # published: 0.239 m, of 5000 samples
    result = soro(
        running,
        'track',
        'circle',
        '--centre',
        '0',
        '0',
        '180mm',
        '--size',
        '20mm',
        '--speed',
        '20mm/s',
    )
    assert result['error_code'] == 0
    # tip_pose is the model at the measured pressures: what the driver and the wire lose.
    assert result['mean_error'] < 5e-3
    set_parameters(running, 'emulator/configuration', DELAY)
    result = soro(
        running,
        'track',
        'circle',
        '--centre',
        '0',
        '0',
        '180mm',
        '--size',
        '40mm',
        '--speed',
        '20mm/s',
    )
    # The emulated robot's own lambda(P), hysteresis and creep: 3.0 % in virtual time.
    assert 0.01 < result['relative_error'] < 0.06
    assert running.process.stop() == 0, running.process.output
    assert_vented(running)
