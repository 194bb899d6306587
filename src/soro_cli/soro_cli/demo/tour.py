# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A tour of any launchable robot: started, asked, moved along a curve, recorded, stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
import math
import os
from pathlib import Path
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
from std_srvs.srv import Trigger

from soro_cli.action_client import run_action
from soro_cli.demo.experiment import play_experiment, Player
from soro_cli.demo.journal import Tour
from soro_cli.demo.questions import ask_mechanics
from soro_cli.mechanics_online import OnlineMechanics, pose_message
from soro_cli.motion import ACTIVE, MotionWatch
from soro_cli.robot_choice import RunningRobot
from soro_cli.robot_process import RobotProcess, serves
from soro_cli.ros_session import RosSession
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_msgs.action import TrackTrajectory
from soro_node.display_units import shown, shown_position
from soro_node.user_errors import UserError
from soro_recording.bag_metadata import METADATA, PART
from soro_recording.bag_reader import BagReader

NAMESPACE = 'demo'
START_PATIENCE = 300.0  # s: the very first start compiles kernels, on a busy computer too
MOTION = 30.0  # s: the slowest actuators cross a third of their range in some seconds
REST = 3.0  # s a driver has to arm by itself, before it is asked to
TURNS = 6  # a computer with two cores loses the fastest devices now and then
SENDS = 3  # the planner refuses targets until it has heard of the driver
NEAR = 0.15  # of an actuator's range: a visit is no measurement, and muscles are coarse
SHARES = (0.35, 0.15, 0.45)  # of the range above rest, of postures that are visited
MODULE_BY_MODULE = 12  # more actuators than this stand in threes, module after module
EXTENT = (0.12, 0.06, 0.03, 0.015, 0.008)  # of the tip's distance from the base: curves tried
# Planes of the curve that are tried: its normal along z, x, y of base_link (quaternions).
PLANES = ((0.0, 0.0, 0.0, 1.0), (0.0, 0.5**0.5, 0.0, 0.5**0.5), (-(0.5**0.5), 0.0, 0.0, 0.5**0.5))
MIN_REACH = 0.05  # m, of a robot whose tip rests in the origin of its base
LOST = (Code.NOT_ACTIVE, Code.DEVICE_FAULT, Code.NO_STATE)
BODY = 'emulator/configuration'  # what the tracking error is measured with
RECORD_PATIENCE = 40.0  # s
MARK = 'of_soro_demo.txt'  # in the bag: it may be deleted by the next tour
VIEWER = re.compile(r'viewer: (http://\S+)')  # what the launch says


def run_tour(
    robot: str, output: Path, say: Callable[[str], None], experiment: bool = False
) -> Tour:
    """Run the tour, at its end the published experiment; the robot is stopped whatever happens.

    UserError: the folder holds a bag of somebody else; or the robot does not start, move, follow,
    answer or stop in order.
    """
    description = read_robot_file(find_robot_file(robot))
    log, bag = output / 'launch.txt', output / 'bag'
    make_room(bag)
    tour = Tour(description, bag, say)
    make_room(tour.experiment)
    say(f'starting {description.title} on its emulator (what it prints: {log})')
    words = [robot, f'namespace:={NAMESPACE}', 'viewer:=true']
    if 'haptic' in description.structure:
        words.append('haptics:=off')  # a device in somebody's hand follows no curve
    begin = time.monotonic()
    with RobotProcess(words, log) as process, RosSession() as session:
        running = RunningRobot(f'/{NAMESPACE}', description, session)
        _wait_ready(tour, running, process)
        seconds = time.monotonic() - begin
        tour.add('ready after', f'{seconds:.1f} s', start_seconds=seconds)
        _tell_viewer(tour, session, process)
        with _recording(bag, session):
            _visit(tour, running)
        if experiment:
            with _recording(tour.experiment, session):
                play_experiment(tour, running, process)
        code = process.stop()
    if code != 0:
        raise UserError(f'the robot ended with exit code {code}; see {log}')
    with BagReader(bag) as recorded:
        tour.add(
            'recorded',
            f'{recorded.count} messages in {recorded.duration:.0f} s, '
            f'{recorded.size / 1e6:.1f} MB',
            messages=recorded.count,
        )
    tour.add('seen again in the browser viewer by', f'soro view {shlex.quote(str(bag))}')
    return tour


