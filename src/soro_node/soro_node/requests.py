# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""What the requests of several services have in common: model, actuation, loads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from soro_mechanics.core.configuration import Array, Configuration, Load
from soro_mechanics.core.status import Code
from soro_mechanics.robot import Robot
from soro_node.conversions import actuation_from_names, loads_from_messages, wrench_from_message
from soro_node.inputs.external_wrench import settled, WrenchAt
from soro_node.robot_binding import RobotBinding


def forward_from(
    robot: Robot,
    actuation: Array,
    wrench: Array,
    loads: tuple[Load, ...],
    near: Configuration | None,
) -> Configuration:
    """Solve from a near configuration, and cold where that finds no stable equilibrium."""
    q = robot.forward(actuation, wrench, near, loads)
    if near is not None and q.status.code in (Code.NOT_CONVERGED, Code.UNSTABLE):
        q = robot.forward(actuation, wrench, None, loads)
    return q


def start_of(robot: Robot, q: Configuration | None) -> Configuration | None:
    """Return an earlier solution where a solve may start from it, else None.

    It must be one of the same model, and good.
    """
    good = q is not None and q.model == robot.model and q.status.code is Code.NONE
    return q if good else None


def quick_start_of(robot: Robot, q: Configuration | None) -> Configuration | None:
    """Return an earlier solution where starting from it changes the time of a solve only.

    With branches it would choose the equilibrium, and the answer would depend on what was asked
    before.
    """
    return None if robot.model_object.branches else start_of(robot, q)


@dataclass(frozen=True)
class LoadedState:
    """A robot with one of its models, an actuation and loads, as a request asks for."""

    robot: Robot
    actuation: Array  #: (m,)
    wrench: Array  #: (6,)
    loads: tuple[Load, ...]
    #: whether the actuation is the present one because the request named none
    of_present: bool = False
    #: or None; the external wrench for a pose of the tip, in addition to `wrench`
    external: WrenchAt | None = None

    def solve(self, near: Configuration | None) -> Configuration:
        """Return the equilibrium, started from a near configuration where there is one.

        See `start_of` and `quick_start_of` for which may be given.
        """

        def under(wrench: Array) -> Configuration:
            return forward_from(self.robot, self.actuation, wrench, self.loads, near)

        if self.external is None:
            return under(self.wrench)
        start = near if near is not None else under(self.wrench)
        if not start.status.converged:
            return start
        return settled(lambda w: under(self.wrench + w), self.external, start.tip)


def loaded_state(
    binding: RobotBinding,
    request: Any,
    present: Callable[[], Array] | None = None,
    external: Callable[[], WrenchAt | None] = lambda: None,
) -> LoadedState:
    """Read model, actuation, wrench and loads of a request.

    `request`: with the fields actuator_name, actuation, wrench, loads, and model where it has one;
    `present`: gives the present actuation, which an empty `actuation` then stands for; `external`:
    gives the external wrench, which the present state has in addition to the request's.

    InvalidInput, UnknownName; SoroError: NO_STATE.
    """
    robot = binding.robot_with(getattr(request, 'model', ''))
    of_present = present is not None and len(request.actuation) == 0
    if of_present:
        actuation = present()
    else:
        actuation = actuation_from_names(robot, request.actuator_name, request.actuation)
    return LoadedState(
        robot,
        actuation,
        wrench_from_message(request.wrench),
        loads_from_messages(request.loads),
        of_present,
        external() if of_present else None,
    )
