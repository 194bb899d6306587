# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A launched robot that goes from test to test, for those that a robot at rest is enough for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, ExitStack
import json
from pathlib import Path
import time

import pytest

from soro_cli.main import main
from soro_cli.robot_process import RobotProcess
from soro_rigs.held_up import empty_folders, judged
from soro_studies.system.launched_robot import LaunchedRobot, robot_process, watched_robot

MARK = 'robot(name, *words): which robot `running` is, and how launched; stiff_flop if not said'


def pytest_configure(config):
    config.addinivalue_line('markers', MARK)


def robot_of(item) -> tuple[str, ...]:
    """Return the words by which the robot is launched that a test takes over, or none."""
    marker = item.get_closest_marker('robot')
    words = marker.args if marker else ('stiff_flop',)
    return words if 'running' in getattr(item, 'fixturenames', ()) else ()


def pytest_collection_modifyitems(items):
    """Let those that share a robot follow one another; their order among each other stays."""
    items.sort(key=robot_of)


class KeptRobot:
    """The robot that runs now: whole, armed, at rest, unless the last test has ended it."""

    def __init__(self, factory: pytest.TempPathFactory) -> None:
        self._factory = factory
        self._words: tuple[str, ...] = ()
        self._folder = Path()
        self._process: RobotProcess | None = None

    @contextmanager
    def watched(self, *words: str) -> Iterator[LaunchedRobot]:
        """Hand the robot over to a new client; another one, or one that has ended, is launched."""
        name = words[0]
        if self._process is not None and words != self._words:
            self.end(in_order=True)
        kept = self._process is not None and self._process.running
        started = time.monotonic()
        if not kept:
            self._words, self._folder = words, self._factory.mktemp(name)
            self._process = robot_process(words, self._folder, name)
            self._process.__enter__()
        # What a busy computer has tripped meanwhile is cleared, as a person would.
        watched = watched_robot(self._process, self._folder, name, name, started, clearing=kept)
        with watched as robot:
            if kept:
                judged(robot.go_to_rest)
            yield robot

    def end(self, in_order: bool) -> None:
        """End the robot; in order is with 0."""
        process, self._process = self._process, None
        if process is not None and process.running:
            assert process.stop() == 0 or not in_order, process.output


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    """Judge a test of whole robots by an attempt in which this computer held up none of them."""
    values = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    empty_folder = empty_folders(values)
    with ExitStack() as robots:

        def again():
            if 'running' in values:
                kept = pyfuncitem.funcargs['kept_robot']
                robots.close()
                kept.end(in_order=False)
                values['running'] = robots.enter_context(kept.watched(*robot_of(pyfuncitem)))
            empty_folder()

        def attempt():
            pyfuncitem.obj(**values)

        judged(attempt, again, lambda text: pyfuncitem.user_properties.append(('again', text)))
    return True


@pytest.fixture(scope='session')
def kept_robot(tmp_path_factory):
    kept = KeptRobot(tmp_path_factory)
    yield kept
    kept.end(in_order=True)


@pytest.fixture
def running(request, kept_robot):
    """Return a launched robot, ACTIVE and at rest; it may be stopped and broken.

    A start takes seconds of two cores. One that still runs after its test has to come to rest
    again, by which the next one gets it; after a test that failed it is ended.
    """
    failed, whole = request.session.testsfailed, False
    try:
        with kept_robot.watched(*robot_of(request.node)) as robot:
            yield robot
            if request.session.testsfailed == failed:
                if robot.process.running:
                    judged(robot.go_to_rest)
                whole = True
    finally:
        if not whole:
            kept_robot.end(in_order=False)


@pytest.fixture
def soro(request, capsys):
    """Return what runs a verb against `running` and returns its JSON answer, in this process."""

    def run(*words: str) -> dict:
        code = main([*words, '--robot', robot_of(request.node)[0], '--json'])
        said = capsys.readouterr()
        assert code == 0, said.out + said.err
        return json.loads(said.out.splitlines()[-1])

    return run
