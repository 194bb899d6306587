# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Soft parallel robot in the absolute nodal coordinate formulation (Huang 2022).

The published formulation: 24-coordinate elements (1)-(8), energy (27) with the penalty (24),
L_e = lambda(P) L_0 (19), unknowns (14), one Newton iteration for forward and inverse (33)-(35).
"""

from __future__ import annotations

from dataclasses import replace
import time

import numpy as np

from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    Guess,
    InverseSolution,
    Load,
    LoadAxes,
    LoadCase,
    Target,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.increments import FAILURE
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import Code, OUTSIDE, SolverStatus, status_of, Warnings
from soro_mechanics.core.strain_check import judged
from soro_mechanics.inverse.task_error import task_errors
from soro_mechanics.models.ancf import solve_kernels as kernels
from soro_mechanics.models.ancf.assembly import assemble, make_structure, tolerance_of
from soro_mechanics.models.ancf.compliance import compliance_at_stations
from soro_mechanics.models.ancf.effective_stiffness import axial_stiffness, AxialStiffness
from soro_mechanics.models.ancf.schema import PLATFORM, SoftLegs
from soro_mechanics.models.ancf.shape_kernels import leg_poses
from soro_mechanics.models.ancf.steps import AncfLoads, AncfState, solve_equations
from soro_mechanics.numerics.curve_kernels import curve_values, place_of
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues
from soro_mechanics.robot_file.reader import RobotDescription

_HERE = np.eye(4)
_ARM = np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])  # turns count as 0.1 m of arm
_PER_UNIT = 1.0 / np.outer(_ARM, _ARM)
_LOAD_STEPS = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)


class Ancf(Model):
    """Legs of ANCF elements on one platform; actuation is pressure (through lambda) or stretch."""

    name = section = 'ancf'
    only_tangent = "use 'tangent': Huang's formulation has no compliance integral"

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.legs: SoftLegs = description.structure[self.section]
        self.structure = make_structure(self.legs)
        self.tolerance = tolerance_of(self.legs)
        self.rest = assemble(self.legs)
        self._apart = bool(self.legs.tip.any())  # the tip and the platform's frame
        self._platform_points = np.array([self.legs.platform_centre - self.legs.tip, np.zeros(3)])
        none, curves = np.zeros(0, np.int64), self.legs.curves
        self._no_forces = none, none, np.zeros(0), np.zeros((0, 3))  # on legs
        self._kept: tuple[bytes, AncfLoads | None] = b'', None  # of the last load case
        first = np.cumsum([0, *(len(c.pressures) for c in curves)])
        self._curves = np.concatenate([np.zeros((3, 0)), *curves], axis=1), first
        self._ends = [(k, c.pressures.item(0), c.pressures.item(-1)) for k, c in enumerate(curves)]
        count = self.legs.elements * self.legs.stations_per_element + 1
        arc = np.linspace(0.0, self.legs.length, count)
        radii = np.full(count, self.legs.radius)
        for shared in (arc, radii):  # by every configuration
            shared.setflags(write=False)
        self._arc_lengths = (arc,) * len(self.legs.names)
        self._radii = (radii,) * len(self.legs.names)

    # ---- actuation ---------------------------------------------------------------------------

    def stretches(self, actuation: Array) -> tuple[Array, Array]:
        """Return stretch ratios and their derivatives by the actuation, shapes (n,)."""
        if not self.legs.curves:
            return actuation.copy(), np.ones(len(actuation))
        stretch, slope = found = np.empty((2, len(actuation)))
        curve_values(*self._curves, actuation, found)
        return stretch, slope

    def actuation_for(self, stretch: Array) -> Array:
        """Return the actuation of stretch ratios (n,)."""
        if not self.legs.curves:
            return stretch.copy()
        return np.array([place_of(*c, s) for c, s in zip(self.legs.curves, stretch, strict=True)])

    def axial_stiffness(self, actuation: Array) -> tuple[AxialStiffness, ...]:
        """Return how stiff each leg is along its axis: more than its EA, and why.

        See `effective_stiffness`.
        """
        stretch, _ = self.stretches(np.asarray(actuation, dtype=float))
        return tuple(axial_stiffness(self.legs, float(s)) for s in stretch)

    # ---- the Model interface -----------------------------------------------------------------

    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve for the configuration at given stretches: Algorithm 2."""
        start = time.perf_counter()
        stretch, _ = self.stretches(actuation)
        first, applied = self._start(guess), self.kernel_loads(load)
        state, status = self.solve(first, applied, kernels.FORWARD, stretch, start)
        return self._configuration(actuation, load, state, status)

    def _judged(self, q: Configuration, poses: Array) -> Configuration:
        """Return q with what leaves the theory: legs bent too far, curves beyond their data."""
        q, at = judged(q, poses), q.actuation.tolist()
        beyond = [self.legs.names[k] for k, low, high in self._ends if not low <= at[k] <= high]
        if not (beyond and q.status.converged):
            return q
        text = f'{OUTSIDE}: the stretch of {", ".join(beyond)} is extrapolated beyond its curve'
        return replace(q, status=q.status.warned(Warnings.OUTSIDE_THEORY, text))

    def inverse(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Solve for the stretches at a given position, Algorithm 3; else search within limits.

        Three legs leave no rotation to choose at a position: where it is not the target's, the
        nearest pose is searched.
        """
        spent = 0
        if len(self.legs.names) == 3:
            start, point = time.perf_counter(), target.pose[:3, 3].copy()
            first, applied = self._start(guess), self.kernel_loads(load)
            state, status = self.solve(first, applied, kernels.INVERSE, point, start)
            spent = status.iterations
            if status.code is Code.NONE:
                actuation = self.actuation_for(state.stretch)
                if self.within_limits(actuation):
                    q = self._configuration(actuation, load, state, status)
                    errors = task_errors(q.tip, target)
                    if errors[1] <= target.tolerances[1]:
                        return InverseSolution(actuation, q, *errors, (), q.status)
        return self._searched(target, load, guess, spent)

    def fits(self, q: Configuration) -> bool:
        """Whether a Configuration has legs of as many elements and stations."""
        same = q.state.nodes.shape == self.rest.nodes.shape
        return same and q.arc_lengths[0].shape == self._arc_lengths[0].shape

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, n): tip twist per unit of actuation."""
        _, slope = self.stretches(q.actuation)
        return q.state.by_platform * slope

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip, base axes, linear first."""
        return np.linalg.inv(q.state.tangent)

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return, per leg, the compliance (n, 6, 6) at every station."""
        applied = self.kernel_loads(q.load)
        return compliance_at_stations(
            q.state, self.structure, applied, self.legs.stations_per_element
        )

    # ---- solving -----------------------------------------------------------------------------

    def solve(
        self, first: AncfState, loads: AncfLoads, mode: int, target: Array, start: float
    ) -> tuple[AncfState, SolverStatus]:
        """Run Algorithm 1 from a converged state; ramp the loads where they are too much at once.

        target: stretches (n,) of mode FORWARD, the position of the tip (3,) [m] of INVERSE; start:
        `time.perf_counter` when the solve began.
        """
        asked = mode, target, self.tolerance
        state, outcome = solve_equations(first, self.structure, loads, *asked)
        if not outcome.converged:
            state = self.rest
            for share in _LOAD_STEPS:
                part = _scaled(loads, share)
                state, outcome = solve_equations(state, self.structure, part, *asked)
                if not outcome.converged:
                    break
        numbers = outcome.numbers(self.tolerance, time.perf_counter() - start)
        if not outcome.converged:
            return state, status_of(numbers, FAILURE)
        smallest = float(extreme_eigenvalues(state.tangent, _PER_UNIT)[0])
        stable = outcome.negative == 0 and smallest > 0.0
        said = 'the robot would leave this equilibrium'
        return state, status_of(numbers, '', stable, smallest, said)

    def kernel_loads(self, load: LoadCase) -> AncfLoads:
        """Collect tip wrench, further loads and weight for the kernels, which leave them."""
        key, known = load.wrench.tobytes() + load.gravity.tobytes(), self._kept
        if known[1] and known[0] == key and not load.loads:
            return known[1]
        wrenches = np.zeros((2, 6))
        wrenches[0, :3] = self.legs.platform_mass * load.gravity
        wrenches[1] = load.wrench
        points, local = self._platform_points, np.zeros(2, np.bool_)
        places: list[tuple[int, int, float]] = []
        forces: list[Array] = []
        for one in load.loads:
            if one.on in ('', PLATFORM):
                here = np.zeros(3) if one.on == '' else -self.legs.tip
                points = np.vstack([points, here])
                wrenches = np.vstack([wrenches, one.wrench])
                local = np.append(local, one.axes is LoadAxes.LOCAL)
                continue
            places.append(self._place(one))
            forces.append(one.wrench[:3])
        on_legs = self._no_forces
        if places:
            leg, element, xi = (np.array(column) for column in zip(*places, strict=True))
            on_legs = leg, element, xi, np.array(forces)
        weight = self.legs.leg_mass * load.gravity
        found = AncfLoads((weight, *on_legs), (points, wrenches, local))
        if not load.loads:
            self._kept = key, found
        return found

    def _place(self, load: Load) -> tuple[int, int, float]:
        """Return (leg, element, place in it) of a load on a leg."""
        if load.on not in self.legs.names:
            valid = "'', " + ', '.join((PLATFORM, *self.legs.names))
            raise InvalidInput('loads.on', load.on, f'one of {valid}', Code.UNKNOWN_NAME)
        if not 0.0 <= load.arc_length <= self.legs.length:
            expected = f'between 0 and {self.legs.length:g} m'
            raise InvalidInput('loads.arc_length', load.arc_length, expected)
        if np.any(load.wrench[3:]) or load.axes is LoadAxes.LOCAL:
            remedy = 'on a leg only forces in base axes; moments and followers on the platform'
            raise self.unsupported('loads', load.wrench.tolist(), remedy)
        place = load.arc_length / self.structure[4]
        element = min(int(place), self.legs.elements - 1)
        return self.legs.names.index(load.on), element, place - element

    # ---- inside ------------------------------------------------------------------------------

    def _start(self, guess: Guess) -> AncfState:
        """Return where a solve begins: a guess whose legs have as many elements, or the rest."""
        return self.rest if guess is None or not self.fits(guess) else guess.state

    def _configuration(
        self, actuation: Array, load: LoadCase, state: AncfState, status: SolverStatus
    ) -> Configuration:
        legs, tip = self.legs, _HERE.copy()
        poses = np.empty((len(legs.names), len(self._arc_lengths[0]), 4, 4))
        leg_poses(state.nodes, state.stretch, self.structure[4], legs.stations_per_element, poses)
        tip[:3, :3], tip[:3, 3] = state.rotation, state.position
        platform = tip.copy()
        if self._apart:
            platform[:3, 3] -= state.rotation @ legs.tip
        if not status.converged:
            # no solution: nothing that could be taken for one
            poses[:] = tip[:] = platform[:] = np.nan
        q = Configuration(
            model=self.name,
            actuation=actuation.copy(),
            load=load,
            tip=tip,
            backbones=tuple(poses),
            backbone_names=legs.names,
            arc_lengths=self._arc_lengths,
            radii=self._radii,
            status=status,
            bodies={PLATFORM: platform},
            state=state,
        )
        return self._judged(q, poses)


def _scaled(loads: AncfLoads, share: float) -> AncfLoads:
    weight, leg, element, xi, force = loads.legs
    points, wrenches, local = loads.body
    return AncfLoads(
        (share * weight, leg, element, xi, share * force), (points, share * wrenches, local)
    )
