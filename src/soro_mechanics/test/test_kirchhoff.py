# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven backbone: published inverse, forward from lengths, independent rods."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_bvp
from scipy.optimize import minimize
from soro_mechanics.kirchhoff import Kirchhoff
from soro_mechanics.kirchhoff_compliance import full_system, station_port
from soro_mechanics.kirchhoff_least_squares import (
    LeastSquaresProblem,
    solve_least_squares,
)
from soro_mechanics.kirchhoff_muscle_kernels import bends_of, muscle_lengths
from soro_mechanics.kirchhoff_reach_kernels import make_rod_work
from soro_mechanics.kirchhoff_rod_kernels import (
    module_vectors,
    rod_system,
    rotation_of,
    turn_quaternion,
)
import yaml

from soro_mechanics import (
    Code,
    InvalidInput,
    Load,
    load_robot,
    LoadAxes,
    Robot,
    RobotFileError,
    Stability,
    Task,
)

WRENCH = np.array([0.2, -0.3, 0.1, 0.02, 0.01, 0.03])
CALM = np.zeros(3)


@pytest.fixture(scope='module')
def robot():
    return load_robot('pam_continuum')


@pytest.fixture(scope='module')
def model(robot):
    return Kirchhoff(robot.description)


def _pose(point):
    pose = np.eye(4)
    pose[:3, 3] = point
    return pose


def _with(robot, **changes):
    structure = {'kirchhoff': replace(robot.description.structure['kirchhoff'], **changes)}
    return Robot(replace(robot.description, structure=structure))


def _twist(plus, minus, step):
    rate = (plus - minus) / (2.0 * step)
    spin = rate[:3, :3] @ (0.5 * (plus + minus))[:3, :3].T
    return np.array([*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])


# ---- the published inverse: least energy through a point ---------------------------------------


