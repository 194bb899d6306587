# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How well soft_parallel follows curves, through planner, driver, wire and emulated robot.

    python -m soro_studies.system.soft_parallel_tracking --write FILE

Records a table of pressures and tips, identifies lambda(P) from it, measures the delay from
command to pressure, and follows star, spiral and circle at 1, 2 and 4 cm/s with the curves of the
robot file and with the identified ones. In virtual time (`virtual_soft_parallel`): the same on
every machine; a system test follows a curve in real time through all nodes.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
import json
from pathlib import Path
import tempfile
from typing import Any

from geometry_msgs.msg import Point, Pose, PoseStamped
import numpy as np
import yaml

from soro_driver.loop.tick import Tick
from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.identification.stretch_fit import identify_stretch, LegFit
from soro_mechanics.identification.stretch_robot_file import write_identified
from soro_mechanics.identification.stretch_table import read_stretch_table
from soro_mechanics.robot import load_robot, Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.action import TrackTrajectory
from soro_studies.system.measured_section import keep_values
from soro_studies.system.stretch_recording import record, sequences, write_table
from soro_studies.system.virtual_soft_parallel import SLEW, VirtualRobot
from soro_trajectory.error_record import ErrorRecord
from soro_trajectory.planning import make_plan, PlanningLimits
from soro_trajectory.targets import extent_of_workspace

CURVES = ('star', 'spiral', 'circle')
SPEEDS = (0.01, 0.02, 0.04)  # m/s, those of the paper
CENTRE, SIZE = (0.0, 0.0, 0.18), 0.04  # m
SPACING = 2e-4  # m, that of the paper
ACCELERATION = 0.1  # m/s^2, the planner's default
REST = 0.5  # s at the first point, the planner's default
CAMERA_NOISE = 2e-4  # m in each coordinate of the recorded tips
MAX_LAG = 0.3  # s
PAPER = {0.01: 2.6, 0.02: 3.0, 0.04: 3.9}  # % of the workspace length
HYSTERESES = (0.02, 0.04, 0.10)  # assumed of the legs, of the range
NOMINAL, IDENTIFIED = 'robot file', 'identified'
Key = tuple[str, str, float, bool]  # curves of, curve, speed, delay compensated


@dataclass(frozen=True)
class StudyResult:
    """What a study found.

    Attributes
    ----------
    errors : dict
        Mean error (36) [m] by (whose lambda(P), curve, speed, delay compensated).
    extent : float
        Longest extent of the workspace [m].
    delay : float
        From command to pressure [s].
    fits : tuple of LegFit
    postures : int
        From which they were identified.
    """

    errors: dict[Key, float]
    extent: float
    delay: float
    fits: tuple[LegFit, ...]
    postures: int


def plan(robot: Robot, curve: str, speed: float) -> Schedule:
    """Plan as the planner's node does."""
    x, y, z = CENTRE
    pose = PoseStamped(pose=Pose(position=Point(x=x, y=y, z=z)))
    goal = TrackTrajectory.Goal(
        curve=curve, curve_pose=pose, size=SIZE, speed=speed, spacing=SPACING
    )
    rates = SLEW * np.array([a.rate for a in robot.actuators])
    limits = PlanningLimits(speed, SPACING, ACCELERATION, rates, (1e-4, 1e-3))
    to_base, proceed = (lambda header, field: np.eye(4)), (lambda progress: True)
    made = make_plan(robot, goal, to_base, limits, np.zeros(6), None, proceed)
    if made.schedule is None:
        raise RuntimeError(f'{curve}: {made.message}')
    return made.schedule


def follow(
    robot: VirtualRobot, schedule: Schedule, delays: tuple[float, ...]
) -> tuple[list[ErrorRecord], list[Tick]]:
    """Follow a schedule; returns what was found for each assumed delay, and all ticks.

    Sending commands early by the delay and comparing with the path that much later are the same
    motion, so one run serves all delays.
    """
    first = schedule.actuation_at(0.0)
    robot.move(first)
    robot.hold(REST, first)
    records = [ErrorRecord(schedule, lambda: 0, delay) for delay in delays]
    ticks: list[Tick] = []

    def note(time: float, tip: np.ndarray) -> None:
        for each in records:
            each.add(int(time * 1e9), tip)

    def command(time: float) -> np.ndarray:
        return schedule.actuation_at(min(time, schedule.duration))

    robot.run(schedule.duration + MAX_LAG, command, note, ticks.append)
    return records, ticks


