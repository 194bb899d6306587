# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Warm solves of every robot before and now, in one run, errors beside times.

Before is a revision of this repository (SORO_BEFORE; as it is, the last one in which each model
had an inverse of its own and two-node elements were of second order). Its library and today's run
in a process each, in turn, around the same circle of actuations. All times are of the processor,
those in columns of now. Errors of networks on their default meshes: stiffness and position of the
tip of a bent, loaded shape against a mesh of 256 elements a part of a rod, computed now.
"""

import json
import os
from pathlib import Path
import subprocess
import sys

from bench_inverse import ROBOTS
import numpy as np

from soro_mechanics import load_robot
from soro_studies.mechanics.benchmark_rows import BenchmarkRow, report
from soro_studies.mechanics.convergence import (
    FINE,
    FORCE,
    meshed,
    PARTS,
    relative,
    stiffness,
    tip_and_stiffness,
)
from soro_studies.mechanics.convergence import ROBOTS as MESHED

HERE = Path(__file__).resolve()
ROOT = next(p for p in HERE.parents if (p / 'colcon.meta').is_file())
LIBRARY = 'src/soro_mechanics'
REVISION = os.environ.get('SORO_BEFORE', '37aab9fc')
TURNS = 5
SHAPE = {'parts': PARTS, 'force': FORCE.tolist()}


class Library:
    """A process that solves with the sources in one folder."""

    def __init__(self, sources, cache):
        paths = [str(sources), *filter(None, [os.environ.get('PYTHONPATH')])]
        environment = {**os.environ, 'PYTHONPATH': os.pathsep.join(paths), **cache}
        environment.pop('AMENT_PREFIX_PATH', None)  # its own robot files, not the installed ones
        self.process = subprocess.Popen(
            [sys.executable, '-W', 'ignore', str(HERE.with_name('warm_solves.py'))],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **question):
        """Return the answer to a line."""
        self.process.stdin.write(json.dumps(question) + '\n')
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f'the library ended with {self.process.wait()} at {question}')
        return json.loads(answer)

    def close(self):
        """End it."""
        self.process.communicate()


def sources_of_before():
    """Return the library's folder of the revision, taken out of the repository once."""
    folder = ROOT / '.cache/before' / REVISION
    if not (folder / LIBRARY).is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        pack = subprocess.run(
            ['git', '-C', str(ROOT), 'archive', REVISION, LIBRARY], capture_output=True
        )
        if pack.returncode:
            raise SystemExit(f'revision {REVISION} is not in this clone: {pack.stderr.decode()}')
        subprocess.run(['tar', 'x', '-C', str(folder)], input=pack.stdout, check=True)
    return folder / LIBRARY


def network_errors(name, shapes):
    """Say how far stiffness and tip of each library are off, where a fine mesh can tell."""
    robot = name.split(':')[0]
    if robot not in MESHED or load_robot(*name.split(':')).model != 'network':
        return ''
    tip, right = tip_and_stiffness(meshed(robot, FINE))
    said = []
    for word, shape in zip(('before', 'now'), shapes, strict=True):
        off = relative(stiffness(np.array(shape['compliance'])), right)
        away = np.linalg.norm(np.array(shape['tip'])[:3, 3] - tip[:3, 3])
        said.append(f'{word} {off:.2%}, {1e6 * away:.2g} um')
    return '; stiffness and tip off ' + ', '.join(said)


def rows(name, libraries):
    """Return the rows of one robot."""
    for library in libraries:  # kernels compiled, caches warm
        library.ask(robot=name)
    turns = [[library.ask(robot=name) for library in libraries] for _ in range(TURNS)]
    errors = network_errors(name, [library.ask(robot=name, parts=SHAPE) for library in libraries])
    found = []
    for what in ('forward', 'pose', 'position'):
        then, now = (np.concatenate([turn[k]['times'][what] for turn in turns]) for k in range(2))
        ratio = np.median(now) / np.median(then)
        note = f'before {1e6 * np.median(then):.0f} us, p99 {1e6 * np.percentile(then, 99):.0f}'
        note += f'; now {ratio:.2f} of it'
        for word, k in (('before', 0), ('now', 1)):
            lost = sum(turn[k]['lost'][what] for turn in turns)
            note += f'; {lost} not solved {word}' if lost else ''
        found.append(
            BenchmarkRow(
                f'{name}: warm {what}',
                float(np.median(now)),
                float(np.percentile(now, 99)),
                float(now.min()),
                float(np.median(now)),
                len(now),
                note=note + (errors if what == 'forward' else ''),
            )
        )
    return found


def main():
    """Measure and print."""
    before = sources_of_before()
    cache = {'NUMBA_CACHE_DIR': str(before.parents[1] / 'kernels')}
    libraries = Library(before, cache), Library(ROOT / LIBRARY, {})
    try:
        report([row for name in ROBOTS for row in rows(name, libraries)])
    finally:
        for library in libraries:
            library.close()


if __name__ == '__main__':
    main()
