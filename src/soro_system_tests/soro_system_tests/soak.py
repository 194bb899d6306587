# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots under load with faults for minutes or hours: `make soak ARGS="--minutes 30"`.

Each robot is launched with emulator, recorder and viewer, driven, asked, stopped and broken (see
`soak_robot`), in a process of its own; figures of its processes are taken every two seconds. The
result is a JSON file, from which `reliability_page` writes its section. Ctrl-C ends everything and
keeps the figures up to then.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
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

from soro_driver.settings import read_driver_settings
from soro_mechanics.catalogue import robot_files
from soro_mechanics.robot_file import read_robot_file
from soro_node.parent_death import die_with_parent

from soro_system_tests.launched_robot import launched_robot
from soro_system_tests.process_figures import left_segments, SHARED
from soro_system_tests.reliability_page import write_page
from soro_system_tests.soak_faults import FAULTS
from soro_system_tests.soak_page import RESULT
from soro_system_tests.soak_robot import RobotSoak

START_WITHIN = 300.0  # s; two robots that start at once on a busy computer
FIRST_DOMAIN = 60  # ROS domains: robots that run together do not hear each other


def robots() -> list[str]:
    """Return the robots of the catalogue whose device the soak can break, sorted."""
    return sorted(
        name
        for name, file in robot_files().items()
        if read_driver_settings(read_robot_file(file)).device in FAULTS
    )


def soak_one(name: str, minutes: float, seed: int, target: Path) -> int:
    """Soak one robot in this process; returns 0 when nothing was wrong."""
    began, before = datetime.datetime.now(datetime.timezone.utc), set(os.listdir(SHARED))
    with tempfile.TemporaryDirectory(prefix=f'soro_soak_{name}_') as folder:
        home = Path.cwd()
        os.chdir(folder)  # bags go there
        words = [name, 'record:=true', 'viewer:=true']
        try:
            space = f'soak_{name}'
            with launched_robot(
                words, Path(folder), space, name, START_WITHIN, clearing=True
            ) as robot:
                run = RobotSoak(robot, seed, lambda line: print(f'{name}: {line}', flush=True))
                try:
                    run.run(60.0 * minutes)
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
    result |= {'robot': name, 'seed': seed, 'began': began.isoformat(timespec='seconds')}
    target.write_text(json.dumps(result), encoding='utf-8')
    wrong = (result['problems'], result['exit'], result['tracebacks'])
    return int(any(wrong) or bool(result['shared_memory']['left']))


def start(name: str, number: int, arguments: argparse.Namespace, folder: Path) -> subprocess.Popen:
    """Start the process that soaks one robot."""
    environment = {
        **os.environ, 'ROS_DOMAIN_ID': str(arguments.domain + number),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
    }  # fmt: skip
    command = [
        sys.executable, '-m', 'soro_system_tests.soak', '--one', name, '--minutes',
        str(arguments.minutes), '--seed', str(arguments.seed), '--result',
        str(folder / f'{name}.json'),
    ]  # fmt: skip
    return subprocess.Popen(command, env=environment, preexec_fn=die_with_parent)


def soak_all(names: Sequence[str], arguments: argparse.Namespace) -> int:
    """Soak robots, some at a time; returns how many had problems."""
    folder = arguments.result.parent
    folder.mkdir(parents=True, exist_ok=True)
    waiting, running, failed = list(names), dict[str, subprocess.Popen](), 0
    slots = list(range(arguments.together))
    used: dict[str, int] = {}
    try:
        while waiting or running:
            while waiting and slots:
                name = waiting.pop(0)
                used[name] = slots.pop(0)
                (folder / f'{name}.json').unlink(missing_ok=True)
                running[name] = start(name, used[name], arguments, folder)
                print(f'{name}: started, {len(waiting)} waiting', flush=True)
            for name in [n for n, p in running.items() if p.poll() is not None]:
                code = running.pop(name).returncode
                slots.append(used.pop(name))
                failed += bool(code)
                print(f'{name}: ended with {code}', flush=True)
            time.sleep(0.2)
    except KeyboardInterrupt:
        print('interrupted: stopping the robots', flush=True)
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(60.0)
        failed += 1
    collect(names, arguments)
    return failed


def collect(names: Sequence[str], arguments: argparse.Namespace) -> None:
    """Put the results of all robots into one file."""
    folder = arguments.result.parent
    files = [folder / f'{name}.json' for name in names]
    robots = [json.loads(f.read_text(encoding='utf-8')) for f in files if f.exists()]
    whole = {
        'minutes': arguments.minutes, 'seed': arguments.seed, 'together': arguments.together,
        'machine': f'{platform.machine()}, {os.cpu_count()} cores, Python '
        f'{platform.python_version()}', 'robots': robots,
        'missing': [n for n, f in zip(names, files, strict=True) if not f.exists()],
    }  # fmt: skip
    arguments.result.write_text(json.dumps(whole), encoding='utf-8')
    print(f'wrote {arguments.result}', flush=True)


def parse(words: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=30.0, help='per robot')
    parser.add_argument('--robots', default='all', help='names with commas between, or all')
    parser.add_argument('--together', type=int, default=1, help='robots at a time')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--domain', type=int, default=FIRST_DOMAIN, help='first ROS domain')
    parser.add_argument('--result', type=Path, default=RESULT)
    parser.add_argument('--one', default='', help=argparse.SUPPRESS)
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    """Run the soak; the exit code says whether anything was wrong."""
    arguments = parse(words)
    for number in (signal.SIGINT, signal.SIGTERM):  # also where a shell had it ignored
        signal.signal(number, signal.default_int_handler)
    if arguments.one:
        return soak_one(arguments.one, arguments.minutes, arguments.seed, arguments.result)
    names = robots() if arguments.robots == 'all' else arguments.robots.split(',')
    failed = soak_all(names, arguments)
    if arguments.result == RESULT:
        write_page()
    return min(1, failed)


if __name__ == '__main__':
    sys.exit(main())