def best_lag(ticks: list[Tick]) -> float:
    """Return the lag [s] with which measured pressures follow the commanded ones best.

    Needs no camera, so a laboratory can do the same with `actuator_state`.

    Raises
    ------
    RuntimeError
        There is none below `MAX_LAG`.
    """
    time = np.array([t.time for t in ticks])
    commanded = np.array([t.commanded for t in ticks])
    measured = np.array([t.measured for t in ticks])
    moving = time < time[-1] - MAX_LAG
    lags = np.arange(0.0, MAX_LAG, 0.002)
    cost = []
    for lag in lags:
        later = np.column_stack([np.interp(time + lag, time, column) for column in measured.T])
        off = (later - commanded)[moving]
        cost.append(float(np.var(off, axis=0).sum()))  # a regulator's own error is no lag
    best = int(np.argmin(cost))
    if best in (0, len(lags) - 1):
        raise RuntimeError('the pressures follow no lag below the longest one')
    return float(lags[best])


def identify(source: Path, folder: Path) -> tuple[Path, tuple[LegFit, ...], int]:
    """Record a table on the emulator, identify lambda(P), write a robot file."""
    robot = load_robot(source)
    emulated = VirtualRobot(source)
    rows: list[list[float]] = []
    for i, series in enumerate(sequences(robot.limits[0, 1], len(robot.actuators))):
        rows += record(emulated, series, CAMERA_NOISE, i)
    file, target = folder / 'postures.csv', folder / 'identified.yaml'
    write_table(file, [a.name for a in robot.actuators], rows)
    fits = identify_stretch(read_stretch_table(file, robot.model_object), robot.limits[:, 1])
    write_identified(robot.model_object.description, fits, target)
    return target, fits, len(rows)


def study(
    folder: Path,
    curves: tuple[str, ...] = CURVES,
    speeds: tuple[float, ...] = SPEEDS,
    source: Path | None = None,
    kinds: tuple[str, ...] = (NOMINAL, IDENTIFIED),
) -> StudyResult:
    """Do the study; `folder` receives the table and the identified robot file."""
    source = source or Path(find_robot_file('soft_parallel'))
    identified, fits, postures = identify(source, folder)
    nominal = load_robot(source)
    _, ticks = follow(VirtualRobot(source), plan(nominal, 'circle', 0.02), (0.0,))
    delay = best_lag(ticks)
    errors: dict[Key, float] = {}
    for kind in kinds:
        file = {NOMINAL: source, IDENTIFIED: identified}[kind]
        robot, emulated = load_robot(file), VirtualRobot(file)
        for curve in curves:
            for speed in speeds:
                found, _ = follow(emulated, plan(robot, curve, speed), (0.0, delay))
                for compensated, errors_of in zip((False, True), found, strict=True):
                    errors[(kind, curve, speed, compensated)] = errors_of.summary()[0]
    return StudyResult(errors, extent_of_workspace(nominal), delay, fits, postures)


def with_hysteresis(folder: Path, share: float) -> Path:
    """Write a variant of the robot file whose emulated legs have this hysteresis."""
    data = yaml.safe_load(Path(find_robot_file('soft_parallel')).read_text(encoding='utf-8'))
    data['emulator']['body']['hysteresis'] = f'{100.0 * share:g} %'
    file = folder / f'hysteresis_{100.0 * share:g}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def by_hysteresis(folder: Path, speeds: tuple[float, ...] = SPEEDS) -> list[dict[str, Any]]:
    """Follow the circle with other hysteresis assumed; errors as shares of the workspace.

    Curves identified from each robot itself, the delay compensated.
    """
    found = []
    for share in HYSTERESES:
        own = folder / f'{share:g}'
        own.mkdir()
        result = study(own, ('circle',), speeds, with_hysteresis(own, share), (IDENTIFIED,))
        means = {
            f'{100.0 * speed:g} cm/s': result.errors[IDENTIFIED, 'circle', speed, True]
            / result.extent
            for speed in speeds
        }
        found.append({'hysteresis': share, 'mean': means})
    return found


def values(result: StudyResult) -> dict[str, Any]:
    """Return what was found as JSON takes it, in SI units."""
    names = ('curves', 'curve', 'speed', 'compensated')
    return {
        'extent': result.extent,
        'delay': result.delay,
        'postures': result.postures,
        'errors': [
            {**dict(zip(names, key, strict=True)), 'error': error}
            for key, error in result.errors.items()
        ],
        'fits': [
            {
                'leg': fit.leg,
                'largest_stretch': float(fit.curve.values[-1]),
                'rms': float(fit.rms),
                'worst': float(fit.largest),
                'hysteresis': float(fit.hysteresis),
                'r_squared': float(fit.r_squared),
            }
            for fit in result.fits
        ],
    }


