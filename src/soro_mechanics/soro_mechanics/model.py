# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What a model must offer. Inputs are checked by `Robot` before they get here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from soro_mechanics.configuration import Array, Configuration, InverseSolution, Load, Task
from soro_mechanics.errors import InvalidInput
from soro_mechanics.status import Code

if TYPE_CHECKING:
    from soro_mechanics.robot_file import RobotDescription


class Model(ABC):
    """One mechanical model of one robot. Stateless: safe to call from several threads.

    Arguments of every method are finite arrays of the right size; `guess` is None or an earlier
    Configuration of the same model.
    """

    name: str

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
        from soro_mechanics.inverse import solve_inverse  # scipy is loaded only when used

        return solve_inverse(self, target, task, wrench, loads, gravity, guess, tolerances)

    def unsupported(self, field: str, value: object, remedy: str) -> InvalidInput:
        """Make the error for something that this model cannot do."""
        return InvalidInput(field, value, f'{remedy} (model {self.name})', Code.UNSUPPORTED)
