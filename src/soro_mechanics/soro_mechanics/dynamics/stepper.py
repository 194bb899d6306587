# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A network that is stepped through time: for loops that give an input and want the next state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
import math
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import Array, Load, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.robot_input import whole
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics import step_kernels as kernels
from soro_mechanics.dynamics import step_laws
from soro_mechanics.dynamics.contact import Ball, Solid, write_contacts
from soro_mechanics.dynamics.drive_kernels import drive_inputs, weigh_nodes
from soro_mechanics.dynamics.drives import copy_inputs, Moving, new_drives
from soro_mechanics.dynamics.held_tendons import HeldTendons
from soro_mechanics.dynamics.mesh import Inertia, moving_layout
from soro_mechanics.dynamics.motion import new_motion
from soro_mechanics.dynamics.start import Means, settle
from soro_mechanics.models.network import layout as lay
from soro_mechanics.models.network.arrays import copy_state, Inputs, new_state, State
from soro_mechanics.models.network.description.spec import NetworkSpec
from soro_mechanics.models.network.drive_values import driven_sections, driven_values
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.newton_kernels import CONVERGED, copy_into
from soro_mechanics.numerics import lie
from soro_mechanics.robot_file.section import MAX_PARTS

START = 1e-2  # of a step, in which the first accelerations are found
MAX_ITERATIONS = 12
TIMELY = 'theta', 'length', 'dilution', 'stiffness', 'pull'  # inputs that need time to change


@dataclass(frozen=True)
class Options:
    """How a network moves and how it is integrated."""

    elements: int | None = None  # of every rod; see `moving_layout`
    retardation: float = 5e-3  # s, of all rods: stress K (e + retardation e'); assumed
    branch: float = 0.0  # part of K by which a fast strain is stiffer at first; see `step_kernels`
    relaxation: float = 1.0  # s, in which the branch lets go
    drag: float = 0.0  # 1/s, force on every mass per its momentum
    spectral_radius: float = 0.8  # see `generalised_alpha`
    tolerance: float = 1e-8  # of the scaled residual
    trusted: float = 0.0  # residual after which one Newton step more is the solution, unseen
    max_iterations: int = MAX_ITERATIONS
    rotary_inertia: bool = True  # of the sections
    incompressible: bool = False  # sections get thinner under pressure: `rod_sections.thin`
    # what the balls may touch; no step is trusted unseen then, and a rest does not know of them
    solids: tuple[Solid, ...] = ()
    balls: tuple[Ball, ...] = (Ball(),)

    def __post_init__(self) -> None:
        """Raise InvalidInput for elements that nobody can want."""
        if self.elements is not None:
            whole('elements', self.elements, most=MAX_PARTS)


class StepReport(NamedTuple):
    """How a step ended. One that is not taken leaves the robot where it was."""

    code: Code
    taken: bool
    iterations: int
    residual: float
    error: float  # m, estimate of what the step adds to the error of positions


