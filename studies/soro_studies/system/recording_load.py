# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What recording costs and whether it loses anything: haptic_5dof, every tick of its device loop.

    python -m soro_studies.system.recording_load --minutes 10 --write docs/evidence/recording.md

Launches the robot as a user does and runs `soro record` beside it. The driver counts its ticks and
publishes one state in each; its count, which is in the bag too, says what should be there. A loop
that leaves no slot out on a busy computer wants `priority: 50` in config/nodes/driver.yaml.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np

from soro_node.process.parent_death import until_parent_dies
from soro_recording.bag_reader import BagReader
from soro_rigs.process_table import ProcessTable
from soro_studies.system.launched_robot import launched_robot
from soro_studies.system.measured_section import keep_values, machine, replace_section

ROBOT, SPACE = 'haptic_5dof', 'recorded'
STATE, REPORTS = f'/{SPACE}/actuator_state', '/diagnostics'
LOOP = f'{SPACE}/driver: loop'
START = 300.0  # s, kernels compiled anew included
LISTENING = 60.0  # s, until the recorder has found the topics
WARM = 1.0  # s it has to find the others
END = 60.0  # s more than asked for, to finish the file
LIMIT = 0.15  # of a core
MISSED = 0.001  # of the slots, at most, where a loop at 500 Hz counts as one
SHOWN = 8  # busiest topics
# The report and the states around it are not in step: ticks between the two ends of a recording.
BOUNDARY = 25


@dataclass(frozen=True)
class Ticks:
    """The driver's count against the bag: its first report after a state to the last in the bag.

    Attributes
    ----------
    done : int
        Ticks, each with one state published.
    missed : int
        Slots that passed without a tick.
    recorded : int
        States in the bag.
    seconds : float
    rate : float
        Of the loop [1/s].
    restarts : int
        How often the driver lost its device and counted anew.
    """

    done: int
    missed: int
    recorded: int
    seconds: float
    rate: float
    restarts: int = 0

    @property
    def lost(self) -> int:
        """States that are not in the bag, beyond what the ends leave open."""
        return max(0, self.done - self.recorded - BOUNDARY * (1 + self.restarts))


@dataclass(frozen=True)
class Load:
    """What was measured.

    Attributes
    ----------
    seconds, work : float
        Between two looks at the recorder, and the processor time it used in between [s].
    start_work : float
        Processor time before: interpreter, libraries, subscriptions [s].
    counts : dict
        Messages by topic.
    rates : dict
        By topic, between its first message and its last [1/s].
    size : int [byte]
    lost, dropped : int
        As the recorder says.
    ticks : Ticks
    haptics : str
    priority : str
        Of the device loop, as the driver says: 0 is normal scheduling.
    """

    seconds: float
    work: float
    start_work: float
    counts: dict[str, int]
    rates: dict[str, float]
    size: int
    lost: int
    dropped: int
    ticks: Ticks
    haptics: str
    priority: str

    @property
    def share(self) -> float:
        """Of a core."""
        return self.work / self.seconds

    @property
    def good(self) -> bool:
        """Nothing lost, and below the limit."""
        return self.share < LIMIT and not (self.lost or self.dropped or self.ticks.lost)


def count_ticks(bag: BagReader) -> Ticks:
    """Compare the driver's count with what was recorded.

    Raises
    ------
    RuntimeError
        Fewer than two reports.
    """
    # By the senders' clock: on a busy computer states and reports arrive late, each by itself.
    states = np.sort([_sent(entry.message) for entry in bag.messages([STATE])])
    reports: list[tuple[int, dict[str, str]]] = []
    for entry in bag.messages([REPORTS]):
        for status in entry.message.status:
            if status.name.strip('/') == LOOP:
                reports.append((_sent(entry.message), {v.key: v.value for v in status.values}))
    # The recorder finds one topic after the other: reports before the first state say nothing.
    reports = [report for report in reports if states.size and report[0] >= states[0]]
    if len(reports) < 2:
        raise RuntimeError(f'{len(reports)} reports of {LOOP} in {bag.path}: record longer')
    runs = [[reports[0]]]
    for report in reports[1:]:
        if int(report[1]['ticks']) < int(runs[-1][-1][1]['ticks']):
            runs.append([])  # a device that was lost is found again by a new loop
        runs[-1].append(report)
    done = missed = recorded = length = 0
    for run in runs:
        (begin, first), (end, last) = run[0], run[-1]
        done += int(last['ticks']) - int(first['ticks'])
        missed += int(last['missed']) - int(first['missed'])
        recorded += int(np.diff(np.searchsorted(states, [begin, end]))[0])
        length += end - begin
    rate = float(reports[-1][1]['rate_hz'])
    return Ticks(done, missed, recorded, 1e-9 * length, rate, len(runs) - 1)


