# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""After `compile_robot` no request waits for a compiler."""

import os
import subprocess
import sys

import pytest

ASK = """
import sys
from numba.core.dispatcher import Dispatcher
import numpy as np
from soro_mechanics import load_robot
from soro_mechanics.compile_robot import compile_robot

def compiled():
    modules = [m for n, m in list(sys.modules.items()) if n.startswith('soro_mechanics')]
    kernels = [k for m in modules for k in vars(m).values() if isinstance(k, Dispatcher)]
    return {f'{k.py_func.__module__}.{k.py_func.__name__}': set(k.signatures) for k in kernels}

robot = load_robot(sys.argv[1])
compile_robot(robot)
known = compiled()
low, high = robot.limits.T
rng = np.random.default_rng(0)
for _ in range(2):
    q, other = (robot.forward(rng.uniform(low, high)) for _ in range(2))
    for target in (q.tip[:3, 3], q.tip, 3.0 * q.tip[:3, 3], q.tip[:3, 3] + [1e-3, 0.0, 0.0]):
        for guess in (q, None, other):
            robot.inverse(target, guess=guess)
    robot.forward(other.actuation, [0.0, 0.0, 0.01, 0.0, 0.0, 0.0], q)
    robot.compliance(q), robot.jacobian(q), robot.compliance_along(q)
late = {name: now for name, now in compiled().items() if now - known.get(name, set())}
print(*late)
"""


@pytest.mark.parametrize('robot', ['stewart_gough', 'stiff_flop_two_segment', 'pam_continuum'])
def test_no_request_compiles_after_compile_robot(robot):
    variables = {**os.environ, 'SORO_KERNELS': 'compiled'}
    done = subprocess.run(
        [sys.executable, '-c', ASK, robot],
        env=variables,
        check=True,
        timeout=300,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == []
