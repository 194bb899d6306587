# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Waiting for a robot of which a node has ended."""

from pathlib import Path
import subprocess

import pytest

from soro_cli.robot_choice import RunningRobot
from soro_cli.robot_process import RobotProcess
from soro_cli.ros_session import RosSession
from soro_mechanics import load_robot
from soro_node.user_errors import UserError
from soro_rigs.domains import own_domain

RUNS = '[launch] [driver] started, pid 7\n[driver] [ERROR] [driver]: not this line'


@pytest.mark.parametrize(
    'line',
    [
        '[launch] [kinematics_solver] was ended by SIGSEGV',
        '[launch] [kinematics_solver] ended with 1',
        '[launch] [kinematics_solver] cannot be started: no such file',
        '[ERROR] [kinematics_solver-3]: process has died [pid 9, exit code -11]',
    ],
)
def test_a_node_that_has_ended_is_not_waited_for(line, tmp_path: Path, monkeypatch):
    monkeypatch.setenv('ROS_DOMAIN_ID', str(own_domain()))
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    output = tmp_path / 'output'
    output.write_text(f'{RUNS}\n{line}\n')
    launch = RobotProcess([], output)
    launch.process = subprocess.Popen(['sleep', '600'])  # the other nodes run on
    try:
        with RosSession() as session, pytest.raises(UserError, match='not whole') as refusal:
            robot = RunningRobot('/nobody', load_robot('stiff_flop').description, session)
            launch.wait_ready(session, robot, timeout=300.0)
    finally:
        launch.process.kill()
        launch.process.wait()
    assert line in str(refusal.value)


def test_other_lines_are_no_ends(tmp_path: Path):
    output = tmp_path / 'output'
    output.write_text(RUNS)
    assert RobotProcess([], output).ended_nodes == []
