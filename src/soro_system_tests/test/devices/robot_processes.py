# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A driver and an emulator as real processes, and a client that commands and watches them."""

from __future__ import annotations

from collections.abc import Callable
import itertools
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any, NamedTuple

from diagnostic_msgs.msg import DiagnosticArray
from fault_counts import check_signal
from lifecycle_msgs.srv import ChangeState, GetState
from node_template import TemplateNode
import numpy as np
import rclpy
from rclpy.context import Context
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger

from soro_driver.device import DeviceState, Fault
from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.reader import read_robot_file
from soro_msgs.msg import ActuatorCommand, ActuatorState
from soro_msgs.msg import Configuration as ConfigurationMessage
from soro_node.executor.events_executor import cheap_executor
from soro_rigs.event_log import EventReader
from soro_rigs.held_up import judged
from soro_rigs.process_table import ProcessTable

BAR = 1e5
BENCH = Path(__file__).resolve().parents[3] / 'soro_emulation/test/rig.yaml'
NAMES = ('left', 'middle', 'right')
STREAM_PERIOD = 0.02  # s
# Whether a message names its publisher: not with the rclpy of Jazzy (docs/interfaces.md).
SENDERS_NAMED = b'publisher_gid' in Path(rclpy_implementation.__file__).read_bytes()
ACTIVATE, DEACTIVATE, CLEANUP, CONFIGURE = 3, 4, 2, 1
_numbers = itertools.count()


def start_node(
    module: str, namespace: str, prelude: str = '', **parameters: Any
) -> subprocess.Popen[str]:
    """Start a node of the installed packages; `prelude` is Python that runs before its import."""
    arguments = ['--ros-args', '-r', f'__ns:={namespace}']
    for name, value in parameters.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        arguments += ['-p', f'{name}:={text}']
    if not prelude:
        return TemplateNode(module, arguments)
    code = f'{prelude}\nfrom {module} import main; main()'
    return subprocess.Popen(
        [sys.executable, '-c', code, *arguments], stderr=subprocess.PIPE, text=True
    )


def end(process: subprocess.Popen[str] | None) -> str:
    """End a process that a test started, however it is; return what it wrote."""
    if process is None:
        return ''
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
    # The supervisor shares the driver's stderr, and may go on clearing outputs for a while.
    return process.communicate(timeout=30.0)[1]


def read_more(process: subprocess.Popen[str]) -> str:
    """Return what a process that a test started has written since the last time."""
    os.set_blocking(process.stderr.fileno(), False)
    try:
        return os.read(process.stderr.fileno(), 65536).decode(errors='replace')
    except BlockingIOError:
        return ''


def says(robot: RobotProcesses, process: subprocess.Popen[str], *words: str) -> None:
    """Wait until a process that a test started has written something."""
    said = ''

    def written() -> bool:
        nonlocal said
        said += read_more(process)
        return all(word in said for word in words)

    robot.wait_for(written, 60.0, f'{words} of a new process')


def check_refused(robot: RobotProcesses, second: subprocess.Popen[str], since: float) -> None:
    """Check that a second driver is refused with the name of the first, which goes on."""
    try:
        says(robot, second, f'is in use by process {robot.driver.pid}')
        robot.spin(0.5)
        assert second.poll() is None  # it stays, unconfigured, and can be configured later
        after = [state for t, state in robot.states if t > since]
        assert all(s.faults & ~Fault.STALL == 0 for s in after)
        assert DeviceState.UNCONFIGURED not in {s.device_state for s in after}
    finally:
        end(second)


class Hit(NamedTuple):
    """Something that was broken on purpose: when [s, CLOCK_MONOTONIC], and what."""

    time: float
    what: str


class Heard(NamedTuple):
    """A change of the driver's status `device` in the diagnostics."""

    time: float
    level: int
    message: str


