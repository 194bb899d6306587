# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit numbers of a robot file to measured poses of the tip; say how sure the result is.

Weighted nonlinear least squares with the model itself as the prediction; the deviations of
position and orientation are estimated from the residuals (two passes). The covariance is
``(J^T W J)^-1``; intervals are simultaneous (Bonferroni), with Student's t, as the noise of each
kind is estimated. What the data cannot tell apart is found
in the covariance: an eigenvector with a large standard deviation names its parameters.

All that holds for residuals that are noise. An F test for lack of fit asks whether they follow
what the robot did (`Problem.suspects`). Then they do not average out, and the covariance is that
of one residual: an error of the model as large as what is left moves a number by a deviation of it
at most. What is alike in all postures, as friction where each is begun from rest, is not seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import time as clock

import numpy as np

from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.identification.offsets import FoundOffset, Offsets
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.identification.problem import Errors, leftover, Observations, predict, Problem

__all__ = [
    'Errors',
    'Identification',
    'NotIdentifiable',
    'Observations',
    'identify',
    'predict',
    'split',
]

LEAST, MOST = 0.05, 20.0  # factors that are tried
AT_END = 0.01  # of a value: the search keeps inside and comes only near an end
FARTHEST = 10.0  # offsets that are tried, in their scales: the whole range, the whole length
DEPENDENT = 1e-7  # ratio of singular values below which columns are dependent in double precision
# Largest standard deviation of any direction that counts as identified: of a factor, and of an
# offset in its scale, which makes 1.5 % of an actuator's range or of the body's length.
LOOSE = 0.15
MAX_STEPS = 40  # of a fit; ten are many, and along what cannot be told there is no end
SHARE = 0.3  # of the largest component: who belongs to a direction that is not identified
LEVEL = 0.99
SMALL = 1e-3  # of the strongest direction of suspects: what is left of one that is fitted
MOVED = 0.02  # of an actuator's range in the data: less is held, and noise of its sensor
CHANCE = 0.01  # that noise alone is called systematic


class NotIdentifiable(SoroError, ValueError):
    """The data cannot tell parameters apart: `groups` of their names.

    `deviations`: standard deviation of each group, of offsets in their scales; infinite where
    nothing can be told.
    """

    code = Code.UNSUPPORTED

    def __init__(
        self,
        groups: Sequence[Sequence[str]],
        deviations: Sequence[float],
        said: Sequence[str] = (),
        remedy: str = 'Hold one of them fixed, or record other postures or known loads',
    ) -> None:
        self.groups = tuple(tuple(g) for g in groups)
        self.deviations = tuple(deviations)
        said = said or [_how_badly(g, d) for g, d in zip(groups, deviations, strict=True)]
        parts = [f'{_joined(g)} ({how})' for g, how in zip(self.groups, said, strict=True)]
        super().__init__(f'the data cannot tell: {"; ".join(parts)}. {remedy}')


@dataclass(frozen=True, eq=False)
class Identification:
    """Result of `identify`."""

    names: tuple[str, ...]
    factors: Array  # (p,) on the numbers of the robot file, with simultaneous intervals of `level`
    low: Array  # (p,)
    high: Array  # (p,)
    level: float
    correlation: Array  # (p + k, p + k) of the factors and then the offsets
    before: Errors  # of the training postures
    after: Errors
    held_before: Errors  # of those held out
    held_after: Errors
    noise: Errors  # standard deviations of one component, as estimated
    iterations: int
    time: float  # [s]
    chance: float  # that noise alone follows what the robot did as much as what is left does
    # the k constant errors of the recording that were fitted too
    offsets: tuple[FoundOffset, ...] = ()

    @property
    def better(self) -> bool:
        """Whether postures that the fit has not seen are met better than before."""
        return self.held_after.position < self.held_before.position

    @property
    def systematic(self) -> bool:
        """Whether the model lacks something: intervals are widened, and of no known level."""
        return self.chance < CHANCE

    @property
    def interval(self) -> str:
        """What its intervals are, for a person."""
        return 'widened interval' if self.systematic else f'{self.level:.0%} interval'


