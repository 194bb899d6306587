# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a model must offer. Inputs are checked by `Robot` before they get here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol, TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.core.actuators import limit_violations
from soro_mechanics.core.array_input import all_finite
from soro_mechanics.core.configuration import Array, Configuration, InverseSolution, Load, Task
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code

if TYPE_CHECKING:
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
    spreads_loads = False  # whether loads may be spread over a part of a backbone
    branches = False  # whether a guess may lead to another equilibrium than none

    def __init__(self, description: RobotDescription) -> None:
        self.description = description

    @abstractmethod
    def forward(
        self,
        actuation: Array,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: Configuration | None,
    ) -> Configuration:
        """Solve the equilibrium; never raises for a solve that fails, the status tells."""

    def within_limits(self, actuation: Array) -> bool:
        """Whether an actuation is finite and keeps every limit, the coupled ones too."""
        of = self.description
        return all_finite(actuation) and not limit_violations(
            of.actuators, of.coupled_limits, actuation
        )

    @abstractmethod
    def jacobian(self, q: Configuration) -> Array:
        """Return (6, m): tip twist (linear first, at the tip, base axes) per actuation unit."""

    @abstractmethod
    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return, per backbone, (n, 6, 6) at every station: at the point, base axes."""

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip, base axes, linear first."""
        return self.compliance_along(q, method)[-1][-1]

    def inverse(
        self,
        target: Array,
        task: Task,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: Configuration | None,
        tolerances: tuple[float, float],
    ) -> InverseSolution:
        """Find the actuation for a target pose, shape (4, 4), within (position, orientation)."""
        from soro_mechanics.inverse.search import solve_inverse  # scipy is loaded only when used

        return solve_inverse(self, target, task, wrench, loads, gravity, guess, tolerances)

    def batch(self, wrench: Array, gravity: Array, count: int) -> Batch | None:
        """Prepare for `count` solves under one load; None where `forward` is what there is."""
        return None

    def solutions(self, q: Configuration, starts: int, seed: int) -> list[Configuration]:
        """Return different equilibria at the actuation and load of q, q first."""
        raise self._no_study('solutions')

    def limit_distance(self, q: Configuration, actuation: Array, wrench: Array) -> float:
        """Return the part of a change of actuation and load at which stability is lost."""
        raise self._no_study('limit_distance')

    def natural_frequencies(self, q: Configuration, count: int) -> Array:
        """Return the lowest natural frequencies [Hz] around q, the actuators held."""
        raise self._no_study('natural_frequencies')

    def refinement(self, q: Configuration) -> tuple[float, float]:
        """Return how far the tip moves [m], [rad] on a mesh twice as fine."""
        raise self._no_study('refinement')

    def validity(self, q: Configuration) -> Any:
        """Return strain and clearance of q, and what leaves the theory."""
        raise self._no_study('validity')

    def sensitivity(self, q: Configuration, parameters: Sequence[str], compliance: bool) -> Any:
        """Return how the tip follows parameters of the robot."""
        raise self._no_study('sensitivity')

    def _no_study(self, name: str) -> InvalidInput:
        return self.unsupported('model', self.name, f'a model that offers {name}: network')

    def unsupported(self, field: str, value: object, remedy: str) -> InvalidInput:
        """Make the error for something that this model cannot do."""
        return InvalidInput(field, value, f'{remedy} (model {self.name})', Code.UNSUPPORTED)
