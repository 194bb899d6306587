# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Outcomes of solvers: codes, stability, and the status that every solution carries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum, IntFlag
import math

OUTSIDE = 'outside the theory'  # how sentences about OUTSIDE_THEORY begin
STRAIN_LIMIT = 0.2  # no solid keeps a linear law beyond (assumed)


class Code(IntEnum):
    """What happened. The values are those of soro_msgs/ErrorCode (a test keeps them equal)."""

    NONE = 0
    UNKNOWN = 1
    INVALID_SIZE = 100
    NOT_FINITE = 101
    UNKNOWN_NAME = 102
    OUT_OF_RANGE = 103
    UNKNOWN_MODEL = 104
    UNKNOWN_FRAME = 105
    UNSUPPORTED = 106
    NOT_CONVERGED = 200
    UNREACHABLE = 201
    AT_LIMIT = 202
    UNSTABLE = 203
    TIMED_OUT = 204
    NOT_ACTIVE = 300
    NOT_IN_CONTROL = 301
    BUSY = 302
    DEVICE_FAULT = 303
    NO_STATE = 304
    CANCELED = 400
    TRACKING_ERROR = 401
    POOR_FIT = 402


class Stability(IntEnum):
    """Stability of an equilibrium with the actuators held."""

    UNKNOWN = 0
    STABLE = 1
    UNSTABLE = 2


class Warnings(IntFlag):
    """What a person should know of a solution; values of soro_msgs/SolverStatus (tested).

    OUTSIDE_THEORY: strain, stretch or contact that the model does not describe. SEVERAL_BRANCHES:
    another equilibrium is known at the same actuation and load. NEAR_INSTABILITY:
    `SolverStatus.limit_distance` is small. COARSE_MESH: `SolverStatus.mesh_error` is large.
    """

    NONE = 0
    OUTSIDE_THEORY = 1
    SEVERAL_BRANCHES = 2
    NEAR_INSTABILITY = 4
    COARSE_MESH = 8


COARSE = 5e-4  # of the robot's length: a larger `SolverStatus.mesh_error` is a warning (assumed)


@dataclass(frozen=True)
class SolverStatus:
    """How a solve ended."""

    code: Code = Code.NONE  #: NONE when the solution can be used
    message: str = ''  #: one sentence for a person; empty when there is nothing to say
    iterations: int = 0  #: Newton (or comparable) iterations, all load steps together
    residual: float = 0.0  #: norm of the scaled equilibrium residual, dimensionless
    tolerance: float = 0.0  #: ``converged`` required ``residual <= tolerance``
    solve_time: float = 0.0  #: wall time [s]
    stability: Stability = Stability.UNKNOWN  #: by inertia of the tangent with the actuators held
    #: of the condensed, scaled tangent; NaN when not computed
    smallest_eigenvalue: float = math.nan
    #: what the model knows to be doubtful about a solution that it found; `message` says it
    warnings: Warnings = Warnings.NONE
    #: share of the present actuation and load that may be added before the equilibrium is
    #: unstable; infinite: more than all of it; NaN when not computed (`Robot.examine`)
    limit_distance: float = math.nan
    #: of the tip, against a finer mesh [m]; NaN when not computed: then a cheap bound of the model
    #: says that it is small, or the model has none (`Robot.examine` computes it)
    mesh_error: float = math.nan

    @property
    def converged(self) -> bool:
        """Whether the equilibrium was solved: the code may still say that a target was missed."""
        return self.residual <= self.tolerance

    @property
    def stable(self) -> bool | None:
        """True, False, or None where the model did not examine it."""
        if self.stability is Stability.UNKNOWN:
            return None
        return self.stability is Stability.STABLE

    @property
    def doubt(self) -> str:
        """Why nobody should move there without knowing it; empty where all is well."""
        if self.code is Code.NONE and not self.warnings:
            return ''
        return self.message or self.code.name.lower().replace('_', ' ')

    def warned(self, warning: Warnings, sentence: str) -> SolverStatus:
        """Return the same status with one warning more, and the sentence that says it."""
        message = '; '.join(x for x in (self.message, sentence) if x)
        return replace(self, warnings=self.warnings | warning, message=message)


def status_of(
    numbers: tuple[int, float, float, float],
    failure: str = '',
    stable: bool = True,
    smallest: float = math.nan,
    instability: str = '',
) -> SolverStatus:
    """Return how a solve ended whose model examines stability.

    numbers: iterations, residual, tolerance, solve time [s]. `failure` says why there is no
    equilibrium, `instability` what is not stable.
    """
    if failure:
        return SolverStatus(Code.NOT_CONVERGED, failure, *numbers)
    if not stable:
        return SolverStatus(Code.UNSTABLE, instability, *numbers, Stability.UNSTABLE, smallest)
    status = object.__new__(SolverStatus)  # all else are defaults: in half of its time
    known = zip(('iterations', 'residual', 'tolerance', 'solve_time'), numbers, strict=True)
    status.__dict__.update(known, stability=Stability.STABLE, smallest_eigenvalue=smallest)
    return status
