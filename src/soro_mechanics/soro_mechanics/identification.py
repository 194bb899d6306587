# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit numbers of a robot file to measured poses of the tip; say how sure the result is.

Weighted nonlinear least squares with the model itself as the prediction; the deviations of
position and orientation are estimated from the residuals (two passes). The covariance is
``(J^T W J)^-1``; intervals are simultaneous (Bonferroni). What the data cannot tell apart is found
in the covariance: an eigenvector with a large standard deviation names its parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import time as clock

import numpy as np

from soro_mechanics import lie
from soro_mechanics.configuration import Array, Configuration
from soro_mechanics.errors import InvalidInput, SoroError
from soro_mechanics.identification_parameters import ParameterSpace
from soro_mechanics.robot import Robot
from soro_mechanics.status import Code

STEP = 1e-3  # of a factor, for central differences: far above the solvers' residuals
LEAST, MOST = 0.05, 20.0  # factors that are tried
LENGTH = 0.05  # m: one radian counts as much as this in the first pass, before noise is known
DEPENDENT = 1e-7  # ratio of singular values below which columns are dependent in double precision
LOOSE = 0.15  # largest relative standard deviation of any direction that counts as identified
SHARE = 0.3  # of the largest component: who belongs to a direction that is not identified
LEVEL = 0.99


@dataclass(frozen=True)
class Observations:
    """Resting postures of a robot.

    Attributes
    ----------
    actuation : ndarray, shape (n, m) [SI]
    poses : ndarray, shape (n, 4, 4)
        Measured tip in base_link.
    wrenches : ndarray, shape (n, 6) [N, N m]
        Known loads at the tip, axes of base_link.
    oriented : bool
        Whether the orientations were measured too.
    """

    actuation: Array
    poses: Array
    wrenches: Array
    oriented: bool = True

    def __len__(self) -> int:
        return len(self.actuation)

    def part(self, chosen: Array) -> Observations:
        """Return some of the postures."""
        return Observations(
            self.actuation[chosen], self.poses[chosen], self.wrenches[chosen], self.oriented
        )


class NotIdentifiable(SoroError, ValueError):
    """The data cannot tell parameters apart; `groups` names them, `deviations` says how badly."""

    code = Code.UNSUPPORTED

    def __init__(self, groups: Sequence[Sequence[str]], deviations: Sequence[float]) -> None:
        self.groups = tuple(tuple(g) for g in groups)
        self.deviations = tuple(deviations)
        parts = [
            f'{_joined(group)} ({_how_badly(group, deviation)})'
            for group, deviation in zip(self.groups, self.deviations, strict=True)
        ]
        super().__init__(
            f'the data cannot tell: {"; ".join(parts)}. Hold one of them fixed, or record '
            'other postures or known loads'
        )


@dataclass(frozen=True)
class Errors:
    """Root mean squares over postures: position [m], orientation [rad] (NaN if not measured)."""

    position: float
    orientation: float


@dataclass(frozen=True)
class Identification:
    """Result of `identify`.

    Attributes
    ----------
    names : tuple of str
    factors, low, high : ndarray, shape (p,)
        On the numbers of the robot file, with simultaneous intervals of `level`.
    correlation : ndarray, shape (p, p)
    before, after, held_before, held_after : Errors
        Of the training postures and of those held out.
    noise : Errors
        Standard deviations of one component, as estimated.
    iterations : int
    time : float [s]
    """

    names: tuple[str, ...]
    factors: Array
    low: Array
    high: Array
    level: float
    correlation: Array
    before: Errors
    after: Errors
    held_before: Errors
    held_after: Errors
    noise: Errors
    iterations: int
    time: float

    @property
    def better(self) -> bool:
        """Whether postures that the fit has not seen are met better than before."""
        return self.held_after.position < self.held_before.position


