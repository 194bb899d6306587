# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Serial frames damaged, lost, repeated, late, or none at all, between a driver and its device."""

from __future__ import annotations

import time

from fault_counts import (
    check_damage_is_counted,
    check_garbage,
    check_late,
    check_parts,
    rises,
    unreadable,
    ZEROS,
)
import numpy as np
import pytest
from robot_processes import BAR
from test_dspace_faults import (
    at,
    BUSY,
    FEEDBACK_TIMEOUT,
    RAMP,
    robot_,  # noqa: F401 - a fixture
    state_event,
    TTL,
    wait_down,
)

from soro_driver.device import DeviceState, Fault

NOISE = 1000, 2000, 3001  # bytes
SURVIVED = 9  # frames lost in a row

pytestmark = pytest.mark.timeout(240)


@pytest.mark.injection('dspace', 3)
@pytest.mark.parametrize('part', [0.01, 0.5])
def test_damaged_frames_are_counted_and_nothing_else(robot, part):
    at(robot, 0.6 * BAR, 0.0, 0.0)
    before = unreadable(robot)
    since = robot.inject('link', direction='both', corruption=part)
    robot.target = np.array([0.9 * BAR, 0.3 * BAR, 0.0])
    robot.spin(3.0)
    check_parts(robot, since, corrupted=part)
    # A time to live lasts for forty frames; should a busy computer break it, that is said.
    assert robot.state.device_state == DeviceState.ACTIVE or (
        robot.state.faults & ~Fault.COMMUNICATION == Fault.DEVICE_WATCHDOG
    ), robot.describe()
    if robot.state.device_state == DeviceState.ACTIVE:
        np.testing.assert_allclose(robot.state.applied, robot.target, atol=10.0)
    check_damage_is_counted(robot, since, before)
    assert max(e['pressure'] for e in robot.events('output', since)) <= 0.9 * BAR + 10.0


@pytest.mark.injection('dspace', 3)
@pytest.mark.parametrize(
    ('direction', 'state'),
    [('to_device', DeviceState.FAULT), ('to_host', DeviceState.UNCONFIGURED)],
)
def test_nothing_but_damaged_frames(robot, direction, state):
    at(robot, BAR, 0.5 * BAR, 0.0)
    since = robot.inject('link', direction=direction, corruption=1.0)
    wait_down(robot, state)
    assert robot.outputs_off(since, 4.0) < FEEDBACK_TIMEOUT + TTL + RAMP + BUSY
    assert robot.raised_after(since) == []
    check_parts(robot, since, direction, corrupted=1.0)
    robot.inject('none')


@pytest.mark.injection('dspace', 5)
def test_lost_frames_and_short_bursts_are_survived(robot):
    at(robot, 0.6 * BAR, 0.0, 0.0)
    since = robot.inject('link', direction='both', loss=0.2)
    robot.spin(1.5)
    for line in ('to_device', 'to_host'):
        check_parts(robot, since, line, lost=0.2)
    since = robot.inject('link', direction='to_device', loss=0.0, burst=SURVIVED)
    robot.spin(1.0)
    assert robot.state.device_state == DeviceState.ACTIVE, robot.describe()
    assert rises(robot, since)['to_device_lost'] == SURVIVED


@pytest.mark.injection('dspace', 5)
def test_long_burst_trips(robot):
    at(robot, 0.6 * BAR, 0.0, 0.0)
    since = robot.inject('link', direction='to_device', burst=100)
    assert state_event(robot, 'SAFE', since) < TTL + BUSY
    wait_down(robot)
    assert robot.state.faults & Fault.DEVICE_WATCHDOG
    assert rises(robot, since)['to_device_lost'] > SURVIVED


@pytest.mark.injection('dspace', 6)
def test_repeated_frames_change_nothing(robot):
    at(robot, 0.3 * BAR, 0.0, 0.0)
    since = robot.inject('link', direction='both', repetition=1.0)
    at(robot, 0.6 * BAR, 0.2 * BAR, 0.0)
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ACTIVE
    np.testing.assert_allclose(robot.state.applied, [0.6e5, 0.2e5, 0.0], atol=10.0)
    for line in ('to_device', 'to_host'):
        check_parts(robot, since, line, repeated=1.0)
    # Every set-point came twice; the device took none of them for a new one.
    counts = rises(robot, since)
    assert counts['stale'] > 0.5 * counts['to_device_repeated']


@pytest.mark.injection('dspace', 7)
def test_late_frames_are_stale(robot):
    at(robot, 0.6 * BAR, 0.0, 0.0)
    since = robot.inject('link', direction='to_device', delay=0.8)
    robot.target = np.array([1.2 * BAR, 0.0, 0.0])
    assert state_event(robot, 'SAFE', since) < TTL + BUSY
    wait_down(robot)
    check_late(robot, since, 'to_device')
    robot.spin(1.0)  # by now every late set-point has arrived
    assert robot.raised_after(since + TTL + BUSY) == []


@pytest.mark.injection('dspace', 4)
def test_garbage_is_no_measurement(robot):
    at(robot, 0.6 * BAR, 0.0, 0.0)
    before, begin = unreadable(robot), time.monotonic()
    for count in NOISE:
        robot.inject('garbage', count=count)
        robot.spin(0.1)
    robot.spin(0.5)
    assert robot.state.device_state == DeviceState.ACTIVE
    check_garbage(robot, begin, before, sum(NOISE), 0.5 * ZEROS)
    assert abs(robot.state.measured[0] - 0.6 * BAR) < 0.05 * BAR