@pytest.mark.parametrize(
    ('load', 'along', 'side'),
    [(1.0, 0.9435668, 0.3017208), (3.0, 0.7455798, 0.6032534), (10.0, 0.4450044, 0.8106090)],
)
def test_reaction_of_the_elastica(model, load, along, side):
    """The rod through the end of a loaded cantilever needs exactly that load."""
    found = model.reach(_pose([side, 0.0, along]), Task.POSITION, np.zeros(6), (), CALM)
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
        return np.vstack([
            tangent,
            0.5 * (-spin[0] * x - spin[1] * yy - spin[2] * z),
            0.5 * (spin[0] * w + spin[2] * yy - spin[1] * z),
            0.5 * (spin[1] * w + spin[0] * z - spin[2] * x),
            0.5 * (spin[2] * w + spin[1] * x - spin[0] * yy),
            turn,
        ])  # fmt: skip

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
        model = Kirchhoff(_with(robot, elements=elements, stations_per_module=1).description)
        found = model.reach(_pose(target), Task.POSITION, wrench, (), robot.gravity)
        arc = np.linspace(0.0, 1.0, elements + 1)
        if truth is None:
            points = np.empty((elements + 1, 3))
            from soro_mechanics.kirchhoff_rod_kernels import positions

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
    found = model.reach(_pose([0.3, 0.1, 0.8]), Task.POSITION, np.zeros(6), (), robot.gravity)
    dead, _ = model._loads(np.zeros(6), (), robot.gravity)
    count = len(found.quaternions)
    gradient, diagonal, coupling, lever, _, _ = make_rod_work(count)
    rod_system(
        found.quaternions,
        model.backbone.stiffness,
        model.rod.element,
        dead,
        found.reaction.reshape(1, 3),
        gradient,
        diagonal,
        coupling,
        lever,
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
    pushed = model.reach(_pose([0.02, 0.0, 0.4]), Task.POSITION, np.zeros(6), (), CALM)
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


# ---- forward from lengths ----------------------------------------------------------------------


def test_straight_robot(robot):
    q = robot.forward(np.full(30, 0.1))
    np.testing.assert_allclose(q.tip, _pose([0.0, 0.0, 1.0]), atol=1e-12)
    assert q.status.stability is Stability.STABLE
    assert len(q.bodies) == 11
    assert q.backbones[0].shape == (41, 4, 4)


def test_equal_bends_without_weight_make_an_arc(robot):
    light = _with(robot, mass=0.0)
    model = Kirchhoff(light.description)
    theta = 1.3
    angle = np.linspace(0.0, theta, 201)
    q = np.column_stack([np.cos(angle / 2), np.zeros(201), np.sin(angle / 2), np.zeros(201)])
    lengths = model.lengths_of(q)
    per = theta / 10
    for t in range(10):
        # chord between arc ends and disks turned against each other: planar geometry
        beta = np.radians(120.0 * np.arange(3) + 60.0 * ((t + 1) % 2))
        want = 2 * (0.1 / per - 0.012 * np.cos(beta)) * np.sin(per / 2)
        across = 0.012 * np.sin(beta)
        np.testing.assert_allclose(lengths[t], want, atol=1e-9, err_msg=str(across))
    shape = light.forward(lengths.reshape(-1))
    want = [(1 - np.cos(theta)) / theta, 0.0, np.sin(theta) / theta]
    np.testing.assert_allclose(shape.tip[:3, 3], want, atol=1e-8)


def test_forward_is_the_constrained_minimum_of_the_energy(robot):
    """A small robot against a general optimiser that knows only energy and muscle lengths."""
    actuators = robot.description.actuators[:6]
    small = Robot(replace(_with(
        robot, modules=2, elements=8, length=0.4, mass=0.2, stations_per_module=1,
        muscle_radius=0.03,
    ).description, actuators=actuators))  # fmt: skip
    model = Kirchhoff(small.description)
    lengths = np.array([0.21, 0.195, 0.2, 0.205, 0.198, 0.196])
    wrench = np.array([0.1, -0.2, 0.3, 0.0, 0.0, 0.0])
    got = small.forward(lengths, wrench)
    wanted = np.array([bends_of(row, t) for t, row in enumerate(lengths.reshape(2, 3))])
    dead, _ = model._loads(wrench, (), small.gravity)
    h, stiffness = model.rod.element, model.backbone.stiffness

    def shape(x):
        q = np.zeros((9, 4))
        q[:, 0] = 1.0
        for node, turn in zip(q[1:], x.reshape(8, 3), strict=True):
            turn_quaternion(node, *turn)
        return q

    def energy(x):
        q = shape(x)
        rotation = np.empty((3, 3))
        total = 0.0
        for a, b in zip(q[:-1], q[1:], strict=True):
            v = a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:])
            total += 2.0 / h * float(v @ (stiffness * v))
        for node, load in zip(q, dead, strict=True):
            rotation_of(node, rotation)
            total -= load @ rotation[:, 2]
        return total

    def bends(x):
        q = shape(x)
        rho, out = np.empty((2, 3)), np.empty(3)
        module_vectors(q, h, 2, rho)
        found = []
        for t in range(2):
            start, end = np.empty((3, 3)), np.empty((3, 3))
            rotation_of(q[4 * t], start)
            rotation_of(q[4 * t + 4], end)
            muscle_lengths(rho[t], start, end, t, 0.03, out)
            found += bends_of(out, t)
        return (np.array(found) - wanted.reshape(-1)) * 100.0

    best = minimize(
        energy, np.zeros(24), constraints={'type': 'eq', 'fun': bends}, method='SLSQP',
        options={'ftol': 1e-14, 'maxiter': 500},
    )  # fmt: skip
    assert best.success
    rho = np.empty((1, 3))
    module_vectors(shape(best.x), h, 1, rho)
    np.testing.assert_allclose(got.tip[:3, 3], rho[0], atol=2e-5)


def test_a_common_change_of_a_module_moves_nothing_and_is_reported(robot):
    s = robot.inverse([0.2, 0.1, 0.9])
    lengths = s.actuation.copy()
    lengths[3:6] += 2e-3
    q = robot.forward(lengths, guess=s)
    np.testing.assert_allclose(q.tip, s.configuration.tip, atol=1e-8)
    assert '2.0 mm' in q.status.message
    assert s.configuration.status.message == ''


