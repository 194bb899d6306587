# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedforward trajectories: sample a curve by arc length, solve every point, give each its time.

Algorithm 4 of Huang et al. (feedforward tracking) in three steps that can be used alone:
`sample_curve` -> `solve_path` -> `schedule`. `tracking_error` is its equation (36).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
from typing import Any

import numpy as np

from soro_mechanics.analysis.curves import Curve
from soro_mechanics.core.array_input import bound_array, finite_array, finite_rows
from soro_mechanics.core.configuration import (
    Array,
    InverseSolution,
    Load,
    ORIENTATION_TOLERANCE,
    POSITION_TOLERANCE,
    Task,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code, Warnings
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

# A vertex that turns by more is a corner and stays a sample; smooth curves here turn by 0.1 deg.
CORNER = math.radians(10.0)
BACK = -0.9  # cosine of a turn: the path comes back where it went
TURN = math.radians(5.0)  # of one interval on average: its chord is off by 1/1000 of the radius
MAX_POINTS = 100_000
TOO_MANY = 100  # points that are not reached: each takes long, of a path in millimetres all are


@dataclass(frozen=True, eq=False)
class SampledPath:
    """Points along a curve."""

    poses: Array  # (n, 4, 4) in base_link
    arc_length: Array  # (n,) along the curve; not decreasing [m]

    @property
    def positions(self) -> Array:
        """Shape (n, 3) [m]."""
        return self.poses[:, :3, 3]


@dataclass(frozen=True, eq=False)
class PathSolution:
    """Actuation at every point of a path."""

    actuation: Array  # (n, m) SI; at failed points the best that was found
    tip: Array  # (n, 4, 4) where the model's tip is at these actuations
    codes: tuple[Code, ...]
    failed: tuple[int, ...]  # indices of points that were not reached; `TOO_MANY` end it there
    message: str  # what stopped the first failed point; empty when there is none
    complete: bool  # False when it was cancelled before the end
    warnings: Warnings = Warnings.NONE  # of the equilibria at any of the points


@dataclass(frozen=True, eq=False)
class Schedule:
    """A path with its times."""

    time: Array  # (n,) of every point, from zero, not decreasing [s]
    actuation: Array  # (n, m)
    positions: Array  # (n, 3) [m]
    # share of the duration in which an actuator's rate, not the speed, sets the pace
    slew_bound: float
    # (n - 1, 3) or None: constant speeds; of every interval the speeds at its ends [m/s], and the
    # part of its duration that takes it from rest to its speed, and back, where both are zero
    ease: Array | None = None

    @property
    def duration(self) -> float:
        """From the first point to the last one [s]."""
        return float(self.time[-1])

    def actuation_at(self, time: float) -> Array:
        """Return the actuation (m,) at a time [s]; held before the beginning and after the end."""
        return self._at(self.actuation, time)

    def position_at(self, time: float) -> Array:
        """Return the desired position (3,) at a time [s]."""
        return self._at(self.positions, time)

    def point_at(self, time: float) -> int:
        """Return the index of the last point that is not later than a time."""
        index = int(np.searchsorted(self.time, time, side='right')) - 1
        return min(max(index, 0), len(self.time) - 1)

    def _at(self, table: Array, time: float) -> Array:
        i = self.point_at(time)
        if i == len(self.time) - 1 or time <= self.time[0]:
            return np.array(table[i])
        weight = (time - self.time[i]) / (self.time[i + 1] - self.time[i])
        if self.ease is not None:
            weight = _eased_weight(weight, *self.ease[i])
        return (1.0 - weight) * table[i] + weight * table[i + 1]


def sample_curve(curve: Curve, spacing: float, repetitions: int = 1) -> SampledPath:
    """Return points along a curve, at most `spacing` [m] of arc length apart.

    Between corners the points are equally spaced, so that each piece has a whole number of
    intervals; corners are always points. A piece that is small against the spacing still has an
    interval for every 5 degrees of its turning (one for every vertex where these are fewer), so
    that it keeps its shape. Orientations turn at a constant rate between vertices.
    A closed curve is repeated in the same sense, an open one there and back.

    Raises InvalidInput: `spacing` or `repetitions` is out of range, or more than `MAX_POINTS`
    would follow.
    """
    step = float(finite_array('spacing', spacing, ()))
    if step <= 0.0:
        raise InvalidInput('spacing', spacing, 'a length greater than zero [m]')
    if repetitions < 1:
        raise InvalidInput('repetitions', repetitions, 'at least 1')
    lengths = np.linalg.norm(np.diff(curve.positions, axis=0), axis=1)
    s = np.concatenate([[0.0], np.cumsum(lengths)])
    if s[-1] / step * repetitions > MAX_POINTS:
        raise InvalidInput('spacing', spacing, f'a value that gives at most {MAX_POINTS} points')
    vertex = _sampled_vertices(curve.positions, s, step)
    once = len(vertex) - 1  # corners and turns on the spot are points, too
    if once * repetitions > MAX_POINTS:
        expected = f'at most {MAX_POINTS} points, one pass adds {once}'
        raise InvalidInput('repetitions', repetitions, expected)
    arc = np.interp(vertex, np.arange(len(s)), s)
    return _repeated(SampledPath(_poses_at(curve.poses, vertex), arc), curve.closed, repetitions)


def _sampled_vertices(points: Array, s: Array, step: float) -> Array:
    """Return where the samples are, as fractional vertex indices."""
    turns = _turns(points, s)
    knots = _knots(turns, s)
    where = [np.zeros(1)]
    for a, b in zip(knots[:-1], knots[1:], strict=True):
        intervals = math.ceil((s[b] - s[a]) / step - 1e-9)  # 1e-9: 10 mm in steps of 1 mm is ten
        if intervals == 0:  # a turn on the spot
            where.append(np.array([float(b)]))
            continue
        turning = math.ceil(float(turns[a + 1 : b].sum()) / TURN - 1e-3)  # 1e-3: round-off
        intervals = max(intervals, min(turning, int(b - a)))
        targets = np.linspace(s[a], s[b], intervals + 1)[1:]
        inside = np.interp(targets, s[a : b + 1], np.arange(a, b + 1))
        inside[-1] = b
        where.append(inside)
    return np.concatenate(where)


def _turns(points: Array, s: Array) -> Array:
    """Return how far the path turns at every vertex [rad]; zero at those of turns on the spot."""
    lengths = np.diff(s)
    moving = lengths > 0.0
    chord = np.diff(points, axis=0) / np.where(moving, lengths, 1.0)[:, None]
    cosine = np.einsum('ij,ij->i', chord[:-1], chord[1:])
    turns = np.zeros(len(points))
    both = moving[:-1] & moving[1:]
    turns[1:-1][both] = np.arccos(np.clip(cosine[both], -1.0, 1.0))
    return turns


def _knots(turns: Array, s: Array) -> Array:
    """Return vertices that must be samples: the ends, corners, and those of turns on the spot."""
    sharp = np.flatnonzero(turns > CORNER)
    still = np.flatnonzero(np.diff(s) == 0.0)
    return np.unique(np.concatenate([[0], sharp, still, still + 1, [len(turns) - 1]]))


def _poses_at(poses: Array, vertex: Array) -> Array:
    index = np.floor(vertex).astype(int)
    after = np.minimum(index + 1, len(poses) - 1)
    weight = vertex - index
    result: Array = np.array(poses[index])
    result[:, :3, 3] += weight[:, None] * (poses[after, :3, 3] - poses[index, :3, 3])
    turning = np.any(poses[index, :3, :3] != poses[after, :3, :3], axis=(1, 2))
    for k in np.flatnonzero(turning & (weight > 0.0)):
        a, b = poses[index[k], :3, :3], poses[after[k], :3, :3]
        result[k, :3, :3] = a @ lie.so3_exp(weight[k] * lie.so3_log(a.T @ b))
    return result


def _repeated(path: SampledPath, closed: bool, repetitions: int) -> SampledPath:
    if len(path.poses) == 1:
        return path
    poses, arc = [path.poses], [path.arc_length]
    for k in range(1, repetitions):
        backwards = not closed and k % 2 == 1
        piece = path.poses[::-1] if backwards else path.poses
        steps = np.diff(path.arc_length)
        steps = steps[::-1] if backwards else steps
        poses.append(piece[1:])
        arc.append(arc[-1][-1] + np.cumsum(steps))
    return SampledPath(np.concatenate(poses), np.concatenate(arc))


def solve_path(
    robot: Robot,
    path: SampledPath,
    task: Task = Task.POSITION,
    wrench: Any = None,
    loads: Sequence[Load] = (),
    guess: Any = None,
    tolerances: tuple[float, float] = (POSITION_TOLERANCE, ORIENTATION_TOLERANCE),
    proceed: Callable[[int], bool] = lambda index: True,
) -> PathSolution:
    """Solve the inverse problem at every point, each started from the one before.

    Every point is tried, so that unreachable ones, up to `TOO_MANY`, are known before anything
    moves. Without a guess the first one is searched for from other postures too, and until one is
    reached the next begin at the nearest posture found.

    Parameters
    ----------
    wrench : array_like, shape (6,), optional
        Dead load at the tip, axes of base_link.
    guess : Configuration or InverseSolution, optional
        To start the first point from.
    tolerances : tuple of float
        [m], [rad]
    proceed : callable
        Called with the index before each point; False cancels.
    """
    n, m = len(path.poses), len(robot.actuators)
    actuation, tip = np.empty((n, m)), np.empty((n, 4, 4))
    codes: list[Code] = []
    message, warnings, doubt = '', Warnings.NONE, ''
    begun, complete, missed = guess is not None, True, 0
    for i, pose in enumerate(path.poses):
        if missed == TOO_MANY or not (complete := proceed(i)):
            break
        s = robot.inverse(pose, wrench, guess, loads, task, *tolerances)
        actuation[i], tip[i] = s.actuation, s.configuration.tip
        codes.append(s.status.code)
        warnings |= s.configuration.status.warnings
        reached = s.status.code is Code.NONE
        if reached or (not begun and s.configuration.status.converged):
            guess = s
        begun = begun or reached
        message = message or ('' if reached else _reason(i, pose, s))
        if reached and s.configuration.status.warnings and not doubt:
            doubt = f'point {i}: {s.configuration.status.message}'
        missed += not reached
    solved = actuation[: len(codes)], tip[: len(codes)], tuple(codes), _bad(codes)
    return PathSolution(*solved, message or doubt, complete, warnings)


def _bad(codes: Sequence[Code]) -> tuple[int, ...]:
    return tuple(i for i, code in enumerate(codes) if code is not Code.NONE)


def _reason(index: int, pose: Array, solution: InverseSolution) -> str:
    x, y, z = pose[:3, 3]
    return f'point {index} at ({x:.4f}, {y:.4f}, {z:.4f}) m: {solution.status.doubt}'


def schedule(
    path: SampledPath, actuation: Any, speed: float, rates: Any, acceleration: float = math.inf
) -> Schedule:
    """Give every point its time: as fast as all limits allow.

    With limits on first derivatives only, the least time of an interval is the longest of what the
    tip's speed and each actuator's rate need, and the sum of these is the time optimum along the
    path. A limit on the acceleration along the path is met by a forward and a backward pass over
    the squared speed (Bobrow 1985 for one path derivative), starting and ending at rest, and
    standing still for every turn on the spot and where the path turns back.

    Parameters
    ----------
    actuation : array_like, shape (n, m)
        SI, at the points.
    speed : float
        Greatest speed of the tip along the path [m/s].
    rates : array_like, shape (m,)
        Greatest rate of each actuator [SI/s].
    acceleration : float
        Greatest acceleration along the path [m/s^2].
    """
    n = len(path.poses)
    table = finite_array('actuation', actuation, (n, np.shape(actuation)[-1]))
    limit = finite_array('rates', rates, (table.shape[1],))
    speed = bound_array('speed', (speed,), 1).item()
    acceleration = bound_array('acceleration', (acceleration,), 1).item()
    for name, value in (('speed', speed), ('acceleration', acceleration), ('rates', limit.min())):
        if not value > 0.0:
            raise InvalidInput(name, value, 'greater than zero')
    if n == 1:
        return Schedule(np.zeros(1), table, path.positions, 0.0)
    step = np.diff(path.arc_length)
    slew = np.max(np.abs(np.diff(table, axis=0)) / limit, axis=1)
    cruise = step / speed
    least = np.maximum(cruise, slew)
    duration, ease = least, None
    if not math.isinf(acceleration):
        duration, ease = _eased(path.positions, step, least, acceleration)
    total = float(duration.sum())
    bound = float(duration[slew > cruise].sum()) / total if total > 0.0 else 0.0
    time = np.concatenate([[0.0], np.cumsum(duration)])
    return Schedule(time, table, path.positions, bound, ease)


def _eased_weight(time: float, begin: float, end: float, ramp: float) -> float:
    """Return which part of an interval is behind at a part of its time; see `Schedule.ease`."""
    if begin + end > 0.0:
        return time * (2.0 * begin + (end - begin) * time) / (begin + end)
    edge = min(time, 1.0 - time)
    way = (edge - 0.5 * ramp if edge >= ramp else 0.5 * edge**2 / ramp) / (1.0 - ramp)
    return way if time <= 0.5 else 1.0 - way


def _eased(points: Array, step: Array, least: Array, acceleration: float) -> tuple[Array, Array]:
    """Return durations and `ease` of all intervals, at rest at both ends."""
    # Intervals without length keep their time. Those that take some (a turn on the spot) are
    # entered and left at rest.
    moving = step > 0.0
    length, cap = step[moving], step[moving] / least[moving]
    squared = np.zeros(len(length) + 1)
    squared[1:-1] = np.minimum(cap[:-1], cap[1:]) ** 2
    squared[np.cumsum(moving)[~moving & (least > 0.0)]] = 0.0
    chord = np.diff(points, axis=0)[moving]
    back = np.einsum('ij,ij->i', chord[:-1], chord[1:]) < BACK * length[:-1] * length[1:]
    squared[1:-1][back] = 0.0
    gain = 2.0 * acceleration * length
    for i in range(1, len(squared)):
        squared[i] = min(squared[i], squared[i - 1] + gain[i - 1])
    for i in range(len(squared) - 2, -1, -1):
        squared[i] = min(squared[i], squared[i + 1] + gain[i])
    node = np.sqrt(squared)
    mean = 0.5 * (node[:-1] + node[1:])
    # Both ends at rest: a trapezoid, or a triangle where it is short.
    peak = np.minimum(cap, np.sqrt(acceleration * length))
    between = length / (length / peak + peak / acceleration)
    mean = np.where(mean > 0.0, mean, between)
    duration, ease = least.copy(), np.zeros((len(step), 3))
    duration[moving] = length / mean
    ease[moving] = np.column_stack([node[:-1], node[1:], peak * mean / (acceleration * length)])
    return duration, ease


def tracking_error(desired: Any, actual: Any) -> tuple[float, float, float]:
    """Return mean (36), root mean square and peak distance [m] of positions, shape (n, 3)."""
    there = finite_rows('desired', desired, 3)
    distance = np.linalg.norm(there - finite_array('actual', actual, there.shape), axis=-1)
    if distance.size == 0:
        return math.nan, math.nan, math.nan
    return float(distance.mean()), float(np.sqrt(np.mean(distance**2))), float(distance.max())
