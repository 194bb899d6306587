# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What of a robot only its beam network computes (`Robot.network`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.model import Model
from soro_mechanics.core.robot_input import whole
from soro_mechanics.models.network.model import Network
from soro_mechanics.models.network.sensitivity import Sensitivity
from soro_mechanics.models.network.tendon.paths import TendonState
from soro_mechanics.models.network.validity import Validity


@dataclass(frozen=True)
class NetworkStudies:
    """Studies around a converged Configuration of model network."""

    _model: Network
    _solved: Callable[[Configuration], Configuration]

    def natural_frequencies(self, q: Configuration, count: int = 3) -> Array:
        """Return the lowest natural frequencies (count,) [Hz] around q, the actuators held."""
        return self._model.natural_frequencies(self._solved(q), whole('count', count))

    def validity(self, q: Configuration) -> Validity:
        """Return strain and clearance of q, and what leaves the theory."""
        return self._model.validity(self._solved(q))

    def tendons(self, q: Configuration) -> TendonState:
        """Return lengths, tensions and pulls of the tendons, by actuator."""
        return self._model.tendons(self._solved(q))

    def sensitivity(
        self, q: Configuration, parameters: Sequence[str], compliance: bool = False
    ) -> Sensitivity:
        """Return how the tip follows parameters, the actuators held.

        Parameters
        ----------
        q : Configuration
        parameters : sequence of str
            ``rod.quantity`` or ``*.quantity`` for all rods, such as ``*.young``, ``rod_1.length``,
            ``rod_1.rest_curvature_y``.
        compliance : bool
            Also differentiate the compliance at the tip.
        """
        return self._model.sensitivity(self._solved(q), parameters, compliance)


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
