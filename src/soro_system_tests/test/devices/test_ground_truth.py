# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulator of STIFF-FLOP as a process: what it publishes follows what the driver commands."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from robot_processes import BAR, BENCH, RobotProcesses

from soro_mechanics import load_robot
from soro_msgs.msg import Configuration


@pytest.fixture
def stiff_flop(tmp_path):
    robot = RobotProcesses(tmp_path, 'stiff_flop', rate=30.0)
    try:
        yield robot.start()
    finally:
        robot.close()


def test_truth_follows_the_pressures(stiff_flop):
    robot = stiff_flop
    names = ('pair_1', 'pair_2', 'pair_3')
    send = robot.send
    robot.send = lambda values, *a, **k: send(values, names)
    robot.wait_for(lambda: robot.truth is not None, 60.0, 'ground truth')
    robot.move(1.0 * BAR, 0.0, 0.0)
    robot.spin(0.6)
    truth = robot.truth
    assert truth.origin == Configuration.GROUND_TRUTH
    assert truth.header.frame_id == robot.namespace.strip('/') + '/base_link'
    assert list(truth.actuator_name) == list(names)
    modelled = load_robot('stiff_flop').forward([1.0 * BAR, 0.0, 0.0]).tip[:3, 3]
    tip = truth.tip.position
    error = np.linalg.norm(np.array([tip.x, tip.y, tip.z]) - modelled)
    assert 2e-4 < error < 5e-3  # m, of a robot of 40 mm
    assert tip.x < -0.01  # pressing pair 1 bends to -x
    assert robot.state.measured[0] == pytest.approx(1.0 * BAR, rel=0.03)


def test_a_body_that_cannot_be_made_is_reported_and_the_device_goes_on(tmp_path):
    text = BENCH.read_text(encoding='utf-8')
    file = tmp_path / 'rig.yaml'
    assert 'elongation.linear' in text
    file.write_text(text.replace('elongation.linear', 'elongation.liner'), encoding='utf-8')
    robot = RobotProcesses(tmp_path, file, rate=30.0)
    said: list[str] = []

    def listen(message: DiagnosticArray) -> None:
        said.extend(s.message for s in message.status if s.name.endswith('emulator: body'))

    robot.node.create_subscription(DiagnosticArray, '/diagnostics', listen, 50)
    try:
        robot.start()
        robot.wait_for(lambda: any("no 'liner'" in text for text in said), 30.0, str(said[-1:]))
        robot.move(0.5 * BAR, 0.0, 0.0)
    finally:
        robot.close()
