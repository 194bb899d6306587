# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How well soft_parallel follows curves in real time: all nodes, the wire, the emulator's process.

    python -m soro_studies.system.soft_parallel_real_time --write FILE

Launches the robot as a user does and calls the action of its planner: with the curves lambda(P) of
the robot file, then with the identified ones and the measured delay compensated. The planner
measures against the emulated robot itself. Wants a quiet computer; takes seven minutes. With
`--fast` the serial line runs at 921600 Bd and everything on it at 500 Hz.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
import json
from pathlib import Path
import tempfile
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Point, Pose, PoseStamped
import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
import yaml

from soro_cli.action_client import run_action
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.action import TrackTrajectory
from soro_studies.system.launched_robot import launched_robot, LaunchedRobot
from soro_studies.system.measured_section import keep_values, replace_section
from soro_studies.system.soft_parallel_tracking import (
    CENTRE,
    CURVES,
    IDENTIFIED,
    identify,
    NOMINAL,
    PAPER,
    SIZE,
    SPACING,
    SPEEDS,
)

DELAY = 0.076  # s: what soft_parallel_tracking finds between command and pressure
FIRST = 3e4  # Pa
FAST_RATE, FAST_BAUD = 500.0, 921600  # 1/s, Bd
COUNTED = ('link_crc_errors', 'link_malformed', 'link_strange', 'timeouts', 'reconnections')
RUNS = ((NOMINAL, 0.0), (IDENTIFIED, DELAY))


@dataclass(frozen=True)
class Run:
    """One curve followed once.

    Attributes
    ----------
    curve : str
    speed : float
        [m/s]
    error : float
        Mean distance (36) between true tip and the point that was due [m].
    relative : float
        The same over the longest extent of the workspace.
    """

    curve: str
    speed: float
    error: float
    relative: float


class DriverFigures:
    """The newest figures of the driver's diagnostics."""

    def __init__(self, robot: LaunchedRobot) -> None:
        self.values: dict[str, str] = {}
        self._names = [f'{robot.robot.prefix}/driver: {part}' for part in ('device', 'loop')]
        robot.session.node.create_subscription(DiagnosticArray, '/diagnostics', self._note, 20)

    def _note(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if status.name in self._names:
                self.values.update({v.key: v.value for v in status.values})


def set_parameters(robot: LaunchedRobot, feedback: str, delay: float) -> None:
    """Tell the planner what to measure its error with, and how late the robot is [s]."""
    text = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=feedback)
    number = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=delay)
    request = SetParameters.Request(
        parameters=[Parameter(name='feedback', value=text), Parameter(name='delay', value=number)]
    )
    name = f'{robot.robot.prefix}/trajectory_planner/set_parameters'
    results = robot.session.call(SetParameters, name, request).results
    if not all(r.successful for r in results):
        raise RuntimeError(str(results))


def follow(robot: LaunchedRobot, curve: str, speed: float) -> Run:
    """Follow a curve through the planner's action."""
    x, y, z = CENTRE
    goal = TrackTrajectory.Goal(
        curve=curve,
        size=SIZE,
        speed=speed,
        spacing=SPACING,
        curve_pose=PoseStamped(pose=Pose(position=Point(x=x, y=y, z=z))),
    )
    name = f'{robot.robot.prefix}/trajectory_planner/track_trajectory'
    result = run_action(robot.session, TrackTrajectory, name, goal, lambda feedback: None)
    if result.error_code:
        raise RuntimeError(f'{curve} at {speed} m/s: {result.error_message}\n{robot.story}')
    return Run(curve, speed, result.mean_error, result.relative_error)


@contextmanager
def running(file: Path, folder: Path) -> Iterator[tuple[LaunchedRobot, DriverFigures]]:
    """Launch the robot of a file on its emulator; the planner measures with the truth."""
    words = ['soft_parallel', f'robot:={file}']
    with launched_robot(words, folder, robot='soft_parallel') as robot:
        robot.move([FIRST] * len(robot.robot.description.actuators))  # until the planner is heard
        yield robot, DriverFigures(robot)
        code = robot.process.stop()
        if code:
            raise RuntimeError(f'the robot ended with {code}\n{robot.process.output}')


def faster(source: Path, folder: Path) -> Path:
    """Write a variant whose serial line and driver run at 500 Hz."""
    data = yaml.safe_load(source.read_text(encoding='utf-8'))
    data['driver'] |= {'rate': f'{FAST_RATE:g} Hz'}
    data['driver']['dspace'] |= {'baudrate': FAST_BAUD, 'rate': f'{FAST_RATE:g} Hz'}
    file = folder / 'fast.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return file


