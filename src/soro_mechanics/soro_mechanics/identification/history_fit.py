# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Creep, hysteresis and delay of actuators, identified from a motion that a tracker saw.

The model of the robot stays as it is; what its body feels is ``P(C(u))`` of `history`, `delay`
earlier, and the tip may be off by a constant (marker, load). Weights of plays of fixed thresholds,
parts and time of the creep and the delay are found by Gauss-Newton steps with exact derivatives:
those of the operators are followed along the motion, the tip's are the Jacobian of the model,
computed again where a pose has moved by more than `NEAR`.
Standard deviations count correlated residuals once (integrated autocorrelation time). What the
data do not tell stays as vague as before the fit; that refuses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import os

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.actuator_models.creep import CreepProperties
from soro_mechanics.actuator_models.history import HistoryProperties
from soro_mechanics.actuator_models.hysteresis import PrandtlIshlinskii
from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput, UnknownName
from soro_mechanics.core.status import Code
from soro_mechanics.identification.fit import NotIdentifiable
from soro_mechanics.identification.offsets import FoundOffset
from soro_mechanics.robot import Robot
from soro_mechanics.robot_file.reader import RobotDescription
from soro_mechanics.robot_file.schema2.round_trip import RoundTrip, styled

UNKNOWNS = ('hysteresis', 'creep', 'delay')
THRESHOLDS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.5, 7.5, 10.0]) / 100.0  # of the range
MOST, FEWEST = 200, 60  # poses that are fitted, evenly spread over the motion
EDGE = 0.5  # s, of the motion: the longest delay
UNITS = {'time': 's', 'delay': 's'}
ERRORS = ('before', 'after', 'held_before', 'held_after')
LEVEL = 0.95  # of every interval by itself
# Largest standard deviations: of a width and a part of creep, of log(time), of the delay [s]
LOOSE = {'width': 0.01, 'creep': 0.01, 'time': 0.3, 'delay': 0.02}
PART, TIME, STEPS = 0.05, 3.0, 30  # at first, of creep; s; of the search
VAGUE, FINEST = 0.5, 1e-4  # what is known before: deviation of every number; m, of a tracker
SPANS = 2.0  # times of creep that a motion has to last
REMEDY = (
    'what is far beyond the tracker is of the model or a swing of the body. Fit the numbers of '
    'the robot first (without --history); move every drive by more, slower and longer'
)
NEAR = 0.005  # of the range: that far away a Jacobian is still the same, to about one percent
MIN_SLOPE = 0.05  # (assumed) behind a reversal, of the gain: the inverse would jump below it


@dataclass(frozen=True, eq=False)
class Movement:
    """Actuators and tip over time, on one clock."""

    time: Array  # (n,) [s]
    actuation: Array  # (n, m) [SI]
    seen: Array  # (k,) [s]
    points: Array  # (k, 3) of the tip, base_link [m]


@dataclass(frozen=True, eq=False)
class HistoryFit:
    """What was found, and how well fitted and held-out poses are met before and after."""

    history: HistoryProperties
    found: tuple[FoundOffset, ...]  # intervals of `LEVEL`: width, gain, creep, time, delay
    errors: dict[str, float]  # by `ERRORS`: RMS [m]
    seen: Array  # (k,) times [s] of what follows
    distances: Array  # (2, k) from the tip before and after [m]

    @property
    def better(self) -> bool:
        """Whether what the fit has not seen is met better than before."""
        return self.errors['held_after'] < self.errors['held_before']


