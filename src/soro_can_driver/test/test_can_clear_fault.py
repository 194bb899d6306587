# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Faults that the board has latched: clearing them once is enough."""

from __future__ import annotations

from board_on_a_link import wiring
import numpy as np
import pytest

from soro_can_driver.board import BoardState, FIRST_MOTORS
from soro_can_driver.device import CanDevice
from soro_driver.device import DeviceState, Fault
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import CommandArbiter
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.plausibility import PlausibilityLimits
from soro_driver.settings import DriverSettings, RELEASE
from soro_mechanics.core.actuators import Actuator
from soro_mechanics.robot_file.section import Section


@pytest.fixture
def loop(board):
    names = wiring().motors
    gate = CommandGate(tuple(Actuator(n, 'angle', -1.0, 1.0, 20.0, 0.0) for n in names), ())
    settings = DriverSettings(
        device='can',
        rate=500.0,
        command_timeout=5.0,
        feedback_timeout=5.0,
        ttl=5.0,
        engage_band=0.1,
        safe_action=RELEASE,
        safe_rate=np.ones(FIRST_MOTORS),
        plausibility=PlausibilityLimits(),
        section=Section({}, 'driver.can'),
    )
    made = ControlLoop(CanDevice(wiring()), CommandArbiter(gate, 5.0), gate, settings)
    made.open()
    yield made
    made.shutdown()


@pytest.mark.parametrize('state', [BoardState.FAULT, BoardState.ESTOP])
def test_one_call_clears_a_fault_of_the_board(board, loop, state):
    board.state = state
    loop.tick()  # asks for the next measurement
    tick = loop.tick()
    assert tick.state is DeviceState.FAULT
    assert tick.faults & Fault.DEVICE
    loop.clear()
    assert board.state is BoardState.SAFE
    tick = loop.tick()
    assert (tick.state, tick.faults) == (DeviceState.INACTIVE, 0)


def test_a_fault_that_is_still_there_comes_back(board, loop):
    board.state = BoardState.FAULT
    loop.tick()
    loop.tick()
    loop.clear()
    board.state = BoardState.FAULT
    loop.tick()  # asks for the next measurement
    assert loop.tick().state is DeviceState.FAULT
