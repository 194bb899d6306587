# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Inverse solves under an external wrench that depends on where the tip will be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from soro_mechanics.core.configuration import Array, Configuration, InverseSolution, Load, Task
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.inputs.external_wrench import unsettled, WrenchAt
from soro_trajectory.tip_feedback import pose_error

ROUNDS = 8  # each leaves about a tenth of what is missing
SETTLED = 0.1  # of the tolerance: what the tip may still move by


class InverseUnderLoad:
    """What `solve_path` asks of a robot, with the external wrench of the tip that is found.

    A wrench given in `tip` or `base_link` is another one at every pose of the tip: each solve is
    repeated with the wrench at the tip of the one before, until the tip that the actuation has
    under its own wrench is the one that was solved for.

    `wrench_at`: from the pose of the tip to the wrench (6,) there, axes of base_link.
    """

    def __init__(self, robot: Robot, wrench_at: WrenchAt) -> None:
        self.actuators = robot.actuators
        self._robot = robot
        self._wrench_at = wrench_at

    def inverse(
        self,
        target: Array,
        wrench: Array,
        guess: Configuration | InverseSolution | None,
        loads: Sequence[Load],
        task: Task,
        *tolerances: float,
    ) -> InverseSolution:
        """Find the actuation for a target pose (4, 4); `wrench` (6,) is there in addition."""
        near = guess.configuration if isinstance(guess, InverseSolution) else guess
        tip = _supposed_tip(target, near, task)
        for _ in range(ROUNDS):
            external = self._wrench_at(tip)
            solution = self._robot.inverse(
                target, wrench + external, guess, loads, task, *tolerances
            )
            q = solution.configuration
            if not q.status.converged:
                return solution
            tip = q.tip
            following = self._wrench_at(tip)
            if np.array_equal(following, external):
                return solution
            own = self._robot.forward(solution.actuation, wrench + following, q, loads)
            moved = pose_error(tip, own.tip, task is not Task.POSITION).reshape(2, 3)
            left = np.linalg.norm(moved, axis=1)  # [m], [rad]
            if own.status.converged and np.all(left <= SETTLED * np.array(tolerances)):
                return solution
            if solution.status.code is Code.NONE:
                guess = solution
        return replace(solution, status=unsettled(solution.status))


def _supposed_tip(target: Array, near: Configuration | None, task: Task) -> Array:
    """Return where the tip will be about: at the target, turned as it is now if that is free."""
    if task is Task.POSE or near is None:
        return target
    tip: Array = near.tip.copy()
    tip[:3, 3] = target[:3, 3]
    return tip
