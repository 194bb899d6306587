# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is assumed of a plant, and what tracking makes of it: robots with a dynamic emulator.

    python -m soro_studies.system.plant_assumptions --write docs/evidence/plant_assumptions.md

Scenes, stream and controller of `tip_feedback`; the controller has its defaults and the delay that
was found for stiff_flop; the rows with another gain were added when the others had been seen.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from soro_mechanics.actuator_models.pneumatics import Valve
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.system.tip_feedback import (
    at_rest,
    CONTROLS,
    LEGS,
    MUSCLES,
    path,
    Plant,
    Scene,
    STIFF_FLOP,
)

DELAY = 0.1  # s
SCENES = (
    STIFF_FLOP,
    Scene('spatial_cc', (0.0, 0.0, 0.188), 0.012, (0.004, -0.008, 0.188)),
    Scene('soft_parallel', (0.0, 0.0, 0.180), 0.020, (0.006, -0.012, 0.180), LEGS),
    Scene(
        'stiff_flop_two_segment',
        (0.0, 0.0, 0.088),
        0.008,
        (-0.004, 0.006, 0.088),
        (*STIFF_FLOP.stiff, *(path.replace('0', '1') for path in STIFF_FLOP.stiff)),
    ),
    MUSCLES,
)
MOTIONS = (('at rest', 0.0), ('circle', 0.01), ('circle', 0.04))  # m/s
BASE = Plant(inertia=True)
PLANTS = {
    'as the robot file says': BASE,
    'without inertia': Plant(),
    'lag doubled': replace(BASE, lag=2.0),
    'stiffness + 20 %': replace(BASE, stiffness=1.2),
    'stiffness - 20 %': replace(BASE, stiffness=0.8),
    'hysteresis 2 %': replace(BASE, hysteresis=0.02),
    'hysteresis 10 %': replace(BASE, hysteresis=0.1),
    'creep 10 % more, 8 s': replace(BASE, creep=0.1),
    'valves, 0.03 l/(s bar)': replace(BASE, valve=Valve(3e-10)),
    'as the file, `control_gain` 2': replace(BASE, gain=2.0),
    '- 20 %, `control_gain` 2': replace(BASE, stiffness=0.8, gain=2.0),
}


def rows(scene: Scene) -> list[dict[str, Any]]:
    """Return mean and largest errors [m] of every plant, motion and control."""
    found = []
    for name, plant in PLANTS.items():
        if plant.valve and scene is MUSCLES:
            continue  # whose valves are those of its board
        here = replace(plant, scene=scene)
        for motion, speed in MOTIONS:
            row: dict[str, Any] = {'plant': name, 'motion': motion, 'speed': speed}
            for control in CONTROLS:
                done = path(here, control, motion, speed, DELAY) if speed else None
                mean, peak = done or at_rest(here, control)
                row |= {control: mean, f'{control}_peak': peak}
            print(scene.robot, row, flush=True)
            found.append(row)
    return found


def section(robot: str, found: list[dict[str, Any]]) -> str:
    """Write the table of a robot as a section of a page."""
    out = [
        f'## {robot}',
        '',
        f'Written on {date.today()}. Mean (largest) error of the true tip in mm.',
        '',
        '| Plant | Motion | Feedforward | Feedback |',
        '|---|---|---|---|',
    ]
    for row in found:
        speed = f', {100 * row["speed"]:g} cm/s' if row['speed'] else ''
        cells = ' | '.join(f'{1e3 * row[c]:.2f} ({1e3 * row[f"{c}_peak"]:.2f})' for c in CONTROLS)
        out.append(f'| {row["plant"]} | {row["motion"]}{speed} | {cells} |')
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its sections."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose sections are renewed')
    parser.add_argument('--robot', choices=[s.robot for s in SCENES], help='default: all')
    arguments = parser.parse_args()
    for scene in SCENES:
        if arguments.robot not in (None, scene.robot):
            continue
        found = rows(scene)
        if arguments.write:
            page = Path(arguments.write)
            keep_values(page, {scene.robot: {'date': date.today().isoformat(), 'rows': found}})
            replace_section(page, section(scene.robot, found))
        else:
            print(section(scene.robot, found))


if __name__ == '__main__':
    main()
