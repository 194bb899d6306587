# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The closed loop over CAN in real time: emulated board and renderer as real processes.

Only what the loop needs is started. Results depend on the computer and on what else it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
import datetime
import json
import math
import os
from pathlib import Path
import platform
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
import numpy as np
import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String
from std_srvs.srv import Trigger
import yaml

from soro_haptics.environment_messages import object_to_message
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.action import CalibrateFlexSensors
from soro_msgs.msg import ActuatorState
from soro_msgs.srv import SetVirtualEnvironment
from soro_node.middleware import set_middleware
from soro_rigs.process_table import ProcessTable
from soro_studies.haptics.computer_load import LoadMeter, realtime_share
from soro_studies.haptics.slot_probe import slots_by_speed
from soro_studies.haptics.stall_meter import StallMeter
from soro_studies.haptics.yardstick import Speeds

SPACE = '/loop_study'
GRIP = [400.0, 400.0, 400.0, 1.5, 1.5]  # N/m, N m/rad, of the hand
REACH = 0.025  # m, of the hand, 15 mm into the wall
SWING = 2.0  # s, to the wall and back
REPORT = 15.0  # s between two lines about a run
START, CALIBRATION = 240.0, 300.0  # s, patience on a busy computer
AFTER_START = 10.0  # s
LAST_WORDS = 4  # lines of a log that are told when something did not go through
MODULES = {
    'emulator': 'soro_emulation.node',
    'driver': 'soro_driver.node',
    'haptic_renderer': 'soro_haptics.node',
    'flex_calibration': 'soro_flex_calibration.node',
}
PROBE = 'soro_studies.haptics.slot_probe'


@dataclass(frozen=True)
class LoopVariant:
    """One way to run the loop."""

    name: str
    rate: float
    framing: str
    loop: str = 'direct'


RUNS = {
    'can': LoopVariant('500 Hz, classic CAN', 500.0, 'classic'),
    'fd': LoopVariant('1 kHz, CAN FD', 1000.0, 'fd'),
    'topics': LoopVariant('500 Hz, over topics', 500.0, 'classic', 'topics'),
}


@dataclass
class LoopResult:
    """What one run measured: values of the diagnostics by status, and how it ended.

    Attributes
    ----------
    seconds : float
        Measured.
    priority : int
        SCHED_FIFO priority that was asked for; 0: none.
    ticks, missed : int
        Meanwhile.
    values : dict
        Status -> key -> text.
    others, stolen : float
        Cores that other processes used meanwhile, and that the hypervisor took.
    stalls : tuple of (core, begin, end, queued), optional
        When the computer itself stood still, see `stall_meter`; None: not watched.
    speed : dict of str to list of int, optional
        `yardstick.missed_by_speed`, where the renderer ran with its slots stamped.
    note : str
        What went wrong; empty: nothing.
    """

    seconds: float
    priority: int
    ticks: int = 0
    missed: int = 0
    values: dict[str, dict[str, str]] = field(default_factory=dict)
    others: float = 0.0
    stolen: float = 0.0
    stalls: tuple[tuple[int, float, float, float], ...] | None = None
    speed: Speeds | None = None
    note: str = ''


