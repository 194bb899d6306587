# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""That an injected fault really happened: a robot that survives nothing at all proves nothing.

Judged by the emulator's own counters, which its log has whenever they change, by those of the
driver's diagnostics, and of signals by what the system says about the process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
import math
from pathlib import Path
import signal
import subprocess
import time
from typing import Any

from soro_driver.device import DeviceState

PATIENCE = 20.0  # s
ENOUGH = 10  # expected hits: none of them happens to nothing but a fault that does nothing
ZEROS = 1 / 256  # of random bytes: each ends a piece of garbage
SPREAD = 5.0  # standard deviations, once in a million tests


def rises(robot: Any, since: float) -> Counter[str]:
    """Return by how much the emulator's counters have risen since a fault was injected [s]."""
    rows = robot.events('counters')
    before = [e for e in rows if e['t'] < since][-1:]
    counts: Counter[str] = Counter()
    for sign, found in ((1, rows[-1:]), (-1, before)):
        for row in found:
            counts.update({k: sign * n for k, n in row.items() if k not in ('t', 'event')})
    return counts


def wait_rises(
    robot: Any, since: float, enough: Callable[[Counter[str]], bool], what: str
) -> Counter[str]:
    """Wait until the counters have risen by enough since a fault was injected [s]; return it."""
    robot.wait_for(
        lambda: enough(rises(robot, since)), PATIENCE, f'{what}: {dict(rises(robot, since))}'
    )
    return rises(robot, since)


def check_parts(robot: Any, since: float, *lines: str, **parts: float) -> Counter[str]:
    """Wait until faults must have struck often, then fail unless each struck the part asked for.

    Parameters
    ----------
    robot : RobotProcesses
    since : float
        When `link` was injected [s].
    *lines : str
        Of its units, to_device and to_host (default: both).
    **parts : float
        Of all units lost, then of those left corrupted, repeated, reordered.

    Returns
    -------
    Counter
        By how much every counter has risen.
    """
    lines = lines or ('to_device', 'to_host')

    def of(counts: Counter[str], name: str) -> int:
        units = total(counts, 'exposed')
        if name != 'lost':
            units -= total(counts, 'lost')
        if name == 'reordered':  # each of two
            units += total(counts, 'repeated')
        return units

    def total(counts: Counter[str], name: str) -> int:
        return sum(counts[f'{line}_{name}'] for line in lines)

    def enough(counts: Counter[str]) -> bool:
        return all(of(counts, name) * part >= ENOUGH for name, part in parts.items())

    counts = wait_rises(robot, since, enough, 'units that a fault can hit')
    for name, part in parts.items():
        hits, units = total(counts, name), of(counts, name)
        # One of every line may have been on its way through the counters.
        spread = SPREAD * math.sqrt(units * part * (1.0 - part)) + len(lines)
        assert hits > 0 and abs(hits - part * units) <= spread, (
            f'{hits} of {units} {name}: {counts}'
        )
    return counts


def check_late(robot: Any, since: float, line: str) -> None:
    """Wait until so many units of a line were delayed that it was no accident."""
    wait_rises(robot, since, lambda c: c[f'{line}_delayed'] > ENOUGH, 'late units')


def fresh(robot: Any, name: str) -> dict[str, str]:
    """Return the values of the driver's next diagnostics."""
    now = time.monotonic()
    robot.wait_for(lambda: robot.diagnostics.get(name, (0.0,))[0] > now, 5.0, 'diagnostics')
    return robot.values(name)


def unreadable(robot: Any) -> int:
    """Return how many pieces the driver has received that were no frames of the protocol."""
    values = fresh(robot, 'device')
    return sum(int(values.get(f'link_{key}', '0')) for key in ('crc_errors', 'malformed'))


def check_damage_is_counted(robot: Any, since: float, before: int) -> None:
    """End the damage, and fail unless both ends have counted every damaged unit exactly.

    `before` is what the driver had counted when the damage began; that there was damage is for
    `check_parts` to find.
    """
    robot.inject('none')

    def by_device() -> bool:
        counts = rises(robot, since)
        found = counts['crc_errors'] + counts['malformed']
        return found == counts['to_device_corrupted']

    def by_driver() -> bool:
        return unreadable(robot) - before == rises(robot, since)['to_host_corrupted']

    robot.wait_for(by_device, 5.0, f'the device counts them: {dict(rises(robot, since))}')
    if robot.state.device_state == DeviceState.ACTIVE:  # a driver that connects counts anew
        robot.wait_for(by_driver, 5.0, f'the driver counts them: {dict(rises(robot, since))}')


def check_garbage(robot: Any, since: float, before: int, count: int, pieces: float) -> None:
    """Fail unless so much garbage was sent, and the driver has counted it.

    Parameters
    ----------
    robot : RobotProcesses
    since : float
        Before the first of it [s].
    before : int
        What the driver had counted then (`unreadable`).
    count : int
        Bytes or frames.
    pieces : float
        That a driver finds in each at least, on average.
    """
    assert rises(robot, since)['garbage'] == count
    assert unreadable(robot) - before > pieces * count


def check_signal(robot: Any, process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Wait until a signal that cannot be refused has stopped or ended a process."""

    def stands() -> bool:
        text = Path(f'/proc/{process.pid}/stat').read_text(encoding='utf-8')
        return text.rpartition(')')[2].split()[0] == 'T'

    if number == signal.SIGSTOP:
        robot.wait_for(stands, 5.0, 'a process that stands')
    elif number == signal.SIGKILL:
        robot.wait_for(lambda: process.poll() == -number, 5.0, 'a process that was killed')
