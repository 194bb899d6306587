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
from rig_robots import make_bench
from robot_processes import RobotProcesses


def pytest_configure(config):
    config.addinivalue_line('markers', fault_evidence.MARK)


def pytest_collection_finish(session):
    fault_evidence.write_cells(session.items)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    """Let every test begin with nothing broken, whatever robot it shares."""
    for value in item.funcargs.values():
        if isinstance(value, RobotProcesses):
            value.hits.clear()
    yield


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
    rig_.clock.unlink(missing_ok=True)
    rig_.robot.wall_step = 0
    rig_.robot.recover()
    return rig_


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
