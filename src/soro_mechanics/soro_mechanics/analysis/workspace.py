# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Many configurations at once: where the tip can be, how it is turned, how stiff it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.array_input import finite_array, finite_rows
from soro_mechanics.core.configuration import Array, Configuration, Load, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.model import Batch, Model
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription

RAREST = 10_000  # one sample in so many must keep the coupled limits
ENOUGH = 10  # samples of the rarest kind that are waited for, before they are called too rare
BLOCK = 4096  # draws at once where some may be left out
Part = tuple[Array, NDArray[np.int64], Array, Array, NDArray[np.int64]]  # see `Workspace`
CHUNK = 64  # samples of one task; where a model has no batch, each starts from the one before


@dataclass(frozen=True, eq=False)
class Workspace:
    """Result of a batch."""

    actuation: Array  #: (n, m); SI
    tip: Array  #: (n, 4, 4); in base_link; NaN where the solve failed
    codes: NDArray[np.int64]  #: (n,); `Code` of every sample
    #: (n, 2) [m/N]; smallest and largest principal compliance; (0, 2) where nobody asked for it
    compliance: Array = field(default_factory=lambda: np.zeros((0, 2)))
    #: (n, 2) [N]; least positive and greatest one, as Shi's Figure 10 maps them; like
    #: `compliance`, NaN where a model has less than six elastic freedoms
    eigenstiffness: Array = field(default_factory=lambda: np.zeros((0, 2)))
    #: (n,); `Warnings` of every sample, solved or not; COARSE_MESH only of one solved by itself
    warnings: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Which samples can be used."""
        return self.codes == int(Code.NONE)

    @property
    def points(self) -> Array:
        """Tips of the solved samples, shape (k, 3) [m]."""
        return self.tip[self.solved, :3, 3]

    @property
    def extent(self) -> Array:
        """Smallest and largest coordinate reached, shape (2, 3) [m]."""
        points = self.points
        if len(points) == 0:
            return np.full((2, 3), np.nan)
        return np.array([points.min(axis=0), points.max(axis=0)])


class Sampled(Protocol):
    """What a batch needs of a `Robot`."""

    description: RobotDescription

    @property
    def model_object(self) -> Model:
        """The model itself."""

    @property
    def gravity(self) -> Array:
        """Gravity in base_link, shape (3,) [m/s^2]."""

    def forward(
        self,
        actuation: Any,
        wrench: Any = None,
        guess: Configuration | None = None,
        loads: Sequence[Load] = (),
    ) -> Configuration:
        """Solve the equilibrium under an actuation."""

    def compliance(self, q: Configuration) -> Array:
        """Return the (6, 6) compliance at the tip, base axes, linear first."""


def sample_actuations(robot: Sampled, count: int, seed: int = 0) -> Array:
    """Return `count` actuations spread evenly over what the limits allow, shape (count, m).

    A Halton sequence (no clusters, reproducible), turned by a random shift from `seed`; the
    points that break a coupled limit are left out.

    Raises
    ------
    InvalidInput
        `count` below one, or limits that leave almost nothing.
    """
    if count < 1:
        raise InvalidInput('count', count, 'at least 1')
    low, high = robot.description.minimum, robot.description.maximum
    shift = np.random.default_rng(seed).random(len(low))
    block = max(count, BLOCK) if robot.description.coupled_limits else count
    found, drawn = np.empty((0, len(low))), 0
    while len(found) < count:
        if drawn >= RAREST * ENOUGH and len(found) * RAREST < drawn:
            expected = f'limits that leave more than 1 part in {RAREST} of the box'
            raise InvalidInput('count', count, expected)
        index = np.arange(drawn + 1, drawn + 1 + block)
        points = low + (high - low) * ((_halton(index, len(low)) + shift) % 1.0)
        found = np.vstack([found, points[within_coupled(robot.description, points)]])
        drawn += block
    return found[:count]


def within_coupled(description: RobotDescription, actuations: Array) -> NDArray[np.bool_]:
    """Return which actuations (n, m), all within their ranges, keep every coupled limit."""
    kept = np.ones(len(actuations), dtype=bool)
    for limit in description.coupled_limits:
        kept &= actuations @ limit.coefficients <= limit.maximum
    return kept


def sample_workspace(
    robot: Sampled,
    samples: Any,
    executor: Executor | None = None,
    wrench: Any = None,
    loads: Sequence[Load] = (),
    compliance: bool = False,
    proceed: Callable[[int, int], bool] = lambda done, failed: True,
) -> Workspace:
    """Solve many actuations.

    Parameters
    ----------
    samples : int or array_like, shape (n, m)
        How many to draw (`sample_actuations`), or the actuations themselves.
    executor : concurrent.futures.Executor, optional
        Anything with `submit`; threads serve well, as the kernels release the interpreter lock.
        Without one the samples are solved here.
    wrench : array_like, shape (6,), optional
        At the tip, axes of base_link.
    loads : sequence of Load
        Further ones.
    compliance : bool
        Also compute `compliance` and `eigenstiffness`, which takes longer.
    proceed : callable
        Gets how many samples are done and how many of them failed; False ends it there.

    Returns
    -------
    Workspace
        Of the samples that were solved before `proceed` has ended it. With the model network it
        is that of `Robot.forward` without a guess for every sample, within the solver's
        tolerance, in whatever order and on however many threads.
    """
    if isinstance(samples, int | np.integer):
        actuations = sample_actuations(robot, int(samples))
    else:
        actuations = finite_rows('samples', samples, len(robot.description.actuators))
    if executor is not None and not hasattr(executor, 'submit'):
        raise InvalidInput('executor', executor, 'a concurrent.futures.Executor, or None')
    applied = finite_array('wrench', np.zeros(6) if wrench is None else wrench, (6,))
    # Compliances need the whole solution, of which a batch keeps the tip.
    case = LoadCase(applied, tuple(loads), robot.gravity)
    batch = None if compliance else robot.model_object.batch(case, len(actuations))
    solve = partial(_solve, robot, batch, applied, loads, compliance)
    chunks = [actuations[i : i + CHUNK] for i in range(0, len(actuations), CHUNK)]
    futures = [] if executor is None else [executor.submit(solve, chunk) for chunk in chunks]
    found: Iterable[Part] = (f.result() for f in futures) if futures else map(solve, chunks)
    parts, done, failed = [solve(actuations[:0])], 0, 0
    for part in found:
        parts.append(part)
        done += len(part[1])
        failed += int(np.count_nonzero(part[1] != int(Code.NONE)))
        if not proceed(done, failed):
            for future in futures:
                future.cancel()
            break
    return Workspace(actuations[:done], *map(np.concatenate, zip(*parts, strict=True)))


def _solve(
    robot: Sampled,
    batch: Batch | None,
    wrench: Array,
    loads: Sequence[Load],
    compliance: bool,
    actuations: Array,
) -> Part:
    """Return what `Workspace` has of some actuations, without these."""
    tips = np.full((len(actuations), 4, 4), np.nan)
    codes, warnings = np.zeros((2, len(actuations)), dtype=np.int64)
    soft, stiff = np.full((2, len(actuations) if compliance else 0, 2), np.nan)
    left = np.arange(len(actuations))
    if batch is not None and len(actuations):
        tips, solved = batch.solve(actuations)
        left = np.flatnonzero(~(solved & within_coupled(robot.description, actuations)))
    near = None
    for i in left:
        q = robot.forward(actuations[i], wrench, near, loads)
        # What a neighbour may have led astray is solved once more; what it says of itself
        # does not depend on who came before.
        if q.status.code is not Code.NONE and near is not None:
            q = robot.forward(actuations[i], wrench, None, loads)
        codes[i], warnings[i] = q.status.code, q.status.warnings
        good = q.status.code is Code.NONE
        near = q if good and not robot.model_object.branches else None
        if q.status.converged:
            tips[i] = q.tip
        if good and compliance:
            soft[i], stiff[i] = _softness(robot.compliance(q))
    return tips, codes, soft, stiff, warnings


def _softness(compliance: Array) -> tuple[Array, Array]:
    """Return the extreme principal compliances [m/N] and eigenstiffnesses [N], shapes (2,)."""
    from soro_mechanics.analysis import (
        stiffness,  # compiled kernels, which an inverse can do without
    )

    stiff = np.full(2, np.nan)
    with suppress(InvalidInput):  # rigid in some direction: it has none
        stiff = stiffness.eigenscrews(compliance).values[[2, 0]]
    return stiffness.ellipsoids(compliance)[0].values[[-1, 0]], stiff


def _halton(index: NDArray[np.int64], dimensions: int) -> Array:
    """Return points (n, dimensions) of the Halton sequence: digits in prime bases, mirrored."""
    bases: list[int] = []
    candidate = 2
    while len(bases) < dimensions:
        if all(candidate % b for b in bases):
            bases.append(candidate)
        candidate += 1
    points = np.zeros((len(index), dimensions))
    for k, base in enumerate(bases):
        rest, digit = index, 1.0 / base
        while rest.any():
            points[:, k] += digit * (rest % base)
            rest = rest // base
            digit /= base
    return points
