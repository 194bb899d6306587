# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The emulator of STIFF-FLOP as a process: what it publishes follows what the driver commands."""

from __future__ import annotations

import os
import signal

from channel_robots import chain_robot
from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import pytest
from robot_processes import BAR, BENCH, read_more, RobotProcesses
from std_msgs.msg import String

from soro_emulation.perturbation import OVERRIDE
from soro_mechanics import load_robot
from soro_msgs.msg import Configuration
from soro_rigs.process_table import ProcessTable

SLOW = 'the body is slower than the clock'
PAIRS = ('pair_1', 'pair_2', 'pair_3')


def made(tmp_path):
    """Return the processes, not started, of a robot with other names than those of the bench."""
    robot = RobotProcesses(tmp_path, 'stiff_flop', rate=30.0)
    send = robot.send
    robot.send = lambda values, *a, **k: send(values, PAIRS)
    return robot


@pytest.fixture
def stiff_flop(tmp_path):
    robot = made(tmp_path)
    try:
        yield robot.start()
    finally:
        robot.close()


def said_of_the_body(robot):
    """Return what the emulator says of its body: a list that grows."""
    said: list[str] = []

    def listen(message: DiagnosticArray) -> None:
        name = f'{robot.namespace}/emulator: body'
        said.extend(s.message for s in message.status if s.name == name)

    robot.node.create_subscription(DiagnosticArray, '/diagnostics', listen, 50)
    return said


def test_truth_follows_the_pressures(stiff_flop):
    robot = stiff_flop
    robot.wait_for(lambda: robot.truth is not None, 60.0, 'ground truth')
    robot.move(1.0 * BAR, 0.0, 0.0)
    robot.spin(0.6)
    truth = robot.truth
    assert truth.origin == Configuration.GROUND_TRUTH
    assert truth.header.frame_id == robot.namespace.strip('/') + '/base_link'
    assert list(truth.actuator_name) == list(PAIRS)
    modelled = load_robot('stiff_flop').forward([1.0 * BAR, 0.0, 0.0]).tip[:3, 3]
    tip = truth.tip.position
    error = np.linalg.norm(np.array([tip.x, tip.y, tip.z]) - modelled)
    assert 2e-4 < error < 5e-3  # m, of a robot of 40 mm
    assert tip.x < -0.01  # pressing pair 1 bends to -x
    assert robot.state.measured[0] == pytest.approx(1.0 * BAR, rel=0.03)


def test_motors_of_a_can_board_move_a_body_that_is_no_haptic_device(tmp_path):
    robot = RobotProcesses(tmp_path, chain_robot(tmp_path), rate=30.0)
    try:
        robot.start_emulator()
        robot.wait_for(lambda: robot.truth is not None, 60.0, 'ground truth')
        assert len(robot.truth.actuator_name) == 2
        robot.faults.publish(String(data='{"fault": "hand"}'))
        robot.wait_event('fault_refused', 0.0, 5.0, lambda e: 'control.haptic' in e['error'])
    finally:
        robot.close()


def test_a_body_that_cannot_be_made_is_reported_and_the_device_goes_on(tmp_path):
    text = BENCH.read_text(encoding='utf-8')
    file = tmp_path / 'rig.yaml'
    assert 'elongation.linear' in text
    file.write_text(text.replace('elongation.linear', 'elongation.liner'), encoding='utf-8')
    robot = RobotProcesses(tmp_path, file, rate=30.0)
    said = said_of_the_body(robot)
    try:
        robot.start()
        robot.wait_for(lambda: any("no 'liner'" in text for text in said), 30.0, str(said[-1:]))
        robot.move(0.5 * BAR, 0.0, 0.0)
    finally:
        robot.close()


@pytest.mark.timeout(400)  # the network in motion is compiled
def test_what_stands_still_says_so_and_devices_keep_the_time_of_the_clock(tmp_path, monkeypatch):
    monkeypatch.setenv(OVERRIDE, 'dynamic')
    robot = made(tmp_path)
    said = said_of_the_body(robot)
    try:
        robot.start()
        robot.wait_for(lambda: {'in motion', SLOW} & set(said), 300.0, 'a body that moves')
        (body,) = ProcessTable().children(robot.emulator.pid)
        os.kill(body, signal.SIGSTOP)  # the body alone: pressures go on
        robot.wait_for(lambda: said[-1].startswith('no answer'), 8.0, 'silence')
        robot.move(0.5 * BAR, 0.0, 0.0)
        os.kill(body, signal.SIGCONT)
        robot.wait_for(lambda: said[-1] == SLOW, 8.0, 'lost time')
        lost = robot.events('body')[-1]
        assert lost['wall_time'] - lost['virtual_time'] > 1.0 and lost['speed'] < 0.98
        robot.target = None
        since = robot.hit('emulator', signal.SIGSTOP)
        robot.spin(3.0)
        robot.hit('emulator', signal.SIGCONT)
        robot.wait_event('stall', since, 5.0, lambda e: e['duration'] > 2.5)
        # The relay has fallen when it was due, not when the process was there again.
        assert robot.wait_event('relay', since, 5.0, lambda e: not e['closed']) < 1.5
        written: list[str] = []

        def warned() -> bool:
            written.append(read_more(robot.emulator))
            return 'stood still for' in ''.join(written)

        robot.wait_for(warned, 5.0, 'a warning')
    finally:
        robot.close()
