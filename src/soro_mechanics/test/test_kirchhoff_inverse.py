# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven backbone: least energy through a point, against independent rods."""

from dataclasses import replace

from kirchhoff_cases import changed, point_at, pose_at
import numpy as np
import pytest
from scipy.integrate import cumulative_trapezoid, solve_bvp, trapezoid
from scipy.optimize import fsolve

from soro_mechanics import Code, InvalidInput, load_robot, Stability, Task
from soro_mechanics.analysis.workspace import sample_actuations
from soro_mechanics.core.actuators import CoupledLimit
from soro_mechanics.core.configuration import LoadCase, Target
from soro_mechanics.inverse.search import Search
from soro_mechanics.models.kirchhoff import model as kirchhoff_model
from soro_mechanics.models.kirchhoff.backbone import unsolved
from soro_mechanics.models.kirchhoff.model import Kirchhoff, KirchhoffPublished
from soro_mechanics.models.kirchhoff.reach_kernels import make_rod_work
from soro_mechanics.models.kirchhoff.rod_kernels import rod_system
from soro_mechanics.robot import Robot
from soro_studies.mechanics.kirchhoff_least_squares import LeastSquaresProblem, solve_least_squares


@pytest.fixture(scope='module')
def robot():
    return load_robot('pam_continuum')


@pytest.fixture(scope='module')
def rigid(robot):
    """Return the robot with muscles that do not give way."""
    return changed(robot, muscle_stiffness=np.inf)


@pytest.fixture(scope='module')
def model(robot):
    return Kirchhoff(robot.description)


@pytest.mark.parametrize(
    ('load', 'along', 'side'),
    [(1.0, 0.9435668, 0.3017208), (3.0, 0.7455798, 0.6032534), (10.0, 0.4450044, 0.8106090)],
)
def test_reaction_of_the_elastica(model, load, along, side):
    """The rod through the end of a loaded cantilever needs exactly that load."""
    found = model.reach(point_at([side, 0.0, along]), LoadCase())
    assert found.status.code is Code.NONE
    unit = model.backbone.stiffness[0]
    np.testing.assert_allclose(found.reaction / unit, [load, 0.0, 0.0], atol=2e-3 * load)
    assert found.minimum


def _bvp_rod(stiffness, weight, target, first, arc):
    """Solve a hanging rod through a point by solve_bvp: (p, quaternion, body moment), reaction."""
    a, _, c = stiffness

    def rate(s, y, reaction):
        w, x, yy, z = y[3:7]
        tangent = np.array([2 * (x * z + w * yy), 2 * (yy * z - w * x), 1 - 2 * (x * x + yy * yy)])
        spin = np.array([y[7] / a, y[8] / a, y[9] / c])
        side = np.zeros_like(s)
        force = np.array([reaction[0] + side, reaction[1] + side, reaction[2] + weight * (1 - s)])
        rows = np.array(
            [
                [1 - 2 * (yy * yy + z * z), 2 * (x * yy + w * z), 2 * (x * z - w * yy)],
                [2 * (x * yy - w * z), 1 - 2 * (x * x + z * z), 2 * (yy * z + w * x)],
            ]
        )
        in_body = np.einsum('ijn,jn->in', rows, force)
        moment = y[7:10]
        turn = -np.cross(spin.T, moment.T).T
        turn[0] += in_body[1]
        turn[1] -= in_body[0]
        return np.vstack(
            [
                tangent,
                0.5 * (-spin[0] * x - spin[1] * yy - spin[2] * z),
                0.5 * (spin[0] * w + spin[2] * yy - spin[1] * z),
                0.5 * (spin[1] * w + spin[0] * z - spin[2] * x),
                0.5 * (spin[2] * w + spin[1] * x - spin[0] * yy),
                turn,
            ]
        )

    def ends(start, end, reaction):
        return np.array(
            [*start[:3], *(start[3:7] - [1, 0, 0, 0]), *(end[:3] - target), *end[7:10]]
        )

    solution = solve_bvp(rate, ends, arc, first[0], p=first[1], tol=1e-8, max_nodes=20000)
    assert solution.success
    return solution


