# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Curves of muscles from recorded runs; data that cannot be a muscle are refused, saying why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.interpolate import BSpline

from soro_mechanics.core.errors import InvalidInput
from soro_stm32_driver.muscle_curves import Array, MuscleCurve

MIN_KNOTS = 4  # vented, the onset of growth, and two more: fewer draw a line
FEWEST = 8  # samples of a direction
MIN_STROKE = 5e-3  # m
ONSET = (0.5e-3, 6e-3)  # m above the shortest length: the line whose foot is the onset
RESTING = 0.3e-3  # m within the shortest length counts as completely deflated
INTERVALS = 5  # of the spline: a stroke is one bulge, and every sample has noise
END = 2e-3  # m: so near to the shortest length a deflation must come


@dataclass(frozen=True)
class Run:
    """One valve open from one end of the stroke on, with lengths measured on the way."""

    action: str  #: 'inflate' or 'deflate'
    time: Array  #: (k,) [s]; for how long the valve was open; begins at 0
    length: Array  #: (k,) [m]; free length of the muscle


@dataclass(frozen=True)
class CurveFit:
    """A curve and how well the runs agree with it."""

    curve: MuscleCurve
    residual: float  #: [m]; root mean square over all samples
    worst: float  #: [m]
    samples: int


def identify_curve(
    runs: Sequence[Run], knots: int = 14, tolerance: float = 0.5e-3, name: str = 'muscle'
) -> CurveFit:
    """Fit monotone tables to the runs of one muscle.

    `runs`: at least one inflation from completely deflated, and one deflation from the longest
    length; `knots`: points of each table; `tolerance`: root mean square residual that is still
    believed [m]; `name`: for messages.

    InvalidInput: times or lengths that are no numbers, too few samples, a stroke that is too
    short, gaps, lengths that go the wrong way, runs that disagree, a deflation that does not reach
    the end.
    """
    if knots < MIN_KNOTS:
        raise InvalidInput('knots', knots, f'at least {MIN_KNOTS} points of a table')
    inflate = _gather(runs, 'inflate', name)
    deflate = _gather(runs, 'deflate', name)
    shortest = _shortest(inflate, deflate, name)
    rise = _rise(inflate, shortest, knots)
    fall = _fall(deflate, shortest, knots, name)
    curve = _curve(rise, fall, name)
    residuals = np.concatenate(
        [
            inflate[1] - [curve.length(t) for t in inflate[0]],
            deflate[1] - [max(curve.shortest, curve.fallen(t)) for t in deflate[0]],
        ]
    )
    rms, worst = float(np.sqrt(np.mean(residuals**2))), float(np.max(np.abs(residuals)))
    if rms > tolerance or worst > 4.0 * tolerance:
        found = f'{1e3 * rms:.2f} mm rms, {1e3 * worst:.2f} mm at worst'
        expected = f'runs that agree with one monotone curve within {1e3 * tolerance:g} mm'
        raise InvalidInput(name, found, expected)
    return CurveFit(curve, rms, worst, residuals.size)


def _gather(runs: Sequence[Run], action: str, name: str) -> tuple[Array, Array]:
    chosen = [r for r in runs if r.action == action]
    if not chosen:
        raise InvalidInput(name, f'no {action} run', f'at least one {action} run')
    for run in chosen:
        _check_run(run, f'{name}, {action}')
    time = np.concatenate([r.time for r in chosen])
    length = np.concatenate([r.length for r in chosen])
    if time.size < FEWEST:
        raise InvalidInput(f'{name}, {action}', f'{time.size} samples', f'at least {FEWEST}')
    order = np.argsort(time, kind='stable')
    time, length = time[order], length[order]
    stroke = float(np.ptp(length))
    if stroke < MIN_STROKE:
        found = f'a stroke of {1e3 * stroke:.2f} mm'
        expected = f'at least {1e3 * MIN_STROKE:g} mm: is the valve connected?'
        raise InvalidInput(f'{name}, {action}', found, expected)
    gap = float(np.max(np.diff(np.sort(length))))
    if gap > 0.25 * stroke:
        found = f'{1e3 * gap:.1f} mm without a sample'
        raise InvalidInput(f'{name}, {action}', found, 'samples along the whole stroke')
    return time, length


def _check_run(run: Run, name: str) -> None:
    if run.time.shape != run.length.shape or run.time.ndim != 1 or run.time.size < 2:
        raise InvalidInput(name, f'{run.time.size} times, {run.length.size} lengths', 'pairs')
    if not (np.all(np.isfinite(run.time)) and np.all(np.isfinite(run.length))):
        raise InvalidInput(name, 'not finite', 'finite times and lengths')
    if run.time[0] != 0.0 or not np.all(np.diff(run.time) > 0.0):
        raise InvalidInput(name, 'times', 'growing times that begin at 0 s')
    if np.any(run.length <= 0.0) or np.any(run.length > 1.0):
        found = f'{run.length.min():g} to {run.length.max():g} m'
        raise InvalidInput(name, found, 'lengths in metres')
    direction = 1.0 if run.action == 'inflate' else -1.0
    way = direction * (run.length[-1] - run.length[0])
    back = float(np.max(np.maximum.accumulate(direction * run.length) - direction * run.length))
    if way <= 0.0 or back > 0.02 * way + 0.5e-3:
        found = f'{1e3 * back:.1f} mm the wrong way'
        word = 'growing' if direction > 0.0 else 'falling'
        raise InvalidInput(name, found, f'{word} lengths')


