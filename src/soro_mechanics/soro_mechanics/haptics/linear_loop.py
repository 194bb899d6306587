# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How stiff a spring can be rendered, on paper: one direction, linear, sampled, delayed.

Two devices. The one of the textbook has a motor that pushes the handle: a wall of stiffness k,
read and written every T, is passive while ``b > k T / 2 + |B|`` (Colgate and Schenkel 1997), and
with a further delay d, while ``b > k (T / 2 + d) + |B|``; b is the damping of the handle, B what
is rendered. Ours pushes through a spring K, the legs: its motors move the far end of that spring
by what the sensed force asks for, late by sample, wire, low-pass and motor. `admittance_limit` has
its closed loop exactly: handle and motor in continuous time, the law in samples.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
import math
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array

Rendered = float | Array  # stiffness or damping: one, or several at once
AT_ONCE = 50  # poles of so many loops take as long as of four by themselves
STIFFEST = 1e5  # N/m: beyond it nothing is called a spring
RESOLUTION = 1.01  # of a limit
WEAKEST, STRONGEST, STEP = 0.01, 1e3, 1.05  # N s/m of damping, and the resolution of its limits
ONE = 1e-9  # rounding of the pole of a handle that may rest anywhere


@dataclass(frozen=True)
class OneDirection:
    """A handle that moves in one direction, the hand's mass, damping and stiffness included."""

    #: mass, damping: [kg, N s/m]
    mass: float
    damping: float
    #: natural, hand: stiffness of the legs with the motors held, and of the hand [N/m]
    natural: float
    hand: float
    #: motor, smoothing, speed_smoothing: time constants of motor, low-pass and filter of the
    #: hand's velocity [s]
    motor: float
    smoothing: float
    speed_smoothing: float = 10e-3
    #: stiffer than the legs are modelled: forces are sensed, and laws made, with those [1]
    stiffer: float = 1.0

    @property
    def nominal(self) -> float:
        """Stiffness of the legs that the law reckons with [N/m]."""
        return self.natural / self.stiffer


@lru_cache(maxsize=64)
def _sampled(d: OneDirection, period: float) -> Array:
    """Return the motion over a sample, shape (3, 4).

    Of place and speed of the handle and of the far end of the legs, whose target (the last
    column) is held.
    """
    flow = np.array(
        [
            [0.0, 1.0, 0.0, 0.0],
            [-(d.natural + d.hand) / d.mass, -d.damping / d.mass, d.natural / d.mass, 0.0],
            [0.0, 0.0, -1.0 / d.motor, 1.0 / d.motor],
            [0.0, 0.0, 0.0, 0.0],
        ]
    )
    return _exponential(flow * period)[:3]


def _exponential(matrix: Array) -> Array:
    """Return the exponential of a small matrix (scaling and squaring).

    Not SciPy's: its linear algebra takes longer to load than all that is computed here.
    """
    halvings = max(0, math.frexp(float(np.abs(matrix).sum(axis=0).max()))[1]) + 4
    part = matrix / 2.0**halvings
    result = term = np.eye(len(matrix))
    for k in range(1, 10):  # of a norm below 1/16: to the last digit
        term = term @ part / k
        result = result + term
    for _ in range(halvings):
        result = result @ result
    return np.asarray(result)


def spectral_radius(
    device: OneDirection, stiffness: Rendered, period: float, delay: int, damping: Rendered = 0.0
) -> Any:
    """Return the largest modulus of the closed loop's poles: below one is stable.

    `stiffness`: rendered [N/m]; `period`: of the law [s]; `delay`: samples from a measurement to
    the motors' answer to it; 0: at once; `damping`: rendered [N s/m].
    """
    force = device.nominal * np.array([1.0, 0.0, -1.0])  # as sensed, of x and the far end
    # The goal less what the legs bend by under the force there.
    goal = np.multiply.outer(1.0 / np.asarray(stiffness) - 1.0 / device.nominal, force)
    return _damped_radius(device, goal, damping / stiffness, period, delay)


def resisting_radius(device: OneDirection, damping: Rendered, period: float, delay: int) -> Any:
    """Return the largest modulus of the poles where the hand moves freely against damping.

    One pole is 1 where no hand pulls the handle back: it may rest anywhere.
    """
    goal = np.array([1.0, 0.0, 0.0])
    return _damped_radius(device, goal, damping / device.nominal, period, delay)


