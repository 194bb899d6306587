# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What solvers are asked (load case, target) and what they return (configuration, solution)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
import math
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.status import SolverStatus

Array = NDArray[np.float64]
Record = TypeVar('Record')
SAME_END = 1.01  # of a miss: farther away, two searches are on their ways to different ends
HOPE = 30.0  # times what the next step promises: the most that all further ones bring (assumed)
# What counts as reached unless the caller says otherwise [m], [rad].
POSITION_TOLERANCE, ORIENTATION_TOLERANCE = 1e-6, 1e-5
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


@dataclass(frozen=True, eq=False)
class Load:
    """A dead (BASE axes) or follower (LOCAL axes) wrench on a body or along a backbone."""

    #: (6,) [N, N m]; force then moment, acting at the point; with `until`, per metre [N/m, N]
    wrench: Array
    on: str = ''  #: name of a backbone or body; empty: the tip
    arc_length: float = 0.0  #: along the unloaded backbone [m]; ignored for bodies and the tip
    axes: LoadAxes = LoadAxes.BASE  #: fixed in base_link, or following the material frame
    #: the load is spread evenly over the backbone from `arc_length` to here [m] (model network)
    until: float | None = None


@dataclass(frozen=True, eq=False)
class LoadCase:
    """Everything that loads a robot in one solve; nothing by default."""

    #: (6,) [N, N m]; dead load at the tip, axes of base_link, force first
    wrench: Array = field(default_factory=lambda: np.zeros(6))
    loads: tuple[Load, ...] = ()  #: further loads
    gravity: Array = field(default_factory=lambda: np.zeros(3))  #: (3,) [m/s^2]; in base_link

    def like(self, other: LoadCase) -> bool:
        """Whether two load cases without further loads are the same."""
        if self.loads or other.loads or self.wrench.tobytes() != other.wrench.tobytes():
            return False
        return self.gravity.tobytes() == other.gravity.tobytes()

    def mixed(self, other: LoadCase, share: float) -> LoadCase:
        """Return the load case that has a share of another one and the rest of this one."""
        loads = tuple(
            replace(item, wrench=weight * item.wrench)
            for weight, group in ((1.0 - share, self.loads), (share, other.loads))
            for item in group
        )
        wrench = (1.0 - share) * self.wrench + share * other.wrench
        return LoadCase(wrench, loads, (1.0 - share) * self.gravity + share * other.gravity)


class Target(NamedTuple):
    """What an inverse has to meet, and how well."""

    pose: Array  #: (4, 4); of the tip in base_link
    task: Task = Task.POSE  #: what of the pose counts
    #: position [m] and orientation [rad]
    tolerances: tuple[float, float] = (POSITION_TOLERANCE, ORIENTATION_TOLERANCE)
    known: float = math.inf  #: `miss` of another search: one that ends farther away may give up
    ends: tuple[Array, ...] = ()  #: actuations (m,) where other searches have ended

    def miss(self, errors: tuple[float, float]) -> float:
        """Return errors [m], [rad] as one number, in units of tolerance."""
        return math.hypot(errors[0] / self.tolerances[0], errors[1] / self.tolerances[1])

    def hopeless(self, miss: float, promise: float) -> bool:
        """Whether steps that promise such a part of a miss lead no nearer than what is known."""
        return miss * (1.0 - HOPE * promise) > SAME_END * self.known

    @property
    def size(self) -> int:
        """Rows of the task: position, then rotation."""
        return (3, 5, 6)[self.task]

    @property
    def finer(self) -> Target:
        """The same target, as nearly as a search goes on: at least to the default tolerances.

        A search that ended at the tolerances of the caller would not move for a smaller change of
        its target: they would be a dead band.
        """
        position, orientation = self.tolerances
        aims = min(position, POSITION_TOLERANCE), min(orientation, ORIENTATION_TOLERANCE)
        return self if aims == self.tolerances else self._replace(tolerances=aims)


@dataclass(frozen=True, eq=False)
class Configuration:
    """A robot in equilibrium; its `wrench`, `loads` and `gravity` are those of its load case."""

    model: str  #: model that produced it
    actuation: Array  #: (m,); SI, in the order of the robot's actuators
    load: LoadCase  #: what it carries
    tip: Array  #: (4, 4); pose of the tip in base_link
    #: (n, 4, 4); poses along each backbone in base_link, local z along the rod
    backbones: tuple[Array, ...] = field(repr=False)
    backbone_names: tuple[str, ...]
    arc_lengths: tuple[Array, ...] = field(repr=False)  #: (n,) [m]; unloaded, increasing
    radii: tuple[Array, ...] = field(repr=False)  #: (n,) [m]
    status: SolverStatus
    #: (4, 4); rigid bodies: platforms, handles, cranks
    bodies: dict[str, Array] = field(default_factory=dict)
    state: Any = field(default=None, repr=False)  #: the model's own, a warm start; not for users
    search: Any = field(default=None, repr=False)  #: an inverse's, for the next; not for users

    @property
    def wrench(self) -> Array:
        """Dead load at the tip, shape (6,) [N, N m]."""
        return self.load.wrench

    @property
    def loads(self) -> tuple[Load, ...]:
        """Further loads."""
        return self.load.loads

    @property
    def gravity(self) -> Array:
        """Gravity in base_link, shape (3,) [m/s^2]."""
        return self.load.gravity


Guess = Configuration | None  # an earlier solution to start from, or none


@dataclass(frozen=True, eq=False)
class InverseSolution:
    """Actuation for a target, or the nearest reachable pose and why it is only that."""

    actuation: Array  #: (m,); a valid command only when ``status.code`` is NONE
    configuration: Configuration  #: at `actuation`; its tip is the nearest reachable pose found
    position_error: float  #: [m]
    orientation_error: float  #: [rad]; zero where the task leaves orientation free
    at_limit: tuple[str, ...]  #: actuators (and coupled limits) that stop the solution
    status: SolverStatus  #: NONE, UNREACHABLE, AT_LIMIT, NOT_CONVERGED or UNSTABLE
    unexplained: bool = False  #: misses its target, and nobody has looked beyond the limits yet


def amended(item: Record, **values: Any) -> Record:
    """Return a copy with other values, as `replace` does, in a fifth of its time."""
    other = object.__new__(type(item))
    other.__dict__.update(item.__dict__, **values)
    return other


def distance(a: Configuration, b: Configuration) -> float:
    """Return the largest distance of corresponding stations [m]."""
    pairs = zip(a.backbones, b.backbones, strict=True)
    return max(float(np.abs(x[:, :3, 3] - y[:, :3, 3]).max()) for x, y in pairs)


def rotation_angle(a: Array, b: Array) -> float:
    """Return the angle between two rotations (3, 3) [rad], exact also near 0 and pi."""
    chord = float(np.linalg.norm(a - b))  # = 2 sqrt(2) |sin(angle / 2)|
    return 2.0 * math.asin(min(chord / math.sqrt(8.0), 1.0))


def motion_between(a: Array, b: Array) -> tuple[float, float]:
    """Return how far [m] and by which angle [rad] two poses are apart."""
    far = float(np.linalg.norm(a[:3, 3] - b[:3, 3]))
    return far, rotation_angle(a[:3, :3], b[:3, :3])


def extent(q: Configuration) -> float:
    """Return the length of the longest backbone [m], unloaded."""
    return max(float(arc[-1] - arc[0]) for arc in q.arc_lengths)