def make_room(bag: Path) -> None:
    """Delete the bag of an earlier tour into the same folder, and nothing else of that name.

    UserError: something else is there.
    """
    if not os.path.lexists(bag):
        return
    found = set() if bag.is_symlink() or not bag.is_dir() else {p.name for p in bag.iterdir()}
    if MARK not in found or found - {MARK, METADATA, PART, f'{bag.name}_0.mcap'}:
        raise UserError(
            f'{bag} is in the way, and not (only) the bag of an earlier demo: move it elsewhere, '
            'or name another folder with --output'
        )
    shutil.rmtree(bag)


def _wait_ready(tour: Tour, robot: RunningRobot, process: RobotProcess) -> None:
    """Wait for the robot; a device that a busy computer has lost is armed again."""
    session, watch = robot.session, MotionWatch(robot)
    try:
        session.spin_until(
            lambda: not process.running or (watch.tip is not None and serves(session, robot)),
            START_PATIENCE,
        )
        if process.running and watch.state is not None:
            _armed(tour, robot, watch)
    finally:
        watch.close()
    process.wait_ready(session, robot, START_PATIENCE)


def _tell_viewer(tour: Tour, session: RosSession, process: RobotProcess) -> None:
    """Say where the robot can be watched, not in the report: by then there is nobody."""
    session.spin_until(lambda: VIEWER.search(process.output) is not None, REST)
    if found := VIEWER.search(process.output):
        tour.say(f'watch it: {found.group(1)}')


def _armed(tour: Tour, robot: RunningRobot, watch: MotionWatch) -> None:
    """Arm a device that is lost, as a person would, and tell it in the report.

    A computer that is busy with other work loses an emulated device as it would a real one. What
    is really broken is lost again at once.
    """

    def active() -> bool:
        return watch.state is not None and bool(watch.state.device_state == ACTIVE)

    name = f'{robot.prefix}/driver/clear_fault'
    if robot.session.spin_until(active, REST):
        return
    why = ''.join(watch.reasons()[:1])
    for _ in range(SENDS):
        said = robot.session.call(Trigger, name, Trigger.Request())
        if robot.session.spin_until(active, MOTION / SENDS):
            tour.add('armed the device again', why)
            return
    raise UserError(f'the device cannot be armed: {said.message}; {why}')


@contextmanager
def _recording(folder: Path, session: RosSession) -> Iterator[None]:
    command = [sys.executable, '-m', 'soro_cli.main', 'record', '-n', NAMESPACE, '-o', str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:

        def heard() -> bool:
            _mark(folder)
            return process.poll() is not None or _is_recorded(session)

        try:
            if not session.spin_until(heard, RECORD_PATIENCE):
                raise UserError(f'the recorder did not start within {RECORD_PATIENCE:g} s')
            yield
            session.spin_until(lambda: False, 0.5)  # what is under way gets into the bag
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=RECORD_PATIENCE)
            _mark(folder)  # interrupted before the folder was seen
    if process.returncode != 0:
        raise UserError(f'soro record ended with {process.returncode}: {said.decode().strip()}')


def _mark(folder: Path) -> None:
    """Mark the bag as a demo's as soon as it is there: else an unfinished one is in the way."""
    if folder.is_dir() and not (folder / MARK).exists():
        (folder / MARK).write_text('The next `soro demo` into this folder replaces it.\n')


def _is_recorded(session: RosSession) -> bool:
    """Whether the recorder listens; it finds all topics at once, and others listen too."""
    topic = f'/{NAMESPACE}/workspace'
    listeners = session.node.get_subscriptions_info_by_topic(topic)
    return any(listener.node_name == 'recorder' for listener in listeners)


def _visit(tour: Tour, robot: RunningRobot) -> None:
    player, watch = Player(robot), MotionWatch(robot)
    mechanics = OnlineMechanics(robot)
    try:
        for share in SHARES:
            _go(tour, robot, player, watch, _posture(tour.robot, share, lopsided=True))
        tour.add('visited', f'{len(SHARES)} postures')
        _ask(tour, robot, mechanics, watch)
        centre = _posture(tour.robot, SHARES[0], lopsided=False)
        for _ in range(TURNS):
            _go(tour, robot, player, watch, centre)
            if _follow(tour, robot, watch):
                break
        else:
            raise UserError(f'the device is lost again and again: {"; ".join(watch.reasons())}')
        _go(tour, robot, player, watch, tour.robot.rest)
    finally:
        watch.close()


