# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How often the intervals of a calibrated marker hold the truth: stiff_flop, 200 fixed seeds.

    python -m soro_studies.mechanics.tracker_calibration_study

Postures, noise of positions and turns, and the places of marker and tracker are drawn anew for
every seed. Results go to docs/evidence/tracker_calibration.json and its page.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.analysis.tracker_calibration import calibrate_tracker, LEVEL
from soro_mechanics.core.configuration import Array
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

PAGE = Path('docs/evidence/tracker_calibration.md')
ROBOT, POSTURES, SEEDS = 'stiff_flop', 12, 200
NOISE, TURN_NOISE = 0.2e-3, 3e-3  # m, rad: the emulated tracker's
KINDS = {
    'tracker known': (True, True),  # whether TF knows the tracker, and whether it sees turns
    'tracker sought': (False, True),
    'tracker known, positions alone': (True, False),
    'tracker sought, positions alone': (False, False),
}
HEAD = """# Calibrated markers

`soro calibrate tracker`, without a robot: {postures} random postures of {robot} and a tracker
with {noise} mm and {turn} mrad of noise, seen from anywhere, its marker within 20 mm of the tip
and turned at random. How many of {seeds} fixed seeds have the true number inside its 95 %
interval, axis by axis, and the median half interval. A model that is wrong adds errors that are
no noise: look at what the fit leaves.

    python -m soro_studies.mechanics.tracker_calibration_study

| | Position x, y, z | Turn x, y, z | Half interval |
|---|---|---|---|
"""


def tips_of(robot: Robot, random: np.random.Generator) -> Array:
    """Return tips (n, 4, 4) of random postures."""
    tried = 0.8 * robot.limits[:, 1] * random.random((20 * POSTURES, len(robot.actuators)))
    kept = [a for a in tried if not robot.violations(a)][:POSTURES]
    return np.array([robot.forward(a).tip for a in kept])


def one(robot: Robot, seed: list[int], known: bool, oriented: bool) -> tuple[Array, Array]:
    """Return which axes of the marker are inside their intervals, and half of these (6,)."""
    random = np.random.default_rng(seed)
    tips = tips_of(robot, random)
    marker, base = (
        lie.se3_exp(random.uniform(-1.0, 1.0, 6) * ([size] * 3 + [1.5] * 3))
        for size in (0.02, 1.0)
    )
    seen = np.linalg.inv(base) @ tips @ marker
    for pose in seen:
        pose[:3, 3] += NOISE * random.standard_normal(3)
        noise = lie.so3_exp(TURN_NOISE * random.standard_normal(3))
        pose[:3, :3] = pose[:3, :3] @ noise if oriented else np.eye(3)
    found = calibrate_tracker(tips, seen, base if known else None, np.inf)
    turn = lie.so3_log(marker[:3, :3].T @ found.marker[:3, :3]) if oriented else np.zeros(3)
    off = np.append(found.marker[:3, 3] - marker[:3, 3], turn)
    return (np.abs(off) <= found.half).astype(float), found.half


def study(seeds: int = SEEDS) -> dict[str, Any]:
    """Return shares inside and median half intervals (6,) of every kind."""
    robot, rows = load_robot(ROBOT), {}
    for kind, (name, (known, oriented)) in enumerate(KINDS.items()):
        both = [one(robot, [kind, seed], known, oriented) for seed in range(seeds)]
        inside, half = (np.array([b[i] for b in both]) for i in (0, 1))
        count = 6 if oriented else 3
        rows[name] = {
            'inside': inside.mean(axis=0)[:count].tolist(),
            'half': np.median(half, axis=0)[:count].tolist(),
        }
    return {'robot': ROBOT, 'postures': POSTURES, 'seeds': seeds, 'level': LEVEL, 'rows': rows}


def page(result: dict[str, Any]) -> str:
    """Return the page."""
    head = HEAD.format(
        postures=result['postures'],
        robot=result['robot'],
        seeds=result['seeds'],
        noise=1e3 * NOISE,
        turn=1e3 * TURN_NOISE,
    )
    lines = []
    for name, row in result['rows'].items():
        shares = [f'{100.0 * share:.1f} %' for share in row['inside']]
        half = f'{1e3 * max(row["half"][:3]):.2f} mm'
        half += f', {1e3 * max(row["half"][3:]):.1f} mrad' if row['half'][3:] else ''
        lines.append(
            f'| {name} | {", ".join(shares[:3])} | {", ".join(shares[3:]) or "-"} | {half} |'
        )
    return head + '\n'.join(lines) + '\n'


def main() -> None:
    """Run the study and write its page."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    result = study()
    PAGE.with_suffix('.json').write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
    PAGE.write_text(page(result), encoding='utf-8')
    print(PAGE.read_text(encoding='utf-8'))


if __name__ == '__main__':
    main()