def identify_history(
    robot: Robot, data: Movement, unknowns: Sequence[str], hold_out: float = 0.3
) -> HistoryFit:
    """Find some of `UNKNOWNS`; the last part `hold_out` of the motion is kept for the test.

    Raises NotIdentifiable: no reversals, too short, or too noisy, by names; InvalidInput: nothing
    to fit, or the model has no shape on the way.
    """
    from scipy.optimize import least_squares
    from scipy.stats import t as student

    p = _Problem(robot, data, unknowns)
    train = round((1.0 - hold_out) * len(p.chosen))
    rows, start = slice(0, 3 * train), p.start[p.free]
    prior = FINEST / VAGUE * np.eye(len(start))[:-3]
    fit = least_squares(
        lambda x: np.concatenate([p.solved(x)[0][rows], prior @ (x - start)]),
        start,
        lambda x: np.concatenate([p.solved(x)[1][rows], prior]),
        x_scale='jac',
        ftol=1e-6,
        max_nfev=STEPS,
    )
    x, count = fit.x, 3 * train - len(start)
    late = 'creep' in unknowns and SPANS * np.exp(p.parts(x)[2]) > np.ptp(data.time)
    residual, jacobian = p.solved(x)[0].reshape(-1, 3), p.solved(x)[1][rows]
    left = 1e3 * np.sqrt(np.mean(np.sum(residual[:train] ** 2, axis=1)))
    remedy = f'{len(start)} numbers leave {left:.3g} mm of {train} poses: {REMEDY}'
    if late or not fit.success:
        said = 'too slow or small for this motion' if late else f'no end after {STEPS} steps'
        raise NotIdentifiable([['creep'] if late else list(unknowns)], [np.inf], [said], remedy)
    noise = float(np.sum(residual[:train] ** 2)) / count * _correlated(residual[:train])
    noise = max(noise, FINEST**2)
    covariance = np.linalg.inv(jacobian.T @ jacobian + prior.T @ prior) * noise
    quantile, found, loose = float(student.ppf(0.5 + 0.5 * LEVEL, df=count)), [], []
    for name, value, slope in p.derived(x):
        deviation = float(np.sqrt(slope @ covariance @ slope))
        kind, _, _ = name.partition('_')
        if not deviation < LOOSE.get(kind, np.inf):
            size = f'{deviation:.2g} s' if kind == 'delay' else f'{deviation:.0%}'
            loose.append((name, deviation, f'standard deviation {size}'))
        ends = value + quantile * deviation * np.array([0.0, -1.0, 1.0])
        ends = np.exp(ends) if kind == 'time' else ends
        found.append(FoundOffset(name, UNITS.get(kind, '1'), *ends.tolist()))
    if loose:
        names, deviations, told = zip(*loose, strict=True)
        raise NotIdentifiable([[name] for name in names], deviations, told, remedy)
    still = p.without().reshape(-1, 3)
    distances = np.linalg.norm([still - still[:train].mean(axis=0), residual], axis=2)
    parts = (*distances[:, :train], *distances[:, train:])
    errors = {k: float(np.sqrt(np.mean(e**2))) for k, e in zip(ERRORS, parts, strict=True)}
    return HistoryFit(p.history(x), tuple(found), errors, data.seen[p.chosen], distances)


def write_history(
    robot: RobotDescription, fit: HistoryFit, target: str | os.PathLike[str]
) -> None:
    """Write a copy of a robot file (schema 2) with what was found."""
    document, found = RoundTrip(robot.file), fit.history
    origin = {'source': 'fitted', 'note': f'rms {1e3 * fit.errors["held_after"]:.3g} mm, held out'}
    for i, drive in enumerate(robot.actuators):
        node = document.tree['drives'][i]
        shares = found.thresholds[i] / (drive.maximum - drive.minimum)
        if shares.any():
            values = {'thresholds': shares, 'weights': found.weights[i]}
            numbers = {k: {'value': np.round(v, 6).tolist()} | origin for k, v in values.items()}
            node['hysteresis'] = styled({'operator': 'prandtl_ishlinskii', **numbers})
        part, time = (float(np.asarray(v)[0, i]) for v in vars(found.creep).values())
        if part > 0.0:
            value = {'value': round(part, 5)} | origin
            node['creep'] = styled({'part': value, 'time_constant': f'{time:.4g} s'})
    document.save(target)


