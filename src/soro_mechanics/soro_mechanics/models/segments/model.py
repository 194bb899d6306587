# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What Shi's four models share: actuation stage, then loads on the sections that it leaves.

The actuation stage (`_ramp`, one per model) takes pressure and self-weight in increments (or
pressure alone, `Compensation.weight`); the external loads act on the final sections in one
equilibrium, whose tangent is the compliance.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property
import math
import time

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration, Guess, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import OUTSIDE, SolverStatus, status_of, Warnings
from soro_mechanics.models.segments import rod_kernels as kernels
from soro_mechanics.models.segments.cosserat_kernels import (
    EXACT,
    Increment,
    LANES,
    PUBLISHED,
    RECORD,
)
from soro_mechanics.models.segments.grid import Grid, load_arrays, load_cuts, make_grid
from soro_mechanics.models.segments.rod_kernels import Nodes, PointLoads, Rod
from soro_mechanics.models.segments.schema import Compensation, SegmentChain
from soro_mechanics.models.segments.sums import compliance_sums
from soro_mechanics.numerics import lie
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues
from soro_mechanics.robot_file.reader import RobotDescription

PART = 1e-4  # of a threshold, to see what it does
MAX_INCREMENTS = 10_000  # of an actuation: beyond all that a soft segment survives
MAX_DRIFT = 0.1  # of integrated rotations from rotations; assumed: farther is no solution
TOO_FEW = 1e300  # in place of a residual: of elements
TOLERANCE = 1e-9  # of the scaled residual: force by EI/L^2, moment by EI/L
MIN_STRETCH, MAX_STRETCH = 0.5, 2.5  # assumed: how far linear laws of soft rubber can be trusted


@dataclass(frozen=True, eq=False)
class Ramp:
    """Result of the actuation stage: section record, its variations, base moments."""

    actuation: Array
    gravity: Array
    record: Array
    d_record: Array
    starts: Array
    passes: int
    residual: float
    structure: SegmentChain  # whose sections these are


@dataclass(frozen=True, eq=False)
class RodState:
    """Solution kept for a warm start, Jacobian and compliance."""

    grid: Grid
    loads: PointLoads
    ramp: Ramp
    base_wrench: Array
    nodes: Array
    columns: Array
    integral: Array