def test_spatial_shape_converges_to_an_independent_rod(robot):
    """Hanging rod bent out of its plane by a tip force, through a point: second order in h."""
    target = np.array([0.25, 0.2, 0.8])
    wrench = np.zeros(6)
    errors, forces = [], []
    truth = None
    for elements in (200, 100, 60):
        model = Kirchhoff(changed(robot, elements=elements, stations_per_module=1).description)
        found = model.reach(point_at(target), LoadCase(wrench, (), robot.gravity))
        arc = np.linspace(0.0, 1.0, elements + 1)
        if truth is None:
            points = np.empty((elements + 1, 3))
            from soro_mechanics.models.kirchhoff.rod_kernels import positions

            positions(found.quaternions, model.rod.element, points)
            first = np.vstack([points.T, found.quaternions.T, np.zeros((3, elements + 1))])
            weight = model.backbone.mass * 9.81
            truth = _bvp_rod(
                model.backbone.stiffness, weight, target, (first, found.reaction), arc
            )
        wanted = truth.sol(arc)[3:7].T
        errors.append(np.abs(found.quaternions - wanted).max())
        forces.append(np.abs(found.reaction - truth.p).max())
    assert errors[0] < 1e-4
    assert forces[0] < 2e-3
    assert errors[1] / errors[0] == pytest.approx(4.0, rel=0.15)
    assert forces[2] / forces[1] == pytest.approx((100 / 60) ** 2, rel=0.15)


def test_the_shape_is_a_minimum_on_its_constraint(model, robot):
    """Project the dense Hessian on the null space of the end-point rows: all positive."""
    found = model.reach(point_at([0.3, 0.1, 0.8]), LoadCase(gravity=robot.gravity))
    dead, _ = model._loads(LoadCase(gravity=robot.gravity))
    count = len(found.quaternions)
    work = make_rod_work(count)
    gradient, diagonal, coupling, lever, _, _ = work
    rod_system(
        found.quaternions,
        model.backbone.stiffness,
        model.rod.element,
        dead,
        found.reaction.reshape(1, 3),
        work,
    )
    assert np.abs(gradient[1:]).max() < 1e-9
    hessian = np.zeros((3 * (count - 1), 3 * (count - 1)))
    for n in range(1, count):
        at = 3 * (n - 1)
        hessian[at : at + 3, at : at + 3] = diagonal[n]
        if n + 1 < count:
            hessian[at : at + 3, at + 3 : at + 6] = coupling[n]
            hessian[at + 3 : at + 6, at : at + 3] = coupling[n].T
    rows = lever[1:].reshape(-1, 3)
    null = np.linalg.svd(rows.T)[2][3:].T
    reduced = np.linalg.eigvalsh(null.T @ hessian @ null)
    assert reduced[0] > 0.0
    assert found.minimum
    # the bare Hessian need not be positive: here the reaction pushes
    pushed = model.reach(point_at([0.02, 0.0, 0.4]), LoadCase())
    assert pushed.minimum


def test_prescribed_attitude_is_kept(robot):
    base = robot.inverse([0.3, 0.0, 0.85]).configuration.tip
    target = base.copy()
    angle = 0.4
    turn = np.array(
        [[1, 0, 0], [0, np.cos(angle), -np.sin(angle)], [0, np.sin(angle), np.cos(angle)]]
    )
    target[:3, :3] = base[:3, :3] @ turn
    full = robot.inverse(target)
    assert full.status.code is Code.NONE
    np.testing.assert_allclose(full.configuration.tip, target, atol=1e-5)
    axis = robot.inverse(target, task=Task.POSITION_AND_AXIS)
    assert axis.status.code is Code.NONE
    np.testing.assert_allclose(axis.configuration.tip[:3, 2], target[:3, 2], atol=1e-5)
    assert np.abs(axis.configuration.tip[:3, 0] - target[:3, 0]).max() > 1e-4


def test_unreachable_targets_are_said_to_be(robot):
    far = robot.inverse([0.9, 0.0, 0.8])
    assert far.status.code is Code.UNREACHABLE
    assert far.position_error > 0.2
    tip = far.configuration.tip[:3, 3]
    assert 0.97 < np.linalg.norm(tip) <= 1.0
    assert np.linalg.norm(tip / np.linalg.norm(tip) - np.array([0.9, 0.0, 0.8]) / 1.2042) < 0.1


def test_nearly_straight_targets_are_reached(robot):
    for target in ([0.0, 0.0, 1.0], [0.03, 0.01, 0.9985]):
        s = robot.inverse(target, guess=robot.forward(np.full(30, 0.1)))
        assert s.status.code is Code.NONE
        assert s.position_error < 1e-6


