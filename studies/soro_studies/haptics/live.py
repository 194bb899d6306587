# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The light grip of the quiet table over the wire: emulator and renderer as real processes.

Classic CAN at 500 Hz; the true place of the handle and force of the hand are the emulator's. A
last row is the sphere that another program renders (`examples/external_sphere.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
import datetime
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from scipy.signal import butter, sosfiltfilt

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.hand_impedance import LIGHT_GRIP
from soro_mechanics.haptics.virtual_environment import PRESETS
from soro_msgs.msg import ActuatorState
from soro_rigs.event_log import read_events
from soro_studies.haptics.computer_load import LoadMeter
from soro_studies.haptics.held import AFTER, CONTACT, CORNER, FORCE, LOOK, MOTION, REACH, smooth
from soro_studies.haptics.loop_study import LoopBench, RUNS, SPACE, START, variant_files
from soro_studies.haptics.page_table import page_table

SPHERE, TRIES, GRID = 'sphere of another program', 3, 100.0  # Hz, of the emulator's notes
EXAMPLE = Path(__file__).parents[3] / 'examples/external_sphere.py'
FELT = 0.5  # N, at least, of that sphere: half of what it gives
SPHERE_REACH = (-0.02, 0.0, 0.0, 0.0, 0.0)  # m; the sphere begins at -5 mm
ALL = 'all flex sensors used'  # says the renderer
BEFORE, GONE = 1.0, 1.0  # s: without a hand before a cell, and after the program was killed


@dataclass(frozen=True)
class LiveCell:
    """One environment in a light grip.

    Attributes
    ----------
    environment : str
    motion, force : float
        Largest components above 5 Hz of the place of the handle [m] and of the hand's force [N].
    moved, pressed : float
        Of the handle from where it was, and the hand's mean force then [m, N].
    ticks, missed : int
        Of the loop meanwhile.
    others : float
        Cores that other processes used.
    after : float
        Force of the hand once the other program was killed [N]; 0 where there was none.
    note : str
        What did not go through.
    """

    environment: str
    motion: float
    force: float
    moved: float
    pressed: float
    ticks: int
    missed: int
    others: float
    after: float = 0.0
    note: str = ''


def measure_live(robot: str, store: Path, priority: int) -> None:
    """Measure all cells in one launch, and store each."""
    with variant_files(robot) as write, tempfile.TemporaryDirectory() as data:
        folder, cells = Path(data), []
        log = folder / 'events.jsonl'
        rig = LoopBench(write(RUNS['can']), folder, RUNS['can'], priority, log)
        try:
            rig.wait(lambda: 'timing' in rig.statuses, START, 'renderer')
            rig.wait(lambda: rig.state == ActuatorState.ACTIVE, START, 'active device')
            rig.favour_emulator(priority)
            for _ in range(TRIES):
                note = rig.calibrate()
                print('calibration:', note or 'kept', flush=True)
                if not note:
                    break
                rig.spin(BEFORE)
                rig.trigger('driver/clear_fault')
            else:
                raise TimeoutError(f'not calibrated, so no hand would be felt: {note}')
            for name in (*PRESETS, SPHERE):
                for _ in range(TRIES):
                    cell = _cell(rig, name, log)
                    print(cell, flush=True)
                    if not cell.note:
                        break
                cells.append(vars(cell))
                kept = {
                    'date': datetime.date.today().isoformat(),
                    'cores': os.cpu_count(),
                    'priority': priority,
                    'scheduling': rig.statuses.get('loop', {}).get('scheduling', ''),
                    'cells': cells,
                }
                store.write_text(json.dumps(kept, indent=1) + '\n', encoding='utf-8')
        finally:
            rig.close()


def _cell(rig: LoopBench, name: str, log: Path) -> LiveCell:
    """Let a light grip run into one environment and stay."""
    rig.inject(hand_fault(None))
    if rig.state != ActuatorState.ACTIVE or _sensors(rig) != ALL:
        rig.trigger('driver/stop')
        rig.trigger('driver/clear_fault')  # every sensor is believed again
    rig.spin(2.0 * BEFORE)
    note, program = rig.feel('free' if name == SPHERE else name), None
    if name == SPHERE:
        words = ['--ros-args', '-r', f'__ns:={SPACE}', '--log-level', 'error']
        program = subprocess.Popen([sys.executable, str(EXAMPLE), *words])
        rig.spin(3.0 * BEFORE)
    reach = np.array(SPHERE_REACH if name == SPHERE else REACH[name])
    before, load, begin = rig.counts(), LoadMeter(), time.monotonic()
    try:
        rig.inject(hand_fault(reach))
        rig.spin(CONTACT + AFTER + LOOK + 1.0)  # the counts are those of a report later
        others, _ = load.read()
        now, after = rig.counts(), 0.0
        notes = [e for e in read_events(log, 'handle') if e['t'] >= begin]
        if program is not None:
            program.kill()
            rig.spin(GONE)
            after = abs(_mean_force(read_events(log, 'handle')[-20:]))
    finally:
        if program is not None:
            program.kill()
            program.wait()
    if rig.state != ActuatorState.ACTIVE:
        note = rig.statuses.get('device', {}).get('message', 'not active')
    elif not notes or notes[-1]['t'] - begin < CONTACT + AFTER + LOOK:
        note = f'{len(notes)} notes of the emulator'
    elif _sensors(rig) != ALL:  # no hand is felt then, and nothing rendered
        note = _sensors(rig)
    motion, force, moved, pressed = (0.0,) * 4 if note else _components(notes, begin)
    if program is not None and not note and pressed < FELT:
        note = f'the sphere was not felt: {pressed:.2f} N'  # free space is quiet too
    ticks, missed = now[0] - before[0], now[1] - before[1]
    return LiveCell(name, motion, force, moved, pressed, ticks, missed, others, after, note)


def _sensors(rig: LoopBench) -> str:
    return rig.statuses.get('sensors', {}).get('message', 'no diagnostics')


def _mean_force(notes: list[dict[str, Any]]) -> float:
    return float(np.mean([np.linalg.norm(e['wrench'][:3]) for e in notes])) if notes else 0.0


def _components(notes: list[dict[str, Any]], begin: float) -> tuple[float, float, float, float]:
    times = np.array([e['t'] for e in notes]) - begin
    data = np.array([[*e['place'][:3], *e['wrench'][:3]] for e in notes])
    grid = np.arange(0.0, CONTACT + AFTER + LOOK, 1.0 / GRID)
    even = np.array([np.interp(grid, times, column) for column in data.T]).T
    fast = sosfiltfilt(butter(4, CORNER, 'high', fs=GRID, output='sos'), even, axis=0)
    late = grid >= CONTACT + AFTER
    seen, place = np.abs(fast[late]), even[late, :3].mean(axis=0)
    return (
        float(seen[:, :3].max()),
        float(seen[:, 3:].max()),
        float(np.linalg.norm(place - even[0, :3])),
        float(np.linalg.norm(even[late, 3:].mean(axis=0))),
    )


def way_of(reach: Array) -> list[list[float]]:
    """Return the way of a hand to a place, as the fault `hand` takes it."""
    shares = np.linspace(0.0, 1.0, 21)
    return [[CONTACT * s, *(smooth(s) * reach)] for s in shares]


def hand_fault(reach: Array | None) -> dict[str, Any]:
    """Return the fault that puts a light grip on the handle; None: lets go."""
    if reach is None:
        return {'fault': 'hand'}
    grip = LIGHT_GRIP
    parts = {key: getattr(grip, key).tolist() for key in ('stiffness', 'damping', 'mass')}
    return {'fault': 'hand', 'way': way_of(reach), **parts}


def write_live_page(name: str, store: Path, page: Path) -> None:
    """Write the page of what the store has."""
    kept = json.loads(store.read_text(encoding='utf-8'))
    cells = [LiveCell(**row) for row in kept['cells']]
    rows = []
    for c in cells:
        shown = f'{1e3 * c.motion:.2f} mm, {c.force:.2f} N'
        slots = c.ticks + c.missed
        missed = f'{c.missed} of {slots}'
        felt = f'{1e3 * c.moved:.1f} mm, {c.pressed:.2f} N'
        rows.append((c.environment, c.note or shown, felt, missed, f'{c.others:.2f}'))
    head = ('environment', 'above 5 Hz', 'moved, and force of the hand', 'missed', 'others, cores')
    good = sum(not c.note and c.motion < MOTION and c.force < FORCE for c in cells)
    sphere = next((c for c in cells if c.environment == SPHERE), None)
    killed = (
        f' {GONE:g} s after that program was killed the hand felt {sphere.after:.2f} N.'
        if sphere is not None and not sphere.note
        else ''
    )
    refused = kept.get('scheduling')
    how = f'SCHED_FIFO {kept["priority"]}' if kept['priority'] else 'normal scheduling'
    how += f' asked for, but: {refused}' if refused else ''
    page.write_text(
        f'# {name}: a light grip over the wire\n\n'
        '<!-- Generated by `python -m soro_studies.haptics live`; do not edit. -->\n\n'
        f'The column *light grip* of [quiet at defaults]({name}_held.md), on emulator and '
        f'renderer as real processes: classic CAN at 500 Hz, sensors calibrated over it, '
        f'{kept["date"]}, {kept["cores"]} cores, {how}. Components from {AFTER:g} s after the '
        f'contact, for {LOOK:g} s, of what the emulator notes at {GRID:g} Hz. **{good} of '
        f'{len(cells)}** are below {1e3 * MOTION:g} mm and {FORCE:g} N. The sphere is that of '
        f'`examples/external_sphere.py`, 100 N/m over topics at 100 Hz.{killed} Others: cores '
        'that other processes used.\n\n'
        f'{page_table(head, rows)}\n',
        encoding='utf-8',
    )
