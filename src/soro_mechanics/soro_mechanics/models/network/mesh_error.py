# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the mesh leaves uncertain in a solution: an estimate against a mesh twice as fine.

The finer mesh starts from the solution in hand, interpolated, and needs two or three steps of
Newton's method: a third to a half of a warm solve. A bound from turns and forces, which costs
next to nothing, tells most solutions that they need no estimate.
"""

from __future__ import annotations

import math

import numpy as np

from soro_mechanics.core.status import COARSE
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import new_state, State
from soro_mechanics.models.network.equilibrium import Equilibrium, Outcome, Problem
from soro_mechanics.models.network.rod_loads import refined, split_at_loads
from soro_mechanics.models.network.rod_nodes import NODE_MERGE
from soro_mechanics.numerics import lie, lie_kernels

ENOUGH = 1e-7  # scaled residual of the finer mesh
MAX_STEPS = 6
REMAINDER = 4.0 / 3.0  # error over difference to a mesh twice as fine, of second order at least
REMEDY = 'raise models.network.mesh, or write mesh: {tolerance: ...}'


class MeshCheck:
    """Estimates the mesh error of solutions of one layout."""

    def __init__(self, layout: lay.Layout) -> None:
        self._layout = layout
        self._fine: Equilibrium | None = None
        self.limit = COARSE * float(layout.structure.scale[0])

    def error(self, problem: Problem, state: State) -> float:
        """Return the error of the tip [m] against a mesh twice as fine.

        Infinite where the finer mesh finds no equilibrium near this one.
        """
        outcome = self.refined(problem, state, MAX_STEPS, ENOUGH)
        if not outcome.converged:
            return math.inf
        tip = self._layout.tip_body
        apart = outcome.state.body[tip, :3, 3] - state.body[tip, :3, 3]
        return REMAINDER * float(np.linalg.norm(apart))

    def refined(
        self, problem: Problem, state: State, most: int = 25, tolerance: float | None = None
    ) -> Outcome:
        """Solve on the mesh twice as fine, from this solution."""
        fine = self.finer(problem)
        start = self.between(fine.layout, state)
        return fine.newton(fine.inputs(problem), start, most, tolerance)

    def remark(self, error: float) -> str:
        """Say that the mesh is too coarse, and what to do."""
        size = f'is off by {1e3 * error:.2g} mm' if math.isfinite(error) else 'may be anywhere'
        return f'the mesh is coarse, the tip {size}: {REMEDY}'

    def finer(self, problem: Problem) -> Equilibrium:
        """Return the solver on the mesh twice as fine, with nodes where the problem has loads."""
        if self._fine is None:
            spec = split_at_loads(refined(self._layout.spec, 2), problem.load.loads)
            self._fine = Equilibrium(lay.build_layout_raw(spec, self._layout.actuators))
        return self._fine

    def between(self, fine: lay.Layout, state: State) -> State:
        """Return a state of a finer network next to this solution."""
        own, out = self._layout, new_state(fine.structure)
        out = out._replace(body=state.body, joint=state.joint, spin=state.spin)
        twist = np.empty(6)
        for r, rod in enumerate(fine.spec.rods):
            at, pose = own.spec.rods[r].fractions, state.node[own.rod_nodes[r]]
            low = np.clip(np.searchsorted(at, rod.fractions + NODE_MERGE) - 1, 0, len(at) - 2)
            nodes = out.node[fine.rod_nodes[r]]
            part = (rod.fractions - at[low]) / (at[low + 1] - at[low])
            near = np.round(part)
            nodes[:] = pose[low + near.astype(int)]
            for k in np.flatnonzero(np.abs(part - near) > NODE_MERGE):
                a, b = pose[low[k]], pose[low[k] + 1]
                lie_kernels.se3_log(np.linalg.inv(a) @ b, twist)
                nodes[k] = a @ lie.se3_exp(part[k] * twist)
            pieces, coarse = fine.rod_pieces[r], own.rod_pieces[r].start + low[:-1]
            if len(state.tension):
                out.tension[pieces] = state.tension[coarse]
            out.wrench[pieces] = state.wrench[coarse]
        return out
