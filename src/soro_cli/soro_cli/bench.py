# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Driving a device channel by channel, by the control loop and the limits of its driver."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
import os
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np

from soro_cli.doctor.findings import fail, Finding, ok, warn
from soro_driver import devices
from soro_driver.device import Array, DeviceError, DeviceState, Reading
from soro_driver.endpoint import derive
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import Command, Law
from soro_driver.loop.tick import Tick
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.settings import read_driver_settings
from soro_mechanics.core.errors import SoroError
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.display_units import shown
from soro_node.process.parent_death import until_parent_dies

START, SETTLE, PULLED = 60.0, 1.0, 60.0  # s: until it answers, to follow, for a person
TOO_LITTLE, TOO_MUCH, CROSSTALK = 0.8, 1.25, 0.3  # of the way that was asked for
POLL = 0.02  # s
VENT = 5.0  # times SETTLE, for pressure to go after a stop
EMULATOR = (
    "from soro_node.process.early_start import import_and_run as run; run('soro_emulation.node')"
)


class BenchLaw(Law):
    """Commands what it was told last."""

    wanted: Array | None = None

    def command(self, reading: Reading, accepting: bool, now: float) -> Command | None:
        """Return it, anew in every tick."""
        wanted = self.wanted
        return None if wanted is None else Command(wanted, 'soro bench', time.time_ns(), now)

    def refused(self, command: Command, error: SoroError) -> None:
        """Forget what is not near; the step that wanted it says so."""
        self.wanted = None

    def disengaged(self) -> None:
        """Forget what was wanted before."""
        self.wanted = None

    def armed(self) -> None:
        """Nothing: each step says what it wants."""