def test_the_tip_of_the_straight_robot_is_within_its_reach(robot):
    straight = robot.forward(np.full(30, 0.1)).tip
    beyond = straight[:3, 3] * (1.0 + 1e-12)  # as a message or another library rounds it
    for target in (straight[:3, 3], beyond):
        assert robot.inverse(target).status.code is Code.NONE


def test_a_lifted_robot_is_called_unstable(rigid):
    """Bent up to the height of its base the robot twists down: muscles do not hold torsion."""
    lifted = rigid.inverse([0.53, 0.0, 0.025], multistart=False)
    assert lifted.status.code is Code.UNSTABLE
    assert lifted.configuration.status.stability is Stability.UNSTABLE


@pytest.mark.parametrize('number', [12, 19])
def test_another_shape_is_found_where_that_of_least_energy_does_not_stand(rigid, model, number):
    target = rigid.forward(sample_actuations(rigid, number + 1)[number]).tip[:3, 3]
    least = model.reach(point_at(target), LoadCase(gravity=rigid.gravity))
    assert rigid.forward(least.lengths.ravel()).status.code is Code.UNSTABLE
    s = rigid.inverse(target)
    assert s.status.code is Code.NONE
    again = rigid.forward(s.actuation)  # from the straight robot
    assert again.status.code is Code.NONE
    np.testing.assert_allclose(again.tip[:3, 3], target, atol=1e-6)


@pytest.mark.parametrize('place', [[0.3, 0.2, 0.75], [0.0, 0.0, -0.5], [-0.331, 0.467, 0.025]])
def test_no_iteration_is_lost_whichever_way_finds_the_shape(robot, model, place, monkeypatch):
    """Where the shape of least energy does not stand, or passes the limits, there is a search."""
    counted = []

    def counting(owner, name, number):
        asked = getattr(owner, name)

        def wrapped(*args):
            found = asked(*args)
            counted.append(number(args, found))
            return found

        monkeypatch.setattr(owner, name, wrapped)

    counting(model, 'reach', lambda _, shape: shape.status.iterations)
    counting(kirchhoff_model, 'correct', lambda _, found: found[1].iterations)
    counting(Search, 'solve', lambda args, _: args[0]._count - sum(counted))
    found = model.inverse(point_at(place), LoadCase(gravity=robot.gravity), None)
    assert found.status.iterations == sum(counted)


@pytest.mark.parametrize('pose', [True, False])
@pytest.mark.parametrize('number', [0, 1, 2])
def test_the_next_inverse_takes_the_iterations_of_a_forward(robot, pose, number):
    """It is told by the one before; it is not found anew from the published shape."""
    bent = robot.forward(np.random.default_rng(number).uniform(0.09, 0.11, 30)).tip

    def moved(along):
        there = bent.copy()
        there[0, 3] += along
        return there if pose else there[:3, 3]

    first = robot.inverse(moved(0.0))
    assert first.status.code is Code.NONE
    for along in (1e-5, 1e-4, 2e-4):
        s = robot.inverse(moved(along), guess=first)
        again = robot.forward(s.actuation, guess=first)
        assert s.status.code is Code.NONE
        assert s.status.iterations <= again.status.iterations + 1
        np.testing.assert_allclose(again.tip, s.configuration.tip, atol=1e-9)
        # What a target leaves open is nearly as without a guess: the range is 40 mm.
        anew = robot.inverse(moved(along)).actuation
        np.testing.assert_allclose(s.actuation, anew, atol=2e-5)
    far = robot.inverse(moved(0.01), guess=s)
    np.testing.assert_allclose(far.actuation, robot.inverse(moved(0.01)).actuation, atol=1e-5)


@pytest.mark.parametrize(
    ('task', 'numbers'),
    [(Task.POSITION, (19, 73, 168)), (Task.POSITION_AND_AXIS, (0, 12, 19, 23, 35, 47))],
)
def test_no_step_to_less_energy_gives_up_what_stands_on_the_target(robot, task, numbers):
    actuations = list(sample_actuations(robot, 200))
    for number in numbers:
        q = robot.forward(actuations[number])
        found = robot.inverse(q.tip, guess=q, task=task)
        assert q.status.code is found.status.code is Code.NONE, number


