# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Who can move a robot after a stop: every publisher, at every rate, on every device.

Part of `make reliability`. A robot is driven, then stopped (driver/stop, emergency stop, lost
commands, a fault, a device that falls silent) while streams go on as if nothing had been, and new
ones begin, with and without refused messages between the good ones and with stamps that step
back. Whatever moves before a person clears it is a failure. The result is in docs/evidence/stops.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import datetime
import json
import os
from pathlib import Path
import platform
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Bool, String

from soro_cli.motion import ACTIVE
from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_msgs.msg import ActuatorState
from soro_rigs.domains import own_domain
from soro_studies.system.launched_robot import launched_robot, LaunchedRobot
from soro_studies.system.reliability_page import write_section
from soro_studies.system.stop_senders import (
    ENVIRONMENT,
    RATES,
    RAW,
    Senders,
    STEPS,
    Stream,
    TARGET_KINDS,
)

RESULTS = Path('docs/evidence/stops')
MOTORS = Path(
    'src/soro_system_tests/test/devices/can_bench_driver.yaml'
)  # from the workspace's folder
DEVICES = ('nidaq', 'dspace', 'stm32', 'can', 'haptic')
ROBOTS = {
    'nidaq': 'stiff_flop',
    'dspace': 'soft_parallel',
    'stm32': 'pam_continuum',
    'haptic': 'haptic_5dof',
}
# What brings each device to FAULT.
FAULTS = {
    'nidaq': {'fault': 'sensor', 'voltage': 11.0},
    'dspace': {'fault': 'sensor', 'voltage': 11.0},
    'stm32': {'fault': 'supply', 'pressure': 1e4},
    'can': {'fault': 'overcurrent', 'actuator': 'motor_1'},
    'haptic': {'fault': 'overcurrent', 'actuator': 'motor_1'},
}
STOP, ESTOP, LOST, FAULT, SILENT = 'stop', 'estop', 'lost', 'fault', 'silent'
ENDS = (STOP, ESTOP, LOST, FAULT, SILENT)
REACH = 0.2  # of the range, from rest
SETTLED = 2.5  # s, from the end of motion to outputs that are at rest
MOVED = 0.02  # of the range: measured values are noisy
OBSERVED = 2.0  # s at least, after that; and two messages of the slowest stream
PAUSE = 1.2  # s without any message, before the next case
PATIENCE = 60.0  # s
ATTEMPTS = 3


@dataclass(frozen=True)
class Case:
    """One way to stop, and the stream that goes on through it."""

    end: str
    kind: str
    rate: float
    mixed: bool
    step: float

    @property
    def words(self) -> str:
        """The case for a person."""
        mixed = ', refused ones between' if self.mixed else ''
        back = f', stamps {self.step:g} s back' if self.step else ''
        return f'{self.end}: {self.kind} at {self.rate:g} Hz{mixed}{back}'


