# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A running robot for the tests of faults, brought back to rest before each of them."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path

import fault_evidence
import pytest
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from rig_robots import make_bench, Rig
from robot_processes import RobotProcesses
from valve_robot import BareHost

from soro_rigs.held_up import judged


def pytest_configure(config):
    config.addinivalue_line('markers', fault_evidence.MARK)


def pytest_collection_finish(session):
    fault_evidence.write_cells(session.items)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Judge a test of a robot by an attempt in which this computer held up none of its parts."""
    values = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    rigs = [value for value in values.values() if isinstance(value, Rig)]
    robots = [value for value in values.values() if isinstance(value, RobotProcesses)]
    robots += [each.robot for each in rigs if each.robot not in robots]
    hosts = [value for value in values.values() if isinstance(value, BareHost)]
    if not robots:
        return None

    def attempt():
        for each in robots:
            each.hits.clear()
        pyfuncitem.obj(**values)

    def again():
        for each in rigs:
            rest(each)
        for each in robots:
            if each.driver is not None:
                each.recover()
        for each in hosts:
            each.open()

    judged(attempt, again, lambda text: pyfuncitem.user_properties.append(('again', text)))
    return True


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.when == 'call' or report.outcome == 'failed':
        fault_evidence.write(item, report)


@pytest.fixture(scope='module')
def robot_(tmp_path_factory):
    """Return one robot for a whole module; starting one takes seconds."""
    robot = RobotProcesses(tmp_path_factory.mktemp('robot'))
    try:
        yield robot.start()
    finally:
        robot.close()


@pytest.fixture
def robot(robot_):
    """Return the robot, ACTIVE and at rest."""
    robot_.recover()
    return robot_


@pytest.fixture(scope='module')
def rig_(request, tmp_path_factory):
    """Return the rig of the device that a test is parametrised with."""
    made = make_bench(request.param, tmp_path_factory.mktemp(request.param))
    try:
        made.robot.start()
        yield made
    finally:
        made.robot.close()


@pytest.fixture
def rig(rig_):
    """Return the rig with its robot ACTIVE and at rest."""
    rest(rig_)
    rig_.robot.recover()
    return rig_


def rest(rig):
    """Set the driver's wall clock right."""
    rig.clock.unlink(missing_ok=True)
    rig.robot.wall_step = 0


@pytest.fixture
def said(robot):
    """Return a list that receives what all nodes log."""
    lines: list[str] = []
    # Latched: a node may have said it before it was found.
    latched = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    subscription = robot.node.create_subscription(
        Log, '/rosout', lambda message: lines.append(f'{message.name}: {message.msg}'), latched
    )
    yield lines
    robot.node.destroy_subscription(subscription)


@pytest.fixture
def note_time(record_property) -> Callable[[str, float], None]:
    """Return a function that records a measured time; $SORO_TIMES collects them in a file."""

    def note(name: str, seconds: float) -> None:
        record_property(name, round(seconds, 4))
        path = os.environ.get('SORO_TIMES')
        if path:
            with Path(path).open('a', encoding='utf-8') as file:
                file.write(json.dumps({'name': name, 'seconds': round(seconds, 4)}) + '\n')

    return note
