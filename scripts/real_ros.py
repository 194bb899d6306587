#!/usr/bin/env python3
# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Drive one robot with the real tools of ROS 2, and print a table (`make test-ros`).

Launch, command line, bags, RViz and the linters of ament are those that are installed; where one
is not, its rows are skipped and say so. The workspace's own tests never need them. Exit code 1
when a row failed.

    python scripts/real_ros.py [--robot stiff_flop] [--only launch bag]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
import contextlib
from dataclasses import dataclass
from importlib.util import find_spec
import os
from pathlib import Path
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = Path(__file__).resolve().parent.parent
DOMAIN = '29'  # below those of `make test`
READY, PATIENCE = 300.0, 60.0  # s: a first start compiles kernels; one command
SOURCES = sorted(p.parent / p.parent.name for p in ROOT.glob('src/*/setup.py'))
LIVES = ('driver', 'emulator', 'kinematics_solver', 'trajectory_planner', 'compliance')


class Failed(Exception):
    """A check that found something; the text says what."""


class Skipped(Exception):
    """A check that cannot be made here; the text says why."""


@dataclass
class Row:
    """One check: what it needs, what it does."""

    group: str
    name: str
    needs: tuple[str, ...]
    check: Callable[[Bench], str]


class Bench:
    """The commands of one run, in a folder and a domain of their own."""

    def __init__(self, robot: str, folder: Path) -> None:
        self.robot, self.folder = robot, folder
        self.launch: subprocess.Popen | None = None
        self.environment = {
            **os.environ,
            'ROS_DOMAIN_ID': DOMAIN,
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'XDG_DATA_HOME': str(folder),
        }

    def run(self, *command: str, timeout: float = PATIENCE, cwd: Path | None = None) -> str:
        """Return what a command printed; Failed when it does not end well, in time."""
        try:
            done = subprocess.run(
                command,
                cwd=cwd or self.folder,
                env=self.environment,
                timeout=timeout,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise Failed(f'no end within {timeout:g} s: {" ".join(command)}') from None
        if done.returncode:
            last = done.stdout.strip().splitlines()[-1:] or ['']
            raise Failed(f'exit code {done.returncode}: {" ".join(command)}: {last[0]}')
        return done.stdout

    def until(self, holds: Callable[[], bool], timeout: float, what: str) -> None:
        """Wait for something that a command tells."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            with contextlib.suppress(Failed):
                if holds():
                    return
            self.alive()
            time.sleep(0.5)
        raise Failed(f'{what}: not within {timeout:g} s')

    def alive(self) -> None:
        """Refuse to go on with a robot that has ended; says what its launch said."""
        if self.launch is not None and self.launch.poll() is not None:
            said = (self.folder / 'ros2.log').read_text(encoding='utf-8').splitlines()
            errors = [line for line in said if 'ERROR' in line] or said[-1:]
            raise Failed(f'the robot has ended: {" ".join(errors[:1])[:300]}')

    @contextlib.contextmanager
    def beside(self, *command: str) -> Iterator[subprocess.Popen]:
        """Run a command beside, which Ctrl-C ends."""
        with open(self.folder / f'{Path(command[0]).name}.log', 'a', encoding='utf-8') as log:
            process = subprocess.Popen(
                command,
                cwd=self.folder,
                env=self.environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
            try:
                yield process
            finally:
                # To the whole group, as a terminal does; none is left over.
                for number, patience in ((signal.SIGINT, 20.0), (signal.SIGKILL, 5.0)):
                    if process.poll() is None:
                        os.killpg(process.pid, number)
                    with contextlib.suppress(subprocess.TimeoutExpired):
                        process.wait(patience)

    def topic(self, name: str, field: str) -> str:
        """Return a field of the next message of the robot's topic."""
        words = ('--once', '--field', field)
        return self.run('ros2', 'topic', 'echo', *words, f'/{self.robot}/{name}').split()[0]


def launched(bench: Bench) -> str:
    """All nodes are there and active."""

    def there() -> bool:
        nodes = bench.run('ros2', 'node', 'list').split()
        return all(f'/{bench.robot}/{name}' in nodes for name in LIVES)

    bench.until(there, READY, f'nodes {" ".join(LIVES)}')
    for name in LIVES:
        if name != 'emulator':
            node = f'/{bench.robot}/{name}'
            asked = ('ros2', 'lifecycle', 'get', node)
            bench.until(lambda asked=asked: 'active' in bench.run(*asked), READY, f'{node} active')
    return f'{len(LIVES)} nodes, active'


def moved(bench: Bench) -> str:
    """Move the tip by a target in the frame `world`, then stop."""
    target = '{header: {frame_id: world}, pose: {position: {x: -0.008, y: 0.003, z: 0.046}}}'
    publish = ('ros2', 'topic', 'pub', '--once', f'/{bench.robot}/target_pose')
    bench.run(*publish, 'geometry_msgs/msg/PoseStamped', target)

    def there() -> bool:
        return abs(float(bench.topic('tip_pose', 'pose.position.x')) + 0.008) < 1e-3

    bench.until(there, PATIENCE, 'the tip at x = -8 mm')
    call = ('ros2', 'service', 'call', f'/{bench.robot}/driver/stop', 'std_srvs/srv/Trigger')
    if 'success=True' not in bench.run(*call):
        raise Failed('driver/stop was not answered with success')
    return 'tip at x = -8 mm, then stopped'


def loaded(bench: Bench) -> str:
    """Load all that `ros2 param dump` has written."""
    count = 0
    for name in LIVES:
        node, file = f'/{bench.robot}/{name}', bench.folder / f'{name}.yaml'
        file.write_text(bench.run('ros2', 'param', 'dump', node))
        said = bench.run('ros2', 'param', 'load', node, str(file))
        failed = [line for line in said.splitlines() if 'fail' in line.lower()]
        if failed:
            raise Failed(f'{node}: {failed[0]}')
        count += said.count('successful')
    return f'{count} parameters'


def bag(*options: str) -> Callable[[Bench], str]:
    """Return a check: a bag of `ros2 bag record` with these options is read by `soro info`."""

    def check(bench: Bench) -> str:
        folder = bench.folder / ('bag' + ''.join(options).replace('-', '_'))
        topics = [f'/{bench.robot}/{name}' for name in ('actuator_state', 'configuration')]
        record = ('ros2', 'bag', 'record', *options, '-o', str(folder), '--topics', *topics)
        with bench.beside(*record):
            time.sleep(5.0)
        if bench.robot not in bench.run('soro', 'info', str(folder)):
            raise Failed(f'soro info does not name {bench.robot}')
        bench.run('soro', 'plot', str(folder), timeout=READY)
        return 'recorded by rosbag2; soro info and plot read it'

    return check


def own_bag(bench: Bench) -> str:
    """Show a bag of `soro record` to `ros2 bag info`."""
    folder = str(bench.folder / 'own')
    bench.run('soro', 'record', '-n', bench.robot, '-o', folder, '--duration', '3')
    if f'/{bench.robot}/actuator_state' not in bench.run('ros2', 'bag', 'info', folder):
        raise Failed('ros2 bag info does not list actuator_state')
    return 'recorded by soro; ros2 bag info lists it'


def rviz(bench: Bench) -> str:
    """RViz opens the robot's file and asks for its markers."""
    display = () if 'DISPLAY' in os.environ else ('xvfb-run', '-a')
    if display and shutil.which('xvfb-run') is None:
        raise Skipped('no display, and no xvfb-run')
    file = str(ROOT / f'config/rviz/{bench.robot}.rviz')
    remap = ('--ros-args', '-r', f'__ns:=/{bench.robot}')
    with bench.beside(*display, 'rviz2', '-d', file, *remap):
        info = ('ros2', 'topic', 'info', f'/{bench.robot}/markers')
        bench.until(lambda: 'Subscription count: 1' in bench.run(*info), PATIENCE, 'markers heard')
    return 'open, hears markers'


def flake8(bench: Bench) -> str:
    """ament_flake8, with what differs here in scripts/ament_flake8.ini."""
    config = 'scripts/ament_flake8.ini'  # whose patterns are relative to where it runs
    bench.run('ament_flake8', '--config', config, 'src', timeout=2 * READY, cwd=ROOT)
    return f'with {config}'


def pep257(bench: Bench) -> str:
    """ament_pep257; D401 is of properties, whose docstrings are nouns."""
    rules = ('--convention', 'numpy', '--add-ignore', 'D105', 'D107', 'D401', '--')
    bench.run('ament_pep257', *rules, *map(str, SOURCES), timeout=READY)
    return 'convention numpy'


def copyright_(bench: Bench) -> str:
    """ament_copyright, where it knows headers that name the licence by SPDX."""
    (bench.folder / 'probe').mkdir()
    probe = bench.folder / 'probe/probe.py'
    probe.write_text('# Copyright 2026 me\n# SPDX-License-Identifier: Apache-2.0\n')
    try:
        bench.run('ament_copyright', str(probe))
    except Failed:
        raise Skipped('this one knows no SPDX headers; make lint checks them') from None
    bench.run('ament_copyright', *map(str, SOURCES), timeout=READY)
    return 'all sources'


ROS2 = ('ros2', 'soro')
BAGS = (*ROS2, 'ros2bag')
ZSTD = ('--compression-format', 'zstd', '--compression-mode')
ROWS = (
    Row('lint', 'ament_flake8', ('ament_flake8',), flake8),
    Row('lint', 'ament_pep257', ('ament_pep257',), pep257),
    Row('lint', 'ament_copyright', ('ament_copyright',), copyright_),
    Row('launch', 'ros2 launch', ROS2, launched),
    Row('cli', 'a target in world, a stop', ROS2, moved),
    Row('cli', 'param dump, then load', ROS2, loaded),
    Row('bag', 'rosbag2, mcap', BAGS, bag('-s', 'mcap')),
    Row('bag', 'rosbag2, sqlite3', BAGS, bag('-s', 'sqlite3')),
    Row('bag', 'rosbag2, compressed file', BAGS, bag(*ZSTD, 'file')),
    Row('bag', 'rosbag2, compressed messages', BAGS, bag(*ZSTD, 'message')),
    Row('bag', 'soro record', BAGS, own_bag),
    Row('rviz', 'RViz', ('ros2', 'rviz2'), rviz),
)
GROUPS = tuple(dict.fromkeys(row.group for row in ROWS))


def outcome(row: Row, bench: Bench) -> tuple[str, str]:
    """Return ok, skipped or FAILED, and why."""
    missing = [n for n in row.needs if shutil.which(n) is None and find_spec(n) is None]
    if missing:
        return 'skipped', f'not installed: {" ".join(missing)}'
    try:
        bench.alive()
        said = row.check(bench)
        bench.alive()
        return 'ok', said
    except Skipped as reason:
        return 'skipped', str(reason)
    except Failed as found:
        return 'FAILED', str(found)


def main(arguments: list[str] | None = None) -> int:
    """Make the checks that can be made; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='stiff_flop')
    parser.add_argument('--only', nargs='+', choices=GROUPS, default=GROUPS)
    given = parser.parse_args(arguments)
    needed = {'launch', *given.only} if set(given.only) - {'lint'} else {'lint'}
    rows = [row for row in ROWS if row.group in needed]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as running:
        bench = Bench(given.robot, Path(folder))
        for row in rows:
            if row.group == 'launch' and shutil.which('ros2'):
                file = f'{given.robot}.launch.xml'
                launch = ('ros2', 'launch', 'soro_bringup', file, 'viewer:=true')
                bench.launch = running.enter_context(bench.beside(*launch))
            begin = time.monotonic()
            result, words = outcome(row, bench)
            failed += result == 'FAILED'
            seconds = time.monotonic() - begin
            print(f'{row.name:30} {result:8} {seconds:6.1f} s  {words}', flush=True)
        if bench.launch is not None:
            bench.run('ros2', 'daemon', 'stop')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
