# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Which drifts of a flex sensor show beside a hand, and what they do before they are noticed.

Six readings, five unknown forces: a drift d of sensor i leaves n_i d that no force explains, n
being the one direction that forces do not reach. The rest of it is read as a force.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from soro_haptics.sensor_guard import PATIENT
from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.device import HapticDevice
from soro_mechanics.haptics.flex_calibration import FlexCalibration
from soro_mechanics.haptics.hand_impedance import HandImpedance, LIGHT_GRIP, NO_HAND
from soro_mechanics.haptics.motor_leash import CREEP
from soro_mechanics.haptics.sensing import Sensing, sensing_setup
from soro_mechanics.haptics.sensor_watch import SensorWatch
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.free_space import DEVICES as FREE_DEVICES
from soro_studies.haptics.free_space import free_space, WAYS
from soro_studies.haptics.held import DEFAULTS, limits_of, smooth
from soro_studies.haptics.network_bench import NetworkBench
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.virtual_bench import (
    bench_signals,
    BenchSetup,
    calibrated_report,
    DEVIATION,
    FORCES,
)
from soro_studies.json_rows import json_rows

POSTURES, SPREAD = 100, 2.0 / 3.0  # of the motors, evenly within this part of their travel
SEEN = 2.0 * math.sqrt(6.0)  # deviations of the residual at which the guard gives up
PERIOD = 2e-3  # s
DEVICES = {
    'as its model': None,
    'as built, strips follow': PlantErrors(play=0.0),
    'as built': PlantErrors(),
}
CASES: dict[str, tuple[str, HandImpedance]] = {
    'let go of': ('free', NO_HAND),
    'held still': ('free', LIGHT_GRIP),
    'led about': ('free', LIGHT_GRIP),
    'pressed against a hold': ('hold', LIGHT_GRIP),
}
START, LARGEST = 0.5, 1.5e-3  # s, m: of a drift
CAUGHT = 'caught'
# m/s of elongation; 5 um/s are 0.1 deg/s of bend at a strip 3 mm from the neutral fibre
DRIFTS = {'step': math.inf, '1 mm/s': 1e-3, '0.1 mm/s': 1e-4, '5 um/s': 5e-6, CAUGHT: 0.0}
SECONDS = {'step': 1.0, '1 mm/s': 2.0, '0.1 mm/s': 8.0, '5 um/s': 40.0, CAUGHT: 4.0}
AVERAGE = 0.05  # s, over which a force is looked at
FEW = 'flex_1', 'flex_5'  # of either side, for what takes long


@dataclass(frozen=True)
class Drift:
    """One sensor that drifts; places and forces are differences to the same run without.

    Attributes
    ----------
    device, case, drift, sensor : str
    phantom, moment : float
        Largest force and moment that is sensed and not there, until it is noticed [N, N m].
    felt : float
        Largest change of the hand's true force until then [N].
    moved : float
        Of the handle until then [m].
    ends : float
        Of the handle, a second later or at the end [m].
    after : float, optional
        Until it is noticed [s]; None: never.
    reason : str
        What the guard says.
    failures : int
    leashed : bool
        Whether the guard could not see every drift in time, and so the motors were on a leash.
    """

    device: str
    case: str
    drift: str
    sensor: str
    phantom: float
    moment: float
    felt: float
    moved: float
    ends: float
    after: float | None
    reason: str
    failures: int
    leashed: bool


