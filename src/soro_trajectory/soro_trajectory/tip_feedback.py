# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Feedback on the measured tip: a PI correction of the feedforward, within all limits.

The error of the tip, desired minus measured, is integrated in task space into an offset; with a
share of the error itself that is ``d``, and the correction of the actuation is the damped
least-squares answer of the model's Jacobian J to it,

    du = argmin |W (J du - d)|^2 + lambda^2 |du|^2    subject to the limits of u + du,

with du in ranges of the actuators, and W in lengths of the body and radians. What the limits keep
from being reached is taken off the offset again (back-calculation), so that it never winds up.

Gains are those of SIMC (Skogestad 2003, J. Process Control 13, table 1) for a lag tau and a dead
time T between command and measurement, ``e^(-T s) / (tau s + 1)``, with tau_c + T = 2 max(T, tau):
the loop is ``e^(-T s) / (2 max(T, tau) s)``, whose gain margin is pi or more. At the lowest mode
of the body it peaks at Ki / (2 zeta omega), whatever its phase: a third is allowed, and a half of
what Kp adds where the lag is half of tau. Where that is the lower bound, corrections are given in
the three pieces that leave the mode at rest (ZVD), a third of it where the mode lies at 0.6 of
what was told; their mean delay is dead time. Where the body is softer, gains are `lowered`.

While a path is followed, errors of lag and hysteresis lie behind the tip and turn with the path.
A loop with dead time that sees them in fixed axes makes those worse that turn faster than it
follows. So half of what is integrated is turned with the path, and ahead by as much as it will
turn until the correction acts (adaptive feedforward cancellation; Bodson, Sacks, Khosla 1994).
With the angle a of that turn gains fall as 1 / (1 + a^2), and that half once more: stable up to
a = 0.8 with twice the lag and dead time that were told.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.analysis.lowest_mode import Mode
from soro_mechanics.core.actuation_limits import limits_of
from soro_mechanics.core.configuration import Array, Task
from soro_mechanics.inverse.steps import approach_step
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.reader import RobotDescription
from soro_trajectory.input_shaping import impulses

DAMPING = 0.03  # (assumed) of the largest singular value: weaker directions are left alone
WHOLE = 1.0  # trust region: the range of an actuator
MAX_STEP = 0.2  # s, integrated at once
PEAK = 1.0 / 3.0  # of the loop at the lowest mode
HIGHER = 1.1  # the mode lies 0 to 1/4 above Rayleigh's estimate
WORST = 0.6  # of -Re of the loop: a gain margin of 1.7
LEFT = 0.36  # of a mode at 0.6 of the shaper's: pressure and softer material lower it
ALONG = 0.5  # (assumed) of what is integrated while a path is followed turns with it
CHORD = 0.02  # s, of a path whose turns are looked at
CORNER = math.radians(30.0)  # between two chords: errors do not turn with it
STILL = 1e-6  # m, a shorter chord has no direction
SPAN, SLOW = 0.01, 3e-3  # s, m/s (assumed): of a pace, and one at which lateness counts half
FINE = 4  # (assumed) power of a drive's effect on the tip that its steps cost
MOST = 3.0  # steps of a drive at once: what it goes while a command is on its way
AT_ONCE = np.zeros(1), np.ones(1)  # a correction in one piece


class Gains(NamedTuple):
    """What is made of an error: an integral [1/s] and a proportional part."""

    integral: float
    proportional: float
    pieces: tuple[Array, Array] = AT_ONCE  # of a correction: times [s], parts


class Turn(NamedTuple):
    """How a path turns between two moments, its corners left out."""

    rotation: Array  # (6, 6), of twists in the axes of base_link
    angle: float  # of all turns together [rad]


def gains_for(
    dead_time: float, lag: float, integral: float = 0.0, mode: Mode | None = None
) -> Gains:
    """Return the gains for a dead time, a lag [s] and a mode; `integral` is taken if positive."""
    fastest, most, pieces = 0.5 / max(dead_time, lag), math.inf, AT_ONCE
    chosen = fastest
    if mode is not None:
        bound = PEAK * 4.0 * math.pi * mode.damping * mode.frequency
        most = mode.damping * math.hypot(1.0, math.pi * mode.frequency * lag)
        shaper = impulses('zvd', HIGHER * mode.frequency, min(mode.damping, 0.99))
        shaped = min(0.5 / max(dead_time + float(shaper[0] @ shaper[1]), lag), bound / LEFT)
        chosen = min(fastest, bound)
        if shaped > chosen:
            chosen, most, pieces = shaped, most / LEFT, shaper
    chosen = integral or chosen
    return Gains(chosen, min(0.5, most, chosen * lag), pieces)