def study(folder: Path, fast: bool) -> tuple[dict[tuple[str, float], list[Run]], list[str]]:
    """Follow everything; returns runs by (whose curves, delay) and the driver's figures."""
    source = Path(find_robot_file('soft_parallel'))
    files = {NOMINAL: source, IDENTIFIED: identify(source, folder)[0]}
    runs: dict[tuple[str, float], list[Run]] = {}
    lines = []
    for kind, delay in RUNS[-1:] if fast else RUNS:
        file = faster(files[kind], folder) if fast else files[kind]
        with running(file, folder) as (robot, figures):
            set_parameters(robot, 'emulator/configuration', delay)
            begin = time.monotonic()
            made = runs[kind, delay] = []
            for speed in SPEEDS:
                for curve in CURVES:
                    made.append(follow(robot, curve, speed))
                    print(f'{kind}, {1e3 * delay:.0f} ms: {made[-1]}', flush=True)
            robot.wait(lambda: 'p99' in ' '.join(figures.values), 5.0, 'figures of the driver')
            lines.append(summary(figures.values, time.monotonic() - begin))
            print(lines[-1], flush=True)
    return runs, lines


def summary(values: dict[str, str], seconds: float) -> str:
    """Say what the driver counted on the wire and how its loop kept time."""
    counts = ', '.join(f'{name.replace("_", " ")} {values[name]}' for name in COUNTED)
    loop = ', '.join(
        f'{part} {float(values[f"lateness_{part}_ms"]):.2f}' for part in ('p50', 'p99', 'p99.9')
    )
    return (
        f'{seconds:.0f} s at {float(values["rate_hz"]):.0f} Hz: {values["link_frames"]} frames '
        f'received; {counts}; {values["ticks"]} ticks, {values["missed"]} slots missed, lateness '
        f'in ms: {loop}.'
    )


def line(fast: bool) -> str:
    """Name the wire and its rate."""
    return f'{FAST_BAUD} Bd, 500 Hz' if fast else '115200 Bd, 100 Hz'


def values(runs: dict[tuple[str, float], list[Run]], lines: list[str]) -> dict[str, Any]:
    """Return what was found as JSON takes it, in SI units."""
    return {
        'date': date.today().isoformat(),
        'runs': [
            {'curves': kind, 'delay': delay, **vars(run)}
            for (kind, delay), made in runs.items()
            for run in made
        ],
        'driver': lines,
    }


def section(runs: dict[tuple[str, float], list[Run]], lines: list[str], fast: bool) -> str:
    """Write what was found as a section of a page."""
    what = line(fast)
    titles = [f'{kind}{", delay" if delay else ""}' for kind, delay in runs]
    out = [
        f'## In real time, {what}',
        '',
        f'Written on {date.today()} by `python -m soro_studies.system.soft_parallel_real_time'
        f'{" --fast" if fast else ""}`: the launched robot with all its nodes, topics, the serial '
        'protocol and the emulator as processes of their own. Mean distance (36) between the '
        'emulated tip and the point that was due, in per cent of the workspace.',
        '',
        '| Curve | Speed | ' + ' | '.join(t.capitalize() for t in titles) + ' | mm |',
        '|---|---|' + '---|' * (len(titles) + 1),
    ]
    columns = list(runs.values())
    for speed in SPEEDS:
        rows = [[r for r in column if r.speed == speed] for column in columns]
        for cells in zip(*rows, strict=True):
            out.append(_row(cells[0].curve, speed, cells))
        means = [np.mean([r.relative for r in row]) for row in rows]
        out.append(
            f'| **mean** | {100 * speed:g} cm/s | '
            + ' | '.join(f'{100 * m:.2f} %' for m in means)
            + f' | {1e3 * np.mean([r.error for r in rows[-1]]):.2f} |'
        )
        blank = ' |' * (len(titles) + 1)
        out.append(f'| paper, on hardware | {100 * speed:g} cm/s | {PAPER[speed]} %{blank}')
    out += ['', 'What the driver said of its line at the end of each launch:', '']
    out += [f'- {title}: {words}' for title, words in zip(titles, lines, strict=True)]
    return '\n'.join(out) + '\n'


def _row(name: str, speed: float, cells: tuple[Run, ...]) -> str:
    shares = ' | '.join(f'{100 * c.relative:.2f} %' for c in cells)
    return f'| {name} | {100 * speed:g} cm/s | {shares} | {1e3 * cells[-1].error:.2f} |'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    parser.add_argument('--fast', action='store_true', help='921600 Bd, 500 Hz')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='soro_real_time_') as folder:
        runs, lines = study(Path(folder), arguments.fast)
    text = section(runs, lines, arguments.fast)
    if arguments.write:
        page = Path(arguments.write)
        stored = json.loads(page.with_suffix('.json').read_text(encoding='utf-8'))
        measured = stored.get('real_time', {}) | {line(arguments.fast): values(runs, lines)}
        keep_values(page, {'real_time': measured})
        replace_section(page, text)
    else:
        print(text)


if __name__ == '__main__':
    main()
