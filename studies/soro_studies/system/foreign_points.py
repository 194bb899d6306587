# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How long `soro identify` takes for many unknowns and 500 points that somebody else measured.

    python -m soro_studies.system.foreign_points --write docs/evidence/recording.md

renews a section of that page. A robot with drawn numbers and a marker beside its tip is written as
CSV with other names, units and axes; the documented command fits it, in a process of its own.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
import resource
import subprocess
import sys
import tempfile
from typing import Any

import numpy as np

from soro_mechanics.identification.fit import Observations
from soro_mechanics.numerics import lie
from soro_studies.mechanics.identification_study import measured, space_of, SPREAD
from soro_studies.system.measured_section import keep_values, machine, replace_section

CASES = {'stiff_flop': ('ncm', 0.6), 'stiff_flop_two_segment': ('ncm', 0.4)}
POINTS, ALLOWED = 500, 120.0  # s
MARKER = np.array([3e-3, -2e-3, 4e-3])  # m, in the axes of the tip
ORIGIN, TURN = np.array([0.3, -0.1, 0.05]), np.array([0.0, 0.0, np.pi / 2])  # of the tracker
COLUMNS = 'X', 'Y', 'Z'  # mm


def written(folder: Path, robot: str, names: list[str], data: Observations) -> list[str]:
    """Write data and mapping of a foreign laboratory; return the words of the command."""
    turn = lie.so3_exp(TURN)
    with (folder / 'theirs.csv').open('w', newline='') as file:
        rows = csv.writer(file)
        rows.writerow([*(f'p_{name}' for name in names), *COLUMNS])
        for values, pose in zip(data.actuation, data.poses, strict=True):
            seen = turn.T @ (pose[:3, 3] + pose[:3, :3] @ MARKER - ORIGIN)
            rows.writerow([*(values / 100.0), *(1e3 * seen)])  # mbar, mm
    drives = '\n'.join(f'  {name}: {{from: p_{name}, unit: mbar}}' for name in names)
    frame = 'position: 300 -100 50 mm, rotation: 0 0 90 deg'
    tip = f'tip:\n  position: [{", ".join(COLUMNS)}]\n  unit: mm\n  frame: {{{frame}}}'
    (folder / 'theirs.yaml').write_text(f'actuators:\n{drives}\n{tip}\n', encoding='utf-8')
    data_and_map = str(folder / 'theirs.csv'), '--mapping', str(folder / 'theirs.yaml')
    return ['identify', *data_and_map, '--robot', robot, '--marker-offset', '--json']


def fitted(robot: str, model: str, reach: float) -> dict[str, Any]:
    """Fit one robot by the command; its processor time [s], which no other process changes."""
    random, space = np.random.default_rng(33), space_of(robot, model)
    truth = 1.0 + random.uniform(-SPREAD, SPREAD, len(space.names))
    body = space.robot(truth.tolist(), model)
    data = measured(body, random, reach, POINTS)
    with tempfile.TemporaryDirectory() as folder:
        words = written(Path(folder), robot, [a.name for a in body.actuators], data)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, '-m', 'soro_cli.main', *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f'{robot}: {done.stdout}{done.stderr}')
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    unknowns = len(space.names) + len(MARKER)
    return {
        'robot': robot,
        'model': model,
        'unknowns': unknowns,
        'points': POINTS,
        'processor': user + system,
    }


def section(rows: list[dict[str, Any]]) -> str:
    """Write the section."""
    said = (
        'Written by `python -m soro_studies.system.foreign_points --write '
        f'docs/evidence/recording.md` on {machine()}: `soro identify theirs.csv --robot ROBOT '
        '--mapping theirs.yaml --marker-offset`, start of the process included; '
        f'{ALLOWED / 60.0:g} minutes on two cores are asked for.'
    )
    head = '| Robot, model | Unknowns | Points | Processor time |'
    lines = ['## How long 500 points take', '', said, '', head, '|---|---|---|---|']
    for r in rows:
        cells = f'{r["unknowns"]} | {r["points"]} | {r["processor"]:.1f} s'
        lines.append(f'| {r["robot"]}, {r["model"]} | {cells} |')
    return '\n'.join(lines) + '\n'


def main() -> int:
    """Measure; 1 where a fit takes longer than allowed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', type=Path, help='page whose section is renewed')
    parser.add_argument('--robot', nargs='*', default=list(CASES), choices=list(CASES))
    arguments = parser.parse_args()
    rows = [fitted(robot, *CASES[robot]) for robot in arguments.robot]
    print(json.dumps(rows, indent=1))
    if arguments.write:
        keep_values(arguments.write, {'foreign_points': rows})
        replace_section(arguments.write, section(rows))
    return int(any(row['processor'] > ALLOWED for row in rows))


if __name__ == '__main__':
    sys.exit(main())
