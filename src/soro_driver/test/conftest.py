# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A device in memory and a clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass, field
import threading

import numpy as np
import pytest

from soro_driver.device import Device, DeviceError, Identity, Reading
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.plausibility import PlausibilityLimits
from soro_driver.settings import DriverSettings, RAMP
from soro_mechanics.core.actuators import Actuator, CoupledLimit
from soro_mechanics.robot_file.section import Section

PERIOD = 0.01
BAR = 1e5


class FakeClock:
    """A steady clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Hold:
    """Keeps whoever calls in one call: `entered` is set by the call, `leave` lets it go on."""

    def __init__(self) -> None:
        self.entered, self.leave = threading.Event(), threading.Event()


class FakeDevice(Device):
    """Follows its set-points at once, and fails as told."""

    def __init__(self, clock: FakeClock, count: int) -> None:
        self.clock = clock
        self.calls: list[str] = []
        self.written: list[np.ndarray] = []
        self.measured = np.zeros(count)
        self.follows = True
        self.flags = np.zeros(count, np.uint16)
        self.faults = 0
        self.tripped = False
        self.is_open = False
        self.is_armed = False
        self.serial = '1'
        self.fail: dict[str, Exception] = {}
        self.holds: dict[str, Hold] = {}
        self.frozen_at: float | None = None

    @classmethod
    def from_section(cls, section, robot, endpoint):
        raise NotImplementedError

    def hold(self, name: str) -> Hold:
        """Let the calls of one name take as long as the test wants."""
        self.holds[name] = Hold()
        return self.holds[name]

    def _called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.holds:
            self.holds[name].entered.set()
            assert self.holds[name].leave.wait(10.0)
        if name in self.fail:
            raise self.fail[name]

    def open(self) -> Identity:
        self._called('open')
        self.is_open, self.is_armed = True, False
        return Identity('fake', self.serial)

    def read(self) -> Reading:
        self._called('read')
        time = self.clock.now if self.frozen_at is None else self.frozen_at
        applied = self.written[-1] if self.written else np.zeros_like(self.measured)
        return Reading(
            time, self.measured.copy(), applied, self.flags.copy(), self.faults, self.tripped
        )

    def write(self, values, ttl: float) -> None:
        self._called('write')
        if not self.is_armed:
            raise DeviceError('written while not armed')
        self.written.append(values.copy())
        if self.follows:
            self.measured = values.copy()

    def arm(self) -> None:
        self._called('arm')
        self.is_armed = True

    def make_safe(self) -> None:
        self._called('make_safe')
        self.is_armed = False
        if self.follows:
            self.measured = np.zeros_like(self.measured)

    def reset(self) -> None:
        self._called('reset')
        self.faults, self.tripped = 0, False

    def close(self) -> None:
        self.calls.append('close')
        self.is_open = self.is_armed = False


def press(loop: ControlLoop) -> None:
    """Press the emergency stop, as the driver node does."""
    loop.safety.latches.press('button')
    loop.estop()


@dataclass
class Rig:
    """A control loop on a fake device, ticked by the test."""

    clock: FakeClock
    device: FakeDevice
    gate: CommandGate
    inlet: CommandArbiter
    loop: ControlLoop
    log: list[str] = field(default_factory=list)
    stamp: int = 0

    def tick(self, count: int = 1, lateness: float = 0.0):
        """Tick; returns the last one."""
        for _ in range(count):
            self.clock.now += PERIOD
            last = self.loop.tick(lateness)
        return last

    def send(
        self,
        *values: float,
        source: str = '/robot/planner',
        stamp: int | None = None,
        stops: int = 0,
        age: float = 0.0,
    ):
        """Send a command by names; `age`: it has waited so long for this tick [s]."""
        self.stamp += 1_000_000
        quantities, arrival = [a.quantity_code for a in self.gate.actuators], self.clock.now - age
        self.inlet.submit(
            self.gate.names, quantities, values, source, stamp or self.stamp, arrival, stops
        )

    def stream(self, values, count: int, source: str = '/robot/planner'):
        """Send the same command every tick."""
        for _ in range(count):
            self.send(*values, source=source)
            last = self.tick()
        return last

    def press(self):
        """Press the emergency stop."""
        press(self.loop)

    def release(self):
        """Release the emergency stop."""
        self.loop.safety.latches.let_go('button')

    def armed(self):
        """Arm and tick once."""
        self.loop.arm()
        self.tick()
        return self


@pytest.fixture
def fake_device():
    return FakeDevice


@pytest.fixture
def actuators():
    return tuple(
        Actuator(name, 'pressure', 0.0, 1.5 * BAR, 2 * BAR, 0.0) for name in ('a', 'b', 'c')
    )


@pytest.fixture
def coupled():
    return (CoupledLimit('a + b', np.array([1.0, 1.0, 0.0]), 2.0 * BAR),)


@pytest.fixture
def make_rig(actuators, coupled):
    """Return a function that makes an opened rig, settings changed as given."""

    def make(open_: bool = True, **changes) -> Rig:
        clock = FakeClock()
        settings = {
            'device': 'fake',
            'rate': 1.0 / PERIOD,
            'command_timeout': 0.2,
            'feedback_timeout': 0.1,
            'ttl': 0.2,
            'engage_band': 0.1,
            'safe_action': RAMP,
            'safe_rate': np.full(3, 1.0 * BAR),
            'plausibility': PlausibilityLimits(),
            'section': Section({}, 'driver.fake'),
        }
        gate = changes.pop('gate', None) or CommandGate(actuators, coupled)
        settings |= changes
        device = FakeDevice(clock, 3)
        settings = DriverSettings(**settings)
        inlet = CommandArbiter(gate, settings.command_timeout)
        log: list[str] = []
        loop = ControlLoop(device, inlet, gate, settings, log=log.append, clock=clock)
        if open_:
            loop.open()
        return Rig(clock, device, gate, inlet, loop, log)

    return make


@pytest.fixture
def rig(make_rig):
    return make_rig()


@pytest.fixture(autouse=True)
def own_user_data(tmp_path_factory, monkeypatch):
    """Keep latched emergency stops of a test away from the next one, and from the user."""
    monkeypatch.setenv('XDG_DATA_HOME', str(tmp_path_factory.mktemp('data')))
