# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedback on plants and paths that were drawn by lot, after the controller was frozen.

    python -m soro_studies.system.drawn_plants --write docs/evidence/tip_feedback.md

All plants of `tip_feedback` were seen while the controller was written. Those here differ by what
a fixed seed draws from the same ranges, `everything` at once or `one thing` each, as there. Each
row is computed once: rows that the JSON beside the page has are kept, and what they are judged by
is the same.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from soro_studies.system.measured_section import keep_values, kept_values, replace_section
from soro_studies.system.tip_feedback import (
    CONTROLLER,
    CONTROLS,
    CURVES,
    kept_to,
    NOISE,
    path,
    Plant,
    plant_of,
    PLANTS,
    Scene,
    SCENES,
    SPEEDS,
    STIFF_FLOP,
    values_of,
)

SEED = 20261129
COUNTS = {
    'everything': {
        'stiff_flop_two_segment': 24,
        'soft_parallel': 24,
        'stiff_flop': 24,
        'pam_continuum': 6,
    },
    'one thing': {
        'stiff_flop_two_segment': 16,
        'soft_parallel': 16,
        'stiff_flop': 16,
        'pam_continuum': 4,
    },
}
KINDS = ('stiffness', 'lag', 'hysteresis', 'creep')
STIFFNESS, LAG = (0.8, 1.2), (1.0, 2.0)  # times that of the file
PAST = 0.1  # most hysteresis, and most creep
LOAD = 0.5  # N, most, of stiff_flop alone, as in the table
KEYS = ('group', 'robot', 'number')


@dataclass(frozen=True)
class Drawn:
    """What was drawn for a robot: its plant, and a path."""

    group: str
    number: int
    plant: Plant
    curve: str
    speed: float


def drawn(scene: Scene) -> Iterator[Drawn]:
    """Draw the plants and paths of a robot; the same ones each time, whatever robots are asked."""
    first = plant_of(scene, next(iter(PLANTS)))
    for group, counts in COUNTS.items():
        alone = group == 'one thing'
        seeds = [SEED, [s.robot for s in SCENES].index(scene.robot), *([1] if alone else [])]
        random = np.random.default_rng(seeds)
        for number in range(counts[scene.robot]):
            values = {
                'stiffness': random.uniform(*STIFFNESS),
                'lag': random.uniform(*LAG),
                'hysteresis': random.uniform(0.0, PAST),
                'creep': random.uniform(0.0, PAST),
            }
            if alone:  # each in its turn
                kind = KINDS[number % len(KINDS)]
                values = {kind: values[kind]}
            elif scene is STIFF_FLOP:
                values['load'] = random.uniform(0.0, LOAD)
            curve, speed = random.choice(CURVES), random.choice(SPEEDS)
            plant = replace(first, **values)
            yield Drawn(group, number, plant, str(curve), float(speed))


def computed(page: Path, robots: Sequence[str]) -> None:
    """Compute the rows that the JSON beside a page lacks; each is kept at once."""
    kept = kept_values(page)
    rows = kept.get('drawn', [])
    known = {tuple(row[k] for k in KEYS) for row in rows}
    for scene in (s for s in SCENES if s.robot in robots):
        for one in drawn(scene):
            names = one.group, scene.robot, one.number
            if names in known:
                continue
            row: dict[str, Any] = dict(zip(KEYS, names, strict=True))
            row |= {k: getattr(one.plant, k) for k in (*KINDS, 'load')}
            row |= {'motion': one.curve, 'speed': one.speed}
            for control in CONTROLS:
                delay = kept['delays'][scene.robot]
                run = path(one.plant, control, one.curve, one.speed, delay)
                row |= values_of(control, [run])
            rows.append(row | {'date': date.today().isoformat(), 'controller': CONTROLLER})
            print(rows[-1], flush=True)
            keep_values(page, {'drawn': rows})


def section(rows: Sequence[dict[str, Any]]) -> str:
    """Write what was found as a section of a page."""
    order = [s.robot for s in SCENES]
    held = []
    for group in COUNTS:
        kept = [kept_to(row, CONTROLS[1]) for row in rows if row['group'] == group]
        held.append(f'{sum(kept)} of {len(kept)} with {group} different')
    out = [
        '## Plants drawn by lot',
        '',
        f'`python -m soro_studies.system.drawn_plants`, seed {SEED}: plants and paths that nobody',
        'had seen before the controller was as it is here; none was computed twice or left out.',
        'Shares are drawn from the ranges above, for everything at once or one thing each.',
        'Mean (largest) error in mm. Feedback halves the mean error of feedforward or leaves',
        f'less than {1e3 * NOISE:.1f} mm, and at 4 cm/s is not worse, in',
        f'{", ".join(held)}. `!`: it is not so.',
        '',
        '| Robot | Stiffness, lag | Hysteresis, creep | Load | Path | Feedforward | Feedback |',
        '|---|---|---|---|---|---|---|',
    ]
    groups = list(COUNTS)
    for row in sorted(
        rows, key=lambda r: (groups.index(r['group']), order.index(r['robot']), r['number'])
    ):
        cells = [f'{1e3 * row[c]:.2f} ({1e3 * row[f"{c}_peak"]:.2f})' for c in CONTROLS]
        misses = '' if kept_to(row, CONTROLS[1]) else '!'
        past = f'{100 * row["hysteresis"]:.1f} %' if row['hysteresis'] is not None else 'file'
        out.append(
            f'| {row["robot"]} | {row["stiffness"]:.2f}, {row["lag"]:.2f} '
            f'| {past}, {100 * row["creep"]:.1f} % | {row["load"]:.2f} N '
            f'| {row["motion"]}, {100 * row["speed"]:g} cm/s | {cells[0]} | {cells[1]}{misses} |'
        )
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', default='docs/evidence/tip_feedback.md')
    names = [s.robot for s in SCENES]
    parser.add_argument('--robot', nargs='*', default=names, choices=names)
    parser.add_argument('--page', action='store_true', help='write from what was computed')
    arguments = parser.parse_args()
    page = Path(arguments.write)
    if not arguments.page:
        computed(page, arguments.robot)
    replace_section(page, section(kept_values(page)['drawn']))


if __name__ == '__main__':
    main()
