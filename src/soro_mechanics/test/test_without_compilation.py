# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the Lie group tests and one solve per model with the compiler switched off.

Interpreted kernels fail loudly where compiled ones read beyond an array, and coverage sees them.
"""

import os
from pathlib import Path
import subprocess
import sys

HERE = Path(__file__).parent
FILES = ('test_lie.py', 'test_one_solve_each.py', 'test_one_published_solve_each.py')


def test_kernels_pass_without_compilation():
    path = os.pathsep.join([str(HERE.parent), os.environ.get('PYTHONPATH', '')])
    environment = {**os.environ, 'NUMBA_DISABLE_JIT': '1', 'PYTHONPATH': path}
    files = [str(HERE / file) for file in FILES]
    out = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', *files],
        env=environment,
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert out.returncode == 0, out.stdout[-3000:]
    assert 'passed' in out.stdout