def observability(robot: Robot, calibration: FlexCalibration) -> dict[str, Any]:
    """Return the share of every sensor in n over the postures, and what it means."""
    device, random = HapticDevice(robot, calibration), np.random.default_rng(3)
    deviation = np.array([fit.deviation for fit in calibration.sensors])
    shares, seen, force, moment = [], [], [], []
    for k in range(POSTURES):
        angle = random.uniform(-1.0, 1.0, len(robot.limits)) * SPREAD * (k > 0)
        device.restart(angle * np.abs(robot.limits).min(axis=1))
        setup = sensing_setup(device.ports, DEVIATION, deviation, FORCES)
        drift, phantom = SensorWatch(Sensing(device.ports, setup), PERIOD, PATIENT).unseen()
        seen.append(drift)
        shares.append(SEEN * deviation / drift)
        force.append(np.linalg.norm(phantom[:3], axis=0))
        moment.append(np.linalg.norm(phantom[3:], axis=0))
    return {
        'deviation': deviation.tolist(),
        'least_share': np.min(shares, axis=0).tolist(),
        'mean_share': np.mean(shares, axis=0).tolist(),
        'seen': np.max(seen, axis=0).tolist(),
        'force': np.max(force, axis=0).tolist(),
        'moment': np.max(moment, axis=0).tolist(),
    }


def bench(robot: Robot, device: str, case: str) -> NetworkBench:
    """Return a bench with everything that the renderer has."""
    signals, calibration = bench_signals(6), _calibration(robot, device)
    environment, grip = CASES[case]
    setup = BenchSetup(errors=DEVICES[device], energy=DEFAULTS['energy'])
    rig = NetworkBench(robot, calibration, signals, (), setup, grip)
    rig.rest_force = DEFAULTS['rest_force']
    limits, law = limits_of(rig, DEFAULTS['expected_hand']), rig.loop.law
    law.environment, _ = limits.environment(published_environment(environment, np.eye(4)))
    rig.guarded(calibration)
    return rig


def hand(case: str, time: float) -> Array:
    """Return where the hand wants to be, shape (5,) [m, rad]."""
    place = np.zeros(5)
    if case == 'led about':
        turns = 2.0 * math.pi * time * np.array([0.5, 0.3, 0.4])
        place[[0, 2, 3]] = np.array([0.01, 0.008, 0.1]) * np.sin(turns)
    elif case == 'pressed against a hold':
        place[[0, 2, 3]] = smooth(min(1.0, time / 0.2)) * np.array([0.008, 0.008, 0.1])
    return place


def measure(robot: Robot, device: str, case: str, drift: str, sensor: str) -> Drift:
    """Let one sensor drift."""
    rig, seconds = bench(robot, device, case), START + SECONDS[drift]
    i = [strip.name for strip in rig.loop.device.spec.strips].index(sensor)
    rows, noticed, held = [], None, 0.0
    leashed, averages = rig.guard.unchecked, Averages(rig)
    for k in range(round(seconds / rig.dt)):
        time = k * rig.dt - START
        if drift == CAUGHT:
            now = rig.moving.elongation()[i]
            held = now if time < 0.0 else held
            rig.slip[i] = held - now
        elif time >= 0.0:
            rig.slip[i] = LARGEST if drift == 'step' else min(LARGEST, DRIFTS[drift] * time)
        rig.step(hand(case, k * rig.dt))
        # what is doubtful is neither published nor rendered
        rows.append(averages.row(rows[-1][:5] if rig.guard.doubtful else None))
        if noticed is None and rig.guard.reason:
            noticed = k
    alike = np.array(rows)
    alike = (alike - _reference(robot, device, case, len(rows)))[round(START / rig.dt) :]
    last = None if noticed is None else noticed - round(START / rig.dt)
    until = len(alike) if last is None else last
    later = len(alike) if last is None else min(len(alike), last + round(1.0 / rig.dt))
    size = lambda part, n: float(np.linalg.norm(alike[:n, part], axis=1).max(initial=0.0))  # noqa: E731
    return Drift(
        device, case, drift, sensor,
        size(slice(0, 3), until), size(slice(3, 5), until), size(slice(10, 13), until),
        size(slice(5, 8), until), size(slice(5, 8), later),
        None if last is None else last * rig.dt, rig.guard.reason, rig.failures, leashed,
    )  # fmt: skip


@cache
def _calibration(robot: Robot, device: str) -> FlexCalibration:
    return calibrated_report(robot, bench_signals(6), errors=DEVICES[device]).calibration()