def identify(
    space: ParameterSpace,
    model: str,
    data: Observations,
    *,
    gravity: Array | None = None,
    hold_out: float = 0.3,
    seed: int = 0,
) -> Identification:
    """Fit the parameters of a space to observations.

    Parameters
    ----------
    space : ParameterSpace
    model : str
        Of the robot.
    data : Observations
    gravity : ndarray, shape (3,), optional [m/s^2]
        Default: the robot file's.
    hold_out : float
        Share of the postures that the fit does not see.
    seed : int
        Of the choice of those.

    Raises
    ------
    InvalidInput
        Too few postures, not finite, or no equilibrium at the start.
    NotIdentifiable
        The data cannot tell parameters apart.
    """
    from scipy.optimize import least_squares
    from scipy.stats import norm

    begin = clock.perf_counter()
    _check(data, len(space.names))
    train, held = split(len(data), hold_out, seed)
    problem = _Problem(space, model, data.part(train), gravity)
    start = np.ones(len(space.names))
    before = problem.residuals(start)
    _refuse_dependent(space.names, problem.slope(start))
    weight, iterations, x = problem.weights(None), 0, start
    for _ in range(2):
        found = least_squares(
            lambda f, w=weight: w * problem.residuals(f), x,
            lambda f, w=weight: w[:, None] * problem.slope(f), bounds=(LEAST, MOST),
            xtol=1e-8, ftol=1e-10,
        )  # fmt: skip
        x, iterations = found.x, iterations + int(found.nfev)
        noise = problem.noise(x)
        weight = problem.weights(noise)
    jacobian = weight[:, None] * problem.slope(x)
    _refuse_dependent(space.names, jacobian)
    covariance: Array = np.linalg.inv(jacobian.T @ jacobian).astype(np.float64)
    _refuse_loose(space.names, covariance)
    deviation = np.sqrt(np.diag(covariance))
    width = float(norm.ppf(1.0 - (1.0 - LEVEL) / (2 * len(x)))) * deviation
    other = _Problem(space, model, data.part(held), gravity)
    return Identification(
        space.names, x, x - width, x + width, LEVEL,
        covariance / np.outer(deviation, deviation), problem.errors(before),
        problem.errors(problem.residuals(x)), other.errors(other.residuals(start)),
        other.errors(other.residuals(x)), noise, iterations, clock.perf_counter() - begin,
    )  # fmt: skip


def split(count: int, share: float, seed: int) -> tuple[Array, Array]:
    """Return indices of training and held-out postures; at least two are held out."""
    order = np.random.default_rng(seed).permutation(count)
    cut = max(2, round(share * count))
    return np.sort(order[cut:]), np.sort(order[:cut])


def predict(robot: Robot, data: Observations) -> list[Configuration]:
    """Return the robot's equilibrium for every posture, each started from the one before."""
    found: list[Configuration] = []
    guess = None
    for actuation, wrench in zip(data.actuation, data.wrenches, strict=True):
        q = robot.forward(actuation, wrench, guess)
        if q.status.code != Code.NONE and guess is not None:
            q = robot.forward(actuation, wrench)
        guess = q if q.status.code == Code.NONE else None
        found.append(q)
    return found


