# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The example of another program: its force arrives, and goes with it."""

import importlib.util
import os
from pathlib import Path
import signal
import subprocess
import sys

from device_in_memory import renderer_in_memory
import numpy as np
import pytest
from rclpy.lifecycle import TransitionCallbackReturn
from recorded_rig import nominal_calibration

from soro_mechanics.haptics.flex_calibration import save_calibration
from soro_rigs.domains import own_domain
from soro_rigs.ros_session import wait_until

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels
EXAMPLE = Path(__file__).parents[3] / 'examples/external_sphere.py'
CENTRE, RADIUS, STIFFNESS = [-0.02, 0.01, 0.0], 0.03, 50.0


def started(**parameters):
    words = ['--ros-args', '-r', '__ns:=/arm']
    for name, value in parameters.items():
        words += ['-p', f'{name}:={value}']
    where = {**os.environ, 'ROS_DOMAIN_ID': str(own_domain())}
    command = [sys.executable, str(EXAMPLE), *words]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=where)


@pytest.fixture
def renderer(ros, monkeypatch, tmp_path):
    save_calibration(nominal_calibration(), tmp_path / 'calibration.yaml')
    node, device, _ = renderer_in_memory(ros, monkeypatch, tmp_path)
    done = TransitionCallbackReturn.SUCCESS
    assert ros.do(node, node.trigger_configure) == done
    assert ros.do(node, node.trigger_activate) == done
    wait_until(lambda: node._control.estimated)
    return node, device


def test_a_force_arrives_and_ends_when_the_program_or_the_poses_do(renderer):
    node, device = renderer
    live = lambda: node._control.environment.live.wrench  # noqa: E731

    def felt():
        away = node._control.haptics.loop.law.sensing.pose[:3, 3] - CENTRE
        far = np.linalg.norm(away)
        force = STIFFNESS * (RADIUS - far) * away / far
        return np.linalg.norm(force) > 0.1 and np.allclose(live()[:3], force, atol=0.01)

    asked = {'centre': CENTRE, 'radius': RADIUS, 'stiffness': STIFFNESS}
    program = started(**asked)
    try:
        wait_until(felt, 30.0)
        program.send_signal(signal.SIGSTOP)  # it hangs: the renderer lets go
        wait_until(lambda: np.abs(live()).max() < 1e-3)
        program.send_signal(signal.SIGCONT)
        wait_until(felt)
        device.angle = np.full(6, np.nan)  # nothing is sensed: no pose
        said = program.stderr.readline().decode()
        assert 'no tip_pose' in said
    finally:
        program.kill()
        program.communicate()


@pytest.fixture(scope='module')
def sphere_force():
    spec = importlib.util.spec_from_file_location('external_sphere', EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.sphere_force


def test_the_force_of_the_sphere_is_the_slope_of_its_energy(sphere_force):
    """Half the stiffness times the depth squared, by differences."""
    energy = lambda p: 0.5 * 80.0 * max(0.0, 0.02 - np.linalg.norm(p)) ** 2  # noqa: E731
    for place in ([0.004, -0.01, 0.003], [0.0, 0.0, 0.0199], [0.03, 0.0, 0.0]):
        slope = [-(energy(place + d) - energy(place - d)) / 2e-6 for d in 1e-6 * np.eye(3)]
        assert sphere_force(place, [0.0, 0.0, 0.0], 0.02, 80.0) == pytest.approx(slope, abs=1e-5)
