# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a robot only its beam network computes (`Robot.network`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.model import Model
from soro_mechanics.core.robot_input import whole
from soro_mechanics.models.network.forward_network import Solution
from soro_mechanics.models.network.frequencies import natural_frequencies
from soro_mechanics.models.network.guard import Validity
from soro_mechanics.models.network.model import Network
from soro_mechanics.models.network.sensitivity import Sensitivity, sensitivity
from soro_mechanics.models.network.tendon.paths import TendonState


@dataclass(frozen=True)
class NetworkStudies:
    """Studies around a converged Configuration of model network."""

    _model: Network
    _solved: Callable[[Configuration], Configuration]

    def natural_frequencies(self, q: Configuration, count: int = 3) -> Array:
        """Return the lowest natural frequencies (count,) [Hz] around q, the actuators held."""
        return natural_frequencies(self._model.linearise(self._solved(q)), whole('count', count))

    def validity(self, q: Configuration) -> Validity:
        """Return strain and clearance of q, and what leaves the theory."""
        solution: Solution = self._solved(q).state
        guard = self._model.guard(solution.equilibrium)
        return guard.validity(solution.inputs, solution.state, q.actuation)

    def tendons(self, q: Configuration) -> TendonState:
        """Return lengths, tensions and pulls of the tendons, by actuator."""
        return self._model.tendons(self._solved(q))

    def sensitivity(
        self, q: Configuration, parameters: Sequence[str], compliance: bool = False
    ) -> Sensitivity:
        """Return how tip (and compliance) follow parameters like ``*.young``, ``rod_1.length``.

        `models.network.sensitivity` lists them.
        """
        return sensitivity(self._solved(q), parameters, compliance)


def network_studies(
    model: Model, solved: Callable[[Configuration], Configuration]
) -> NetworkStudies:
    """Return the studies of a model.

    Raises
    ------
    InvalidInput
        UNSUPPORTED: it is another one. Its file may have a network besides; what that says is
        about another theory's equilibrium, so `robot.with_model('network')` has to be asked.
    """
    if not isinstance(model, Network):
        remedy = "model network: write robot.with_model('network').network, where the file has one"
        raise model.unsupported('network', model.name, remedy)
    return NetworkStudies(model, solved)
