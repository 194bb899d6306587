# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The demo: a robot is started, moved through a published experiment, asked, recorded, stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
import math
from pathlib import Path
import time
from typing import Any

import numpy as np

from soro_cli.demo_pattern import BAR, Stretch, stretches
from soro_cli.demo_recording import RATE, Recorder, Recording
from soro_cli.mechanics_online import OnlineMechanics
from soro_cli.motion import MotionWatch
from soro_cli.robot_choice import RunningRobot
from soro_cli.robot_process import RobotProcess
from soro_cli.ros_session import RosSession
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorCommand
from soro_node.user_errors import UserError

ROBOT, NAMESPACE = 'stiff_flop', 'demo'
START_PATIENCE = 90.0  # s: the very first start compiles kernels
LISTENING = 60.0  # s; the planner comes last, and late on a busy computer
SENDS = 3  # the planner refuses targets until it has heard of the driver
PROBE = (
    0.7 * BAR,
    0.3 * BAR,
    0.2 * BAR,
)  # Pa, held while the services are asked; inside the limits
Say = Callable[[str], None]


@dataclass(frozen=True)
class StretchResult:
    """One row of the summary: maxima and errors of one amplitude."""

    label: str
    bending_model: float
    bending_plant: float
    elongation_model: float
    elongation_plant: float
    position_rmse: float
    pressure_rmse: float


@dataclass(frozen=True)
class DemoResult:
    """Everything the demo found."""

    recording: Recording
    rows: list[StretchResult]
    answers: list[str]
    start_seconds: float


def run_demo(output: Path, say: Say) -> DemoResult:
    """Run the whole demo; the robot is stopped and its exit code checked.

    Raises
    ------
    UserError
        The robot does not start, does not follow, does not answer, or does not stop cleanly.
    """
    log = output / 'launch.txt'
    say(f'starting {ROBOT} on its emulator (what it prints: {log})')
    start = time.monotonic()
    description = read_robot_file(find_robot_file(ROBOT))
    with RobotProcess([ROBOT, f'namespace:={NAMESPACE}'], log) as process, RosSession() as session:
        robot = RunningRobot(f'/{NAMESPACE}', description, session)
        process.wait_ready(session, robot, START_PATIENCE)
        ready = time.monotonic() - start
        say(f'ready after {ready:.1f} s')
        player = Player(robot)
        answers = _ask(robot, player, say)
        recording, marks = _play(robot, player, process, say)
        say('stopping')
        code = process.stop()
    if code != 0:
        raise UserError(f'the robot ended with exit code {code}; see {log}')
    rows = [_evaluate(s, recording.part(a, b)) for s, a, b in marks]
    return DemoResult(recording, rows, answers, ready)


class Player:
    """Publishes targets."""

    def __init__(self, robot: RunningRobot) -> None:
        self._robot = robot
        node = robot.session.node
        self._publisher = node.create_publisher(
            ActuatorCommand, f'{robot.namespace}/target_actuation', 1
        )
        if not robot.session.spin_until(
            lambda: self._publisher.get_subscription_count() > 0, LISTENING
        ):
            raise UserError('the trajectory planner does not listen to target_actuation')

    def send(self, pressures: Any) -> None:
        """Send one target [Pa]."""
        actuators = self._robot.description.actuators
        node = self._robot.session.node
        message = ActuatorCommand(
            source=node.get_fully_qualified_name(),
            name=[a.name for a in actuators],
            quantity=[a.quantity_code for a in actuators],
            value=[float(p) for p in pressures],
        )
        message.header.stamp = node.get_clock().now().to_msg()
        self._publisher.publish(message)


def _ask(robot: RunningRobot, player: Player, say: Say) -> list[str]:
    """Hold a bent shape and ask for the way there and for the compliance."""
    watch = MotionWatch(robot)
    for _ in range(SENDS):
        player.send(PROBE)
        if watch.wait(lambda: watch.near_actuation(PROBE, 0.03), 4.0):
            break
    else:
        raise UserError(f'the robot does not follow: {"; ".join(watch.reasons())}')
    mechanics = OnlineMechanics(robot)
    tip = list(watch.tip)
    watch.close()
    mechanics.inverse(tip, None, 0, [0.0] * 6, '')  # finds the service; the next one is timed
    mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
    begin = time.monotonic()
    inverse = mechanics.inverse(tip, None, 0, [0.0] * 6, '')
    inverse_time = time.monotonic() - begin
    if inverse.error_code != 0:
        raise UserError(f'solve_inverse: {inverse.error_message}', inverse.error_code)
    begin = time.monotonic()
    compliance = mechanics.compliance(None, [0.0] * 6, '', 'tangent', False)
    compliance_time = time.monotonic() - begin
    if compliance.error_code != 0:
        raise UserError(f'compute_compliance: {compliance.error_message}', compliance.error_code)
    found = ' / '.join(f'{p / BAR:.3f}' for p in inverse.actuation)
    held = ' / '.join(f'{p / BAR:.3f}' for p in PROBE)
    softest = compliance_text(compliance.points[0].principal_compliance)
    answers = [
        f'IK of the tip at {held} bar: {found} bar, {1e3 * inverse_time:.1f} ms',
        f'compliance there: {softest}, {1e3 * compliance_time:.1f} ms',
    ]
    for answer in answers:
        say(answer)
    return answers


def compliance_text(principal: Iterable[float]) -> str:
    """Return principal compliances [m/N] for people."""
    return ' / '.join(f'{100.0 * c:.2f}' for c in principal) + ' cm/N'


def _play(
    robot: RunningRobot, player: Player, process: RobotProcess, say: Say
) -> tuple[Recording, list[tuple[Stretch, float, float]]]:
    player.send(np.zeros(3))
    robot.session.spin_until(lambda: False, 1.5)
    recorder = Recorder(robot)
    robot.session.spin_until(lambda: recorder.begun, 5.0)
    begin = time.monotonic()
    marks = []
    elapsed = 0.0
    for stretch in stretches():
        say(f'playing {stretch.label}')
        while (now := time.monotonic() - begin) < elapsed + stretch.duration:
            player.send(stretch.pressure(now - elapsed))
            step = math.floor(now * RATE + 1.0) / RATE - now
            robot.session.spin_until(lambda: False, step)
            if not process.running:
                raise UserError(f'the robot ended with {process.process.returncode}')
        marks.append((stretch, elapsed, elapsed + stretch.duration))
        elapsed += stretch.duration
    player.send(np.zeros(3))
    robot.session.spin_until(lambda: False, 1.0)
    return recorder.finish(), marks


def _evaluate(stretch: Stretch, part: Recording) -> StretchResult:
    follow = float(np.sqrt(np.mean((part.measured - part.commanded) ** 2)))
    if follow > 0.15 * stretch.amplitude * BAR:
        raise UserError(
            f'{stretch.label}: the pressures are {follow / BAR:.2f} bar (RMS) off the command'
        )
    apart = np.linalg.norm(part.model[:, :3] - part.plant[:, :3], axis=1)
    return StretchResult(
        stretch.label,
        float(part.model[:, 3].max()),
        float(part.plant[:, 3].max()),
        float(part.model[:, 4].max()),
        float(part.plant[:, 4].max()),
        float(np.sqrt(np.mean(apart**2))),
        follow,
    )
