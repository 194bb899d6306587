# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A network that is stepped through time: for loops that give an input and want the next state."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from soro_mechanics.core.configuration import Array, Load, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.mesh import Inertia, moving_layout
from soro_mechanics.dynamics.motion import new_motion
from soro_mechanics.dynamics.start import Means, settle
from soro_mechanics.dynamics.step_kernels import (
    advance,
    assemble_motion,
    begin_step,
    MOST_ERROR,
    take_step,
    TRUSTED,
)
from soro_mechanics.dynamics.step_laws import backward_euler, error_constant, generalised_alpha
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, new_state, State
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.lane_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import CONVERGED, copy_into
from soro_mechanics.models.network.spec import NetworkSpec
from soro_mechanics.numerics import lie

START = 1e-2  # of a step, in which the first accelerations are found
MAX_ITERATIONS = 12


@dataclass(frozen=True)
class Options:
    """How a network moves and how it is integrated."""

    elements: int | None = None  # of every integrated piece; see `moving_layout`
    retardation: float = 5e-3  # s, of all rods: stress K (e + retardation e'); assumed
    drag: float = 0.0  # 1/s, force on every mass per its momentum
    spectral_radius: float = 0.8  # see `generalised_alpha`
    tolerance: float = 1e-8  # of the scaled residual
    trusted: float = 0.0  # residual after which one Newton step more is the solution, unseen
    max_iterations: int = MAX_ITERATIONS
    rotary_inertia: bool = True  # of the sections


@dataclass(frozen=True)
class StepReport:
    """How a step ended. One that is not taken leaves the robot where it was."""

    code: Code
    taken: bool
    iterations: int
    residual: float
    error: float  # m, estimate of what the step adds to the error of positions


