# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A process of nodes interprets no kernel, whatever its environment says."""

import os
import subprocess
import sys

CODE = """
import soro_node
from soro_mechanics import load_robot
from soro_mechanics.compilation import first_calls
load_robot('spatial_cc')
assert first_calls._now is None
"""


def test_a_node_runs_compiled_kernels_only():
    variables = {**os.environ, 'SORO_KERNELS': 'interpreted'}
    subprocess.run([sys.executable, '-c', CODE], env=variables, check=True, timeout=100)
