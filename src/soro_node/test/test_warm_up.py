# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is compiled before a robot starts is all that a workspace of its network needs."""

import json
import subprocess
import sys

import pytest

pytestmark = pytest.mark.timeout(900)  # the first solve compiles the network's kernels

# Of every kernel that this process has met: for how many arguments, and whether Python calls it.
COUNT = """
import json
import sys
from numba.core.dispatcher import Dispatcher

def kernels():
    found = {}
    for name, module in sorted(sys.modules.items()):
        for item in vars(module).values() if name.startswith('soro_mechanics') else ():
            if isinstance(item, Dispatcher):
                key = item.py_func.__module__ + '.' + item.py_func.__name__
                found[key] = len(item.signatures), getattr(item, 'called_by_python', True)
    return found
"""
RUN = """
from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase
from soro_node.process.warm_up import warm_up
robot = load_robot('soft_parallel', 'network')
warm_up(robot)
before = kernels()
assert robot.workspace(200).solved.all()
assert robot.model_object.batch(LoadCase(gravity=robot.gravity), 200) is not None
after = kernels()
print(json.dumps([before, after]))
"""


def test_the_first_workspace_finds_its_kernels():
    done = subprocess.run(
        [sys.executable, '-c', COUNT + RUN], capture_output=True, text=True, check=True
    )
    before, after = json.loads(done.stdout)
    assert before['soro_mechanics.models.network.kernels.batch_kernels.solve_samples'] == [1, True]
    assert {k: n for k, n in after.items() if n != before.get(k)} == {}