def lowered(gains: Gains, mode: Mode, dead_time: float, lag: float) -> Gains:
    """Return what of the gains keeps -Re of the loop below `WORST` with a softer mode.

    A real part above -1 suffices for stability. Pieces stay as they are: they would jump.
    """
    ratio = np.linspace(0.2, 2.0, 361)
    s = 2j * math.pi * HIGHER * mode.frequency * ratio
    body = 1.0 / (1.0 - ratio**2 + 2j * mode.damping * ratio)
    times, parts = gains.pieces
    drives = np.exp(-dead_time * s) / (lag * s + 1.0) * (np.exp(np.outer(-s, times)) @ parts)
    loop = (gains.proportional + gains.integral / s) * drives * body
    part = WORST / max(WORST, -float(loop.real.min()))
    return Gains(part * gains.integral, part * gains.proportional, gains.pieces)


def pose_error(desired: Array, measured: Array, oriented: bool) -> Array:
    """Return (6,): desired minus measured position [m], rotation vector to the desired [rad].

    Axes of base_link. The rotation is zero where the tracker measures none.
    """
    error = np.zeros(6)
    error[:3] = desired[:3, 3] - measured[:3, 3]
    if oriented:
        error[3:] = lie.so3_log(desired[:3, :3] @ measured[:3, :3].T)
    return error


class TipFeedback:
    """The integrator of one robot and what it means for the actuators.

    `length`: of the body: a turn of 1 rad counts as much as an error of this length [m].
    `longest`: of the offset [m]; as an angle, divided by `length`. `offset` (6,) [m, rad]: by how
    much the tip is led beside the desired pose, axes of base_link. `saturated`: limits that the
    last correction touches. `lead`: by how much a path is read earlier [s].
    """

    def __init__(self, description: RobotDescription, length: float, longest: float) -> None:
        self._limits = limits_of(description)
        self._length, self._longest = length, longest
        self.reset()

    def reset(self) -> None:
        """Forget what was integrated."""
        self.offset: Array = np.zeros(6)
        self._along: Array = np.zeros(6)
        self._share: Array = np.zeros(6)
        self._ahead: Array = np.eye(6)
        self.saturated: tuple[str, ...] = ()
        self.lead = 0.0

    def rest(self) -> None:
        """Look at no error: what was integrated stays, without a lead."""
        self._share, self.lead = np.zeros(6), 0.0

    def keep_up(
        self,
        at: Callable[[float], Array],
        error: Array,
        seconds: float,
        gains: Gains,
        dead_time: float,
        lag: float,
    ) -> None:
        """Read a path earlier, by an integral of how late the tip is on it, at most by `lag` [s].

        `at`: the desired place (3,) [m] some time after the measurement [s]. `error` (3,): desired
        minus measured tip [m], of which what lies along the path counts: swings lie across it as
        often. Half the gain of a margin of 3, as the offset's integral sees the same error.
        """
        way = (at(SPAN) - at(-SPAN)) / (2.0 * SPAN)
        along = error @ way / max(float(np.linalg.norm(error) * np.linalg.norm(way)), 1e-300)
        late = float(np.clip(along**2 * (error @ way) / (way @ way + SLOW**2), -lag, lag))
        gain = min(gains.integral, 0.25 / (dead_time + lag))
        self.lead = min(max(0.0, self.lead + gain * seconds * late), lag)

    def integrate(
        self, error: Array, seconds: float, gains: Gains, path: tuple[Turn, Turn] | None = None
    ) -> None:
        """Take an error (6,) [m, rad] that lasted so long.

        `path`: its turns since the last error, and until the correction acts; None at rest.
        """
        still = Turn(np.eye(6), 0.0)
        since, ahead = (still, still) if path is None else path
        slower = 1.0 / (1.0 + ahead.angle**2)
        grown = slower * gains.integral * min(seconds, MAX_STEP) * error
        self._share, self._ahead = slower * gains.proportional * error, ahead.rotation
        along = since.rotation @ self._along + ALONG * slower * grown
        beside = self.offset + (1.0 - ALONG * slower) * grown
        if path is None:
            beside, along, self.lead = beside + along, np.zeros(6), 0.0
        self.offset, self._along = self._bounded(beside), self._bounded(along)

    def explain(self, error: Array, part: float) -> None:
        """Take a part of an error (6,) [m, rad] of what the offset should be."""
        self.offset = self._bounded(self.offset + part * (error - self.offset))

    def _bounded(self, offset: Array) -> Array:
        for part, most in (
            (slice(0, 3), self._longest),
            (slice(3, 6), self._longest / self._length),
        ):
            size = float(np.linalg.norm(offset[part]))
            offset[part] *= min(1.0, most / size) if size > 0.0 else 1.0
        return offset

    def step(self, jacobian: Array, tip: Array, task: Task, twist: Array) -> Array:
        """Return what moves the tip by a twist (6,) [m, rad], limits left aside: (m,) [SI]."""
        select, scale = _directions(tip, task, self._length), self._limits.scale
        damped, right = _damped(select @ jacobian * scale, select @ twist)
        return scale * np.linalg.lstsq(damped, right, rcond=None)[0]

    def fine_step(
        self, jacobian: Array, tip: Array, task: Task, twist: Array, here: Array, least: float
    ) -> Array:
        """Return what moves the tip by a twist (6,) from `here` (m,), within limits: (m,) [SI].

        For drives that move by `least` of their ranges or not at all: those that move the tip
        least do it, coarser ones what is left where these go `MOST` steps.
        """
        limits, select = self._limits, _directions(tip, task, self._length)
        rows = select @ jacobian * limits.scale
        effect = np.linalg.norm(rows, axis=0)
        damped, right = _damped(rows, select @ twist, (effect / effect.max()) ** FINE)
        step = approach_step(limits, damped, limits.scaled(here), right, MOST * least)
        return limits.scale * step

    def correction(self, jacobian: Array, tip: Array, task: Task, feedforward: Array) -> Array:
        """Return what is added to the feedforward (m,), shape (m,) [SI].

        `jacobian` (6, m): of the tip near the feedforward, axes of base_link, per SI unit. `tip`
        (4, 4): where it was taken. `task`: what of the pose is corrected. `feedforward` (m,):
        within the limits.
        """
        limits, select = self._limits, _directions(tip, task, self._length)
        rows = select @ jacobian * limits.scale
        wanted = select @ (self.offset + self._ahead @ (self._along + self._share))
        damped, right = _damped(rows, wanted)
        free = np.linalg.lstsq(damped, right, rcond=None)[0]
        z = limits.scaled(feedforward)
        step, self.saturated = free, ()
        if not limits.kept(z + free) or np.abs(free).max() > WHOLE:
            step = approach_step(limits, damped, z, right, WHOLE)
            self.saturated = limits.touching(z + step)
            self.offset = self.offset - np.linalg.pinv(select) @ (rows @ (free - step))
        return limits.scale * step


