#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run every src/*/benchmark/bench_*.py, or those whose path contains an argument, one by one.

Called by `make bench`. Each benchmark prints its own rows (median, p99) and runs on one core.
"""

import os
from pathlib import Path
import subprocess
import sys

ROOT = Path(__file__).resolve().parent.parent
THREADS = ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'MKL_NUM_THREADS', 'NUMBA_NUM_THREADS')


def main() -> int:
    """Run the benchmarks; return 1 when one failed or none was found."""
    files = sorted(ROOT.glob('src/*/benchmark/bench_*.py'))
    chosen = [f for f in files if not sys.argv[1:] or any(a in str(f) for a in sys.argv[1:])]
    if not chosen:
        print('no benchmark' + (f' matches {sys.argv[1:]}' if files else ' found'))
        return 1
    failed = []
    for file in chosen:
        print(f'\n--- {file.relative_to(ROOT)}', flush=True)
        environment = {**os.environ, **dict.fromkeys(THREADS, '1')}
        if subprocess.run([sys.executable, str(file)], cwd=ROOT, env=environment).returncode:
            failed.append(str(file.relative_to(ROOT)))
    if failed:
        print('FAILED: ' + ' '.join(failed))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
