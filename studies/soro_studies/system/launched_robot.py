# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A whole robot for a test: launched by `soro launch`, watched, driven, broken, stopped.

Everything a system test needs stands here: nothing waits without a limit, nothing sleeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
import os
from pathlib import Path
import shlex
import signal
import subprocess
import time
from typing import Any

from geometry_msgs.msg import PoseStamped
from std_srvs.srv import Trigger

from soro_cli.mechanics_online import OnlineMechanics
from soro_cli.motion import MotionWatch
from soro_cli.robot_choice import RunningRobot
from soro_cli.robot_process import RobotProcess
from soro_cli.ros_session import RosSession
from soro_driver.device import DeviceState
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorCommand, Configuration
from soro_node.qos import LOSSY
from soro_rigs.event_log import EventReader
from soro_rigs.held_up import DISTURBS, HeldUp, judged
from soro_rigs.process_table import node_pid, ProcessTable

START = 150.0  # s; a start takes 3 to 5, on a busy machine far more
MOTION = 5.0  # s; a motion takes one
SENDS = 3
CLEAR_PERIOD = 2.0  # s
VERB = 110.0  # s for one command, on a computer that others use too
TRIPPED = (DeviceState.FAULT, DeviceState.INACTIVE)


class SeldomWatch(MotionWatch):
    """Listens to the model's tip from the first question for it on, as few tests ask one."""

    def __init__(self, robot: RunningRobot) -> None:
        super().__init__(robot, tips=False)

    @property
    def tip(self) -> list[float] | None:
        """The newest position of the model's tip [m]; the first one is waited for."""
        if self._tip is None:
            self._inbox.open(PoseStamped, self._tips, LOSSY)
            known = super()
            self._robot.session.spin_until(lambda: known.tip is not None, MOTION)
        return super().tip


