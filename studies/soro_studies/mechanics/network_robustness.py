# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Random loads and actuations, cold: ``python -m soro_studies.mechanics.network_robustness``.

Every solve either converges or says that it did not; every converged one is solved again on a mesh
twice as fine, from its own shape where the mesh has the same nodes and cold otherwise. The results
become docs/evidence/network_robustness.md.

Samples are solved in chunks by worker processes. What is done is kept in a file per robot, so an
interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
from collections import Counter
from concurrent.futures import as_completed, Executor, ProcessPoolExecutor
from functools import lru_cache
import hashlib
import json
import multiprocessing
import os
from pathlib import Path
import sys
import time
from typing import Any

import numpy as np

from soro_mechanics.core.status import Code, Warnings
from soro_mechanics.robot import load_robot
from soro_mechanics.robot_file import catalogue
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.mechanics.random_problems import LOAD, RandomProblems

EXAMPLES = ('planar_chain', 'crank_platform')
MOVED = 0.02  # in rod lengths: a finer mesh that answers farther away contradicts the first
CHUNK = 20  # samples per task
COMMAND = 'python -m soro_studies.mechanics.network_robustness'
COLUMNS = (
    'robot', 'samples', 'stable', 'unstable', 'not converged', 'remark', 'confirmed', 'no answer',
    'elsewhere', 'median move', 'worst', 'residual', 'median time', 'longest',
)  # fmt: skip
HEAD = """# Robustness of the beam network

Written by `{command}`. Do not edit.

Per robot random actuations, even within the limits (the coupled ones kept), each with a random
force and moment at the tip: standard deviation {load:g} E I / l^2 and {load:g} E I / l, where
E I is of the softest rod and l the way from the base to the tip along rods. Driven lengths beside
a rod that is not driven are those of a random bend of that rod: others would tear it. Every solve
starts cold, from the assembled robot. The aim is 1000 samples per robot; where there are fewer,
the run of that robot was stopped, and the same command without `--page` goes on with it.

*stable*, *unstable* and *not converged* are what the status said; *remark* counts converged
solutions with a validity remark. Times are processor time of one solve.

Every converged result was solved again on a mesh twice as fine: *confirmed* when the tip moved by
less than {moved:g} rod lengths, *no answer* when the finer mesh found no equilibrium, *elsewhere*
when it found one farther away. *worst* is the largest move of the confirmed ones; *residual* the
largest scaled residual of a converged one.

"""

Record = dict[str, Any]  # of one sample: index, code, seconds, residual, remark, moved


def network_robots() -> list[str]:
    """Return every catalogue robot with a network model, and the worked examples."""
    found = []
    for name, path in catalogue.robot_files().items():
        if 'network' in read_robot_file(path).models:
            found.append(name)
    return found + list(EXAMPLES)


def robot_path(name: str) -> Path:
    """Return the file of a catalogue robot or of a worked example."""
    if name in EXAMPLES:
        return catalogue.EXAMPLES / f'{name}.yaml'
    return catalogue.robot_files()[name]


def checkout() -> Path:
    """Return the source checkout."""
    return next(p for p in Path(__file__).resolve().parents if (p / 'colcon.meta').is_file())


@lru_cache(maxsize=1)
def _problems(name: str) -> RandomProblems:
    return RandomProblems(load_robot(robot_path(name), 'network'))


def try_samples(name: str, seed: int, indices: list[int]) -> list[Record]:
    """Solve random problems of one robot cold and verify what converged."""
    problems = _problems(name)
    robot = problems.robot
    records = []
    for index in indices:
        actuation, wrench = problems.draw(seed, index)
        start = time.thread_time()
        q = robot.forward(actuation, wrench)
        record: Record = {
            'index': index,
            'code': q.status.code.name,
            'seconds': time.thread_time() - start,
            'residual': q.status.residual,
            'remark': Warnings.OUTSIDE_THEORY in q.status.warnings,
        }
        if q.status.converged:
            moved, _ = robot.refinement(q)
            record['moved'] = None if np.isnan(moved) else moved
            record['size'] = problems.rod_length
        records.append(record)
    return records


class Keep:
    """The samples of one robot that are solved already, in a file."""

    def __init__(self, folder: Path, name: str, seed: int, fresh: bool) -> None:
        self.path = folder / f'{name}.jsonl'
        digest = hashlib.sha256(robot_path(name).read_bytes()).hexdigest()
        head = json.dumps({'robot': name, 'seed': seed, 'load': LOAD, 'file': digest})
        lines = self.path.read_text(encoding='utf-8').splitlines() if self.path.is_file() else []
        if fresh or not lines or lines[0] != head:
            lines = [head]
        # a line that an interruption cut short does not end in a bracket: it must not stay
        whole = [line for line in lines if line.endswith('}')]
        folder.mkdir(parents=True, exist_ok=True)
        self.path.write_text('\n'.join(whole) + '\n', encoding='utf-8')
        found = [json.loads(line) for line in whole[1:]]
        self.records: dict[int, Record] = {r['index']: r for r in found}

    def add(self, records: list[Record]) -> None:
        """Append samples."""
        with self.path.open('a', encoding='utf-8') as file:
            file.writelines(json.dumps(r) + '\n' for r in records)
        self.records.update({r['index']: r for r in records})


