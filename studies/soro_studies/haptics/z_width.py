# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Z-width: the softest and the stiffest spring that are stable, against delay, rate and hand.

Measured on the bench with inertia (`moving_bench`), with the law as the renderer runs it but
without the help of its energy monitor and its watch over oscillations, and computed from the
linear loop (`linear_loop`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.haptics import stable_limits
from soro_mechanics.haptics.hand_impedance import HandImpedance
from soro_mechanics.haptics.linear_loop import admittance_limit, OneDirection, STIFFEST
from soro_mechanics.haptics.virtual_environment import Shape, VirtualObject
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.virtual_bench import BenchSetup

MakeMoving = Callable[[Sequence[VirtualObject], BenchSetup, HandImpedance], MovingBench]

NO_MONITOR = 1e3  # J: an allowance that never binds
SMOOTHING = 6e-3  # s, low-pass of the renderer
REACH, PUSH = 0.008, 1.0  # m of a hand, N where there is none
EXCITED, RESTING = 0.2, 0.8  # s
FLOOR = 1.5e-4  # m: what noise of the sensors moves
DECAY = 0.9  # of the motion, from one window to the next
SOFTEST = 5.0  # N/m
RESOLUTION, STRIDE = 1.1, 1.6  # of a limit, and of the way to it
AXES = (0, 2)  # across the handle and along it: the two kinds of translation
FIRST = 1.02  # of the natural stiffness, where the searches begin


@dataclass(frozen=True)
class ZWidth:
    """Limits for one hand, rate and delay [N/m].

    Attributes
    ----------
    hand : str
        Its name.
    rate : float
        Of the loop [Hz].
    delay : float
        From a measurement to the motors' answer, their own lag not counted [s].
    natural : float
        Stiffness of the device with its motors held, in its softest translation.
    softest, stiffest : float
        Measured: the last ones at rest; NaN not even the first, infinite no limit up to
        `STIFFEST`. `softest` is None where it was not looked for.
    predicted : float
        Stiffest of the linear loop.
    colgate : float
        Stiffest passive wall of a device whose motor pushes the same handle directly.
    """

    hand: str
    rate: float
    delay: float
    natural: float
    softest: float | None
    stiffest: float
    predicted: float
    colgate: float


def colgate_limit(
    damping: float, period: float, delay: float = 0.0, rendered: float = 0.0
) -> float:
    """Return the stiffest passive wall of a handle that a motor pushes directly [N/m].

    Parameters
    ----------
    damping : float
        Of the handle, b [N s/m].
    period, delay : float
        Of the samples, and beyond them [s].
    rendered : float
        Damping of the wall, B [N s/m].
    """
    return max(0.0, damping - abs(rendered)) / (0.5 * period + delay)


def one_direction(bench: MovingBench, axis: int) -> OneDirection:
    """Return one translation of a bench as theory sees it."""
    return stable_limits.one_direction(
        bench.mass, bench.damping, bench.stiffness(), bench.hand, axis, SMOOTHING
    )


def z_width(
    make: MakeMoving, hand: HandImpedance, rate: float, delay: int, soft: bool = False
) -> ZWidth:
    """Find the limits, by bisection on stable springs.

    Parameters
    ----------
    make : callable
        Makes a bench from objects, setup and hand.
    hand : HandImpedance
    rate : float
        [Hz]
    delay : int
        Ticks from a measurement to the motors' answer; over the wire it is one.
    soft : bool
        Look for the softest as well.
    """
    setup = BenchSetup(rate=rate, delay=1 + delay, energy=NO_MONITOR)
    bench = make((), setup, hand)
    devices, turns = [one_direction(bench, axis) for axis in AXES], float(bench.stiffness()[3, 3])
    period, natural = 1.0 / rate, min(d.natural for d in devices)

    def stable(stiffness: float) -> bool:
        # The motors leave turns alone: theory is about translations.
        spring = VirtualObject('s', Shape.HOLD, stiffness=stiffness, rotational_stiffness=turns)
        return comes_to_rest(make([spring], setup, hand))

    return ZWidth(
        hand.name,
        rate,
        delay * period,
        natural,
        limit(stable, natural / FIRST, SOFTEST) if soft else None,
        limit(stable, natural * FIRST, STIFFEST),
        min(admittance_limit(d, period, delay) for d in devices),
        min(colgate_limit(d.damping, period, delay * period) for d in devices),
    )


def limit(stable: Callable[[float], bool], first: float, last: float) -> float:
    """Return the last stable value on the way from `first` to `last`, within `RESOLUTION`.

    Beyond it others may be stable again: what rings at 2 kN/m may be too slow to ring at 100.
    """
    if not stable(first):
        return math.nan
    good = first
    while good != last:
        far = min(good * STRIDE, last) if last > first else max(good / STRIDE, last)
        if not stable(far):
            break
        good = far
    else:
        return math.inf if last > first else 0.0
    bad = far
    while max(good / bad, bad / good) > RESOLUTION:
        middle = math.sqrt(good * bad)
        good, bad = (middle, bad) if stable(middle) else (good, middle)
    return good


def comes_to_rest(bench: MovingBench) -> bool:
    """Whether a handle that was pulled comes to rest: its motion decays, or is noise."""
    held = bench.hand.stiffness[0] > 0.0
    far, push = np.zeros(5), np.zeros(5)
    for axis in AXES:
        far[axis], push[axis] = (REACH, 0.0) if held else (0.0, PUSH)
    places = _moved(bench, far, push, EXCITED)
    places += _moved(bench, far, np.zeros(5), RESTING)
    half = int(0.5 * RESTING * bench.setup.rate)
    before, after = (
        np.std(part, axis=0).max() for part in (places[-2 * half : -half], places[-half:])
    )
    return bench.failures == 0 and bool(after < max(FLOOR, DECAY * before))


def _moved(bench: MovingBench, goal: Array, push: Array, seconds: float) -> list[Array]:
    places = []
    for _ in range(round(seconds * bench.setup.rate)):
        bench.step(goal, push)
        bench.loop.law.oscillation.reset()  # nobody slows the motors
        places.append(bench.x[:3].copy())
    return places