@pytest.mark.parametrize('load', [0.0, 0.2, 0.5])
@pytest.mark.parametrize('name', ['circle', 'square', 'cardioid'])
def test_published_trajectories(robot, name, load):
    turn = np.linspace(0.0, 2 * np.pi, 20, endpoint=False)
    if name == 'circle':
        points = np.column_stack([0.2 * np.cos(turn), 0.2 * np.sin(turn), 0.85 + 0 * turn])
    elif name == 'square':
        corner = np.maximum(np.abs(np.cos(turn)), np.abs(np.sin(turn)))
        points = np.column_stack(
            [0.15 * np.cos(turn) / corner, 0.15 * np.sin(turn) / corner, 0.88 + 0 * turn]
        )
    else:
        reach = 0.12 * (1.0 - np.sin(turn))
        points = np.column_stack([reach * np.cos(turn), reach * np.sin(turn), 0.88 + 0 * turn])
    wrench = [0.0, 0.0, load, 0.0, 0.0, 0.0]
    near = None
    for point in points:
        near = robot.inverse(point, wrench, guess=near)
        assert near.status.code is Code.NONE
        assert near.position_error < 1e-6
        again = robot.forward(near.actuation, wrench)
        assert np.linalg.norm(again.tip[:3, 3] - point) < 1e-6


def test_jacobian_and_compliance_match_differences(robot):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    q = robot.forward(lengths, WRENCH)
    assert q.status.code is Code.NONE
    jacobian = robot.jacobian(q)
    for j in (0, 1, 2, 13, 29):
        shift = 1e-6 * np.eye(30)[j]
        plus = robot.forward(lengths + shift, WRENCH, guess=q)
        minus = robot.forward(lengths - shift, WRENCH, guess=q)
        np.testing.assert_allclose(
            _twist(plus.tip, minus.tip, 1e-6), jacobian[:, j], atol=1e-6 * np.abs(jacobian).max()
        )
    compliance = robot.compliance(q)
    for j in range(6):
        shift = 1e-4 * np.eye(6)[j]
        plus = robot.forward(lengths, WRENCH + shift, guess=q)
        minus = robot.forward(lengths, WRENCH - shift, guess=q)
        np.testing.assert_allclose(
            _twist(plus.tip, minus.tip, 1e-4), compliance[:, j],
            atol=1e-6 * np.abs(compliance).max(),
        )  # fmt: skip


def test_compliance_symmetry_and_the_asymmetry_of_a_dead_moment(robot):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    free = robot.compliance(robot.forward(lengths, [0.2, -0.3, 0.1, 0, 0, 0]))
    assert np.abs(free - free.T).max() < 1e-9 * np.abs(free).max()
    stiffness = np.linalg.inv(robot.compliance(robot.forward(lengths, WRENCH)))
    m = WRENCH[3:]
    want = np.zeros((6, 6))
    want[3:, 3:] = -np.array([[0, -m[2], m[1]], [m[2], 0, -m[0]], [-m[1], m[0], 0]])
    np.testing.assert_allclose(stiffness - stiffness.T, want, atol=1e-6 * np.abs(stiffness).max())


def test_compliance_along_the_backbone(robot, model):
    lengths = robot.inverse([0.3, 0.1, 0.8]).actuation
    q = robot.forward(lengths, WRENCH)
    along = robot.compliance_along(q)[0]
    assert along.shape == (41, 6, 6)
    assert np.abs(along[0]).max() == 0.0
    np.testing.assert_allclose(along[-1], robot.compliance(q), rtol=1e-8, atol=1e-10)
    for station in (12, 22):
        arc = q.arc_lengths[0][station]
        for j in range(3):
            force = 1e-4 * np.eye(6)[j]
            plus = robot.forward(lengths, WRENCH, q, [Load(force, 'backbone', arc)])
            minus = robot.forward(lengths, WRENCH, q, [Load(-force, 'backbone', arc)])
            twist = _twist(plus.backbones[0][station], minus.backbones[0][station], 1e-4)
            np.testing.assert_allclose(
                twist, along[station][:, j], atol=1e-5 * np.abs(along[station]).max()
            )
    state = q.state
    shape = (state.q, state.force, state.bend)
    full = full_system(shape, model.rod.rod_data, state.dead, state.moment)
    turns = np.array([g[:3, :3] for g in q.backbones[0]])
    assert full.shape == (680, 680)
    assert station_port(0, turns, 0.005, 10).any() == np.False_