class Averages:
    """Of what is compared between runs, shape (13,): error of the force, place, force felt."""

    def __init__(self, rig: NetworkBench) -> None:
        self._rig, self._share = rig, rig.dt / (rig.dt + AVERAGE)
        self._error, self._felt = np.zeros(5), np.zeros(3)

    def row(self, error: Array | None = None) -> Array:
        """Take one tick; `error`: what it is instead."""
        rig = self._rig
        self._error += self._share * (rig.sensed_force - rig.hand_force - self._error)
        self._felt += self._share * (rig.hand_force[:3] - self._felt)
        if error is not None:
            self._error[:] = error
        return np.concatenate([self._error, rig.x, self._felt])


_still: dict[tuple[str, str], tuple[NetworkBench, Averages, list[Array]]] = {}


def _reference(robot: Robot, device: str, case: str, count: int) -> Array:
    """Return errors and places of the run without a drift, continued as far as needed."""
    key = device, case
    if key not in _still:
        rig = bench(robot, *key)
        _still[key] = rig, Averages(rig), []
    rig, averages, rows = _still[key]
    while len(rows) < count:
        rig.step(hand(case, len(rows) * rig.dt))
        rows.append(averages.row())
        if rig.guard.reason:
            raise RuntimeError(f'{key}: given up without a drift: {rig.guard.reason}')
    return np.array(rows[:count])


def plan(names: tuple[str, ...]) -> Iterator[tuple[str, str, str, str]]:
    """Yield device, case, drift and sensor of what is measured; what tells most first."""
    first, *_ = DEVICES
    for case in ('let go of', 'held still'):
        yield from ((first, case, '1 mm/s', name) for name in names)
    for device in reversed(DEVICES):
        yield from ((device, case, '1 mm/s', name) for case in CASES for name in FEW)
        yield from ((device, 'led about', CAUGHT, name) for name in FEW)
        yield from ((device, case, 'step', FEW[0]) for case in CASES)
    for device in DEVICES:
        yield from ((device, case, '0.1 mm/s', FEW[1]) for case in CASES)
    yield first, 'held still', '5 um/s', FEW[0]


def free_calibration(robot: Robot, device: str) -> FlexCalibration:
    """Return the calibration of a device of the study of free space."""
    return calibrated_report(robot, bench_signals(6), errors=FREE_DEVICES[device]).calibration()


def measure_drifts(robot: Robot, store: Path, anew: bool) -> None:
    """Compute what is observable and measure the plan; `anew`: forget what is stored."""
    kept = {} if anew or not store.is_file() else json.loads(store.read_text(encoding='utf-8'))
    seen = kept.get('observability') or {
        device: observability(robot, _calibration(robot, device)) for device in DEVICES
    }
    price = kept.get('free') or [
        asdict(
            free_space(robot, free_calibration(robot, name), bench_signals(6), name, WAYS[0], 1.0)
        )
        for name in FREE_DEVICES
    ]
    rows = kept.get('drifts', [])
    known = {(r['device'], r['case'], r['drift'], r['sensor']) for r in rows}
    names = tuple(strip.name for strip in robot.description.structure['haptic'].strips)
    for cell in plan(names):
        if cell in known:
            continue
        known.add(cell)
        rows.append(vars(measure(robot, *cell)))
        print(rows[-1], flush=True)
        head = f'"observability": {json.dumps(seen)},\n"free": {json.dumps(price)}'
        text = f'{{{head},\n"drifts": {json_rows(rows)}}}\n'
        store.write_text(text, encoding='utf-8')


