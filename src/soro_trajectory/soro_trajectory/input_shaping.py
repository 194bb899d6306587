# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A motion to a target in pieces that cancel each other's vibration (Singer and Seering 1990)."""

from __future__ import annotations

from collections import deque
import math
from typing import TYPE_CHECKING

import numpy as np

from soro_mechanics.analysis.trajectory import Schedule
from soro_mechanics.core.configuration import Array
from soro_mechanics.robot import Robot

if TYPE_CHECKING:
    from soro_mechanics.dynamics.modes import Modes

SHAPERS = {'zv': 1, 'zvd': 2}  # half periods that they last
ELEMENTS = 8  # of every rod
MODES = 3
THIN = ('ncm', 'npcc')  # models whose sections pressure makes thinner


def impulses(kind: str, frequency: float, damping: float) -> tuple[Array, Array]:
    """Return times [s] and parts, 1 in all, of the impulses that leave a mode at rest."""
    n, root = SHAPERS[kind], math.sqrt(1.0 - damping**2)
    decay = math.exp(-math.pi * damping / root)
    parts = np.array([math.comb(n, k) * decay**k for k in range(n + 1)])
    return np.arange(n + 1) * 0.5 / (frequency * root), parts / parts.sum()


class ShapedValue:
    """A value (m,) that comes in time, zero before, in pieces: times [s] and parts of each."""

    def __init__(self) -> None:
        self._given: deque[tuple[float, Array]] = deque()

    def add(self, now: float, value: Array, pieces: tuple[Array, Array]) -> Array:
        """Take the value of a moment [s], later than the last one; return what is given then."""
        times, parts = pieces
        if not self._given:  # a first value may be large: it jumps from zero now
            self._given.append((math.nextafter(now, -math.inf), np.zeros_like(value)))
        self._given.append((now, value))
        while self._given[1][0] <= now - times[-1] and len(self._given) > 2:
            self._given.popleft()
        stamps, given = (np.array(x) for x in zip(*self._given, strict=True))
        return np.array([parts @ np.interp(now - times, stamps, c) for c in given.T])


def vibration(
    frequency: float, damping: float, times: Array, parts: Array, duration: float
) -> float:
    """Return the amplitude that ramps of a duration [s] leave when the last one has ended."""
    omega = 2.0 * math.pi * frequency
    pole = omega * (damping + 1j * math.sqrt(1.0 - damping**2))
    late = times - times[-1] - duration
    way = parts * (np.exp(pole * (late + duration)) - np.exp(pole * late)) / (pole * duration)
    return float(abs(way.sum()))


def slowest_modes(robot: Robot, actuation: Array) -> Modes:
    """Return the slowest modes at rest at an actuation (m,), the actuators held.

    SoroError: the robot has no model network, or no stable equilibrium with mass there.
    """
    from soro_mechanics.dynamics.modes import modes  # a seventh of a planner's imports
    from soro_mechanics.dynamics.robot_motion import stepper
    from soro_mechanics.dynamics.stepper import Options

    network = robot.with_model('network')
    options = Options(ELEMENTS, incompressible=robot.model in THIN)
    return modes(stepper(network, network.forward(actuation), options), MODES)


def shaped_motion(
    kind: str, found: Modes, start: Array, end: Array, rates: Array
) -> tuple[Schedule, dict[str, list[float]]] | None:
    """Return the straight motion between two actuations (m,), shaped for the first of the modes.

    No point of it is off that line, none is passed faster than at `rates`. Beside it: the modes
    [Hz], and their vibration as parts of that after a step, not shaped and as it is left.
    None: no way to go.
    """
    duration = float(np.max(np.abs(end - start) / rates))
    if not duration > 0.0:
        return None
    pairs = list(zip(found.frequency.tolist(), np.minimum(found.damping, 0.99), strict=True))
    times, parts = impulses(kind, *pairs[0])
    time = np.unique(np.concatenate([times, times + duration]))
    way = (parts * np.clip((time[:, None] - times) / duration, 0.0, 1.0)).sum(axis=1)
    plain, shaped = (
        [round(vibration(f, z, *how, duration), 4) for f, z in pairs]
        for how in ((np.zeros(1), np.ones(1)), (times, parts))
    )
    said = {'modes': found.frequency.round(3).tolist(), 'unshaped': plain, 'vibration': shaped}
    positions = np.zeros((len(time), 3))
    return Schedule(time, start + way[:, None] * (end - start), positions, 0.0), said
