# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot of thirty muscles on its emulated valve board: launched, asked, moved, stopped."""

from __future__ import annotations

import json
import math
import sys

import numpy as np

from soro_studies.system.launched_robot import launched_robot

TARGET = (0.15, 0.0, 0.93)  # m


def soro(running, *words: str) -> dict:
    """Run a verb against the running robot; return its JSON answer."""
    command = [sys.executable, '-m', 'soro_cli.main', *words, '--robot', 'pam_continuum', '--json']
    return json.loads(running.ask(command).stdout.splitlines()[-1])


def test_the_robot_answers_moves_and_is_vented_at_the_end(tmp_path):
    with launched_robot(['pam_continuum'], tmp_path, robot='pam_continuum') as robot:
        robot.wait(lambda: robot.watch.tip is not None, 5.0, 'a tip')
        assert robot.watch.tip[2] > 0.999  # vented: straight
        inverse = robot.mechanics.inverse(TARGET, None, 0, [0.0] * 6, '')
        assert inverse.error_code == 0
        soro(
            robot,
            'move',
            '--pose',
            '150mm',
            '0',
            '930mm',
            '--tolerance',
            '10mm',
            '--timeout',
            '60',
        )
        # It comes to rest there; on its way the muscles may carry it past.
        assert robot.watch.wait(lambda: robot.watch.distance(TARGET) < 0.012, 20.0), robot.story
        robot.wait(lambda: len(robot.shapes) == 2, 5.0, 'model and ground truth')
        truth = robot.shapes['emulator/configuration'].tip.position
        # What the valves did is not exactly what was wanted, but the robot is bent to +x.
        assert math.dist((truth.x, truth.y, truth.z), TARGET) < 0.08
        jacobian = robot.mechanics.jacobian(None, [0.0] * 6, '')
        assert jacobian.error_code == 0 and np.shape(jacobian.matrix) == (6, 30)
        compliance = robot.mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
        assert compliance.error_code == 0
        assert robot.process.stop() == 0, robot.process.output
        events = [e['event'] for e in robot.events()]
        assert 'pressurised' in events
        # At the end everything is being deflated, and no valve ever fed a deflating muscle.
        last = max(i for i, e in enumerate(events) if e in ('vent', 'pressurised'))
        assert events[last] == 'vent'
        assert 'short_circuit' not in events and 'refused' not in events
