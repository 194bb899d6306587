#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Measure the path of a newcomer: clone, `make run`, first motion; in a fresh folder, cold caches.

The result is stored in docs/evidence/newcomer.json.

    python3 scripts/time_newcomer.py [--keep] [--folder FOLDER]

The commands are those of README.md. Needs what README.md asks for, and nothing of this workspace:
the clone makes its own environment, and pip starts with an empty cache.
"""

from __future__ import annotations

import argparse
from datetime import date
import json
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / 'docs/evidence/newcomer.json'
ROBOT = 'stiff_flop'
READY = 'armed'  # what the driver says once commands are acted on
LONGEST = 3600.0  # s, until the robot is ready
PATIENCE = 10  # times that the first motion is asked for
MOVE = 'source scripts/env.sh && soro move --pose -8mm 3mm 46mm'


class Stages:
    """Print what has been reached, with the seconds since the start."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def reached(self, what: str) -> float:
        """Print one stage; return the seconds."""
        seconds = time.monotonic() - self._start
        print(f'{seconds:8.1f} s  {what}', flush=True)
        return seconds


def machine() -> str:
    """Return processor, cores and memory in one line."""
    cpu = next(
        (
            line.partition(':')[2].strip()
            for line in Path('/proc/cpuinfo').read_text().splitlines()
            if line.startswith('model name')
        ),
        'unknown processor',
    )
    memory = os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30
    return f'{cpu}, {os.cpu_count()} cores, {memory:.0f} GiB'


def clean_environment(folder: Path) -> dict[str, str]:
    """Return an environment that knows nothing of this workspace, with empty caches."""
    foreign = (
        'AMENT_',
        'CMAKE_PREFIX',
        'COLCON_',
        'LD_LIBRARY',
        'NUMBA_',
        'PYTHON',
        'SORO_',
        'VIRTUAL_ENV',
        '_ROS_',
    )
    kept = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    inside = str(ROOT) + os.sep
    entries = [p for p in kept['PATH'].split(os.pathsep) if not p.startswith(inside)]
    return {**kept, 'PATH': os.pathsep.join(entries), 'XDG_CACHE_HOME': str(folder / 'cache')}


def follow(process: subprocess.Popen[str], ready: threading.Event) -> None:
    """Show what the first terminal shows; notice when the robot is ready."""
    assert process.stdout is not None
    for line in process.stdout:
        print('            | ' + line.rstrip(), flush=True)
        if READY in line:
            ready.set()
    ready.set()  # it has ended; the caller sees that by its exit code


def measure(folder: Path) -> float:
    """Go the path; return the seconds until the robot has moved."""
    clone, stages = folder / 'soro', Stages()
    environment = clean_environment(folder)
    subprocess.run(['git', 'clone', '--quiet', str(ROOT), str(clone)], check=True)
    stages.reached('cloned')
    run = subprocess.Popen(
        ['make', 'run', f'ROBOT={ROBOT}'],
        cwd=clone,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    ready = threading.Event()
    terminal = threading.Thread(target=follow, args=(run, ready), daemon=True)
    terminal.start()
    try:
        if not ready.wait(LONGEST) or run.poll() is not None:
            raise SystemExit('the robot did not become ready')
        stages.reached('the robot is ready')
        # The driver is armed before the slower nodes answer: a person tries again.
        for _ in range(PATIENCE):
            if not subprocess.run(['bash', '-c', MOVE], cwd=clone, env=environment).returncode:
                break
        else:
            raise SystemExit('the robot did not move')
        return stages.reached('the robot has moved')
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGINT)
        run.wait(60.0)


def main() -> int:
    """Measure once and say the result in one line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--folder', type=Path, help='parent of the fresh folder')
    parser.add_argument('--keep', action='store_true', help='leave the clone where it is')
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix='soro_newcomer_', dir=arguments.folder))
    try:
        seconds = measure(folder)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    found = {'minutes': round(seconds / 60.0, 1), 'date': str(date.today()), 'machine': machine()}
    RESULTS.write_text(json.dumps(found, indent=1) + '\n', encoding='utf-8')
    print(f'clone to moving robot: {found["minutes"]} min ({found["date"]}; {found["machine"]})')
    return 0


if __name__ == '__main__':
    sys.exit(main())