class _Problem:
    """Residuals and their slope.

    A solution is never a guess for a robot of other numbers: a model may keep in it what it found
    out about its own material.
    """

    def __init__(
        self, space: ParameterSpace, model: str, data: Observations, gravity: Array | None
    ) -> None:
        self._space, self._model, self._data, self._gravity = space, model, data, gravity
        self._at: tuple[Array, Array] | None = None

    def residuals(self, factors: Array) -> Array:
        """Return position errors [m], then orientation errors [rad], shape (3 n) or (6 n)."""
        if self._at is not None and np.array_equal(self._at[0], factors):
            return self._at[1]
        found = self._solve(factors)
        values = self._compare(found)
        self._at = (np.array(factors), values)
        return values

    def slope(self, factors: Array) -> Array:
        """Return d residuals / d factors by central differences."""
        columns = []
        for unit in np.eye(len(factors)):
            high = self._compare(self._solve(factors + STEP * unit))
            low = self._compare(self._solve(factors - STEP * unit))
            columns.append((high - low) / (2.0 * STEP))
        return np.array(columns).T

    def weights(self, noise: Errors | None) -> Array:
        """Return one weight per residual."""
        n = 3 * len(self._data)
        position, turn = (1.0, LENGTH) if noise is None else (1.0 / noise.position,
                                                              1.0 / noise.orientation)  # fmt: skip
        parts = [np.full(n, position)]
        if self._data.oriented:
            parts.append(np.full(n, turn))
        return np.concatenate(parts)

    def noise(self, factors: Array) -> Errors:
        """Return the standard deviation of one component of position and orientation."""
        values = self.residuals(factors)
        n = 3 * len(self._data)
        # What the parameters have used up of the degrees of freedom, shared by both kinds.
        free = 1.0 - len(factors) / len(values)
        position = float(np.sqrt(np.mean(values[:n] ** 2) / free))
        turn = float(np.sqrt(np.mean(values[n:] ** 2) / free)) if self._data.oriented else np.nan
        return Errors(max(position, _TINY), max(turn, _TINY) if self._data.oriented else turn)

    def errors(self, values: Array) -> Errors:
        """Return root mean squares over postures."""
        n = 3 * len(self._data)
        blocks = [values[:n].reshape(-1, 3), values[n:].reshape(-1, 3)]
        rms = [float(np.sqrt(np.mean(np.sum(b**2, axis=1)))) if b.size else np.nan for b in blocks]
        return Errors(rms[0], rms[1])

    def _solve(self, factors: Array) -> list[Configuration]:
        try:
            robot = self._space.robot(factors.tolist(), self._model)
        except SoroError as error:
            raise InvalidInput(
                'factors', factors.tolist(), f'a possible robot ({error})'
            ) from None
        if self._gravity is not None:
            robot.gravity = self._gravity
        found = predict(robot, self._data)
        for i, q in enumerate(found):
            if q.status.code != Code.NONE:
                raise InvalidInput(
                    f'posture {i}', self._data.actuation[i].tolist(),
                    f'an actuation with an equilibrium ({q.status.code.name})',
                )  # fmt: skip
        return found

    def _compare(self, found: list[Configuration]) -> Array:
        tips = np.array([q.tip for q in found])
        parts = [(tips[:, :3, 3] - self._data.poses[:, :3, 3]).ravel()]
        if self._data.oriented:
            turns = np.einsum('nji,njk->nik', self._data.poses[:, :3, :3], tips[:, :3, :3])
            parts.append(np.array([rotation_vector(turn) for turn in turns]).ravel())
        return np.concatenate(parts)


_TINY = 1e-12  # m or rad: exact synthetic data has no noise, and a weight must stay finite


def rotation_vector(rotation: Array) -> Array:
    """Return the rotation vector of a rotation matrix, shape (3,) [rad]."""
    return np.asarray(lie.so3_log(np.ascontiguousarray(rotation)))


def _check(data: Observations, parameters: int) -> None:
    if len(data) < parameters + 4:
        raise InvalidInput(
            'postures', len(data), f'at least {parameters + 4} for {parameters} parameters'
        )
    for name in ('actuation', 'poses', 'wrenches'):
        if not np.isfinite(getattr(data, name)).all():
            raise InvalidInput(name, 'not finite', 'finite numbers', Code.NOT_FINITE)


def _refuse_dependent(names: Sequence[str], jacobian: Array) -> None:
    size = np.linalg.norm(jacobian, axis=0)
    silent = [name for name, s in zip(names, size, strict=True) if s <= DEPENDENT * size.max()]
    if silent or not size.max() > 0.0:
        raise NotIdentifiable(
            [[name] for name in silent or names], [np.inf] * len(silent or names)
        )
    _, values, vectors = np.linalg.svd(jacobian / size, full_matrices=False)
    groups = [
        _members(names, vector)
        for value, vector in zip(values, vectors, strict=True)
        if value < DEPENDENT * values[0]
    ]
    if groups:
        raise NotIdentifiable(groups, [np.inf] * len(groups))


def _refuse_loose(names: Sequence[str], covariance: Array) -> None:
    values, vectors = np.linalg.eigh(covariance)
    loose = [i for i in range(len(values)) if not np.sqrt(values[i]) < LOOSE]
    if loose:
        raise NotIdentifiable(
            [_members(names, vectors[:, i]) for i in loose],
            [float(np.sqrt(values[i])) for i in loose],
        )


def _members(names: Sequence[str], vector: Array) -> list[str]:
    share = np.abs(vector) / np.abs(vector).max()
    return [name for name, x in zip(names, share, strict=True) if x > SHARE]


def _how_badly(group: Sequence[str], deviation: float) -> str:
    if np.isfinite(deviation):
        return f'standard deviation {deviation:.0%}'
    return 'without effect' if len(group) == 1 else 'exactly dependent'


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f'{", ".join(names[:-1])} and {names[-1]} apart'
