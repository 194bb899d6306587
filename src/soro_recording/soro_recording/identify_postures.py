# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The postures of a recorded run in which the robot rested: what identification fits."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from soro_mechanics.identification.fit import Observations
from soro_node.user_errors import UserError
from soro_recording.identify_tip import Measured
from soro_recording.run_data import Actuation, PRESENT, RunData
from soro_recording.series import Array, at

WINDOW = 0.3  # s over which speed is measured and a posture is averaged
SETTLING = 1.0  # s without a command before a posture counts: ten time constants of a regulator
STILL = 0.002  # of an actuator's range: a command that changes less holds
SPACING = 0.02  # of an actuator's range: nearer postures say nothing new
MAX_POSTURES = 80


def postures(
    run: RunData, tip: Measured, speed: float, settling: float = SETTLING
) -> Observations:
    """Return the distinct postures of a run in which the robot rested.

    A moving body lags behind its actuators, and what is measured of them behind what they do: a
    fit to postures on the way takes that for softness. So a posture counts only where the command
    has held for `settling` [s] (where nothing is commanded: what is measured) and the tip moves
    slower than `speed` [m/s]. Each is averaged over `WINDOW`: less noise than in one message. A
    hold gives one, its calmest: two of them, one held out, would test the fit with its own data.

    Raises UserError: the robot never held still enough.
    """
    data = run.actuation
    span = np.array([a.maximum - a.minimum for a in run.actuators])
    actuation, known = averaged(tip.time, at(data.time, data.present, tip.time))
    seen = averaged(tip.time, tip.poses)[1]
    first, last = _window(tip.time)
    last -= 1
    travelled = np.linalg.norm(tip.poses[last, :3] - tip.poses[first, :3], axis=1)
    calm = (last - first >= 2) & known.all(axis=1) & seen.all(axis=1)
    calm &= held(data, tip.time, span, settling)
    calm &= travelled <= speed * np.maximum(tip.time[last] - tip.time[first], 1e-9)
    candidates = np.flatnonzero(calm)[np.argsort(travelled[calm], kind='stable')]
    of_hold = holds(data, tip.time, span)[candidates]
    chosen: list[int] = []
    # The calmest first: of several visits of one posture the steadiest is kept.
    for n in candidates[np.sort(np.unique(of_hold, return_index=True)[1])]:
        apart = [np.abs(actuation[n] - actuation[k]) / span for k in chosen]
        if len(chosen) < MAX_POSTURES and all(a.max() > SPACING for a in apart):
            chosen.append(int(n))
    if not chosen:
        raise UserError(
            f'the robot never rested: no command for {settling:g} s and a tip slower than '
            f'{1e3 * speed:g} mm/s, both measured all the while. Record postures that are held; '
            'see --settling, --speed'
        )
    chosen.sort()
    slices = [slice(first[n], last[n] + 1) for n in chosen]
    poses = np.tile(np.eye(4), (len(chosen), 1, 1))
    poses[:, :3, 3] = [tip.poses[s, :3].mean(axis=0) for s in slices]
    turns = [tip.poses[s, 3:] for s in slices]
    oriented = tip.oriented and all((np.linalg.norm(t, axis=1) > 0.5).all() for t in turns)
    if oriented:
        poses[:, :3, :3] = [Rotation.from_quat(t).mean().as_matrix() for t in turns]
    return Observations(actuation[chosen], poses, _wrenches(run, tip.time[chosen]), oriented)


def held(data: Actuation, times: Array, span: Array, settling: float) -> NDArray[np.bool_]:
    """Return, for each time, whether the actuators were left alone around it.

    From `settling` [s] before the posture's window to its end no command, or where there is none
    no measured value averaged over a window, changes by more than `STILL` of its range `span`.
    What was before the recording is not known: all of that has to lie within it.
    """
    values = _steered(data)
    begin, end = times - 0.5 * WINDOW - settling, times + 0.5 * WINDOW
    first = np.searchsorted(data.time, begin)
    last = np.searchsorted(data.time, end, side='right')
    recorded = (begin >= data.time[0]) & (end <= data.time[-1])
    return np.array(
        [
            there and b > a and bool((np.ptp(values[a:b], axis=0) <= STILL * span).all())
            for there, a, b in zip(recorded, first, last, strict=True)
        ]
    )


def holds(data: Actuation, times: Array, span: Array) -> NDArray[np.int_]:
    """Return the number of the hold each time belongs to.

    Another one begins where the actuators have gone farther than `SPACING` from where the last
    one began.
    """
    values = _steered(data)
    known = np.isfinite(values).all(axis=1)
    if not known.any():
        return np.zeros(len(times), dtype=int)
    numbers: list[int] = []
    number, start = 0, None
    for here in (values[known] / span).tolist():
        if start is None:
            start = here
        if max(abs(x - y) for x, y in zip(here, start, strict=True)) > SPACING:
            number, start = number + 1, here
        numbers.append(number)
    before = np.searchsorted(data.time[known], times, side='right') - 1
    return np.array(numbers)[before.clip(0)]


def averaged(time: Array, values: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Return the mean of what is known within `WINDOW` around every time, and whether all is."""
    first, last = _window(time)
    finite = np.isfinite(values)

    def total(columns: Array) -> Array:
        sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(columns, axis=0)])
        return sums[last] - sums[first]

    count = total(finite.astype(float))
    mean = np.where(
        count > 0.0, total(np.where(finite, values, 0.0)) / np.maximum(count, 1), np.nan
    )
    return mean, count == (last - first)[:, None]


def _window(time: Array) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the first index within `WINDOW` around every time, and the first behind it."""
    first = np.searchsorted(time, time - 0.5 * WINDOW)
    return first, np.searchsorted(time, time + 0.5 * WINDOW, side='right')


def _steered(data: Actuation) -> Array:
    """Return what tells a hold: the command, where nothing is commanded the averaged state."""
    present = averaged(data.time, data.present)[0]
    return np.where(np.isnan(data.commanded), present, data.commanded)


def _wrenches(run: RunData, time: Array) -> Array:
    shapes = run.shapes(PRESENT)
    if shapes is None:
        return np.zeros((len(time), 6))
    return np.column_stack([np.interp(time, shapes.time, c) for c in shapes.wrench.T])
