# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the hand feels: stiffness, walls, paths, contact. In simulated time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics.rendering import natural_stiffness
from soro_mechanics.haptics.virtual_environment import (
    Control,
    published_environment,
    Shape,
    VirtualObject,
)
from soro_studies.haptics.virtual_bench import BenchSetup, Trace, VirtualBench

MakeBench = Callable[[Sequence[VirtualObject], BenchSetup | None], VirtualBench]

PULL = 0.02  # m, how far the hand goes
LIMIT = 0.2  # rad, published
RADIUS = 0.03  # m, published


@dataclass(frozen=True)
class Rendered:
    """A force-position curve: what was asked, what was felt, natural stiffness [N/m]."""

    name: str
    asked: float
    felt: float
    natural: float
    trace: Trace
    lowest_energy: float


def natural(bench: VirtualBench, axis: int = 0) -> float:
    """Return the stiffness of the plant with its motors held, along one axis [N/m, N m/rad]."""
    return float(1.0 / np.linalg.inv(natural_stiffness(bench.plant.ports))[axis, axis])


def slope(position: Array, force: Array) -> float:
    """Return the slope of a force-position curve, least squares: what the hand feels [N/m]."""
    return float(np.polyfit(position, force, 1)[0])


def stiffness_curves(make: MakeBench, stiffness: Sequence[float]) -> list[Rendered]:
    """Render springs below and above the natural stiffness, and the device itself."""
    found = []
    hand = [[0.0] * 5, [PULL, 0, 0, 0, 0], [0.0] * 5]
    still = make((), None)
    still.held = True
    trace = still.along(hand, 2.0)
    felt = slope(trace.place[:, 0], trace.force[:, 0])
    found.append(Rendered('motors held', np.nan, felt, natural(still), trace, 0.0))
    for value in stiffness:
        spring = VirtualObject('s', Shape.HOLD, stiffness=value, rotational_stiffness=np.inf)
        bench = make([spring], None)
        trace = bench.along(hand, 4.0)
        felt = slope(trace.place[:, 0], trace.force[:, 0])
        lowest = bench.loop.law.monitor.lowest
        found.append(Rendered(f'{value:g} N/m', value, felt, natural(still), trace, lowest))
    return found


@dataclass(frozen=True)
class Followed:
    """How well an environment holds the handle on it; lengths in m, angles in rad."""

    name: str
    mean: float
    largest: float
    lowest_energy: float
    trace: Trace


