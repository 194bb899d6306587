# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Whether sensed forces are as good as they say, on devices as built, weighed once.

Every device is another one: legs, attachments, zeros of the motors and strips drawn anew
(`as_built`), its modulus within 20 % of the robot file's. It is calibrated, a known weight is hung
on, and then a hand presses along each of the five directions, and holds: against handle and legs
with inertia and real motors, and beside that at rest, against ideal motors.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import product
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.device import HapticDevice, softened, turns_about
from soro_mechanics.haptics.flex_calibration import (
    calibrate,
    CalibrationReport,
    FlexCalibration,
    FlexRecording,
)
from soro_mechanics.haptics.known_weight import weigh
from soro_mechanics.robot import Robot
from soro_studies.haptics.as_built import PlantErrors
from soro_studies.haptics.held import smooth
from soro_studies.haptics.moving_bench import MovingBench, REAL_MOTOR
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.virtual_bench import (
    bench_signals,
    BenchSetup,
    extreme_trajectory,
    make_plant,
    STEP,
    VirtualBench,
)
from soro_studies.json_rows import store_rows

SEEDS = {False: 200, True: 200}  # devices whose strips follow at once, and slide as built
MOVING, IDEAL = 'moving', 'ideal'  # benches
DIRECTIONS = ('x', 'y', 'z', 'turn 1', 'turn 2')
E_WITHIN = 0.2
WEIGHT = np.array([0.0, 0.0, -1.962, 0.0, 0.0, 0.0])  # N: 200 g
CORNERS, LOADED_CORNERS = 16, 8  # of the motors' 64 extremes, without and with the weight
AMPLITUDE, SPEED, PERIOD = 0.7, 0.9, 0.1  # of the travel, rad/s, s
HELD = 0.35  # of the motors' travel, within which they are held meanwhile
LARGEST = np.array([3.0, 3.0, 3.0, 0.15, 0.15])  # N, N m: a third of it at least
RATE, PRESSING = 200.0, 80  # Hz; ticks that a hand presses, and then holds
PART = 5e-4  # s, of the integration of what moves
SHARE, ABSOLUTE = 0.05, np.array([0.15, 0.15, 0.15, 0.0075, 0.0075])  # N, N m: 50 mm of lever
COVERED = 1.96  # standard deviations: 95 %
DRAWS = 2000  # of as many devices as there are, for the doubt of what they have on average


@dataclass(frozen=True)
class ForceSeed:
    """One device.

    Attributes
    ----------
    seed : int
    slides : bool
        Whether the strips slide, as they do on a device as built.
    modulus : float
        Of the device over that of the robot file.
    found, deviation : float
        What the weight showed, and how well it says so; 0 where the calibration was refused.
    pressed, pressing, holding : list of float
        Per direction: the force of the hand [N, N m]; the error of the sensed one at the end of
        pressing, and after holding.
    stated_pressing, stated_holding : list of float
        Standard deviations that sensing stated for those.
    refused : str
        Why; empty where it was not.
    bench : str
        `MOVING`: handle, legs and motors have inertia, motors friction and a limit of torque;
        `IDEAL`: legs in balance at any time, motors that settle as published.
    """

    seed: int
    slides: bool
    modulus: float
    found: float
    deviation: float
    pressed: list[float]
    pressing: list[float]
    holding: list[float]
    stated_pressing: list[float]
    stated_holding: list[float]
    refused: str = ''
    bench: str = IDEAL


def measure(robot: Robot, seed: int, slides: bool, bench: str) -> ForceSeed:
    """Build, calibrate, weigh and press one device."""
    random = np.random.default_rng(seed)
    modulus = float(random.uniform(1.0 - E_WITHIN, 1.0 + E_WITHIN))
    errors = PlantErrors(seed=seed) if slides else PlantErrors(seed=seed, play=0.0)
    try:
        calibration = weighed_calibration(robot, errors, modulus, random)
    except SoroError as error:
        return ForceSeed(seed, slides, modulus, 0.0, 0.0, [], [], [], [], [], str(error), bench)
    pressed = LARGEST * random.uniform(1.0 / 3.0, 1.0, 5) * random.choice([-1.0, 1.0], 5)
    aside = HELD * random.uniform(-1.0, 1.0, len(robot.actuators)) * robot.limits[:, 1]
    rows = _press(robot, calibration, errors, modulus, pressed, aside, bench)
    pressing, holding, stated_pressing, stated_holding = np.array(rows).T.tolist()
    return ForceSeed(
        seed,
        slides,
        modulus,
        calibration.material,
        calibration.material_deviation,
        pressed.tolist(),
        pressing,
        holding,
        stated_pressing,
        stated_holding,
        bench=bench,
    )