class SegmentModel(Model):
    """A chain of soft segments clamped at the base."""

    section, linear = 'segments', False

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.structure: SegmentChain = description.structure[self.section]
        segments = self.structure.segments
        length = sum(s.length for s in segments)
        stiffness = min(s.bending_stiffness for s in segments)
        self._units = np.array([stiffness / length**2, stiffness / length])
        scale = np.repeat([1.0, length], 3) / math.sqrt(stiffness)  # of compliances
        self._per_unit = 1.0 / np.outer(scale, scale)
        self._plain = make_grid(self.structure, tuple(() for _ in segments))
        self._pushes = np.zeros((len(segments), 3, len(description.actuators)))
        self._no_pushes = np.zeros((len(segments), 3, 0))
        for i, segment in enumerate(segments):
            for c in segment.chambers:
                x, y = c.offset * math.cos(c.angle), c.offset * math.sin(c.angle)
                self._pushes[i, :, c.actuator] += c.area * np.array([1.0, y, -x])

    @property
    def compensation(self) -> Compensation:
        """How the actuation is taken; the linear models take one published increment."""
        if self.linear:
            return Compensation('published', 1, 0.0, self.structure.compensation.weight)
        return self.structure.compensation

    def parts(self, actuation: Array) -> Array:
        """Return the fractions of the actuation at the end of every increment."""
        compensation = self.compensation
        if compensation.increments > 0:
            return np.arange(1.0, compensation.increments + 1.0) / compensation.increments
        growth = float(np.linalg.norm(actuation)) / compensation.threshold
        if not growth <= MAX_INCREMENTS:
            expected = f'at most {MAX_INCREMENTS} times the threshold of the increments'
            raise InvalidInput('actuation', actuation.tolist(), expected)
        whole = np.arange(1.0, math.ceil(growth))
        return np.append(whole / growth, 1.0) if growth > 1.0 else np.ones(1)

    def _ramp(
        self, grid: Grid, actuation: Array, gravity: Array, parameters: int, guess: Ramp | None
    ) -> Ramp:
        """Run the actuation stage, with variations by all actuators (`parameters`) or none (0)."""
        parts = self.parts(actuation)
        compensation = self.compensation
        rule = PUBLISHED if compensation.rule == 'published' else EXACT
        double = compensation.rule == 'converged'
        runs = (parts, _halves(parts)) if double else (parts,)
        total = sum(len(p) for p in runs)
        warm = guess is not None and guess.starts.shape == (total, 3)
        starts = guess.starts.copy() if guess is not None and warm else np.zeros((total, 3))
        push, pushes = self._push(actuation), self._pushes if parameters else self._no_pushes
        passes, worst, results, first = 0, 0.0, [], 0
        for steps in runs:
            record = np.empty((grid.chain.lengths.size, 3, RECORD))
            d_record = np.zeros((*record.shape, parameters))
            own = starts[first : first + len(steps)]
            whole = Increment(grid.chain, record, d_record, push, pushes, gravity, rule, LANES)
            used, residual = self._increments(whole, steps, own, warm)
            first += len(steps)
            passes += used
            worst = max(worst, residual) if math.isfinite(residual) else math.inf
            results.append((record, d_record))
        record, d_record = results[-1]
        if double:
            # The increments are second order and symmetric: this combination is fourth order.
            for fine, coarse in zip(results[-1], results[0], strict=True):
                fine *= 4.0
                fine -= coarse
                fine /= 3.0
        return Ramp(
            actuation.copy(),
            gravity.copy(),
            record,
            d_record,
            starts,
            passes,
            worst,
            self.structure,
        )

    @abstractmethod
    def _increments(
        self, whole: Increment, parts: Array, starts: Array, warm: bool
    ) -> tuple[int, float]:
        """Take the increments; write records and base moments; return (passes, residual).

        `whole`: of the whole actuation, its records are written; `parts` (increments,): of the
        actuation, at the end of each; `starts` (increments, 3): moments at the base, written;
        where `warm`, those of a like actuation.
        """

    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve the equilibrium; a failed solve is reported by the status."""
        began = time.perf_counter()
        cuts = load_cuts(self.structure, load.loads)
        grid = self._plain if not any(cuts) else make_grid(self.structure, cuts)
        old: RodState | None = None
        if guess is not None and guess.status.converged and guess.state.grid.cuts == grid.cuts:
            old = guess.state
        ramped = load.gravity if self.compensation.weight == 'ramped' else np.zeros(3)
        ramp = self._reuse(old, actuation, ramped)
        if ramp is None:
            ramp = self._ramp(grid, actuation, ramped, 0, old.ramp if old else None)
            if old is not None and not math.isfinite(ramp.residual):  # led astray
                ramp = self._ramp(grid, actuation, ramped, 0, None)
        state, passes, residual = self._load(grid, ramp, load, old, guess)
        status = self._status(state, passes, residual, began)
        return self._configuration(state, actuation, load, status)

    def _reuse(self, old: RodState | None, actuation: Array, gravity: Array) -> Ramp | None:
        if old is None or old.ramp.structure is not self.structure:
            return None  # a guess from a robot of other numbers, if any
        same = np.array_equal(old.ramp.actuation, actuation)
        return old.ramp if same and np.array_equal(old.ramp.gravity, gravity) else None

    def _load(
        self, grid: Grid, ramp: Ramp, load: LoadCase, old: RodState | None, guess: Guess
    ) -> tuple[RodState, int, float]:
        loads: PointLoads | None = None
        if old is not None and guess is not None and old.ramp.structure is self.structure:
            loads = old.loads if guess.load is load or guess.load.like(load) else None
        if loads is None:
            loads = load_arrays(self.structure, grid, load)
        mass = grid.chain.masses[0, 0]
        rest = np.concatenate([mass * load.gravity, ramp.starts[-1]])
        starts = [rest + load.wrench]
        if old is not None and guess is not None:  # its branch, whatever the load is now
            unloaded = np.concatenate([mass * guess.gravity, old.ramp.starts[-1]])
            starts.insert(0, rest + old.base_wrench - unloaded)
            starts = starts if loads.ramped.any() else starts[:1]  # which ends at `rest` too
        nodes = _nodes(grid.chain.lengths.size + len(grid.slices), 6)
        rod = self._rod(grid, ramp, load.gravity, loads)
        passes = 0
        for start in starts:
            used, residual = kernels.solve_loaded(rod, self._units, TOLERANCE, rest, start, nodes)
            passes += used
            if residual <= TOLERANCE:
                break
        if residual <= TOLERANCE:
            drift = kernels.rotation_gap(nodes.state[-1])
            residual = residual if drift < MAX_DRIFT else TOO_FEW
        if not (residual <= TOLERANCE and math.isfinite(ramp.residual)):
            # No solution: nothing that could be taken for one.
            for array in nodes:
                array[:] = np.nan
        return RodState(grid, loads, ramp, start, *nodes), passes, residual

    def _rod(
        self,
        grid: Grid,
        ramp: Ramp,
        gravity: Array,
        loads: PointLoads,
        d_press: Array | None = None,
    ) -> Rod:
        """Return the kernels' rod; `d_press` where the ramp has variations."""
        return Rod(
            grid.chain,
            ramp.record,
            ramp.d_record,
            *self._held(ramp),
            self._push(ramp.actuation),
            self._no_pushes if d_press is None else d_press,
            gravity,
            grid.densities,
            loads,
        )

    def _held(self, ramp: Ramp) -> tuple[Array, Array]:
        """Return the stretch of the sections and its variations (one layout: one compilation)."""
        stretch = np.ascontiguousarray(ramp.record[:, :, 0])
        d_stretch = np.ascontiguousarray(ramp.d_record[:, :, 0, :])
        if self.linear:
            return np.ones_like(stretch), np.zeros_like(d_stretch)
        return stretch, d_stretch

    def _push(self, actuation: Array) -> Array:
        return self._pushes @ actuation

    def _status(self, state: RodState, passes: int, residual: float, began: float) -> SolverStatus:
        ramp, failure, stable, smallest, remark = state.ramp, '', True, math.nan, ''
        if not math.isfinite(ramp.residual):
            failure = (
                'the actuation found no equilibrium: too much pressure or weight, or too few '
                'compensation.increments'
            )
        elif residual == TOO_FEW:
            failure = 'the elements are too few for so much bending'
        elif not residual <= TOLERANCE:
            failure = 'the loads found no equilibrium'
        else:
            stable, smallest = self._stability(state)
            remark = self._remark(state)
        spent = ramp.passes + passes
        numbers = spent, math.inf if failure else residual, TOLERANCE, time.perf_counter() - began
        said = 'this equilibrium is unstable with valves held'
        status = status_of(numbers, failure, stable, smallest, said)
        return status.warned(Warnings.OUTSIDE_THEORY, remark) if remark else status

    def _remark(self, state: RodState) -> str:
        """Say which segment is stretched or pressed further than a linear law holds."""
        for segment, part, at in zip(
            self.structure.segments, state.grid.slices, state.grid.stations, strict=True
        ):
            for worst in reversed(kernels.stretches(state.nodes[part], at)):
                if not MIN_STRETCH <= worst <= MAX_STRETCH:
                    return (
                        f'{OUTSIDE}: {segment.name} is stretched to {worst:.3g} times its length, '
                        f'linear laws hold from {MIN_STRETCH:g} to {MAX_STRETCH:g}'
                    )
        return ''

    def _stability(self, state: RodState) -> tuple[bool, float]:
        """Inertia: no conjugate point with the tip held, and a positive stiffness at the tip."""
        inner = kernels.without_conjugate_point(state.columns, state.integral)
        compliance = self._tip_compliance(state)
        least, largest = extreme_eigenvalues(compliance, self._per_unit)
        positive = least > 0.0
        softest = largest if positive else least
        return bool(inner and positive), 1.0 / softest if softest else math.inf

    def _configuration(
        self, state: RodState, actuation: Array, load: LoadCase, status: SolverStatus
    ) -> Configuration:
        poses = np.empty((len(state.nodes), 4, 4))
        kernels.place_nodes(state.nodes, poses)
        segments = self.structure.segments
        bodies = {}
        for segment, part in zip(segments, state.grid.slices, strict=True):
            if segment.link > 0.0:
                bodies[f'{segment.name}_link'] = poses[part.stop - 1].copy()
        return Configuration(
            model=self.name,
            actuation=actuation.copy(),
            load=load,
            tip=poses[-1].copy(),
            backbones=tuple(poses[part] for part in state.grid.slices),
            backbone_names=tuple(s.name for s in segments),
            arc_lengths=state.grid.stations,
            radii=state.grid.radii,
            status=status,
            bodies=bodies,
            state=state,
        )

    def fits(self, q: Configuration) -> bool:
        """Whether a Configuration has as many segments and elements."""
        own, of = self.structure, q.state.ramp.structure
        return len(of.segments) == len(own.segments) and of.elements == own.elements

    def jacobian(self, q: Configuration) -> Array:
        """Return the exact derivative, through every increment and the loaded equilibrium."""
        state: RodState = q.state
        parameters = len(self.description.actuators)
        ramp = self._ramp(state.grid, q.actuation, state.ramp.gravity, parameters, state.ramp)
        nodes = _nodes(state.nodes.shape[0], 6 + parameters)
        rod = self._rod(state.grid, ramp, q.gravity, state.loads, self._pushes)
        start = state.base_wrench
        kernels.solve_loaded(rod, self._units, TOLERANCE, start.copy(), start.copy(), nodes)
        tip = nodes.columns[-1]
        base = -np.linalg.solve(tip[6:, :6], tip[6:, 6:])
        twist = tip[:6, 6:] + tip[:6, :6] @ base
        return twist_at_point(nodes.state[-1, :3]) @ twist + self._by_parts(q)

    @cached_property
    def _beside(self) -> list[SegmentModel]:
        """The same model with its threshold a little lower, and a little higher."""
        made = []
        for part in (1.0 - PART, 1.0 + PART):
            other = replace(self.compensation, threshold=part * self.compensation.threshold)
            chain = replace(self.structure, compensation=other)
            structure = {**self.description.structure, self.section: chain}
            made.append(type(self)(replace(self.description, structure=structure)))
        return made

    def _by_parts(self, q: Configuration) -> Array:
        """Return what a threshold adds to the Jacobian: parts follow the norm of the pressures."""
        c, size = self.compensation, float(np.linalg.norm(q.actuation))
        if c.increments > 0 or not size > c.threshold:
            return np.zeros((6, len(q.actuation)))
        tips = [other.forward(q.actuation, q.load, q).tip for other in self._beside]
        return np.outer(lie.pose_error(tips[1], tips[0]), q.actuation) / (2.0 * PART * size**2)

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return the compliance at the tip, which the solve has left with the configuration."""
        state: RodState = q.state
        if method != 'tangent':
            return at_point(self._summed(q, method)[-1], state.nodes[-1, :3])
        return self._tip_compliance(state)

    def _tip_compliance(self, state: RodState) -> Array:
        found = np.empty((6, 6))
        kernels.tip_compliance(state.nodes, state.columns, found)
        return found

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return the compliance at every station, the load being put on at the station itself."""
        state: RodState = q.state
        spatial = self._tangent(q) if method == 'tangent' else self._summed(q, method)
        local = np.array([at_point(c, y[:3]) for c, y in zip(spatial, state.nodes, strict=True)])
        return tuple(local[part] for part in state.grid.slices)

    def _summed(self, q: Configuration, method: str) -> Array:
        """Return C_o of every node by the integral (4), or by one of the sums (5)."""
        state: RodState = q.state
        if method == 'integral':
            return state.integral
        held, _ = self._held(state.ramp)
        return compliance_sums(state.grid, state.ramp.record, held, q.backbones, method)

    def _tangent(self, q: Configuration) -> Array:
        """Return C_o of every node; the piece beyond it answers with its own stiffness."""
        state: RodState = q.state
        nodes = _nodes(state.nodes.shape[0], 12)
        rod = self._rod(state.grid, state.ramp, q.gravity, state.loads)
        y, unit, total = np.empty(kernels.STATE), np.empty((12, 12)), np.empty((6, 6))
        kernels.begin(state.base_wrench, y, unit, total)
        unit[:6, 6:] = np.eye(6)  # unit wrenches, then unit twists of the base
        kernels.rod_pass(rod, 1.0, y, unit, total, nodes)
        columns = nodes.columns
        # Beyond a node only solutions without a wrench behind the tip exist: dF = D eta.
        tip = columns[-1]
        along = columns @ np.concatenate([-np.linalg.solve(tip[6:, :6], tip[6:, 6:]), np.eye(6)])
        eta, d_f = columns[:, :6, :6], columns[:, 6:, :6]
        beyond = along[:, 6:] @ np.linalg.inv(along[:, :6])
        wrench = d_f - beyond @ eta
        return np.transpose(
            np.linalg.solve(np.transpose(wrench, (0, 2, 1)), np.transpose(eta, (0, 2, 1))),
            (0, 2, 1),
        )


def _nodes(count: int, columns: int) -> Nodes:
    zeros = np.zeros
    return Nodes(zeros((count, kernels.STATE)), zeros((count, 12, columns)), zeros((count, 6, 6)))


def _halves(parts: Array) -> Array:
    """Return the parts with every increment cut in two."""
    halves = np.repeat(parts, 2)
    halves[2::2] = 0.5 * (parts[:-1] + parts[1:])
    halves[0] *= 0.5
    return halves


def twist_at_point(point: Array) -> Array:
    """Return the (6, 6) that takes a spatial twist to the twist at a point, same axes."""
    (x, y, z), out = point, np.eye(6)  # NaN, too, where nothing was solved
    out[:3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    return out


def at_point(compliance: Array, point: Array) -> Array:
    """Take a compliance about the base origin to a point, same axes."""
    move = twist_at_point(point)
    return move @ compliance @ move.T
