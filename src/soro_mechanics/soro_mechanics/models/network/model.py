# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The beam network behind the Robot API."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    Guess,
    InverseSolution,
    LoadCase,
    motion_between,
    Target,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.inverse.search import Search
from soro_mechanics.models.network.description.spec import GROUND, LENGTHS
from soro_mechanics.models.network.drive_values import driven_ranges
from soro_mechanics.models.network.forward_network import ForwardNetwork, Solution
from soro_mechanics.models.network.inverse_statics.inverse import explained, solve_inverse
from soro_mechanics.models.network.inverse_statics.inverse_problem import in_one_kernel
from soro_mechanics.models.network.ports import port_response, PortResponse
from soro_mechanics.models.network.tendon.paths import TendonState

STRETCHED = 1.01  # of its length: a loaded rod (assumed)


class Network(ForwardNetwork):
    """Any arrangement of rods and rigid bodies (see docs/network.md)."""

    def inverse(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Find the actuation for a target; see `Model.inverse`."""
        if guess is not None:
            layout = self.equilibrium(load.loads).layout
            choice = len(self.rest) + layout.holds_tendons > target.size
            if self.bundles or not (choice or in_one_kernel(layout, target)):
                found = Search(self, target, load).follow(guess)
                if found is not None:
                    return found
        if self.bundles:
            return self._inverse_of_bundles(target, load, guess)
        return solve_inverse(self, target, load, guess)

    def explained(self, target: Target, load: LoadCase, found: InverseSolution) -> InverseSolution:
        """Say of a solution that is `unexplained` what is beyond the limits."""
        if self.bundles:
            return super().explained(target, load, found)
        return explained(self, target, load, found)

    def too_far(self, point: Array) -> bool:
        """Whether a driven rod from the ground to the tip would be longer than it can be."""
        ends = self.description.minimum, self.description.maximum
        longest = np.maximum(*(driven_ranges(self.spec.drives, end)[0] for end in ends))
        to_tip = np.linalg.inv(self.spec.tip)
        for d in self.spec.drives:
            first, last = self.spec.rods[d.rod].ends
            if d.kind in LENGTHS and (first.body, last.body) == (GROUND, self.spec.tip_body):
                arms = (first.crank, last.crank, to_tip @ last.attach)
                reach = STRETCHED * (longest[d.actuator] + d.offset)
                reach += sum(float(np.linalg.norm(arm[:3, 3])) for arm in arms)
                if np.linalg.norm(point - first.attach[:3, 3]) > reach:
                    return True
        return False

    def _inverse_of_bundles(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Seek with every length held, then settle the means and correct by the differences."""
        if guess is not None:
            guess = replace(guess, actuation=guess.state.problem.actuation)
        held = solve_inverse(self, target, load, guess)
        if not held.configuration.status.converged:
            return held
        q = self.forward(held.actuation, load, held.configuration)
        if not q.status.converged:
            return replace(held, status=replace(held.status, code=q.status.code))
        return super().inverse(target, load, q)

    def ports(self, q: Configuration, axes: Array | None = None) -> PortResponse:
        """Return how motors, effector and flex sensors answer around q.

        axes (6, ne): effector directions as orthonormal columns, linear first, at the tip, axes
        of base_link; all six when omitted.
        """
        if any(d.kind != 'angle' for d in self.spec.drives):
            raise self.unsupported('ports', 'actuators', 'ports need motors (driven angles)')
        if not q.status.converged:
            raise InvalidInput('q', q.status.code.name, 'a converged Configuration')
        directions = np.eye(6) if axes is None else axes
        return port_response(self.linearise(q), q.actuation, q.wrench, q.tip, directions)

    def tendons(self, q: Configuration) -> TendonState:
        """Return lengths, tensions and pulls of the tendons, by actuator."""
        solution: Solution = q.state
        tendons = solution.equilibrium.layout.tendons
        length = tendons.lengths(solution.state)
        tension = tendons.tensions(solution.inputs, solution.state)
        names = tuple(self.description.actuators[i].name for i in tendons.actuators)
        return TendonState(names, length, tendons.rest + tendons.soft * tension - length, tension)

    def refinement(self, q: Configuration, cold: Guess = None) -> tuple[float, float]:
        """Return how far the tip moves [m], [rad] on a mesh twice as fine, solved from q.

        Not a number where the finer mesh finds no equilibrium.
        """
        solution: Solution = q.state
        layout, problem = solution.equilibrium.layout, solution.problem
        check = self.mesh_check(solution.equilibrium)
        outcome = check.refined(problem, solution.state)
        if not outcome.converged:
            outcome = check.finer(problem).solve(problem, self.rest, None)
        if not outcome.converged:
            return float('nan'), float('nan')
        return motion_between(outcome.state.body[layout.tip_body], q.tip)