class LaunchedRobot:
    """One running robot.

    Attributes
    ----------
    process : RobotProcess
    watch : SeldomWatch
        Newest state and tip.
    mechanics : OnlineMechanics
        The robot's services.
    ready_after : float
        From the launch to a driver that is active and services that answer [s].
    start_work : float
        Processor time that launcher and nodes had used by then [s].
    start_clearings : int
        How often a fault was cleared before the robot was ready.
    """

    def __init__(
        self,
        process: RobotProcess,
        session: RosSession,
        robot: RunningRobot,
        log: Path,
        started: float,
        patience: float = START,
        clearing: bool = False,
    ) -> None:
        self.process = process
        self.session = session
        self.robot = robot
        self.log = log
        self._events = EventReader(log)
        self.start_clearings = 0
        with HeldUp() as held, self._clearing_faults(0.0 if clearing else DISTURBS, held):
            process.wait_ready(session, robot, patience)
        self.ready_after = time.monotonic() - started
        self.start_work = ProcessTable().seconds(process.process.pid)
        self.watch = SeldomWatch(robot)
        self.mechanics = OnlineMechanics(robot)
        topic = f'{robot.prefix}/target_actuation'
        self._target = session.node.create_publisher(ActuatorCommand, topic, 1)
        self.wait(lambda: self._target.get_subscription_count() > 0, 5.0, 'a listening planner')
        self.wait(lambda: self.watch.state is not None, 5.0, 'actuator_state')

    @cached_property
    def shapes(self) -> dict[str, Configuration]:
        """Newest configurations, of model and ground truth, from the first question on.

        They are long messages, thirty times a second each, and few tests look at them.
        """
        found: dict[str, Configuration] = {}
        for name in ('configuration', 'emulator/configuration'):
            topic = f'{self.robot.prefix}/{name}'
            self.session.node.create_subscription(
                Configuration, topic, lambda m, n=name: found.update({n: m}), 1
            )
        return found

    @contextmanager
    def _clearing_faults(self, least: float, held: HeldUp) -> Iterator[None]:
        """Clear faults while the robot starts, as a person in front of a busy computer would.

        It has to have held something up for `least` [s].
        """
        watch, node = MotionWatch(self.robot, tips=False), self.session.node
        client = node.create_client(Trigger, f'{self.robot.prefix}/driver/clear_fault')

        def look() -> None:
            tripped = watch.stopped or (
                watch.state is not None and watch.state.device_state in TRIPPED
            )
            if tripped and held.longest >= least and client.service_is_ready():
                self.start_clearings += 1
                client.call_async(Trigger.Request())

        timer = node.create_timer(CLEAR_PERIOD, look)
        try:
            yield
        finally:
            node.destroy_timer(timer)
            node.destroy_client(client)
            watch.close()

    def wait(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Spin until a condition holds, else fail with what was waited for."""
        if not self.session.spin_until(condition, timeout):
            last = '\n'.join(self.process.output.splitlines()[-25:])
            raise AssertionError(f'no {what} within {timeout:g} s\n{last}')

    def spin(self, seconds: float) -> None:
        """Receive for a while, for checks that something does not happen."""
        self.session.spin_until(lambda: False, seconds)

    def go_to_rest(self) -> None:
        """Arm the robot, bring it to rest, and forget what its emulated device has noted."""
        if self.state() != DeviceState.ACTIVE:
            self.clear()
        self.move([a.rest for a in self.robot.description.actuators])
        assert not self.process.ended_nodes, self.process.output
        self._events.forget()

    def send(self, actuation: Sequence[float]) -> None:
        """Send a target [SI]."""
        actuators = self.robot.description.actuators
        message = ActuatorCommand(
            source=self.session.node.get_fully_qualified_name(),
            name=[a.name for a in actuators],
            quantity=[a.quantity_code for a in actuators],
            value=[float(x) for x in actuation],
        )
        message.header.stamp = self.session.node.get_clock().now().to_msg()
        self._target.publish(message)

    def move(self, actuation: Sequence[float]) -> None:
        """Send a target and wait until the robot is there.

        The planner refuses targets until it has heard of the driver, so a target is sent again.
        """
        for _ in range(SENDS):
            self.send(actuation)
            if self.watch.wait(lambda: self.watch.near_actuation(actuation, 0.04), MOTION):
                return
        raise AssertionError(f'did not arrive at {actuation}: {self.watch.reasons()}')

    def ask(self, words: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Type a command beside the robot, and return what it did.

        AssertionError: it ended with an error, while this computer held nothing up; else the
        driver is cleared, as a person would, and the command typed again.
        """
        done: list[subprocess.CompletedProcess[str]] = []

        def type_it() -> None:
            done.append(
                subprocess.run(words, capture_output=True, text=True, timeout=VERB, check=False)
            )
            if done[-1].returncode != 0:
                said = f'{done[-1].stdout}{done[-1].stderr}'
                raise AssertionError(f'{shlex.join(words)}\n{said}\n{self.story}')

        def again() -> None:
            self.spin(CLEAR_PERIOD)  # a driver that has lost its device looks for it
            if self.state() != DeviceState.ACTIVE:
                self.clear()

        judged(type_it, again)
        return done[-1]

    def call(self, service: str) -> Trigger.Response:
        """Call a service without arguments, such as driver/stop."""
        name = f'{self.robot.prefix}/{service}'
        return self.session.call(Trigger, name, Trigger.Request())

    def clear(self) -> None:
        """Clear what is latched, as a person would, and wait until the robot is armed."""
        reply = self.call('driver/clear_fault')
        if not reply.success:
            raise AssertionError(f'not cleared: {reply.message}')
        self.wait(lambda: self.state() == DeviceState.ACTIVE, MOTION, 'cleared driver')

    @property
    def story(self) -> str:
        """What the nodes and diagnostics say, for messages of failed assertions."""
        return '\n'.join([*self.watch.reasons(), *self.process.output.splitlines()[-15:]])

    def state(self) -> int:
        """Return the device state last published."""
        return self.watch.state.device_state

    def kill(self, node: str, number: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a node behind the launcher's back."""
        os.kill(node_pid(self.process.output, node), number)

    def events(self, name: str = '') -> list[dict[str, Any]]:
        """Return what the emulated device has noted."""
        return self._events.read(name)


class DiagnosticsWatch:
    """The newest diagnostics of one robot, by name without the namespace."""

    def __init__(self, robot: LaunchedRobot) -> None:
        from diagnostic_msgs.msg import DiagnosticArray

        self._prefix = robot.robot.prefix + '/'
        self.levels: dict[str, int] = {}
        self.messages: dict[str, str] = {}
        self.values: dict[str, dict[str, str]] = {}
        robot.session.node.create_subscription(
            DiagnosticArray, '/diagnostics', self._on_message, 20
        )

    def _on_message(self, message: Any) -> None:
        for status in message.status:
            if status.name.startswith(self._prefix):
                name = status.name.removeprefix(self._prefix)
                self.levels[name] = status.level[0]
                self.messages[name] = status.message
                self.values[name] = {item.key: item.value for item in status.values}


@contextmanager
def launched_robot(
    words: Sequence[str],
    folder: Path,
    namespace: str = '',
    robot: str = 'stiff_flop',
    patience: float = START,
    clearing: bool = False,
) -> Iterator[LaunchedRobot]:
    """Launch a robot and stop it at the end, whatever happens in between.

    Parameters
    ----------
    words : sequence of str
        What stands behind ``soro launch``.
    folder : path
        Receives ``<namespace>.txt`` (output) and ``<namespace>.jsonl`` (log of the emulator).
    namespace : str
        Default: the robot's name. Given to the launch as namespace:= when it is not empty.
    robot : str
        Name or file, to know its actuators.
    patience : float
        Longest time for the start [s].
    clearing : bool
        Whether a robot that trips while its nodes load is cleared, and started so all the same,
        also where this computer held nothing up.
    """
    if namespace:
        words = [*words, f'namespace:={namespace}']
    space = namespace or robot
    started = time.monotonic()
    with robot_process(words, folder, space) as process:
        with watched_robot(process, folder, space, robot, started, patience, clearing) as watched:
            yield watched


def robot_process(words: Sequence[str], folder: Path, space: str) -> RobotProcess:
    """Return the process of `launched_robot`, not started yet."""
    log = _emulator_log(folder, space)
    words = [*words, f'emulator_log:={log}', '--runner', 'soro']
    return RobotProcess(words, log.with_suffix('.txt'), {'ROS_LOG_DIR': str(folder / 'log')})


def _emulator_log(folder: Path, space: str) -> Path:
    return folder / f'{space.strip("/") or "root"}.jsonl'


@contextmanager
def watched_robot(
    process: RobotProcess,
    folder: Path,
    space: str,
    robot: str,
    started: float,
    patience: float = START,
    clearing: bool = False,
) -> Iterator[LaunchedRobot]:
    """Watch and drive a robot that `robot_process` runs, as a client of its own."""
    description = read_robot_file(find_robot_file(robot))
    with RosSession() as session:
        running = RunningRobot('/' + space.strip('/'), description, session)
        log = _emulator_log(folder, space)
        yield LaunchedRobot(process, session, running, log, started, patience, clearing)