# ---- the rest of the contract ------------------------------------------------------------------


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


def test_a_lifted_robot_is_called_unstable(robot):
    """Bent up to the height of its base the robot twists down: muscles do not hold torsion."""
    lifted = robot.inverse([0.53, 0.0, 0.025])
    assert lifted.status.code is Code.UNSTABLE
    assert lifted.configuration.status.stability is Stability.UNSTABLE


def test_published_moduli_make_a_chain(robot):
    printed = load_robot('pam_continuum', model='kirchhoff_published')
    model = printed._model
    bending = model.backbone.stiffness[0]
    assert bending == pytest.approx(1.19e-5, rel=0.01)
    assert (bending / 4.0) ** (1 / 3) == pytest.approx(0.0144, abs=1e-4)
    default = robot.description.structure['kirchhoff'].stiffness[0]
    assert (default / 4.0) ** (1 / 3) == pytest.approx(0.310, abs=1e-3)
    found = model.reach(_pose([0.3, 0.0, 0.8]), Task.POSITION, np.zeros(6), (), printed.gravity)
    assert found.status.code is Code.NONE


def test_least_squares_with_reaction_finds_the_same_rod(model, robot):
    target = np.array([0.3, 0.05, 0.85])
    wrench = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0])
    exact = model.reach(_pose(target), Task.POSITION, wrench, (), robot.gravity)
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
    exact = model.reach(_pose(target), Task.POSE, np.zeros(6), (), CALM)
    problem = LeastSquaresProblem(
        model.backbone.stiffness, 1.0, np.zeros((201, 3)), target, np.eye(3), True
    )
    found = solve_least_squares(problem, exact.quaternions, exact.reaction)
    assert found.missed < 1e-5
    np.testing.assert_allclose(found.quaternions[-1][1:], 0.0, atol=1e-4)


def test_loads_that_do_not_exist_are_refused(robot):
    lengths = np.full(30, 0.1)
    with pytest.raises(InvalidInput):
        robot.forward(lengths, loads=[Load(np.ones(6), 'leg_1')])
    with pytest.raises(InvalidInput):
        robot.forward(lengths, loads=[Load(np.array([1.0, 0, 0, 0, 0, 0]), 'backbone', 2.0)])
    for load in (
        Load(np.ones(6), 'backbone', 0.5), Load(np.ones(6), '', 0.0, LoadAxes.LOCAL)
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as caught:
            robot.forward(lengths, loads=[load])
        assert caught.value.code is Code.UNSUPPORTED
    with pytest.raises(InvalidInput):
        robot.compliance(robot.forward(lengths), method='integral')


@pytest.mark.parametrize(
    ('change', 'place'),
    [
        ({'modules': 9}, 'actuators'),
        ({'elements': 201}, 'elements'),
        ({'stations_per_module': 3}, 'stations_per_module'),
        ({'material': 'steel'}, 'material'),
        ({'length': '1000'}, 'length'),
    ],
)
def test_wrong_sections_are_refused(tmp_path, robot, change, place):
    with open(robot.description.file, encoding='utf-8') as stream:
        data = yaml.safe_load(stream)
    data['models'] = ['kirchhoff']
    data['kirchhoff'].update(change)
    file = tmp_path / 'bad_pam_continuum.yaml'
    file.write_text(yaml.safe_dump(data), encoding='utf-8')
    with pytest.raises(RobotFileError) as caught:
        load_robot(str(file))
    assert caught.value.path.endswith(place)