class Bench:
    """The device of a robot, real or emulated by a process of its own; a context.

    `part` of its range is how far each channel goes from rest. `ask` gets a question and returns
    what a person types; None: nobody is there.
    """

    def __init__(
        self, robot: str, hardware: bool, part: float, ask: Callable[[str], str] | None
    ) -> None:
        file = find_robot_file(robot)
        self._robot, self._ask = read_robot_file(file), ask
        settings = read_driver_settings(self._robot)
        namespace = f'/bench_{os.getpid()}'
        endpoint = None if hardware else derive(namespace, settings.device)
        self._emulator: subprocess.Popen[bytes] | None = None
        if endpoint is not None:
            words = ['--ros-args', '-r', f'__ns:={namespace}', '-p', f'robot:={file}']
            words += ['-p', 'rate:=0.0', '--log-level', 'error']
            self._emulator = subprocess.Popen(
                [sys.executable, '-c', EMULATOR, *words], preexec_fn=until_parent_dies()
            )
        kind = devices.load(settings.device)
        self._device = kind.from_section(settings.section, self._robot, endpoint)
        self._law, self._ticks, self._settings = BenchLaw(), deque[Tick](maxlen=1), settings
        gate = CommandGate(self._robot.actuators, self._robot.coupled_limits)
        self._loop = ControlLoop(self._device, self._law, gate, settings, self._ticks.append)
        self._rest = self._robot.rest
        span = self._robot.maximum - self._robot.minimum
        room = self._robot.maximum - self._rest
        self._steps = part * span * np.where(room >= part * span, 1.0, -1.0)
        self._time = SETTLE + part * float(max(span / [a.rate for a in self._robot.actuators]))

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, *error: object) -> None:
        self._loop.shutdown()
        if self._emulator is not None:
            self._emulator.send_signal(signal.SIGCONT)
            self._emulator.terminate()
            self._emulator.wait(10.0)

    def findings(self) -> Iterator[Finding]:
        """Do every step, one after the other; the rest is left out where the device fails."""
        for step in (self._connect, self._arm, self._channels, self._stop, self._pull):
            try:
                yield from step()
            except SoroError as error:
                yield fail(
                    step.__name__.strip('_'),
                    str(error),
                    self._loop.safety.reason or 'docs/hardware.md',
                )
                return

    def _connect(self) -> Iterator[Finding]:
        identity = _patiently(self._loop.open, DeviceError, START if self._emulator else 0.0)
        self._loop.start()
        yield ok('device', f'{identity.model}, serial {identity.serial} {identity.firmware}')
        for name, where in self._device.terminals().items():
            yield ok(name, f'is {where}')

    def _arm(self) -> Iterator[Finding]:
        _patiently(self._loop.arm, NotAllowed, START)
        self._settle(SETTLE)
        here = zip(self._here(), self._robot.actuators, strict=True)
        yield ok('armed', 'at rest, measured ' + ', '.join(shown(v, a.unit) for v, a in here))

    def _channels(self) -> Iterator[Finding]:
        for i, actuator in enumerate(self._robot.actuators):
            before = self._go(self._rest)
            share = (self._go(self._moved(i)) - before) / self._steps
            others = [a.name for j, a in enumerate(self._robot.actuators)
                      if j != i and abs(share[j]) > CROSSTALK]  # fmt: skip
            text = f'{share[i]:.0%} of the way that was asked for'
            if np.isnan(self._ticks[-1].measured[i]):
                yield warn(actuator.name, 'is not measured', 'look whether it moves')
            elif others:
                yield fail(actuator.name, f'moves {", ".join(others)}', 'wires are exchanged')
            elif share[i] < -CROSSTALK:
                yield fail(actuator.name, f'{text}: the wrong way', 'turn direction or scale')
            elif not TOO_LITTLE <= share[i] <= TOO_MUCH:
                yield fail(actuator.name, text, 'check its scale, its wire and its supply')
            else:
                yield ok(actuator.name, text)
            if self._ask and self._ask(f'Has {actuator.name} alone moved, rightly? y/n ') != 'y':
                yield fail(actuator.name, 'a person has seen something else', 'check its wiring')
        self._go(self._rest)

    def _stop(self) -> Iterator[Finding]:
        self._go(self._moved(0))
        self._loop.stop('soro bench')
        self._settle(SETTLE)
        if self._wait(VENT * SETTLE, lambda t: not self._full()) is None:
            raise DeviceError(f'pressure stays up after a stop: {self._full()}; do not use it')
        here = self._here()
        self._law.wanted = self._rest + self._steps
        self._settle(SETTLE)
        moved = np.nanmax(np.abs((self._here() - here) / self._steps))
        self._law.wanted = None
        if self._ticks[-1].state is DeviceState.ACTIVE or moved > CROSSTALK:
            raise DeviceError(f'moved by {moved:.0%} of a step: do not use this device')
        yield ok('stop', 'latched: a stream that goes on moves nothing')
        self._loop.clear()
        yield from self._arm()

    def _pull(self) -> Iterator[Finding]:
        patience = self._settings.feedback_timeout * 4.0 + SETTLE
        if self._emulator is not None:
            self._emulator.send_signal(signal.SIGSTOP)
        elif self._ask:
            print('Pull the cable to the device now.', flush=True)
            patience = PULLED
        else:
            return
        lost = self._wait(patience, lambda t: t.state is DeviceState.UNCONFIGURED)
        if self._emulator is not None:
            self._emulator.send_signal(signal.SIGCONT)
        else:
            print('Plug it in again.', flush=True)
        back = self._wait(PULLED, lambda t: t.state is not DeviceState.UNCONFIGURED)
        if lost is None:
            yield fail('cable', 'not noticed', 'set driver.feedback_timeout')
        elif back is None or back.state is DeviceState.ACTIVE:
            yield fail('cable', 'does not come back, or armed', 'do not use this device')
        else:
            yield ok('cable', f'lost device noticed; {back.state.name} when it is back')

    def _here(self) -> Array:
        tick = self._ticks[-1]
        return np.where(np.isnan(tick.measured), tick.applied, tick.measured)

    def _full(self) -> str:
        """Name the actuators whose pressure has not gone."""
        away = np.abs(self._here() - self._rest) > CROSSTALK * np.abs(self._steps)
        rows = zip(self._robot.actuators, away, strict=True)
        return ', '.join(a.name for a, up in rows if up and a.quantity == 'pressure')

    def _moved(self, i: int) -> Array:
        """Return the goal at which one channel is a step from rest."""
        return self._rest + self._steps * (np.arange(len(self._rest)) == i)

    def _go(self, goal: Array) -> Array:
        """Be at a goal for a while; return what is measured there."""
        self._law.wanted = goal
        self._settle(self._time)
        if self._law.wanted is None or self._loop.safety.state is not DeviceState.ACTIVE:
            moves = [self._robot.actuators[i].name for i in np.flatnonzero(goal != self._rest)]
            where = f'while {", ".join(moves)} was to move' if moves else 'on the way to rest'
            raise DeviceError(f'{self._loop.safety.state.name} {where}')
        return self._here()

    def _settle(self, seconds: float) -> None:
        """Let the loop run for so long: while a busy computer holds it up, nothing moves."""
        loop, end = self._loop.thread, time.monotonic() + seconds
        missed = loop.statistics.missed
        self._wait(seconds)
        self._wait(PULLED, lambda tick: tick.due > end or not loop.running)
        self._wait((loop.statistics.missed - missed) * self._settings.period)

    def _wait(self, seconds: float, until: Callable[[Tick], bool] = lambda t: False) -> Any:
        """Return the first tick that is as wanted; None after some seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self._ticks and until(self._ticks[-1]):
                return self._ticks[-1]
            time.sleep(POLL)
        return None


def _patiently(action: Callable[[], Any], error: type[Exception], seconds: float) -> Any:
    """Do something, again for some seconds where it is refused."""
    end = time.monotonic() + seconds
    while True:
        try:
            return action()
        except error:
            if time.monotonic() >= end:
                raise
            time.sleep(POLL)
