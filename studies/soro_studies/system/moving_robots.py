# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Each robot on its dynamic emulator for minutes: the time of its body against the clock.

    python -m soro_studies.system.moving_robots --minutes 10 \
        --write docs/evidence/plant_assumptions.md

Launched as people do, without viewer and recorder; every few seconds a target within a third of
the range from rest. The haptic device has no such targets: its plant is asked at the rate of its
bus, motors and hand going to and fro; time lost is what a question came too late for.
"""

from __future__ import annotations

import argparse
from contextlib import redirect_stdout
from datetime import date
import fcntl
import os
from pathlib import Path
import sys
import tempfile
import time
from typing import Any

import numpy as np

from soro_emulation.haptic_plant import Hand, HapticPlantProcess, MAX_STALL
from soro_emulation.perturbation import OVERRIDE
from soro_mechanics.robot_file.catalogue import find_robot_file, robot_files
from soro_studies.system.launched_robot import DiagnosticsWatch, launched_robot
from soro_studies.system.measured_section import keep_values, kept_values, machine, replace_section

HAPTIC = 'haptic_5dof'
PERIOD, REACH = 4.0, 0.3  # s between targets; of the range, from rest
BODY = 'emulator: body'
LOADING = 600.0  # s: the first use of a robot compiles
QUESTIONS = 0.002  # s between those to the haptic plant
GRIP = np.array([400.0, 400.0, 400.0, 1.5, 1.5])
STILL, ALONG = np.zeros(5), np.array([1.0, 0.5, 0.3, 0.0, 0.0])


def launched(name: str, seconds: float, seed: int = 1) -> dict[str, Any]:
    """Drive a launched robot; return what its emulator says of the body's time."""
    random = np.random.default_rng(seed)
    words = [name, 'viewer:=false', 'record:=false']
    with (
        tempfile.TemporaryDirectory() as folder,
        launched_robot(words, Path(folder), robot=name, patience=LOADING, clearing=True) as robot,
    ):
        said = DiagnosticsWatch(robot)

        def of_body(key: str) -> float:
            return float(said.values.get(BODY, {}).get(key, 'nan'))

        robot.wait(lambda: of_body('virtual_time') > 0.0, LOADING, 'body in motion')
        first = of_body('virtual_time'), of_body('wall_time')
        actuators = robot.robot.description.actuators
        rest = np.array([a.rest for a in actuators])
        low, high = (np.array([getattr(a, n) for a in actuators]) for n in ('minimum', 'maximum'))
        slowest, warned = np.inf, 0
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            way = REACH * random.uniform(-1.0, 1.0, len(rest))
            robot.send(rest + np.where(way > 0.0, way * (high - rest), way * (rest - low)))
            robot.spin(min(PERIOD, max(0.1, end - time.monotonic())))
            slowest = min(slowest, of_body('speed'))
            warned += said.levels.get(BODY, 0) > 0
        log = robot.events('body')
        return {
            'virtual': of_body('virtual_time') - first[0],
            'wall': of_body('wall_time') - first[1],
            'slowest': slowest,
            'warnings': warned,
            'remarks': sorted({e['remark'] for e in log if e['remark']}),
        }


def haptic(seconds: float) -> dict[str, Any]:
    """Ask the haptic plant, in its process, at the rate of the bus."""
    plant = HapticPlantProcess(str(find_robot_file(HAPTIC)), 'can', 6)
    try:
        end = time.monotonic() + LOADING
        while not plant.ready and not plant.error and time.monotonic() < end:
            plant.update(np.zeros(6), Hand(STILL, STILL, STILL), np.zeros(6), time.monotonic())
            time.sleep(0.01)
        if not plant.ready:
            raise RuntimeError(plant.error or 'the plant was not loaded in time')
        begin = last = time.monotonic()
        lost, longest = 0.0, 0.0
        while last < begin + seconds:
            now = time.monotonic()
            t = now - begin
            place = 0.01 * np.sin(1.3 * t) * ALONG
            hand = Hand(place, GRIP, STILL, 0.01 * GRIP)
            angle = 0.15 * np.sin(t * np.linspace(1.0, 2.0, 6))
            if plant.update(angle, hand, np.zeros(6), now):  # and so was asked again
                longest = max(longest, now - last)
                lost += max(0.0, now - last - MAX_STALL)
                last = now
            time.sleep(QUESTIONS)
        if plant.error:
            raise RuntimeError(plant.error)
        wall = last - begin
        # a plant that is too slow answers later and later: then this passes MAX_STALL
        return {'virtual': wall - lost, 'wall': wall, 'longest': longest, 'remarks': []}
    finally:
        plant.stop()


def section(found: dict[str, dict[str, Any]]) -> str:
    """Write the table as a section of a page."""
    out = [
        '## Time of the bodies against the clock',
        '',
        f'On {machine()}. `haptic_5dof`: its plant alone.',
        '',
        '| Robot | Written on | Wall time | Of the body | Slowest window | Remarks |',
        '|---|---|---|---|---|---|',
    ]
    for name, row in sorted(found.items()):
        slow = f'{row["slowest"]:.0%}' if 'slowest' in row else f'{1e3 * row["longest"]:.0f} ms'
        out.append(
            f'| {name} | {row["date"]} | {row["wall"]:.1f} s | {row["virtual"]:.1f} s | {slow} |'
            f' {"; ".join(row["remarks"]) or "-"} |'
        )
    return '\n'.join(out) + '\n'


def main() -> None:
    """Run every robot, one after the other, and write the section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--robot', nargs='*', choices=sorted(robot_files()), help='default: all')
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    os.environ[OVERRIDE] = 'dynamic'
    found = {}
    for name in arguments.robot or sorted(robot_files()):
        with redirect_stdout(sys.stderr):
            seconds = 60.0 * arguments.minutes
            row = haptic(seconds) if name == HAPTIC else launched(name, seconds)
            found[name] = {'date': date.today().isoformat(), **row}
        print(name, found[name], flush=True)
    if arguments.write:
        page = Path(arguments.write)
        with open(page) as file:  # robots measured beside one another write one after the other
            fcntl.flock(file, fcntl.LOCK_EX)
            found = kept_values(page).get('time', {}).get('robots', {}) | found
            keep_values(page, {'time': {'robots': found}})
            replace_section(page, section(found))
    else:
        print(section(found))


if __name__ == '__main__':
    main()