class LoopBench:
    """Processes of one variant, and a client beside them."""

    def __init__(
        self,
        robot_file: Path,
        folder: Path,
        variant: LoopVariant,
        priority: int,
        log: Path | None = None,
        renders: bool = True,
        probe: Path | None = None,
    ):
        set_middleware()
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('watcher', namespace=SPACE, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.statuses: dict[str, dict[str, str]] = {}
        self.state = ActuatorState.UNCONFIGURED
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._on_diagnostics, 50)
        self.node.create_subscription(ActuatorState, 'actuator_state', self._on_state, 1)
        self.faults = self.node.create_publisher(String, 'emulator/inject_fault', 5)
        self._environment = {**os.environ, 'XDG_DATA_HOME': str(folder)}
        self._folder, self._file = folder, robot_file
        self.processes: list[subprocess.Popen[bytes]] = []
        self.start('emulator', rate=0.0, **({} if log is None else {'log_file': log}))
        if variant.loop == 'topics':
            self.start('driver', connect_timeout=START, priority=priority)
        if renders:
            values = {'loop': variant.loop, 'priority': priority, 'connect_timeout': START}
            self.start('haptic_renderer', probe, **values)

    def start(self, name: str, probe: Path | None = None, **parameters: Any) -> None:
        """Start a node of the installed packages; `probe`: the renderer, its slots stamped."""
        words = ['--ros-args', '-r', f'__ns:={SPACE}', '-p', f'robot:={self._file}']
        for key, value in parameters.items():
            words += ['-p', f'{key}:={str(value).lower() if value in (True, False) else value}']
        code = f'from {MODULES[name]} import main; raise SystemExit(main())'
        if probe is not None:
            code = f'from pathlib import Path; from {PROBE} import run_probed; '
            code += f'run_probed(Path({str(probe)!r}))'
        log = (self._folder / f'{name}.txt').open('ab')
        with log:
            self.processes.append(
                subprocess.Popen(
                    [sys.executable, '-c', code, *words],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                )
            )

    def favour_emulator(self, priority: int) -> None:
        """Let the emulated board answer in time as a real one does, where that is allowed.

        Not the plant behind it: with it real-time threads could fill a core, and the kernel takes
        50 ms of every second away from them then (/proc/sys/kernel/sched_rt_runtime_us).
        """
        if not priority:
            return
        pid = self.processes[0].pid
        for thread in Path(f'/proc/{pid}/task').iterdir():
            with contextlib.suppress(OSError):
                scheduling = os.sched_param(priority)
                os.sched_setscheduler(int(thread.name), os.SCHED_FIFO, scheduling)
        for child in ProcessTable().children(pid):
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, child, -20)

    def wait(self, condition: Callable[[], bool], timeout: float, what: str) -> None:
        """Spin until a condition holds; TimeoutError with what was waited for."""
        end = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f'no {what} within {timeout:g} s')
            if any(process.poll() is not None for process in self.processes):
                raise TimeoutError(f'a process ended while waiting for {what}')
            self.executor.spin_once(timeout_sec=0.05)

    def clear_timing(self) -> None:
        """Have the renderer begin its statistics anew."""
        self.trigger('haptic_renderer/clear_timing')

    def trigger(self, service: str) -> None:
        """Call a service without arguments."""
        client = self.node.create_client(Trigger, service)
        self.wait(client.service_is_ready, START, service)
        self.wait(client.call_async(Trigger.Request()).done, 10.0, 'answer')

    def spin(self, seconds: float) -> None:
        """Receive for a while."""
        end = time.monotonic() + seconds
        self.wait(lambda: time.monotonic() >= end, seconds + 10.0, 'time')

    def counts(self) -> tuple[int, int]:
        """Return ticks and missed slots since the start."""
        loop = self.statuses.get('loop', {})
        return int(loop.get('ticks', 0)), int(loop.get('missed', 0))

    def feel(self, name: str) -> str:
        """Set an environment; returns what was wrong."""
        kind = SetVirtualEnvironment
        client = self.node.create_client(kind, 'haptic_renderer/set_environment')
        self.wait(client.service_is_ready, START, 'set_environment')
        objects = [object_to_message(o) for o in published_environment(name, np.eye(4))]
        reply = client.call_async(kind.Request(objects=objects))
        self.wait(reply.done, 10.0, 'answer')
        answer = reply.result()  # what was limited is no error
        return str(answer.error_message) if answer.error_code else ''

    def calibrate(self) -> str:
        """Calibrate the emulated sensors; returns what was wrong."""
        self.start('flex_calibration', in_motion=False)
        client = ActionClient(self.node, CalibrateFlexSensors, 'flex_calibration/calibrate')
        self.wait(client.server_is_ready, START, 'calibration')
        # It steps aside by itself, and is refused once a busy computer lets no state through.
        for thread in Path(f'/proc/{self.processes[-1].pid}/task').iterdir():
            with contextlib.suppress(OSError):
                os.setpriority(os.PRIO_PROCESS, int(thread.name), -10)
        goal = CalibrateFlexSensors.Goal(
            poses=16, amplitude=0.5, settle_time=0.3, samples_per_pose=8, keep=True
        )
        sent = client.send_goal_async(goal)
        self.wait(sent.done, 10.0, 'acceptance')
        result = sent.result().get_result_async()
        self.wait(result.done, CALIBRATION, 'calibration')
        client.destroy()
        self.stop(self.processes.pop())
        return str(result.result().result.error_message)

    def hand(self, seconds: float) -> None:
        """Let a hand go to the wall and back all the time."""
        count = int(seconds / (0.5 * SWING)) + 2
        way = [[0.5 * SWING * k, -REACH * (k % 2), 0.0, 0.0, 0.0, 0.0] for k in range(count)]
        self.inject({'fault': 'hand', 'way': way, 'stiffness': GRIP})

    def inject(self, fault: dict[str, Any]) -> None:
        """Inject a fault of the emulator, a hand among them."""
        self.faults.publish(String(data=json.dumps(fault)))

    @staticmethod
    def stop(process: subprocess.Popen[bytes]) -> None:
        """End one process in order."""
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """End everything, the emulator last."""
        for process in reversed(self.processes):
            self.stop(process)
        self.executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def _on_state(self, message: ActuatorState) -> None:
        self.state = message.device_state

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            node, _, name = status.name.partition(': ')
            if node == f'{SPACE}/haptic_renderer':
                values = {v.key: v.value for v in status.values}
                self.statuses[name] = {**values, 'message': status.message}


