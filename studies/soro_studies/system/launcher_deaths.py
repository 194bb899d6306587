# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kill launchers at random moments of their first two seconds, and make launches fail late.

`make reliability` does both often, under load, with the own runner and with the real ROS 2 launch
where it is installed. What is asked each time: no process of the robot is left, and nothing is
armed once the launcher has gone.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
import json
import os
from pathlib import Path
import random
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

from soro_cli.ros_session import RosSession
from soro_launch.run import is_available
from soro_msgs.msg import ActuatorState
from soro_node.process.parent_death import LAUNCHER, until_parent_dies
from soro_rigs.domains import own_domain
from soro_studies.system.reliability_page import write_section

RESULT = Path('docs/evidence/launcher_deaths.json')
FIRST = 2.0  # s after its start in which a launcher is killed
START = 60.0  # s; a launcher on a busy machine
AGAIN = 1.0  # s after which it is looked at once more
GONE = 20.0  # s in which everything must have ended; on a busy machine a node imports that long
LATE = 5.0  # s after which a launch fails late: its driver may be armed by then
ROBOT = 'stiff_flop'
FAILS_LATE = """<launch>
  <include file="$(find-pkg-share soro_bringup)/launch/{robot}.launch.xml"/>
  <log message="$(command 'sh -c &quot;sleep {late}; exit 1&quot;')"/>
</launch>
"""


@dataclass(frozen=True)
class Death:
    """One launch that ended before its time.

    Attributes
    ----------
    runner : str
        'soro' or 'ros2'.
    how : str
        'SIGKILL', the same once its first node runs, or 'fails late'.
    after : float
        From its start to its end [s].
    gone : float or None
        From then until no process was left [s]; None: some are.
    left : list of str
        Command lines of those.
    armed : int
        States of an armed device that came more than `ARMED_LATE` after the end.
    """

    runner: str
    how: str
    after: float
    gone: float | None
    left: list[str]
    armed: int

    @property
    def good(self) -> bool:
        """Whether nothing was left and nothing armed."""
        return self.gone is not None and not self.left and self.armed == 0


ARMED_LATE = 0.5  # s; what was armed before is made safe within that time


def processes_of(launcher: int) -> dict[int, str]:
    """Return the processes that name a launcher, and everything they have started."""
    mark = f'{LAUNCHER}={launcher}\0'.encode()
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            if int(folder.name) == launcher or mark not in (folder / 'environ').read_bytes():
                continue
            words = (folder / 'cmdline').read_bytes().replace(b'\0', b' ').decode(errors='replace')
        except OSError:
            continue  # it has just ended
        if words:  # empty: it has ended, and nobody has taken note yet
            found[int(folder.name)] = words.strip()
    return found


def is_node(command: str) -> bool:
    """Whether a command line is that of a node."""
    return '__ns:=' in command


class ArmedWatch:
    """When an armed device of a namespace was last heard, and how often since a moment."""

    def __init__(self, session: RosSession, namespace: str) -> None:
        self.times: list[float] = []
        session.node.create_subscription(
            ActuatorState, f'/{namespace}/actuator_state', self._on_state, 10
        )

    def _on_state(self, message: Any) -> None:
        if message.device_state in (ActuatorState.STATE_ACTIVE, ActuatorState.STATE_SAFE):
            self.times.append(time.monotonic())


class Launchers:
    """Starts launchers, sees them end and looks at what they leave.

    Parameters
    ----------
    folder : path
        For output and launch files.
    seed : int
        Of the moments.
    """

    def __init__(self, session: RosSession, folder: Path, seed: int = 0) -> None:
        self._session, self._folder = session, folder
        self._random = random.Random(seed)
        self._count = 0

    def kill(self, runner: str, robot: str = ROBOT) -> Death:
        """Kill a launcher at a random moment of its first seconds, or of those of its nodes."""
        moment = self._random.uniform(0.0, FIRST)
        space = self._space()
        process = self._start(runner, [robot, f'namespace:={space}'], space)
        began = time.monotonic()
        watch = ArmedWatch(self._session, space)
        nodes = self._count % 2 == 0  # the launch file alone takes a second to evaluate
        if nodes:
            self._session.spin_until(
                lambda: any(map(is_node, processes_of(process.pid).values())), START
            )
        self._session.spin_until(lambda: False, moment)
        after = time.monotonic() - began
        process.kill()
        process.wait()
        how = 'SIGKILL, nodes running' if nodes else 'SIGKILL'
        return self._look(process.pid, watch, runner, how, after)

    def fail_late(self, runner: str, robot: str = ROBOT) -> Death:
        """Let a launch file fail behind the nodes it names."""
        space = self._space()
        file = self._folder / f'{space}.launch.xml'
        file.write_text(FAILS_LATE.format(robot=robot, late=LATE), encoding='utf-8')
        began = time.monotonic()
        process = self._start(runner, [str(file), f'namespace:={space}'], space)
        watch = ArmedWatch(self._session, space)
        if not self._session.spin_until(lambda: process.poll() is not None, LATE + 180.0):
            process.kill()
            process.wait()
        return self._look(
            process.pid, watch, runner, 'fails late', round(time.monotonic() - began, 2)
        )

    def _space(self) -> str:
        self._count += 1
        return f'death_{os.getpid()}_{self._count}'

    def _start(self, runner: str, words: Sequence[str], name: str) -> subprocess.Popen[bytes]:
        with (self._folder / f'{name}.txt').open('wb') as output:
            return subprocess.Popen(
                [sys.executable, '-m', 'soro_cli.main', 'launch', *words, '--runner', runner],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, 'ROS_LOG_DIR': str(self._folder / 'log')},
                preexec_fn=until_parent_dies(own_group=True),
            )

    def _look(self, pid: int, watch: ArmedWatch, runner: str, how: str, after: float) -> Death:
        end = time.monotonic()
        gone = self._session.spin_until(lambda: not processes_of(pid), GONE)
        took = round(time.monotonic() - end, 2)
        self._session.spin_until(lambda: False, AGAIN)  # one may have been between fork and exec
        left = processes_of(pid)
        for number in left:
            os.kill(number, signal.SIGKILL)
        armed = sum(t > end + ARMED_LATE for t in watch.times)
        return Death(
            runner, how, round(after, 3), took if gone else None, list(left.values()), armed
        )


