# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is compiled before board and renderer are ready is all they need: nothing is left."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

WARM = """
from soro_mechanics import load_robot
from soro_node.process.warm_up import warm_up
warm_up(load_robot('haptic_5dof'))
"""
# The emulated board has it made before its strips are said to be there.
PLANT = """
import numpy as np
from soro_emulation.haptic_plant import HapticPlant, RELEASED
from soro_mechanics.robot_file.catalogue import find_robot_file
file = find_robot_file('haptic_5dof')
plant = HapticPlant(str(file), 'can')
"""
# The renderer's law with every object, and the plant behind the emulated board.
RUN = """
from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.haptic_setup import make_haptics
from soro_mechanics.robot_file.reader import read_robot_file
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
robot = read_robot_file(file)
values = {p.name: p.default for p in PARAMETERS}
haptics = make_haptics(robot, None, 2e-3, values)
loop, still = haptics.loop, np.zeros(6)
for name in ('hold', 'wall', 'box', 'line', 'circle', 'angle', 'free'):
    loop.law.restart()
    loop.law.replace_environment(VirtualEnvironment(published_environment(name, np.eye(4))))
    loop.tick(still, loop.device.ports.sensor.copy())
    loop.advance()
for now in (1.0, 1.01):
    plant.update(still, RELEASED, now=now)
"""


def compiled(code):
    """Run code in a process of its own; return the kernels that it had to compile."""
    done = subprocess.run(
        [
            sys.executable,
            '-c',
            'from soro_mechanics.compilation.kernel_cache import use_kernel_cache\n'
            'use_kernel_cache()\n' + code,
        ],
        env={**os.environ, 'NUMBA_DEBUG_CACHE': '1'},
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if 'data saved' in line]


def test_a_warm_start_compiles_nothing():
    compiled(WARM + PLANT)
    assert compiled(PLANT + RUN) == []
