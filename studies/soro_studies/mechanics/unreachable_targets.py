# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Targets out of reach: ``python -m soro_studies.mechanics.unreachable_targets``.

Every robot of the catalogue is asked, cold, for targets far above, beside, just outside and behind
its workspace, as positions and as poses, and for reachable ones it has not seen.
Results: docs/evidence/unreachable_targets.md and a JSON beside it.
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
import time
from typing import Any

import numpy as np

from soro_mechanics.analysis.workspace import sample_actuations, sample_workspace
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.robot_file.catalogue import robot_files

COMMAND = 'python -m soro_studies.mechanics.unreachable_targets'
ISSUE = {'stewart_gough': (0.0, 0.0, 0.9), 'stiff_flop_two_segment': (0.0, 0.0, 0.5)}
DIRECTIONS, REACHABLE = 2, 12
HEAD = f"""# Targets out of reach

Written by `{COMMAND}`. Do not edit.

Every inverse starts without a guess; kernels are compiled, the postures to begin again from are
not counted but said (*seeds*: solved once per robot, by `precompute_seeds` or the first target
that needs them). *far* is five, *beside* three workspaces away from the middle of the workspace,
*outside* a twentieth of a workspace beyond the tips in two random directions, *behind* below the
base, *asked* a target that once took long; each as a position and as a pose with the attitude at
rest. Seconds of processor time; *miss* is the nearest pose found. Targets that turn out reachable
say NONE. *found*: of reachable positions and poses, random actuations within the limits.

| robot | target | task | code | iterations | seconds | miss |
|---|---|---|---|---|---|---|
"""


def targets_of(robot: Robot) -> dict[str, Array]:
    """Return places (3,) by name."""
    tips = sample_workspace(robot, 128).points
    middle, size = tips.mean(axis=0), float(np.ptp(tips, axis=0).max())
    found = {
        'far': middle + [0.0, 0.0, 5.0 * size],
        'beside': middle + [3.0 * size, 0.0, 0.0],
        'behind': np.array([middle[0], middle[1], -abs(middle[2]) - 0.1 * size]),
    }
    rng = np.random.default_rng(1)
    for k in range(DIRECTIONS):
        way = rng.normal(size=3)
        way /= np.linalg.norm(way)
        beyond = ((tips - middle) @ way).max() + 0.05 * size
        found[f'outside {k + 1}'] = middle + beyond * way
    if robot.name in ISSUE:
        found['asked'] = np.array(ISSUE[robot.name])
    return found


def asked(robot: Robot, target: Array) -> dict[str, Any]:
    """Return what one inverse says, and its processor time [s]."""
    began = time.process_time()
    s = robot.inverse(target)
    return {
        'code': s.status.code.name,
        'iterations': s.status.iterations,
        'seconds': round(time.process_time() - began, 4),
        'miss_mm': 1e3 * s.position_error,
        'miss_deg': math.degrees(s.orientation_error),
        'message': s.status.message,
    }


def run(robot: Robot) -> dict[str, Any]:
    """Return the rows of one robot."""
    rest = robot.forward([a.rest for a in robot.actuators])
    for known in (rest.tip[:3, 3], rest.tip):  # kernels
        robot.inverse(known, multistart=False)
    began = time.process_time()
    robot.precompute_seeds()
    seeds = time.process_time() - began
    rows, refused = [], 0
    for name, place in targets_of(robot).items():
        pose = rest.tip.copy()
        pose[:3, 3] = place
        for task, target in (('position', place), ('pose', pose)):
            rows.append({'target': name, 'task': task, **asked(robot, target)})
            broken = target.copy()
            broken.flat[0] = np.nan
            try:
                robot.inverse(broken)
            except InvalidInput as error:
                refused += error.code is Code.NOT_FINITE
    seen = sample_workspace(robot, sample_actuations(robot, REACHABLE, seed=7))
    counts = {
        task: [asked(robot, tip[:3, 3] if task == 'position' else tip)['code'] for tip in tips]
        for task in ('position', 'pose')
        for tips in (seen.tip[seen.solved],)
    }
    return {
        'robot': robot.name,
        'model': robot.model,
        'seeds_seconds': round(seeds, 2),
        'rows': rows,
        'not_finite_refused': [refused, len(rows)],
        'found': {task: [codes.count('NONE'), len(codes)] for task, codes in counts.items()},
    }


def page(results: dict[str, Any]) -> str:
    """Return the page of stored results."""
    text = HEAD
    for name, r in sorted(results.items()):
        for row in r['rows']:
            miss = f'{row["miss_mm"]:.3g} mm, {row["miss_deg"]:.3g} deg'
            text += f'| {name} | {row["target"]} | {row["task"]} | {row["code"]} '
            text += f'| {row["iterations"]} | {row["seconds"]:.3f} | {miss} |\n'
    text += '\n| robot | longest [s] | seeds [s] | not finite: refused | found |\n'
    text += '|---|---|---|---|---|\n'
    for name, r in sorted(results.items()):
        longest = max(row['seconds'] for row in r['rows'])
        refused = '{} of {}'.format(*r['not_finite_refused'])
        found = ', '.join(f'{task} {n} of {of}' for task, (n, of) in r['found'].items())
        text += f'| {name} | {longest:.2f} | {r["seeds_seconds"]:.2f} | {refused} | {found} |\n'
    return text


def main() -> int:
    """Run robots one after the other; store each and write the page."""
    parser = argparse.ArgumentParser(description='Targets out of reach.')
    parser.add_argument('robots', nargs='*', metavar='robot', help='default: the catalogue')
    options = parser.parse_args()
    root = next(p for p in Path(__file__).resolve().parents if (p / 'colcon.meta').is_file())
    store = root / 'docs' / 'evidence' / 'unreachable_targets.json'
    results = json.loads(store.read_text()) if store.is_file() else {}
    for name in options.robots or robot_files():
        results[name] = run(load_robot(name))
        print(name, results[name]['seeds_seconds'], results[name]['found'], flush=True)
        store.write_text(json.dumps(results, indent=1, sort_keys=True) + '\n')
        store.with_suffix('.md').write_text(page(results), encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
