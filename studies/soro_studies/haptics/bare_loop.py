# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A bare loop at 1 kHz: what this computer does to a program that only waits and computes.

It sleeps to its slot, computes for as long as the renderer's median tick, and counts slots as the
loop of the drivers does. No wire, no topics, no other thread.
"""

from __future__ import annotations

import contextlib
import datetime
import gc
import json
import math
import os
from pathlib import Path
import time
from typing import Any

import numpy as np

from soro_studies.haptics.computer_load import LoadMeter

RATE, WORK = 1000.0, 0.5e-3  # Hz; s of a tick
BARE = 'bare'


def bare_loop(
    seconds: float, priority: int, rate: float = RATE, work: float = WORK
) -> dict[str, Any]:
    """Run the loop; return its ticks, missed slots and lateness [s]."""
    asked = not priority
    if priority:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))
            asked = True
    gc.disable()
    load, total, number, late = LoadMeter(), round(seconds * rate), 0, []
    begin = time.monotonic()
    while (number := max(number, math.floor((time.monotonic() - begin) * rate)) + 1) <= total:
        slot = begin + number / rate
        time.sleep(max(0.0, slot - time.monotonic()))
        woke = time.monotonic()
        late.append(woke - slot)
        while time.monotonic() - woke < work:
            pass
    gc.enable()
    if priority:
        with contextlib.suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    others, stolen = load.read()
    parts = np.quantile(late, [0.5, 0.99, 0.999, 1.0]).tolist()
    return {
        'seconds': seconds,
        'priority': priority if asked else 0,
        'ticks': len(late),
        'missed': total - len(late),
        'late': parts,
        'work': work,
        'others': others,
        'stolen': stolen,
        'date': datetime.date.today().isoformat(),
    }


def keep_bare_loop(store: Path, seconds: float, priority: int) -> None:
    """Run the loop and put its result beside those of the closed loop."""
    kept = json.loads(store.read_text(encoding='utf-8')) if store.is_file() else {}
    kept[BARE] = bare_loop(seconds, priority)
    print(kept[BARE])
    store.write_text(json.dumps(kept, indent=1, sort_keys=True) + '\n', encoding='utf-8')


def bare_text(run: dict[str, Any]) -> str:
    """Return the section of the page."""
    slots = run['ticks'] + run['missed']
    late = ', '.join(f'{1e3 * x:.3f}' for x in run['late'])
    how = f'SCHED_FIFO {run["priority"]}' if run['priority'] else 'normal scheduling'
    return (
        f'## A bare loop at {RATE:g} Hz\n\n'
        f'{run["date"]}, {run["seconds"] / 60.0:g} minutes, {how}, '
        f'{1e3 * run["work"]:g} ms of computation in every tick and nothing else '
        f'(`python -m soro_studies.haptics bare`): {run["missed"]} of {slots} slots missed '
        f'({run["missed"] / slots:.3%}); late by {late} ms (median, 99 %, 99.9 %, largest). Other '
        f'processes used {run["others"]:.2f} cores, the hypervisor took {run["stolen"]:.2f}.'
    )
