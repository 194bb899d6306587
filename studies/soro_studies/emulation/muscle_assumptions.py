# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What is assumed of the muscle robot, and what its circle makes of it: a body that swings.

    python -m soro_studies.emulation.muscle_assumptions --write docs/evidence/plant_assumptions.md

Chain and controller of `muscle_tracking`, the circle without load; only the body differs. Pushes
and pulls are those of the network's muscles, beside what an empty airbag can pull.
"""

from __future__ import annotations

import argparse
from collections import deque
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from soro_emulation.emulator_settings import read_emulator_settings
from soro_emulation.moving_body import MovingBody
from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_studies.emulation.gas_muscle import GasMuscle
from soro_studies.emulation.muscle_tracking import Player, ROBOT
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.validation.pam_continuum import trajectory

AIRBAG = GasMuscle(15e-3**2)
TITLE = 'Muscles and damping'
REST = 0.1  # m, of a muscle
SWAY = 1.0  # s before the tip is measured, in which its way counts as sway


@dataclass(frozen=True)
class Muscles:
    """How a body differs from that of the robot file: factors, but for `stretch` [N]."""

    backbone: float = 1.0
    mass: float = 1.0
    stretch: float | None = None  # axial stiffness of a muscle
    retardation: float = 1.0
    hysteresis: float | None = None  # default: that of the file


def gas_spring() -> float:
    """Return the axial stiffness [N] of a closed airbag at rest: a gas spring of 228 N/m."""
    return REST * float(AIRBAG.sealed_stiffness(REST, REST))


PLANTS = {
    'as the robot file says (retardation 50 ms)': Muscles(),
    'backbone + 20 %': Muscles(backbone=1.2),
    'backbone - 20 %': Muscles(backbone=0.8),
    'mass + 20 %': Muscles(mass=1.2),
    'retardation 5 ms': Muscles(retardation=0.1),
    'retardation 20 ms': Muscles(retardation=0.4),
    'retardation 100 ms': Muscles(retardation=2.0),
    'no hysteresis': Muscles(hysteresis=0.0),
    'hysteresis 2 %': Muscles(hysteresis=0.02),
    'hysteresis 10 %': Muscles(hysteresis=0.1),
    'muscles of 2 kN': Muscles(stretch=2e3),
    'muscles of 200 N': Muscles(stretch=200.0),
    'muscles are gas springs': Muscles(stretch=gas_spring()),
}


def moving_body(description: RobotDescription, plant: Muscles) -> MovingBody:
    """Return the emulated body with these changes."""
    body = read_emulator_settings(description, 'stm32').body
    more: list[tuple[str, float | None, Any]] = [
        ('body.backbone.materials.niti.young', plant.backbone, None),
        ('body.backbone.mass', plant.mass, None),
    ]
    if plant.stretch is not None:
        more.append(('body.muscles.axial_stiffness', None, f'{plant.stretch!r} N'))
    changes = (*body.changes, *more)
    motion = replace(body.motion, retardation=plant.retardation * body.motion.retardation)
    opening = body.hysteresis if plant.hysteresis is None else plant.hysteresis
    return MovingBody(
        description, replace(body, changes=changes, motion=motion, hysteresis=opening)
    )


def play(plant: Muscles, points: np.ndarray) -> dict[str, Any]:
    """Follow points (n, 3) [m]; return errors and sway [m], the largest force of a muscle [N]."""
    description = read_robot_file(find_robot_file(ROBOT))
    solver, body = load_robot(ROBOT), moving_body(description, plant)
    tubes = [i for i, name in enumerate(body.stepper.layout.rods) if name.startswith('tube')]
    pieces = body.stepper.layout.structure.rod_piece[tubes]
    recent: deque[np.ndarray] = deque(maxlen=round(SWAY * 10))  # commands come at 10 Hz
    force = 0.0

    def follow() -> None:
        nonlocal force
        q = body.configuration(player.rig.bank.lengths, player.rig.clock.time)
        recent.append(q.tip[:3, 3])
        force = max(force, float(np.abs(body.stepper.state.wrench[pieces, 2]).max()))

    player = Player(description, follow)
    errors, sways, near = [], [], None
    for point in points:
        near = solver.inverse(point, np.zeros(6), guess=near)
        player.go(near.actuation)
        errors.append(float(np.linalg.norm(recent[-1] - point)))
        sways.append(float(np.ptp(np.array(recent), axis=0).max()))
    time = body.time
    return {
        'mean': float(np.mean(errors)),
        'worst': max(errors),
        'sway': max(sways),
        'force': force,
        'restarts': time.restarts,
    }


def section(found: dict[str, dict[str, Any]]) -> str:
    """Write the table as a section of a page."""
    out = [
        f'## {TITLE}',
        '',
        f'{ROBOT}, written on {date.today()}. The circle of '
        '[its page](pam_continuum_tracking.md), no load, feedforward; sway: way of the tip in '
        f'the last {SWAY:g} s at a point, of which it stands for two. An empty airbag pulls '
        f'{AIRBAG.capacity:.1f} N.',
        '',
        '| Plant | Error, mean (largest) in mm | Largest sway in mm | Largest force of a muscle |',
        '|---|---|---|---|',
    ]
    for name, row in found.items():
        out.append(
            f'| {name} | {1e3 * row["mean"]:.1f} ({1e3 * row["worst"]:.1f}) |'
            f' {1e3 * row["sway"]:.2f} | {row["force"]:.0f} N |'
        )
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    found = {}
    for name, plant in PLANTS.items():
        found[name] = play(plant, trajectory('circle'))
        print(name, found[name], flush=True)
    if arguments.write:
        page = Path(arguments.write)
        keep_values(page, {TITLE: {'date': date.today().isoformat(), 'rows': found}})
        replace_section(page, section(found))
    else:
        print(section(found))


if __name__ == '__main__':
    main()
