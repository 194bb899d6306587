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
the loop is ``e^(-T s) / (2 max(T, tau) s)``, whose gain margin is pi or more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soro_mechanics.core.actuation_limits import limits_of
from soro_mechanics.core.configuration import Array, Task
from soro_mechanics.inverse.steps import approach_step
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.reader import RobotDescription

DAMPING = 0.03  # (assumed) of the largest singular value: weaker directions are left alone
WHOLE = 1.0  # trust region: the range of an actuator
LONGEST_STEP = 0.2  # s, integrated at once


class Gains(NamedTuple):
    """What is made of an error: an integral [1/s] and a proportional part."""

    integral: float
    proportional: float


def gains_for(dead_time: float, lag: float, integral: float = 0.0) -> Gains:
    """Return the gains for a dead time and a lag [s]; `integral` is taken if positive."""
    chosen = integral or 0.5 / max(dead_time, lag)
    return Gains(chosen, min(0.5, chosen * lag))


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

    Parameters
    ----------
    length : float
        Of the body: a turn of 1 rad counts as much as an error of this length [m].
    longest : float
        Of the offset [m]; as an angle, divided by `length`.

    Attributes
    ----------
    offset : ndarray, shape (6,) [m, rad]
        By how much the tip is led beside the desired pose, axes of base_link.
    saturated : tuple of str
        Limits that the last correction touches.
    """

    def __init__(self, description: RobotDescription, length: float, longest: float) -> None:
        self._limits = limits_of(description)
        self._length, self._longest = length, longest
        self.offset: Array = np.zeros(6)
        self._share: Array = np.zeros(6)
        self.saturated: tuple[str, ...] = ()

    def reset(self) -> None:
        """Forget what was integrated."""
        self.offset, self._share, self.saturated = np.zeros(6), np.zeros(6), ()

    def rest(self) -> None:
        """Look at no error: what was integrated stays."""
        self._share = np.zeros(6)

    def integrate(self, error: Array, seconds: float, gains: Gains) -> None:
        """Take an error (6,) [m, rad] that lasted so long."""
        self._share = gains.proportional * error
        offset = self.offset + gains.integral * min(seconds, LONGEST_STEP) * error
        for part, most in (
            (slice(0, 3), self._longest),
            (slice(3, 6), self._longest / self._length),
        ):
            size = float(np.linalg.norm(offset[part]))
            offset[part] *= min(1.0, most / size) if size > 0.0 else 1.0
        self.offset = offset

    def correction(self, jacobian: Array, tip: Array, task: Task, feedforward: Array) -> Array:
        """Return what is added to the feedforward (m,), shape (m,) [SI].

        Parameters
        ----------
        jacobian : ndarray, shape (6, m)
            Of the tip near the feedforward, axes of base_link, per SI unit.
        tip : ndarray, shape (4, 4)
            Where it was taken.
        task : Task
            What of the pose is corrected.
        feedforward : ndarray, shape (m,)
            Within the limits.
        """
        limits = self._limits
        select = _directions(tip, task, self._length)
        rows = select @ jacobian * limits.scale
        wanted = select @ (self.offset + self._share)
        largest = float(np.linalg.norm(rows, 2))
        if not largest > 0.0:
            return np.zeros(len(feedforward))
        damped = np.concatenate([rows, DAMPING * largest * np.eye(rows.shape[1])])
        right = np.concatenate([wanted, np.zeros(rows.shape[1])])
        free = np.linalg.lstsq(damped, right, rcond=None)[0]
        z = limits.scaled(feedforward)
        step, self.saturated = free, ()
        if not limits.kept(z + free) or np.abs(free).max() > WHOLE:
            step = approach_step(limits, damped, z, right, WHOLE)
            self.saturated = limits.touching(z + step)
            self.offset = self.offset - np.linalg.pinv(select) @ (rows @ (free - step))
        correction: Array = limits.scale * step
        return correction


def _directions(tip: Array, task: Task, length: float) -> Array:
    """Return (k, 6): what of a twist counts, positions in lengths of the body."""
    select = np.zeros((6, 6))
    select[:3, :3] = np.eye(3) / length
    select[3:, 3:] = tip[:3, :3].T  # about the axes of the tip: the last is free with an axis
    return select[: {Task.POSITION: 3, Task.POSITION_AND_AXIS: 5, Task.POSE: 6}[task]]