def test_targets_near_the_guess_are_reached(robot):
    """Straight to the least energy 4 of these 45 searches go astray."""
    rng, (low, high) = np.random.default_rng(7), robot.limits.T
    for number, actuation in enumerate(sample_actuations(robot, 45)):
        away = 0.1 * (high - low) * rng.uniform(-1.0, 1.0, low.size)
        q = robot.forward(actuation)
        target = robot.forward(np.clip(actuation + away, low, high), guess=q)
        found = robot.inverse(target.tip, guess=q, task=Task.POSITION_AND_AXIS)
        assert found.status.code is Code.NONE, number


def test_published_moduli_make_a_chain(robot):
    printed = load_robot('pam_continuum', model='kirchhoff_published')
    model = printed._model
    bending = model.backbone.stiffness[0]
    assert bending == pytest.approx(1.19e-5, rel=0.01)
    assert (bending / 4.0) ** (1 / 3) == pytest.approx(0.0144, abs=1e-4)
    default = robot.description.structure['kirchhoff'].stiffness[0]
    assert (default / 4.0) ** (1 / 3) == pytest.approx(0.310, abs=1e-3)
    found = model.reach(point_at([0.3, 0.0, 0.8]), LoadCase(gravity=printed.gravity))
    assert found.status.code is Code.NONE


def _hanging_elastica(bending, weight, side, down):
    """Solve a planar hanging rod through a point by solve_bvp, starting from the catenary.

    Rows: angle from the vertical, its derivative, place across and down; p: the reaction.
    """

    def hanging(p):
        arc = np.linspace(0.0, 1.0, 2001)
        pull = np.array([p[0] + 0.0 * arc, p[1] + weight * (1.0 - arc)])
        return trapezoid(pull / np.hypot(*pull), arc, axis=1) - [side, down]

    def rates(s, y, p):
        turn = (p[1] + weight * (1.0 - s)) * np.sin(y[0]) - p[0] * np.cos(y[0])
        return np.vstack([y[1], turn / bending, np.sin(y[0]), np.cos(y[0])])

    def ends(a, b, p):
        return np.array([a[0], a[2], a[3], b[1], b[2] - side, b[3] - down])

    chain = fsolve(hanging, [0.5, -1.0])
    s = np.unique(np.concatenate([np.linspace(0.0, 0.05, 400), np.linspace(0.0, 1.0, 1200)]))
    angle = np.arctan2(chain[0], chain[1] + weight * (1.0 - s)) * (1.0 - np.exp(-s / 2e-3))
    first = [
        angle,
        np.gradient(angle, s),
        *cumulative_trapezoid([np.sin(angle), np.cos(angle)], s, initial=0.0),
    ]
    found = solve_bvp(rates, ends, s, np.vstack(first), p=chain, tol=1e-9, max_nodes=100_000)
    assert found.success
    return found


def test_published_moduli_need_thousands_of_elements():
    """The rod turns out of its clamped end within 2 mm: coarser elements gain nothing."""
    printed = load_robot('pam_continuum', model='kirchhoff_published')
    backbone = printed.description.structure['kirchhoff']
    bending = printed._model.backbone.stiffness[0]
    truth = _hanging_elastica(bending, backbone.mass * 9.81, 0.25, 0.8)
    angles, reactions = {}, {}
    for elements in (200, 800, 3200, 6400):
        body = replace(backbone, elements=elements, stations_per_module=1)
        model = KirchhoffPublished(replace(printed.description, structure={'kirchhoff': body}))
        half = 0.5 * truth.sol(np.linspace(0.0, 1.0, elements + 1))[0]
        shape = np.column_stack([np.cos(half), 0.0 * half, np.sin(half), 0.0 * half])
        load, reaction = LoadCase(gravity=printed.gravity), np.array([truth.p[0], 0.0, truth.p[1]])
        loads = model.rod.loads(load, model.unsupported)
        start = unsolved(shape, np.tile(reaction, (10, 1)), *loads, np.zeros((10, 2)))
        found = model.reach(point_at([0.25, 0.0, 0.8]), load, start)
        assert found.status.code is Code.NONE and found.minimum
        turn = 2.0 * np.arctan2(found.quaternions[:, 2], found.quaternions[:, 0])
        angles[elements] = np.abs(turn - 2.0 * half).max()
        reactions[elements] = np.abs(found.reaction - reaction).max()
    assert reactions[200] < 1e-4
    assert 5e-4 < angles[200] < 2.0 * angles[800]
    assert angles[3200] / angles[6400] == pytest.approx(4.0, rel=0.2)
    assert reactions[3200] / reactions[6400] == pytest.approx(4.0, rel=0.1)


