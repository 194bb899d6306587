# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Fit one flex sensor: counts as an offset plus a few node rotations (Koehler 2023, eqs 13-15).

Two ways to choose the nodes, both limited to an offset and two nodes:

- `exact` (default): every pair of nodes is tried. With some dozen candidates that is a hundred
  small least-squares problems, and the result is the best there is.
- `published`: the l1-regularised problem (14) for a range of gamma with cvxpy, its sparsity
  patterns refitted without regularisation (15), the best with few enough coefficients taken.

Beyond the paper, a strip that slides with friction follows its leg with a dead band, the play
operator (Krasnosel'skii and Pokrovskii, Systems with Hysteresis, 1989), whose width is fitted too.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from soro_mechanics.core.array_input import finite_array, shape_of
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput, SoroError, UnknownName
from soro_mechanics.core.missing_package import import_package
from soro_mechanics.core.status import Code
from soro_mechanics.haptics.flex_signal import FULL_SCALE

METHODS = ('exact', 'published')
MAX_NODES = 2  # three coefficients with the offset, as published
# Range of gamma in (14), relative to the value at which the solution is zero: from nearly plain
# least squares to nearly nothing.
GAMMAS = tuple(np.geomspace(1e-5, 0.9, 25))
# Half widths of a dead band that are tried, as parts of the range; the best is refined once.
PLAYS = np.linspace(0.0, 0.25, 26)
WORTH_PLAY = 0.8  # of the error without it, or the strip is taken to follow at once
ROUNDS = 4  # of nodes and play in turn
BLOCKS = 16  # contiguous parts of a recording; every fourth is held out
HOLD_OUT = 4


class PoorFit(SoroError):
    """A calibration was refused; `reasons` says why, in sentences."""

    code = Code.POOR_FIT

    def __init__(self, reasons: tuple[str, ...]) -> None:
        super().__init__('; '.join(reasons))
        self.reasons = reasons


@dataclass(frozen=True)
class FitLimits:
    """When a fit is refused; shares are of the sensor's range in the recording."""

    error: float = 0.08  #: mean absolute error on held-out data; the paper's sensors have 0.046
    range: float = 100.0  #: least range, peak to peak [counts]
    saturated: float = 0.01  #: share of samples at either end of the converter
    drift: float = 0.1  #: of the residual over the recording
    overfit: float = 1.5  #: Held-out error over training error
    samples: int = 100  #: least number of samples
    gain_deviation: float = 0.1  #: relative standard deviation of the larger coefficient
    play: float = 0.15  #: half of the dead band


@dataclass(frozen=True, eq=False)
class SensorFit:
    """A fitted sensor: ``counts = offset + sum(coefficient * rotation of node)``, with play."""

    name: str
    offset: float  #: [counts]
    nodes: tuple[int, ...]  #: columns of the recording's rotations
    coefficients: Array  #: [counts/rad]
    method: str
    error: float  #: mean absolute error on held-out data [counts]
    training_error: float  #: the same on the data fitted [counts]
    rms: float  #: root mean square error on held-out data [counts]
    largest: float  #: largest error on held-out data [counts]
    range: float  #: peak to peak of the sensor [counts]
    drift: float  #: trend of the residual over the whole recording [counts]
    samples: int
    reasons: tuple[str, ...]  #: why the fit is refused; empty when it can be used
    play: float = 0.0  #: half the dead band with which the strip follows its leg [counts]

    @property
    def error_share(self) -> float:
        """Held-out mean absolute error over the range; NaN for a sensor that never moved."""
        return self.error / self.range if self.range > 0.0 else float('nan')

    def predict(self, rotations: Array) -> Array:
        """Return counts for node rotations in the order of time, shape (samples, nodes) [rad]."""
        leg = self.offset + rotations[:, list(self.nodes)] @ self.coefficients
        return leg + slack(leg[:, None], np.array([self.play]))[:, 0]


def fit_sensor(
    name: str,
    rotations: Array,
    counts: Array,
    method: str = 'exact',
    limits: FitLimits | None = None,
) -> SensorFit:
    """Fit one sensor and judge the fit.

    Parameters
    ----------
    name : str
    rotations : ndarray, shape (samples, nodes) [rad]
        Of the nodes under the sensor, about the motor axis, from the model (12).
    counts : ndarray, shape (samples,)
        Readings at the same times.
    method : str
        'exact' or 'published', see above.
    limits : FitLimits, optional

    Raises
    ------
    InvalidInput
        Shapes that do not fit, or numbers that are not finite.
    """
    if method not in METHODS:
        raise UnknownName('method', method, METHODS)
    limits = FitLimits() if limits is None else limits
    rotations, counts = _checked(rotations, counts)
    samples = len(counts)
    block = np.arange(samples) * BLOCKS // samples
    held = block % HOLD_OUT == HOLD_OUT - 1
    choose = exact_nodes if method == 'exact' else published_nodes
    nodes, behind, play = choose(rotations[~held], counts[~held]), np.zeros(samples), 0.0
    for _ in range(ROUNDS):
        play, behind = _fit_play(rotations[:, list(nodes)], counts, ~held)
        before, nodes = nodes, choose(rotations[~held], (counts - behind)[~held])
        if nodes == before:
            break
    offset, coefficients, deviation = _refit(rotations[~held], (counts - behind)[~held], nodes)
    residual = counts - behind - offset - rotations[:, list(nodes)] @ coefficients
    time = np.linspace(-0.5, 0.5, samples)
    fit = SensorFit(
        name,
        offset,
        nodes,
        coefficients,
        method,
        float(np.mean(np.abs(residual[held]))),
        float(np.mean(np.abs(residual[~held]))),
        float(np.sqrt(np.mean(residual[held] ** 2))),
        float(np.abs(residual[held]).max()),
        float(np.ptp(counts)),
        float(residual @ time / (time @ time)),
        samples,
        (),
        play,
    )
    reasons = _judge(fit, counts, deviation, limits)
    return SensorFit(**{**vars(fit), 'reasons': reasons})


def exact_nodes(rotations: Array, counts: Array) -> tuple[int, ...]:
    """Return the one or two nodes with the least residual of all choices."""
    centred, target = rotations - rotations.mean(axis=0), counts - counts.mean()
    gram, moment = centred.T @ centred, centred.T @ target
    best = -1.0
    nodes: tuple[int, ...] = ()
    count = rotations.shape[1]
    for size in range(1, MAX_NODES + 1):
        for choice in combinations(range(count), size):
            index = list(choice)
            block = gram[np.ix_(index, index)]
            if np.linalg.cond(block) > 1.0 / np.finfo(float).eps:
                continue
            explained = moment[index] @ np.linalg.solve(block, moment[index])
            if explained > best:
                best, nodes = explained, choice
    return nodes


def published_nodes(rotations: Array, counts: Array) -> tuple[int, ...]:
    """Return the nodes by the sparsity patterns of (14) over a range of gamma."""
    # slow to load: only calibrations need it
    cvxpy = import_package('cvxpy', 'cvxpy==1.7.5', 'calibration')
    if not np.any(counts):
        return ()
    matrix = np.column_stack([np.ones(len(counts)), rotations])
    # |A c - v| depends on A and v through the factor R of [A v] alone: a tiny problem per gamma.
    factor = np.asarray(np.linalg.qr(np.column_stack([matrix, counts]), mode='r'))
    c, gamma = cvxpy.Variable(matrix.shape[1]), cvxpy.Parameter(nonneg=True)
    objective = cvxpy.norm2(factor[:, :-1] @ c - factor[:, -1]) + gamma * cvxpy.norm1(c)
    problem = cvxpy.Problem(cvxpy.Minimize(objective))
    vanishing = float(np.abs(matrix.T @ counts).max() / np.linalg.norm(counts))
    patterns = set()
    for share in GAMMAS:
        gamma.value = share * vanishing
        problem.solve(solver=cvxpy.CLARABEL)
        if problem.status not in (cvxpy.OPTIMAL, cvxpy.OPTIMAL_INACCURATE):
            continue
        # A node that moves the prediction by less than one count is not used; of more than fit
        # the strongest are, or a grid of gamma may leave out every pair.
        effect = np.abs(c.value[1:]) * np.ptp(rotations, axis=0)
        strongest = np.argsort(effect)[-MAX_NODES:]
        pattern = tuple(sorted(int(i) for i in strongest if effect[i] > 1.0))
        if pattern:
            patterns.add(pattern)

    def residual(pattern: tuple[int, ...]) -> float:
        offset, coefficients, _ = _refit(rotations, counts, pattern)
        rest = counts - offset - rotations[:, list(pattern)] @ coefficients
        return float(rest @ rest)

    return min(sorted(patterns), key=residual, default=())


def _refit(rotations: Array, counts: Array, nodes: tuple[int, ...]) -> tuple[float, Array, float]:
    """Solve (15) on the chosen nodes; also the relative deviation of the largest coefficient."""
    matrix = np.column_stack([np.ones(len(counts)), rotations[:, list(nodes)]])
    solution, _, rank, _ = np.linalg.lstsq(matrix, counts, rcond=None)
    offset, coefficients = float(solution[0]), np.asarray(solution[1:], np.float64)
    free = len(counts) - matrix.shape[1]
    if not nodes or rank < matrix.shape[1] or free < 1 or not np.any(coefficients):
        return offset, coefficients, float('inf')
    rest = counts - matrix @ solution
    variance = float(rest @ rest) / free * np.diag(np.linalg.inv(matrix.T @ matrix))[1:]
    largest = int(np.argmax(np.abs(coefficients)))
    return offset, coefficients, float(np.sqrt(variance[largest]) / abs(coefficients[largest]))


def slack(leg: Array, half: Array) -> Array:
    """Return by how much strips are ahead of their legs that follow with a dead band.

    Parameters
    ----------
    leg : ndarray, shape (samples, k)
        In the order of time; the strips begin in the middle of their dead bands.
    half : ndarray, shape (k,)
        Of the dead bands, in the unit of `leg`.
    """
    strip, at = np.empty_like(leg), leg[0]
    for i, low, high in zip(range(len(leg)), leg - half, leg + half, strict=True):
        at = np.minimum(np.maximum(at, low), high)
        strip[i] = at
    return strip - leg


def _fit_play(rotations: Array, counts: Array, used: Array) -> tuple[float, Array]:
    """Return half the dead band [counts], and how far the strip is ahead at every sample."""
    matrix = np.column_stack([np.ones(len(counts)), rotations])
    inverse = np.linalg.pinv(matrix[used])

    def follow(half: Array) -> tuple[Array, Array]:
        ahead = np.zeros((len(counts), len(half)))
        for _ in range(ROUNDS):
            leg = matrix @ (inverse @ (counts[:, None] - ahead)[used])
            ahead = slack(leg, half)
        rest = (counts[:, None] - ahead - leg)[used]
        return np.mean(rest**2, axis=0), ahead

    coarse = PLAYS * np.ptp(counts)
    errors, _ = follow(coarse)
    near = coarse[int(np.argmin(errors))] + coarse[1] * np.linspace(-1.0, 1.0, len(PLAYS))
    half, without = np.maximum(near, 0.0), errors[0]
    errors, ahead = follow(half)
    best = int(np.argmin(errors))
    if not errors[best] < WORTH_PLAY**2 * without:
        return 0.0, np.zeros(len(counts))
    return float(half[best]), ahead[:, best]


def _judge(fit: SensorFit, counts: Array, deviation: float, limits: FitLimits) -> tuple[str, ...]:
    """Say in sentences what is wrong with a fit."""
    reasons = []
    if fit.samples < limits.samples:
        reasons.append(f'{fit.samples} samples are too few, {limits.samples} are needed')
    ends = float(np.mean((counts <= 0.0) | (counts >= FULL_SCALE)))
    if ends > limits.saturated:
        reasons.append(f'{ends:.0%} of the readings are at an end of the converter: wiring?')
    if fit.range < limits.range:
        reasons.append(
            f'the reading moves by {fit.range:.0f} counts only, {limits.range:.0f} are needed: '
            'stuck, or not fixed to the leg?'
        )
    elif not fit.nodes:
        reasons.append('no node explains the reading')
    else:
        reasons += _judge_quality(fit, deviation, limits)
    return tuple(f'{fit.name}: {reason}' for reason in reasons)


def _judge_quality(fit: SensorFit, deviation: float, limits: FitLimits) -> list[str]:
    reasons = []
    if len(fit.nodes) < MAX_NODES:
        reasons.append(
            'one node alone explains the reading: a strip bends between two; is an end loose?'
        )
    if not fit.error_share <= limits.error:
        reasons.append(
            f'mean error {fit.error_share:.1%} of the range on held-out data, '
            f'{limits.error:.0%} are allowed'
        )
    if fit.play > limits.play * fit.range:
        reasons.append(
            f'the strip slides by +-{fit.play / fit.range:.0%} of the range before it follows, '
            f'{limits.play:.0%} are allowed: fix it better'
        )
    # A model that does not fit leaves a trend too: a drift is most of what is left.
    mostly = fit.drift**2 / 12.0 > 0.5 * fit.rms**2
    if mostly and not abs(fit.drift) <= limits.drift * fit.range:
        reasons.append(
            f'drifted by {abs(fit.drift) / fit.range:.0%} of the range during the recording, '
            f'{limits.drift:.0%} are allowed: let it warm up'
        )
    # Two errors below the resolution of the converter, or a hundredth of the range, are equal.
    if fit.error > limits.overfit * max(fit.training_error, 1.0, 0.01 * fit.range):
        reasons.append(
            f'{fit.error / fit.training_error:.1f} times the error on held-out data: '
            'the recording does not cover the motion'
        )
    if not deviation <= limits.gain_deviation:
        reasons.append(f'the coefficients are known to {deviation:.0%} only: move further')
    return reasons


def _checked(rotations: Array, counts: Array) -> tuple[Array, Array]:
    shape = shape_of(rotations) or ()
    if len(shape) != 2 or shape[1] == 0:
        raise InvalidInput('rotations', shape, 'shape (samples, nodes)', Code.INVALID_SIZE)
    if len(counts) < BLOCKS:
        raise InvalidInput('counts', len(counts), f'at least {BLOCKS} samples', Code.INVALID_SIZE)
    return finite_array('rotations', rotations, shape), finite_array('counts', counts, shape[:1])
