# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Questions beyond one solve: other branches, limit points, conditioning, mesh error, validity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from soro_mechanics import lie
from soro_mechanics.configuration import Array, Configuration
from soro_mechanics.network import layout as lay
from soro_mechanics.network.equilibrium import Equilibrium
from soro_mechanics.status import Stability

if TYPE_CHECKING:
    from soro_mechanics.network.model import Network

SAME = 1e-6  # distance of stations, in rod lengths, below which two equilibria are one
STATION_GAP = 2  # stations next to a common body are never self-contact


def solutions(model: Network, q: Configuration, starts: int, seed: int = 0) -> list[Configuration]:
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
    model: Network, q: Configuration, actuation: Array, wrench: Array, resolution: float = 1e-3
) -> float:
    """Return how far a path may go before stability is lost, in parts of the given change.

    The path adds t times `actuation` and t times `wrench` to those of q, 0 <= t <= 1. Infinite
    where the whole path is stable.
    """
    at, near, part = 0.0, q, 0.125
    while at < 1.0:
        goal = min(1.0, at + part)
        trial = model.forward(
            q.actuation + goal * actuation, q.wrench + goal * wrench, q.loads, q.gravity, near
        )
        if trial.status.stability is Stability.STABLE:
            at, near = goal, trial
            continue
        if part <= resolution:
            return goal
        part *= 0.5
    return float('inf')


@dataclass(frozen=True)
class Conditioning:
    """Singular values of the Jacobian, rotations multiplied by `length` [m]."""

    values: Array
    length: float

    @property
    def condition(self) -> float:
        """Largest over smallest singular value; infinite where a direction is lost."""
        smallest = float(self.values[-1])
        return float(self.values[0]) / smallest if smallest > 0.0 else float('inf')


def conditioning(model: Network, q: Configuration, length: float) -> Conditioning:
    """Return how evenly the actuators move the tip, at a stated characteristic length."""
    scaled = model.jacobian(q) * np.array([[1.0]] * 3 + [[length]] * 3)
    return Conditioning(np.linalg.svd(scaled, compute_uv=False), length)


def refinement(model: Network, q: Configuration) -> tuple[float, float]:
    """Return how far the tip moves [m], [rad] on a mesh twice as fine: an estimate of its error.

    Not a number where the finer mesh finds no equilibrium.
    """
    solution = q.state
    layout = solution.equilibrium.layout
    fine = Equilibrium(lay.build_layout_raw(lay.refined(layout.spec, 2), layout.actuators))
    if all(r.macro for r in layout.spec.rods):
        outcome = fine.newton(fine.inputs(solution.problem), solution.state)
    else:
        outcome = fine.solve(solution.problem, model.rest, None)
    if not outcome.converged:
        return float('nan'), float('nan')
    tip = outcome.state.body[layout.tip_body]
    turn = lie.so3_log(tip[:3, :3].T @ q.tip[:3, :3])
    return float(np.linalg.norm(tip[:3, 3] - q.tip[:3, 3])), float(np.linalg.norm(turn))


@dataclass(frozen=True)
class Validity:
    """Where a solution leaves what the theory is good for.

    Attributes
    ----------
    surface_strain : tuple of float
        Largest strain of the outer fibre of every rod, from curvature change and stretch.
    clearance : float
        Smallest distance between the surfaces of two rods [m]; infinite for one rod.
    closest : tuple of str
        The two rods of `clearance`.
    """

    surface_strain: tuple[float, ...]
    clearance: float
    closest: tuple[str, ...]


def validity(model: Network, q: Configuration) -> Validity:
    """Return strain and clearance of a solution."""
    shape, layout = q.state.shape, q.state.equilibrium.layout
    strains = []
    for r, rod in enumerate(layout.spec.rods):
        part = slice(shape.first[r], shape.first[r + 1])
        # sections at rest: a wrench over the stiffness of the thickest place is not the largest
        flexibility = layout.sections[layout.structure.rod_piece[r], :, 6:12].max(axis=0)
        if rod.macro:
            change = shape.wrench[part] * flexibility
        else:
            p = layout.structure.rod_piece
            change = q.state.state.wrench[p[r] : p[r + 1]] * flexibility
        bend = np.linalg.norm(change[:, 3:5], axis=1)
        strains.append(float(np.max(np.abs(change[:, 2]) + lay.radius_at(rod, 0.0) * bend)))
    clearance = float('inf')
    closest: tuple[str, ...] = ()
    for i in range(len(q.backbones)):
        for j in range(i + 1, len(q.backbones)):
            gap = _gap(q.backbones, q.radii, i, j)
            if gap < clearance:
                clearance, closest = gap, (q.backbone_names[i], q.backbone_names[j])
    return Validity(tuple(strains), clearance, closest)


def _gap(backbones: Sequence[Array], radii: Sequence[Array], i: int, j: int) -> float:
    a = backbones[i][STATION_GAP:-STATION_GAP, :3, 3]
    b = backbones[j][STATION_GAP:-STATION_GAP, :3, 3]
    if not len(a) or not len(b):
        return float('inf')
    apart = np.linalg.norm(a[:, None] - b[None], axis=2)
    return float(apart.min() - radii[i].max() - radii[j].max())
