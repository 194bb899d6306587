# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Bare loops at 1 kHz: what this computer does to a program that only waits and computes.

The thread of the drivers, which counts slots in the same way, computes by the clock as long as a
median tick of the renderer; then it runs the haptic law itself on stored readings. No wire, no
topics, no other thread.
"""

from __future__ import annotations

from collections.abc import Callable
import datetime
import gc
import json
from pathlib import Path
import time
from typing import Any

import numpy as np

from soro_driver.device import Reading, SensorReading
from soro_driver.loop.periodic import PeriodicThread
from soro_haptics.haptic_control import HapticControl
from soro_haptics.haptic_parameters import PARAMETERS
from soro_haptics.haptic_setup import make_haptics
from soro_haptics.motor_motion import MotorMotion
from soro_mechanics.haptics.flex_calibration import FlexCalibration, SensorCalibration
from soro_mechanics.haptics.virtual_environment import published_environment, VirtualEnvironment
from soro_mechanics.robot_file.catalogue import find_robot_file
from soro_mechanics.robot_file.reader import read_robot_file
from soro_studies.haptics.computer_load import LoadMeter

RATE, WORK = 1000.0, 0.5e-3  # Hz; s of a tick
BARE, LAW = 'bare', 'law'
OFFSET, GAIN, NOISE, SAMPLES = 3500.0, 2.5e-6, 4.0, 64  # counts, m per count, counts
Step = Callable[[float], None]


def bare_loop(
    seconds: float, priority: int, rate: float = RATE, work: float = WORK, step: Step | None = None
) -> dict[str, Any]:
    """Run the loop; return its ticks, missed slots, lateness and work [s].

    `step` in place of `work` [s] by the clock.
    """
    failures: list[BaseException] = []
    thread = PeriodicThread(
        'bare loop', 1.0 / rate, step or _wait_for(work), failures.append, priority
    )
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
        'date': datetime.date.today().isoformat(),
    }


def _wait_for(work: float) -> Step:
    def step(lateness: float) -> None:
        end = time.monotonic() + work
        while time.monotonic() < end:
            pass

    return step


def law_step(robot: str, rate: float = RATE) -> Step:
    """Return a tick of sensing, rendering and model at rest before a wall."""
    description = read_robot_file(find_robot_file(robot))
    strips = [s.name for s in description.structure['haptic'].strips]
    fit = (OFFSET, GAIN, (0, 8), np.array([-0.003, 0.003]), 2e-5, 0.01)
    known = FlexCalibration(robot, '', tuple(SensorCalibration(n, *fit) for n in strips))
    values = {parameter.name: parameter.default for parameter in PARAMETERS}
    haptics = make_haptics(description, known, 1.0 / rate, values)
    count = len(description.actuators)
    control = HapticControl(haptics, 'bare', MotorMotion(count, 1.0))
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


def keep_bare_loop(robot: str, store: Path, seconds: float, priority: int) -> None:
    """Run both loops and put their results beside those of the closed loop."""
    kept = json.loads(store.read_text(encoding='utf-8')) if store.is_file() else {}
    for key, step in ((BARE, None), (LAW, law_step(robot))):
        kept[key] = bare_loop(seconds, priority, step=step)
        print(kept[key])
    store.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n', encoding='utf-8')


def bare_text(key: str, run: dict[str, Any]) -> str:
    """Return the section of the page."""
    slots = run['ticks'] + run['missed']
    late, work = (', '.join(f'{1e3 * x:.3f}' for x in run[part]) for part in ('late', 'work'))
    how = f'SCHED_FIFO {run["priority"]}' if run['priority'] else 'normal scheduling'
    what = 'computes by the clock' if key == BARE else 'runs the law and its model, at rest'
    return (
        f'## {"A bare loop" if key == BARE else "The law alone"} at {RATE:g} Hz\n\n'
        f'{run["date"]}, {run["seconds"] / 60.0:.2f} minutes, {how}. Every tick {what}, and '
        f'nothing else (`python -m soro_studies.haptics bare`): {run["missed"]} of {slots} slots '
        f'missed ({run["missed"] / slots:.3%}); late by {late} ms, at work for {work} ms (median, '
        f'99 %, 99.9 %, largest). Other processes used {run["others"]:.2f} cores, the hypervisor '
        f'took {run["stolen"]:.2f}.'
    )
