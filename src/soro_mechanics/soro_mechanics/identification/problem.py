# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What identification compares: resting postures as measured, and as the model predicts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.errors import InvalidInput, SoroError
from soro_mechanics.core.status import Code
from soro_mechanics.identification.offsets import Offsets
from soro_mechanics.identification.parameters import ParameterSpace
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

STEP = 1e-4  # of a factor: one Newton step leaves its square, below the solvers' tolerances
LENGTH = 0.05  # m: one radian counts as much as this in the first pass, before noise is known


@dataclass(frozen=True, eq=False)
class Observations:
    """Resting postures of a robot."""

    actuation: Array  # (n, m) [SI]
    poses: Array  # (n, 4, 4) measured tip in base_link
    wrenches: Array  # (n, 6) known loads at the tip, axes of base_link [N, N m]
    oriented: bool = True  # whether the orientations were measured too

    def __len__(self) -> int:
        return len(self.actuation)

    def part(self, chosen: Array) -> Observations:
        """Return some of the postures."""
        return Observations(
            self.actuation[chosen], self.poses[chosen], self.wrenches[chosen], self.oriented
        )


@dataclass(frozen=True)
class Errors:
    """Root mean squares over postures: position [m], orientation [rad] (NaN if not measured)."""

    position: float
    orientation: float


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


def leftover(jacobian: Array) -> Array:
    """Return what a linear fit leaves of the freedom of every residual (n,): 1 less its lever."""
    return np.asarray(1.0 - (np.linalg.qr(jacobian)[0] ** 2).sum(axis=1))


