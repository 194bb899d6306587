# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Mesh by tolerance: refine what asks for it until the estimated error is small enough.

Every candidate mesh is compared with one twice as fine, at rest and at the extremes of the
actuators under the robot's own weight and loads. The error of positions falls at least with the
second power of the mesh, so the coarse mesh is off by at most 4/3 of the difference.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

import numpy as np

from soro_mechanics.core.actuation_limits import extremes
from soro_mechanics.core.configuration import Array, LoadCase
from soro_mechanics.core.errors import RobotFileError
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, State
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.mesh_error import MeshCheck
from soro_mechanics.models.network.rod_loads import refined, split_at_loads
from soro_mechanics.models.network.rod_nodes import NODE_MERGE
from soro_mechanics.robot_file.reader import RobotDescription

MAX_DOUBLINGS = 5
REMAINDER = 4.0 / 3.0  # error over difference to a mesh twice as fine, second order


@dataclass(frozen=True)
class MeshReport:
    """What the tolerance of a robot file led to."""

    tolerance: float  # the smallest one asked for [m]
    error: float  # estimated largest error of a position along the rods and of the bodies [m]
    worst: str  # the actuation it belongs to


def choose_mesh(
    description: RobotDescription, spec: NetworkSpec
) -> tuple[NetworkSpec, MeshReport | None]:
    """Return the network on the mesh that its tolerances ask for, and how good it is.

    Raises RobotFileError: the tolerance is not met by the finest mesh, or an equilibrium to
    compare is not found.
    """
    asked = [r.tolerance for r in spec.rods if r.tolerance is not None]
    if not asked:
        return spec, None
    tolerance = min(asked)
    cases = extremes(description)
    coarse, near = _Solved(description, spec, cases), set[str]()
    for _ in range(MAX_DOUBLINGS + 1):
        finer = _refined(spec)
        fine = _Solved(description, finer, cases, coarse, near)
        gaps = {name: coarse.apart(fine, name) for name in cases}
        worst = max(gaps, key=lambda name: gaps[name])
        error = REMAINDER * gaps[worst]
        if error <= tolerance:
            return spec, MeshReport(tolerance, error, worst)
        near = {name for name, gap in gaps.items() if gap < fine.check.limit}
        spec, coarse = finer, fine
    why = f'about {error:.1e} m ({worst}) on the finest mesh; write a larger tolerance'
    if lost := [name for name, gap in gaps.items() if gap == np.inf]:
        why = f'no equilibrium at {len(lost)} of {len(cases)} extremes ({lost[0]}); lower limits'
    remedy = f'cannot be met: {why}, or write a number of pieces'
    raise RobotFileError('models.network.mesh.tolerance', f'{tolerance:g} m', remedy)


def _refined(spec: NetworkSpec) -> NetworkSpec:
    """Divide the elements of rods that have a tolerance."""
    fine = refined(spec, 2)
    own = zip(spec.rods, fine.rods, strict=True)
    return replace(fine, rods=tuple(r if r.tolerance is None else f for r, f in own))


class _Solved:
    """The equilibria of one mesh, by case.

    In those that are `near` they are sought next to the coarser mesh's, which agrees there with
    one that is coarser still.
    """

    def __init__(
        self,
        description: RobotDescription,
        spec: NetworkSpec,
        cases: dict[str, Array],
        coarse: _Solved | None = None,
        near: Set[str] = frozenset(),
    ) -> None:
        rest = description.rest
        layout = lay.build_layout(split_at_loads(spec, ()), len(rest))
        solver, self.check, self.layout = Equilibrium(layout), MeshCheck(layout), layout
        self.found: dict[str, State] = {}
        for name, actuation in cases.items():
            problem, outcome = Problem(actuation, LoadCase(gravity=description.gravity)), None
            if coarse is not None and name in near:
                start = coarse.check.between(layout, coarse.found[name])
                outcome = solver.newton(solver.inputs(problem), start)
            if outcome is None or not outcome.converged:
                outcome = solver.solve(problem, rest, None)
            if outcome.converged:
                self.found[name] = copy_state(outcome.state)

    def apart(self, fine: _Solved, name: str) -> float:
        """Return the largest distance of nodes that both meshes have [m]."""
        if name not in self.found or name not in fine.found:
            return np.inf
        worst, pairs = 0.0, zip(self.layout.rod_nodes, fine.layout.rod_nodes, strict=True)
        at, fine_at = self.layout.fractions, fine.layout.fractions
        place, fine_place = (of.found[name].node[:, :3, 3] for of in (self, fine))
        for a, b in pairs:
            near = np.abs(at[a, None] - fine_at[None, b]).argmin(axis=1)
            same = np.abs(at[a] - fine_at[b][near]) < NODE_MERGE
            gap = np.linalg.norm(place[a] - fine_place[b][near], axis=1)
            worst = max(worst, float(gap[same].max()))
        return worst
