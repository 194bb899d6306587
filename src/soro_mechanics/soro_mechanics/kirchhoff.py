# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscle-driven backbone by least energy (Chen 2022), as an exact Kirchhoff rod.

Inverse: the rod of least energy through the end point gives the muscle lengths, eqs (48)-(54).
Forward: the rod of least energy whose muscles have the bends that the lengths command.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import time
from typing import NamedTuple

import numpy as np

from soro_mechanics.configuration import (
    Array,
    Configuration,
    InverseSolution,
    Load,
    LoadAxes,
    Task,
)
from soro_mechanics.errors import InvalidInput
from soro_mechanics.kirchhoff_guess import spiral_shapes
from soro_mechanics.kirchhoff_muscle_kernels import bends_of, muscle_angle, muscle_lengths
from soro_mechanics.kirchhoff_rod_kernels import (
    elastic_energy,
    module_vectors,
    positions,
    rotation_of,
)
from soro_mechanics.kirchhoff_schema import MuscleBackbone
from soro_mechanics.kirchhoff_steps import hold, Outcome, reach
from soro_mechanics.lie import so3_log
from soro_mechanics.model import Model
from soro_mechanics.robot_file import RobotDescription
from soro_mechanics.status import Code, SolverStatus, Stability

BACKBONE = 'backbone'
TOLERANCE = 1e-9  # of the scaled residual: moments over A / L, bends over the disk radius
_CORRECTIONS = 8
_FIRST_POINTS = (1.0, 0.85, 0.7)  # of the target's distance: where first shapes may end
_NEAREST = 0.995  # of the length: beyond it a rod through the point is nearly straight


class RodState(NamedTuple):
    """A solved shape with everything the next solve starts from."""

    q: Array  # (n, 4) quaternions, scalar first
    force: Array  # (modules, 3) internal force beside the known loads
    bend: Array  # (modules, 2) muscle multipliers
    dead: Array  # (n, 3) known loads times Simpson weights
    moment: Array  # (3,) dead tip moment
    bends: Array  # (modules, 2) bends of the shape
    compliance: Array  # (6, 6) at the tip
    by_bend: Array  # (6, modules, 2)


@dataclass(frozen=True)
class Reach:
    """The rod of least energy through a point: the published inverse kinematics.

    Attributes
    ----------
    quaternions : ndarray, shape (n, 4)
        Scalar first.
    lengths : ndarray, shape (modules, 3) [m]
        Muscle lengths, eq (54).
    reaction : ndarray, shape (3,) [N]
        Force at the end point that the constraint needs.
    energy : float [J]
        Elastic energy.
    minimum : bool
        Whether the reduced Hessian is positive definite.
    status : SolverStatus
    """

    quaternions: Array
    lengths: Array
    reaction: Array
    energy: float
    minimum: bool
    status: SolverStatus