def angle_limit(make: MakeBench) -> Followed:
    """Turn the handle against a wall at 0.2 rad and hold it there."""
    bench = make(published_environment('angle', np.eye(4)), None)
    axis = 3 + int(np.argmax(np.abs(bench.plant.ports.axes[3, 3:])))  # the one about x
    sign = np.sign(bench.plant.ports.axes[3, axis])
    far = np.zeros(5)
    far[axis] = sign * 2.0 * LIMIT
    trace = bench.along([np.zeros(5), far], 3.0) + bench.along([far, far], 1.0)
    at_rest = np.abs(trace.place[-len(trace.place) // 4 :, axis])
    over = np.abs(trace.place[:, axis]).max() - LIMIT
    return Followed(
        'wall at 0.2 rad',
        float(np.abs(at_rest - LIMIT).mean()),
        float(over),
        bench.loop.law.monitor.lowest,
        trace,
    )


def box(make: MakeBench) -> Followed:
    """Press against the six faces of a box of 3 cm."""
    bench = make(published_environment('box', np.eye(4)), None)
    half, far = 0.015, 0.03
    trace, errors = None, []
    for face in range(6):
        goal = np.zeros(5)
        goal[face // 2] = far if face % 2 else -far
        part = bench.along([np.zeros(5), goal], 1.5) + bench.along([goal, goal], 0.5)
        errors.append(abs(abs(part.place[-1, face // 2]) - half))
        part = part + bench.along([goal, np.zeros(5)], 1.0)
        trace = part if trace is None else trace + part
    return Followed(
        'box of 3 cm',
        float(np.mean(errors)),
        float(np.max(errors)),
        bench.loop.law.monitor.lowest,
        trace,
    )


def line(make: MakeBench, control: Control) -> Followed:
    """Pull the handle along the line while the hand also pulls 10 mm across it."""
    thing = published_environment('line', np.eye(4))[0]
    bench = make([replace(thing, control=control)], None)
    points = [[x, 0.01 * np.sin(100.0 * x), 0, 0, 0] for x in np.linspace(-0.03, 0.03, 30)]
    bench.along([np.zeros(5), points[0]], 2.0)
    trace = bench.along(points, 6.0)
    errors = np.hypot(trace.place[:, 1], trace.place[:, 2])
    return Followed(
        f'line, {control.name.lower()}',
        float(errors.mean()),
        float(errors.max()),
        bench.loop.law.monitor.lowest,
        trace,
    )


def felt_damping(make: MakeBench, damping: float, rate: float) -> float:
    """Return force over speed of a hand that pushes steadily along a line [N s/m].

    An admittance, after the motors have come to where the line wants them; 50 mm/s.
    """
    thing = published_environment('line', np.eye(4))[0]
    setup = BenchSetup(rate=rate, grip=np.zeros((5, 5)))
    bench, still = make([replace(thing, damping=damping)], setup), np.zeros(5)
    push = np.array([-0.05 * damping, 0.0, 0.0, 0.0, 0.0])
    for _ in range(round(0.5 * rate)):
        bench.step(still)
    places = []
    for _ in range(round(0.3 * rate)):
        bench.step(still, push)
        places.append(bench.place[0])
    half = len(places) // 2
    return float(push[0] * half / rate / (places[-1] - places[-1 - half]))


def circle(make: MakeBench, control: Control) -> Followed:
    """Lead the handle round the published circle, the hand 1 mm outside."""
    thing = published_environment('circle', np.eye(4))[0]
    bench = make([replace(thing, control=control)], None)
    bench.along([np.zeros(5), [RADIUS, 0, 0, 0, 0]], 1.0)
    way = np.linspace(0.0, 2.0 * np.pi, 200)
    reach = RADIUS + 1e-3
    points = np.column_stack([reach * np.cos(way), reach * np.sin(way), *np.zeros((3, 200))])
    trace = bench.along(points, 6.0)
    errors = np.hypot(np.hypot(trace.place[:, 0], trace.place[:, 1]) - RADIUS, trace.place[:, 2])
    return Followed(
        f'circle of 3 cm radius, {control.name.lower()}',
        float(errors.mean()),
        float(errors.max()),
        bench.loop.law.monitor.lowest,
        trace,
    )


@dataclass(frozen=True)
class Contact:
    """A hand that runs into a wall and leaves it.

    Attributes
    ----------
    speed : float
        Of the hand [m/s].
    deepest : float
        Beyond the wall during the impact [m].
    settled : float
        Beyond the wall while pressed [m].
    settle_time : float
        From the contact until within 0.5 mm of the settled place for good [s].
    pull : float
        Largest force towards the wall on the way out: what sticks [N].
    lowest_energy : float
    """

    speed: float
    deepest: float
    settled: float
    settle_time: float
    pull: float
    lowest_energy: float
    trace: Trace


def contact(make: MakeBench, speed: float, wall: float = -0.01) -> Contact:
    """Run into the published wall at a speed, stay, and leave."""
    bench = make(published_environment('wall', np.eye(4)), None)
    far = np.array([-0.025, 0.0, 0.0, 0.0, 0.0])
    seconds = abs(far[0]) / speed
    going = bench.along([np.zeros(5), far], seconds)
    staying = bench.along([far, far], 1.0)
    leaving = bench.along([far, np.zeros(5)], seconds)
    pressed = going + staying
    place = pressed.place[:, 0]
    settled = float(staying.place[-50:, 0].mean())
    touch = int(np.argmax(place < wall))
    outside = np.flatnonzero(np.abs(place[touch:] - settled) > 5e-4)
    free = leaving.place[:, 0] > wall + 1e-3
    return Contact(
        speed,
        float(wall - place.min()),
        wall - settled,
        float((outside[-1] + 1 if outside.size else 0) * bench.dt),
        float(max(0.0, leaving.force[free, 0].max(initial=0.0))),
        bench.loop.law.monitor.lowest,
        pressed + leaving,
    )
