# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a tip (4, 4) is from its target, and the part of its motion that the task counts."""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.configuration import Array, Target, Task
from soro_mechanics.inverse import task_kernels as kernels


def axis_turn(tip: Array, target: Array) -> Array:
    """Return the shortest turn of a tip's z axis to a target's, shape (3,) [rad], base axes."""
    return np.array(kernels.axis_turn(tip, target))


def task_error(tip: Array, target: Target) -> Array:
    """Return what the task lacks, shape (3,), (5,) or (6,): position [m], then rotation [rad].

    Base axes; the rotation of POSITION_AND_AXIS about the tip's own x and y.
    """
    error = np.empty(target.size)
    kernels.task_error(tip, target.pose, 1.0, 1.0, error)
    return error


def task_rows(tip: Array, task: Task, twist: Array) -> Array:
    """Return of twists (6, ...) of the tip, base axes, what the task counts; see `task_error`."""
    if task is Task.POSITION:
        return twist[:3]
    if task is Task.POSE:
        return twist
    return np.concatenate([twist[:3], tip[:3, :2].T @ twist[3:]])


def task_errors(tip: Array, target: Target) -> tuple[float, float]:
    """Return the errors of position [m] and orientation [rad]."""
    away, turned, _ = kernels.task_error(tip, target.pose, 1.0, 1.0, np.empty(target.size))
    return away, turned


def sizes(error: Array) -> tuple[float, float]:
    """Return how large position [m] and rotation [rad] of what a task lacks are."""
    return math.hypot(*error[:3].tolist()), math.hypot(*error[3:].tolist())


def miss_sentence(errors: tuple[float, float]) -> str:
    """Say by how much, [m] and [rad], the nearest pose found misses its target."""
    away, turn = 1e3 * errors[0], math.degrees(errors[1])
    return f'the nearest pose found misses by {away:.3g} mm, {turn:.3g} deg'
