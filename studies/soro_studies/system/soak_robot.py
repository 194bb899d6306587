# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""One robot under load for a while, broken and recovered again and again.

Everything is chosen by a seed: targets, services, stops, faults. What the robot does is judged by
its topics and by the emulator's log; `RobotSoak.summary` is what goes into the report.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import json
import os
from pathlib import Path
import random
import signal
import time
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, String

from soro_cli.motion import ACTIVE
from soro_driver.device import DeviceState
from soro_driver.settings import read_driver_settings
from soro_haptics.environment_messages import object_to_message
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_msgs.srv import SetVirtualEnvironment
from soro_node.user_errors import UserError
from soro_rigs.process_table import node_pid, ProcessTable
from soro_studies.system.launched_robot import DiagnosticsWatch, LaunchedRobot
from soro_studies.system.process_figures import figures_of, processes_below, segments_of
from soro_studies.system.recent_lines import lines_before
from soro_studies.system.soak_faults import (
    ESTOP,
    faults_of,
    FREEZE,
    FREEZE_SUPERVISOR,
    SoakFault,
    STALL,
)
from soro_studies.system.soak_stalls import LOOK_BACK, Stalls

SAMPLE_PERIOD = 2.0  # s between looks at the processes
STOP_WITHIN = 2.0  # s, of a busy machine, from the request to a driver that has left ACTIVE
NOTICE_WITHIN = 8.0  # s, the slowest device is lost after 3 s
RECOVER_WITHIN = 60.0  # s, muscles are vented first
REACH = 0.35  # of the range, from rest
SLOW = 0.6, 1.0  # s between targets of somebody who has not noticed a stop
PAUSE = 1.2  # s without commands: a stream that was ended is heard again


