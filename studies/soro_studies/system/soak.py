# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots under load with faults for minutes or hours: `make soak ARGS="--minutes 30"`.

Each robot is launched with emulator, recorder and viewer, driven, asked, stopped and broken (see
`soak_robot`), in a process of its own; figures of its processes are taken every two seconds. As
soon as a robot has ended, what its section of docs/evidence/reliability.md needs is stored (see
`soak_results`), so robots may run one by one on different days; the section is written at the end.
The raw result is in out/soak. Ctrl-C ends everything and keeps the raw figures up to then.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
import contextlib
import datetime
import json
import os
from pathlib import Path
import platform
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from soro_driver.settings import read_driver_settings
from soro_mechanics.robot_file.catalogue import robot_files
from soro_mechanics.robot_file.reader import read_robot_file
from soro_node.process.parent_death import until_parent_dies
from soro_rigs.domains import free_domain
from soro_studies.system.launched_robot import launched_robot
from soro_studies.system.process_figures import left_segments, SHARED
from soro_studies.system.reliability_page import PAGE, write_section
from soro_studies.system.soak_faults import FAULTS
from soro_studies.system.soak_growth import grown
from soro_studies.system.soak_page import soak_section
from soro_studies.system.soak_results import (
    compact,
    has_figures,
    note_without_figures,
    objection,
    raw_results,
    RUN,
    store,
    stored,
)
from soro_studies.system.soak_robot import RobotSoak

RESULT = Path('out/soak/soak.json')  # and the raw result of every robot beside it
START_WITHIN = 300.0  # s; two robots that start at once on a busy computer
END_WITHIN = 60.0  # s, from Ctrl-C to a robot that has ended and left its figures


def robots() -> list[str]:
    """Return the robots of the catalogue whose device the soak can break, sorted."""
    return sorted(
        name
        for name, file in robot_files().items()
        if read_driver_settings(read_robot_file(file)).device in FAULTS
    )


def now() -> str:
    """Return the date and time."""
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds')


def run_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what a run was asked for, and where it ran."""
    machine = f'{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}'
    values = (arguments.minutes, arguments.seed, arguments.together, machine)
    return dict(zip(RUN, values, strict=True))


def soak_one(name: str, arguments: argparse.Namespace) -> int:
    """Soak one robot in this process; returns 0 when nothing was wrong."""
    began, before = now(), set(os.listdir(SHARED))
    with tempfile.TemporaryDirectory(prefix=f'soro_soak_{name}_') as folder:
        home = Path.cwd()
        os.environ['XDG_DATA_HOME'] = folder  # an emergency stop of an earlier run is not ours
        os.chdir(folder)  # bags go there
        words = [name, 'record:=true', 'viewer:=true']
        try:
            space = f'soak_{name}'
            with launched_robot(
                words, Path(folder), space, name, START_WITHIN, clearing=True
            ) as robot:
                run = RobotSoak(
                    robot, arguments.seed, lambda line: print(f'{name}: {line}', flush=True)
                )
                try:
                    run.run(60.0 * arguments.minutes)
                except KeyboardInterrupt:
                    print(f'{name}: interrupted', flush=True)
                result = run.summary()
                result['start'] = {'took': robot.ready_after, 'cleared': robot.start_clearings}
                result['exit'] = robot.process.stop()
                result['tracebacks'] = robot.process.output.count('Traceback')
                if result['exit'] or result['tracebacks']:
                    print(robot.process.output[-4000:], flush=True)
        finally:
            os.chdir(home)
    # The session of this process has ended too: what is there now nobody will ever remove.
    # A port that somebody had left behind before was only taken up again.
    new = {s: owner for s, owner in run.segments.items() if s not in before}
    left = [f'{new[s]}: {s}' for s in left_segments(new)]
    result['shared_memory'] = {'seen': len(run.segments), 'left': left}
    for line in left:
        print(f'{name}: left shared memory, {line}', flush=True)
    result |= {'robot': name, 'began': began, **run_of(arguments)}
    arguments.result.write_text(json.dumps(result), encoding='utf-8')
    grew = grown(result)
    for line in grew:
        print(f'{name}: {line}', flush=True)
    wrong = (result['problems'], result['exit'], result['tracebacks'], left, grew)
    return int(any(wrong))


def start(name: str, domain: int, arguments: argparse.Namespace, file: Path) -> subprocess.Popen:
    """Start the process that soaks one robot.

    In a session of its own: of a Ctrl-C it hears only once, from this process.
    """
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(domain),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }
    command = [
        sys.executable,
        '-m',
        'soro_studies.system.soak',
        '--one',
        name,
        '--minutes',
        str(arguments.minutes),
        '--seed',
        str(arguments.seed),
        '--together',
        str(arguments.together),
        '--result',
        str(file),
    ]
    return subprocess.Popen(
        command, env=environment, start_new_session=True, preexec_fn=until_parent_dies()
    )


class Soaks:
    """Processes that soak robots, some at a time.

    Attributes
    ----------
    began : dict
        When each robot that was started began.
    failed : int
        How many had problems.
    """

    def __init__(self, names: Sequence[str], arguments: argparse.Namespace) -> None:
        self._arguments = arguments
        self._waiting = list(names)
        self._running: dict[str, subprocess.Popen] = {}
        self._domains: list[int] = []  # free: robots that run together do not hear each other
        self._used: dict[str, int] = {}
        self.began: dict[str, str] = {}
        self.failed = 0

    def file(self, name: str) -> Path:
        """Return the file with the raw result of a robot."""
        return self._arguments.result.parent / f'{name}.json'

    def run(self) -> None:
        """Soak all, until they have ended or somebody interrupts."""
        self._arguments.result.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as kept:
            together = range(self._arguments.together)
            self._domains = [kept.enter_context(free_domain()) for _ in together]
            self._run()

    def _run(self) -> None:
        try:
            while self._waiting or self._running:
                while self._waiting and self._domains:
                    self._start(self._waiting.pop(0))
                for name in [n for n, p in self._running.items() if p.poll() is not None]:
                    code = self._running.pop(name).returncode
                    self._domains.append(self._used.pop(name))
                    self.failed += bool(code)
                    print(f'{name}: ended with {code}', flush=True)
                    self._keep(name)
                time.sleep(0.2)
        except KeyboardInterrupt:
            print('interrupted: stopping the robots', flush=True)
            self._interrupt()
            self.failed += 1

    def _start(self, name: str) -> None:
        self._used[name] = self._domains.pop(0)
        self.file(name).unlink(missing_ok=True)
        self.began[name] = now()
        self._running[name] = start(name, self._used[name], self._arguments, self.file(name))
        print(f'{name}: started, {len(self._waiting)} waiting', flush=True)

    def _interrupt(self) -> None:
        for process in self._running.values():
            process.terminate()
        for name, process in self._running.items():
            try:
                process.wait(END_WITHIN)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if self.file(name).exists():
                self._keep(name)

    def _keep(self, name: str) -> None:
        """Store what a robot has left, where the run is one for the page."""
        if self._arguments.result != RESULT:
            return
        if self.file(name).exists():
            keep(self.file(name), (name,), self._arguments.replace)
        else:
            print(f'{name}: {note_without_figures(name, self.began[name])}', flush=True)


def keep(file: Path, names: Sequence[str], replace: bool) -> int:
    """Store some robots' results of a raw file; returns how many were not."""
    refused = 0
    for result in map(compact, raw_results(file)):
        name = result['robot']
        if name not in names:
            continue
        why = '' if replace else objection(result)
        if why:
            refused += 1
            words = f'--take {file} --robots {name} --replace'
            why += f'; to store it all the same: make soak ARGS="{words}"'
        print(f'{name}: {why or store(result)}', flush=True)
    return refused


