# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""How far a finer mesh moves the tip."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Configuration
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.models.network.rod_loads import split_at_loads
from soro_mechanics.numerics import lie


def refinement(model: ForwardNetwork, q: Configuration) -> tuple[float, float]:
    """Return how far the tip moves [m], [rad] on a mesh twice as fine: an estimate of its error.

    Not a number where the finer mesh finds no equilibrium.
    """
    solution = q.state
    layout = solution.equilibrium.layout
    spec = split_at_loads(lay.refined(layout.spec, 2), solution.problem.loads)
    fine = Equilibrium(lay.build_layout_raw(spec, layout.actuators))
    if len(fine.layout.structure.share) == len(layout.structure.share):
        outcome = fine.newton(fine.inputs(solution.problem), solution.state)
    else:
        outcome = fine.solve(solution.problem, model.rest, None)
    if not outcome.converged:
        return float('nan'), float('nan')
    tip = outcome.state.body[layout.tip_body]
    turn = lie.so3_log(tip[:3, :3].T @ q.tip[:3, :3])
    return float(np.linalg.norm(tip[:3, 3] - q.tip[:3, 3])), float(np.linalg.norm(turn))
