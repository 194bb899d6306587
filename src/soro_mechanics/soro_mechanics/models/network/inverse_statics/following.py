# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse along a path: the fast platform solver behind the Robot API.

The first solve of a path goes through the general inverse; from its solution on, targets near the
last one take the fast path. Anything unusual (no convergence, a limit, a stability that may have
changed) goes back to the general inverse.
"""

from __future__ import annotations

from functools import cached_property
import math
import time

import numpy as np

from soro_mechanics.core.configuration import (
    Array,
    Configuration,
    InverseSolution,
    LoadCase,
    Target,
)
from soro_mechanics.core.status import Code, SolverStatus, status_of, Warnings
from soro_mechanics.models.network.arrays import copy_state, Inputs, State
from soro_mechanics.models.network.equilibrium import Equilibrium, Problem
from soro_mechanics.models.network.forward_network import ForwardNetwork, Solution
from soro_mechanics.models.network.inverse_statics import platform
from soro_mechanics.models.network.kernels.path_memory_kernels import POSE
from soro_mechanics.models.network.kernels.platform_kernels import UNKNOWNS
from soro_mechanics.models.network.linearisation import Linearisation, Shape, trace_shape

NEAR = 0.03  # targets farther from the last one take the general inverse [m]


class FollowedSolution(Solution):
    """A solution of the fast path; what it is seldom asked for is computed when it is."""

    def __init__(self, follower: Follower, problem: Problem, found: platform.Found) -> None:
        self.equilibrium = follower.equilibrium
        self.problem = problem
        self.track: platform.Track | None = found.track
        self.linearisation: Linearisation | None = None
        self._follower = follower
        self._found = found

    @cached_property
    def inputs(self) -> Inputs:  # type: ignore[override]
        """Inputs of the kernels."""
        return self._found.inputs

    @cached_property
    def state(self) -> State:  # type: ignore[override]
        """Unknowns, from the record of the solve."""
        state = copy_state(self._follower.base)
        record = self._found.track.memory[0]
        rows = record[POSE:].reshape(-1, UNKNOWNS)
        state.body[1, :3] = record[:POSE].reshape(3, 4)
        state.joint[:, 1, 0] = rows[:, 1]
        state.wrench[:] = rows[:, 2:]
        # the shape ends on the node up to the closure, which Newton has made negligible
        state.node[1::2] = self._found.pose[:, -1]
        return state

    @cached_property
    def shape(self) -> Shape:  # type: ignore[override]
        """Stations of the rods."""
        work, _ = self.equilibrium.scratch
        return trace_shape(self.equilibrium.layout, self.inputs, self.state, work)


class Follower:
    """Fast inverse for one network."""

    def __init__(self, model: ForwardNetwork, equilibrium: Equilibrium, base: State) -> None:
        layout = equilibrium.layout
        self.equilibrium = equilibrium
        self.base = copy_state(base)
        self.solver = platform.PlatformSolver(layout, base)
        self._layout = layout
        self._fractions = np.linspace(0.0, 1.0, int(layout.structure.counts[4]) + 1)
        shifted = not np.array_equal(layout.spec.tip, np.eye(4))
        self._off_tip = np.linalg.inv(layout.spec.tip) if shifted else None

    def follow(
        self, model: ForwardNetwork, target: Target, load: LoadCase, guess: Configuration
    ) -> InverseSolution | None:
        """Solve a pose near the guess; None where the general inverse has to look."""
        start = time.perf_counter()
        track = self._track(guess, load, target.pose)
        if track is None or min(target.tolerances) < platform.TOLERANCE:
            return None
        found = self.solver.reach(track, target.pose)
        length = found.length
        if not (found.reached and model.within_limits(length)):
            return None
        solution = FollowedSolution(self, Problem(length, load), found)
        unstable = ''
        if not found.track.same:
            linear = model.linearise_solution(solution)
            if linear.stable:
                found.track.same = True
            else:
                solution.track = None
                unstable = linear.remark
        if found.track.maps is not track.maps:
            guard = model.guard(self.equilibrium)
            at = solution.shape, solution.state.wrench, solution.inputs.length
            found.track.remark, _ = guard.examined(*at, length)
        numbers = found.steps, found.error, platform.TOLERANCE, time.perf_counter() - start
        status = status_of(numbers, '', not unstable, math.nan, unstable)
        if found.track.remark:
            status = status.warned(Warnings.OUTSIDE_THEORY, found.track.remark)
        q = self._configuration(target.pose, load, found, solution, status)
        return InverseSolution(length, q, 0.0, 0.0, (), status)

    def _configuration(
        self,
        target: Array,
        load: LoadCase,
        found: platform.Found,
        solution: FollowedSolution,
        status: SolverStatus,
    ) -> Configuration:
        body = target if self._off_tip is None else target @ self._off_tip
        of_rods = found.track.memory[0, POSE::UNKNOWNS]
        return Configuration(
            model=ForwardNetwork.name,
            actuation=found.length,
            load=load,
            tip=target,
            backbones=tuple(found.pose),
            backbone_names=self._layout.rods,
            arc_lengths=tuple(of_rods[:, None] * self._fractions),
            radii=self._layout.radii,
            status=status,
            bodies={self._layout.spec.tip_body: body},
            state=solution,
        )

    def _track(self, guess: Configuration, load: LoadCase, target: Array) -> platform.Track | None:
        """Return the track that the guess belongs to, or begin one there."""
        if guess.state.equilibrium is not self.equilibrium:
            return None  # a robot with other numbers: its track and inputs hold its stiffness
        x, y, z = (target[:3, 3] - guess.tip[:3, 3]).tolist()
        if max(abs(x), abs(y), abs(z)) > NEAR or not guess.load.like(load):
            return None
        track: platform.Track | None = getattr(guess.state, 'track', None)
        if track is None and guess.status.code is Code.NONE:
            track = self.solver.begin(guess.state.inputs, guess.state.state)
            if track is not None:
                track.remark = guess.status.message
            guess.state.track = track
        return track


def follower_for(model: ForwardNetwork, equilibrium: Equilibrium) -> Follower | None:
    """Return the fast solver of a network that it can treat."""
    if not platform.is_platform(equilibrium.layout):
        return None
    base = equilibrium.assembled(model.rest)
    return Follower(model, equilibrium, base.state) if base.converged else None
