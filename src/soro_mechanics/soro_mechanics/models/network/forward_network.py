# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The beam network: equilibria, their status, and what is linear around them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
import math
import threading
import time
from typing import Any

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration, Guess, Load, LoadCase
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import COARSE, SolverStatus, Stability, status_of, Warnings
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import Inputs, State
from soro_mechanics.models.network.batch import Batch, make_batch
from soro_mechanics.models.network.bundles import Bundles, MAX_ROUNDS
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.equilibrium import Equilibrium, Near, Outcome, Problem
from soro_mechanics.models.network.guard import Guard
from soro_mechanics.models.network.kernels.path_memory_kernels import PathMemory
from soro_mechanics.models.network.linearisation import Linearisation
from soro_mechanics.models.network.mesh_error import MeshCheck
from soro_mechanics.models.network.meshing import choose_mesh, MeshReport
from soro_mechanics.models.network.relaxation import release
from soro_mechanics.models.network.rod_loads import split_at_loads
from soro_mechanics.robot_file.reader import RobotDescription


@dataclass(eq=False)
class Solution:
    """What a Configuration keeps: the state to start from, and what was computed of it so far."""

    equilibrium: Equilibrium
    problem: Problem
    inputs: Inputs
    state: State
    linearisation: Linearisation | None = None
    path: PathMemory | None = None  # of inverses
    bend: Array | None = None  # the same, see `LeastEnergy.curved`

    def nearby(self, problem: Problem) -> Near | None:
        """Return what tells where other actuations lead; None where that does not help."""
        linear, load = self.linearisation, problem.load
        change = problem.actuation - self.problem.actuation
        if (
            linear is None
            or not linear.plain
            or not any(change.tolist())
            or not load.like(self.problem.load)
            or self.equilibrium.longest_step(self.problem.actuation, problem.actuation) < 1.0
        ):
            return None
        return linear, change

    def __reduce__(self) -> Any:
        """Cross a wire without what is computed again when it is asked for."""
        return Solution, (self.equilibrium, self.problem, self.inputs, self.state)


FAILURE = 'no equilibrium found: the continuation stopped at its smallest step'
MAX_SOLVERS = 64  # kept, one for each set of places of loads