class RobotProcesses:
    """One robot: its two processes, and a ROS client in this process."""

    def __init__(self, folder: Path, robot: str | Path = BENCH, rate: float = 0.0) -> None:
        number = next(_numbers)
        self.namespace = f'/bench_{os.getpid()}_{number}'
        self.log_file = folder / f'emulator_{number}.jsonl'
        self._log = EventReader(self.log_file)
        self.robot, self.rate = robot, rate
        self.emulator: subprocess.Popen[str] | None = None
        self.driver: subprocess.Popen[str] | None = None
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('watcher', namespace=self.namespace, context=self.context)
        self.executor = cheap_executor(self.context)
        self.executor.add_node(self.node)
        self.state: ActuatorState | None = None
        self.states: list[tuple[float, ActuatorState]] = []
        self.truth: ConfigurationMessage | None = None
        self.diagnostics: dict[str, tuple[float, Any]] = {}
        self.first_error: float | None = None
        self.target: np.ndarray | None = None
        self.source = f'{self.namespace}/planner'
        self.companions: list[RobotProcesses] = []
        self.hits: list[Hit] = []
        self.driver_options: dict[str, Any] = {}
        self.wall_step = 0  # s, of the clock that stamps the commands
        self.heard: list[Heard] = []
        self._connect()

    def _connect(self) -> None:
        node, latched = self.node, QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        node.create_subscription(ActuatorState, 'actuator_state', self._on_state, 10)
        node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        node.create_subscription(ConfigurationMessage, 'emulator/configuration', self._on_truth, 1)
        self.commands = node.create_publisher(ActuatorCommand, 'actuator_command', 1)
        self.estop_publisher = node.create_publisher(Bool, 'estop', latched)
        self.faults = node.create_publisher(String, 'emulator/inject_fault', 10)
        self.change = node.create_client(ChangeState, 'driver/change_state')
        self.get = node.create_client(GetState, 'driver/get_state')
        self.stop_client = node.create_client(Trigger, 'driver/stop')
        self.clear_client = node.create_client(Trigger, 'driver/clear_fault')
        self.release_client = node.create_client(Trigger, 'driver/release_estop')
        node.create_timer(STREAM_PERIOD, self._stream)

    def _on_state(self, message: ActuatorState) -> None:
        self.state = message
        self.states.append((time.monotonic(), message))

    def _on_truth(self, message: ConfigurationMessage) -> None:
        self.truth = message

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            node, _, name = status.name.partition(': ')
            if node == f'{self.namespace}/driver':
                self.diagnostics[name] = (time.monotonic(), status)
                if name == 'device':
                    self._hear(status)
                if name == 'device' and status.level == b'\x02' and self.first_error is None:
                    self.first_error = time.monotonic()

    def _hear(self, status: Any) -> None:
        reason = next((v.value for v in status.values if v.key == 'reason'), '')
        words = status.message if reason in status.message else f'{status.message}: {reason}'
        if not self.heard or self.heard[-1].message != words:
            self.heard.append(Heard(time.monotonic(), status.level[0], words))

    def _stream(self) -> None:
        if self.target is not None:
            self.send(self.target)

    # Processes --------------------------------------------------------------------------------

    def start_emulator(self) -> None:
        """Start the emulator."""
        self.emulator = start_node(
            'soro_emulation.node',
            self.namespace,
            robot=self.robot,
            rate=self.rate,
            log_file=self.log_file,
        )

    def start_driver(self, **parameters: Any) -> None:
        """Start the driver."""
        self.state = None
        self.driver = start_node(
            'soro_driver.node',
            self.namespace,
            robot=self.robot,
            connect_timeout=60.0,
            **self.driver_options,
            **parameters,
        )

    def start(self) -> RobotProcesses:
        """Start both and wait until the driver is active."""
        self.start_emulator()
        self.start_driver()
        judged(lambda: self.wait_state(DeviceState.ACTIVE, 60.0), self._recover)
        return self

    def close(self) -> None:
        """End everything."""
        self.target = None
        for process in (self.driver, self.emulator):
            sys.stderr.write(end(process))
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    # Watching ---------------------------------------------------------------------------------

    def wait_for(self, condition: Callable[[], Any], timeout: float, what: str = '') -> float:
        """Spin until a condition holds; return how long that took. Fails after the timeout."""
        start = time.monotonic()
        while not condition():
            passed = time.monotonic() - start
            assert passed < timeout, f'not within {timeout} s: {what}; {self.describe()}'
            self.executor.spin_once(timeout_sec=0.005)
            for other in self.companions:
                other.executor.spin_once(timeout_sec=0.0)
        return time.monotonic() - start

    def spin(self, duration: float) -> None:
        """Go on streaming and watching for a while."""
        end_ = time.monotonic() + duration
        self.wait_for(lambda: time.monotonic() >= end_, duration + 5.0)

    def driver_load(self, duration: float = 2.0) -> float:
        """Go on streaming for a while; return the share of a core the driver used."""
        table, start = ProcessTable(), time.monotonic()
        before = table.own_seconds(self.driver.pid)
        self.spin(duration)
        used = ProcessTable().own_seconds(self.driver.pid) - before
        return used / (time.monotonic() - start)

    def describe(self) -> str:
        """Say what is known, for a failed test."""
        device = self.diagnostics.get('device')
        text = '' if device is None else f'{device[1].message} {self.values("device")}'
        state = None if self.state is None else DeviceState(self.state.device_state).name
        return f'state {state}; device: {text}; commands: {self.values("commands")}'

    def wait_state(self, state: DeviceState, timeout: float = 5.0) -> float:
        """Wait for a device state."""

        def reached() -> bool:
            return self.state is not None and self.state.device_state == state

        return self.wait_for(reached, timeout, f'state {state.name}')

    def values(self, name: str) -> dict[str, str]:
        """Return the values of the newest diagnostics of the driver."""
        if name not in self.diagnostics:
            return {}
        return {v.key: v.value for v in self.diagnostics[name][1].values}

    def wait_count(self, key: str, at_least: int) -> None:
        """Wait until the diagnostics of the commands have counted so many."""
        self.send_until_counted(lambda: None, key, at_least)

    def send_until_counted(self, send: Callable[[], None], key: str, at_least: int) -> None:
        """Send, again every half second, until it is counted: the next command of the stream may
        overtake a message in a queue of depth one.
        """
        sent = 0.0

        def counted() -> bool:
            nonlocal sent
            if time.monotonic() - sent > 0.5:
                sent = time.monotonic()
                send()
            return int(self.values('commands').get(key, '0')) >= at_least

        self.wait_for(counted, 8.0, f'{key} >= {at_least}')

    def events(self, name: str = '', since: float = 0.0) -> list[dict[str, Any]]:
        """Return events of the emulator's log from a time on."""
        return [e for e in self._log.read(name) if e['t'] >= since]

    def wait_event(
        self, name: str, since: float, timeout: float, match: Callable[[dict], bool] = bool
    ) -> float:
        """Wait for an event of the emulator; return how long after `since` it happened."""
        found: list[dict[str, Any]] = []

        def seen() -> bool:
            found[:] = [e for e in self.events(name, since) if match(e)]
            return bool(found)

        self.wait_for(seen, timeout, f'event {name} in {self.events()[-5:]}')
        return found[0]['t'] - since

    def outputs_off(self, since: float, timeout: float) -> float:
        """Wait until the supply is cut or every output is zero; return how long it took."""

        def when() -> float | None:
            events = self.events()
            output: dict[str, float] = {}
            closed = True
            for e in events:
                if e['event'] == 'output':
                    output[e['actuator']] = e['pressure']
                elif e['event'] == 'relay':
                    closed = e['closed']
                if e['t'] >= since and (not closed or not any(output.values())):
                    return e['t'] - since
            return None

        self.wait_for(lambda: when() is not None, timeout, f'outputs off: {self.events()[-5:]}')
        return when()  # type: ignore[return-value]

    def raised_after(self, time_: float) -> list[dict[str, Any]]:
        """Return every rise of an output after a time."""
        last: dict[str, float] = {}
        rises = []
        for e in self.events('output'):
            if 'pressure' not in e:  # controllers: they move while commands come
                continue
            if e['t'] > time_ and e['pressure'] > last.get(e['actuator'], 0.0):
                rises.append(e)
            last[e['actuator']] = e['pressure']
        return rises

    # Acting -----------------------------------------------------------------------------------

    def send(self, values: Any, names: Any = NAMES, quantity: int = 1, source: str = '') -> None:
        """Publish one command."""
        message = ActuatorCommand(
            name=list(names),
            quantity=[quantity] * len(names),
            value=[float(x) for x in values],
            source=source or self.source,
        )
        message.header.stamp = self.node.get_clock().now().to_msg()
        message.header.stamp.sec += self.wall_step
        self.commands.publish(message)

    def move(self, *values: float, timeout: float = 8.0) -> None:
        """Stream a target from where the robot is, and wait until the pressures are there.

        Should this process itself be held up for longer than the command timeout, it clears that
        as a person would, and takes control again.
        """
        goal = np.array(values)

        def there() -> bool:
            state = self.state
            assert state is not None
            if state.command_source != self.source:
                self.resume()
                # Anew each time: pressures that are being vented are soon somewhere else.
                self.target = np.clip(np.nan_to_num(state.measured), 0.0, None)
                return False
            self.target = goal
            off = np.abs(np.array(state.measured) - goal)
            arrived = np.abs(np.array(state.applied) - goal) < 10.0  # steps of the card: 3 Pa
            return bool(np.all(off < 0.06 * BAR) and np.all(arrived))

        self.wait_for(there, timeout, f'pressures {values}')

    def resume(self) -> None:
        """Clear lost commands, and let the pressures that are let out then settle."""
        if self.state.device_state == DeviceState.SAFE:
            self.target = None
            self.clear()

    def inject(self, fault: str, **values: Any) -> float:
        """Inject a fault; return the time at which the emulator took it."""
        since = time.monotonic()
        self.wait_for(lambda: self.faults.get_subscription_count() > 0, 5.0, 'fault topic')
        self.faults.publish(String(data=json.dumps({'fault': fault, **values})))
        taken = since + self.wait_event('fault', since, 5.0)
        if fault != 'none':
            words = ', '.join(f'{key} {value}' for key, value in values.items())
            self.struck(f'{fault} ({words})' if words else fault, taken)
        return taken

    def hit(self, process: str, number: signal.Signals) -> float:
        """Send a signal to `driver` or `emulator` behind its back; return when."""
        since = self.struck(f'{number.name} to the {process}')
        getattr(self, process).send_signal(number)
        check_signal(self, getattr(self, process), number)
        return since

    def struck(self, what: str, since: float | None = None) -> float:
        """Note what is broken from now on, or since a time; return that time."""
        self.hits.append(Hit(time.monotonic() if since is None else since, what))
        return self.hits[-1].time

    def call(self, client: Any, request: Any) -> Any:
        """Call a service of the driver; again where a request is lost (`RosSession.answered`)."""
        self.wait_for(client.service_is_ready, 10.0, client.srv_name)
        answers: list[Any] = []
        for patience in (2.5, 2.5, 10.0):
            answers.append(client.call_async(request))
            try:
                self.wait_for(lambda: any(a.done() for a in answers), patience, client.srv_name)
                break
            except AssertionError:
                if patience == 10.0:
                    raise
        return next(a.result() for a in answers if a.done())

    def transition(self, number: int) -> bool:
        """Ask for a lifecycle transition."""
        request = ChangeState.Request()
        request.transition.id = number
        return self.call(self.change, request).success

    def lifecycle(self) -> str:
        """Return the lifecycle state."""
        return self.call(self.get, GetState.Request()).current_state.label

    def stop(self) -> Any:
        """Call driver/stop."""
        return self.call(self.stop_client, Trigger.Request())

    def clear(self) -> Any:
        """Call driver/clear_fault."""
        return self.call(self.clear_client, Trigger.Request())

    def release_estop(self) -> Any:
        """Call driver/release_estop."""
        return self.call(self.release_client, Trigger.Request())

    def press_estop(self, pressed: bool) -> None:
        """Publish the emergency stop; where nobody's false releases, release it by hand."""
        self.estop_publisher.publish(Bool(data=pressed))
        stopped = self.state is not None and self.state.device_state == DeviceState.ESTOP
        if stopped and not (pressed or SENDERS_NAMED):
            self.spin(0.2)  # a press that is heard later would latch anew
            self.release_estop()

    def repair(self) -> None:
        """End every injected fault; a new emulator has to be found by the topics first."""
        since, sent = time.monotonic(), 0.0

        def heard() -> bool:
            nonlocal sent
            if time.monotonic() - sent > 0.5:
                sent = time.monotonic()
                self.faults.publish(String(data='{"fault": "none"}'))
            return bool(self.events('fault', since))

        self.wait_for(heard, 30.0, 'a fault topic that is heard')

    @property
    def pause(self) -> float:
        """How long a source must be silent to begin again after a stop or fault [s]."""
        return 1.2 * read_driver_settings(read_robot_file(self.robot)).command_timeout

    def recover(self) -> None:
        """Repair everything, and bring the robot back to ACTIVE at rest, as a person would."""
        judged(self._recover)

    def _recover(self) -> None:
        if self.target is not None:  # what a fault ended is heard after a pause
            self.target = None
            self.spin(self.pause)
        self.press_estop(False)
        for process in (self.driver, self.emulator):
            if process is not None and process.poll() is None:
                process.send_signal(signal.SIGCONT)
        if self.emulator is None or self.emulator.poll() is not None:
            end(self.emulator)
            self.start_emulator()
        self.repair()
        if self.driver is None or self.driver.poll() is not None:
            end(self.driver)
            self.spin(0.2)  # what the old one has said last
            self.start_driver()
            self.wait_state(DeviceState.ACTIVE, 60.0)
        self.wait_for(lambda: self.state is not None, 30.0, 'any state')
        if self.state.device_state != DeviceState.ACTIVE:
            self.wait_for(
                lambda: self.state.device_state != DeviceState.UNCONFIGURED, 30.0, 'connected'
            )
            self.spin(0.3)
            if self.lifecycle() == 'active':
                assert self.transition(DEACTIVATE)
            self.wait_for(lambda: self.clear().success, 30.0, 'faults cleared')
            if self.lifecycle() == 'inactive':
                self.wait_for(lambda: self.transition(ACTIVATE), 30.0, 'activated')
            self.spin(self.pause)  # whoever sent until then is heard after one only
        self.wait_state(DeviceState.ACTIVE)
        self.first_error = None
        self.hits.clear()
