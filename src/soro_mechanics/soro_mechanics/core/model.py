# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a model must offer. Inputs are checked by `Robot` before they get here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
import math
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuation_limits import limits_of
from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    distance,
    extent,
    Guess,
    InverseSolution,
    LoadCase,
    motion_between,
    SAME,
    Target,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.robot_file.reader import RobotDescription


class Batch(Protocol):
    """Solves many actuations at once; goes to other threads and processes."""

    def solve(self, actuations: Array) -> tuple[Array, NDArray[np.bool_]]:
        """Return tips (n, 4, 4), and which of them are solved (n,): those of a cold solve."""


class Model(ABC):
    """One mechanical model of one robot. Stateless: safe to call from several threads.

    Arguments of every method are finite arrays of the right size; `guess` is None or an earlier
    Configuration of the same model. Derivatives are only asked for at converged ones.
    """

    name: str
    section = ''  # of a robot file, whose `elements` are its mesh; empty where it has none
    spreads_loads = False  # whether loads may be spread over a part of a backbone
    only_tangent = ''  # why another method of compliance is refused; empty where none is
    knows_jacobian = False  # whether a solution comes with all of it
    branches = False  # whether a guess may lead to another equilibrium than none

    def __init__(self, description: RobotDescription) -> None:
        from soro_mechanics.inverse.search import Search  # loads Numba

        self.description, self._search = description, Search
        self._fine: Model | None = None
        self.limits = limits_of(description)

    @abstractmethod
    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve the equilibrium; never raises for a solve that fails, the status tells."""

    def fits(self, q: Configuration) -> bool:
        """Whether a Configuration has body and mesh of this model; its numbers may be others."""
        return True

    def within_limits(self, actuation: Array) -> bool:
        """Whether an actuation is finite and keeps every limit, the coupled ones too."""
        return self.limits.allow(actuation)

    @abstractmethod
    def jacobian(self, q: Configuration) -> Array:
        """Return (6, m): tip twist (linear first, at the tip, base axes) per actuation unit."""

    @abstractmethod
    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return, per backbone, (n, 6, 6) at every station: at the point, base axes."""

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip, base axes, linear first."""
        return self.compliance_along(q, method)[-1][-1]

    def inverse(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Find the actuation for a target within the limits; a miss is not explained."""
        return self._searched(target, load, guess)

    def _searched(
        self, target: Target, load: LoadCase, guess: Guess, spent: int = 0
    ) -> InverseSolution:
        """Search, after so many iterations that have led to no solution."""
        return self._search(self, target, load, spent).solve(guess)

    def explained(self, target: Target, load: LoadCase, found: InverseSolution) -> InverseSolution:
        """Say of a solution that is `unexplained` what is beyond the limits."""
        return self._search(self, target, load).explained(found)

    def batch(self, load: LoadCase, count: int) -> Batch | None:
        """Prepare for `count` solves under one load; None where `forward` is what there is."""
        return None

    def too_far(self, point: Array) -> bool:
        """Whether no actuation within the limits can bring the tip to a point (3,)."""
        return False

    def continued(self, actuation: Array, wrench: Array, q: Configuration) -> Configuration:
        """Solve from q along the branch of q, loads and gravity as in q."""
        return self.forward(actuation, replace(q.load, wrench=wrench), q)

    def shifted_tip(self, q: Configuration) -> Array | None:
        """Return the tip (4, 4) at actuation and load of q, which other numbers have solved.

        Exact to first order in the difference to them; None where there is no equilibrium.
        """
        found = self.forward(q.actuation, q.load, q)
        return found.tip if found.status.code is Code.NONE else None

    def released(self, q: Configuration) -> list[Configuration]:
        """Return where the robot comes to rest that leaves an unstable q; empty: not known."""
        return []

    def refined(self) -> Model | None:
        """Return the same model on a mesh twice as fine; None where it has no mesh."""
        if self._fine is None and self.section:
            of = self.description
            mesh = of.structure[self.section]
            finer = {**of.structure, self.section: replace(mesh, elements=2 * mesh.elements)}
            self._fine = type(self)(replace(of, structure=finer))
        return self._fine

    def refinement(self, q: Configuration, cold: Guess = None) -> tuple[float, float]:
        """Return how far the tip moves [m], [rad] on a mesh twice as fine.

        Both meshes are solved without a guess (`cold`: this one already is); NaN where that does
        not lead to q.
        """
        fine = self.refined()
        if fine is None:
            return 0.0, 0.0
        cold = self.forward(q.actuation, q.load, None) if cold is None else cold
        again = fine.forward(q.actuation, q.load, None)
        solved = cold.status.converged and again.status.converged
        if not solved or distance(cold, q) > SAME * extent(q):
            return math.nan, math.nan
        return motion_between(again.tip, q.tip)

    def unsupported(self, field: str, value: object, remedy: str) -> InvalidInput:
        """Make the error for something that this model cannot do."""
        return InvalidInput(field, value, f'{remedy} (model {self.name})', Code.UNSUPPORTED)
