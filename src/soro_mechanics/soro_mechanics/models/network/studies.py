# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions beyond one solve: other branches, limit points, mesh error."""

from __future__ import annotations

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration
from soro_mechanics.core.status import Stability
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.equilibrium import Equilibrium
from soro_mechanics.models.network.forward_network import ForwardNetwork
from soro_mechanics.models.network.rod_loads import split_at_loads
from soro_mechanics.numerics import lie

SAME = 1e-6  # distance of stations, in rod lengths, below which two equilibria are one


def solutions(
    model: ForwardNetwork, q: Configuration, starts: int, seed: int = 0
) -> list[Configuration]:
    """Return the different equilibria found at the actuation and load of q, q among them.

    Every start goes to a random actuation within the limits under a random tip load, and comes
    back. Unstable equilibria are returned with their status. Absence proves nothing.
    """
    rng = np.random.default_rng(seed)
    low = np.array([a.minimum for a in model.description.actuators])
    high = np.array([a.maximum for a in model.description.actuators])
    length, force = model.equilibrium(q.loads).layout.structure.scale
    found = [q]
    for _ in range(starts):
        actuation = rng.uniform(low, high)
        wrench = 10.0 * force * rng.normal(size=6) * np.array([1.0] * 3 + [length] * 3)
        away = model.forward(actuation, wrench, q.loads, q.gravity, q)
        if not away.status.converged:
            continue
        back = model.forward(q.actuation, q.wrench, q.loads, q.gravity, away)
        if back.status.converged and all(distance(back, x) > SAME * length for x in found):
            found.append(back)
    return found


def distance(a: Configuration, b: Configuration) -> float:
    """Return the largest distance of corresponding stations [m]."""
    pairs = zip(a.backbones, b.backbones, strict=True)
    return max(float(np.abs(x[:, :3, 3] - y[:, :3, 3]).max()) for x, y in pairs)


def limit_distance(
    model: ForwardNetwork,
    q: Configuration,
    actuation: Array,
    wrench: Array,
    resolution: float = 1e-3,
) -> float:
    """Return how far a path may go before stability is lost, in parts of the given change.

    The path adds t times `actuation` and t times `wrench` to those of q, 0 <= t <= 1. Infinite
    where the whole path is stable.
    """
    at, near, part = 0.0, q, 0.125
    while at < 1.0:
        goal = min(1.0, at + part)
        trial = model.continued(q.actuation + goal * actuation, q.wrench + goal * wrench, near)
        if trial.status.stability is Stability.STABLE:
            at, near = goal, trial
            continue
        if part <= resolution:
            return goal
        part *= 0.5
    return float('inf')


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