def collect(names: Sequence[str], soaks: Soaks, arguments: argparse.Namespace) -> None:
    """Put the raw results of all robots that were started into one file."""
    found = [name for name in names if name in soaks.began and soaks.file(name).exists()]
    whole = {
        **run_of(arguments),
        'robots': [json.loads(soaks.file(name).read_text(encoding='utf-8')) for name in found],
        'missing': [name for name in names if name not in found],
    }
    arguments.result.write_text(json.dumps(whole), encoding='utf-8')
    print(f'wrote {arguments.result}', flush=True)


def write_page(names: Sequence[str]) -> None:
    """Write the section from what is stored; while there are no figures, it stays as it is."""
    results = stored()
    if any(map(has_figures, results.values())):
        write_section(soak_section(results, names, PAGE.parent))
    else:
        print(f'no figures are stored: {PAGE} stays as it is', flush=True)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=30.0, help='per robot')
    parser.add_argument('--robots', default='all', help='names with commas between, or all')
    parser.add_argument('--together', type=int, default=1, help='robots at a time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument(
        '--result',
        type=Path,
        default=RESULT,
        help='file of the raw result; with another one than %(default)s the documents stay',
    )
    parser.add_argument(
        '--replace',
        action='store_true',
        help='store a run although it was cut short or is far shorter than the stored one',
    )
    parser.add_argument(
        '--take', type=Path, metavar='FILE', help='store a raw result of before, run nothing'
    )
    parser.add_argument('--page', action='store_true', help='write the section only')
    parser.add_argument('--one', default='', help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run the soak; the exit code says whether anything was wrong."""
    arguments = parse(words)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell had it ignored
        signal.signal(number, signal.default_int_handler)
    if arguments.one:
        return soak_one(arguments.one, arguments)
    every = robots()
    wanted = every if arguments.robots == 'all' else arguments.robots.split(',')
    names = list(dict.fromkeys(wanted))
    unknown = sorted({*names} - {*every})
    if unknown:
        sys.exit(f'no such robot: {", ".join(unknown)}; there are: {", ".join(every)}')
    failed = 0
    if arguments.take:
        failed = keep(arguments.take, names, arguments.replace)
    elif not arguments.page:
        arguments.together = min(arguments.together, len(names))
        soaks = Soaks(names, arguments)
        soaks.run()
        collect(names, soaks, arguments)
        failed = soaks.failed
    if arguments.result == RESULT:
        write_page(every)
    return min(1, failed)


if __name__ == '__main__':
    sys.exit(main())