def identify(
    space: ParameterSpace,
    model: str,
    data: Observations,
    *,
    offsets: Offsets | None = None,
    gravity: Array | None = None,
    hold_out: float = 0.3,
    seed: int = 0,
) -> Identification:
    """Fit the parameters of a space, and constant errors of the recording, to observations.

    `space`: may be empty where offsets are asked for. `model`: of the robot. `offsets`: of sensors
    and marker; default: they are zero. `gravity` (3,) [m/s^2]: default: the robot file's.
    `hold_out`: share of the postures that the fit does not see. `seed`: of the choice of those.
    Raises InvalidInput: nothing to fit, too few postures, not finite, no equilibrium at the start,
    or no end; NotIdentifiable: the data cannot tell parameters apart.
    """
    from scipy.optimize import least_squares
    from scipy.stats import t as student

    begin = clock.perf_counter()
    count, more = len(space.names), 0 if offsets is None else len(offsets)
    names = (*space.names, *(() if offsets is None else offsets.names))
    _check(names, data)
    train, held = split(len(data), hold_out, seed)
    if 3 * len(train) <= len(names):
        left = f'{len(train)} of {len(data)} postures are left for {len(names)} numbers'
        raise InvalidInput('hold_out', hold_out, f'less: {left}')
    problem = Problem(space, model, data.part(train), gravity, offsets, train)
    start = np.concatenate([np.ones(count), np.zeros(more)])
    bounds = [LEAST] * count + [-FARTHEST] * more, [MOST] * count + [FARTHEST] * more
    before = problem.residuals(start)
    _refuse_dependent(names, problem.slope(start))
    weight, iterations, x = problem.weights(None), 0, start
    for _ in range(2):
        found = least_squares(
            lambda f, w=weight: w * problem.residuals(f),
            x,
            lambda f, w=weight: w[:, None] * problem.slope(f),
            bounds=bounds,
            xtol=1e-8,
            ftol=1e-10,
            max_nfev=MAX_STEPS,
        )
        x, iterations = found.x, iterations + int(found.nfev)
        noise = problem.noise(x, leftover(found.jac))
        weight = problem.weights(noise)
    slope = problem.slope(x)
    jacobian = weight[:, None] * slope
    _refuse_dependent(names, jacobian)
    covariance: Array = np.linalg.inv(jacobian.T @ jacobian).astype(np.float64)
    _refuse_loose(names, covariance, offsets)
    if found.status == 0:
        raise InvalidInput('postures', len(data), f'a fit that ends within {MAX_STEPS} steps')
    _refuse_at_an_end(names, x, *bounds)
    residuals = problem.residuals(x)
    suspects = weight[:, None] * problem.suspects(x, slope, last_ways(data.actuation)[train])
    chance = _chance(weight * residuals, jacobian, suspects)
    deviation = np.sqrt(np.diag(covariance) * (len(residuals) if chance < CHANCE else 1))
    tail = (1.0 - LEVEL) / (2 * len(x))
    width = student.ppf(1.0 - tail, df=_freedom(jacobian, 3 * len(train))) * deviation
    other = Problem(space, model, data.part(held), gravity, offsets, held)
    return Identification(
        space.names,
        x[:count],
        (x - width)[:count],
        (x + width)[:count],
        LEVEL,
        covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance))),
        problem.errors(before),
        problem.errors(residuals),
        other.errors(other.residuals(start)),
        other.errors(other.residuals(x)),
        noise,
        iterations,
        clock.perf_counter() - begin,
        chance,
        () if offsets is None else _in_si(offsets, x[count:], width[count:]),
    )


def _freedom(jacobian: Array, count: int) -> Array:
    """Return the freedom (p,) of variances, of positions (`count`) and turns (Satterthwaite)."""
    own, free = np.linalg.pinv(jacobian).T ** 2, leftover(jacobian)
    kinds = slice(count), slice(count, None)
    parts = [own[k].sum(axis=0) ** 2 / max(free[k].sum(), 1.0) for k in kinds]
    return np.asarray(own.sum(axis=0) ** 2 / sum(parts))