def count_rates(bag: BagReader) -> dict[str, float]:
    """Return how often each topic came between its first message and its last [1/s]."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for entry in bag.messages():
        last[entry.topic] = entry.stamp
        first.setdefault(entry.topic, entry.stamp)
    return {t: 1e9 * (bag.topics[t].count - 1) / max(last[t] - first[t], 1) for t in first}


def _sent(message: Any) -> int:
    """Return when a message was stamped [ns]."""
    return int(message.header.stamp.sec) * 10**9 + int(message.header.stamp.nanosec)


@contextmanager
def recorder(bag: Path, seconds: float) -> Iterator[subprocess.Popen[bytes]]:
    """Run `soro record` for so long; it is ended with this process."""
    command = [
        sys.executable,
        '-m',
        'soro_cli.main',
        'record',
        '-n',
        SPACE,
        '-o',
        str(bag),
        '--duration',
        str(seconds),
        '--json',
    ]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, preexec_fn=until_parent_dies()
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()


def measure(seconds: float, haptics: str, folder: Path, say: Callable[[str], None]) -> Load:
    """Launch the robot, record it for so long [s], and look at what it cost and what is there."""
    bag = folder / 'bag'
    words = [ROBOT, f'haptics:={haptics}']
    with launched_robot(words, folder, SPACE, ROBOT, START, clearing=True) as robot:
        node = robot.session.node
        priority = robot.session.parameter(f'/{SPACE}/driver', 'priority')
        before = node.count_subscribers(STATE)
        say(f'{ROBOT} is ready after {robot.ready_after:.0f} s; recording {seconds:g} s')
        with recorder(bag, seconds) as process:
            robot.wait(lambda: node.count_subscribers(STATE) > before, LISTENING, 'recorder')
            robot.spin(WARM)
            start, start_work = time.monotonic(), ProcessTable().seconds(process.pid)
            # The last look is taken while it still records: then it is gone from /proc.
            robot.spin(seconds - 2.0 * WARM)  # its duration begins later than this
            work = ProcessTable().seconds(process.pid) - start_work
            passed = time.monotonic() - start
            answer = json.loads(process.communicate(timeout=END + seconds)[0])
        code = robot.process.stop()
        if code:
            say(f'the robot ended with {code}')
    with BagReader(bag) as reader:
        ticks, rates = count_ticks(reader), count_rates(reader)
    return Load(
        passed,
        work,
        start_work,
        answer['counts'],
        rates,
        answer['size'],
        answer['lost'],
        answer['dropped'],
        ticks,
        haptics,
        priority,
    )


def section(load: Load, minutes: float) -> str:
    """Write what was found as a section of a page."""
    ticks, total = load.ticks, sum(load.counts.values())
    busiest = sorted(load.counts.items(), key=lambda item: -item[1])[:SHOWN]
    waiting = sum(os.getloadavg()[1:2])
    said = 'Nothing is missing' if not ticks.lost else f'{ticks.lost} are missing'
    scheduling = 'normal scheduling'
    if load.priority != '0':
        scheduling = f'SCHED_FIFO, `priority: {load.priority}` in config/nodes/driver.yaml'
    lines = [
        '## What recording costs',
        '',
        f'Written on {date.today()} by `python -m soro_studies.system.recording_load --minutes '
        f'{minutes:g} --haptics {load.haptics}` on {machine()}; processes that ran or waited in '
        f'the last five minutes, those of the robot included: {waiting:.1f}. {ROBOT} with its '
        f'device loop at {ticks.rate:.0f} Hz ({scheduling}) and one state published in every '
        'tick, `soro record` beside it.',
        '',
        '| | |',
        '|---|---|',
        f'| recorder, share of a core | {load.share:.1%} (wanted: below {LIMIT:.0%}) |',
        f'| its start, once | {load.start_work:.1f} s of processor time |',
        f'| recorded | {total} messages, {load.size / 1e6:.1f} MB |',
        f'| lost by the middleware, dropped by the recorder | {load.lost}, {load.dropped} |',
        f'| ticks the driver counted in {ticks.seconds:.0f} s | {ticks.done} (and {ticks.missed} '
        'slots missed) |',
        f'| states in the bag in that time | {ticks.recorded} |',
        f'| missed, of all slots | {ticks.missed / (ticks.done + ticks.missed):.3%} '
        f'(wanted: below {MISSED:.1%}) |',
        '',
        f'{said}: driver and bag may differ by {BOUNDARY} ticks at the ends. The driver lost its '
        f'device {ticks.restarts} times. The busiest topics, and their rate between the first '
        'message and the last:',
        '',
        '| Topic | Messages | Rate |',
        '|---|---|---|',
        *(
            f'| `{topic.removeprefix(f"/{SPACE}/")}` | {count} | {load.rates[topic]:.0f} Hz |'
            for topic, count in busiest
        ),
    ]
    return '\n'.join(lines) + '\n'


def values(load: Load, minutes: float) -> dict[str, Any]:
    """Return what other pages read."""
    return {
        'date': date.today().isoformat(),
        'minutes': minutes,
        'share': load.share,
        'lost': load.lost,
        'dropped': load.dropped,
        'done': load.ticks.done,
        'missed': load.ticks.missed,
        'recorded': load.ticks.recorded,
        'restarts': load.ticks.restarts,
        'rates': {t.removeprefix(f'/{SPACE}/'): rate for t, rate in load.rates.items()},
    }


def parse(words: Sequence[str] | None) -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument(
        '--haptics',
        choices=('off', 'topics', 'direct'),
        default='off',
        help='off: every tick of the driver is published; direct: copies at 100 Hz',
    )
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    parser.add_argument('--folder', help='where the bag goes for that time (default: /tmp)')
    arguments = parser.parse_args(words)
    if not arguments.minutes * 60.0 > 6.0 * WARM:
        parser.error(f'--minutes {arguments.minutes:g}: six seconds say nothing')
    return arguments


def main(words: Sequence[str] | None = None) -> int:
    """Measure and write; 1 when something was lost or it cost too much."""
    arguments = parse(words)
    with tempfile.TemporaryDirectory(prefix='soro_recording_', dir=arguments.folder) as folder:
        load = measure(
            60.0 * arguments.minutes,
            arguments.haptics,
            Path(folder),
            lambda line: print(line, flush=True),
        )
    text = section(load, arguments.minutes)
    print(text)
    if arguments.write:
        keep_values(Path(arguments.write), {'recording': values(load, arguments.minutes)})
        replace_section(Path(arguments.write), text)
    return 0 if load.good else 1


if __name__ == '__main__':
    sys.exit(main())
