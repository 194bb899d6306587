# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The robot of thirty muscles as processes, quick to vent; and a bare host for its valve board."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re
import time
from typing import Any

import numpy as np
from robot_processes import RobotProcesses

from soro_driver.device import DeviceState
from soro_driver.endpoint import derive
from soro_driver.serial.frame import Ack, Arm, Body, DeviceKind, Disarm, Heartbeat, Nack
from soro_driver.serial.link import SerialLink
from soro_driver.serial.session import SerialSession
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_stm32_driver.pairing import FIRST_MUSCLES as MUSCLES
from soro_stm32_driver.protocol import BODIES, Status, StatusFlag

NAMES = tuple(f'muscle_{t}_{i}' for t in range(1, 11) for i in range(1, 4))
LENGTH = 2  # soro_msgs/ActuatorCommand
REST = np.full(MUSCLES, 0.1)
SILENCE = 2.0  # s, a busy computer may hold a driver up for longer than the real 0.5 s
QUICKER = 0.2  # of the time to deflate: tests vent again and again


def quick_file(folder: Path, *changes: tuple[str, str]) -> Path:
    """Write the catalogue's robot with quick valves for deflation and further changes."""
    text = find_robot_file('pam_continuum').read_text(encoding='utf-8')
    quicker = (
        ('deflate_time: {value: 2 s', f'deflate_time: {{value: {2.0 * QUICKER} s'),
        ('vent_time: 6 s', f'vent_time: {6.0 * QUICKER} s, watchdog: {SILENCE} s'),
        ('feedback_timeout: 1 s', 'feedback_timeout: 3 s'),
        ('command_timeout: 1 s', 'command_timeout: 3 s'),
    )
    for old, new in (*quicker, *changes):
        assert old in text, old
        text = text.replace(old, new, 1)

    def scaled(match: re.Match[str]) -> str:
        numbers = ' '.join(f'{QUICKER * float(x):.4f}' for x in match[1].split())
        return f'deflate_time: {numbers} s,'

    text = re.sub(r'deflate_time: ([\d. ]+) s,', scaled, text)
    file = folder / 'pam_continuum.yaml'
    file.write_text(text, encoding='utf-8')
    return file


class ValveRobot(RobotProcesses):
    """Driver and emulator of the muscle robot."""

    def send(
        self, values: Any, names: Any = NAMES, quantity: int = LENGTH, source: str = ''
    ) -> None:
        """Publish one command."""
        super().send(values, names, quantity, source)

    def bend(self, size: float) -> np.ndarray:
        """Stream a target near rest; returns it."""
        pattern = np.tile([size, -0.5 * size, -0.5 * size], MUSCLES // 3)
        self.target = REST + pattern
        return self.target

    def arrive(self, timeout: float = 20.0) -> None:
        """Wait until the muscles are where they are wanted, as far as valves can tell."""
        goal = self.target
        assert goal is not None

        def there() -> bool:
            off = np.array(self.state.applied) - goal
            return bool(np.max(np.abs(off)) < 8e-4)

        self.wait_for(there, timeout, f'arrived, {self.state.applied[:3]}')

    def valve_times(self, since: float = 0.0) -> tuple[np.ndarray, dict[tuple[int, int], float]]:
        """Return for how long each coil was on by the device's own log, (30, 2); who still is."""
        on: dict[tuple[int, int], float] = {}
        total = np.zeros((MUSCLES, 2))
        for e in self.events('valve', since):
            key = e['muscle'], ('inflate', 'deflate').index(e['action'])
            if e['on']:
                on[key] = e['t']
            elif key in on:
                total[key] += e['t'] - on.pop(key)
        return total, on

    def valve_seconds(self, since: float = 0.0) -> np.ndarray:
        """Return the same where every coil is off again."""
        total, on = self.valve_times(since)
        assert not on, f'still on: {on}'
        return total

    def ordered(self, since: float = 0.0) -> np.ndarray:
        """Return for how long the commands that were carried out said, (30, 2)."""
        total = np.zeros((MUSCLES, 2))
        for e in self.events('command', since):
            for muscle, action, duration in e['actions']:
                total[muscle, action - 1] += 1e-3 * duration
        return total

    def check_interlock(self) -> None:
        """Fail where both coils of a muscle were on at once, or both valves let air through."""
        assert self.events('short_circuit') == []
        on = np.zeros((MUSCLES, 2), bool)
        for e in self.events('valve'):
            on[e['muscle'], ('inflate', 'deflate').index(e['action'])] = e['on']
            assert not on[e['muscle']].all(), e

    def recover(self) -> None:
        """Bring the robot back to ACTIVE, vented and at rest."""
        self.target = None
        super().recover()
        self.wait_state(DeviceState.ACTIVE, 30.0)


class BareHost:
    """A host without a driver: says what no driver would."""

    def __init__(self, namespace: str) -> None:
        self.link = SerialLink(str(derive(namespace, 'stm32').path), 115200, 0.5)
        self.session = SerialSession(self.link, DeviceKind.VALVES, MUSCLES)
        self.status: Status | None = None
        self.answers: dict[int, Ack | Nack] = {}

    def open(self) -> None:
        """Open a session, wait until everything is vented, arm."""
        self.session.open(3.0)
        self.session.request(Disarm(), 3.0)
        self.wait(lambda: self.status and not self.status.flags & StatusFlag.VENTING)
        self.wait(lambda: self.status.flags & StatusFlag.VENTED)
        self.session.request(Arm(self.session.number), 3.0)

    def send(self, body: Body, seq: int | None = None) -> int:
        """Send a frame; with `seq` again or out of order."""
        return self.link.send(body, seq)

    def ask(self, body: Body, seq: int | None = None) -> Ack | Nack:
        """Send a frame and return its answer."""
        sent = self.send(body, seq)
        self.answers.pop(sent, None)
        self.wait(lambda: sent in self.answers)
        return self.answers[sent]

    def wait(self, condition: Callable[[], Any], timeout: float = 15.0) -> None:
        """Take frames in and stay alive until a condition holds."""
        end, beat = time.monotonic() + timeout, 0.0
        while not condition():
            now = time.monotonic()
            assert now < end, f'not within {timeout} s; {self.status}'
            if now - beat > 0.1:
                self.link.send(Heartbeat(self.session.number))
                beat = now
            self.link.wait(now + 0.05)
            for arrival in self.session.take():
                frame = arrival.frame
                if frame.type in (Ack.type, Nack.type):
                    body = {Ack.type: Ack, Nack.type: Nack}[frame.type].unpack(frame.body)
                    self.answers[body.of_seq] = body
                elif frame.type == Status.type:
                    self.status = BODIES[frame.type].unpack(frame.body)

    def close(self) -> None:
        """Give the port back."""
        self.session.close()