def _in_si(offsets: Offsets, values: Array, width: Array) -> tuple[FoundOffset, ...]:
    rows = zip(offsets.names, offsets.units, offsets.scales, values, width, strict=True)
    return tuple(
        FoundOffset(name, unit, float(s * v), float(s * (v - w)), float(s * (v + w)))
        for name, unit, s, v, w in rows
    )


def last_ways(actuation: Array) -> Array:
    """Return which way every actuator went last, shape (n, m): 1, -1, or 0 before it has moved."""
    way = np.diff(actuation, axis=0, prepend=actuation[:1])
    way = np.where(np.abs(way) > MOVED * np.ptp(actuation, axis=0), np.sign(way), 0.0)
    for i in range(1, len(way)):
        way[i] = np.where(way[i] == 0.0, way[i - 1], way[i])
    return way


def split(count: int, share: float, seed: int) -> tuple[Array, Array]:
    """Return indices of training and held-out postures; at least two are held out."""
    if not 0.0 <= share < 1.0:
        raise InvalidInput('hold_out', share, 'from 0 to less than 1')
    order = np.random.default_rng(seed).permutation(count)
    cut = max(2, round(share * count))
    return np.sort(order[cut:]), np.sort(order[:cut])


def _check(names: Sequence[str], data: Observations) -> None:
    parameters = len(names)
    if not names or len(set(names)) != parameters:
        raise InvalidInput('parameters', list(names), 'at least one, each name once')
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


def _chance(residual: Array, jacobian: Array, suspects: Array) -> float:
    """Return the chance that noise follows suspects (n, k) as residuals (n,) of a fit do: F test.

    Of many suspects the strongest directions count, a third of the degrees of freedom at most.
    """
    from scipy.stats import f as fisher

    basis, _ = np.linalg.qr(jacobian)
    suspects = suspects / np.maximum(np.linalg.norm(suspects, axis=0), np.finfo(float).tiny)
    left, others = (a - basis @ (basis.T @ a) for a in (residual, suspects))
    directions, size, _ = np.linalg.svd(others, full_matrices=False)
    free = len(residual) - jacobian.shape[1]
    count = min(int(np.sum(size > SMALL * size[0])), free // 3)
    followed = float(np.sum((directions[:, :count].T @ left) ** 2))
    rest, free = max(float(left @ left) - followed, np.finfo(float).tiny), free - count
    return float(fisher.sf(followed / count * free / rest, count, free)) if count else 1.0


def _refuse_loose(names: Sequence[str], covariance: Array, offsets: Offsets | None) -> None:
    values, vectors = np.linalg.eigh(covariance)
    loose = [i for i in range(len(values)) if not np.sqrt(values[i]) < LOOSE]
    if not loose:
        return
    groups = [_members(names, vectors[:, i]) for i in loose]
    deviations = [float(np.sqrt(values[i])) for i in loose]
    units = {} if offsets is None else dict(zip(offsets.names, offsets.units, strict=True))
    scales = {} if offsets is None else dict(zip(offsets.names, offsets.scales, strict=True))
    said = []
    for i, group, deviation in zip(loose, groups, deviations, strict=True):
        direction = dict(zip(names, np.abs(vectors[:, i]), strict=True))
        parts = [_how_badly(group, deviation)] if set(group) - set(units) else []
        for name in (name for name in group if name in units):
            size = direction[name] * deviation * scales[name]
            parts.append(f'{name} +-{size:.2g} {units[name]}')
        said.append(', '.join(parts))
    raise NotIdentifiable(groups, deviations, said)


def _refuse_at_an_end(
    names: Sequence[str], x: Array, least: Sequence[float], most: Sequence[float]
) -> None:
    """Refuse a fit that the ends of what is tried have stopped: the best is beyond them."""
    for name, value, low, high in zip(names, x.tolist(), least, most, strict=True):
        if min(value - low, high - value) < AT_END * abs(value):
            raise InvalidInput(
                name,
                value,
                f'a best fit between {low:g} and {high:g}, the ends of what is tried; correct '
                'this number in the robot file or the recording first',
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
