# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Constant-curvature arm driven by three parallel actuators (Akbari 2021), in closed form.

The pose of eq (1) is taken in the coordinates x = (theta cos phi, theta sin phi, s), where the
straight arm is an ordinary point. Actuator lengths are linear in x:
l_i = s - offset * theta cos(phi - alpha_i). See `constant_curvature_published` for eqs (1)-(3).
"""

from __future__ import annotations

from dataclasses import replace
import math
import time

import numpy as np

from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    Guess,
    InverseSolution,
    LoadAxes,
    LoadCase,
    Target,
)
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import Code, SolverStatus, status_of
from soro_mechanics.inverse.task_error import task_errors
from soro_mechanics.models.constant_curvature import kernels
from soro_mechanics.models.constant_curvature.schema import ConstantCurvatureArm, PressureMap
from soro_mechanics.numerics.dense_kernels import extreme_eigenvalues
from soro_mechanics.robot_file.reader import RobotDescription

BACKBONE = 'backbone'
Applied = tuple[Array, Array, Array, Array]  # fractions, wrenches, local, weight
Given = tuple[Array, Applied | None]  # free lengths, and what loads the arm
_TOLERANCE = 1e-12  # of the generalised force, relative to stiffness times rest length
_MAX_ITERATIONS = 50


class ConstantCurvature(Model):
    """Closed forms without load; three equations of equilibrium with load.

    Without load the arm is the published kinematic model. With `axial_stiffness` in the robot
    file every actuator is a spring about the length its pressure gives, which adds loads, weight
    and compliance (an extension: the paper has no loads).
    """

    name = 'constant_curvature'

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.arm: ConstantCurvatureArm = description.structure['constant_curvature']
        arm = self.arm
        # l = to_lengths @ (u, v, s)
        self.to_lengths = np.column_stack(
            [-arm.offset * np.cos(arm.angles), -arm.offset * np.sin(arm.angles), np.ones(3)]
        )
        self.to_arc = np.linalg.inv(self.to_lengths)
        known = arm.pressure_map or PressureMap(1.0, 1.0, 0.0)  # commanded by length: as it is
        rest = arm.rest_length if arm.pressure_map else 0.0
        self._table = rest, known.reference, known.linear, known.quadratic
        stiffness = arm.axial_stiffness or 0.0
        self._spring = stiffness * (self.to_lengths.T @ self.to_lengths)  # (3, 3) on x
        unit = np.array([1.0, 1.0, 1.0 / arm.offset])
        self._per_unit = 1.0 / (np.outer(unit, unit) * (abs(self._spring[0, 0]) or 1.0))
        self._arc = np.linspace(0.0, arm.rest_length, arm.stations)
        self._radii = np.full(arm.stations, arm.radius)
        for shared in (self._arc, self._radii):  # by every configuration
            shared.setflags(write=False)

    # ---- closed forms ----------------------------------------------------------------------

    def free_lengths(self, actuation: Array) -> Array:
        """Return actuator lengths [m] without load for actuations (..., 3)."""
        if self.arm.pressure_map is None:
            return np.asarray(actuation, dtype=float)
        return self.arm.rest_length + self.arm.pressure_map.elongation(actuation)

    # ---- the Model interface -----------------------------------------------------------------

    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve for the arc: closed form without load, Newton with load."""
        start = time.perf_counter()
        free, applied = self.free_lengths(actuation), self._applied(load)
        x = self.to_arc @ free
        if guess is not None and applied is not None:
            x = np.array(guess.state)
        return self._solved(actuation, load, (free, applied), x, start)

    def _solved(
        self, actuation: Array, load: LoadCase, given: Given, x: Array, start: float
    ) -> Configuration:
        """Solve from x, which is the arc where nothing loads it."""
        (free, applied), iterations, residual = given, 0, 0.0
        if applied is not None:
            x, iterations, residual = self._equilibrium(free, applied, x)
        numbers = iterations, residual, _TOLERANCE, time.perf_counter() - start
        if residual > _TOLERANCE:
            status = status_of(numbers, 'no equilibrium was found under this load')
        elif self.arm.axial_stiffness is None:
            status = SolverStatus(Code.NONE, '', *numbers)
        else:
            least = float(extreme_eigenvalues(self._tangent(x, applied), self._per_unit)[0])
            said = 'the arm would leave this equilibrium'
            status = status_of(numbers, '', least > 0.0, least, said)
        excluded = self._excluded(x) if status.code is Code.NONE else ''
        if excluded:
            status = replace(status, code=Code.OUT_OF_RANGE, message=excluded)
        return self._configuration(actuation, x, load, status)

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, 3): tip twist per unit of actuation."""
        x = np.array(q.state)
        slope = np.ones(3)
        if self.arm.pressure_map is not None:
            slope = self.arm.pressure_map.slope(q.actuation)
        applied = self._applied(q.load)
        if applied is None:
            per_length = self.to_arc
        else:
            stiffness = self.arm.axial_stiffness
            per_length = np.linalg.solve(self._tangent(x, applied), stiffness * self.to_lengths.T)
        return kernels.arc_jacobian(x) @ per_length * slope

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return the compliance (n, 6, 6) at every station."""
        if self.arm.axial_stiffness is None:
            remedy = 'add axial_stiffness to body.segments[0]: the published model is kinematic'
            raise self.unsupported('compliance', method, remedy)
        if method not in ('tangent', 'integral'):
            raise self.unsupported(
                'method', method, "use 'integral': one arc has no sum over arcs"
            )
        x = np.array(q.state)
        applied = self._applied(q.load)
        tangent = self._spring if method == 'integral' else self._tangent(x, applied)
        flexibility = np.linalg.inv(tangent)
        out = np.zeros((self.arm.stations, 6, 6))
        for i, fraction in enumerate(np.linspace(0.0, 1.0, self.arm.stations)):
            jacobian = fraction * kernels.arc_jacobian(fraction * x)
            out[i] = jacobian @ flexibility @ jacobian.T
        return (out,)

    def inverse(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Solve in closed form where limits and task allow, else search for the nearest pose."""
        start, spent = time.perf_counter(), 0
        applied = self._applied(load)
        x, actuation = kernels.arc_to(target.pose, self.to_lengths, self._table)
        free = actuation  # which counts only where something loads the arm
        if applied is not None:
            pull = kernels.load_force(x, *applied) @ self.to_arc
            free = self.to_lengths @ x - pull / self.arm.axial_stiffness
            actuation = kernels.actuation(free, self._table)
        # Of a target at the base no number is finite.
        if self.within_limits(actuation):
            q = self._solved(actuation, load, (free, applied), x, start)
            spent = q.status.iterations
            error, turn = task_errors(q.tip, target)
            # Only one arc ends there: where geometry excludes it, no search finds another.
            allowed = q.status.code in (Code.NONE, Code.OUT_OF_RANGE)
            if allowed and turn <= target.tolerances[1]:
                return InverseSolution(actuation, q, error, turn, (), q.status)
        return self._searched(target, load, guess, spent)

    # ---- inside ------------------------------------------------------------------------------

    def _excluded(self, x: Array) -> str:
        """Return why no arm can be like this (Akbari 2021, section 4), empty where one can."""
        lengths = (self.to_lengths @ x).tolist()
        if not all(self.arm.shortest < length < self.arm.longest for length in lengths):
            return 'an actuator is shorter or longer than the arm allows'
        u, v, s = x.tolist()
        theta = math.hypot(u, v)
        if theta >= math.pi:
            return (
                f'the arm is bent by {math.degrees(theta):.0f} deg: from half a turn on, its tip '
                'plate would pass through the base'
            )
        if s <= self.arm.radius * theta:
            return (
                f'the arm folds: its radius of curvature, {1e3 * s / theta:.1f} mm, is no longer '
                f'larger than its own radius, {1e3 * self.arm.radius:.1f} mm'
            )
        return ''

    def _applied(self, load: LoadCase) -> Applied | None:
        """Return (fractions, wrenches, local, weight), or None where nothing loads the arm."""
        weight, wrench = self.arm.mass * load.gravity, load.wrench
        pulls = [pull for pull in load.loads if pull.wrench.any()]
        if not (pulls or any(wrench.tolist() + weight.tolist())):
            return None
        if self.arm.axial_stiffness is None:
            remedy = 'add axial_stiffness to body.segments[0]: the published model has no loads'
            raise self.unsupported('wrench', wrench.tolist(), remedy)
        fractions, wrenches, local = [1.0], [wrench], [False]
        for pull in pulls:
            if pull.on not in ('', BACKBONE):
                raise InvalidInput('loads.on', pull.on, f"'' (the tip) or {BACKBONE!r}")
            fraction = pull.arc_length / self.arm.rest_length if pull.on else 1.0
            if not 0.0 <= fraction <= 1.0:
                expected = f'between 0 and {self.arm.rest_length:g} m'
                raise InvalidInput('loads.arc_length', pull.arc_length, expected)
            fractions.append(fraction)
            wrenches.append(pull.wrench)
            local.append(pull.axes is LoadAxes.LOCAL)
        return np.array(fractions), np.array(wrenches), np.array(local), weight

    def _tangent(self, x: Array, applied: Applied | None) -> Array:
        """Stiffness (3, 3) of the loaded equilibrium, exact by the complex step."""
        tangent = self._spring.copy()
        if applied is not None:
            step = 1e-30
            for j in range(3):
                shifted = x.astype(complex)
                shifted[j] += 1j * step
                tangent[:, j] -= kernels.load_force(shifted, *applied).imag / step
        return tangent

    def _equilibrium(self, free: Array, applied: Applied, x: Array) -> tuple[Array, int, float]:
        """Newton with a step that is halved until the scaled residual falls."""
        stiffness = self.arm.axial_stiffness or 0.0  # `_applied` refuses loads without it
        unit = stiffness * self.arm.rest_length * np.array([self.arm.offset, self.arm.offset, 1.0])

        def force(at: Array) -> Array:
            spring = stiffness * self.to_lengths.T @ (self.to_lengths @ at - free)
            return spring - kernels.load_force(at, *applied)

        residual = force(x)
        size = float(np.linalg.norm(residual / unit))
        for iteration in range(_MAX_ITERATIONS):
            if size <= 0.01 * _TOLERANCE:
                return x, iteration, size
            step = np.linalg.solve(self._tangent(x, applied), residual)
            length, better = 1.0, False
            while not better and length > 1e-4:
                trial = x - length * step
                trial_residual = force(trial)
                trial_size = float(np.linalg.norm(trial_residual / unit))
                better = trial_size < size
                length *= 0.5
            if not better:
                break
            x, residual, size = trial, trial_residual, trial_size
        return x, _MAX_ITERATIONS if size > _TOLERANCE else iteration + 1, size

    def _configuration(
        self, actuation: Array, x: Array, load: LoadCase, status: SolverStatus
    ) -> Configuration:
        poses, state = np.empty((self.arm.stations, 4, 4)), tuple(x.tolist())
        kernels.arc_poses(*state, poses)
        if not status.converged:
            poses[:] = np.nan  # no solution: nothing that could be taken for one
        return Configuration(
            model=self.name,
            actuation=actuation.copy(),
            load=load,
            tip=poses[-1].copy(),
            backbones=(poses,),
            backbone_names=(BACKBONE,),
            arc_lengths=(self._arc,),
            radii=(self._radii,),
            status=status,
            state=state,
        )