def cases(kinds: Sequence[str], ends: Sequence[str], rates: Sequence[float]) -> Iterator[Case]:
    """Yield every end with every rate; kinds, refused messages and steps take turns."""
    for i, end in enumerate(ends):
        for j, rate in enumerate(rates):
            turn = i * len(rates) + j
            kind = kinds[(i + j) % len(kinds)]
            yield Case(end, kind, rate, bool((i + j // 2) % 2), STEPS[turn % len(STEPS)])
            if rate >= 10.0 and ENVIRONMENT not in kinds:  # fast enough to hold the robot
                yield Case(end, RAW, rate, bool(i % 2), STEPS[(turn + 1) % len(STEPS)])


class Prover:
    """Runs cases on one launched robot.

    Attributes
    ----------
    moves : list of str
        Every movement without a person's act.
    trouble : list of str
        Cases that could not be tried: not stopped, not driven.
    done : Counter
        Cases by their ends.
    """

    def __init__(self, robot: LaunchedRobot, device: str) -> None:
        self.robot, self._device = robot, device
        self._haptic = device == 'haptic'
        actuators = robot.robot.description.actuators
        self._rest = np.array([a.rest for a in actuators])
        span = np.array([a.maximum - a.rest for a in actuators])
        self._range = np.array([a.maximum - a.minimum for a in actuators])
        share = np.where(np.arange(len(actuators)) % 3 == 0, REACH, 0.25 * REACH)
        if device == 'stm32':  # the mean length of a module's muscles is nobody's to choose
            share = 2.0 * (share - np.repeat(share.reshape(-1, 3).mean(axis=1), 3))
        self._goal = (self._rest + share * span).tolist()
        other = (self._rest + 0.6 * share * span).tolist()
        self.senders = Senders(robot, [self._goal, other], self._haptic)
        node, space = robot.session.node, robot.robot.namespace
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._estop = node.create_publisher(Bool, f'{space}/estop', latched)
        self._inject = node.create_publisher(String, f'{space}/emulator/inject_fault', 5)
        self._states: list[tuple[float, ActuatorState]] = []
        node.create_subscription(
            ActuatorState,
            f'{space}/actuator_state',
            lambda m: self._states.append((_measured_at(m), m)),
            200,
        )
        settings = read_driver_settings(robot.robot.description)
        self._silence = settings.command_timeout + 0.4
        self.moves: list[str] = []
        self.trouble: list[str] = []
        self.done: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()

    def run(self, case: Case) -> None:
        """Try a case, and again where a busy computer has tripped the robot before its end."""
        for _ in range(ATTEMPTS):
            why = self._attempt(case)
            if not why:
                return
        self.trouble.append(f'{case.words}: {why}')

    def _attempt(self, case: Case) -> str:
        """Drive, stop, watch; then do what a person does. Return why that could not be done."""
        main = self.senders.make(case.kind, case.rate, case.mixed)
        try:
            self._drive(main, case)
            self._others(case)
            since = self._end(case, main)
            self._watch(case, since)
            self.done[case.end] += 1
        except AssertionError as error:
            return str(error).splitlines()[0][:300]
        finally:
            self.sent.update({s.source: s.sent for s in (main, *self.senders.on)})
            self.senders.on.clear()
            self.senders.step = 0.0
            self._recover()
        return ''

    # Steps --------------------------------------------------------------------------------------

    def _spin(self, seconds: float) -> None:
        self._wait(lambda: False, seconds)

    def _wait(self, condition: Any, timeout: float) -> bool:
        def held() -> bool:
            self.senders.serve()
            return bool(condition())

        return self.robot.session.spin_until(held, timeout)

    def _drive(self, main: Stream, case: Case) -> None:
        if self._haptic:
            target = self.senders.make('target_actuation', 10.0, False)
            self.senders.on.append(target)
            self._spin(1.5)
            self.senders.on.remove(target)
        elif case.kind != RAW:
            self.robot.move(self._goal)
        self.senders.on.append(main)
        if case.kind == RAW:
            held = self._wait(lambda: self.robot.watch.state.command_source == main.source, 5.0)
            state = self.robot.watch.state
            assert held, (
                f'{main.source} is not in control but {state.command_source or "nobody"}, '
                f'{self.robot.story}'
            )
            self._spin(0.5)
        else:
            self._spin(min(1.2, 1.0 / case.rate))

    def _others(self, case: Case) -> None:
        """Have everybody else begin as well: refused as long as somebody is in control."""
        if self._haptic:
            return
        for rate in RATES:
            self.senders.on += [
                self.senders.make(RAW, rate, mixed, f'other_{case.kind}')
                for mixed in (False, True)
            ]
        self._spin(0.3)

    def _end(self, case: Case, main: Stream) -> float:
        """Stop the robot in the way of the case, repair what was broken; return when it was."""
        since = time.monotonic()
        self.senders.step = case.step
        if case.end == STOP:
            reply = self.robot.call('driver/stop')
            assert reply.success, reply.message
        elif case.end == ESTOP:
            self._estop.publish(Bool(data=True))
        elif case.end == LOST and case.kind == RAW:
            others, self.senders.on = self.senders.on, []
            self._spin(self._silence)
            self.senders.on = others
        elif case.end == LOST:
            self.robot.kill('trajectory_planner', signal.SIGSTOP)
            self._spin(self._silence)
            self.robot.kill('trajectory_planner', signal.SIGCONT)
        else:
            fault = {'fault': 'silent'} if case.end == SILENT else FAULTS[self._device]
            self._inject.publish(String(data=json.dumps(fault)))
        assert self._wait(lambda: self.robot.state() != ACTIVE, 10.0), 'not stopped'
        stopped = time.monotonic()
        self._spin(0.5)
        self._repair()
        assert stopped - since < 10.0
        return stopped

    def _watch(self, case: Case, since: float) -> None:
        """Watch until two messages of the slowest stream have come after everything is at rest."""
        self._spin(max(SETTLED + OBSERVED, 2.0 / case.rate + 0.5))
        found = [*self._by_state(since), *self._by_log(since)]
        self.moves += [f'{case.words}: {what}' for what in found]

    def _by_state(self, since: float) -> list[str]:
        heard = [(t - since, m) for t, m in self._states if t > since + 0.05]
        self._states = self._states[-10:]
        found = [f'ACTIVE after {t:.2f} s' for t, m in heard if m.device_state == ACTIVE][:1]
        found += [f'{m.command_source} in control' for t, m in heard if m.command_source][:1]
        late = np.array([m.applied for t, m in heard if t > SETTLED], float)
        if self._device != 'can' and len(late):  # motors that were let go are moved by the body
            with np.errstate(invalid='ignore'):
                drift = np.nan_to_num(np.abs(late - self._rest) - np.abs(late[0] - self._rest))
            if (drift > MOVED * self._range).any() and self._device != 'haptic':
                found.append('the outputs went away from rest')
        return found

    def _by_log(self, since: float) -> list[str]:
        """Return what the device itself noted of motion once everything was at rest."""
        found, last = [], {}  # type: list[str], dict[str, float]
        for e in self.robot.events():
            at, name = e['t'] - since, e['event']
            if name == 'output':
                if at > SETTLED and e['pressure'] > last.get(e['actuator'], 0.0):
                    found.append(f'{e["actuator"]} at {e["pressure"]:.0f} Pa after {at:.2f} s')
                last[e['actuator']] = e['pressure']
            elif name == 'state' and e['state'] == 'ARMED' and at > 0.3:
                found.append(f'armed after {at:.2f} s')
            elif name == 'valve' and e['action'] == 'inflate' and e['on'] and at > SETTLED:
                found.append(f'muscle {e["muscle"]} inflated after {at:.2f} s')
        return found[:2]

    # As a person --------------------------------------------------------------------------------

    def _repair(self) -> None:
        self._estop.publish(Bool(data=False))
        self._inject.publish(String(data='{"fault": "none"}'))

    def _recover(self) -> None:
        """Repair, clear, and wait until the robot stands armed and nobody speaks."""
        end = time.monotonic() + PATIENCE
        self._repair()
        while self.robot.state() != ACTIVE or self.robot.watch.stopped:
            if time.monotonic() > end:
                raise RuntimeError(f'not recovered: {self.robot.story}')
            self.robot.call('driver/clear_fault')
            self._spin(0.5)
        self._spin(PAUSE)


def _measured_at(message: ActuatorState) -> float:
    """Return when a state was measured, on the steady clock [s]: it may have waited here since."""
    stamp = message.header.stamp
    return time.monotonic() - (time.time() - stamp.sec - 1e-9 * stamp.nanosec)


def robot_file(device: str, folder: Path) -> str:
    """Return the robot of a device: of the catalogue, muscles quick to vent, or six motors."""
    if device == 'can':
        motors = find_robot_file('stiff_flop').with_name('examples') / 'crank_platform.yaml'
        file = folder / 'motors.yaml'
        bare = motors.read_text('utf-8').partition('\nemulator:')[0] + '\n'
        file.write_text(bare + MOTORS.read_text('utf-8'), encoding='utf-8')
        return str(file)
    if device == 'stm32':
        text = find_robot_file(ROBOTS[device]).read_text(encoding='utf-8')
        assert 'vent_time: 6 s' in text
        file = folder / 'muscles.yaml'
        file.write_text(text.replace('vent_time: 6 s', 'vent_time: 1.5 s'), encoding='utf-8')
        return str(file)
    return ROBOTS[device]


def prove(
    device: str,
    ends: Sequence[str] = ENDS,
    rates: Sequence[float] = RATES,
    seconds: float = float('inf'),
) -> dict[str, Any]:
    """Launch the robot of a device and try all cases, or as many as the time allows.

    Returns
    -------
    dict
        `moves` must be empty.
    """
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f'soro_stops_{device}_') as name:
        folder = Path(name)
        robot = robot_file(device, folder)
        os.environ['XDG_DATA_HOME'] = name  # emergency stops outlive their driver
        space = f'stops_{device}'
        with launched_robot([robot], folder, space, robot, 300.0, clearing=True) as launched:
            prover = Prover(launched, device)
            kinds: tuple[str, ...] = TARGET_KINDS
            if device == 'haptic':
                kinds, ends = ('target_actuation', ENVIRONMENT), [e for e in ends if e != LOST]
            prover._recover()  # noqa: SLF001 - begins at rest
            for case in cases(kinds, ends, rates):
                if time.monotonic() - began > seconds:
                    break
                print(f'{device}: {case.words}', flush=True)
                before = len(prover.moves), len(prover.trouble)
                prover.run(case)
                for line in (*prover.moves[before[0] :], *prover.trouble[before[1] :]):
                    print(f'  !! {line}', flush=True)
            exit_code = launched.process.stop()
    return {
        'device': device,
        'robot': Path(robot).stem,
        'cases': sum(prover.done.values()),
        'ends': dict(prover.done),
        'messages': sum(prover.sent.values()),
        'moves': prover.moves,
        'trouble': prover.trouble,
        'exit': exit_code,
        'seconds': round(time.monotonic() - began),
        'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='minutes'),
    }


def page() -> list[str]:
    """Return the section of docs/evidence/reliability.md, of all results that are stored."""
    lines = [
        '\n## Stops\n',
        f'`python -m soro_studies.system.stop_proof`, {platform.machine()}, {os.cpu_count()} '
        'shared cores. A robot is driven and stopped; what was being sent goes on, raw commands '
        f'of sixteen more sources begin, at {RATES[0]:g} to {RATES[-1]:g} Hz, half of them with '
        'refused messages between and some with stamps that step back. *Moves* counts whatever '
        'moved, or took control, before a person cleared it.',
        '\n| Device | Robot | Cases | Messages | Moves | Not tried |',
        '|---|---|---|---|---|---|',
    ]
    for device in DEVICES:
        file = RESULTS / f'{device}.json'
        if file.exists():
            r = json.loads(file.read_text(encoding='utf-8'))
            lines.append(
                f'| {device} | {r["robot"]} | {r["cases"]} | {r["messages"]} '
                f'| {len(r["moves"])} | {len(r["trouble"])} |'
            )
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Prove it for all devices, one after the other; the exit code says whether anything moved."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--devices', default=','.join(DEVICES), help='with commas between')
    parser.add_argument('--ends', default=','.join(ENDS))
    parser.add_argument('--rates', default=','.join(f'{r:g}' for r in RATES), help='[Hz]')
    parser.add_argument('--keep', action='store_true', help='store nothing')
    parser.add_argument('--one', default='', help=argparse.SUPPRESS)
    arguments = parser.parse_args(words)
    rates = [float(r) for r in arguments.rates.split(',')]
    if arguments.one:
        result = prove(arguments.one, arguments.ends.split(','), rates)
        if not arguments.keep:
            RESULTS.mkdir(parents=True, exist_ok=True)
            text = json.dumps(result, indent=1)
            (RESULTS / f'{arguments.one}.json').write_text(text + '\n', encoding='utf-8')
        print(json.dumps(result, indent=1), flush=True)
        return int(bool(result['moves'] or result['trouble'] or result['exit']))
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(own_domain()),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }
    failed = 0
    for device in arguments.devices.split(','):  # a process each: middleware leaks none
        command = [
            sys.executable,
            '-m',
            __spec__.name,
            '--one',
            device,
            '--ends',
            arguments.ends,
            '--rates',
            arguments.rates,
            *(['--keep'] if arguments.keep else []),
        ]
        failed += bool(subprocess.run(command, env=environment, check=False).returncode)
    if not arguments.keep:
        write_section(page())
    return min(1, failed)


if __name__ == '__main__':
    sys.exit(main())