def _shortest(inflate: tuple[Array, Array], deflate: tuple[Array, Array], name: str) -> float:
    at_start = inflate[1][inflate[0] == 0.0]
    shortest = float(np.median(at_start))
    end = float(deflate[1].min())
    if abs(end - shortest) > END:
        found = (
            f'deflation ends at {1e3 * end:.2f} mm, inflation begins at {1e3 * shortest:.2f} mm'
        )
        raise InvalidInput(name, found, f'both within {1e3 * END:g} mm: deflate for longer')
    return shortest


def _rise(inflate: tuple[Array, Array], shortest: float, knots: int) -> tuple[Array, Array]:
    time, length = inflate
    onset = _foot(time, length, shortest)
    at = np.concatenate([[0.0], np.linspace(onset, time[-1], knots - 1)])
    if onset <= 0.0:
        at = np.linspace(0.0, time[-1], knots)
    moving = time >= max(onset, 0.0)
    values = _smoothed(time[moving], length[moving], at[at >= max(onset, 0.0)], shortest)
    flat = np.full(at.size - values.size, shortest)
    return at, np.concatenate([flat, values])


def _fall(
    deflate: tuple[Array, Array], shortest: float, knots: int, name: str
) -> tuple[Array, Array]:
    time, length = deflate
    moving = length > shortest + RESTING
    if np.all(moving):
        raise InvalidInput(name, 'a deflation that goes on', 'deflation to the end')
    end = min(float(time[~moving][0]), _end(time, length, shortest))
    at = np.linspace(0.0, end, knots)
    inside = time <= end
    # Backwards the table rises from its end, which is known.
    values = _smoothed(end - time[inside], length[inside], at, shortest)
    return at, values[::-1]


def _foot(time: Array, length: Array, shortest: float) -> float:
    """Return where the line through the first rise meets the shortest length [s]."""
    foot = _crossing(time, length - shortest)
    above = length - shortest > ONSET[0]
    return float(np.clip(foot, 0.0, time[above].min()))


def _end(time: Array, length: Array, shortest: float) -> float:
    """Return where the line through the last fall meets the shortest length [s]."""
    above = length - shortest > ONSET[0]
    return float(max(_crossing(-time[::-1], (length - shortest)[::-1]) * -1.0, time[above].max()))


def _crossing(time: Array, above: Array) -> float:
    """Return where the line through the lowest samples above zero crosses zero."""
    seen = np.flatnonzero(above > ONSET[0])
    near = seen[above[seen] < ONSET[1]]
    if np.unique(time[near]).size < 2:
        near = seen[time[seen] <= np.unique(time[seen])[1]]
    slope, at_zero = np.polyfit(time[near], above[near], 1)
    return float(-at_zero / slope) if slope > 0.0 else float(time[near[0]])


def _smoothed(time: Array, length: Array, at: Array, first: float) -> Array:
    """Fit a cubic spline that begins at `first`; return its values at `at`, made monotone."""
    inside = np.linspace(at[0], at[-1], INTERVALS + 1)
    knots = np.concatenate([np.full(3, at[0]), inside, np.full(3, at[-1])])
    design = BSpline.design_matrix(np.clip(time, at[0], at[-1]), knots, 3).toarray()
    table = BSpline.design_matrix(at, knots, 3).toarray()
    # A stretch that no sample sees follows its neighbours: a little curvature is paid for.
    bend = 1e-2 * np.diff(table, 2, axis=0)
    matrix = np.concatenate([design, bend])
    right = np.concatenate([length, np.zeros(len(bend))]) - matrix[:, 0] * first
    weights = np.linalg.lstsq(matrix[:, 1:], right, rcond=None)[0]
    return _isotonic(np.maximum(table @ np.concatenate([[first], weights]), first))


def _isotonic(values: Array) -> Array:
    """Return the nearest values that never fall (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, size = blocks.pop()
            mean, count = (mean * count + other * size) / (count + size), count + size
        blocks.append((mean, count))
    return np.concatenate([np.full(count, mean) for mean, count in blocks])


def _curve(rise: tuple[Array, Array], fall: tuple[Array, Array], name: str) -> MuscleCurve:
    rise_time, rise_length = rise
    fall_time, fall_length = fall
    begin = max(0, int(np.flatnonzero(np.diff(rise_length) > 0.0)[0]))
    keep = np.ones(rise_time.size, bool)
    keep[begin + 1 :] = np.diff(rise_length)[begin:] > 0.0
    falling = np.concatenate([[True], np.diff(fall_length) < 0.0])
    try:
        return MuscleCurve(
            rise_time[keep], rise_length[keep], fall_time[falling], fall_length[falling]
        )
    except InvalidInput as error:
        raise InvalidInput(name, 'runs', f'a monotone curve ({error})') from None
