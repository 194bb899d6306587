# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults that the real-time computer has latched: clearing them once is enough."""

from __future__ import annotations

from computer_on_a_link import ComputerLink, wiring
import numpy as np
import pytest

from soro_driver.device import DeviceState, Fault
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.plausibility import PlausibilityLimits
from soro_driver.serial.frame import SerialState
from soro_driver.settings import DriverSettings, RELEASE
from soro_dspace_driver.device import DspaceDevice
from soro_dspace_driver.protocol import DeviceFault
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section


@pytest.fixture
def link():
    return ComputerLink()


@pytest.fixture
def loop(link):
    names = [f'p{i}' for i in range(3)]
    gate = CommandGate(tuple(Actuator(n, 'pressure', 0.0, 1.8e5, 2e5, 0.0) for n in names), ())
    settings = DriverSettings(
        device='dspace',
        rate=100.0,
        command_timeout=5.0,
        feedback_timeout=5.0,
        ttl=0.4,
        engage_band=0.1,
        safe_action=RELEASE,
        safe_rate=np.full(3, 1e5),
        plausibility=PlausibilityLimits(),
        section=Section({}, 'driver.dspace'),
    )
    device = DspaceDevice(wiring())
    device.transport.session.link = link
    made = ControlLoop(device, CommandArbiter(gate, 5.0), gate, settings)
    made.open()
    yield made
    made.shutdown()


def latch(link, loop, state, fault):
    """Let the computer go to a state of its own; returns the tick that finds it."""
    link.state, link.faults = state, fault
    link.measure()
    return loop.tick()


@pytest.mark.parametrize(
    ('state', 'fault'),
    [(SerialState.FAULT, DeviceFault.OVER_PRESSURE), (SerialState.ESTOP, DeviceFault.ESTOP)],
)
def test_one_call_clears_a_fault_of_the_computer(link, loop, state, fault):
    tick = latch(link, loop, state, fault)
    assert tick.state is DeviceState.FAULT
    assert tick.faults & Fault.DEVICE
    loop.clear()
    tick = loop.tick()
    assert (tick.state, tick.faults) == (DeviceState.INACTIVE, 0)
    assert loop.device.transport.faults == 0


def test_a_fault_that_is_still_there_comes_back(link, loop):
    latch(link, loop, SerialState.FAULT, DeviceFault.SENSOR)
    loop.clear()
    assert latch(link, loop, SerialState.FAULT, DeviceFault.SENSOR).state is DeviceState.FAULT