def _ask(tour: Tour, robot: RunningRobot, mechanics: OnlineMechanics, watch: MotionWatch) -> None:
    """Ask where the robot is; once more where the device has just been lost."""
    for left in reversed(range(SENDS)):
        _armed(tour, robot, watch)
        before = len(tour.lines)
        try:
            ask_mechanics(tour, mechanics, watch)
            return
        except UserError as error:
            if error.code not in LOST or left == 0:
                raise
            del tour.lines[before:]


def _posture(robot: RobotDescription, share: float, lopsided: bool) -> Array:
    """Return a posture away from rest: all actuators alike, or one after the other less."""
    rest, low, high = robot.rest, robot.minimum, robot.maximum
    two_sided = np.any(rest > low + 1e-9 * (high - low))
    threes = len(rest) > MODULE_BY_MODULE
    if two_sided and not lopsided and not threes:
        return rest  # the middle of its travel
    weights = np.ones(len(rest))
    if threes:
        # a backbone at its full length reaches no curve: one of every three muscles does more
        weights[np.arange(len(rest)) % 3 != 0] = 0.3
    elif lopsided:
        weights = np.linspace(1.0, 0.3, len(rest))
    # Two-sided actuators have half the way, and act against each other when all move alike.
    reach = (high - rest) * share * weights * (0.4 if two_sided else 1.0)
    for limit in robot.coupled_limits:
        total = float(limit.coefficients @ (rest + reach))
        if total > limit.maximum:
            reach *= 0.9 * limit.maximum / total
    return rest + reach


def _go(
    tour: Tour, robot: RunningRobot, player: Player, watch: MotionWatch, target: Array
) -> None:
    for _ in range(SENDS):
        _armed(tour, robot, watch)
        player.send(target)
        if watch.wait(lambda: watch.near_actuation(target.tolist(), NEAR), MOTION / SENDS):
            return
    raise UserError(f'the robot does not follow: {"; ".join(watch.reasons())}')


def _by_the_body(robot: RunningRobot, watch: MotionWatch) -> str:
    """Have a robot that measures nothing be judged by its emulated body; how to say that."""
    if not all(math.isnan(value) for value in watch.state.measured):
        return ''
    robot.session.set_parameter(f'{robot.prefix}/trajectory_planner', 'feedback', BODY)
    return ', by the emulated body: the robot has no sensors'


def _follow(tour: Tour, robot: RunningRobot, watch: MotionWatch) -> bool:
    """Follow the largest circle that can be planned; whether the device was there all the time."""
    judged = _by_the_body(robot, watch)
    centre = list(watch.tip)
    reach = max(float(np.linalg.norm(centre)), MIN_REACH)
    action = f'{robot.prefix}/trajectory_planner/track_trajectory'

    def run(size: float, plane: tuple[float, ...], plan_only: bool) -> Any:
        goal = TrackTrajectory.Goal(
            curve='circle',
            curve_pose=pose_message(centre, plane),
            size=size,
            plan_only=plan_only,
            speed=size,  # a turn takes two pi seconds
            spacing=0.1 * size,
        )
        return run_action(robot.session, TrackTrajectory, action, goal, lambda _: None)

    why = ''
    for share in EXTENT:
        for plane in PLANES:
            plan = run(share * reach, plane, True)
            if plan.error_code in LOST:
                return False
            if plan.error_code == 0:
                size = share * reach
                result = run(size, plane, False)
                if result.error_code in LOST:
                    return False
                if result.error_code != 0:
                    raise UserError(f'track_trajectory: {result.error_message}', result.error_code)
                tour.add(
                    f'circle of {shown(size, "m")}',
                    f'RMSE at each moment {shown(result.rms_error, "m")}, '
                    f'peak {shown(result.peak_error, "m")}, '
                    f'{result.relative_error:.2%} of the workspace{judged}',
                    size=size,
                    rms_error=float(result.rms_error),
                    peak_error=float(result.peak_error),
                    relative_error=float(result.relative_error),
                )
                return True
            why = plan.error_message
    raise UserError(f'no circle around {shown_position(centre)} can be followed: {why}')
