# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What `input_shaping` leaves of the swing of emulated robots, beside what the planner says.

    python -m soro_studies.system.shaped_motions --write docs/evidence/plant_assumptions.md

Robots, drives and bodies of `plant_assumptions` as their files say, in virtual time, at the rates
of the planner. The body's stiffness, mass and damping are others than those that shape. With
`--live` soft_parallel as it is launched: planner, driver and emulator as processes in real time,
the option set as a person does; truth and commands by their stamps.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from functools import cache
from pathlib import Path
import tempfile
from typing import Any

import numpy as np
import yaml

from soro_driver.device import DeviceState
from soro_mechanics import load_robot
from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.msg import ActuatorState
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_studies.system.launched_robot import launched_robot, LaunchedRobot
from soro_studies.system.measured_section import keep_values, kept_values, replace_section
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
LIVE, LOADING = 'soft_parallel', 300.0  # s: the first use compiles
TRIES, SEEN = 8, 10  # poses of the body in three periods, at 30 Hz 19
# s until drives are there; shares of the ranges, or of a bend of all modules
LEGS_MOVE, MUSCLES_MOVE = (0.4, (0.15, 0.3, 0.6)), (1.5, (0.05, 0.15, 0.3))
BEND = 0.01 * np.array([1.0, -0.5, -0.5])  # m, of the muscles of a module


def ends(scene: Scene, tip: VirtualTip, share: float) -> tuple[Array, Array]:
    """Return where a motion begins and ends (m,): a first leg is pressed; a bend turns."""
    rest = tip._rest
    if scene is MUSCLES:
        modules = len(rest) // len(BEND)
        bends = [np.tile(np.roll(share * BEND, k), modules) for k in range(2)]
        return rest + bends[0], rest + bends[1]
    return pressed(tip.robot, share)


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
    return {
        'robot': scene.robot,
        'share': share,
        'kind': kind,
        'seconds': took,
        'frequency': float(found.frequency[0]),
        'swing': way_about_drift(np.arange(len(places)), np.array(places)),
        **{k: v[0] for k, v in said.items() if k != 'modes'},
    }


def way_about_drift(time: Array, places: Array) -> float:
    """Return the longest way of places (n, 3) along an axis, less a straight drift."""
    slow = np.array([np.polyval(np.polyfit(time, x, 1), time) for x in places.T]).T
    return float(np.ptp(places - slow, axis=0).max())


def pressed(robot: Robot, share: float) -> tuple[Array, Array]:
    """Return rest, and a first leg pressed by a share of its range (m,)."""
    rest = np.array([a.rest for a in robot.actuators])
    return rest, rest + share * np.ptp(robot.limits, axis=1) * (np.arange(len(rest)) == 0)


@cache
def slowest(share: float) -> float:
    """Return the slowest mode [Hz] where the launched robot is pressed so far."""
    robot = load_robot(LIVE)
    return float(slowest_modes(robot, pressed(robot, share)[1]).frequency[0])


def live(robot: LaunchedRobot, share: float, kind: str) -> dict[str, Any]:
    """Move a launched robot as `swing` does; return the same of it."""
    node, space, model = robot.session.node, robot.robot.namespace, load_robot(LIVE)
    rest, end = pressed(model, share)
    robot.session.set_parameter(f'{space}/trajectory_planner', 'input_shaping', 'none')
    robot.move(rest)
    frequency = slowest(share)
    seen: list[tuple[float, Array]] = []
    asked: list[tuple[float, Array]] = []

    def see(message: ConfigurationMessage) -> None:
        place = message.tip.position
        seen.append((seconds(message), np.array([place.x, place.y, place.z])))

    def hear(message: ActuatorState) -> None:
        asked.append((seconds(message), np.array(message.commanded)))

    ears = [
        node.create_subscription(ConfigurationMessage, f'{space}/emulator/configuration', see, 5),
        node.create_subscription(ActuatorState, f'{space}/actuator_state', hear, 50),
    ]
    robot.spin(SETTLED)
    robot.session.set_parameter(f'{space}/trajectory_planner', 'input_shaping', kind)
    near = 1e-6 * np.ptp(model.limits, axis=1)
    robot.send(end)
    robot.wait(lambda: bool(asked) and bool((abs(asked[-1][1] - end) < near).all()), 20.0, 'end')
    begun = max(time for time, value in asked if (abs(value - rest) < near).all())
    ended = min(time for time, value in asked if (abs(value - end) < near).all())
    first, last = ended + LEGS_MOVE[0], ended + LEGS_MOVE[0] + PERIODS / frequency
    robot.wait(lambda: bool(seen) and seen[-1][0] > last, 20.0, 'emulator/configuration')
    for ear in ears:
        node.destroy_subscription(ear)
    kept = [(t - first, place) for t, place in seen if first <= t <= last]
    moved = {'share': share, 'kind': kind, 'seconds': ended - begun, 'frequency': frequency}
    swing = way_about_drift(*map(np.array, zip(*kept, strict=True))) if len(kept) > SEEN else 0.0
    return {'robot': LIVE, **moved, 'poses': len(kept), 'swing': swing}


def seconds(message: Any) -> float:
    """Return the stamp of a message within its day, exact to microseconds."""
    return float(message.header.stamp.sec % 86400) + 1e-9 * message.header.stamp.nanosec