def run_robot(name: str, samples: int, seed: int, keep: Keep, executor: Executor) -> None:
    """Solve what is missing of one robot, telling how far it is."""
    missing = [i for i in range(samples) if i not in keep.records]
    chunks = [missing[i : i + CHUNK] for i in range(0, len(missing), CHUNK)]
    tasks = [executor.submit(try_samples, name, seed, chunk) for chunk in chunks]
    begin, done = time.monotonic(), 0
    for task in as_completed(tasks):
        records = task.result()
        keep.add(records)
        done += len(records)
        left = (time.monotonic() - begin) / done * (len(missing) - done)
        print(
            f'\r{name}: {len(keep.records)} of {samples}, {left:.0f} s left   ',
            end='',
            file=sys.stderr,
            flush=True,
        )
    if tasks:
        print(file=sys.stderr)


def figures(name: str, records: list[Record]) -> dict[str, Any]:
    """Return what a robot's line of the table says; lengths in m, times in s."""
    codes = Counter(r['code'] for r in records)
    solved = [r for r in records if 'moved' in r]
    near = [r['moved'] for r in solved if r['moved'] is not None and not _is_far(r)]
    seconds = [r['seconds'] for r in records] or [np.nan]
    return {
        'robot': name,
        'samples': len(records),
        'stable': codes[Code.NONE.name],
        'unstable': codes[Code.UNSTABLE.name],
        'not converged': codes[Code.NOT_CONVERGED.name],
        'remark': sum(r['remark'] for r in records),
        'confirmed': len(near),
        'no answer': sum(r['moved'] is None for r in solved),
        'elsewhere': len(elsewhere(records)),
        'median move': float(np.median(near)) if near else np.nan,
        'worst': max(near, default=np.nan),
        'residual': max((r['residual'] for r in solved), default=np.nan),
        'median time': float(np.median(seconds)),
        'longest': max(seconds),
    }


def row(name: str, records: list[Record]) -> str:
    """Return the robot's line of the table."""
    cells = []
    for what, value in figures(name, records).items():
        if what in ('median move', 'worst'):
            cells.append(f'{1e3 * value:.1e} mm')
        elif what in ('median time', 'longest'):
            cells.append(f'{1e3 * value:.0f} ms')
        else:
            cells.append(f'{value:.1e}' if what == 'residual' else str(value))
    return '| ' + ' | '.join(cells) + ' |'


def elsewhere(records: list[Record]) -> list[tuple[int, float]]:
    """Return samples (index, move [m]) that the finer mesh contradicts."""
    return [(r['index'], r['moved']) for r in records if r.get('moved') is not None and _is_far(r)]


def _is_far(record: Record) -> bool:
    return bool(record['moved'] > MOVED * record['size'])


def page(command: str, kept: dict[str, list[Record]]) -> str:
    """Return the documentation page."""
    text = HEAD.format(command=command, load=LOAD, moved=MOVED)
    text += '| ' + ' | '.join(COLUMNS) + ' |\n' + '|---' * len(COLUMNS) + '|\n'
    text += ''.join(row(name, records) + '\n' for name, records in kept.items())
    remarks = [
        f'- {name}, sample {i}: the finer mesh answers {m * 1e3:.3g} mm away'
        for name, records in kept.items()
        for i, m in elsewhere(records)
    ]
    if remarks:
        text += '\n## Contradicted by the finer mesh\n\n' + '\n'.join(remarks) + '\n'
    return text


def main() -> int:
    """Run, print and write the page."""
    parser = argparse.ArgumentParser(description='Random loads and actuations, cold.')
    parser.add_argument('robots', nargs='*', metavar='robot')
    parser.add_argument('--samples', type=int, default=1000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--workers', type=int, default=os.cpu_count())
    parser.add_argument('--output', type=Path, default=None)
    parser.add_argument('--page', action='store_true', help='the page of what is kept; no solve')
    parser.add_argument('--fresh', action='store_true', help='solve again what is kept')
    folder = checkout() / 'log' / 'robustness'
    parser.add_argument('--keep', type=Path, default=folder, help='folder of solved samples')
    options = parser.parse_args()
    names = options.robots or network_robots()
    command = ' '.join([COMMAND, *options.robots, f'--samples {options.samples}'])
    command += ' --page' if options.page else ''
    kept = {}
    context = multiprocessing.get_context('spawn')
    with ProcessPoolExecutor(options.workers, mp_context=context) as executor:
        for name in names:
            keep = Keep(options.keep, name, options.seed, options.fresh)
            try:
                if not options.page:
                    run_robot(name, options.samples, options.seed, keep, executor)
            except KeyboardInterrupt:
                executor.shutdown(cancel_futures=True)
                print(f'stopped; {keep.path} goes on from {len(keep.records)} samples')
                return 1
            kept[name] = [keep.records[i] for i in sorted(keep.records) if i < options.samples]
            print(row(name, kept[name]), flush=True)
    output = options.output
    if output is None and not options.robots:
        output = checkout() / 'docs' / 'evidence' / 'network_robustness.md'
    if output is not None:
        output.write_text(page(command, kept), encoding='utf-8')
        robots = [figures(name, records) for name, records in kept.items()]
        stored = json.dumps({'robots': robots}, indent=1)
        output.with_suffix('.json').write_text(stored + '\n', encoding='utf-8')
        print(f'wrote {output}')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
