# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What feedback on the measured tip is worth: stiff_flop launched with an emulated tracker.

    python -m soro_studies.system.tip_feedback --write docs/evidence/tip_feedback.md

The emulated body differs from the model by what the robot file says, and in further rows bears a
load that no node knows. Errors are of the emulated body's own tip, not of what the tracker says.
The parameters of the controller are the defaults; the planner's `delay` is that of `DELAYS` with
which feedforward follows a circle best, without a load.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from datetime import date
from pathlib import Path
import tempfile
from typing import Any

from geometry_msgs.msg import Point, Pose, PoseStamped
import numpy as np
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters

from soro_cli.action_client import run_action
from soro_driver.device import DeviceState
from soro_mechanics.core.configuration import Array
from soro_msgs.action import TrackTrajectory
from soro_msgs.msg import TipTarget
from soro_studies.system.launched_robot import launched_robot, LaunchedRobot
from soro_studies.system.measured_section import keep_values, replace_section

GOAL = TrackTrajectory.Goal
CONTROLS = {'feedforward': GOAL.FEEDFORWARD, 'feedback': GOAL.FEEDBACK}
LOADS = {'none': 0.0, '0.2 N': 0.2, '0.5 N': 0.5}  # N, along x
TARGET = (-0.002, 0.004, 0.047)  # m
CENTRE, SIZE = (0.0, 0.0, 0.046), 0.006  # m
DELAYS = (0.0, 0.05, 0.1, 0.15)  # s
CURVES, SPEEDS = ('circle', 'star', 'spiral'), (0.01, 0.04)  # m/s
ATTEMPTS = 10
REST, LOOK = 6.0, 2.0  # s: until it rests, and of the mean


def set_parameter(robot: LaunchedRobot, node: str, name: str, value: ParameterValue) -> None:
    """Set a parameter; RuntimeError where it is refused."""
    request = SetParameters.Request(parameters=[Parameter(name=name, value=value)])
    called = f'{robot.robot.namespace}/{node}/set_parameters'
    (result,) = robot.session.call(SetParameters, called, request).results
    if not result.successful:
        raise RuntimeError(f'{node}.{name}: {result.reason}')


def ready(robot: LaunchedRobot) -> None:
    """Clear the driver, where it needs that, and wait until it and the tracker are there."""
    client = 'driver/clear_fault'
    for _ in range(ATTEMPTS):
        if robot.state() == DeviceState.ACTIVE or robot.call(client).success:
            break
        robot.spin(1.0)
    robot.wait(lambda: robot.watch.tip_measured is not None, 20.0, 'tip_measured')


def load(robot: LaunchedRobot, force: float) -> None:
    """Hang a force [N] along x on the tip, which only the emulator knows."""
    wrench = [force, *[0.0] * 5]
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE_ARRAY, double_array_value=wrench)
    set_parameter(robot, 'emulator', 'hidden_wrench', value)


def control(robot: LaunchedRobot, name: str) -> None:
    """Choose who decides where targets lead."""
    value = ParameterValue(type=ParameterType.PARAMETER_STRING, string_value=name)
    set_parameter(robot, 'trajectory_planner', 'control', value)


def delay(robot: LaunchedRobot, seconds: float) -> None:
    """Tell the planner how late the robot is [s]."""
    value = ParameterValue(type=ParameterType.PARAMETER_DOUBLE, double_value=seconds)
    set_parameter(robot, 'trajectory_planner', 'delay', value)


def best_delay(robot: LaunchedRobot) -> float:
    """Return the delay [s] that fits feedforward best, and leave it set."""
    errors = {}
    for seconds in DELAYS:
        delay(robot, seconds)
        errors[seconds] = path_error(robot, 'circle', SPEEDS[1], 'feedforward')[0]
    found = min(errors, key=lambda seconds: errors[seconds])
    delay(robot, found)
    print('delay', errors, flush=True)
    return found


def true_tip(robot: LaunchedRobot) -> Array:
    """Return where the emulated body's tip is [m]."""
    p = robot.shapes['emulator/configuration'].tip.position
    return np.array([p.x, p.y, p.z])


