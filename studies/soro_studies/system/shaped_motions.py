# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `input_shaping` leaves of the swing of emulated robots, beside what the planner says.

    python -m soro_studies.system.shaped_motions --write docs/evidence/plant_assumptions.md

Robots, drives and bodies of `plant_assumptions` as their files say, in virtual time, at the rates
of the planner. The body's stiffness, mass and damping are others than those that shape.
"""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array, Configuration
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.system.tip_feedback import (
    CONTROLS,
    LEGS,
    MUSCLES,
    Plant,
    Scene,
    SCENES,
    VirtualTip,
)
from soro_studies.system.virtual_drives import STEP
from soro_trajectory.command_stream import Phase
from soro_trajectory.input_shaping import shaped_motion, SHAPERS, slowest_modes

KINDS = ('none', *SHAPERS)
TITLE = 'Shaped motions'
SETTLED = 5.0  # s before a motion
PERIODS = 3.0  # of the slowest mode, that are looked at
# s until drives are there; shares of the ranges, or of a bend of all modules
LEGS_MOVE, MUSCLES_MOVE = (0.4, (0.15, 0.3, 0.6)), (1.5, (0.05, 0.15, 0.3))
BEND = 0.01 * np.array([1.0, -0.5, -0.5])  # m, of the muscles of a module


def ends(scene: Scene, tip: VirtualTip, share: float) -> tuple[Array, Array]:
    """Return where a motion begins and ends (m,): a first leg is pressed; a bend turns."""
    rest, (low, high) = tip._rest, tip.robot.limits.T
    if scene is MUSCLES:
        modules = len(rest) // len(BEND)
        bends = [np.tile(np.roll(share * BEND, k), modules) for k in range(2)]
        return rest + bends[0], rest + bends[1]
    return rest, rest + share * (high - low) * (np.arange(len(rest)) == 0)


def swing(scene: Scene, share: float, kind: str) -> dict[str, Any]:
    """Move; return the swing of the true tip afterwards [m], and what the planner says of it."""
    tip = VirtualTip(Plant(scene=scene, inertia=True), CONTROLS[0])
    start, end = ends(scene, tip, share)
    go(tip, start)
    tip.run(SETTLED)
    found = slowest_modes(tip.robot, end)
    said: dict[str, Any] = {}
    schedule = None
    if kind in SHAPERS:
        schedule, said = shaped_motion(kind, found, start, end, tip.stream.rates)
    begun = tip.now
    go(tip, end, schedule)
    took = tip.now - begun
    tip.run((MUSCLES_MOVE if scene is MUSCLES else LEGS_MOVE)[0])
    places: list[Array] = []
    shape = tip.shape

    def watched(felt: Array) -> Configuration:
        q = shape(felt)
        places.append(q.tip[:3, 3])
        return q

    tip.shape = watched  # type: ignore[method-assign]
    tip.run(PERIODS / found.frequency[0])
    way, t = np.array(places), np.arange(len(places))
    slow = np.array([np.polyval(np.polyfit(t, x, 1), t) for x in way.T]).T
    return {
        'robot': scene.robot,
        'share': share,
        'kind': kind,
        'seconds': took,
        'frequency': float(found.frequency[0]),
        'swing': float(np.ptp(way - slow, axis=0).max()),
        **{k: v[0] for k, v in said.items() if k != 'modes'},
    }


def go(tip: VirtualTip, end: Array, schedule: Schedule | None = None) -> None:
    """Move to an actuation (m,) as the planner does with a target, and wait for the stream."""
    stream, first = tip.stream, end if schedule is None else schedule.actuation[0]
    stream.go_to(first, tip._state(), tip.now, stream.generation, False, schedule)
    while stream.phase is not Phase.HOLD:
        tip.run(STEP)


def section(rows: list[dict[str, Any]]) -> str:
    """Write the section."""
    out = [
        f'## {TITLE}',
        '',
        f"Written on {date.today()}. Motions at the planner's rates, plain and shaped; swing: way "
        f"of the true tip in {PERIODS:g} periods of the slowest mode after the drives' lag "
        f'({LEGS_MOVE[0]:g} s, muscles {MUSCLES_MOVE[0]:g} s), less its slow drift. Said: what '
        'the planner reports as left of the slowest mode, part of that after a step; in brackets '
        "without shaping. Truth: part of the plain motion's swing.",
        '',
        '| Robot | Share | Shaping | Duration | Slowest mode | Swing | Said | Truth |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for row in rows:
        plain = next(
            r['swing']
            for r in rows
            if r['kind'] == KINDS[0] and all(r[k] == row[k] for k in ('robot', 'share'))
        )
        said = f'{row["vibration"]:.2f} ({row["unshaped"]:.2f})' if 'vibration' in row else '-'
        out.append(
            f'| {row["robot"]} | {row["share"]:g} | {row["kind"]} | {row["seconds"]:.2f} s |'
            f' {row["frequency"]:.2f} Hz | {1e3 * row["swing"]:.2f} mm | {said} |'
            f' {row["swing"] / plain:.2f} |'
        )
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', type=Path, help='page whose section is renewed')
    arguments = parser.parse_args()
    rows = []
    for scene in (next(s for s in SCENES if s.stiff == LEGS), MUSCLES):
        for share in (MUSCLES_MOVE if scene is MUSCLES else LEGS_MOVE)[1]:
            for kind in KINDS:
                rows.append(swing(scene, share, kind))
                print(rows[-1], flush=True)
    if arguments.write:
        kept = {'date': date.today().isoformat(), 'rows': rows}
        keep_values(arguments.write, {'shaping': kept})
        replace_section(arguments.write, section(rows))
    else:
        print(section(rows))


if __name__ == '__main__':
    main()