def _damped(rows: Array, wanted: Array, cost: Array | float = 1.0) -> tuple[Array, Array]:
    """Return the rows (k, n) and right side (k,) of least squares with damping."""
    damping = DAMPING * float(np.linalg.norm(rows, 2)) * cost * np.eye(rows.shape[1])
    return np.concatenate([rows, damping]), np.concatenate([wanted, np.zeros(rows.shape[1])])


def _directions(tip: Array, task: Task, length: float) -> Array:
    """Return (k, 6): what of a twist counts, positions in lengths of the body."""
    select = np.zeros((6, 6))
    select[:3, :3] = np.eye(3) / length
    select[3:, 3:] = tip[:3, :3].T  # about the axes of the tip: the last is free with an axis
    return select[: {Task.POSITION: 3, Task.POSITION_AND_AXIS: 5, Task.POSE: 6}[task]]


def path_turn(at: Callable[[float], Array], begin: float, end: float) -> Turn:
    """Return how a path turns between two moments [s]; `at` gives its points (3,) [m]."""
    count = max(1, math.ceil((end - begin) / CHORD))
    times = begin + (end - begin) / count * np.arange(-1, count + 1)  # chords end at the moments
    chords = np.diff([at(t) for t in times], axis=0)
    size = np.linalg.norm(chords, axis=1)
    rotation, total = np.eye(3), 0.0
    for a, b in pairwise(chords[size > STILL] / size[size > STILL, None]):
        axis = np.cross(a, b)
        sine = float(np.linalg.norm(axis))
        angle = math.atan2(sine, float(a @ b))
        if 0.0 < angle < CORNER:
            rotation, total = lie.so3_exp(axis * (angle / sine)) @ rotation, total + angle
    return Turn(np.kron(np.eye(2), rotation), total)
