# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What solvers return: configurations, inverse solutions, loads, tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.status import SolverStatus

Array = NDArray[np.float64]
SAME = 1e-6  # distance of stations, in extents of the robot, below which two equilibria are one


class Task(IntEnum):
    """What an inverse solution must meet (constants of soro_msgs/SolveInverse)."""

    POSITION = 0
    POSITION_AND_AXIS = 1
    POSE = 2


class LoadAxes(IntEnum):
    """Axes of a load (constants of soro_msgs/Load)."""

    BASE = 0
    LOCAL = 1


@dataclass(frozen=True)
class Load:
    """A dead (BASE axes) or follower (LOCAL axes) wrench on a body, a point or part of a backbone.

    Attributes
    ----------
    wrench : ndarray, shape (6,) [N, N m]
        Force then moment, acting at the point; with `until`, per metre [N/m, N].
    on : str
        Name of a backbone or body; empty: the tip.
    arc_length : float
        Along the unloaded backbone [m]; ignored for bodies and the tip.
    axes : LoadAxes
        Fixed in base_link, or following the material frame.
    until : float, optional
        The load is spread evenly over the backbone from `arc_length` to here [m] (model network).
    """

    wrench: Array
    on: str = ''
    arc_length: float = 0.0
    axes: LoadAxes = LoadAxes.BASE
    until: float | None = None


@dataclass(frozen=True)
class Configuration:
    """A robot in equilibrium.

    Attributes
    ----------
    model : str
        Model that produced it.
    actuation : ndarray, shape (m,)
        SI, in the order of the robot's actuators.
    wrench : ndarray, shape (6,) [N, N m]
        Load at the tip, axes of base_link, force first.
    loads : tuple of Load
        Further loads.
    gravity : ndarray, shape (3,) [m/s^2]
        In base_link.
    tip : ndarray, shape (4, 4)
        Pose of the tip in base_link.
    backbones : tuple of ndarray, shape (n, 4, 4)
        Poses along each backbone in base_link, local z along the rod.
    backbone_names : tuple of str
    arc_lengths : tuple of ndarray, shape (n,) [m]
        Along the unloaded backbone, increasing.
    radii : tuple of ndarray, shape (n,) [m]
    bodies : dict of str to ndarray, shape (4, 4)
        Rigid bodies: platforms, handles, cranks.
    status : SolverStatus
    state : object
        The model's own solution, reused as a warm start; not for users.
    """

    model: str
    actuation: Array
    wrench: Array
    loads: tuple[Load, ...]
    gravity: Array
    tip: Array
    backbones: tuple[Array, ...]
    backbone_names: tuple[str, ...]
    arc_lengths: tuple[Array, ...]
    radii: tuple[Array, ...]
    status: SolverStatus
    bodies: dict[str, Array] = field(default_factory=dict)
    state: Any = None


@dataclass(frozen=True)
class InverseSolution:
    """Actuation for a target, or the nearest reachable pose and why it is only that.

    Attributes
    ----------
    actuation : ndarray, shape (m,)
        A valid command only when ``status.code`` is NONE.
    configuration : Configuration
        At `actuation`; its tip is the nearest reachable pose found.
    position_error : float
        [m]
    orientation_error : float
        [rad]; zero where the task leaves orientation free.
    at_limit : tuple of str
        Actuators (and coupled limits) that stop the solution.
    status : SolverStatus
        NONE, UNREACHABLE, AT_LIMIT, NOT_CONVERGED or UNSTABLE.
    """

    actuation: Array
    configuration: Configuration
    position_error: float
    orientation_error: float
    at_limit: tuple[str, ...]
    status: SolverStatus


def distance(a: Configuration, b: Configuration) -> float:
    """Return the largest distance of corresponding stations [m]."""
    pairs = zip(a.backbones, b.backbones, strict=True)
    return max(float(np.abs(x[:, :3, 3] - y[:, :3, 3]).max()) for x, y in pairs)


def extent(q: Configuration) -> float:
    """Return the length of the longest backbone [m], unloaded."""
    return max(float(arc[-1] - arc[0]) for arc in q.arc_lengths)
