# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bare loops at 1 kHz: what this computer does to a program that only waits and computes.

The thread of the drivers, which counts slots in the same way, computes by the clock as long as a
median tick of the renderer; then it adds numbers and reads memory, as much each time, of as many
pages as the renderer touches; then it runs the haptic law itself on stored readings. No wire, no
topics, no other thread. Then numbers and the law once more on the wire, beside the emulated board
and a hand that presses as in the closed loop: the renderer's own loop, without ROS in its process.
The whole device takes its turn between them. A yardstick in every slot tells where the computer
was slow.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import gc
import json
import os
from pathlib import Path
import tempfile
import time
import timeit
from typing import Any

import numpy as np

from soro_driver import devices
from soro_driver.device import DeviceError, Reading, SensorReading
from soro_driver.endpoint import derive
from soro_driver.loop.control_loop import ControlLoop
from soro_driver.loop.law import Command, Law
from soro_driver.loop.periodic import PeriodicThread
from soro_driver.safety.command_gate import CommandGate
from soro_driver.safety.not_allowed import NotAllowed
from soro_driver.settings import read_driver_settings
from soro_haptics.haptic_control import HapticControl
from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.haptic_setup import make_haptics
from soro_haptics.motor_motion import MotorMotion
from soro_haptics.real_time import lock_memory
from soro_mechanics.core.errors import SoroError
from soro_mechanics.haptics.flex_calibration import (
    FlexCalibration,
    read_calibration,
    SensorCalibration,
)
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file, RobotDescription
from soro_node.user_data import calibration_path
from soro_studies.haptics.computer_load import LoadMeter
from soro_studies.haptics.loop_study import (
    LoopBench,
    measure,
    read_kept,
    RUNS,
    SPACE,
    START,
    variant_files,
)
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.yardstick import LIMITS, MemoryReads, NEAR, SlotGauge, YARD

RATE, WORK = 1000.0, 0.5e-3  # Hz; s of a tick
BARE, MEMORY, LAW, BOARD = 'bare', 'memory', 'law', 'board'
LAW_ON_BOARD, DEVICE = 'law on board', 'device'
USUAL = 'usual speed'  # key of what is stored
LOOPS = {
    BARE: 'waits, and computes 0.5 ms by the clock',
    MEMORY: 'waits, reads 12 MB of memory in lines and adds numbers, as many each time',
    LAW: 'the law and its model, at rest',
    BOARD: 'drives the emulated board; adds numbers, as many each time, in place of the law',
    LAW_ON_BOARD: 'drives the emulated board by the law and its model: the device without ROS',
    DEVICE: 'the device',
}
BUSY = 5.0  # load average
MISSED = 0.001  # of all slots, asked for
PART = range(100)
# What the renderer touches (11 to 15 MB: `echo 1 > /proc/PID/clear_refs`, then Referenced in
# smaps_rollup a moment later), and an assumed eight lines of the cache in each page.
PAGES, LINES = 3000, 8
SLOTS = 200_000
DECIDING, SETTLING = 0.3e-3, 3.0  # s: of law, model and topics, on average; before it counts
OFFSET, GAIN, NOISE, SAMPLES = 3500.0, 2.5e-6, 4.0, 64  # counts, m per count, counts
Step = Callable[[float], None]


def bare_loop(
    seconds: float, priority: int, rate: float = RATE, work: float = WORK, step: Step | None = None
) -> dict[str, Any]:
    """Run the loop; return its ticks, missed slots, lateness and work [s].

    `step` in place of `work` [s] by the clock.
    """
    failures: list[BaseException] = []
    gauge, do = SlotGauge(SLOTS), step or _wait_for(work)

    def gauged(lateness: float) -> None:
        gauge.look(lateness)
        do(lateness)

    thread = PeriodicThread('bare loop', 1.0 / rate, gauged, failures.append, priority)
    gc.disable()
    load, begin = LoadMeter(), time.monotonic()
    thread.start()
    time.sleep(seconds)
    thread.stop(1.0)
    took = time.monotonic() - begin
    gc.enable()
    if failures:
        raise failures[0]
    others, stolen = load.read()
    figures = thread.statistics.figures()
    return {
        'seconds': took,
        'priority': 0 if thread.note else priority,
        'ticks': figures.ticks,
        'missed': figures.missed,
        'late': figures.lateness,
        'work': figures.work,
        'others': others,
        'stolen': stolen,
        'speed': gauge.since(begin, 1.0 / rate),
    }


