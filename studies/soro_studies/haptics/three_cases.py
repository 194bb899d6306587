# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Stiffness of the device in the paper's three cases, and the turn against a wall (Fig. 14-16)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.virtual_environment import published_environment
from soro_studies.haptics.page_table import page_table
from soro_studies.haptics.rendering_experiments import LIMIT, MakeBench, natural
from soro_studies.haptics.virtual_bench import Trace

# Direction and how far the hand goes [m, rad]; translation and rotation of the paper's figures.
WAYS = (('x', 0, 0.02), ('turn 1', 3, 0.3))
# Name, preset of the environment, motors held.
CASES = (
    ('motors held', 'free', True),
    ('free space', 'free', False),
    ('position control', 'hold', False),
)
SETTLE = 0.5  # s, before the hand moves
SECONDS = 4.0  # there and back


@dataclass(frozen=True)
class Case:
    """Largest force over largest displacement of one case along one direction.

    Attributes
    ----------
    name, direction : str
    moved : float
        How far the handle goes [m, rad].
    force : float
        Largest change of the hand's force [N, N m].
    natural : float
        Stiffness of the plant with its motors held, about its rest [N/m, N m/rad].
    lowest_energy : float
    trace : Trace
    """

    name: str
    direction: str
    moved: float
    force: float
    natural: float
    lowest_energy: float
    trace: Trace

    @property
    def felt(self) -> float:
        """Force over displacement [N/m, N m/rad]."""
        return self.force / self.moved


@dataclass(frozen=True)
class TurnAgainstWall:
    """Torque of a hand that turns the handle against the wall at 0.2 rad and back [N m].

    `towards` and `back`: mean torque about the turn in free space, along the motion; `at_wall`:
    while it dwells there.
    """

    towards: float
    at_wall: float
    back: float


def three_cases(make: MakeBench) -> list[Case]:
    """Move the hand along x and about it with motors held, in free space, and position held."""
    found = []
    for direction, axis, reach in WAYS:
        for name, preset, held in CASES:
            bench = make(published_environment(preset, np.eye(4)), None)
            bench.held = held
            start, far = np.zeros(5), np.zeros(5)
            start[:] = bench.place if preset == 'free' else 0.0
            far[:] = start
            far[axis] += reach
            bench.along([start, start], SETTLE)
            trace = bench.along([start, far, start], SECONDS)
            found.append(
                Case(
                    name,
                    direction,
                    float(np.ptp(trace.place[:, axis])),
                    float(np.ptp(trace.force[:, axis])),
                    natural(bench, axis),
                    bench.loop.law.monitor.lowest,
                    trace,
                )
            )
    return found


def turn_against_wall(make: MakeBench) -> TurnAgainstWall:
    """Turn through free space against the wall, dwell, and turn back, as in Fig. 16."""
    bench = make(published_environment('angle', np.eye(4)), None)
    axis = 3 + int(np.argmax(np.abs(bench.plant.ports.axes[3, 3:])))  # the one about x
    far = np.zeros(5)
    far[axis] = np.sign(bench.plant.ports.axes[3, axis]) * 2.0 * LIMIT
    way = np.sign(far[axis])
    going = bench.along([np.zeros(5), far], 3.0)
    staying = bench.along([far, far], 1.0)
    leaving = bench.along([far, np.zeros(5)], 3.0)

    def free(trace: Trace) -> Array:
        turned = np.abs(trace.place[:, axis])
        inside = (turned > 0.1 * LIMIT) & (turned < 0.9 * LIMIT)
        return way * trace.force[inside, axis]

    half = len(staying.force) // 2
    return TurnAgainstWall(
        float(free(going).mean()),
        float(way * staying.force[half:, axis].mean()),
        float(free(leaving).mean()),
    )


def three_cases_text(cases: list[Case], turn: TurnAgainstWall) -> str:
    """Return the section of the page."""
    head = ('case', 'direction', 'moved by', 'force', 'felt', 'of the natural stiffness')
    rows = []
    for c in cases:
        line = c.direction == 'x'
        moved = f'{1e3 * c.moved:.1f} {"mm" if line else "mrad"}'
        force = f'{c.force:.2f} N' if line else f'{1e3 * c.force:.0f} mN m'
        felt = f'{c.felt:.0f} N/m' if line else f'{c.felt:.2f} N m/rad'
        rows.append((c.name, c.direction, moved, force, felt, f'{c.felt / c.natural:.2f}'))
    return (
        '## Motors held, free space, position control\n\nThe three cases of Fig. 14 and 15: the '
        f'hand goes {1e3 * WAYS[0][2]:.0f} mm along x, or turns by {WAYS[1][2]:g} rad, and back '
        f'in {SECONDS:g} s; largest force over largest displacement of the handle. The paper '
        'moves it by a robot arm, which does not give way as a hand of 400 N/m does.\n\n'
        f'{page_table(head, rows)}\n\n'
        f'Against the wall at {LIMIT} rad (Fig. 16): {1e3 * turn.towards:.1f} mN m on '
        f'the way through free space, {1e3 * turn.at_wall:.0f} mN m at the wall, '
        f'{1e3 * turn.back:.1f} mN m on the way back, along the turn.'
    )
