# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The example for places without `ros2` does what it says to the nodes of a robot."""

import os
from pathlib import Path
import subprocess
import sys

from lifecycle_msgs.srv import GetState
import pytest

from soro_driver.node import DriverNode
from soro_emulation.node import EmulatorNode
from soro_rigs.domains import own_domain
from soro_rigs.event_log import read_events
from soro_rigs.ros_session import RosSession
from soro_trajectory.node import TrajectoryPlanner

SCRIPT = Path(__file__).resolve().parents[1] / 'without_ros2.py'


@pytest.mark.timeout(300)
def test_it_publishes_sets_a_parameter_and_configures(tmp_path):
    with RosSession() as session:
        values, log = {'namespace': '/stiff_flop', 'robot': 'stiff_flop'}, tmp_path / 'events'
        session.node(EmulatorNode, **values, rate=0.0, log_file=str(log))
        session.node(DriverNode, **values)
        planner = session.node(TrajectoryPlanner, **values)
        done = subprocess.run(
            [sys.executable, str(SCRIPT)],
            env={**os.environ, 'ROS_DOMAIN_ID': str(own_domain())},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert [e['fault'] for e in read_events(log, 'fault')] == ['none']
        assert planner.get_parameter('delay').value == 0.05
        state = session.call(GetState, '/stiff_flop/driver/get_state', GetState.Request())
        assert state.current_state.label == 'inactive'
        assert done.stdout.splitlines()[-1] == 'True'
