# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Run the fault matrix, and write its section of docs/evidence/reliability.md.

`make reliability` runs every test that is marked with an injection, those of `make test` and the
long ones (src/soro_system_tests/test/devices/matrix_*.py): driver and emulator are processes. A
test that failed is run again, because a busy computer may trip a robot; how often is in the
document.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any

from soro_rigs.domains import own_domain
from soro_studies.system.reliability_page import (
    cells,
    EVIDENCE,
    MATRICES,
    matrix_results,
    matrix_section,
    part_of,
    read_evidence,
    write_section,
)

TESTS = Path('src/soro_system_tests/test/devices')  # from the workspace's folder
AGAIN = 2  # more attempts of a test that failed
ALL_PASSED, SOME_FAILED = 0, 1  # exit codes of pytest; others mean that not all tests ran


def matrix_files() -> list[str]:
    """Return every file with marked tests, for pytest."""
    tests = [f for f in TESTS.glob('test_*.py') if 'mark.injection' in f.read_text('utf-8')]
    return sorted(map(str, [*tests, *TESTS.glob('matrix_*.py')]))


def covered_cells() -> set[tuple[str, int]]:
    """Return (device, number) of every cell that a test is marked with, without running any."""
    with tempfile.TemporaryDirectory(prefix='soro_cells_') as folder:
        file = Path(folder, 'cells.json')
        subprocess.run(
            [
                sys.executable,
                '-m',
                'pytest',
                '-q',
                '--collect-only',
                '-m',
                'injection',
                *matrix_files(),
            ],
            env={**os.environ, 'SORO_CELLS': str(file)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        return {(device, number) for device, number in json.loads(file.read_text())}


def run_tests(words: Sequence[str]) -> bool:
    """Run pytest; tests append their evidence, failed or not. Whether it came to its end."""
    with tempfile.TemporaryDirectory(prefix='soro_data_') as data:  # of latched emergency stops
        environment = {
            **os.environ,
            'SORO_EVIDENCE': str(EVIDENCE.resolve()),
            'ROS_DOMAIN_ID': str(own_domain()),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'XDG_DATA_HOME': data,
        }
        done = subprocess.run(
            [sys.executable, '-m', 'pytest', '-q', '-m', 'injection', '--no-header', *words],
            env=environment,
            check=False,
        )
    return done.returncode in (ALL_PASSED, SOME_FAILED)


def failed(attempts: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return the tests whose last attempt did not pass."""
    return [test for test, runs in attempts.items() if runs[-1]['outcome'] != 'passed']


def main(words: Sequence[str] | None = None) -> int:
    """Run, write, and say with the exit code whether every test passed at last."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        '--only', default='', help='a filter of tests, as of pytest -k; adds to the evidence'
    )
    parser.add_argument('--keep', action='store_true', help='add to the evidence of before')
    parser.add_argument('--page', action='store_true', help='write the section only')
    parser.add_argument('--again', type=int, default=AGAIN, help='attempts of failed tests')
    arguments = parser.parse_args(words)
    if not arguments.page:
        EVIDENCE.parent.mkdir(parents=True, exist_ok=True)
        if not (arguments.keep or arguments.only):
            EVIDENCE.unlink(missing_ok=True)
        began = time.monotonic()
        filters = ['-k', arguments.only] if arguments.only else []
        ended = run_tests([*matrix_files(), *filters])
        for _ in range(arguments.again):
            again = failed(read_evidence())
            if again:
                run_tests(again)
        if not ended:
            print('FAILED: pytest did not come to its end: see above', flush=True)
            return 1
        print(f'{time.monotonic() - began:.0f} s', flush=True)
    attempts = read_evidence()
    for title, (devices, results) in MATRICES.items():
        part = part_of(attempts, devices)
        if part:
            write_section(matrix_section(part, title))
            results.write_text(json.dumps(matrix_results(part, devices), indent=1) + '\n')
        else:
            print(f'no evidence in {EVIDENCE}: {title} stays as it is', flush=True)
    bad = [f'FAILED {test}' for test in failed(attempts)]
    owed = covered_cells() - set(cells(attempts))
    bad += [f'NOT RUN: injection {number} of {device}' for device, number in sorted(owed)]
    print('\n'.join(bad), flush=True)
    return int(bool(bad))


if __name__ == '__main__':
    sys.exit(main())
