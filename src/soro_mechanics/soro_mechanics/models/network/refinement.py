# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a finer mesh moves the tip."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.numerics import lie


def refinement(model: ForwardNetwork, q: Configuration) -> tuple[float, float]:
    """Return how far the tip moves [m], [rad] on a mesh twice as fine: an estimate of its error.

    Not a number where the finer mesh finds no equilibrium.
    """
    solution = q.state
    layout, problem = solution.equilibrium.layout, solution.problem
    check = model.mesh_check(solution.equilibrium)
    outcome = check.refined(problem, solution.state, solution.shape)
    if not outcome.converged:
        outcome = check.finer(problem).solve(problem, model.rest, None)
    if not outcome.converged:
        return float('nan'), float('nan')
    tip = outcome.state.body[layout.tip_body]
    turn = lie.so3_log(tip[:3, :3].T @ q.tip[:3, :3])
    return float(np.linalg.norm(tip[:3, 3] - q.tip[:3, 3])), float(np.linalg.norm(turn))