def _damped_radius(
    device: OneDirection, goal: Array, drag: Rendered, period: float, delay: int
) -> Any:
    """Return the largest pole of a law that sends the far end to `goal @ (x, v, far end)`.

    `drag` [s] times the filtered speed of the hand is subtracted.
    """
    share, speed_share = (
        period / (period + t) for t in (device.smoothing, device.speed_smoothing)
    )
    # x, v, far end, filtered speed, low-pass, commands on their way
    loop = _loops(device, period, delay, np.shape(drag))
    # The law sees the state after this sample.
    loop[..., 3, :] = speed_share / period * loop[..., 0, :]
    loop[..., 3, 0] -= speed_share / period
    loop[..., 3, 3] += 1.0 - speed_share
    loop[..., 4, :] = share * (
        (goal[..., None, :] @ loop[..., :3, :])[..., 0, :]
        - np.asarray(drag)[..., None] * loop[..., 3, :]
    )
    loop[..., 4, 4] += 1.0 - share
    return np.abs(np.linalg.eigvals(loop)).max(axis=-1)


def _loops(device: OneDirection, period: float, delay: int, shape: tuple[int, ...]) -> Array:
    """Return loops without their laws: sampled motion, two numbers of the law, late commands."""
    sampled, size = _sampled(device, period), 5 + delay
    loop = np.zeros((*shape, size, size))
    loop[..., :3, :3] = sampled[:, :3]
    loop[..., :3, size - 1] = sampled[:, 3]
    for k in range(5, size):
        loop[..., k, k - 1] = 1.0
    return loop


def sliding_radius(
    device: OneDirection, damping: Rendered, coupling: float, period: float, delay: int
) -> Any:
    """Return the largest modulus of the poles where the hand slides by an admittance.

    A proxy moves by force over `damping` [N s/m]; the hand hangs on it by `coupling` [N/m]. One
    pole is 1 where no hand pulls the handle back: it may rest anywhere.
    """
    d = device
    share = period / (period + d.smoothing)
    # x, v, far end, proxy, low-pass, commands on their way (newest first)
    loop = _loops(d, period, delay, np.shape(damping))
    force = d.nominal * (loop[..., 0, :] - loop[..., 2, :])  # of the hand, after this sample
    loop[..., 3, :] = force * period / np.asarray(damping)[..., None]
    loop[..., 3, 3] += 1.0
    loop[..., 4, :] = share * (loop[..., 3, :] + force / coupling - force / d.nominal)
    loop[..., 4, 4] += 1.0 - share
    return np.abs(np.linalg.eigvals(loop)).max(axis=-1)


def admittance_limit(
    device: OneDirection, period: float, delay: int, highest: float = STIFFEST
) -> float:
    """Return the stiffest spring that is stable, and every one from the natural stiffness to it.

    Returns [N/m]; infinite above `highest`.
    """
    radius = partial(spectral_radius, device, period=period, delay=delay)
    return _first_unstable(radius, device.nominal, RESOLUTION, highest) / RESOLUTION


def yielding_limit(device: OneDirection, period: float, delay: int) -> float:
    """Return the softest spring that is stable, and every one from there to the natural [N/m].

    Zero below a thousandth of the natural stiffness.
    """
    radius, nominal = partial(spectral_radius, device, period=period, delay=delay), device.nominal
    return _first_unstable(radius, nominal, 1.0 / RESOLUTION, 1e-3 * nominal) * RESOLUTION


def damping_limit(radius: Callable[[Array], Array]) -> float:
    """Return the strongest damping that is stable, and every weaker one [N s/m].

    `radius`: returns the largest moduli of the poles with some dampings.

    Returns zero where the weakest is not stable; infinite above `STRONGEST`.
    """
    found = _first_unstable(radius, WEAKEST, STEP, STRONGEST, 1.0 + ONE)
    return found / STEP if found > WEAKEST else 0.0


def sliding_limit(device: OneDirection, coupling: float, period: float, delay: int) -> float:
    """Return the weakest damping of an admittance that is stable, and every stronger one [N s/m].

    Zero below `WEAKEST`.
    """
    radius = partial(sliding_radius, device, coupling=coupling, period=period, delay=delay)
    return _first_unstable(radius, STRONGEST, 1.0 / STEP, WEAKEST, 1.0 + ONE) * STEP


def _first_unstable(
    radius: Callable[[Array], Array], start: float, step: float, end: float, largest: float = 1.0
) -> float:
    """Return the first of start, start * step, ... that is not stable, many at a time.

    Infinite, or zero where `step` is below one: all are stable, as far as `end`.
    """
    value = start
    while True:
        values: Array = value * step ** np.arange(AT_ONCE, dtype=float)
        inside = (values - end) * (step - 1.0) <= 0.0
        inside[0] |= value == start
        values = values[inside]
        unstable = np.flatnonzero(~(radius(values) < largest))
        if unstable.size:
            return float(values[unstable[0]])
        if not inside.all():
            return math.inf if step > 1.0 else 0.0
        value = values[-1] * step
