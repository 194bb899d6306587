#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A stopwatch for first contact: how soon page and terminal say what a launched robot does.

    python scripts/first_contact.py [--robot stiff_flop] [--cold]

The states are brought about: kernels not compiled (`--cold`: an empty cache, minutes), a device
that does not answer yet (its emulator is halted), a motion, a device that is lost (its emulator is
halted for longer than the robot's `feedback_timeout`). Each must have its sentence within a second
of when it begins. A computer that does much else is slower.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
import os
from pathlib import Path
import re
import signal
import subprocess
import sys
import tempfile
import time

from soro_cli.robot_process import RobotProcess, STOP_PATIENCE
from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.process.parent_death import until_parent_dies
from soro_rigs.page_client import PageClient
from soro_rigs.process_table import node_pid
from soro_trajectory.command_stream import Phase

ROOT = Path(__file__).resolve().parent.parent
LIMIT = 1.0  # s
PATIENCE = 400.0  # s, for a state that has to come about
NAMESPACE = 'first_contact'
WHY = re.compile(r'Does not move: ([^<]*)')
VIEWER = re.compile(r'viewer: (http://\S+)')
COMPILING = 'compiling kernels'


class Stopwatch:
    """Says how soon sentences came."""

    def __init__(self) -> None:
        self.late = 0

    def said(self, state: str, where: str, seconds: float, words: str) -> None:
        """Print one row."""
        self.late += not 0.0 <= seconds <= LIMIT  # before it begins nothing can be told
        print(f'{state:24} {where:9} {seconds:6.2f} s  {words.strip()[:100]}', flush=True)


def line_of(robot: RobotProcess, seen: int, pattern: str) -> str:
    """Return the first line of the terminal from a place on that matches."""
    found = re.search(f'^.*(?:{pattern}).*$', robot.output[seen:], re.MULTILINE)
    return '' if found is None else found.group()


def until(condition: Callable[[], str], page: PageClient | None = None) -> str:
    """Wait for words, receiving what the page is sent."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if words := condition():
            return words
        if page is None:
            time.sleep(0.02)
        else:
            page.receive(0.02)
    seen = '' if page is None else f'; the page: planner {planner(page)!r}, {banner(page)!r}'
    raise SystemExit(f'a state did not come about{seen}')


def banner(page: PageClient) -> str:
    """Return why the page says that the robot does not move."""
    found = WHY.search(page.text())
    return '' if found is None else found.group(1)


def planner(page: PageClient) -> str:
    """Return what the page says of the planner."""
    found = re.search(r'>planner</td><td><span[^>]*>([^<]*)', page.text())
    return '' if found is None else found.group(1)


@contextmanager
def made(robot: str, output: Path, variables: dict[str, str]) -> Iterator[RobotProcess]:
    """Have `make run` run a robot; ends it as Ctrl-C on a terminal does."""
    made = RobotProcess((), output)
    words = ['make', 'run', f'ROBOT={robot}', f'ARGS=namespace:={NAMESPACE} --runner soro']
    with output.open('wb') as file:
        made.process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            preexec_fn=until_parent_dies(own_group=True),
        )
    try:
        yield made
    finally:
        os.killpg(made.process.pid, signal.SIGINT)
        made.process.wait(STOP_PATIENCE)


def measure(
    robot: RobotProcess, watch: Stopwatch, cold: bool, start: float, timeout: float
) -> None:
    """Bring the states about, one after the other."""
    until(lambda: line_of(robot, 0, r'\[emulator\] started, pid'))
    emulator = node_pid(robot.output, 'emulator')
    os.kill(emulator, signal.SIGSTOP)
    try:
        address = VIEWER.search(until(lambda: line_of(robot, 0, 'viewer: http'))).group(1)
        with PageClient(address) as page:
            begin = time.monotonic()
            print(f'the page is there {begin - start:.2f} s after `make run`', flush=True)
            until(lambda: page.text() and ' ', page)
            words = until(lambda: banner(page), page)
            watch.said('waiting for the device', 'page', time.monotonic() - begin, words)
            words = until(lambda: line_of(robot, 0, r'driver\].*(?:device|waiting|answer)'))
            watch.said('waiting for the device', 'terminal', time.monotonic() - begin, words)
            if cold:  # the node says it before it begins
                words = until(lambda: line_of(robot, 0, COMPILING), page)
                said = time.monotonic()
                watch.said('compiling', 'terminal', 0.0, words)
                words = until(lambda: COMPILING in page.text() and COMPILING, page)
                watch.said('compiling', 'page', time.monotonic() - said, words)
            os.kill(emulator, signal.SIGCONT)
            ready = Phase.IDLE.value, Phase.HOLD.value
            until(lambda: '>ACTIVE<' in page.text() and planner(page) in ready and ' ', page)
            move(page, watch)
            lose(robot, emulator, page, watch, timeout)
    finally:
        os.kill(emulator, signal.SIGCONT)


def move(page: PageClient, watch: Stopwatch) -> None:
    """Move a slider halfway to its farther end; the middle may be where it stands."""
    name, slider = next((n, e) for n, e in page.gui.items() if e.get('step') and '[' in n)
    now = slider['value']
    end = max(slider['min'], slider['max'], key=lambda value: abs(value - now))
    begin = time.monotonic()
    page.set(name, 0.5 * (now + end))
    words = until(lambda: planner(page) == Phase.RAMP.value and planner(page), page)
    watch.said('moving', 'page', time.monotonic() - begin, words)


def lose(
    robot: RobotProcess, emulator: int, page: PageClient, watch: Stopwatch, timeout: float
) -> None:
    """Have the device lost, which it is after the feedback timeout [s]."""
    seen, begin = len(robot.output), time.monotonic() + timeout
    os.kill(emulator, signal.SIGSTOP)
    words = until(lambda: banner(page), page)
    watch.said('failed', 'page', time.monotonic() - begin, words)
    words = until(lambda: line_of(robot, seen, r'driver\]'), page)
    watch.said('failed', 'terminal', time.monotonic() - begin, words)


def main() -> int:
    """Launch and measure; exit code 1 where a sentence came late."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='stiff_flop')
    parser.add_argument('--cold', action='store_true', help='with an empty cache of kernels')
    arguments = parser.parse_args()
    watch = Stopwatch()
    description = read_robot_file(find_robot_file(arguments.robot))
    timeout = read_driver_settings(description).feedback_timeout
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        cache = {'NUMBA_CACHE_DIR': folder} if arguments.cold else {}
        variables = {'ROS_LOG_DIR': folder, **cache}
        begin = time.monotonic()
        with made(arguments.robot, Path(folder) / 'output.txt', variables) as robot:
            words = until(lambda: line_of(robot, 0, 'starting'))
            watch.said('starting', 'terminal', time.monotonic() - begin, words)
            measure(robot, watch, arguments.cold, begin, timeout)
    print(f'load of this computer: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores')
    return 1 if watch.late else 0


if __name__ == '__main__':
    sys.exit(main())
