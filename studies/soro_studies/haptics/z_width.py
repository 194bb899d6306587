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
from soro_mechanics.core.errors import SoroError
from soro_mechanics.haptics import stable_limits
from soro_mechanics.haptics.hand_impedance import HandImpedance
from soro_mechanics.haptics.linear_loop import (
    admittance_limit,
    OneDirection,
    STIFFEST,
    yielding_limit,
)
from soro_mechanics.haptics.virtual_environment import Shape, VirtualObject
from soro_studies.haptics.moving_bench import MovingBench
from soro_studies.haptics.virtual_bench import BenchSetup

MakeMoving = Callable[[Sequence[VirtualObject], BenchSetup, HandImpedance], MovingBench]

NO_MONITOR = 1e3  # J: an allowance that never binds
SMOOTHING = 6e-3  # s, low-pass of the renderer
REACH, PUSH = 0.008, 1.0  # m of a hand, N where there is none
PULL = 0.3  # of those
RINGS = 1e-3  # m: more than noise does
EXCITED, RETURNING, LOOK = 0.2, 0.6, 0.5  # s: a pull, the way back from it, each of two looks
FLOOR = 3e-5  # m: what two runs differ by when the pull is forgotten
DECAY = 0.9  # of what the pull changed, from one look to the next
SOFTEST = 5.0  # N/m
RESOLUTION, STRIDE, LONG = 1.1, 1.3, 3.0  # of a limit, and of the way to it
NEAR = 1.5  # of what theory has
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
    make: MakeMoving,
    hand: HandImpedance,
    rate: float,
    delay: int,
    soft: bool = False,
    pull: float = PULL,
    seed: int = 1,
    stride: float = STRIDE,
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
    pull : float
        See `growth`.
    seed : int
        Of the noise.
    stride : float
        Of the search for the stiffest, near to it.
    """
    setup = BenchSetup(rate=rate, delay=1 + delay, energy=NO_MONITOR, seed=seed)
    bench = make((), setup, hand)
    devices, turns = [one_direction(bench, axis) for axis in AXES], float(bench.stiffness()[3, 3])
    period, natural = 1.0 / rate, min(d.natural for d in devices)

    def stable(stiffness: float) -> bool:
        # The motors leave turns alone: theory is about translations.
        spring = VirtualObject('s', Shape.HOLD, stiffness=stiffness, rotational_stiffness=turns)
        return comes_to_rest(lambda: make([spring], setup, hand), pull)

    stiffest = min(admittance_limit(d, period, delay) for d in devices)
    softest = max(yielding_limit(d, period, delay) for d in devices)
    return ZWidth(
        hand.name,
        rate,
        delay * period,
        natural,
        limit(stable, natural / FIRST, SOFTEST, max(softest, SOFTEST)) if soft else None,
        limit(stable, natural * FIRST, STIFFEST, stiffest, stride),
        stiffest,
        min(colgate_limit(d.damping, period, delay * period) for d in devices),
    )


def limit(
    stable: Callable[[float], bool],
    first: float,
    last: float,
    expected: float = math.nan,
    near: float = STRIDE,
) -> float:
    """Return the last stable value on the way from `first` to `last`, within `RESOLUTION`.

    Beyond it others may be stable again: what rings at 2 kN/m may be too slow to ring at 100. In
    long strides until near to what theory has (`expected`), which has looked at every 1 %.
    """
    if not stable(first):
        return math.nan
    good = first
    while good != last:
        room = expected / good if last > first else good / expected
        stride = LONG if room > LONG * NEAR else near
        far = min(good * stride, last) if last > first else max(good / stride, last)
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


def comes_to_rest(make: Callable[[], MovingBench], pull: float = PULL) -> bool:
    """Whether a pull on the handle is forgotten: what it changed decays, or has gone."""
    return growth(make, pull) < math.log(DECAY) / LOOK


def growth(make: Callable[[], MovingBench], pull: float = PULL) -> float:
    """Return the rate at which what a pull has changed grows [1/s].

    Two benches with the same noise, of which one is pulled: their difference is the motion of the
    loop alone. It is looked at once the handle has come back: that way, as slow as the limits of
    speed and torque have it, is no ringing, and would hide one that grows.

    Parameters
    ----------
    make : callable
        Makes the bench.
    pull : float
        Part of `REACH` or `PUSH`. Large ones begin beyond what the limits let ring.

    Returns
    -------
    float
        Minus infinity: the pull is forgotten; infinity: the bench rings without it.

    Raises
    ------
    SoroError
        It decays, but in some of those ticks there was no command.
    """
    left, others = _moved(make(), 0.0)
    if np.std(np.split(left, 2)[1], axis=0).max() > RINGS:
        return math.inf
    pulled, failed = _moved(make(), pull)
    before, after = (np.std(part, axis=0).max() for part in np.split(pulled - left, 2))
    rate = math.log(after / before) / LOOK if after > FLOOR else -math.inf
    if failed + others and rate < 0.0:
        raise SoroError(f'{failed + others} ticks without a command: nothing can be said')
    return rate


def _moved(bench: MovingBench, pull: float) -> tuple[Array, int]:
    """Pull, let go, and look: places, shape (ticks, 3), and ticks without a command meanwhile."""
    held = bench.hand.stiffness[0] > 0.0
    far, push, places = np.zeros(5), np.zeros(5), []
    for axis in AXES:
        far[axis], push[axis] = (REACH * pull, 0.0) if held else (0.0, PUSH * pull)
    ticks, looking = (round(t * bench.setup.rate) for t in (EXCITED, EXCITED + RETURNING))
    failures = 0
    for tick in range(looking + 2 * round(LOOK * bench.setup.rate)):
        if tick == looking:
            failures = bench.failures
        if tick < ticks:
            bench.step(far, push)
        else:
            bench.step(np.zeros(5), np.zeros(5))
        bench.loop.law.oscillation.reset()  # nobody slows the motors
        if tick >= looking:
            places.append(bench.x[:3].copy())
    return np.array(places), bench.failures - failures