def _wait_for(work: float) -> Step:
    def step(lateness: float) -> None:
        end = time.monotonic() + work
        while time.monotonic() < end:
            pass

    return step


def reading_step(work: float = WORK) -> Step:
    """Return a tick that reads as many lines of memory each time, and adds numbers.

    Both by count: `work` [s] is what they take together where nothing disturbs.
    """
    reads = MemoryReads(PAGES, LINES)
    left = work - min(timeit.repeat(reads.read, number=10, repeat=20)) / 10.0
    sums = FixedWork(left)

    def step(lateness: float) -> None:
        reads.read()
        sums.add()

    return step


def haptic_control(
    description: RobotDescription, known: FlexCalibration, rate: float = RATE
) -> HapticControl:
    """Return the renderer's law with its defaults."""
    values = {parameter.name: parameter.default for parameter in PARAMETERS}
    haptics = make_haptics(description, known, 1.0 / rate, values)
    return HapticControl(haptics, 'bare', MotorMotion(len(description.actuators), 1.0))


def law_step(robot: str, rate: float = RATE) -> Step:
    """Return a tick of sensing, rendering and model at rest before a wall."""
    description = read_robot_file(find_robot_file(robot))
    strips = [s.name for s in description.structure['haptic'].strips]
    fit = (OFFSET, GAIN, (0, 8), np.array([-0.003, 0.003]), 2e-5, 0.01)
    known = FlexCalibration(robot, '', tuple(SensorCalibration(n, *fit) for n in strips))
    control = haptic_control(description, known, rate)
    haptics, count = control.haptics, len(description.actuators)
    rest = OFFSET + haptics.loop.device.ports.sensor / GAIN
    noise = NOISE * np.random.default_rng(0).normal(size=(SAMPLES, len(strips)))
    flags, still = np.zeros(count, np.uint16), np.zeros(count)
    whole = flags[: len(strips)]
    readings = [
        Reading(0.0, still, still, flags, sensors=SensorReading(tuple(strips), raw, whole))
        for raw in np.round(rest + noise)
    ]

    def step(lateness: float) -> None:
        now = time.monotonic()
        control.command(readings[round(now * rate) % SAMPLES], True, now)
        control.after_write()

    step(0.0)
    control.armed()
    control.replace_environment(VirtualEnvironment(published_environment('wall', np.eye(4))))
    for _ in range(SAMPLES):
        step(0.0)
    return step


class FixedWork(Law):
    """Stays where the motors are, and adds numbers for as long as the haptic law takes.

    By count, not by the clock: what slows the processor down makes it longer, as it does the law.
    """

    def __init__(self, seconds: float = DECIDING) -> None:
        self._stays: Command | None = None
        took = min(timeit.repeat(self._add, number=100, repeat=20)) / 100.0
        self._times = round(max(0.0, seconds) / took)

    def command(self, reading: Reading, accepting: bool, now: float) -> Command | None:
        """Compute, and command what was measured first."""
        self.add()
        at = self._stays.values if self._stays else reading.measured.copy()
        self._stays = Command(at, 'bare', time.time_ns(), now)
        return self._stays

    def add(self) -> None:
        """Add as many numbers each time."""
        for _ in range(self._times):
            self._add()

    def _add(self) -> None:
        sum(PART)

    def refused(self, command: Command, error: SoroError) -> None:
        """Begin again where the motors are."""
        self._stays = None

    def disengaged(self) -> None:
        """Begin again where the motors are."""
        self._stays = None

    def armed(self) -> None:
        """Go on."""


class GaugedLoop(ControlLoop):
    """A loop with a yardstick in every slot."""

    def __init__(self, *words: Any, **named: Any) -> None:
        super().__init__(*words, **named)
        self.gauge = SlotGauge(SLOTS)

    def _step(self, lateness: float) -> None:
        self.gauge.look(lateness)
        super()._step(lateness)