def weighed_calibration(
    robot: Robot, errors: PlantErrors | None, modulus: float, random: np.random.Generator
) -> FlexCalibration:
    """Calibrate a device of some modulus, as built or as its model, then weigh it."""
    plant, zero, play = make_plant(robot, errors, modulus)
    signals, none = bench_signals(6), np.zeros(6)

    def record(corners: int, wrench: Array) -> Callable[[float], FlexRecording]:
        limits = AMPLITUDE * robot.limits
        path = extreme_trajectory(limits[:, 0], limits[:, 1], SPEED, PERIOD, random)
        path, counts = path[: len(path) * corners // 64], []
        plant.restart(none)
        for angle in path:
            _follow(plant, angle + zero, wrench)
            slid = play.follow(plant.ports.sensor.copy())
            counts.append([s.counts(e, 0.0, random) for s, e in zip(signals, slid, strict=True)])
        return lambda scale: _solved(robot, scale, path, np.array(counts), wrench)

    def fit(recording: FlexRecording) -> CalibrationReport:
        return calibrate(robot.name, recording, plant.spec.distance)

    free, loaded = record(CORNERS, none), record(LOADED_CORNERS, WEIGHT)
    report, scale, deviation = weigh(free, loaded, fit)
    return replace(report.calibration(), material=scale, material_deviation=deviation)


def _solved(
    robot: Robot, scale: float, path: Array, counts: Array, wrench: Array
) -> FlexRecording:
    """Solve the model of a modulus along a path."""
    model = HapticDevice(softened(robot, scale))
    names = tuple(strip.name for strip in model.spec.strips)
    frames: list[list[tuple[Array, Array, Array]]] = [[] for _ in names]
    for angle in path:
        _follow(model, STEP * np.round(angle / STEP), wrench)
        for i, name in enumerate(names):
            frames[i].append(model.node_frames(name))
    rotations = tuple(turns_about(*map(np.array, zip(*f, strict=True))) for f in frames)
    return FlexRecording(names, rotations, counts)


def _follow(device: HapticDevice, angle: Array, wrench: Array) -> None:
    for _ in range(12):
        if device.update(angle, device.ports.axes.T @ wrench) is Code.NONE:
            return
    raise SoroError(f'no pose of the handle with the motors at {angle} rad')


def _press(
    robot: Robot,
    calibration: FlexCalibration,
    errors: PlantErrors,
    modulus: float,
    pressed: Array,
    aside: Array,
    bench: str,
) -> list[tuple[float, float, float, float]]:
    """Press along one direction after the other, the motors held at `aside` [rad].

    Returns, per direction, the errors at the end of pressing and of holding, and the deviations
    stated for them.
    """
    model, moves = softened(robot, calibration.material), bench == MOVING
    setup = BenchSetup(
        rate=RATE,
        grip=np.zeros((5, 5)),
        seed=errors.seed,
        errors=errors,
        material=modulus / calibration.material,
        step=PART,
        motor=REAL_MOTOR if moves else None,
    )
    kind = MovingBench if moves else VirtualBench
    rig = kind(model, calibration, bench_signals(6), (), setup)
    sensing, rig.held = rig.loop.law.sensing, True
    for tick in range(2 * PRESSING):
        rig.held_at = min(1.0, (tick + 1) / PRESSING) * aside
        rig.step(np.zeros(5))
    rows = []
    for direction in range(5):
        found: list[tuple[float, float]] = []
        for tick in range(3 * PRESSING):
            push = np.zeros(5)
            share = min(1.0, (tick + 1) / PRESSING, 3.0 - (tick + 1) / PRESSING)
            push[direction] = pressed[direction] * (smooth(share) if moves else share)
            rig.step(np.zeros(5), push)
            if tick + 1 in (PRESSING, 2 * PRESSING):
                axis = sensing.ports.axes[:, direction]
                sensed = float(axis @ sensing.wrench)
                variance = float(axis @ sensing.wrench_covariance @ axis)
                stated = np.hypot(np.sqrt(variance), calibration.material_deviation * sensed)
                true = push[direction] if moves else rig.plant.ports.force[direction]
                found.append((sensed - true, float(stated)))
        rows.append((found[0][0], found[1][0], found[0][1], found[1][1]))
    return rows


def summary(seeds: list[ForceSeed]) -> dict[str, Any]:
    """Return shares of all devices that were not refused, per direction, and of the moduli."""
    good = [s for s in seeds if not s.refused]
    pressed = np.array([s.pressed for s in good])
    result: dict[str, Any] = {'devices': len(seeds), 'refused': len(seeds) - len(good)}
    for when in ('pressing', 'holding'):
        error = np.abs([getattr(s, when) for s in good])
        stated = np.array([getattr(s, f'stated_{when}') for s in good])
        within = error <= np.maximum(SHARE * np.abs(pressed), ABSOLUTE)
        result[when] = {
            'within': within.mean(axis=0).tolist(),
            'covered': (error <= COVERED * stated).mean(axis=0).tolist(),
            'covered_between': between((error <= COVERED * stated).mean(axis=1)),
            'p95': np.quantile(error, 0.95, axis=0).tolist(),
        }
    found = np.array([s.found / s.modulus - 1.0 for s in good])
    stated = np.array([s.deviation for s in good])
    # Of the error of the modulus, how much is one of the force: slopes of least squares.
    relative = np.array([s.pressing for s in good]) / pressed
    result['reaches'] = (found @ relative / (found @ found)).tolist()
    every = np.array([s.pressing + s.holding for s in good])
    of = np.array([s.stated_pressing + s.stated_holding for s in good])
    result['error_of_stated'] = (
        np.sqrt(np.mean(every**2, axis=0) / np.mean(of**2, axis=0)).reshape(2, 5).max(axis=0)
    ).tolist()
    result['modulus_of_stated'] = float(np.sqrt(np.mean(found**2) / np.mean(stated**2)))
    result['modulus_rms'] = float(np.sqrt(np.mean(found**2)))
    result['modulus_covered'] = float((np.abs(found) <= COVERED * stated).mean())
    return result


def between(shares: Array) -> tuple[float, float]:
    """Return the interval of 95 % of the mean of what whole devices have, by drawing them anew.

    The five directions of a device are no five devices: they share its legs, zeros and strips.
    """
    random = np.random.default_rng(1)
    drawn = random.choice(shares, (DRAWS, len(shares))).mean(axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    return float(low), float(high)


def measure_forces(robot: Robot, store: Path) -> None:
    """Measure what the store does not have, and keep it seed by seed."""
    have = read_forces(store)
    known = {(s.bench, s.slides, s.seed) for s in have}
    for slides, bench in product(SEEDS, (MOVING, IDEAL)):
        for seed in range(SEEDS[slides]):
            if (bench, slides, seed) not in known:
                have.append(measure(robot, seed, slides, bench))
                store_rows(store, (_short(asdict(s)) for s in have))


def _short(value: Any) -> Any:
    """Return a value of a row with five digits."""
    if isinstance(value, dict):
        return {key: _short(v) for key, v in value.items()}
    if isinstance(value, list):
        return [_short(v) for v in value]
    return float(f'{value:.5g}') if isinstance(value, float) else value


def read_forces(store: Path) -> list[ForceSeed]:
    """Return what was measured."""
    return [ForceSeed(**row) for row in json.loads(store.read_text())] if store.is_file() else []


def write_force_page(store: Path, page: Path) -> None:
    """Write the page of what the store has."""
    seeds = read_forces(store)
    parts = []
    wide = summary([s for s in seeds if not s.slides and s.bench == IDEAL])
    reaches, of = wide['reaches'], wide['error_of_stated']
    moving = summary([s for s in seeds if s.slides and s.bench == MOVING])
    across = moving['pressing']['covered'][:2]
    for slides, title in ((False, 'Strips that follow at once'), (True, 'Strips that slide')):
        benches = {
            bench: summary(chosen)
            for bench in (MOVING, IDEAL)
            if (chosen := [s for s in seeds if s.slides is slides and s.bench == bench])
        }
        told = '; '.join(
            f'*{bench}*: {found["devices"]} devices, {found["refused"]} calibrations refused, '
            f'covered {_told(found, "pressing")} pressing and {_told(found, "holding")} holding'
            for bench, found in benches.items()
        )
        parts.append(
            f'## {title}\n\n{_table(benches, "pressing")}\n\n{_table(benches, "holding")}\n\n'
            f'All directions together: {told}. The weight shows the modulus to '
            f'{benches[MOVING]["modulus_rms"]:.1%} (root mean square); its stated 95 % interval '
            f'covers {benches[MOVING]["modulus_covered"]:.1%}.\n'
        )
    sections = '\n'.join(parts)
    page.write_text(
        '# haptic_5dof: sensed forces, on devices as built\n\n'
        '<!-- Generated by `python -m soro_studies.haptics force`; do not edit. -->\n\n'
        'Devices drawn anew, each with its own legs, attachments and zeros of the motors ([as '
        f'built](haptic_5dof_rendering.md#a-device-as-built)), its modulus within {E_WITHIN:.0%} '
        f'of the robot file. Each is calibrated ({CORNERS} extremes), then weighed with '
        f'{-1e3 * WEIGHT[2] / 9.81:.0f} g ({LOADED_CORNERS} extremes), at rest: the motors bear '
        'up to 0.16 of their 0.3 N m there. A hand presses a third to all of 3 N or 0.15 N m '
        'along one direction after the other in 0.4 s, motors held anywhere within a third of '
        'their travel, holds for as long, and lets go. *Moving*: handle and legs with inertia, '
        '[real motors](haptic_5dof_dynamic.md) that hold as well as their loops, friction and '
        'torque allow; the error is that of the force of the hand. *Ideal*: legs in balance at '
        'any time, motors that settle as published. *Within*: the error is below 5 % or 0.15 N '
        '(7.5 mN m). *Covered*: by the stated 95 % interval. In brackets: between what the share '
        'of all such devices is, with 95 % (of a direction by Wilson; of all together by drawing '
        'whole devices anew, whose directions are not independent). Every device: '
        f'[{store.name}]({store.name}).\n\n{sections}\n'
        'Where strips follow, intervals are wider than they had to be: errors are '
        f'{min(of):.2f} to {max(of):.2f} of the stated deviation (root mean squares; largest of '
        'pressing and holding), least along the handle. That is the part of the modulus. Its own '
        f'deviation is right (errors are {wide["modulus_of_stated"]:.2f} of it), but counts in '
        'full for every force, and what the weight takes for modulus is the shape of the legs '
        f'too, which it weighs with them: {reaches[2]:.2f} of the error of the modulus reaches '
        'a force along the handle, where the weight hung, '
        f'{min(reaches[:2] + reaches[3:]):.2f} to {max(reaches[:2] + reaches[3:]):.2f} any other. '
        'It stays so by choice: a device that hangs otherwise is weighed along another '
        'direction, and without that part the interval along the handle would be too narrow.\n\n'
        'A strip that moves tells where its leg is; one that rests conceals up to its whole dead '
        'band, 0.42 mm: 2.0 N across the handle, 1.4 N along it, 0.14 N m. No filter finds what '
        'the strips do not show; the stated interval says so, but is too narrow while a hand '
        f'presses across the handle: it covers {min(across):.1%} there.\n',
        encoding='utf-8',
    )


def _table(benches: dict[str, dict[str, Any]], when: str) -> str:
    rows = []
    for k, name in enumerate(DIRECTIONS):
        unit, scale = ('N', 1.0) if k < 3 else ('mN m', 1e3)
        row = [name]
        for found in benches.values():
            part = found[when]
            worst = f'{scale * part["p95"][k]:.3g} {unit}'
            shares = (_share(part[key][k], found) for key in ('within', 'covered'))
            row += [next(shares), worst, next(shares)]
        rows.append(tuple(row))
    of = ('within', '95 % below', 'covered')
    return page_table((when, *(f'{bench}: {w}' for bench in benches for w in of)), rows)


def _share(share: float, found: dict[str, Any]) -> str:
    """Say a share of devices, and between what it could be."""
    count = found['devices'] - found['refused']
    known = binomtest(round(share * count), count).proportion_ci(method='wilson')
    return f'{share:.1%} ({100.0 * known.low:.0f} to {100.0 * known.high:.0f})'


def _told(found: dict[str, Any], when: str) -> str:
    low, high = found[when]['covered_between']
    return f'{np.mean(found[when]["covered"]):.1%} ({100.0 * low:.1f} to {100.0 * high:.1f})'
