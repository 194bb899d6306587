# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Where the tangent of a solution leads: what warm solves of networks begin with."""

from dataclasses import replace

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.core.configuration import LoadCase, Target, Task
from soro_mechanics.models.network.inverse_statics.least_energy import LeastEnergy
from soro_mechanics.models.network.linearisation import Linearisation

DIRECTION = np.array([0.3, -0.2, 0.4, 0.1, -0.5, 0.2])


@pytest.fixture(scope='module')
def robot():
    return load_robot('haptic_5dof')


def test_what_a_prediction_lacks_falls_with_the_square_of_the_way(robot):
    """Nodes, handle and stresses, against solutions that are found without a prediction."""
    start = robot.forward(0.2 * DIRECTION)
    layout = start.state.equilibrium.layout  # ends of rods are placed by the next assembly
    inner = np.concatenate([np.arange(n.start + 1, n.stop - 1) for n in layout.rod_nodes])
    lacking = []
    for size in (0.08, 0.04, 0.02):
        solution = robot.forward(start.actuation + size * DIRECTION).state
        solver, problem = solution.equilibrium, solution.problem
        near = start.state.nearby(problem)
        predicted = solver.newton(solver.inputs(problem), start.state.state, 1, near=near).state
        apart = [np.abs(a - b) for a, b in zip(predicted[:3], solution.state[:3], strict=True)]
        lacking.append([apart[0].max(), apart[1][inner].max(), apart[2].max()])
    ratio = np.array(lacking[:-1]) / np.array(lacking[1:])
    np.testing.assert_allclose(ratio, 4.0, rtol=0.1)


def test_a_warm_solve_is_the_cold_one_in_fewer_steps(robot):
    q = robot.forward(0.2 * DIRECTION)
    asked = q.actuation + 0.01 * DIRECTION
    warm, cold = robot.forward(asked, guess=q), robot.forward(asked)
    np.testing.assert_allclose(warm.tip, cold.tip, atol=1e-9)
    assert warm.status.iterations <= 3
    there = robot.inverse(cold.tip, guess=q)
    np.testing.assert_allclose(there.actuation, asked, atol=1e-6)
    assert robot.forward(there.actuation).status.stability is there.configuration.status.stability


def test_what_a_prediction_is_read_from_is_nobody_elses(robot):
    """Another thread that linearises the same solution may take its tangent's place meanwhile."""
    q = robot.forward(0.2 * DIRECTION)
    solution, layout = q.state, q.state.equilibrium.layout
    work = solution.linearisation.work
    near = solution.nearby(replace(solution.problem, actuation=0.21 * DIRECTION))
    layout.spare.clear()
    solution.linearisation = None
    robot.jacobian(q)
    assert near and all(one is not work for one in (*layout.spare, solution.linearisation.work))


def test_other_loads_are_not_predicted(robot):
    q = robot.forward(0.2 * DIRECTION)
    pushed = robot.forward(q.actuation + 0.01 * DIRECTION, [0.0, 0.0, -0.1, 0.0, 0.0, 0.0], q)
    assert q.state.nearby(pushed.state.problem) is None
    assert pushed.status.converged
    turned = load_robot('haptic_5dof')
    turned.gravity = [0.0, 9.8, 0.0]
    assert q.state.nearby(turned.forward(q.actuation).state.problem) is None


