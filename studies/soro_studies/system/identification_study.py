# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Does `soro identify` find what is known? Robots with drawn numbers, noise, many seeds.

    python -m soro_studies.system.identification_study --seeds 20 --write FILE

FILE is docs/evidence/recording.md, the page whose section is renewed.

A seed draws factors on the robot file's numbers, offsets where they are fitted too, postures and
noise. It counts as recovered when every true number and every offset lies in its interval and
held-out postures are met better than before. Nothing runs in real time: results are the same on
every computer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
import sys
import time

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.identification.fit import Identification, identify
from soro_mechanics.identification.offsets import Offsets
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_recording.identify_postures import postures
from soro_studies.mechanics.identification_study import (
    draw,
    POSITION_NOISE,
    space_of,
    SPREAD,
    Study,
    TURN_NOISE,
)
from soro_studies.system.emulated_recording import record
from soro_studies.system.measured_section import keep_values, machine, replace_section

OFFSET = 0.2, 0.5  # of the offsets' scales, a tenth of the range or of the length each
HYSTERESIS = 0.0  # no robot file has a number for it, so there is none to be found
SPEED = 10e-3  # m/s, what the verb takes
WANTED = 0.95  # of the seeds

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A robot, how far its actuators are driven, and what is fitted.

    Attributes
    ----------
    reach : float
        Share of the actuators' range.
    numbers : bool
        The default ones of the robot file.
    sensors, marker : bool
        Offsets of all sensors, of the marker.
    """

    robot: str
    model: str
    reach: float
    numbers: bool = True
    sensors: bool = False
    marker: bool = False

    @property
    def fitted(self) -> str:
        """What is fitted, in words."""
        names = {'numbers': self.numbers, 'sensors': self.sensors, 'marker': self.marker}
        return ', '.join(name for name, fitted in names.items() if fitted)


ROBOTS = (
    ('stiff_flop', 'ncm', 0.6),
    ('soft_parallel', 'ancf', 0.8),
    ('spatial_cc', 'constant_curvature', 0.8),
)
CASES = tuple(Case(*robot) for robot in ROBOTS)
# Sensors and gains are not both told, see docs/recording.md.
OFFSET_CASES = (
    *(Case(*robot, numbers=False, sensors=True, marker=True) for robot in ROBOTS),
    Case(*ROBOTS[0], marker=True),
    Case(*ROBOTS[2], marker=True),
)


@dataclass(frozen=True)
class Trial:
    """One seed: what was true, found and how wide the intervals are.

    Attributes
    ----------
    width, error : dict
        Half of the interval and distance from the truth, by name: of a number its share, of an
        offset the share of range or length.
    """

    recovered: bool
    width: dict[str, float]
    error: dict[str, float]


def of_recording(case: Case, seed: int) -> Trial:
    """Record an emulated robot of known numbers, identify it from the recording."""
    space = space_of(case.robot, case.model)
    if not case.numbers:
        space = ParameterSpace(space.description, [])
    body = Robot(space.description, case.model)
    offsets = None
    if case.sensors or case.marker:
        names = [a.name for a in body.actuators] if case.sensors else []
        offsets = Offsets(body, names, case.marker)
    random = np.random.default_rng((1000 if offsets is None else 2000) + seed)
    truth = 1.0 + random.uniform(-SPREAD, SPREAD, len(space.names))
    known = np.empty(0)
    if offsets is not None:
        known = offsets.scales * random.uniform(*OFFSET, len(offsets))
    sensors = 0 if offsets is None else len(offsets.indices)
    run, tip = record(
        space,
        case.model,
        truth,
        seed,
        case.reach,
        hysteresis=HYSTERESIS,
        zeros=known[:sensors],
        marker=known[sensors:] if case.marker else (0.0, 0.0, 0.0),
    )
    found = identify(space, case.model, postures(run, tip, SPEED), offsets=offsets, seed=seed)
    return _trial(found, truth, known, np.empty(0) if offsets is None else 10.0 * offsets.scales)


def of_postures(case: Case, seed: int) -> Trial:
    """Identify a robot of known numbers from noisy postures, without a recording between."""
    drawn = draw(Study(case.robot, case.model, case.reach), seed)
    return _trial(drawn.found, drawn.truth, np.empty(0), np.empty(0))


def _trial(found: Identification, truth: Array, known: Array, whole: Array) -> Trial:
    width = dict(zip(found.names, found.high - found.factors, strict=True))
    error = dict(zip(found.names, found.factors - truth, strict=True))
    recovered = found.better and bool(((found.low <= truth) & (truth <= found.high)).all())
    for offset, true, unit in zip(found.offsets, known, whole, strict=True):
        width[offset.name] = (offset.high - offset.value) / unit
        error[offset.name] = (offset.value - true) / unit
        recovered = recovered and bool(offset.low <= true <= offset.high)
    return Trial(recovered, width, error)


@dataclass(frozen=True)
class Row:
    """All seeds of one case."""

    case: Case
    trials: tuple[Trial, ...]

    @property
    def recovered(self) -> int:
        """Number of seeds."""
        return sum(trial.recovered for trial in self.trials)

    @property
    def good(self) -> bool:
        """Whether enough of them were recovered."""
        return self.recovered >= WANTED * len(self.trials)

    def values(self) -> dict[str, str | int]:
        """Return what other pages read."""
        return {
            'robot': self.case.robot,
            'model': self.case.model,
            'fitted': self.case.fitted,
            'recovered': self.recovered,
            'seeds': len(self.trials),
        }

    def cells(self) -> list[str]:
        """Return the row of the table."""
        names = list(self.trials[0].width)
        width = {n: float(np.median([t.width[n] for t in self.trials])) for n in names}
        error = {n: float(np.sqrt(np.mean([t.error[n] ** 2 for t in self.trials]))) for n in names}
        wide, wrong = (max(names, key=values.__getitem__) for values in (width, error))
        return [
            f'{self.case.robot}, {self.case.model}',
            self.case.fitted,
            f'{self.recovered} of {len(self.trials)}',
            f'+-{width[wide]:.2%} ({wide})',
            f'{error[wrong]:.2%} ({wrong})',
        ]


def study(
    seeds: int, cases: Sequence[Case], trial: Callable[[Case, int], Trial]
) -> tuple[Row, ...]:
    """Run cases and say each row as it comes."""
    rows = []
    for case in cases:
        begin = time.monotonic()
        rows.append(Row(case, tuple(trial(case, seed) for seed in range(seeds))))
        elapsed = time.monotonic() - begin
        print(f'[{elapsed:5.0f} s] {" | ".join(rows[-1].cells())}', flush=True)
    return tuple(rows)


def section(seeds: int, noisy: Sequence[Row], recorded: Sequence[Row]) -> str:
    """Write what was found as a section of a page."""
    head = [
        '| Robot, model | Fitted | Seeds | Widest interval | Largest error (RMS) |',
        '|---|---|---|---|---|',
    ]
    least = min(row.recovered for row in recorded if row.case.fitted != 'numbers')
    return '\n'.join([
        '## How well known numbers are found', '',
        f'Written by `python -m soro_studies.system.identification_study --seeds {seeds}` on '
        f'{machine()}. Numbers of the robot file are drawn within {SPREAD:.0%} of what it says. '
        'A seed counts where all true numbers and offsets lie inside their intervals and '
        'held-out postures are met better than before. Intervals are the median of the seeds; '
        "those of offsets are shares of the actuator's range or of the body's length.", '',
        f'Postures with noise of {1e3 * POSITION_NOISE:g} mm and {1e3 * TURN_NOISE:g} mrad:', '',
        *head, *(f'| {" | ".join(row.cells())} |' for row in noisy), '',
        'Recordings of emulated robots: regulators with lag and gain errors, noisy monitors, '
        'postures approached slowly and held, hysteresis off; offsets of 2 to 5 % of range and '
        f'length are recovered by {least} seeds or more:', '',
        *head, *(f'| {" | ".join(row.cells())} |' for row in recorded), '',
        'The intervals assume that the model is right but for the fitted numbers. Where what is '
        'left follows the robot (hysteresis or other physics), they are widened to what an error '
        'as large can do; the held-out error is the honest figure then.',
    ]) + '\n'  # fmt: skip


def main(words: Sequence[str] | None = None) -> int:
    """Run the study; 1 when a case was recovered by too few seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=20)
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args(words)
    if arguments.seeds < 1:
        parser.error(f'--seeds {arguments.seeds}: at least one')
    use_kernel_cache()
    noisy = study(arguments.seeds, CASES, of_postures)
    recorded = study(arguments.seeds, (*CASES, *OFFSET_CASES), of_recording)
    text = section(arguments.seeds, noisy, recorded)
    if arguments.write:
        found = {'noisy': noisy, 'recorded': recorded}
        kept = {name: [row.values() for row in rows] for name, rows in found.items()}
        keep_values(Path(arguments.write), {'identification': kept})
        replace_section(Path(arguments.write), text)
    else:
        print(text)
    return 0 if all(row.good for row in (*noisy, *recorded)) else 1


if __name__ == '__main__':
    sys.exit(main())