def _correlated(residual: Array) -> float:
    """Return the integrated autocorrelation time of residuals (n, 3), one or more samples."""
    total, power = 1.0, float(np.sum(residual**2))
    for lag in range(1, len(residual) // 3):
        part = float(np.sum(residual[lag:] * residual[:-lag])) / power
        if part < 2.0 / np.sqrt(len(residual)):
            break
        total += 2.0 * part
    return total


class _Problem:
    """Distances of the tip in a motion and their slope.

    All numbers, of m drives: weights (m k), parts (m), log(time), delay, constant (3); those that
    are not `free` stay as they are at the start.
    """

    def __init__(self, robot: Robot, data: Movement, unknowns: Sequence[str]) -> None:
        for name in unknowns or ('',):
            if name not in UNKNOWNS:
                raise UnknownName('history', name, UNKNOWNS)
        self._robot, self._data = robot, data
        self._rest = robot.description.rest
        self._span = span = np.ptp(robot.limits, axis=1)
        drives, m, k = [a.name for a in robot.actuators], len(span), len(THRESHOLDS)
        plays = THRESHOLDS < 0.4 * np.ptp(data.actuation / span, axis=0)[:, None]
        plays &= 'hysteresis' in unknowns
        self._thresholds = np.where(plays, THRESHOLDS * span[:, None], 0.0)
        names = [f'hysteresis_{drive}' for drive in drives for _ in THRESHOLDS]
        names += [*(f'creep_{drive}' for drive in drives), 'time', 'delay', *'xyz']
        creeps = 'creep' in unknowns
        self.free = np.array(
            [*plays.ravel(), *[creeps] * (m + 1), 'delay' in unknowns, *[True] * 3]
        )
        self.names = [name for name, free in zip(names, self.free, strict=True) if free]
        self.start = np.zeros(len(names))
        self.start[: m * k : k] = 1.0
        self.start[m * k :][: m + 1] = [creeps * PART] * m + [np.log(TIME)]
        self.chosen = self._choose()
        self._known: tuple[Array, Array, Array] | None = None
        self._last: list[Configuration | None] = [None] * len(self.chosen)
        self._slopes: dict[int, tuple[Array, Array]] = {}  # by pose: actuation and its Jacobian

    def _choose(self) -> NDArray[np.int_]:
        """Return which poses count: those that the unknown past before the motion has left."""
        time, u, seen = self._data.time, self._data.actuation, self._data.seen
        swept = np.maximum.accumulate(u) - np.minimum.accumulate(u)
        ready = (swept >= 2.0 * self._thresholds.max(axis=1)).all(axis=1)
        first = max(time[int(np.argmax(ready))], time[0] + EDGE)
        inside = np.flatnonzero((seen >= first) & (seen <= time[-1] - EDGE))
        if len(inside) < FEWEST:
            expected = f'at least {FEWEST} poses during the motion'
            raise InvalidInput('poses', len(inside), expected, Code.INVALID_SIZE)
        return inside[np.linspace(0, len(inside) - 1, min(MOST, len(inside))).astype(int)]

    def parts(self, x: Array) -> tuple[Array, Array, float, float, Array]:
        """Return weights (m, k), parts of creep (m,), log(time), delay and constant (3,)."""
        every = self.start.copy()
        every[self.free] = x
        ends = np.cumsum([self._thresholds.size, len(self._thresholds), 2])
        weights, part, (time, delay), constant = np.split(every, ends)
        return weights.reshape(self._thresholds.shape), part, time, delay, constant

    def history(self, x: Array) -> HistoryProperties:
        """Return the operators; InvalidInput: a drive moves nothing, or the wrong way."""
        weights, part, time, *_ = self.parts(x)
        total = np.cumsum(weights, axis=1)
        total = np.maximum(total, MIN_SLOPE * total[:, -1:])
        weights = np.diff(total, axis=1, prepend=0.0)
        thresholds = np.maximum.accumulate(self._thresholds, axis=1)
        PrandtlIshlinskii(thresholds, weights, np.zeros_like(weights))
        times = np.full((1, len(part)), np.exp(time))
        return HistoryProperties(
            thresholds, weights, CreepProperties(np.maximum(part, 0.0)[None], times)
        )

    def derived(self, x: Array) -> list[tuple[str, float, Array]]:
        """Return name, value and slope (p,) of what is reported; the time as a logarithm."""
        rows, unit = [], np.eye(len(self.free))[:, self.free]
        weights, *_ = self.parts(x)
        for i, drive in enumerate(self._robot.actuators):
            own = unit[i * len(THRESHOLDS) :][: len(THRESHOLDS)]
            gain = float(weights[i].sum())
            width = 2.0 * float(weights[i] @ THRESHOLDS) / gain  # of the widest loop, of the range
            if own.any():
                slope = (2.0 * THRESHOLDS - width) / gain @ own
                rows.append((f'width_{drive.name}', width, slope))
                rows.append((f'gain_{drive.name}', gain, own.sum(axis=0)))
        alone = zip(self.names, x.tolist(), np.eye(len(x)), strict=True)
        return rows + [row for row in alone if row[0].partition('_')[0] in LOOSE]

    def without(self) -> Array:
        """Return the residuals (3 k) of a robot without any past [m]."""
        x = self.start.copy()
        x[self._thresholds.size :][: len(self._rest)] = 0.0
        return self.solved(x[self.free])[0]

    def solved(self, x: Array) -> tuple[Array, Array]:
        """Return tip minus measured, (3 k) [m], and its slope (3 k, p)."""
        if self._known is not None and np.array_equal(self._known[0], x):
            return self._known[1:]
        *_, delay, constant = self.parts(x)
        felt, slopes = self._feel(x)
        time, wanted = self._data.time, self._data.seen[self.chosen] - delay
        right = np.searchsorted(time, wanted).clip(1, len(time) - 1)
        left, width = right - 1, (time[right] - time[right - 1])[:, None]
        share = (wanted - time[left])[:, None] / width
        values = felt[left] + share * (felt[right] - felt[left])
        change = slopes[left] + share[:, :, None] * (slopes[right] - slopes[left])
        change[:, :, -4] = (felt[left] - felt[right]) / width
        tips, rows = np.empty((len(values), 3)), np.empty((len(values), 3, len(self.free)))
        for i, value in enumerate(values):
            q = self._robot.forward(value, None, self._last[i] or self._last[i - 1])
            if q.status.code != Code.NONE:
                expected = f'an actuation with an equilibrium ({q.status.code.name})'
                raise InvalidInput(f'pose {self.chosen[i]}', value.tolist(), expected)
            self._last[i], tips[i] = q, q.tip[:3, 3]
            known = self._slopes.get(i)
            if known is None or np.any(np.abs(value - known[0]) >= NEAR * self._span):
                known = self._slopes[i] = value, self._robot.jacobian(q)[:3]
            rows[i] = known[1] @ change[i]
        rows[:, :, -3:] = np.eye(3)
        residual = (tips + constant - self._data.points[self.chosen]).ravel()
        self._known = np.array(x), residual, rows[:, :, self.free].reshape(len(residual), -1)
        return self._known[1:]

    def _feel(self, x: Array) -> tuple[Array, Array]:
        """Return what the body feels (n, m) [SI] and its slopes by all numbers, delay left out."""
        weights, part, time, *_ = self.parts(x)
        u, tau, r, (m, k) = (
            self._data.actuation - self._rest,
            np.exp(time),
            self._thresholds,
            weights.shape,
        )
        steps, own = np.diff(self._data.time, prepend=self._data.time[0]) / tau, np.arange(m)
        felt, slopes = np.empty_like(u), np.zeros((*u.shape, len(self.free)))
        of_plays = slopes[:, :, : m * k].reshape(len(u), m, m, k)
        late, late_slope, z = u[0].copy(), np.zeros(m), np.repeat(u[:1].T, k, 1)
        by_part, by_time = np.zeros_like(z), np.zeros_like(z)
        for n, step in enumerate(steps):
            late_slope = np.exp(-step) * (late_slope - step * (u[n] - late))
            behind = np.exp(-step) * (late - u[n])
            late, now = u[n] + behind, (u[n] + part * behind)[:, None]
            touched = np.maximum(now - r, np.minimum(now + r, z))
            moves = (touched != z) | (r == 0.0)
            by_part = np.where(moves, behind[:, None], by_part)
            by_time = np.where(moves, (part * late_slope)[:, None], by_time)
            z, felt[n] = touched, (weights * touched).sum(axis=1)
            of_plays[n, own, own] = z
            slopes[n, own, m * k + own] = (weights * by_part).sum(axis=1)
            slopes[n, own, m * k + m] = (weights * by_time).sum(axis=1)
        return felt + self._rest, slopes