class Stepper:
    """One network in motion. Not for several threads at once.

    `rest` (m,): actuation at which the robot is assembled; `loads`: besides those of the robot
    file: those of every load case that it is asked with.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        rest: Array,
        options: Options | None = None,
        loads: tuple[Load, ...] = (),
    ) -> None:
        self.options = Options() if options is None else options
        spec = replace(spec, incompressible=self.options.incompressible)
        self.layout = moving_layout(spec, len(rest), self.options.elements, loads)
        self.equilibrium = Equilibrium(self.layout)
        self.inertia = Inertia(self.layout, self.options.rotary_inertia)
        self.loads = loads
        self.time = 0.0
        self._rest = np.array(rest, dtype=float)
        s = self.layout.structure
        self.work = self.layout.work()
        self.state = new_state(s)
        options = self.options
        if not (options.branch >= 0.0 and options.relaxation > 0.0):
            given = options.branch, options.relaxation
            raise InvalidInput('options.branch', given, 'a branch of 0 or more, a time above 0 s')
        balls = options.balls if options.solids else ()
        self.motion = new_motion(s, len(balls), len(options.solids))
        write_contacts(self.layout, options.solids, balls, self.motion)
        self.inertia.write(self.motion)
        self.motion.retardation[:] = options.retardation
        self.motion.drag[0] = options.drag
        quiet = LoadCase(np.zeros(6), loads, np.zeros(3))
        x = lay.load(self.layout, lay.rest_inputs(self.layout), quiet)
        self.motion.load[:] = x.follower  # inertia is added to x.follower, in every step
        self._dead = x.dead[self.layout.tip_body].copy()
        x = x._replace(heavy=self.layout.weighs)
        self._drives, self.inputs = new_drives(self.layout, x)
        self._damped = self.inputs._replace(
            stiffness=np.zeros_like(x.stiffness), section=x.section.copy()
        )
        self._smallest = max(options.tolerance, self.equilibrium.tolerance)
        # a prediction that is good enough gets a Newton step, too: else what it errs adds up
        self._checked = bool(options.solids) or self.layout.holds_tendons
        self._limits = self.motion.limits
        self._limits.most[0] = options.max_iterations
        self._error = step_laws.error_constant(options.spectral_radius)
        self._last_step = self._law_of = self._scale = self._fitted = 0.0
        self._started = False
        self._means = Means(self.layout)
        self.mesh_error = math.nan  # m, of the tip at the start; see `robot_motion.stepper`
        arrays = self.inputs, self._damped, self.state, self.work, self.motion
        self._moving = Moving(s, *arrays, self._drives)
        held = self.layout.tendons.actuators[self.layout.tendons.held].tolist()
        self._pulls = [
            (k, held.index(d.actuator))
            for k, d in enumerate(self.layout.spec.drives)
            if d.kind == 'tendon'
        ]
        self._held = HeldTendons(self.layout, self._moving) if held else None

    def inputs_at(self, actuation: Array, load: LoadCase) -> Inputs:
        """Write the kernels' inputs, and return them: there is one such set."""
        self._ask(actuation, load)
        return self._drive()

    def _check(self, load: LoadCase) -> None:
        if load.loads != self.loads:
            raise InvalidInput('loads', load.loads, 'those that the stepper was made with')

    def _ask(self, actuation: Array, load: LoadCase) -> None:
        self._check(load)
        self._drives.actuation[:] = self._means.lengths(actuation)
        np.add(self._dead, load.wrench, out=self.inputs.dead[self.layout.tip_body])
        self.inputs.gravity[:] = load.gravity
        if self.options.incompressible or self._pulls:
            values, slopes = driven_values(self.layout.spec.drives, self._drives.actuation)
            for k, row in self._pulls:
                self.inputs.pull[row] = values[k], slopes[k]
            if self.options.incompressible and values.tolist() != self._drives.present.tolist():
                found = driven_sections(self.layout, values)
                if found is not None:
                    self.inputs.section[:] = found

    def _drive(self) -> Inputs:
        s = self.layout.structure
        drive_inputs(s, self.inputs, self.motion, self._drives, self.work.scratch)
        return self.inputs

    def _asked(self) -> tuple[Array, ...]:
        x = self.inputs
        return self._drives.actuation, x.dead, x.gravity, x.section, x.pull

    def rest(self, actuation: Array, load: LoadCase, near: State | None = None) -> None:
        """Put the robot at rest, in the static equilibrium of this mesh.

        Raises InvalidInput: no equilibrium was found, or loads are others than those it was made
        with.
        """
        self._check(load)
        problem = Problem(actuation, load)
        outcome, held = settle(self.equilibrium, problem, self._rest, near)
        self._means.begin(actuation, held)
        self.release(outcome.state, self.inputs_at(actuation, load))

    def release(self, state: State, x: Inputs) -> None:
        """Put the robot into a state, not moving."""
        copy_into(state, self.state)
        m = self.motion
        for past in (m.node_past, m.body_past, m.twist_past, m.length_past):
            past[:] = 0.0
        m.joint_move[:] = 0.0
        m.wrench_move[:] = 0.0
        m.branch[:] = 0.0
        m.length[:] = x.length
        self._weigh(x)
        self._started = False
        self._last_step = self._scale = 0.0
        self.assemble()
        m.twist[:] = self.work.twist

    def _weigh(self, x: Inputs) -> None:
        self.inertia.write_levers(x, self.motion)
        weigh_nodes(self.layout.structure, x, self.motion)

    def fit(self, frequency: float) -> None:
        """Let a mode of this frequency [Hz] keep it, whatever the step.

        Implicit steps of a length h make modes slower by (omega h)^2 / 12 and more. So much less
        inertia, of all that moves, makes up for it exactly in one mode, and mostly in its
        neighbours (Gautschi 1961, Numer. Math. 3; weights stay as they are).
        """
        self._fitted, self._law_of = frequency, 0.0

    def spin(self, twist: Array) -> None:
        """Let everything move with a twist (6,) in base_link, linear first, as one rigid body."""
        m = self.motion
        for frames, past in ((self.state.node, m.node_past), (self.state.body, m.body_past)):
            for k, g in enumerate(frames):
                past[k, 0] = lie.adjoint_inverse(g) @ twist
        m.body_past[0] = 0.0
        self._started = False

    def assemble(self) -> None:
        """Compute the elements where they are, as if a step of no time began."""
        m, s = self.motion, self.layout.structure
        m.law[:] = self._law_of = 0.0
        m.prony.gain[0], m.prony.kept[0], m.prony.added[0] = self.options.branch, 1.0, 0.0
        kernels.begin_step(s, self.inputs, self._damped, self.state, m)
        kernels.assemble_motion(s, self.inputs, self._damped, self.state, self.work, m, LANES)

    def _accelerate(self, step: float, before: Inputs) -> None:
        """Find the accelerations at the beginning, by an implicit step that is much shorter.

        Loads and rest strains are those of the end of the first step, lengths and angles are not.
        """
        m, x, s = self.motion, self._drive(), self.layout.structure
        after = copy_inputs(x)
        for name in TIMELY:
            getattr(x, name)[:] = getattr(before, name)
        self._weigh(x)
        start = copy_state(self.state)
        self._set_law(START * step, step_laws.backward_euler(START * step))
        self._law_of = 0.0
        kernels.begin_step(s, x, self._damped, self.state, m)
        # round-off hides the residual of so short a step
        trusted, self._limits.trusted[0] = self._limits.trusted[0], math.inf
        if self._held is None:
            outcomes = [kernels.advance(*self._moving[:-1], 1, LANES)[0] for _ in range(2)]
        else:
            outcomes = [self._held.advance(MAX_ITERATIONS)[0]]
        self._limits.trusted[0] = trusted
        if all(outcome == CONVERGED for outcome in outcomes):
            for past, free, move in (
                (m.node_past, m.node_free, m.node_move),
                (m.body_past, m.body_free, m.body_move),
            ):
                past[:, 2] = m.law[2, 0] * move + free[:, 2]
                past[:, 1] = past[:, 2]
        copy_into(start, self.state)
        for name in TIMELY:
            getattr(x, name)[:] = getattr(after, name)
        self._weigh(x)
        self._started = True

    def _set_law(self, step: float, law: Array) -> None:
        m, options, (length, force) = self.motion, self.options, self.layout.structure.scale[:2]
        m.law[:], m.prony.gain[0] = law, options.branch
        m.prony.kept[0], m.prony.added[0] = step_laws.branch_law(step, options.relaxation)
        self._law_of = step
        # what round-off of coordinates costs in accelerations; twice the floors measured, or more
        mass = max(m.node_mass[:, 0, 0].max(), m.body_mass[:, 0, 0].max())
        noise = np.finfo(float).eps * law[2, 0] * mass * length / force
        smallest = max(self._smallest, float(noise))
        self._limits.tolerance[0] = smallest if self._checked else 0.0
        self._limits.trusted[0] = 0.0 if options.solids else max(options.trusted, smallest)

    def _rescale(self, step: float) -> None:
        """Shift the auxiliary accelerations to where a step of another length has them.

        They are accelerations at a fixed part of the step before or after its end.
        """
        m, ratio = self.motion, step / self._scale if self._scale > 0.0 else 1.0
        for past in (m.node_past, m.body_past, m.twist_past, m.length_past):
            past[:, 1] = past[:, 2] + ratio * (past[:, 1] - past[:, 2])
        self._scale = step

    def step(
        self, step: float, actuation: Array, load: LoadCase, max_error: float = math.inf
    ) -> StepReport:
        """Go on by `step` [s] to where actuation and load are these.

        A step that adds more than `max_error` [m] to the error of positions is not taken, nor one
        in which a motor turns further than frames can tell (OUT_OF_RANGE).
        """
        if self.equilibrium.longest_step(self._drives.actuation, actuation) < 1.0:
            return StepReport(Code.OUT_OF_RANGE, False, 0, math.nan, math.inf)
        before = [a.copy() for a in self._asked()]
        old = None if self._started else copy_inputs(self.inputs)
        self._ask(actuation, load)
        if old is not None:
            self._accelerate(step, old)
        limits = self._limits
        limits.max_error[0] = max_error
        limits.error[0] = self._error * step * step
        limits.ratio[0] = step / self._last_step if self._last_step > 0.0 else 0.0
        if step != self._law_of:
            self._set_law(step, step_laws.generalised_alpha(step, self.options.spectral_radius))
            if self._fitted:
                self.inertia.scale = step_laws.fitted_inertia(
                    step * self._fitted, self.options.spectral_radius
                )
                self.inertia.write(self.motion)
                self._weigh(self.inputs)
            self._rescale(step)
        self.inertia.write_levers(self.inputs, self.motion, again=True)
        held, of = self._held, self._moving
        ended = held.take_step() if held else kernels.take_step(of, LANES)
        outcome, spent, residual, error, taken = ended
        if taken:
            self._means.follow(self.inputs, self.state)
            self._last_step = step
            self.time += step
        else:
            for now, was in zip(self._asked(), before, strict=True):
                now[:] = was
            self._drive()
        code = Code.NONE if outcome == CONVERGED else Code.NOT_CONVERGED
        return StepReport(code, taken, spent, residual, error)

    def save(self) -> Callable[[], None]:
        """Return what brings this moment back; not across another `rest` or `release`."""
        groups = self.state, self._asked(), self.motion, *self.motion
        parts = chain.from_iterable(of for of in groups if isinstance(of, tuple))
        arrays = [(a, a.copy()) for a in parts if isinstance(a, np.ndarray)]
        names = ('time', '_last_step', '_law_of', '_scale', '_started')
        fields, shift = {n: getattr(self, n) for n in names}, self._means.shift
        scale = self.inertia.scale

        def back() -> None:
            for now, was in arrays:
                now[:] = was
            vars(self).update(fields)
            self._means.shift, self.inertia.scale = shift, scale
            self._drive()

        return back

    @property
    def contacts(self) -> Array:
        """Force (balls, solids, 3) [N] on every ball, base_link, at the end of the last step."""
        return self.motion.touch.force.copy()

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