def board_loop(
    file: Path, folder: Path, seconds: float, priority: int, renders: bool
) -> dict[str, Any]:
    """Drive the emulated board by the renderer's loop, without ROS in its process.

    `renders`: by the haptic law, with the calibration in `folder`; else `FixedWork`.
    """
    description, variant, failures = read_robot_file(file), RUNS['fd'], []
    settings = read_driver_settings(description)
    law: Any = FixedWork()
    if renders:
        os.environ['XDG_DATA_HOME'] = str(folder)
        values = {'calibration_file': '', 'use_emulator': True}
        known = read_calibration(calibration_path(values, SPACE, description.name))
        law = haptic_control(description, known, variant.rate)
    bench = LoopBench(file, folder, variant, priority, renders=False)
    try:
        endpoint, kind = derive(SPACE, settings.device), devices.load(settings.device)
        device = kind.from_section(settings.section, description, endpoint)
        gate = CommandGate(description.actuators, description.coupled_limits)
        observe = (lambda tick: law.after_write(tick.due - time.monotonic())) if renders else None
        loop = GaugedLoop(
            device, law, gate, settings, observe, failed=failures.append, priority=priority
        )
        gc.collect()
        gc.freeze()
        lock_memory()
        bench.wait(lambda: _opened(loop), START, 'board')
        loop.start()
        loop.arm()
        bench.favour_emulator(priority)
        if renders:
            wall = VirtualEnvironment(published_environment('wall', np.eye(4)))
            loop.between_ticks(lambda: law.replace_environment(wall))
        bench.hand(seconds + 2.0 * SETTLING)
        time.sleep(SETTLING)
        statistics, load = loop.thread.statistics, LoadMeter()
        before, begin = statistics.figures(), time.monotonic()
        time.sleep(seconds)
        figures, (others, stolen), armed = statistics.figures(), load.read(), loop.safety.armed
        loop.shutdown()
    finally:
        bench.close()
    if failures:
        raise failures[0]
    if not armed:
        raise NotAllowed(f'it stopped meanwhile: {loop.safety.reason}')
    return {
        'seconds': seconds,
        'priority': 0 if loop.thread.note else priority,
        'ticks': figures.ticks - before.ticks,
        'missed': figures.missed - before.missed,
        'late': figures.lateness,
        'work': figures.work,
        'others': others,
        'stolen': stolen,
        'speed': loop.gauge.since(begin, settings.period),
    }


def _opened(loop: ControlLoop) -> bool:
    try:
        loop.open()
    except DeviceError:
        return False
    return True


def device_loop(file: Path, folder: Path, seconds: float, priority: int) -> dict[str, Any]:
    """Run the whole device."""
    stamps = folder / 'slots.npy'
    stamps.unlink(missing_ok=True)
    found = measure(file, folder, RUNS['fd'], seconds, priority, probe=stamps)
    if found.note:
        raise NotAllowed(found.note)
    loop = found.values['loop']
    late, work = (
        [1e-3 * float(loop[f'{name}_{part}_ms']) for part in ('p50', 'p99', 'p99.9', 'max')]
        for name in ('lateness', 'work')
    )
    shown = ('seconds', 'priority', 'ticks', 'missed', 'others', 'stolen', 'speed')
    return {**{name: getattr(found, name) for name in shown}, 'late': late, 'work': work}


def keep_bare_loop(robot: str, store: Path, seconds: float, priority: int, anew: bool) -> None:
    """Run every loop in its turn; put the results beside those of the closed loop.

    `anew`: forget earlier turns.
    """
    runs = [] if anew else read_kept(store).get(BARE, [])
    alone, reads = law_step(robot), reading_step()
    with variant_files(robot) as write, tempfile.TemporaryDirectory() as data:
        file, folder = write(RUNS['fd']), Path(data)
        loops: dict[str, Callable[[], dict[str, Any]]] = {
            DEVICE: lambda: device_loop(file, folder, seconds, priority),  # calibrates
            LAW_ON_BOARD: lambda: board_loop(file, folder, seconds, priority, renders=True),
            BOARD: lambda: board_loop(file, folder, seconds, priority, renders=False),
            LAW: lambda: bare_loop(seconds, priority, step=alone),
            MEMORY: lambda: bare_loop(seconds, priority, step=reads),
            BARE: lambda: bare_loop(seconds, priority),
        }
        found = []
        for name, run in loops.items():
            load, date = os.getloadavg()[0], datetime.date.today().isoformat()
            found.append({'loop': name, 'load': load, 'date': date, **run()})
            print(found[-1], flush=True)
    turns = [*runs, *found]  # whole ones only
    kept = {**read_kept(store), BARE: turns, USUAL: at_usual_speed(turns)}
    text = json.dumps(kept, indent=1, sort_keys=True) + '\n'
    store.write_text(text, encoding='utf-8')


