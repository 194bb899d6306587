# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A host that breaks the rules, against the emulator's process; judged by the emulator's log."""

from __future__ import annotations

import pytest
from valve_robot import BareHost, quick_file, ValveRobot

from soro_driver.serial.frame import Ack, Nack
from soro_stm32_driver.protocol import Action, SetTimed, Timed, ValveReason
from soro_stm32_driver.transport import DeviceClock

BUDGET = 900  # ms


@pytest.fixture(scope='module')
def robot(tmp_path_factory):
    """Return an emulator without a driver."""
    folder = tmp_path_factory.mktemp('valves')
    file = quick_file(folder, (', budget: 6 s', f', budget: {BUDGET / 1e3} s'))
    robot = ValveRobot(folder, file)
    try:
        robot.start_emulator()
        robot.wait_for(lambda: robot.events('listening'), 60.0, 'a listening emulator')
        yield robot
    finally:
        robot.close()


@pytest.fixture
def host(robot):
    """Return an armed host."""
    host = BareHost(robot.namespace)
    try:
        host.open()
        yield host
    finally:
        host.close()


def timed(host: BareHost, *actions: tuple[int, int, int]) -> SetTimed:
    """Make a command whose deadline is 0.9 s after the newest status."""
    before = host.status.time
    host.wait(lambda: host.status.time != before)
    return SetTimed((host.status.time + 900) & 0xFFFF, tuple(Timed(*a) for a in actions))


def refused(robot, since):
    return [(e['reason'], e['muscle']) for e in robot.events('refused', since)]


@pytest.mark.injection('stm32', 21)
@pytest.mark.parametrize(
    ('actions', 'reason', 'muscle'),
    [
        ([(5, Action.INFLATE, 100), (5, Action.DEFLATE, 100)], ValveReason.INTERLOCK, 5),
        ([(7, Action.INFLATE, 65535)], ValveReason.DURATION, 7),
        ([(i, Action.INFLATE, 100) for i in range(30)], ValveReason.SUPPLY, 0),
        ([(200, Action.INFLATE, 100)], ValveReason.MUSCLE, 200),
    ],
)
def test_rules_hold_whoever_asks(robot, host, actions, reason, muscle):
    since = robot.struck(f'SET_TIMED of {len(actions)} actions, first {tuple(actions[0])}')
    answer = host.ask(timed(host, *actions))
    assert isinstance(answer, Nack) and (answer.reason, answer.detail) == (reason, muscle)
    assert refused(robot, since) == [(reason.name, muscle)]
    assert robot.events('valve', since) == []
    robot.check_interlock()


@pytest.mark.injection('stm32', 21)
def test_the_budget_of_a_muscle_ends_its_inflation(robot, host):
    since = robot.struck('1.2 s of inflation, the budget is 0.9 s')
    assert isinstance(host.ask(timed(host, (2, Action.INFLATE, 600))), Ack)
    host.wait(lambda: not host.status.active and host.status.budget <= BUDGET - 600)
    answer = host.ask(timed(host, (2, Action.INFLATE, 600)))
    assert (answer.reason, answer.detail) == (ValveReason.BUDGET, 2)
    assert refused(robot, since) == [('BUDGET', 2)]
    inflated = robot.valve_seconds(since)[2, 0]
    assert inflated == pytest.approx(0.6, abs=1.1e-3)


@pytest.mark.injection('stm32', 6)
def test_a_number_is_carried_out_once(robot, host):
    since = robot.struck('the same frame twice')
    command = timed(host, (4, Action.INFLATE, 100))
    first = host.ask(command, 4000)
    again = host.ask(command, 4000)
    assert first == again and isinstance(first, Ack)
    host.wait(lambda: not host.status.active)
    assert [e['seq'] for e in robot.events('repeated', since)] == [4000]
    assert [e['seq'] for e in robot.events('command', since)] == [4000]
    assert robot.valve_seconds(since)[4, 0] == pytest.approx(0.1, abs=1.1e-3)


def test_a_clock_is_known_by_its_fastest_answer():
    clock = DeviceClock()
    for late in (0.09, 0.03, 0.05):
        # The device stood at 2^32 - 500 ms at our time 10 s; the answer took `late` to come back.
        clock.sample(10.0, 10.0 + 0.03 + late, (2**32 - 500 + 30) & 0xFFFFFFFF)
    assert clock.at(10.0) == pytest.approx(2**32 - 500, abs=1)
    assert clock.at(11.0) == pytest.approx(500, abs=1)