def test_with_published_moduli_the_muscles_hold_no_shape():
    """The status must say so: what is found is unstable, and other lengths lead elsewhere."""
    printed = load_robot('pam_continuum', model='kirchhoff_published')
    target = np.array([0.25, 0.0, 0.8])
    s = printed.inverse(target, multistart=False)
    assert s.status.code is Code.UNSTABLE and s.position_error < 1e-6
    found = printed._model.reach(point_at(target), LoadCase(gravity=printed.gravity))
    assert found.status.code is Code.NONE
    q = printed.forward(found.lengths.reshape(-1))
    assert q.status.code is Code.UNSTABLE
    assert np.linalg.norm(q.tip[:3, 3] - target) > 0.1


def test_least_squares_with_reaction_finds_the_same_rod(model, robot):
    target = np.array([0.3, 0.05, 0.85])
    wrench = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    exact = model.reach(point_at(target), LoadCase(wrench, (), robot.gravity))
    weight = model.backbone.mass * robot.gravity
    force = np.outer(1.0 - np.linspace(0, 1, 201), weight) + wrench[:3]
    problem = LeastSquaresProblem(model.backbone.stiffness, 1.0, force, target, None, True)
    rough = exact.quaternions + 0.01 * np.random.default_rng(2).normal(size=(201, 4))
    rough[0] = exact.quaternions[0]
    found = solve_least_squares(problem, rough)
    assert found.cost < 1e-18
    assert found.missed < 1e-10
    np.testing.assert_allclose(found.reaction, exact.reaction, atol=1e-3)
    np.testing.assert_allclose(found.quaternions, exact.quaternions, atol=1e-4)
    # as published the reaction is missing: end point and equilibrium cannot both hold
    plain = solve_least_squares(replace(problem, with_reaction=False), exact.quaternions)
    assert 1e-5 < plain.missed < 5e-3
    assert plain.equilibrium > 1.0
    assert plain.norm < 1e-4
    with pytest.raises(InvalidInput):
        solve_least_squares(problem, exact.quaternions[:-1])


def test_least_squares_keeps_a_prescribed_attitude(model, robot):
    target = np.array([0.1, 0.0, 0.97])
    exact = model.reach(Target(pose_at(target), Task.POSE), LoadCase())
    problem = LeastSquaresProblem(
        model.backbone.stiffness, 1.0, np.zeros((201, 3)), target, np.eye(3), True
    )
    found = solve_least_squares(problem, exact.quaternions, exact.reaction)
    assert found.missed < 1e-5
    np.testing.assert_allclose(found.quaternions[-1][1:], 0.0, atol=1e-4)


def test_coupled_limits_are_kept(robot):
    target = robot.forward(np.linspace(0.09, 0.11, 30)).tip[:3, 3]
    free = robot.inverse(target)
    assert free.status.code is Code.NONE
    weights = np.zeros(30)
    weights[np.argsort(free.actuation)[-2:]] = 1.0
    cap = CoupledLimit('cap', weights, float(weights @ free.actuation) - 1e-3)
    bound = Robot(replace(robot.description, coupled_limits=(cap,)), 'kirchhoff')
    kept = bound.inverse(target)
    assert kept.status.code is Code.NONE
    assert bound.violations(kept.actuation) == ()
    np.testing.assert_allclose(kept.configuration.tip[:3, 3], target, atol=1e-6)


@pytest.mark.parametrize('target', [[0.0, 0.0, 1.2], [1.2, 0.0, 0.2]])
def test_beyond_its_length_the_robot_keeps_its_limits(robot, target):
    s = robot.inverse(target)
    assert s.status.code is Code.UNREACHABLE
    assert robot.feasible(s.actuation)
    assert s.configuration.status.code is Code.NONE
    assert s.position_error < np.linalg.norm(target) - 0.9


def test_a_guess_of_another_mesh_is_no_start(robot):
    structure = dict(robot.description.structure)
    structure['kirchhoff'] = replace(structure['kirchhoff'], elements=400)
    fine = Robot(replace(robot.description, structure=structure), 'kirchhoff')
    lengths = np.linspace(0.095, 0.105, 30)
    q = fine.forward(lengths, guess=robot.forward(lengths))
    np.testing.assert_array_equal(q.tip, fine.forward(lengths).tip)
