# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A running robot for the tests of faults, brought back to rest before each of them."""

from __future__ import annotations

from collections.abc import Callable
import json
import os
from pathlib import Path

import pytest
from robot_processes import RobotProcesses


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