def write_drift_page(name: str, store: Path, page: Path) -> None:
    """Write the page of what the store has."""
    kept = json.loads(store.read_text(encoding='utf-8'))
    seen = [
        (
            device,
            f'{min(o["least_share"]):.2f} to {max(o["mean_share"]):.2f}',
            f'{1e6 * max(o["deviation"]):.0f} um',
            f'{1e6 * max(o["seen"]):.0f} um',
            f'{max(o["force"]):.2f} N',
            f'{1e3 * max(o["moment"]):.0f} mN m',
        )
        for device, o in kept['observability'].items()
    ]
    drifts = [Drift(**row) for row in kept['drifts']]
    rows = []
    for device, case, drift in dict.fromkeys((d.device, d.case, d.drift) for d in drifts):
        part = [d for d in drifts if (d.device, d.case, d.drift) == (device, case, drift)]
        times = [d.after for d in part if d.after is not None]
        noticed = f'{len(times)} of {len(part)}'
        noticed += f', at most {max(times):.2g} s' if times else ''
        worst = max(d.phantom for d in part), max(d.moment for d in part)
        moved, ends = max(d.moved for d in part), max(d.ends for d in part)
        force = f'{worst[0]:.2f} N, {1e3 * worst[1]:.0f} mN m'
        felt = f'{max(d.felt for d in part):.2f} N{", leashed" * any(d.leashed for d in part)}'
        moves = f'{1e3 * moved:.1f}', f'{1e3 * ends:.1f}'
        rows.append((device, case, drift, noticed, force, felt, *moves))
    price = [
        (f['device'], f'{f["felt"] / f["natural"]:.2f}', f'{f["mean"]:.2f} N')
        for f in kept['free']
    ]
    late = sum(not d.leashed and (d.phantom > 1.0 or d.moved > 5e-3) for d in drifts)
    leashed = [d for d in drifts if d.leashed]
    most = max(d.felt for d in leashed), 1e3 * max(d.moved for d in leashed)
    heads = 'device', 'handle', 'drift', 'noticed', 'sensed', 'felt', 'moved, mm', 'ends, mm'
    page.write_text(
        f'# {name}: sensors that drift\n\n'
        '<!-- Generated by `python -m soro_studies.haptics drift`; do not edit. -->\n\n'
        '## Which drifts show beside a hand\n\n'
        'Six readings, five unknown forces: a drift d of sensor i leaves n_i d that no force of a '
        f'hand explains. Over {POSTURES} postures (motors within two thirds of their travel) no '
        'n_i comes near zero: **every drift of one sensor shows**, in every posture. *Seen*: the '
        f'largest drift that the guard does not yet contradict ({SEEN:.1f} deviations of the '
        'residual; strips that rest within their dead band conceal more). *Phantom*: force and '
        'moment that is taken for a hand by then.\n\n'
        f'{page_table(("device", "n_i", "deviation", "seen", "phantom", "and"), seen)}\n\n'
        'Nothing shows a second drift, or one beside a lost sensor: five readings explain any; '
        'strips that slide by 0.21 mm conceal 5 to 6 N. Then the motors are **on a leash**: they '
        'add at most 1 N and 50 mN m to what the hand feels of the legs, more only at '
        f'{CREEP:g} rad/s, some 2 mm/s of the handle.'
        '\n\n## What a drift does before it is noticed\n\n'
        'The moving network of the legs with the renderer at defaults, 500 Hz. After '
        f'{START:g} s one sensor drifts to {1e3 * LARGEST:g} mm, or is caught where it is. Worst '
        'of the sensors, as differences to the same run without: force and moment sensed and not '
        'there until noticed, what of it the hand feels, where the handle went until then, and in '
        'the second after (a handle that pressed on an object leaves it: nothing holds it any '
        f'more). Of {len(drifts) - len(leashed)} runs without a leash {late} pass 1 N sensed or '
        f'5 mm; in {len(leashed)} with one the hand feels at most {most[0]:.2f} N, and the handle '
        f'moves by {most[1]:.1f} mm. Every run: [{store.name}]({store.name}).'
        f'\n\n{page_table(heads, rows)}\n\n'
        'A handle that nobody holds stays: one strip alone is no hand. The price is a hand '
        'that is felt later, most where strips slide: several have to leave their dead bands. '
        f'Across the handle, as in [free space]({name}_free.md), now:\n\n'
        f'{page_table(("device", "share of the natural stiffness", "mean force"), price)}\n',
        encoding='utf-8',
    )
