# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How often intervals of identified hysteresis, creep and delay cover what is true.

    python -m soro_studies.mechanics.history_study --write docs/evidence/recording.md

The plant knows nothing of the operators that are fitted: its hysteresis is a triangle of Preisach
relays, each of which switches up and down at its own two values, its creep the exact answer of
Kelvin elements to straight lines. A seed draws widths, parts, time, delay, the way of the
actuators and the noise of the tracker.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
import sys

import numpy as np

from soro_mechanics import load_robot
from soro_mechanics.compilation.kernel_cache import use_kernel_cache
from soro_mechanics.identification.fit import NotIdentifiable
from soro_mechanics.identification.history_fit import identify_history, Movement, UNKNOWNS
from soro_mechanics.robot import Robot
from soro_studies.system.measured_section import keep_values, replace_section

ROBOT = 'spatial_cc'
SEEDS, WANTED = 200, (0.90, 0.99)
LEGS, PERIOD, RATE = 18, 0.04, 4.0  # s; poses per second
NOISE = 0.2e-3  # m, of every axis of the tracker
RELAYS, CENTRES = 25, 500  # half-widths and places of the relays


class Preisach:
    """One input behind relays: up at or above `alpha`, down at or below `beta`.

    The weights make a play of uniformly spread half-widths up to `half`, in parts of the range.
    """

    def __init__(self, half: float) -> None:
        centre = np.linspace(-half - 0.02, 1.0 + half + 0.02, CENTRES)
        self._step = centre[1] - centre[0]
        self._half = half * (np.arange(RELAYS) + 0.5) / RELAYS
        self._up, self._down = centre[:, None] + self._half, centre[:, None] - self._half
        self._on, self._zero = self._up <= 0.0, float(centre[0])

    def apply(self, value: float) -> float:
        """Return the output after the input went to `value`."""
        self._on = np.where(
            value >= self._up, True, np.where(value <= self._down, False, self._on)
        )
        return self._zero + self._step * float(self._on.sum()) / RELAYS


@dataclass(frozen=True)
class Truth:
    """What is true of one seed, by the names of `HistoryFit.found`, and what was seen."""

    values: dict[str, float]
    data: Movement


def motion(robot: Robot, seed: int, legs: int = LEGS) -> Truth:
    """Move a robot of drawn past to and fro, and see its tip."""
    random = np.random.default_rng(seed)
    low, high = robot.limits.T
    m, reach = len(low), 0.8 * (high - low)
    half, part = random.uniform(0.01, 0.06, m), random.uniform(0.03, 0.12, m)
    tau, delay = float(random.uniform(2.0, 6.0)), float(random.uniform(0.03, 0.2))
    ends = random.uniform(0.0, 1.0, (legs, m))
    ends[0], ends[1], ends[2] = 0.0, 1.0, 0.0
    times = np.concatenate([[0.0], np.cumsum(random.uniform(1.0, 4.0, legs - 1))])
    time = np.arange(0.0, times[-1], PERIOD)
    u = np.column_stack([np.interp(time, times, e) for e in ends.T])
    late, felt = np.zeros(m), np.empty_like(u)
    relays = [Preisach(h) for h in half]
    before = u[0]
    for k, value in enumerate(u):
        behind = (value - before) / PERIOD * tau  # of an element that follows a straight line
        late = value - behind + (late - before + behind) * np.exp(-PERIOD / tau)
        x, before = value + part * (late - value), value
        felt[k] = [relay.apply(a) for relay, a in zip(relays, x, strict=True)]
    felt *= reach
    seen = np.arange(0.0, times[-1], 1.0 / RATE)
    points = np.empty((len(seen), 3))
    q = None
    for i, moment in enumerate(seen):
        value = np.array([np.interp(moment - delay, time, f) for f in felt.T])
        q = robot.forward(low + value, None, q)
        points[i] = q.tip[:3, 3]
    points += random.normal(0.0, 1e-3, 3) + NOISE * random.standard_normal(points.shape)
    names = [a.name for a in robot.actuators]
    values = {f'width_{n}': 0.8 * h for n, h in zip(names, half, strict=True)}
    values |= {f'creep_{n}': p for n, p in zip(names, part, strict=True)}
    values |= {'time': tau, 'delay': delay}
    return Truth(values, Movement(time, low + reach * u, seen, points))


def covered(robot: Robot, seed: int) -> dict[str, bool]:
    """Say of every number of a seed whether its interval covers the truth."""
    truth = motion(robot, seed)
    found = identify_history(robot, truth.data, UNKNOWNS)
    rows = {o.name: o for o in found.found}
    return {n: rows[n].low <= value <= rows[n].high for n, value in truth.values.items()}


def counted(seeds: int) -> dict[str, float]:
    """Return the shares of seeds whose intervals cover, by kind of number."""
    robot = load_robot(ROBOT)
    hits: dict[str, list[bool]] = {}
    for seed in range(seeds):
        try:
            found = covered(robot, seed)
        except NotIdentifiable as error:  # it is said, and counts as not covered
            print(seed, error, flush=True)
            found = dict.fromkeys(hits, False)
        for name, hit in found.items():
            hits.setdefault(name.partition('_')[0], []).append(bool(hit))
        if seed % 10 == 9:
            print(seed + 1, {k: f'{np.mean(v):.1%}' for k, v in hits.items()}, flush=True)
    return {kind: float(np.mean(values)) for kind, values in hits.items()}


def section(found: dict[str, float], seeds: int) -> str:
    """Write what was found as a section of a page."""
    words = {
        'width': 'opening of the widest loop, of each actuator',
        'creep': 'part that comes late, of each actuator',
        'time': 'time of the creep',
        'delay': 'delay',
    }
    rows = [f'| {words[kind]} | {100 * share:.1f} % |' for kind, share in found.items()]
    return '\n'.join([
        '## Hysteresis, creep and delay of actuators', '',
        f'Written by `python -m soro_studies.mechanics.history_study`: how many of the 95 % '
        f'intervals of `soro identify --history` cover the truth, {seeds} seeds. '
        f'{ROBOT} is moved for half a minute to a minute, {RATE:g} poses a second with '
        f'{1e3 * NOISE:g} mm of noise on each axis and an unknown constant. Its hysteresis is '
        'made of Preisach relays, its creep of the exact answer to straight lines: neither is the '
        'operator that is fitted. Drawn are widths of 0.8 to 4.8 % of the range, parts of 3 to '
        '12 %, times of 2 to 6 s, delays of 30 to 200 ms.', '',
        '| Number | Covered |', '|---|---|', *rows,
    ]) + '\n'  # fmt: skip


def main() -> int:
    """Run the study; 1 where intervals cover too seldom or too often."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--seeds', type=int, default=SEEDS)
    parser.add_argument('--write', metavar='FILE', help='page whose section is renewed')
    arguments = parser.parse_args()
    use_kernel_cache()
    found = counted(arguments.seeds)
    text = section(found, arguments.seeds)
    print(text)
    if arguments.write:
        keep_values(Path(arguments.write), {'history': found | {'seeds': arguments.seeds}})
        replace_section(Path(arguments.write), text)
    return 0 if all(WANTED[0] <= share <= WANTED[1] for share in found.values()) else 1


if __name__ == '__main__':
    sys.exit(main())