class RobotSoak:
    """Load, stops and faults for one launched robot.

    Attributes
    ----------
    samples : list
        Rows of [s since the start, {process: [byte, threads, files]}].
    segments : dict
        Shared memory of the middleware that its processes, ended or not, have made: whose it was.
    moments : list
        When each problem was seen, and what the computer did (`soak_stalls`) and the nodes said
        just before.
    """

    def __init__(self, robot: LaunchedRobot, seed: int, say: Callable[[str], None]) -> None:
        self._robot, self._say = robot, say
        self._random = random.Random(seed)
        description = robot.robot.description
        settings = read_driver_settings(description)
        self._faults = list(faults_of(settings.device))
        self._actuators = description.actuators
        self._start = time.monotonic()
        self._sampled = self._start
        self.samples: list[tuple[float, dict[str, list[int]]]] = []
        self.segments: dict[str, str] = {}
        self.calls: dict[str, list[float]] = {}
        self.stops: list[dict[str, Any]] = []
        self.faults: list[dict[str, Any]] = []
        self.moments: list[dict[str, Any]] = []
        self._stalls = Stalls()
        self.targets = 0
        self._refused = 0
        self._watch = DiagnosticsWatch(robot)
        node, space = robot.session.node, robot.robot.namespace
        self._inject = node.create_publisher(String, f'{space}/emulator/inject_fault', 5)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._estop = node.create_publisher(Bool, f'{space}/estop', latched)
        self._sample()

    def run(self, seconds: float) -> None:
        """Go on for a time; faults and stops take turns with load."""
        end = time.monotonic() + seconds
        deck: list[SoakFault] = []
        while time.monotonic() < end:
            self._load(self._random.uniform(4.0, 8.0))
            self._stop_under_load()
            self._load(self._random.uniform(4.0, 8.0))
            if not deck:  # every fault once before one comes again
                deck = self._random.sample(self._faults, len(self._faults))
            self._break(deck.pop())
        self._sample()
        self._stalls.end()

    @property
    def problems(self) -> dict[str, int]:
        """How often each problem was seen."""
        return dict(Counter(moment['problem'] for moment in self.moments))

    def summary(self) -> dict[str, Any]:
        """Return what was done and seen."""
        calls = {
            name: {
                'count': len(times),
                'p50': float(np.percentile(times, 50)),
                'p99': float(np.percentile(times, 99)),
            }
            for name, times in self.calls.items()
        }
        return {
            'seconds': time.monotonic() - self._start,
            'targets': self.targets,
            'service_refusals': self._refused,
            'calls': calls,
            'stops': self.stops,
            'faults': self.faults,
            'problems': self.problems,
            'moments': self.moments,
            'samples': self.samples,
        }

    # Load ---------------------------------------------------------------------------------------

    def _load(self, seconds: float) -> None:
        end, next_target = time.monotonic() + seconds, 0.0
        while time.monotonic() < end:
            if time.monotonic() >= next_target:
                self._robot.send(self._target())
                self.targets += 1
                next_target = time.monotonic() + self._random.uniform(1.0, 2.5)
            self._serve()
            self._spin(0.05)
            if self._robot.state() != ACTIVE:
                self._problem(f'tripped without a fault: {self._said_of_device()}')
                return

    def _target(self) -> list[float]:
        return [
            a.rest + self._random.uniform(0.0, REACH) * (a.maximum - a.rest)
            for a in self._actuators
        ]

    def _serve(self) -> None:
        """Ask one of the services something sensible."""
        mechanics, nothing = self._robot.mechanics, [0.0] * 6
        kind = self._random.choice(['forward', 'inverse', 'jacobian', 'compliance'])
        began = time.monotonic()
        try:
            if kind == 'forward':
                answer: Any = mechanics.forward(self._target(), nothing, '')
            elif kind == 'inverse':
                tip = self._robot.watch.tip
                answer = mechanics.inverse(list(tip or (0.0, 0.0, 0.1)), None, 0, nothing, '')
            elif kind == 'jacobian':
                answer = mechanics.jacobian(self._target(), nothing, '')
            else:
                answer = mechanics.compliance(None, nothing, '', 'tangent', False)
        except UserError as error:
            self._problem(f'{kind}: {error}')
            return
        self._refused += bool(answer.error_code)
        self.calls.setdefault(kind, []).append(time.monotonic() - began)

    # Stops --------------------------------------------------------------------------------------

    def _stop_under_load(self) -> None:
        """Stop the robot while it moves and is asked; it must leave ACTIVE, and stay."""
        if not self._moving():
            return
        began = time.monotonic()
        reply = self._robot.call('driver/stop')
        answered = time.monotonic() - began
        stopped = self._until(lambda: self._robot.state() != ACTIVE, STOP_WITHIN)
        if not (reply.success and stopped is not None):
            self._problem(f'stop missed: {reply.message}')
        period = SLOW[len(self.stops) % len(SLOW)]
        for _ in range(3):
            self._robot.send(self._target())
            self._spin(period)
        if stopped is not None and self._robot.state() == ACTIVE:
            self._problem(f'moved again after a stop, by a target each {period:g} s')
        self.stops.append({'answered': answered, 'stopped': stopped, 'after': began - self._start})
        self._spin(PAUSE)
        self._recover()

    # Faults -------------------------------------------------------------------------------------

    def _break(self, fault: SoakFault) -> None:
        if not self._moving():
            return
        began = time.monotonic()
        self._begin(fault)
        noticed = None
        if fault.stops:
            noticed = self._until(lambda: self._robot.state() != ACTIVE, NOTICE_WITHIN)
            if noticed is None:
                self._problem(f'{fault.words}: not noticed')
        else:
            self._spin(2.0)
        self._spin(0.5)
        state, message = DeviceState(self._robot.state()).name, self._said_of_device()
        if not fault.stops and self._robot.state() != ACTIVE:
            self._problem(f'{fault.words}: not ridden out: {message}')
        self._mend(fault)
        back = time.monotonic()
        recovered = self._recover()
        self.faults.append(
            {
                'fault': fault.words,
                'after': began - self._start,
                'noticed': noticed,
                'state': state,
                'recovered': time.monotonic() - back if recovered else None,
                'message': message,
            }
        )
        self._say(f'{fault.words}: {state}, recovered {recovered}')

    def _begin(self, fault: SoakFault) -> None:
        if fault is FREEZE:
            self._robot.kill('emulator', signal.SIGSTOP)
        elif fault is STALL:
            self._robot.kill(self._driver(), signal.SIGSTOP)
            time.sleep(0.05)
            self._robot.kill(self._driver(), signal.SIGCONT)
        elif fault is FREEZE_SUPERVISOR:
            self._signal_supervisors(signal.SIGSTOP)
        elif fault is ESTOP:
            self._estop.publish(Bool(data=True))
        else:
            text = {'fault': fault.name, **fault.values}
            self._inject.publish(String(data=json.dumps(text)))

    def _mend(self, fault: SoakFault) -> None:
        if fault is FREEZE:
            self._robot.kill('emulator', signal.SIGCONT)
        elif fault is FREEZE_SUPERVISOR:
            self._signal_supervisors(signal.SIGCONT)
        elif fault is ESTOP:
            self._estop.publish(Bool(data=False))
        self._inject.publish(String(data='{"fault": "none"}'))
        self._spin(0.5)

    def _signal_supervisors(self, number: signal.Signals) -> None:
        driver = node_pid(self._robot.process.output, self._driver())
        for pid in ProcessTable().children(driver):  # also of those that a thread has started
            if b'supervisor' in Path(f'/proc/{pid}/cmdline').read_bytes():
                os.kill(pid, number)

    def _moving(self) -> bool:
        """Bring the robot to ACTIVE and give it a target; whether that worked."""
        end = time.monotonic() + RECOVER_WITHIN
        while self._recover() and time.monotonic() < end:
            if self._haptic:
                self._feel_nothing()
            self._robot.send(self._target())
            if self._until(lambda: self._robot.state() == ACTIVE, 1.5) is not None:
                self._spin(0.3)
                if self._robot.state() == ACTIVE:
                    return True
        self._problem(f'does not move again: {self._robot.watch.reasons()}')
        return False

    def _recover(self) -> bool:
        """Bring the robot back to ACTIVE as a person would; whether that worked."""
        end = time.monotonic() + RECOVER_WITHIN
        while self._robot.state() != ACTIVE:
            if time.monotonic() > end:
                self._problem(f'not recovered: {self._robot.watch.reasons()}')
                return False
            try:
                self._robot.call('driver/clear_fault')
            except UserError as error:
                self._problem(f'clear_fault: {error}')
            self._spin(1.0)
        return True

    # Watching -----------------------------------------------------------------------------------

    @property
    def _haptic(self) -> bool:
        return '[haptic_renderer]' in self._robot.process.output

    def _said_of_device(self) -> str:
        return self._watch.messages.get(f'{self._driver()}: device', '')

    def _driver(self) -> str:
        return 'haptic_renderer' if self._haptic else 'driver'

    def _feel_nothing(self) -> None:
        """Give a haptic device free space to render."""
        objects = [object_to_message(o) for o in published_environment('free', np.eye(4))]
        service = f'{self._robot.robot.prefix}/haptic_renderer/set_environment'
        request = SetVirtualEnvironment.Request(objects=objects)
        self._robot.session.call(SetVirtualEnvironment, service, request)

    def _spin(self, seconds: float) -> None:
        self._robot.session.spin_until(lambda: False, seconds)
        if time.monotonic() - self._sampled >= SAMPLE_PERIOD:
            self._sample()
        if not self._robot.process.running:
            raise RuntimeError('the robot has ended:\n' + self._robot.story)

    def _until(self, condition: Callable[[], bool], timeout: float) -> float | None:
        began = time.monotonic()
        held = self._robot.session.spin_until(condition, timeout)
        return time.monotonic() - began if held else None

    def _problem(self, what: str) -> None:
        brief = what.splitlines()[0][:200]
        after, (late, taken) = time.monotonic() - self._start, self._stalls.lately()
        said = lines_before(time.time(), LOOK_BACK, self._robot.process.output)
        self.moments.append(
            {
                'problem': brief,
                'after': round(after, 1),
                'late': round(late, 3),
                'stolen': round(taken, 2),
                'said': said,
            }
        )
        self._say(
            f'PROBLEM {what} ({after:.1f} s into the run; the computer woke {late:.3f} s late, '
            f'its host took {taken:.2f} s)'
        )

    def _sample(self) -> None:
        self._sampled = time.monotonic()
        process = self._robot.process
        row = {}
        for name, pid in processes_below(process.process.pid, process.output).items():
            found = figures_of(pid)
            self.segments |= dict.fromkeys(segments_of(pid), name)
            if found is not None:
                row[name] = [found.memory, found.threads, found.files]
        self.samples.append((self._sampled - self._start, row))
