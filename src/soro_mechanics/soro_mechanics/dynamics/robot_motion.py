# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""A robot in motion: a stepper at rest where its model says, and a simulation over a time."""

from __future__ import annotations

from collections.abc import Sequence
import contextlib
from typing import Any

import numpy as np

from soro_mechanics.compilation import first_calls
from soro_mechanics.core.configuration import Configuration, Load, LoadCase
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.robot_input import load_tuple, positive
from soro_mechanics.core.status import Code
from soro_mechanics.dynamics.events import Watched
from soro_mechanics.dynamics.modes import modes
from soro_mechanics.dynamics.simulation import as_signal, simulate_stepper, Simulation
from soro_mechanics.dynamics.start import distance, state_near
from soro_mechanics.dynamics.stepper import Options, Stepper
from soro_mechanics.models.network.equilibrium import Problem
from soro_mechanics.models.network.forward_network import ForwardNetwork

INPUTS = 'actuation', 'wrench', 'gravity'
MAX_STEPS = 1e7  # of one simulation: their results are a gigabyte
Robot = Any  # soro_mechanics.Robot, which imports this module


def stepper(
    robot: Robot, start: Configuration | None = None, options: Options | None = None
) -> Stepper:
    """Return a robot at rest that can be stepped through time.

    Parameters
    ----------
    robot : Robot
        With model network.
    start : Configuration, optional
        Where it rests; default: at the rest of all actuators, without load. Its loads stay.
    options : Options, optional

    Raises
    ------
    InvalidInput
        Another model, or no equilibrium.
    """
    model = _network(robot)
    q = robot.forward(robot.description.rest) if start is None else start
    if not q.status.converged:
        raise InvalidInput('start', q.status.code.name, 'a converged Configuration')
    first_calls.finish()
    made = Stepper(model.spec, model.rest, options, q.loads)
    problem: Problem = q.state.problem
    near = state_near(q, made.equilibrium, problem)
    made.rest(q.actuation, q.load, near)
    if not made.options.incompressible:
        made.mesh_error = distance(q, made.tip)
    if made.inertia.moving:
        with contextlib.suppress(InvalidInput):  # a mode grows
            made.fit(modes(made, 1).frequency[0])
    return made


def simulate(
    robot: Robot,
    duration: float,
    step: float,
    inputs: tuple[Any, Any, Any],
    loads: Sequence[Load],
    start: Configuration | None,
    *,
    tolerance: float | None,
    options: Options | None,
    events: Sequence[Watched],
) -> Simulation:
    """Simulate the motion; `inputs`: actuation, wrench, gravity. See `Robot.simulate`."""
    duration, step = positive('duration', duration), positive('step', step)
    if duration > MAX_STEPS * step:
        raise InvalidInput('duration', duration, f'at most {MAX_STEPS:g} times step')
    if not isinstance(options, Options | None):
        raise InvalidInput('options', options, 'soro_mechanics.dynamics.stepper.Options, or None')
    if not isinstance(events, Sequence) or not all(map(callable, events)):
        raise InvalidInput('events', events, 'a sequence of functions of time and stepper')
    model = _network(robot)
    further = load_tuple(loads, model)
    if start is not None and further:
        raise InvalidInput('loads', loads, 'no loads besides start, which has its own')
    if tolerance is not None:
        tolerance = positive('tolerance', tolerance)
    rest = robot.description.rest if start is None else start.actuation
    times = np.linspace(0.0, duration, max(1, round(duration / step)) + 1)
    still = np.zeros(6) if start is None else start.wrench
    down = robot.gravity if start is None else start.gravity
    act, push, weight = (
        as_signal(name, default if value is None else value, len(default), times)
        for name, value, default in zip(INPUTS, inputs, (rest, still, down), strict=True)
    )

    def load(t: float) -> LoadCase:
        return LoadCase(push(t), further if start is None else start.loads, weight(t))

    begin = model.forward(act(0.0), load(0.0), None) if start is None else start
    moving = stepper(robot, begin, options)
    return simulate_stepper(moving, duration, step, act, load, tolerance, events)


def _network(robot: Robot) -> ForwardNetwork:
    model = robot.model_object if robot.model == ForwardNetwork.name else None
    if not isinstance(model, ForwardNetwork):
        remedy = "network: write robot.with_model('network'), where the file has one"
        raise InvalidInput('model', robot.model, remedy, Code.UNSUPPORTED)
    return model