class Kirchhoff(Model):
    """Backbone of finite differences in quaternions; actuation is the 3 m muscle lengths."""

    name = 'kirchhoff'

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.backbone: MuscleBackbone = self._choose(description.structure['kirchhoff'])
        body = self.backbone
        self.element = body.length / body.elements
        self.rod_data = (body.stiffness, self.element, body.muscle_radius)
        self._simpson = np.full(body.elements + 1, 2.0)
        self._simpson[1::2] = 4.0
        self._simpson[[0, -1]] = 1.0
        self._simpson *= self.element / 3.0
        self._arc = np.linspace(0.0, body.length, body.elements + 1)
        self._every = body.elements // (body.modules * body.stations_per_module)
        angles = [[muscle_angle(t, i) for i in range(3)] for t in range(body.modules)]
        # (modules, 2, 3): bends = combine @ lengths
        self.combine = 2.0 / 3.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        straight = np.zeros((body.elements + 1, 4))
        straight[:, 0] = 1.0
        self._straight = RodState(
            straight, np.zeros((body.modules, 3)), np.zeros((body.modules, 2)),
            np.zeros((body.elements + 1, 3)), np.zeros(3), np.zeros((body.modules, 2)),
            np.zeros((6, 6)), np.zeros((6, body.modules, 2)),
        )  # fmt: skip

    def _choose(self, backbone: MuscleBackbone) -> MuscleBackbone:
        return backbone

    # ---- the published inverse ---------------------------------------------------------------

    def reach(
        self,
        target: Array,
        task: Task,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: RodState | Reach | None = None,
    ) -> Reach:
        """Find the rod of least energy that ends at a target (4, 4), eqs (48)-(54).

        The muscles carry whatever the shape needs; only the end point is held. `status.code` is
        UNSTABLE when the stationary shape is not a minimum.
        """
        start = time.perf_counter()
        dead, moment = self._loads(wrench, loads, gravity)
        if guess is not None:
            q = guess.q if isinstance(guess, RodState) else guess.quaternions
            known = guess.force.mean(axis=0) if isinstance(guess, RodState) else guess.reaction
            old = (guess.dead, guess.moment) if isinstance(guess, RodState) else (dead, moment)
            found = self._reach_from(q, known, old, (dead, moment), target, task, start)
            if found.status.code is Code.NONE:
                return found
        best: Reach | None = None
        calm = (np.zeros_like(dead), np.zeros(3))
        # a spiral cannot end near the rim of the workspace: start further in, then move out
        for share in _FIRST_POINTS:
            near = target.copy()
            near[:3, 3] *= share
            shapes = spiral_shapes(near[:3, 3], self.backbone.length, self.backbone.elements)
            for shape in shapes:
                first = self._reach_from(
                    shape, np.zeros(3), calm, calm, near, Task.POSITION, start
                )
                if not first.status.converged:
                    continue
                found = self._reach_from(
                    first.quaternions, first.reaction, calm, (dead, moment), target, task, start
                )
                if found.status.code is Code.NONE:
                    return found
                best = found if best is None or found.status.converged else best
        return self._no_reach(target, start) if best is None else best

    def _no_reach(self, target: Array, start: float) -> Reach:
        status = SolverStatus(
            Code.NOT_CONVERGED, 'no rod through this point was found', 0, 1.0, TOLERANCE,
            time.perf_counter() - start,
        )  # fmt: skip
        lengths = np.full((self.backbone.modules, 3), self.backbone.length / self.backbone.modules)
        return Reach(self._straight.q, lengths, np.zeros(3), 0.0, False, status)

    def _reach_from(
        self,
        q: Array,
        reaction: Array,
        before: tuple[Array, Array],
        after: tuple[Array, Array],
        target: Array,
        task: Task,
        start: float,
    ) -> Reach:
        attitude = {Task.POSITION: 0, Task.POSITION_AND_AXIS: 1, Task.POSE: 2}[task]
        shape, force, (converged, iterations, residual, negative), matrix = reach(
            q, reaction, self.rod_data, before, after, target, attitude, TOLERANCE
        )
        minimum = converged and _is_minimum(matrix, negative, attitude)
        code, message = Code.NONE, ''
        if not converged:
            code, message = Code.NOT_CONVERGED, 'no equilibrium through this point was found'
        elif not minimum:
            code, message = Code.UNSTABLE, 'this shape is a saddle of the energy'
        status = SolverStatus(
            code, message, iterations, residual if converged else max(residual, 2 * TOLERANCE),
            TOLERANCE, time.perf_counter() - start,
            Stability.STABLE if minimum else Stability.UNSTABLE,
        )  # fmt: skip
        return Reach(
            shape, self.lengths_of(shape), force.copy(),
            float(elastic_energy(shape, self.rod_data[0], self.element)), minimum, status,
        )  # fmt: skip

    def lengths_of(self, q: Array) -> Array:
        """Return the muscle lengths (modules, 3) [m] of a shape, eqs (52)-(54)."""
        modules = self.backbone.modules
        per = self.backbone.elements // modules
        rho = np.empty((modules, 3))
        module_vectors(q, self.element, modules, rho)
        lengths = np.empty((modules, 3))
        disks = np.empty((modules + 1, 3, 3))
        for t in range(modules + 1):
            rotation_of(q[t * per], disks[t])
        for t in range(modules):
            muscle_lengths(
                rho[t], disks[t], disks[t + 1], t, self.backbone.muscle_radius, lengths[t]
            )
        return lengths

    # ---- the Model interface -----------------------------------------------------------------

    def forward(
        self,
        actuation: Array,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: Configuration | None,
    ) -> Configuration:
        """Solve for the shape of given muscle lengths."""
        start = time.perf_counter()
        dead, moment = self._loads(wrench, loads, gravity)
        lengths = actuation.reshape(-1, 3)
        wanted = np.einsum('tci,ti->tc', self.combine, lengths)
        first = self._straight if guess is None else guess.state
        state, actual, status = self._hold(first, dead, moment, wanted, start)
        if not status.converged and first is not self._straight:
            state, actual, status = self._hold(self._straight, dead, moment, wanted, start)
        if status.code is Code.NONE:
            slack = float(np.abs((actual - lengths).mean(axis=1)).max())
            if slack > 1e-3:
                text = f'the mean muscle length of a module is off by {slack * 1e3:.1f} mm'
                status = replace(status, message=text)
        return self._configuration(actuation, wrench, loads, gravity, state, status)

    def inverse(
        self,
        target: Array,
        task: Task,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        guess: Configuration | None,
        tolerances: tuple[float, float],
    ) -> InverseSolution:
        """Find lengths: the published shape first, then corrected until `forward` is on target.

        Held by its muscles the robot takes a slightly different shape than the rod that is held at
        its end point only, so the published lengths miss by some millimetres.
        """
        start = time.perf_counter()
        near = target.copy()
        distance = float(np.linalg.norm(target[:3, 3]))
        outside = distance > self.backbone.length
        if not outside and distance > _NEAREST * self.backbone.length:
            # nearly straight the end point hardly determines the shape; the lengths still do
            return super().inverse(target, task, wrench, loads, gravity, guess, tolerances)
        if outside:
            near[:3, 3] *= _NEAREST * self.backbone.length / distance
        state = None if guess is None else guess.state
        shape = self.reach(near, task, wrench, loads, gravity, state)
        if shape.status.code is not Code.NONE:
            return super().inverse(target, task, wrench, loads, gravity, guess, tolerances)
        dead, moment = self._loads(wrench, loads, gravity)
        held, status, tip = self._correct(shape, near, task, dead, moment, tolerances, start)
        actuation = self.lengths_of(held.q).reshape(-1)
        errors = _errors(tip, target, task)
        code, message = status.code, status.message
        if code is Code.NONE and outside:
            code, message = Code.UNREACHABLE, 'further away than the backbone is long'
        elif code is Code.NONE and (errors[0] > tolerances[0] or errors[1] > tolerances[1]):
            code, message = Code.NOT_CONVERGED, 'the muscle lengths did not settle'
        limits = self._stopped(actuation)
        if code is Code.NOT_CONVERGED or (limits and not outside):
            return super().inverse(target, task, wrench, loads, gravity, guess, tolerances)
        q = self._configuration(actuation, wrench, loads, gravity, held, status)
        final = replace(status, code=code, message=message, solve_time=time.perf_counter() - start)
        return InverseSolution(actuation, q, errors[0], errors[1], limits, final)

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, 3 m): tip twist per muscle length; the mean of a module has no effect."""
        jacobian = np.einsum('ktc,tci->kti', q.state.by_bend, self.combine)
        if not q.status.converged:
            jacobian[:] = np.nan
        return jacobian.reshape(6, -1)

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip with the muscles held."""
        self._only_tangent(method)
        compliance: Array = q.state.compliance.copy()
        return compliance if q.status.converged else np.full((6, 6), np.nan)

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return the compliance (n, 6, 6) at every station."""
        self._only_tangent(method)
        if not q.status.converged:
            return (np.full((len(q.arc_lengths[0]), 6, 6), np.nan),)
        from soro_mechanics.kirchhoff_compliance import compliance_at_stations  # scipy.sparse

        s: RodState = q.state
        return (
            compliance_at_stations(
                (s.q, s.force, s.bend), self.rod_data, s.dead, s.moment, self._every
            ),
        )

    # ---- inside ------------------------------------------------------------------------------

    def _only_tangent(self, method: str) -> None:
        if method != 'tangent':
            remedy = "use 'tangent': this formulation has no compliance integral"
            raise self.unsupported('method', method, remedy)

    def _stopped(self, actuation: Array) -> tuple[str, ...]:
        return tuple(
            a.name
            for a, x in zip(self.description.actuators, actuation, strict=True)
            if not a.minimum <= x <= a.maximum
        )

    def _loads(
        self, wrench: Array, loads: tuple[Load, ...], gravity: Array
    ) -> tuple[Array, Array]:
        """Return the force beyond every node times its Simpson weight, and the tip moment."""
        body = self.backbone
        weight = body.mass * gravity / body.length
        beyond = np.outer(body.length - self._arc, weight) + wrench[:3]
        dead = self._simpson[:, None] * beyond
        moment = wrench[3:].copy()
        for load in loads:
            if load.axes is LoadAxes.LOCAL:
                raise self.unsupported('loads', load.on, 'write the load in base axes')
            if load.on == '':
                dead += np.outer(self._simpson, load.wrench[:3])
                moment += load.wrench[3:]
                continue
            if load.on != BACKBONE:
                expected = f"'' (the tip) or {BACKBONE!r}"
                raise InvalidInput('loads.on', load.on, expected, Code.UNKNOWN_NAME)
            if not 0.0 <= load.arc_length <= body.length:
                expected = f'between 0 and {body.length:g} m'
                raise InvalidInput('loads.arc_length', load.arc_length, expected)
            if np.any(load.wrench[3:]):
                remedy = 'moments act on the tip only'
                raise self.unsupported('loads', load.wrench.tolist(), remedy)
            dead += np.outer(self._weights_before(load.arc_length), load.wrench[:3])
        return dead, moment

    def _weights_before(self, arc: float) -> Array:
        """Return the Simpson weights of the panels up to an arc length, the last one in part."""
        weights = np.zeros(self.backbone.elements + 1)
        panel = 2.0 * self.element
        for k in range(self.backbone.elements // 2):
            share = min(1.0, max(0.0, arc / panel - k))
            weights[2 * k : 2 * k + 3] += share * self.element / 3.0 * np.array([1.0, 4.0, 1.0])
        return weights

    def _hold(
        self, first: RodState, dead: Array, moment: Array, wanted: Array, start: float
    ) -> tuple[RodState, Array, SolverStatus]:
        state, lengths, outcome, pivots = self._settle(first, dead, moment, wanted)
        return state, lengths, self._examined(state, outcome, pivots, start)

    def _settle(
        self, first: RodState, dead: Array, moment: Array, wanted: Array
    ) -> tuple[RodState, Array, Outcome, tuple[Array, Array]]:
        """Solve for given bends; the pivots tell stability (`_examined`)."""
        shape, lengths, outcome, response = hold(
            (first.q, first.force, first.bend), self.rod_data, (first.dead, first.moment),
            (dead, moment), first.bends, wanted, TOLERANCE,
        )  # fmt: skip
        compliance, by_bend, local, disks = response
        if not outcome.converged:
            kept = first._replace(compliance=compliance, by_bend=by_bend)
            return kept, lengths, outcome, (local, disks)
        state = RodState(shape[0], shape[1], shape[2], dead, moment, wanted, compliance, by_bend)
        return state, lengths, outcome, (local, disks)

    def _examined(
        self, state: RodState, outcome: Outcome, pivots: tuple[Array, Array], start: float
    ) -> SolverStatus:
        """Return the status with stability: one negative pivot per multiplier is a minimum."""
        if not outcome.converged:
            message = 'no equilibrium found; try a nearer guess or smaller loads'
            return SolverStatus(
                Code.NOT_CONVERGED, message, outcome.iterations,
                max(outcome.residual, 2.0 * TOLERANCE), TOLERANCE, time.perf_counter() - start,
            )  # fmt: skip
        local, disks = pivots
        below = int(np.count_nonzero(np.linalg.eigvalsh(local) < 0.0))
        blocks = 0.5 * (disks[1:] + disks[1:].transpose(0, 2, 1))
        below += int(np.count_nonzero(np.linalg.eigvalsh(blocks) < 0.0))
        stable = outcome.negative + below == 5 * self.backbone.modules
        unit = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # turns count as 0.1 m of arm
        scaled = 0.5 * (state.compliance + state.compliance.T) * np.outer(unit, unit)
        softest = float(np.abs(np.linalg.eigvalsh(scaled)).max())
        return SolverStatus(
            Code.NONE if stable else Code.UNSTABLE,
            '' if stable else 'the backbone would leave this shape', outcome.iterations,
            outcome.residual, TOLERANCE, time.perf_counter() - start,
            Stability.STABLE if stable else Stability.UNSTABLE,
            (1.0 if stable else -1.0) / softest,
        )  # fmt: skip

    def _correct(
        self,
        shape: Reach,
        target: Array,
        task: Task,
        dead: Array,
        moment: Array,
        tolerances: tuple[float, float],
        start: float,
    ) -> tuple[RodState, SolverStatus, Array]:
        """Hold the published lengths, then move the bends least until the tip is on target."""
        modules = self.backbone.modules
        bends = np.array([bends_of(row, t) for t, row in enumerate(shape.lengths)])
        state = RodState(
            shape.quaternions, np.tile(shape.reaction, (modules, 1)), np.zeros((modules, 2)),
            dead, moment, bends, np.zeros((6, 6)), np.zeros((6, modules, 2)),
        )  # fmt: skip
        state, _, outcome, pivots = self._settle(state, dead, moment, bends)
        tip = self._tip(state)
        used = outcome.iterations
        for _ in range(_CORRECTIONS):
            error, turn = _errors(tip, target, task)
            arrived = error <= 0.1 * tolerances[0] and turn <= 0.1 * tolerances[1]
            if arrived or not outcome.converged:
                break
            rows, missing = _task_rows(tip, target, task)
            jacobian = rows @ state.by_bend.reshape(6, -1)
            step = np.linalg.lstsq(jacobian, missing, rcond=None)[0].reshape(modules, 2)
            state, _, outcome, pivots = self._settle(state, dead, moment, state.bends + step)
            used += outcome.iterations
            tip = self._tip(state)
        status = self._examined(state, outcome, pivots, start)
        return state, replace(status, iterations=shape.status.iterations + used), tip

    def _tip(self, state: RodState) -> Array:
        tip = np.eye(4)
        rotation_of(state.q[-1], tip[:3, :3])
        rho = np.empty((1, 3))
        module_vectors(state.q, self.element, 1, rho)
        tip[:3, 3] = rho[0]
        return tip

    def _configuration(
        self,
        actuation: Array,
        wrench: Array,
        loads: tuple[Load, ...],
        gravity: Array,
        state: RodState,
        status: SolverStatus,
    ) -> Configuration:
        points = np.empty((len(state.q), 3))
        positions(state.q, self.element, points)
        nodes = range(0, len(state.q), self._every)
        poses = np.zeros((len(nodes), 4, 4))
        for i, n in enumerate(nodes):
            rotation_of(state.q[n], poses[i, :3, :3])
        poses[:, :3, 3] = points[:: self._every]
        poses[:, 3, 3] = 1.0
        if not status.converged:
            poses[:] = np.nan  # no solution: nothing that could be taken for one
        per = self.backbone.stations_per_module
        bodies = {f'disk_{t}': poses[t * per].copy() for t in range(self.backbone.modules + 1)}
        return Configuration(
            model=self.name, actuation=actuation, wrench=wrench, loads=loads, gravity=gravity,
            tip=poses[-1].copy(), backbones=(poses,), backbone_names=(BACKBONE,),
            arc_lengths=(self._arc[:: self._every],),
            radii=(np.full(len(nodes), self.backbone.radius),), status=status, bodies=bodies,
            state=state,
        )  # fmt: skip


class KirchhoffPublished(Kirchhoff):
    """The same robot with the material constants as printed in the paper."""

    name = 'kirchhoff_published'

    def _choose(self, backbone: MuscleBackbone) -> MuscleBackbone:
        if 'published' not in backbone.materials:
            remedy = 'add kirchhoff.materials.published to the robot file'
            raise self.unsupported('model', self.name, remedy)
        return replace(backbone, material='published')


def _is_minimum(matrix: Array, negative: int, attitude: int) -> bool:
    """Whether the Hessian is positive definite on the constraints, by inertia.

    Interior pivots and the end block together must have one negative eigenvalue per multiplier
    of position; prescribed attitude rows leave the end block.
    """
    free = matrix[{0: 0, 1: 2, 2: 3}[attitude] :, {0: 0, 1: 2, 2: 3}[attitude] :]
    below = np.count_nonzero(np.linalg.eigvalsh(0.5 * (free + free.T)) < 0.0)
    return bool(negative + below == 3)


def _task_rows(tip: Array, target: Array, task: Task) -> tuple[Array, Array]:
    """Return the rows of a tip twist that the task prescribes, and what is missing in them."""
    move = target[:3, 3] - tip[:3, 3]
    if task is Task.POSITION:
        return np.eye(6)[:3], move
    if task is Task.POSE:
        return np.eye(6), np.concatenate([move, so3_log(target[:3, :3] @ tip[:3, :3].T)])
    axis, wanted = tip[:3, 2], target[:3, 2]
    cross = np.cross(axis, wanted)
    sine = float(np.linalg.norm(cross))
    turn = cross * (np.arctan2(sine, float(axis @ wanted)) / sine if sine > 0.0 else 1.0)
    across = np.zeros((5, 6))
    across[:3, :3] = np.eye(3)
    across[3:, 3:] = tip[:3, :2].T
    return across, np.concatenate([move, tip[:3, :2].T @ turn])


def _errors(tip: Array, target: Array, task: Task) -> tuple[float, float]:
    rows, missing = _task_rows(tip, target, task)
    return float(np.linalg.norm(missing[:3])), float(np.linalg.norm(missing[3:]))