def test_the_tangent_that_a_warm_solve_leaves_is_that_of_differences(robot):
    """Of tip positions, from solves that begin at rest."""
    q = robot.forward(0.19 * DIRECTION)
    warm, h = robot.forward(0.2 * DIRECTION, guess=q), 1e-4
    for k in range(6):
        step = np.zeros(6)
        step[k] = h
        ends = [robot.forward(warm.actuation + sign * step).tip[:3, 3] for sign in (-1.0, 1.0)]
        slope = (ends[1] - ends[0]) / (2.0 * h)
        np.testing.assert_allclose(robot.jacobian(warm)[:3, k], slope, atol=1e-7)
        push = [robot.forward(warm.actuation, s * h * np.eye(6)[k]).tip[:3, 3] for s in (-1, 1)]
        soft = robot.compliance(warm)[:3, k]
        np.testing.assert_allclose(soft, (push[1] - push[0]) / (2.0 * h), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize('name', ['soft_parallel:network', 'stewart_gough'])
def test_what_a_solve_leaves_is_the_network_linearised_there(name):
    """Of an inverse too, where curves lie between pressures and what they drive."""
    robot = load_robot(*name.split(':'))
    low, span = robot.limits[:, 0], np.ptp(robot.limits, axis=1)
    start = robot.forward(low + 0.3 * span)
    q = robot.forward(low + 0.302 * span, guess=start)
    for at in (q, robot.inverse(q.tip[:3, 3], guess=start).configuration):
        left = at.state.linearisation
        fresh = Linearisation(left.layout, at.state.inputs, at.state.state, exact=False)
        for part in ('matrix', 'columns', 'effort'):
            wanted = getattr(fresh, part)
            scale = np.abs(wanted).max() if wanted.size else 0.0
            np.testing.assert_allclose(getattr(left, part), wanted, atol=1e-9 * scale)
        assert left.negative == fresh.negative
        np.testing.assert_array_equal(robot.forward(q.actuation, guess=start).tip, q.tip)
        again = robot.forward(at.actuation, guess=start)
        np.testing.assert_allclose(robot.jacobian(at), robot.jacobian(again), rtol=1e-6, atol=1e-9)


def test_first_steps_along_a_path_are_corrected_by_what_the_last_ones_lacked(robot):
    """All motors turned alike hardly move the handle: what is linear is far off there."""
    turns = 2.0 * np.pi * np.arange(40)[:, None] / 200 + np.arange(6)
    path = 0.2 * robot.limits[:, 1] + 0.004 * np.ptp(robot.limits[0]) * np.sin(turns)
    at = robot.forward(path[0])
    tips = [(at := robot.forward(actuation, guess=at)).tip for actuation in path]
    steps = {True: 0, False: 0}
    for kept in steps:
        s = robot.inverse(tips[0], guess=robot.forward(path[0]))
        for actuation, tip in zip(path[1:], tips[1:], strict=True):
            if not kept:
                s.configuration.state.path = None
            s = robot.inverse(tip, guess=s)
            np.testing.assert_allclose(s.actuation, actuation, atol=1e-6)
            steps[kept] += s.status.iterations
    assert steps[True] < 0.8 * steps[False]


def test_one_kernel_meets_a_target_as_the_general_search_does(robot):
    q, model = robot.forward(0.2 * DIRECTION), robot.model_object
    load = LoadCase(gravity=robot.gravity)
    target = Target(robot.forward(q.actuation + 0.05 * DIRECTION).tip)
    problem = LeastEnergy(model, load, target)
    problem.equilibrium = model.equilibrium(())
    _, (at, _, outcome) = problem.direct(problem.start(model, q))
    searched = problem.solve(problem.start(model, q))
    np.testing.assert_allclose(at.driven, searched.driven, atol=1e-7)
    np.testing.assert_allclose(at.driven, q.actuation + 0.05 * DIRECTION, atol=1e-5)
    assert outcome.converged and at.steps == outcome.iterations < 10
    target.pose[2, 3] += 0.2
    steps, found = problem.direct(problem.start(model, q))
    assert steps > 0 and found is None


@pytest.mark.parametrize(('name', 'way'), [('haptic_5dof', 0.05), ('stewart_gough', 0.01)])
def test_one_kernel_chooses_among_actuators_as_the_general_search_does(name, way):
    """Of six a position leaves three to choose: motors by their work, rods by theirs."""
    robot = load_robot(name)
    model, load = robot.model_object, LoadCase(gravity=robot.gravity)
    q = robot.forward(robot.limits.mean(axis=1) + 0.1 * way * DIRECTION)
    tip = robot.forward(q.actuation + way * DIRECTION).tip
    problem = LeastEnergy(model, load, Target(tip, Task.POSITION))
    problem.equilibrium = model.equilibrium(())
    for _ in range(2):  # from where the energy is not the least yet, and from where it is
        _, (at, _, outcome) = problem.direct(problem.start(model, q))
        searched = problem.solve(problem.start(model, q))
        assert problem.reached(at) and outcome.converged and at.steps < 10
        np.testing.assert_allclose(at.driven, searched.driven, atol=2e-6 * np.ptp(robot.limits[0]))
        q = robot.forward(at.driven)
        np.testing.assert_allclose(q.tip[:3, 3], tip[:3, 3], atol=2e-6)