@contextmanager
def load(processes: int) -> Iterator[None]:
    """Keep so many processes computing."""
    command = [sys.executable, '-S', '-E', '-c', 'while True: pass']
    busy = [subprocess.Popen(command, preexec_fn=until_parent_dies()) for _ in range(processes)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def runners() -> list[str]:
    """Return the runners that are there."""
    return ['soro', *(['ros2'] if is_available() else [])]


def section(result: dict[str, Any]) -> list[str]:
    """Return the lines of the page."""
    deaths = [Death(**death) for death in result['deaths']]
    lines = [
        '\n## Launchers that end before their time\n',
        f'`python -m soro_studies.system.launcher_deaths`, {result["date"]}, {result["robot"]}, '
        f'{os.cpu_count()} cores with {result["load"]} computing processes: launchers killed at '
        f'random moments of the first {FIRST:g} s of themselves or of their nodes, and launches '
        'whose file fails behind its nodes (the own runner evaluates the whole file first and '
        'starts none). Left: processes '
        f'still there {GONE:g} s later. Armed: launches of which an armed device was heard more '
        f'than {ARMED_LATE:g} s after the end of the launcher.\n',
        '| Runner | How | Launches | Left | Armed | All gone after, median | longest |',
        '|---|---|---|---|---|---|---|',
    ]
    for runner, how in sorted({(d.runner, d.how) for d in deaths}):
        some = [d for d in deaths if (d.runner, d.how) == (runner, how)]
        times = sorted(d.gone for d in some if d.gone is not None) or [float('nan')]
        lines.append(
            f'| {runner} | {how} | {len(some)} | {sum(bool(d.left) for d in some)} '
            f'| {sum(d.armed > 0 for d in some)} | {times[len(times) // 2]:.1f} s '
            f'| {times[-1]:.1f} s |'
        )
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Run, store, write, and say with the exit code whether nothing was left or armed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--each', type=int, default=50, help='launchers killed, of each runner')
    parser.add_argument('--late', type=int, default=10, help='launches failing late, of each')
    parser.add_argument('--load', type=int, default=os.cpu_count(), help='computing processes')
    parser.add_argument('--robot', default=ROBOT)
    parser.add_argument('--seed', type=int, default=0)
    parser.add_argument('--result', type=Path, default=RESULT)
    parser.add_argument('--page', action='store_true', help='write the section only')
    arguments = parser.parse_args(words)
    if not arguments.page:
        os.environ['ROS_DOMAIN_ID'] = str(own_domain())
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        deaths = []
        with (
            tempfile.TemporaryDirectory(prefix='soro_deaths_') as folder,
            RosSession() as session,
            load(arguments.load),
        ):
            launchers = Launchers(session, Path(folder), arguments.seed)
            for runner in runners():
                for i in range(arguments.each + arguments.late):
                    act = launchers.kill if i < arguments.each else launchers.fail_late
                    deaths.append(act(runner, arguments.robot))
                    print(deaths[-1], flush=True)
        result = {
            'date': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime()),
            'robot': arguments.robot,
            'load': arguments.load,
            'seed': arguments.seed,
            'deaths': [asdict(d) for d in deaths],
        }
        arguments.result.parent.mkdir(parents=True, exist_ok=True)
        arguments.result.write_text(json.dumps(result, indent=1) + '\n', encoding='utf-8')
    result = json.loads(arguments.result.read_text(encoding='utf-8'))
    if arguments.result == RESULT:
        write_section(section(result))
    bad = [death for death in result['deaths'] if not Death(**death).good]
    print('\n'.join(f'FAILED {death}' for death in bad), flush=True)
    return int(bool(bad))


if __name__ == '__main__':
    sys.exit(main())
