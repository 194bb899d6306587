# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a test of an injected fault has seen, as a line of JSON for docs/evidence/reliability.md.

A test says which cells of the fault matrix it covers, `@pytest.mark.injection('nidaq', 1, 8)`: the
device and the numbers of injections (`soro_studies.system.injections`). With $SORO_EVIDENCE every
such test that ran appends what was broken, what the emulator's log and the diagnostics said.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
import time
from typing import Any

import pytest
from robot_processes import RobotProcesses

from soro_driver.device import DeviceState

MARK = 'injection(device, *numbers): cells of the fault matrix that the test covers'
QUIET = ('started', 'listening', 'fault', 'counters', 'stall', 'handle')
JUST_NOW = 0.01  # s, the log notes a fault after the device has felt it
LINES = 6  # of the device's log, at most
UNARMED = ('SAFE', 'FAULT', 'ESTOP', 'HOLDING', 'BOOT')


def cells_of(item: pytest.Item) -> list[list[Any]]:
    """Return [device, number] for every cell that a test covers."""
    # A module may run the tests of another one for a column of its own.
    column = getattr(item.module, 'MATRIX_COLUMN', None)
    return [
        [column or mark.args[0], number]
        for mark in item.iter_markers('injection')
        for number in mark.args[1:]
    ]


def write_cells(items: list[pytest.Item]) -> None:
    """Write the cells that the collected tests cover to the file $SORO_CELLS."""
    path = os.environ.get('SORO_CELLS')
    if path:
        found = sorted({tuple(cell) for item in items for cell in cells_of(item)})
        Path(path).write_text(json.dumps(found), encoding='utf-8')


def safe_after(events: list[dict[str, Any]], since: float) -> float | None:
    """Return when the device began to be safe, seconds after `since`; None: it did not.

    That is: it left its armed state, the supply was cut, every output was zero, valves closed, or
    nothing commanded its controllers any more.
    """
    outputs: dict[str, float] = {}
    for e in events:
        name, before = e['event'], any(outputs.values())
        if name == 'output' and 'pressure' in e:  # not a fault of the supply
            outputs[e['actuator']] = e['pressure']
        off = before and not any(outputs.values())
        cut = name == 'relay' and not e['closed']
        unarmed = name == 'state' and e['state'] in UNARMED
        unarmed |= name == 'commands' and not e['stream']
        if e['t'] >= since - JUST_NOW and (off or cut or unarmed or name in ('watchdog', 'vent')):
            return max(0.0, e['t'] - since)
    return None


def shortened(events: list[dict[str, Any]], since: float) -> list[str]:
    """Return lines of the device's log after a time, without the many steps of set-points."""
    lines, last = [], ''
    for e in events:
        if e['t'] < since - JUST_NOW or e['event'] in QUIET:
            continue
        if e['event'] == 'output' and e.get('pressure') != 0.0:
            continue
        values = {k: v for k, v in e.items() if k not in ('t', 'event')}
        words = ' '.join(f'{k}={v}' for k, v in values.items() if len(str(v)) < 40)
        if e['event'] in ('valve', 'command') and last == e['event']:
            continue  # one of sixty says enough
        last = e['event']
        lines.append(f'+{max(0.0, e["t"] - since):.3f} s {e["event"]} {words}'.rstrip())
    return lines[:LINES]


def evidence_of(robot: RobotProcesses) -> dict[str, Any]:
    """Return what is known about the robot since something was broken."""
    if not robot.hits:
        return {}
    since, events = robot.hits[0].time, robot.events()
    before = [h for h in robot.heard if h.time < since]
    after = [h for h in robot.heard if h.time >= since]
    heard = after or before[-1:]
    worst = max(heard, key=lambda h: (h.level, -h.time), default=None)
    state = None if robot.state is None else DeviceState(robot.state.device_state).name
    return {
        'injected': list(dict.fromkeys(h.what for h in robot.hits)),
        'log': shortened(events, since),
        'safe': safe_after(events, since),
        'diagnostics': worst.message if worst else '',
        'level': worst.level if worst else None,
        'noticed': worst.time - since if worst in after else None,
        'state': state,
    }


def write(item: pytest.Item, report: pytest.TestReport) -> None:
    """Append a line about a test that has just run; its robot still stands as the test left it."""
    path = os.environ.get('SORO_EVIDENCE')
    cells = cells_of(item)
    if not path or not cells:
        return
    found = [v for v in item.funcargs.values() if isinstance(v, RobotProcesses)]
    line = {
        'test': item.nodeid,
        'cells': cells,
        'outcome': report.outcome,
        'took': round(report.duration, 2),
        'at': time.time(),
        **(evidence_of(found[0]) if found else {}),
    }
    with Path(path).open('a', encoding='utf-8') as file:
        file.write(json.dumps(line) + '\n')