@contextmanager
def variant_files(robot: str) -> Iterator[Callable[[LoopVariant], Path]]:
    """Offer robot files that differ by rate and framing, in a folder that vanishes."""
    data = yaml.safe_load(Path(find_robot_file(robot)).read_text(encoding='utf-8'))
    with tempfile.TemporaryDirectory(prefix='soro_loop_') as folder:

        def write(variant: LoopVariant) -> Path:
            data['driver']['rate'] = f'{variant.rate:g} Hz'
            data['driver']['can']['framing'] = variant.framing
            place = Path(folder) / variant.framing
            place.mkdir(exist_ok=True)
            file = place / f'{robot}.yaml'
            file.write_text(yaml.safe_dump(data, sort_keys=False), encoding='utf-8')
            return file

        yield write


def measure(
    file: Path,
    folder: Path,
    variant: LoopVariant,
    seconds: float,
    priority: int,
    say: Callable[[str], None] = print,
    probe: Path | None = None,
) -> LoopResult:
    """Run one variant with a hand that presses into a wall again and again.

    `probe`: gets the stamps of every slot, which cost some 15 us of each.
    """
    result = LoopResult(seconds, priority)
    bench = LoopBench(file, folder, variant, priority, probe=probe)
    begin = math.inf
    try:
        bench.wait(lambda: 'timing' in bench.statuses, START, 'renderer')
        bench.wait(lambda: bench.state == ActuatorState.ACTIVE, START, 'active device')
        bench.favour_emulator(priority)
        if not (folder / 'soro').exists():
            say('calibrating the flex sensors')
            result.note = bench.calibrate()
        result.note = result.note or bench.feel('wall')
        bench.hand(seconds + 30.0)
        bench.spin(5.0)
        meter = StallMeter()
        if priority:
            meter.start()
        try:
            meter.wait_until_watching(START)
            bench.clear_timing()
            begin = time.monotonic()
            _watch(bench, result, say)
        finally:
            stalls = meter.stop()
            result.stalls = None if stalls is None else stalls.spans
    except TimeoutError as error:
        result.note = result.note or str(error)
        result.values = dict(bench.statuses)
        for log in sorted(folder.glob('*.txt')):
            for line in log.read_text(errors='replace').splitlines()[-LAST_WORDS:]:
                say(f'{log.stem}: {line}')
    finally:
        end = time.monotonic()
        bench.close()
    if probe is not None and probe.is_file():
        result.speed = slots_by_speed(probe, begin, end, 1.0 / variant.rate)
    return result


def keep(store: Path, key: str, result: LoopResult) -> None:
    """Put one result among those that are kept; nothing is lost when it is interrupted."""
    kept = read_kept(store)
    kept[key] = {
        **asdict(result),
        'date': datetime.date.today().isoformat(),
        'cores': os.cpu_count(),
        'machine': f'{platform.machine()}, Linux {platform.release()}',
        'realtime_share': realtime_share(),
    }
    new = store.with_suffix('.new')
    new.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n', encoding='utf-8')
    new.replace(store)


def read_kept(store: Path) -> dict[str, Any]:
    """Return the results that are kept, by run."""
    if not store.is_file():
        return {}
    kept: dict[str, Any] = json.loads(store.read_text(encoding='utf-8'))
    return kept


def joint_start(file: Path, folder: Path, priority: int) -> dict[str, Any]:
    """Start board and renderer together; `folder` has the calibration."""
    load, begin = os.getloadavg()[0], time.monotonic()
    bench = LoopBench(file, folder, RUNS['can'], priority)
    try:
        bench.favour_emulator(priority)
        bench.wait(lambda: bench.state == ActuatorState.ACTIVE, START, 'active device')
        took = time.monotonic() - begin
        bench.wait(lambda: 'sensors' in bench.statuses, START, 'diagnostics')
        bench.favour_emulator(priority)
        bench.spin(AFTER_START)
        said = {name: bench.statuses[name]['message'] for name in ('device', 'sensors')}
    except TimeoutError as error:
        took, said = float('nan'), {'device': str(error), 'sensors': ''}
    finally:
        bench.close()
    return {'load': load, 'seconds': took, **said}


def _watch(bench: LoopBench, result: LoopResult, say: Callable[[str], None]) -> None:
    """Let the loop run; what it says at the end is the result."""
    bench.spin(1.5)  # the counts are those of a report after the beginning
    before, load = bench.counts(), LoadMeter()
    begin = time.monotonic()
    while (left := begin + result.seconds - time.monotonic()) > 0.0:
        bench.spin(min(left, REPORT))
        now = bench.counts()
        result.ticks, result.missed = now[0] - before[0], now[1] - before[1]
        result.values = {**bench.statuses}
        result.others, result.stolen = load.read()
        slots = max(1, result.ticks + result.missed)
        say(
            f'{time.monotonic() - begin:.0f} of {result.seconds:.0f} s: {result.missed} of '
            f'{slots} slots missed ({result.missed / slots:.3%}), '
            f'others use {result.others:.2f} cores'
        )
        if bench.state != ActuatorState.ACTIVE:
            device = bench.statuses.get('device', {})
            result.note = device.get('reason') or device.get('message', 'not active')
            return