def patient(folder: Path) -> str:
    """Write the robot with simulated drives, whose driver bears what a busy computer does."""
    data = yaml.safe_load(find_robot_file(LIVE).read_text(encoding='utf-8'))
    kept = {k: data['driver'][k] for k in ('engage_band', 'on_command_loss')}
    slow = dict.fromkeys(('command_timeout', 'feedback_timeout'), '3 s') | {'time_to_live': '500 ms'}
    data['driver'] = kept | slow | {'device': 'simulated', 'rate': '100 Hz'}
    data['emulator'] = {key: data['emulator'][key] for key in ('seed', 'body')}
    file = folder / f'{LIVE}.yaml'
    file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
    return str(file)


def lives(shares: Sequence[float] = LEGS_MOVE[1]) -> list[dict[str, Any]]:
    """Launch the robot and move it by shares, plain and shaped."""
    for share in shares:
        slowest(share)  # before this computer is busy with the robot
    with (
        tempfile.TemporaryDirectory() as folder,
        launched_robot(
            [file := patient(Path(folder)), 'viewer:=false', 'record:=false'],
            Path(folder),
            LIVE,
            file,
            LOADING,
            clearing=True,
        ) as robot,
    ):
        robot.go_to_rest()
        return [tried(robot, share, kind) for share in shares for kind in KINDS]


def tried(robot: LaunchedRobot, share: float, kind: str) -> dict[str, Any]:
    """Move as `live`, again where a stall of this computer stopped the robot or hid its body."""
    for _ in range(TRIES):
        if robot.state() != DeviceState.ACTIVE:
            robot.clear()
        with suppress(AssertionError):
            row = live(robot, share, kind)
            if row['poses'] > SEEN:
                print(row, flush=True)
                return row
    raise AssertionError(robot.story)


def go(tip: VirtualTip, end: Array, schedule: Schedule | None = None) -> None:
    """Move to an actuation (m,) as the planner does with a target, and wait for the stream."""
    stream, first = tip.stream, end if schedule is None else schedule.actuation[0]
    stream.go_to(first, tip._state(), tip.now, stream.generation, False, schedule)
    while stream.phase is not Phase.HOLD:
        tip.run(STEP)


def section(kept: dict[str, Any]) -> str:
    """Write the section from what the JSON keeps."""
    rows = kept['rows']
    out = [
        f'## {TITLE}',
        '',
        f"Written on {kept['date']}. Motions at the planner's rates, plain and shaped; swing: way "
        f"of the true tip in {PERIODS:g} periods of the slowest mode after the drives' lag "
        f'({LEGS_MOVE[0]:g} s, muscles {MUSCLES_MOVE[0]:g} s), less its slow drift. Said: what '
        'the planner reports as left of the slowest mode, part of that after a step; in brackets '
        "without shaping. Truth: part of the plain motion's swing.",
        '',
        '| Robot | Share | Shaping | Duration | Slowest mode | Swing | Said | Truth |',
        '|---|---|---|---|---|---|---|---|',
    ]
    for row in rows:
        said = f'{row["vibration"]:.2f} ({row["unshaped"]:.2f})' if 'vibration' in row else '-'
        out.append(
            f'| {row["robot"]} | {row["share"]:g} | {row["kind"]} | {row["seconds"]:.2f} s |'
            f' {row["frequency"]:.2f} Hz | {1e3 * row["swing"]:.2f} mm | {said} |'
            f' {part_of_plain(rows, row):.2f} |'
        )
    if 'live' not in kept:
        return '\n'.join(out) + '\n'
    real = kept['live']['rows']
    out += [
        '',
        f'{LIVE} launched with simulated drives (`--live`, {kept["live"]["date"]}): planner, driver '
        'and emulator in real time, the option set while they run; commands and truth by stamps.',
        '',
        '| Share | Shaping | Duration | Swing | Truth |',
        '|---|---|---|---|---|',
        *(
            f'| {row["share"]:g} | {row["kind"]} | {row["seconds"]:.2f} s |'
            f' {1e3 * row["swing"]:.2f} mm | {part_of_plain(real, row):.2f} |'
            for row in real
        ),
    ]
    return '\n'.join(out) + '\n'


def part_of_plain(rows: list[dict[str, Any]], row: dict[str, Any]) -> float:
    """Return the swing of a motion as a part of that of the same motion unshaped."""
    same = [r for r in rows if all(r[k] == row[k] for k in ('robot', 'share'))]
    return float(row['swing'] / next(r['swing'] for r in same if r['kind'] == KINDS[0]))


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', type=Path, help='page whose section is renewed')
    parser.add_argument('--live', action='store_true', help='the launched robot alone')
    arguments = parser.parse_args()
    kept = kept_values(arguments.write).get('shaping', {}) if arguments.write else {}
    today = date.today().isoformat()
    if arguments.live:
        kept['live'] = {'date': today, 'rows': lives()}
    else:
        scenes = next(s for s in SCENES if s.stiff == LEGS), MUSCLES
        moves = [(s, n) for s in scenes for n in (MUSCLES_MOVE if s is MUSCLES else LEGS_MOVE)[1]]
        kept |= {'date': today, 'rows': [swing(*move, k) for move in moves for k in KINDS]}
    print(section(kept) if 'rows' in kept else kept)
    if arguments.write:
        keep_values(arguments.write, {'shaping': kept})
        replace_section(arguments.write, section(kept))


if __name__ == '__main__':
    main()