def page(kept: dict[str, Any]) -> str:
    """Write what is kept as a page of the documentation."""
    virtual, extent = kept['virtual'], kept['virtual']['extent']
    errors = {
        (e['curves'], e['curve'], e['speed'], e['compensated']): e['error']
        for e in virtual['errors']
    }
    lines = [
        '# Tracking of soft_parallel',
        '',
        'Written by `python -m soro_studies.system.soft_parallel_tracking --write '
        'docs/evidence/soft_parallel_tracking.md`.',
        '',
        f'Star, spiral and circle of {1e3 * SIZE:g} mm in a horizontal plane at z = '
        f'{1e3 * CENTRE[2]:g} mm, points every {1e3 * SPACING:g} mm, open loop: inverse solutions '
        'of the model `ancf`, sent through planner, driver, serial protocol and emulated box to '
        'the emulated robot. That robot has finer elements, other stiffness and mass, curves '
        'lambda(P), hysteresis (2 %), creep (4 %, 8 s), regulator errors and lag of its own. Mean '
        'distance (36) between the true tip and the point that was due, in per cent of the '
        f'longest extent of the workspace ({1e3 * extent:.0f} mm); the last column is the '
        'best one in mm. Computed in virtual time: one process, all the code of the real chain '
        'but the ROS topics and the scheduler.',
        '',
        '| Curve | Speed | Robot file | Robot file, delay | Identified | Identified, delay | mm |',
        '|---|---|---|---|---|---|---|',
    ]
    for speed in SPEEDS:
        rows = []
        for curve in CURVES:
            cells = [
                errors[(kind, curve, speed, compensated)]
                for kind in (NOMINAL, IDENTIFIED)
                for compensated in (False, True)
            ]
            rows.append([100.0 * c / extent for c in cells] + [1e3 * cells[-1]])
            lines.append(_row(curve, speed, rows[-1]))
        lines.append(_row('**mean**', speed, np.mean(rows, axis=0)))
        lines.append(f'| paper, on hardware | {100 * speed:g} cm/s | {PAPER[speed]} % | | | | |')
    lines += [
        '',
        '![Wanted and followed curves](../img/soft_parallel_tracking.png)',
        '',
        f'"Delay": commands are sent {1e3 * virtual["delay"]:.0f} ms early (parameter `delay` of '
        'the planner). That is the lag with which the measured pressures follow the commanded '
        'ones best; it needs no camera.',
        '',
        'The paper measured on hardware, whose friction, camera and manufacture no emulator has: '
        'smaller errors here say nothing about the prototype.',
        '',
        *_assumptions(kept['hysteresis']),
        '## Identified lambda(P)',
        '',
        f'From {virtual["postures"]} postures at rest: all legs up and down together in 12 steps, '
        'then each alone in 6. Tips with 0.2 mm of noise in each coordinate.',
        '',
        '| Leg | Largest stretch | rms | Worst | Hysteresis | R^2 |',
        '|---|---|---|---|---|---|',
    ]
    for fit in virtual['fits']:
        lines.append(
            f'| {fit["leg"]} | {fit["largest_stretch"]:.4f} | {fit["rms"]:.4f} '
            f'| {fit["worst"]:.4f} | {fit["hysteresis"]:.4f} | {fit["r_squared"]:.5f} |'
        )
    return '\n'.join(lines) + '\n'


def _assumptions(assumed: list[dict[str, Any]]) -> list[str]:
    """Return the table of errors by the hysteresis that is assumed."""
    if not assumed:
        return []
    speeds = list(assumed[0]['mean'])
    lines = [
        'What decides the comparison is the hysteresis that is assumed of the legs; the circle, '
        'curves identified from each robot, delay compensated:',
        '',
        f'| Hysteresis assumed | {" | ".join(speeds)} |',
        f'|---|{"---|" * len(speeds)}',
    ]
    for case in assumed:
        cells = ' | '.join(f'{100.0 * case["mean"][speed]:.2f} %' for speed in speeds)
        lines.append(f'| {100.0 * case["hysteresis"]:g} % | {cells} |')
    paper = ' | '.join(f'{PAPER[speed]} %' for speed in SPEEDS)
    return [*lines, f'| paper, on hardware, all curves | {paper} |', '']


def _row(name: str, speed: float, cells: np.ndarray | list[float]) -> str:
    shown = ' | '.join(f'{x:.2f} %' for x in cells[:-1])
    return f'| {name} | {100 * speed:g} cm/s | {shown} | {cells[-1]:.2f} |'


def write(file: Path) -> None:
    """Write the page of what is kept beside it; sections that others measured stay."""
    kept = json.loads(file.with_suffix('.json').read_text(encoding='utf-8'))
    old = file.read_text(encoding='utf-8') if file.is_file() else ''
    _, mark, measured = old.partition('\n## In real time')  # soft_parallel_real_time's own
    file.write_text(page(kept) + mark + measured, encoding='utf-8')


def main() -> None:
    """Run the study and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page to write; default: print it')
    parser.add_argument(
        '--hysteresis', action='store_true', help='only its table; the others stay as they are'
    )
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix='soro_tracking_') as folder:
        if not arguments.hysteresis:
            found['virtual'] = values(study(Path(folder)))
        found['hysteresis'] = by_hysteresis(Path(folder))
    if arguments.write:
        keep_values(Path(arguments.write), found)
        write(Path(arguments.write))
    else:
        print(json.dumps(found, indent=1))


if __name__ == '__main__':
    main()