def at_usual_speed(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the slots of the device in which the computer had its usual speed."""
    speeds = [run['speed'] for run in runs if run['loop'] == DEVICE]
    slots, missed = (sum(speed[key][0] for speed in speeds) for key in ('slots', 'missed'))
    return {'ticks': slots - missed, 'missed': missed, 'date': runs[-1]['date']}


def bare_text(runs: list[dict[str, Any]]) -> str:
    """Return the section of the page: turns on a quiet computer, and on a busy one."""
    turns = [runs[i : i + len(LOOPS)] for i in range(0, len(runs), len(LOOPS))]
    text = f'## Beside bare loops at {RATE:g} Hz'
    for busy in (False, True):
        chosen = [turn for turn in turns if (max(r['load'] for r in turn) > BUSY) == busy]
        if chosen:
            text += '\n\n' + turns_text([run for turn in chosen for run in turn])
    return text


def turns_text(runs: list[dict[str, Any]]) -> str:
    """Return the table of some turns, and what it says."""
    rows, missed, shares = [], {}, {}
    for name, what in LOOPS.items():
        chosen = [run for run in runs if run['loop'] == name]
        each = [run['missed'] / (run['ticks'] + run['missed']) for run in chosen]
        missed[name] = float(np.mean(each))
        shares[name] = share = _by_speed(chosen)
        work = 1e3 * np.median([run['work'] for run in chosen], axis=0)
        late = 1e3 * np.median([run['late'] for run in chosen], axis=0)
        of_slots = (f'{s:.2%}' for s in (missed[name], min(each), max(each)))
        classes = (f'{lost:.2%} of {slots:.1%}' for slots, lost in share)
        times = (f'{x:.3f}' for x in (*work[:2], *late[1:3]))
        rows.append((what, *of_slots, *classes, *times))
    loads = [run['load'] for run in runs]
    head = ('', 'missed', 'least', 'most', 'at the usual speed', 'slow', 'very slow')
    head += ('work, median', '99 %', 'late, 99 %', '99.9 %')
    slow, very = LIMITS
    usual, lost = shares[DEVICE][0]
    verdict = 'as asked' if lost < MISSED else f'not below {MISSED:.1%}'
    return (
        f'{runs[-1]["date"]}, SCHED_FIFO '
        f'{runs[-1]["priority"]}; turns: {len(chosen)}, of {runs[-1]["seconds"]:.0f} s each '
        f'(`python -m soro_studies.haptics bare --go-on`), at load averages of {min(loads):.0f} '
        f'to {max(loads):.0f}; ms, medians of the turns.\n\n{page_table(head, rows)}\n\n'
        f'Before anything else every slot reads {YARD} pages of memory, one line of each (the '
        f'yardstick, 5 us). The computer is slow where that takes more than {slow:g} times its '
        f'median, very slow from {very:g} times on, in this slot or another within '
        f'{1e3 * NEAR:g} ms; the columns say which share of such slots was missed, and how many '
        'were such. In bursts of 20 to 50 ms whatever reads memory '
        'takes up to ten times as long: no processor time is missing then (`/proc/stat`), nothing '
        'waits and there are no page faults (`slot_probe`), and it comes as often where nothing '
        'else runs. Caches and memory go to somebody else on the host of this virtual machine. '
        'Who only looks at the clock does not notice it. A bare loop that reads as many pages as '
        f'the device touches misses {missed[MEMORY]:.2%} of its slots, the device '
        f'{missed[DEVICE]:.2%}; in the {usual:.0%} of its slots in which the computer had its '
        f'usual speed {lost:.3%}: {verdict}.'
    )


def _by_speed(runs: list[dict[str, Any]]) -> list[tuple[float, float]]:
    """Return of each class of `missed_by_speed` its share of the slots, and what was missed."""
    slots, missed = (np.sum([run['speed'][key] for run in runs], 0) for key in ('slots', 'missed'))
    return list(zip(slots / slots.sum(), missed / np.maximum(slots, 1), strict=True))