class Problem:
    """Residuals of a recording and their slope.

    The vector of unknowns holds the factors of the space, then the offsets in their scales. Every
    robot that is tried starts from its own first posture, so that residuals do not depend on what
    was tried before; a guess from a robot of other stiffness would be allowed. `postures` are the
    indices of the data in the recording, for messages.
    """

    def __init__(
        self,
        space: ParameterSpace,
        model: str,
        data: Observations,
        gravity: Array | None,
        offsets: Offsets | None = None,
        postures: Array | None = None,
    ) -> None:
        self._space, self._model, self._data, self._gravity = space, model, data, gravity
        self._offsets = offsets
        self._postures = np.arange(len(data)) if postures is None else postures
        self._at: tuple[Array, list[Configuration], Array] | None = None

    def residuals(self, x: Array) -> Array:
        """Return position errors [m], then orientation errors [rad], shape (3 n) or (6 n)."""
        return self._solved(x)[1]

    def slope(self, x: Array) -> Array:
        """Return d residuals / d x, shape (3 n, k) or (6 n, k).

        Of the numbers of the file by the implicit function theorem, ``dq = -K^-1 dR``: the model
        with a number changed a little takes its Newton step from the equilibrium of the posture
        that is known, to both sides. Of sensors the model's Jacobian, of the marker exactly.
        """
        found, offsets = self._solved(x)[0], self._offsets
        columns = []
        for i in range(len(self._space.names)):
            unit = np.zeros(len(x))
            unit[i] = STEP
            ends = (self._compare(self._tips(x + u, found), x) for u in (unit, -unit))
            columns.append(np.subtract(*ends) / (2.0 * STEP))
        if offsets is not None and offsets.indices:
            columns += self._of_sensors(x, offsets.indices, offsets.scales)
        if offsets is not None and offsets.marker:
            turn = np.zeros(3 * len(self._data) if self._data.oriented else 0)
            for axis, scale in enumerate(offsets.scales[-3:]):
                along = np.array([scale * q.tip[:3, axis] for q in found])
                columns.append(np.concatenate([along.ravel(), turn]))
        return np.array(columns).T

    def suspects(self, x: Array, slope: Array, moved: Array) -> Array:
        """Return what residuals look like where something that is not fitted is wrong, (n, k).

        Zeros of all sensors, and such that depend on how actuators have `moved` (postures, m), as
        friction and hysteresis do; numbers, of this `slope` at x, that change with time,
        actuation or that.
        """
        limits = self._robot(x).limits
        zeros = self._of_sensors(x, range(len(limits)), np.ptp(limits, axis=1))
        sensors = np.array(list(zeros)).reshape(-1, len(slope)).T
        told = np.column_stack([moved, self._data.actuation, self._postures])
        told = np.repeat(told - told.mean(axis=0), 3, axis=0)
        told = np.tile(told, (len(slope) // len(told), 1))
        changing = (slope[:, :, None] * told[:, None]).reshape(len(slope), -1)
        return np.hstack([sensors, sensors * told[:, : moved.shape[1]], changing])

    def _of_sensors(self, x: Array, indices: Iterable[int], scales: Array) -> Iterator[Array]:
        """Return the slope by the zeros of some sensors, in scales."""
        found, robot = self._solved(x)[0], self._robot(x)
        jacobian = np.array([robot.jacobian(q) for q in found])
        for index, scale in zip(indices, scales, strict=False):
            twist = -STEP * scale * jacobian[:, :, index]
            ends = (self._compare(_moved(found, t), x) for t in (twist, -twist))
            yield np.subtract(*ends) / (2.0 * STEP)

    def weights(self, noise: Errors | None) -> Array:
        """Return one weight per residual."""
        kinds = (1.0, LENGTH) if noise is None else (1.0 / noise.position, 1.0 / noise.orientation)
        return np.repeat(kinds[: 1 + self._data.oriented], 3 * len(self._data))

    def noise(self, x: Array, free: Array) -> Errors:
        """Return the deviation of one component of each; free: of residuals, see `leftover`."""
        n = [3 * len(self._data)]
        kinds = zip(np.split(self.residuals(x) ** 2, n), np.split(free, n), strict=True)
        sizes = [np.sqrt(a.sum() / b.sum()) if a.size else np.nan for a, b in kinds]
        return Errors(*(float(np.maximum(size, _TINY)) for size in sizes))

    def errors(self, values: Array) -> Errors:
        """Return root mean squares over postures."""
        kinds = np.split(values, [3 * len(self._data)])
        return Errors(*(float(np.sqrt(3.0 * np.mean(v**2))) if v.size else np.nan for v in kinds))

    def _values(self, x: Array) -> Array:
        """Return the offsets in SI."""
        offsets = x[len(self._space.names) :]
        return offsets if self._offsets is None else offsets * self._offsets.scales

    def _solved(self, x: Array) -> tuple[list[Configuration], Array]:
        if self._at is None or not np.array_equal(self._at[0], x):
            found = self._solve(x)
            self._at = (np.array(x), found, self._compare(np.array([q.tip for q in found]), x))
        return self._at[1:]

    def _robot(self, x: Array) -> Robot:
        factors = x[: len(self._space.names)].tolist()
        try:
            robot = self._space.robot(factors, self._model)
        except SoroError as error:
            raise InvalidInput('factors', factors, f'a possible robot ({error})') from None
        if self._gravity is not None:
            robot.gravity = self._gravity
        return robot

    def _solve(self, x: Array) -> list[Configuration]:
        """Return the equilibria of the model, one after the other."""
        data = self._data
        if self._offsets is not None:
            data = replace(
                data, actuation=self._offsets.actuation(data.actuation, self._values(x))
            )
        found = predict(self._robot(x), data)
        for i, q in enumerate(found):
            self._check(i, q.actuation, q.status.code)
        return found

    def _tips(self, x: Array, near: list[Configuration]) -> Array:
        """Return the tips (n, 4, 4) with other factors, each posture begun where it was."""
        model = self._robot(x).model_object
        tips = [model.shifted_tip(q) for q in near]
        for i, (tip, q) in enumerate(zip(tips, near, strict=True)):
            self._check(i, q.actuation, Code.NOT_CONVERGED if tip is None else Code.NONE)
        return np.array(tips)

    def _check(self, index: int, actuation: Array, code: Code) -> None:
        if code != Code.NONE:
            expected = f'an actuation with an equilibrium ({code.name})'
            raise InvalidInput(f'posture {self._postures[index]}', actuation.tolist(), expected)

    def _compare(self, tips: Array, x: Array) -> Array:
        seen = (
            tips[:, :3, 3]
            if self._offsets is None
            else self._offsets.markers(tips, self._values(x))
        )
        parts = [(seen - self._data.poses[:, :3, 3]).ravel()]
        if self._data.oriented:
            turns = np.einsum('nji,njk->nik', self._data.poses[:, :3, :3], tips[:, :3, :3])
            vectors = [lie.so3_log(turn) for turn in np.ascontiguousarray(turns)]
            parts.append(np.array(vectors).ravel())
        return np.concatenate(parts)


_TINY = 1e-12  # m or rad: exact synthetic data has no noise, and a weight must stay finite


def _moved(found: list[Configuration], twists: Array) -> Array:
    """Return the tips (n, 4, 4) after small twists (n, 6), linear first, base axes."""
    tips = np.array([q.tip for q in found])
    tips[:, :3, 3] += twists[:, :3]
    tips[:, :3, :3] = np.array([lie.so3_exp(w) for w in twists[:, 3:]]) @ tips[:, :3, :3]
    return tips