def steady_error(robot: LaunchedRobot, target: tuple[float, ...]) -> float:
    """Send a target pose and return the mean distance from it at rest [m]."""
    topic = f'{robot.robot.namespace}/tip_target'
    publisher = robot.session.node.create_publisher(TipTarget, topic, 1)
    robot.wait(lambda: publisher.get_subscription_count() > 0, 5.0, 'a listening planner')
    x, y, z = target
    errors: list[float] = []
    for _ in range(ATTEMPTS):
        ready(robot)
        publisher.publish(TipTarget(pose=Pose(position=Point(x=x, y=y, z=z))))
        robot.spin(REST)
        if robot.state() == DeviceState.ACTIVE and max(robot.watch.measured) > 1e3:
            break
    while len(errors) < LOOK * 30:
        before = robot.shapes['emulator/configuration']
        robot.wait(
            lambda seen=before: robot.shapes['emulator/configuration'] is not seen, 5.0, 'truth'
        )
        errors.append(float(np.linalg.norm(true_tip(robot) - np.array(target))))
    robot.session.node.destroy_publisher(publisher)
    return float(np.mean(errors))


def path_error(robot: LaunchedRobot, curve: str, speed: float, name: str) -> tuple[float, float]:
    """Follow a curve and return the mean and the largest true error [m]."""
    x, y, z = CENTRE
    goal = GOAL(
        curve=curve,
        size=SIZE,
        speed=speed,
        control=CONTROLS[name],
        reference=GOAL.EMULATED,
        curve_pose=PoseStamped(pose=Pose(position=Point(x=x, y=y, z=z))),
    )
    action = f'{robot.robot.namespace}/trajectory_planner/track_trajectory'
    for _ in range(ATTEMPTS):
        result = run_action(robot.session, TrackTrajectory, action, goal, lambda feedback: None)
        # A busy computer loses the device, or the tracker for a while: that is another study.
        if not result.error_code and not result.error_message:
            return float(result.mean_error), float(result.peak_error)
        print(f'again: {result.error_message}', flush=True)
        ready(robot)
    raise RuntimeError(f'{curve}, {name}: {result.error_message}\n{robot.story}')


def rows(robot: LaunchedRobot) -> Iterator[dict[str, Any]]:
    """Measure everything, row by row."""
    for words, force in LOADS.items():
        load(robot, force)
        row: dict[str, Any] = {'motion': 'at rest', 'speed': 0.0, 'load': force}
        for name in CONTROLS:
            control(robot, name)
            row[name] = steady_error(robot, TARGET)
            row[f'{name}_peak'] = None
        print(words, row, flush=True)
        yield row
        if words == '0.2 N':
            continue
        for curve in CURVES:
            for speed in SPEEDS:
                row = {'motion': curve, 'speed': speed, 'load': force}
                for name in CONTROLS:
                    row[name], row[f'{name}_peak'] = path_error(robot, curve, speed, name)
                print(words, row, flush=True)
                yield row


def section(found: list[dict[str, Any]], late: float) -> str:
    """Write what was found as a section of a page."""
    out = [
        '## Errors of the true tip, stiff_flop',
        '',
        f'Written on {date.today()}; `delay` {late:g} s. Mean (largest).',
        '',
        '| Motion | Unknown load | Feedforward | Feedback |',
        '|---|---|---|---|',
    ]
    for row in found:
        speed = f', {100 * row["speed"]:g} cm/s' if row['speed'] else ''
        cells = ' | '.join(_cell(row[name], row[f'{name}_peak']) for name in CONTROLS)
        out.append(f'| {row["motion"]}{speed} | {row["load"]:g} N | {cells} |')
    return '\n'.join(out) + '\n'


def _cell(mean: float, peak: float | None) -> str:
    largest = '' if peak is None else f' ({1e3 * peak:.2f})'
    return f'{1e3 * mean:.2f}{largest} mm'


def main() -> None:
    """Run the study and write its section."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix='soro_tip_feedback_') as folder:
        with launched_robot(['stiff_flop', 'tracker:=true'], Path(folder)) as robot:
            robot.move([0.3e5] * 3)
            ready(robot)
            late = best_delay(robot)
            found = list(rows(robot))
    if arguments.write:
        page = Path(arguments.write)
        keep_values(page, {'date': date.today().isoformat(), 'delay': late, 'rows': found})
        replace_section(page, section(found, late))
    else:
        print(section(found, late))


if __name__ == '__main__':
    main()
