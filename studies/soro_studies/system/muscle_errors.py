# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the errors of pam_continuum in `tip_feedback` come from, part by part.

    python -m soro_studies.system.muscle_errors --write docs/evidence/tip_feedback.md

renews a section of that page. Feedforward on a circle, as there. Nobody measures lengths: the
driver reckons them from valve times. So the tip errs by what the model lacks, by reckoned lengths
that are not the commanded ones (pulses have a shortest time), by true lengths that are not the
reckoned ones (dead times, leaks), and by what the body feels of those (hysteresis). The first is
that of the true body at the planned lengths, the others are differences of lengths times the
model's Jacobian. Bodies have no inertia here: a swing is none of these parts.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
import json
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics.analysis.trajectory import schedule
from soro_mechanics.core.configuration import Array, Configuration
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.system.tip_feedback import (
    CONTROLS,
    planned,
    Plant,
    plant_of,
    SCENES,
    SPEEDS,
    VirtualTip,
)
from soro_trajectory.command_stream import Phase

ROBOT, CURVE, DELAY = 'pam_continuum', 'circle', 0.2  # s, as tip_feedback found it
NAMES = ('emulated robot of the file', 'lag doubled', 'hysteresis 10 %')
PARTS = {
    'total': 'All',
    'model': 'Model',
    'valves': 'Reckoned, not commanded',
    'reckoning': 'True, not reckoned',
    'body': 'Felt, not true',
    'left': 'All less these parts',
}
FIRST, EVERY = 30, 6  # looks at 30 Hz: the first second is the approach's; and between two


class Watched(VirtualTip):
    """A scene that keeps time, tip, reckoned, true and felt lengths of every look."""

    def __init__(self, plant: Plant, control: str) -> None:
        self.kept: list[tuple[float, Array, Array, Array, Array]] = []
        super().__init__(plant, control)

    def shape(self, felt: Array) -> Configuration:
        """Return the body, and keep what it and its drives do."""
        q, drives = super().shape(felt), self._drives
        self.kept.append((self.now, q.tip[:3, 3], drives.present.copy(), drives.true, q.actuation))
        return q


def parts(name: str) -> dict[str, Any]:
    """Return mean sizes of the parts of the errors [m], and of what of them changes."""
    scene = next(s for s in SCENES if s.robot == ROBOT)
    plant = plant_of(scene, name)
    still = replace(plant, inertia=False, hysteresis=plant.hysteresis or 0.0)
    tip = Watched(still, CONTROLS[0])
    sampled, actuation = planned(scene, CURVE)
    timed = schedule(sampled, actuation, SPEEDS[0], tip.stream.rates, 0.1)
    tip.go_to(timed.actuation_at(0.0), sampled.poses[0])
    while tip.stream.phase is not Phase.HOLD:
        tip.run(0.01)
    tip.run(0.5)
    tip.kept.clear()
    start = tip.now
    tip.follow(timed, DELAY)
    found: dict[str, list[Array]] = {key: [] for key in PARTS}
    q = body = None
    for now, true_tip, reckoned, true, felt in tip.kept[FIRST::EVERY]:
        time = max(0.0, now - start - DELAY)
        wanted, goal = timed.actuation_at(time), timed.position_at(time)
        q, body = tip.robot.forward(wanted, guess=q), tip._body.robot.forward(wanted, guess=body)
        slope = tip.robot.jacobian(q)[:3]
        found['total'].append(true_tip - goal)
        found['model'].append(body.tip[:3, 3] - goal)
        found['valves'].append(slope @ (reckoned - wanted))
        found['reckoning'].append(slope @ (true - reckoned))
        found['body'].append(slope @ (felt - true))
        explained = sum(found[k][-1] for k in ('model', 'valves', 'reckoning', 'body'))
        found['left'].append(found['total'][-1] - explained)
    sizes = {}
    for key, errors in found.items():
        each = np.array(errors)
        changing = each - each.mean(axis=0)
        sizes[key] = [float(np.linalg.norm(e, axis=1).mean()) for e in (each, changing)]
    return {'plant': name, 'parts': sizes}


def section(rows: list[dict[str, Any]]) -> str:
    """Write the section."""
    out = [
        '## Where the errors of pam_continuum come from', '',
        'Feedforward, body without inertia, circle at 1 cm/s, after its first second: mean size '
        'of each part (of what of it changes along the circle) in mm. What is left over is not '
        'linear. Written by '
        '`python -m soro_studies.system.muscle_errors --write docs/evidence/tip_feedback.md`.',
        '', f'| Plant | {" | ".join(PARTS.values())} |', f'|---{"|---" * len(PARTS)}|',
    ]  # fmt: skip
    for row in rows:
        cells = [f'{1e3 * a:.1f} ({1e3 * b:.1f})' for a, b in row['parts'].values()]
        out.append(f'| {row["plant"]} | {" | ".join(cells)} |')
    return '\n'.join(out) + '\n'


def main() -> None:
    """Compute the parts and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', type=Path, help='page whose section is renewed')
    arguments = parser.parse_args()
    rows = [parts(name) for name in NAMES]
    print(json.dumps(rows, indent=1))
    if arguments.write:
        keep_values(arguments.write, {'muscle_errors': rows})
        replace_section(arguments.write, section(rows))


if __name__ == '__main__':
    main()