class ForwardNetwork(Model):
    """Equilibria of any arrangement of rods and rigid bodies, and what is linear around them."""

    name = 'network'
    only_tangent = 'this model has the exact tangent only'
    spreads_loads = True
    branches = True
    estimates_mesh = True  # False where a loop cannot wait for a second mesh

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.spec: NetworkSpec
        self.mesh: MeshReport | None  # of a tolerance in the robot file
        self.spec, self.mesh = choose_mesh(description, description.structure['network'])
        self.rest = description.rest
        self.bundles = Bundles(self.spec)
        self._names = {r.name for r in self.spec.rods}
        self._solvers: dict[tuple[tuple[str, float, float | None], ...], Equilibrium] = {}
        self._lock = threading.Lock()
        self._batch: tuple[tuple[float, ...], int, Batch | None] | None = None

    def __reduce__(self) -> tuple[type[ForwardNetwork], tuple[RobotDescription]]:
        """Cross a wire as what it is made of: solvers are made again there."""
        return type(self), (self.description,)

    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve the equilibrium; see `Model.forward`."""
        start = time.perf_counter()
        equilibrium = self.equilibrium(load.loads)
        problem = Problem(actuation, load)
        near = None if guess is None else guess.state

        def first(problem: Problem) -> Outcome:
            if near is None:
                return equilibrium.solve(problem, self.rest, None)
            if near.equilibrium is equilibrium:
                tangent, spent = equilibrium.tangent_work(), 0
                linear = near.nearby(problem)
                if linear is not None:
                    x = equilibrium.inputs(problem)
                    found = equilibrium.newton(x, near.state, tangent=tangent, near=linear)
                    if found.converged:
                        return found
                    spent = found.iterations
                known = near.problem, near.state
                outcome = equilibrium.solve(problem, self.rest, known, tangent)
                return replace(outcome, iterations=outcome.iterations + spent)
            outcome = self._adopted(equilibrium, problem, near)
            return outcome or equilibrium.solve(problem, self.rest, None)

        return self._solved(equilibrium, problem, near, first, start)

    def continued(self, actuation: Array, wrench: Array, q: Configuration) -> Configuration:
        """Solve from q along the branch of q; not converged where that branch ends."""
        start = time.perf_counter()
        solution: Solution = q.state
        problem = Problem(actuation, replace(q.load, wrench=wrench))
        near = (solution.problem, solution.state)

        def first(problem: Problem) -> Outcome:
            return solution.equilibrium.follow(problem, near)

        return self._solved(solution.equilibrium, problem, solution, first, start)

    def _solved(
        self,
        equilibrium: Equilibrium,
        problem: Problem,
        near: Solution | None,
        first: Callable[[Problem], Outcome],
        start: float,
    ) -> Configuration:
        """Solve by `first`; of bundles go on to the means of their lengths."""
        if not self.bundles:
            return self.configuration(equilibrium, problem, first(problem), start)
        commanded = problem.actuation
        known = None if near is None else near.problem.actuation
        search = self.bundles.search(commanded, known)
        problem = replace(problem, actuation=search.lengths)
        outcome = first(problem)
        spent = outcome.iterations
        while outcome.converged:
            if search.balanced(equilibrium, equilibrium.inputs(problem), outcome.state):
                break
            before, problem = problem, replace(problem, actuation=search.lengths)
            outcome = equilibrium.follow(problem, (before, outcome.state))
            spent += outcome.iterations
            if search.rounds == MAX_ROUNDS:
                outcome = replace(outcome, converged=False, residual=math.inf)
        outcome = replace(outcome, iterations=spent)
        q = self.configuration(equilibrium, problem, outcome, start)
        texts = [q.status.message]
        if outcome.converged:
            texts.append(self.bundles.remark(commanded, problem.actuation))
        status = replace(q.status, message='; '.join(x for x in texts if x))
        return replace(q, actuation=commanded.copy(), status=status)

    def batch(self, load: LoadCase, count: int) -> Batch | None:
        """Prepare for many actuations under one load; see `make_batch`. The last one is kept."""
        if self.bundles or load.loads:  # it fits a function of the lengths, means included
            return None
        kept, key = self._batch, (*load.wrench.tolist(), *load.gravity.tolist())
        if kept is not None and kept[0] == key and (kept[2] is not None or count <= kept[1]):
            return kept[2]
        actuators = self.description.actuators
        made = make_batch(self.equilibrium(()), self.rest, actuators, load, count)
        self._batch = (key, count, made)
        return made

    def _adopted(
        self, equilibrium: Equilibrium, problem: Problem, other: Solution
    ) -> Outcome | None:
        """Solve from a solution of a robot with other numbers; None where it does not help."""
        before = other.problem.actuation
        far = equilibrium.longest_step(before, problem.actuation) < 1.0
        if far or not equilibrium.same_mesh(other.equilibrium):
            return None
        start = equilibrium.adopt(problem, other.inputs, other.state)
        outcome = equilibrium.newton(equilibrium.inputs(problem), start)
        return outcome if outcome.converged else None

    def shifted_tip(self, q: Configuration) -> Array | None:
        """Return the tip after one Newton step, ``dq = -K^-1 dR``; see `Model.shifted_tip`."""
        old: Solution = q.state
        equilibrium, problem = self.equilibrium(q.loads), old.problem
        if self.bundles or not equilibrium.same_mesh(old.equilibrium):
            return super().shifted_tip(q)
        start = equilibrium.adopt(problem, old.inputs, old.state)
        found = equilibrium.newton(equilibrium.inputs(problem), start, 1)
        if not math.isfinite(found.residual):
            return None
        return found.state.body[equilibrium.layout.tip_body]

    def fits(self, q: Configuration) -> bool:
        """Whether a Configuration has the mesh of this model."""
        own, of = self.equilibrium(q.loads), q.state.equilibrium
        return of is own or own.same_mesh(of)

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, m): tip twist (linear first, at the tip, base axes) per actuation unit."""
        return self.linearise(q).jacobian(self.equilibrium(q.loads).layout.tip_body)

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip, base axes: the exact tangent."""
        tip = self.equilibrium(q.loads).layout.tip_body
        return self.linearise(q).body_compliance(tip, tip)

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return, per rod, (n, 6, 6) at every node: at the point, base axes."""
        total = self.linearise(q).node_compliance()
        return tuple(total[part] for part in q.state.equilibrium.layout.rod_nodes)

    def linearise(self, q: Configuration) -> Linearisation:
        """Return the network linearised at q; computed once."""
        s: Solution = q.state
        if s.linearisation is None:
            s.linearisation = Linearisation(s.equilibrium.layout, s.inputs, s.state)
        return s.linearisation

    def guard(self, equilibrium: Equilibrium) -> Guard:
        """Return what checks solutions on a mesh of this model for validity."""
        if equilibrium.guard is None:
            equilibrium.guard = Guard(self.description, equilibrium.layout)
        return equilibrium.guard

    def mesh_check(self, equilibrium: Equilibrium) -> MeshCheck:
        """Return what estimates the mesh error of solutions of one solver."""
        if equilibrium.mesh_check is None:
            equilibrium.mesh_check = MeshCheck(equilibrium.layout)
        return equilibrium.mesh_check

    def equilibrium(self, loads: tuple[Load, ...]) -> Equilibrium:
        """Return the solver whose mesh has a node at every point load."""
        names = self._names
        key = tuple([(x.on, x.arc_length, x.until) for x in loads if x.on in names])
        found = self._solvers.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._solvers:
                if len(self._solvers) >= MAX_SOLVERS:  # of loads that wander: the oldest goes
                    del self._solvers[next(k for k in self._solvers if k)]
                spec = split_at_loads(self.spec, loads)
                layout = lay.build_layout(spec, len(self.description.actuators))
                self._solvers[key] = Equilibrium(layout)
            return self._solvers[key]

    def configuration(
        self, equilibrium: Equilibrium, problem: Problem, outcome: Outcome, start: float
    ) -> Configuration:
        """Describe an outcome to people: poses, status, stability."""
        layout = equilibrium.layout
        state = outcome.state
        solution = Solution(equilibrium, problem, equilibrium.inputs(problem), state)
        status = self._status(equilibrium, solution, outcome, start)
        body, rods = state.body.copy(), state.node.copy()
        if not outcome.converged:  # nothing that could be taken for a solution
            body, rods = np.full_like(body, np.nan), np.full_like(rods, np.nan)
        tip, bodies = layout.named(body)
        return Configuration(
            model=self.name,
            actuation=problem.actuation,
            load=problem.load,
            tip=tip,
            backbones=tuple(map(rods.__getitem__, layout.rod_nodes)),
            backbone_names=layout.rods,
            arc_lengths=layout.arcs(solution.inputs.length),
            radii=layout.radii,
            bodies=bodies,
            status=status,
            state=solution,
        )

    def _status(
        self, equilibrium: Equilibrium, solution: Solution, outcome: Outcome, start: float
    ) -> SolverStatus:
        known = outcome.iterations, outcome.residual, equilibrium.tolerance
        if not outcome.converged:
            return status_of((*known, time.perf_counter() - start), FAILURE)
        at = equilibrium.layout, solution.inputs, solution.state
        linear = solution.linearisation = Linearisation(*at, *(outcome.tangent or ()))
        smallest = math.nan if linear.singular else linear.smallest_eigenvalue()
        actuation = solution.problem.actuation
        remark, doubt = self.guard(equilibrium).examined(*at[1:], actuation)
        numbers = *known, time.perf_counter() - start
        status = status_of(numbers, '', linear.stable, smallest, linear.remark)
        if remark:
            status = status.warned(Warnings.OUTSIDE_THEORY, remark)
        if doubt <= COARSE or not self.estimates_mesh:
            return status
        return self._with_mesh_error(solution, status)

    def _with_mesh_error(self, solution: Solution, status: SolverStatus) -> SolverStatus:
        check = self.mesh_check(solution.equilibrium)
        error = check.error(solution.problem, solution.state)
        status = replace(status, mesh_error=error)
        if error <= check.limit:
            return status
        return status.warned(Warnings.COARSE_MESH, check.remark(error))

    def released(self, q: Configuration) -> list[Configuration]:
        """Return where the robot comes to rest that leaves q either way; see `release`."""
        solution: Solution = q.state
        equilibrium = solution.equilibrium
        layout = equilibrium.layout
        if q.status.stability is not Stability.UNSTABLE or layout.holds_tendons:
            return []
        found = []
        for side in (1.0, -1.0):
            begin = time.perf_counter()
            at = layout, solution.inputs, solution.state
            state = release(*at, equilibrium.tolerance, side)
            if state is None:
                continue
            outcome = equilibrium.newton(solution.inputs, state)
            if outcome.converged:
                found.append(self.configuration(equilibrium, solution.problem, outcome, begin))
        return found
