# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Muscle-driven backbone by least energy (Chen 2022), as an exact Kirchhoff rod.

Inverse: the rod of least energy through the end point gives the muscle lengths, eqs (48)-(54).
Forward: the rod of least energy whose muscles have the bends that the lengths command.
"""

from __future__ import annotations

from dataclasses import replace
import math
import time
from typing import NamedTuple

import numpy as np

from soro_mechanics.core.configuration import (
    amended,
    Array,
    Configuration,
    Guess,
    InverseSolution,
    LoadCase,
    Target,
    Task,
)
from soro_mechanics.core.model import Model
from soro_mechanics.core.status import Code, SolverStatus
from soro_mechanics.core.strain_check import judged
from soro_mechanics.inverse.search import HOLD, Left
from soro_mechanics.inverse.task_error import task_errors
from soro_mechanics.models.kirchhoff.backbone import (
    BACKBONE,
    KirchhoffBackbone,
    RodState,
    unsolved,
)
from soro_mechanics.models.kirchhoff.equilibrium import correct, examined, onto, settle
from soro_mechanics.models.kirchhoff.muscle_kernels import by_lengths
from soro_mechanics.models.kirchhoff.reach import find_reach, InverseState, nearer
from soro_mechanics.models.kirchhoff.rod_kernels import station_poses
from soro_mechanics.models.kirchhoff.schema import MuscleBackbone
from soro_mechanics.models.muscle_means import mean_remark
from soro_mechanics.numerics.dense_kernels import largest_part
from soro_mechanics.robot_file.reader import RobotDescription

_MEAN = np.full(3, 1.0 / 3.0)
_NEAREST = 0.995  # of the length: beyond it a rod through the point is nearly straight
FAR = 'further away than the backbone is long'
_ROUND_OFF = 1e-9  # of the length: the straight robot's own tip is within reach


class Published(NamedTuple):
    """What an inverse leaves for the next: bends as published, corrected, near all it returns."""

    task: Task
    bends: Array  # (modules, 2) [m]


class Kirchhoff(Model):
    """Backbone of finite differences in quaternions; actuation is the 3 m muscle lengths."""

    name = section = 'kirchhoff'
    only_tangent = "use 'tangent': this formulation has no compliance integral"
    branches = knows_jacobian = True  # of muscles this long a guess may choose another one

    def __init__(self, description: RobotDescription) -> None:
        super().__init__(description)
        self.backbone: MuscleBackbone = self._choose(description.structure[self.section])
        self.rod = KirchhoffBackbone(self.backbone)
        self._arc = self.rod.arc[:: self.rod.every].copy()
        self._radii = np.full(len(self._arc), 0.5 * self.backbone.rod_diameter)
        for shared in (self._arc, self._radii):  # by every configuration
            shared.setflags(write=False)
        self._least = float(self.limits.scale.min())
        self._disks = tuple(f'disk_{t}' for t in range(self.backbone.modules + 1))

    def _choose(self, backbone: MuscleBackbone) -> MuscleBackbone:
        return backbone

    # ---- the published inverse ---------------------------------------------------------------

    def reach(self, target: Target, load: LoadCase, guess: RodState | None = None) -> InverseState:
        """Find the rod of least energy that ends at a target, see `find_reach`."""
        return find_reach(self.rod, target, self._loads(load), guess)

    # ---- the Model interface -----------------------------------------------------------------

    def forward(self, actuation: Array, load: LoadCase, guess: Guess) -> Configuration:
        """Solve for the shape of given muscle lengths."""
        start = time.perf_counter()
        loads = self._loads(load, guess)
        lengths = actuation.reshape(-1, 3)
        wanted = self.rod.combined.dot(actuation).reshape(-1, 2)
        first = self._start(guess)
        settled = settle(self.rod, first, loads, wanted)
        if not settled[2].converged and first is not self.rod.straight:
            settled = settle(self.rod, self.rod.straight, loads, wanted)
        status = examined(self.rod, settled, start)
        if status.code is Code.NONE:
            slack = (settled[1] - lengths) @ _MEAN
            status = amended(status, message=mean_remark(max(map(abs, slack.tolist()))))
        q = self._configuration(actuation, load, settled[0], status)
        return judged(q, q.backbones[0][None])

    def inverse(self, target: Target, load: LoadCase, guess: Guess) -> InverseSolution:
        """Find lengths: the published shape first, then corrected until `forward` is on target.

        Held by its muscles the robot takes a slightly different shape than the rod that is held at
        its end point only, so the published lengths miss by some millimetres. Where that shape
        would not stand, as any model does: by the least energy of the actuators.
        """
        start = time.perf_counter()
        near = target
        distance = math.hypot(*target.pose[:3, 3].tolist())
        outside = distance > (1.0 + _ROUND_OFF) * self.backbone.length
        if not outside and distance > _NEAREST * self.backbone.length:
            # nearly straight the end point hardly determines the shape; the lengths still do
            return self._searched(target, load, guess)
        if outside:
            near = nearer(target, _NEAREST * self.backbone.length / distance)
        state, loads, spent = self._start(guess), self._loads(load, guess), 0
        known = None if guess is None or outside else guess.search
        if guess is not None and isinstance(known, Left) and known.first:
            found = self._search(self, target, load).follow(guess)
            if found is not None:
                return found
        if isinstance(known, Published) and known.task is target.task and loads[0] is state.dead:
            bends = onto(state, known.bends, self.rod.tip(state), target)
            if largest_part((bends - known.bends).ravel()) <= HOLD * self._least:
                found, good = self._held(state, bends, (target, near), load, (start, 0, known))
                if good and found.status.code is Code.NONE:
                    return found
                spent = found.status.iterations
        shape = self.reach(near, load, None if state is self.rod.straight else state)
        spent += shape.status.iterations
        if shape.status.code is not Code.NONE:
            return self._searched(target, load, guess, spent)
        bends = np.einsum('tci,ti->tc', self.rod.combine, shape.lengths)
        force = np.tile(shape.reaction, (self.backbone.modules, 1))
        state = unsolved(shape.quaternions, force, *loads, bends)
        found, good = self._held(state, bends, (target, near), load, (start, spent, None))
        unstable = found.status.code is Code.UNSTABLE
        if good and (outside or not unstable):
            return found
        # The shape of least energy through the point does not stand; another one may.
        other = self._searched(target, load, guess, found.status.iterations)
        if good and other.status.code is not Code.NONE:
            spent = other.status.iterations
            return amended(found, status=amended(found.status, iterations=spent))
        if not (outside and other.configuration.status.code is Code.NONE):
            q, first = other.configuration, other.status.code is Code.NONE
            return amended(other, configuration=amended(q, search=q.search._replace(first=first)))
        far = replace(other.status, code=Code.UNREACHABLE, message=FAR)
        return replace(other, status=far, unexplained=False)

    def _held(
        self,
        first: RodState,
        bends: Array,
        targets: tuple[Target, Target],
        load: LoadCase,
        before: tuple[float, int, Published | None],
    ) -> tuple[InverseSolution, bool]:
        """Return what `correct` finds, and whether it is on the second target and in the limits.

        The errors are those from the first target, which may be out of reach. `before`: when it
        began, iterations, and the inverse that this one is next to.
        """
        (target, near), (start, spent, known) = targets, before
        loads = first.dead, first.moment
        held, status, errors = correct(self.rod, first, bends, near, loads, start)
        actuation = self.rod.commands(held).reshape(-1)
        met = errors[0] <= near.tolerances[0] and errors[1] <= near.tolerances[1]
        good = met and status.converged and self.within_limits(actuation)
        used, seconds = spent + status.iterations, time.perf_counter() - start
        status = final = amended(status, iterations=used, solve_time=seconds)
        if near is not target:
            errors = task_errors(self.rod.tip(held), target)
            if status.code is not Code.UNSTABLE:
                final = amended(status, code=Code.UNREACHABLE, message=FAR)
        q = self._configuration(actuation, load, held, status)
        if good:
            q = amended(q, search=known or Published(target.task, held.bends))
        return InverseSolution(actuation, q, *errors, (), final), good

    def fits(self, q: Configuration) -> bool:
        """Whether a Configuration has a rod of as many modules, elements and stations."""
        own, of = self.rod.straight, q.state
        shapes = of.q.shape == own.q.shape and of.force.shape == own.force.shape
        return shapes and q.arc_lengths[0].shape == self._arc.shape

    def jacobian(self, q: Configuration) -> Array:
        """Return (6, 3 m): tip twist per muscle length; the mean of a module has no effect."""
        twist = np.empty((6, q.actuation.size))
        by_lengths(q.state.by_bend, self.rod.combine, twist)
        return twist

    def compliance(self, q: Configuration, method: str) -> Array:
        """Return (6, 6) at the tip with the muscles held."""
        return q.state.compliance.copy()

    def compliance_along(self, q: Configuration, method: str) -> tuple[Array, ...]:
        """Return the compliance (n, 6, 6) at every station."""
        from soro_mechanics.models.kirchhoff.compliance import (
            compliance_at_stations,  # scipy.sparse
        )

        s: RodState = q.state
        return (
            compliance_at_stations(
                (s.q, s.force, s.bend), self.rod.rod_data, s.dead, s.moment, self.rod.every
            ),
        )

    # ---- inside ------------------------------------------------------------------------------

    def _start(self, guess: Guess) -> RodState:
        """Return where a solve begins: a guess from a rod of as many elements, or straight."""
        return self.rod.straight if guess is None or not self.fits(guess) else guess.state

    def _loads(self, load: LoadCase, guess: Guess = None) -> tuple[Array, Array]:
        if guess is not None and guess.arc_lengths[0] is self._arc and guess.load.like(load):
            return guess.state.dead, guess.state.moment  # of this very rod
        return self.rod.loads(load, self.unsupported)

    def _configuration(
        self, actuation: Array, load: LoadCase, state: RodState, status: SolverStatus
    ) -> Configuration:
        poses = np.empty((len(self._radii), 4, 4))
        station_poses(state.q, self.rod.element, self.rod.every, poses)
        if not status.converged:
            poses[:] = np.nan  # no solution: nothing that could be taken for one
        disks = poses[:: self.backbone.stations_per_module].copy()
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
            bodies=dict(zip(self._disks, disks, strict=True)),
            state=state,
        )


class KirchhoffPublished(Kirchhoff):
    """The same robot with the material constants as printed in the paper."""

    name = 'kirchhoff_published'

    def _choose(self, backbone: MuscleBackbone) -> MuscleBackbone:
        if 'published' not in backbone.materials:
            remedy = 'add body.backbone.materials.published to the robot file'
            raise self.unsupported('model', self.name, remedy)
        return replace(backbone, material='published')