class Stepper:
    """One network in motion. Not for several threads at once.

    Parameters
    ----------
    spec : NetworkSpec
    rest : ndarray, shape (m,)
        Actuation at which the robot is assembled.
    options : Options
    loads : sequence of Load
        Constant, besides those of the robot file.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        rest: Array,
        options: Options | None = None,
        loads: tuple[Load, ...] = (),
    ) -> None:
        self.options = Options() if options is None else options
        self.layout = moving_layout(spec, len(rest), self.options.elements, loads)
        if self.layout.tendons.held.any():
            remedy = 'drive the tension: in time, tendons whose length is held are not there yet'
            raise InvalidInput('drives', 'tendon', remedy, Code.UNSUPPORTED)
        self.equilibrium = Equilibrium(self.layout)
        self.inertia = Inertia(self.layout, self.options.rotary_inertia)
        self.loads = loads
        self.time = 0.0
        self._rest = np.array(rest, dtype=float)
        self._still = lay.rest_inputs(self.layout)
        s = self.layout.structure
        self.work = self.layout.work()
        self.state = new_state(s)
        self._old = new_state(s)
        self.motion = new_motion(s)
        self.motion.body_mass[:] = self.inertia.body
        self.motion.retardation[:] = self.options.retardation
        self.motion.drag[0] = self.options.drag
        self._stiffness = np.zeros_like(self._still.stiffness)
        self._section = np.zeros_like(self._still.section)
        self._no_params = np.zeros((int(s.counts[1]), 2))
        smallest = max(self.options.tolerance, self.equilibrium.tolerance)
        self._limits = np.array([smallest, self.options.trusted, math.inf, 0.0])
        self._error = error_constant(self.options.spectral_radius)
        self._weighed: tuple[bytes, bytes] | None = None
        self._last_step = self._law_of = self._scale = 0.0
        self._started = False
        self._means = Means(self.layout)
        self.inputs = self._still
        self.mesh_error = math.nan  # m, of the tip at the start; see `robot_motion.stepper`

    def inputs_at(self, actuation: Array, wrench: Array, gravity: Array) -> Inputs:
        """Return the kernels' inputs."""
        x = lay.actuate(self.layout, self._still, self._means.lengths(actuation))
        x = lay.load(self.layout, x, LoadCase(wrench, self.loads, gravity))
        return x._replace(follower=x.follower.copy())  # inertia is added to it, in every step

    def rest(
        self, actuation: Array, wrench: Array, gravity: Array, near: State | None = None
    ) -> None:
        """Put the robot at rest, in the static equilibrium of this mesh.

        Raises
        ------
        InvalidInput
            No equilibrium was found.
        """
        problem = Problem(actuation, LoadCase(wrench, self.loads, gravity))
        outcome, held = settle(self.equilibrium, problem, self._rest, near)
        self._means.begin(actuation, held)
        self.release(outcome.state, self.inputs_at(actuation, wrench, gravity))

    def release(self, state: State, x: Inputs) -> None:
        """Put the robot into a state, not moving."""
        copy_into(state, self.state)
        m = self.motion
        for past in (m.node_past, m.body_past, m.twist_past, m.length_past):
            past[:] = 0.0
        m.joint_move[:] = 0.0
        m.wrench_move[:] = 0.0
        m.length[:] = x.length
        self._prepare(x)
        self._started = False
        self._last_step = self._scale = 0.0
        self.assemble()
        m.twist[:] = self.work.twist

    def spin(self, twist: Array) -> None:
        """Let everything move with a twist (6,) in base_link, linear first, as one rigid body."""
        m = self.motion
        for frames, past in ((self.state.node, m.node_past), (self.state.body, m.body_past)):
            for k, g in enumerate(frames):
                past[k, 0] = lie.adjoint_inverse(g) @ twist
        m.body_past[0] = 0.0
        self._started = False

    def _prepare(self, x: Inputs) -> None:
        self.inputs = x
        lengths = x.length.tobytes(), x.dilution.tobytes()
        if lengths != self._weighed:
            self.inertia.node(x.length, x.dilution, self.motion.node_mass)
            self._weighed = lengths
        self._damped = x._replace(stiffness=self._stiffness, section=self._section)

    def assemble(self) -> None:
        """Compute the elements where they are, as if a step of no time began."""
        m, s = self.motion, self.layout.structure
        m.law[:] = self._law_of = 0.0
        self._section[:] = self.inputs.section  # mass, which no step changes
        begin_step(s, self.inputs, self._damped, self.state, m)
        assemble_motion(s, self.inputs, self._damped, self.state, self.work, m, LANES)

    def _accelerate(self, step: float, before: Inputs) -> None:
        """Find the accelerations at the beginning, by an implicit step that is much shorter.

        Loads and rest strains are those of the end of the first step, lengths and angles are not:
        they need their time.
        """
        m, s, after = self.motion, self.layout.structure, self.inputs
        kept = ('theta', 'length', 'dilution', 'stiffness')
        found = after._replace(**{name: getattr(before, name) for name in kept})
        self._prepare(found._replace(follower=after.follower.copy()))  # it is written to
        start = copy_state(self.state)
        m.law[:] = backward_euler(START * step)
        self._law_of = 0.0
        begin_step(s, self.inputs, self._damped, self.state, m)
        self._limits[TRUSTED] = math.inf  # round-off hides the residual of so short a step
        outcomes = [advance(*self._arguments(), 1, LANES)[0] for _ in range(2)]
        self._limits[TRUSTED] = self.options.trusted
        if outcomes == [CONVERGED, CONVERGED]:
            for past, free, move in (
                (m.node_past, m.node_free, m.node_move),
                (m.body_past, m.body_free, m.body_move),
            ):
                past[:, 2] = m.law[2, 0] * move + free[:, 2]
                past[:, 1] = past[:, 2]
        copy_into(start, self.state)
        self._prepare(after)
        self._started = True

    def _rescale(self, step: float) -> None:
        """Shift the auxiliary accelerations to where a step of another length has them.

        They are accelerations at a fixed part of the step before or after its end.
        """
        m, ratio = self.motion, step / self._scale if self._scale > 0.0 else 1.0
        for past in (m.node_past, m.body_past, m.twist_past, m.length_past):
            past[:, 1] = past[:, 2] + ratio * (past[:, 1] - past[:, 2])
        self._scale = step

    def _arguments(self) -> tuple[object, ...]:
        return (
            self.layout.structure,
            self.inputs,
            self._damped,
            self.state,
            self._old,
            self.work,
            self.motion,
            self._no_params,
            self._limits,
        )

    def step(
        self,
        step: float,
        actuation: Array,
        wrench: Array,
        gravity: Array,
        most_error: float = math.inf,
    ) -> StepReport:
        """Go on by `step` [s] to where actuation, tip wrench and gravity are these.

        A step that adds more than `most_error` [m] to the error of positions is not taken.
        """
        before = self.inputs
        self._prepare(self.inputs_at(actuation, wrench, gravity))
        if not self._started:
            self._accelerate(step, before)
        self._limits[MOST_ERROR:] = most_error, self._error * step**2
        if step != self._law_of:
            self.motion.law[:] = generalised_alpha(step, self.options.spectral_radius)
            self._law_of = step
            self._rescale(step)
        ratio = step / self._last_step if self._last_step > 0.0 else 0.0
        outcome, spent, residual, error, taken = take_step(
            *self._arguments(), ratio, self.options.max_iterations, LANES
        )
        if taken:
            self._means.follow(self.inputs, self.state)
            self._last_step = step
            self.time += step
        else:
            self._prepare(before)
        code = Code.NONE if outcome == CONVERGED else Code.NOT_CONVERGED
        return StepReport(code, bool(taken), int(spent), float(residual), float(error))

    @property
    def tip(self) -> Array:
        """Pose (4, 4) of the tip in base_link; a copy."""
        return self.state.body[self.layout.tip_body].copy()

    @property
    def tip_twist(self) -> Array:
        """Twist (6,) of the tip, linear first, axes of base_link."""
        g = self.state.body[self.layout.tip_body]
        v = self.motion.body_past[self.layout.tip_body, 0]
        return np.concatenate([g[:3, :3] @ v[:3], g[:3, :3] @ v[3:]])
