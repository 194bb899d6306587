# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The constant-curvature arm: published equations, straight pose, round trip, loads."""

from dataclasses import replace

from changed_robots import REMOVED, with_changes
import numpy as np
import pytest
from scipy.linalg import expm

from soro_mechanics import Code, InvalidInput, Load, load_robot, Robot, RobotFileError, Stability
from soro_mechanics.analysis.workspace import sample_workspace
from soro_mechanics.core.configuration import LoadAxes, Task
from soro_mechanics.models.constant_curvature import kernels
from soro_mechanics.models.constant_curvature.model import ConstantCurvature
from soro_mechanics.robot_file.reader import describe_robot
from soro_studies.mechanics import constant_curvature_published as published
from soro_studies.mechanics.constant_curvature_workspace import (
    length_workspace,
    lengths_through,
    poses_of,
)

ANGLES = [(0.3, 0.7, 0.4), (-2.0, 2.9, 0.05), (1.2, 1e-3, 90.0), (3.0, -0.8, 0.2)]


@pytest.fixture(scope='module')
def robot():
    return load_robot('spatial_cc')


def _arc(robot):
    return ConstantCurvature(robot.description)


def _twist(before, after, step):
    """Return the base-axes twist of the tip between two near poses, linear first."""
    rate = (after - before) / (2.0 * step)
    spin = rate[:3, :3] @ (0.5 * (before + after))[:3, :3].T
    return np.array([*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]])


@pytest.mark.parametrize(('phi', 'theta', 'radius'), ANGLES)
def test_published_pose_is_the_arc_turned_about_its_tangent(phi, theta, radius):
    x = np.array([theta * np.cos(phi), theta * np.sin(phi), radius * theta])
    pose = np.empty((4, 4))
    kernels.arc_pose(*x, pose)
    back = np.eye(4)
    back[:2, :2] = [[np.cos(phi), np.sin(phi)], [-np.sin(phi), np.cos(phi)]]
    np.testing.assert_allclose(
        pose, published.pose(phi, theta, radius) @ back, rtol=1e-10, atol=1e-12
    )


@pytest.mark.parametrize('theta', [0.0, 1e-9, 1e-3, 0.5, 0.999999, 1.000001, 2.5])
def test_arc_is_the_exponential_of_its_constant_twist(theta):
    phi, s = 0.8, 0.17
    u, v = theta * np.cos(phi), theta * np.sin(phi)
    twist = np.array([[0, 0, u, 0], [0, 0, v, 0], [-u, -v, 0, s], [0, 0, 0, 0.0]])
    pose = np.empty((4, 4))
    kernels.arc_pose(u, v, s, pose)
    np.testing.assert_allclose(pose, expm(twist), atol=2e-15)


def test_pose_is_continuous_through_the_straight_arm():
    straight, near = np.empty((4, 4)), np.empty((4, 4))
    kernels.arc_pose(0.0, 0.0, 0.2, straight)
    np.testing.assert_array_equal(straight[:3, :3], np.eye(3))
    for phi in np.linspace(0.0, 6.0, 7):
        kernels.arc_pose(1e-9 * np.cos(phi), 1e-9 * np.sin(phi), 0.2, near)
        assert np.abs(near - straight).max() <= 1.0000001e-9
    # the published form is not: its rotation keeps phi at zero bend
    assert np.abs(published.pose(2.0, 0.0, 0.0)[:3, :3] - np.eye(3)).max() > 1.0


@pytest.mark.parametrize(('phi', 'theta', 'radius'), ANGLES)
def test_both_published_jacobians_agree_and_match_differences(phi, theta, radius):
    direct = published.velocity_jacobian(phi, theta, radius)
    travel = radius * np.tan(theta / 2)
    serial = published.serial_jacobian(phi, theta, travel)
    chained = serial @ published.travel_chain_rule(theta, radius)
    np.testing.assert_allclose(chained, direct, rtol=1e-12, atol=1e-13 * max(1.0, radius))
    step = 1e-6
    for j in range(3):
        shift = np.eye(3)[j] * step
        plus = published.pose(*(np.array([phi, theta, radius]) + shift))
        minus = published.pose(*(np.array([phi, theta, radius]) - shift))
        np.testing.assert_allclose(
            _twist(minus, plus, step), direct[:, j], rtol=1e-6, atol=1e-8 * max(1.0, radius)
        )


@pytest.mark.parametrize(('phi', 'theta', 'radius'), ANGLES)
def test_the_serial_chain_ends_where_the_arc_does(phi, theta, radius):
    frames = published.serial_chain(phi, theta, radius * np.tan(theta / 2))
    scale = max(1.0, radius)
    np.testing.assert_allclose(
        frames[-1], published.pose(phi, theta, radius), rtol=1e-12, atol=1e-13 * scale
    )
    # the tangents at both ends meet in the middle joint, at right angles to the bending axis
    middle = frames[2, :3, 3]
    assert np.linalg.norm(frames[4, :3, 3] - middle) == pytest.approx(np.linalg.norm(middle))
    assert abs(frames[2, :3, 2] @ frames[1, :3, 2]) < 1e-15
    assert abs(frames[2, :3, 2] @ frames[3, :3, 2]) < 1e-15


@pytest.mark.parametrize(('phi', 'theta', 'radius'), ANGLES)
def test_regular_jacobian_equals_the_published_one(phi, theta, radius):
    x = np.array([theta * np.cos(phi), theta * np.sin(phi), radius * theta])
    ours = kernels.arc_jacobian(x)
    chain = np.array(
        [
            [-theta * np.sin(phi), np.cos(phi), 0.0],
            [theta * np.cos(phi), np.sin(phi), 0.0],
            [0.0, radius, theta],
        ]
    )
    want = published.velocity_jacobian(phi, theta, radius)
    # the robot's tip is T Rz(-phi): it does not spin with phi about its own tangent
    want[3:, 0] -= published.pose(phi, theta, radius)[:3, 2]
    np.testing.assert_allclose(ours @ chain, want, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize('theta', [0.0, 1e-9, 1e-4, 0.9999, 1.0001, 3.0])
def test_jacobian_matches_differences_at_and_near_straight(theta):
    x = np.array([0.6 * theta, -0.8 * theta, 0.18])
    jacobian = kernels.arc_jacobian(x)
    plus, minus = np.empty((4, 4)), np.empty((4, 4))
    for j, step in enumerate([1e-6, 1e-6, 1e-6]):
        shift = np.eye(3)[j] * step
        kernels.arc_pose(*(x + shift), plus)
        kernels.arc_pose(*(x - shift), minus)
        np.testing.assert_allclose(_twist(minus, plus, step), jacobian[:, j], atol=2e-9)


def test_lengths_are_those_of_arcs_beside_the_backbone(robot):
    model = _arc(robot)
    x = np.array([0.5, -0.9, 0.19])
    phi, theta = np.arctan2(x[1], x[0]), np.hypot(x[0], x[1])
    want = [
        (x[2] / theta - 0.038 * np.cos(phi - np.radians(angle))) * theta
        for angle in (90, 210, 330)
    ]
    np.testing.assert_allclose(model.to_lengths @ x, want, rtol=1e-14)


def test_table_1_positions_are_reached_with_one_actuator_at_rest(robot):
    model = _arc(robot)
    for y, z, s, theta in [
        (23.2, 179.4, 181.4, 14.74),
        (37.2, 182.2, 187.2, 23.08),
        (53.9, 183.0, 193.4, 32.82),
    ]:
        x = np.array(kernels.arc_through(0.0, y * 1e-3, z * 1e-3))
        assert x[1] == pytest.approx(np.radians(theta), abs=np.radians(0.005))
        assert x[2] == pytest.approx(s * 1e-3, abs=0.06e-3)
        lengths = model.to_lengths @ x
        assert lengths[0] == pytest.approx(171.6e-3, abs=0.35e-3)  # 0.1 mm of rounding in y
        assert lengths[1] == pytest.approx(lengths[2], abs=1e-12)
        pose = np.empty((4, 4))
        kernels.arc_pose(*x, pose)
        np.testing.assert_allclose(pose[:3, 3], [0.0, y * 1e-3, z * 1e-3], atol=1e-15)


def test_round_trip_of_lengths_in_a_batch(robot):
    model = _arc(robot)
    generator = np.random.default_rng(7)
    lengths = 0.1716 + generator.uniform(-0.05, 0.05, (2000, 3))
    lengths[0] = 0.1716
    lengths[1] = 0.1716 + np.array([1e-12, 0.0, -1e-12])
    back = lengths_through(model, poses_of(model, lengths)[:, :3, 3])
    assert np.abs(back - lengths).max() < 1e-12


def test_round_trip_through_the_robot(robot):
    for pressures in ([0, 0, 0], [1e5, 0, 0], [0, 6e4, 8e4], [1e5, 1e5, 1e5], [1, 0, 0]):
        q = robot.forward(pressures)
        s = robot.inverse(q.tip)
        assert s.status.code is Code.NONE
        assert s.position_error < 1e-12
        np.testing.assert_allclose(s.actuation, pressures, atol=1e-5)


def test_pressure_map_inverts_and_has_its_slope(robot):
    model = _arc(robot)
    table, pressure = model.arm.pressure_map, np.linspace(-2e4, 1.2e5, 15)
    for three in pressure.reshape(-1, 3):
        back = kernels.actuation(model.free_lengths(three), model._table)
        np.testing.assert_allclose(back, three, atol=1e-8)
    step = 10.0
    rise = table.elongation(pressure + step) - table.elongation(pressure - step)
    np.testing.assert_allclose(table.slope(pressure), rise / (2 * step), rtol=1e-8)


def _differences(robot, q, **keywords):
    out = np.empty((6, 3))
    step = 2.0
    for j in range(3):
        shift = np.eye(3)[j] * step
        plus = robot.forward(q.actuation + shift, **keywords)
        minus = robot.forward(q.actuation - shift, **keywords)
        out[:, j] = _twist(minus.tip, plus.tip, step)
    return out


@pytest.mark.parametrize('wrench', [None, [0.4, -0.3, 1.0, 0.02, 0.01, 0.03]])
def test_jacobian_of_the_robot_matches_differences(robot, wrench):
    for pressures in ([0.0, 0.0, 0.0], [8e4, 0.0, 3e4]):
        q = robot.forward(pressures, wrench)
        got = robot.jacobian(q)
        want = _differences(robot, q, wrench=wrench)
        assert np.abs(got - want).max() < 2e-6 * np.abs(want).max()


def test_compliance_is_the_derivative_of_the_loaded_forward(robot):
    wrench = np.array([0.5, -0.2, 0.8, 0.01, 0.03, -0.02])
    q = robot.forward([7e4, 1e4, 0.0], wrench)
    compliance = robot.compliance(q)
    step = 1e-4
    for j in range(6):
        shift = np.eye(6)[j] * step
        plus = robot.forward(q.actuation, wrench + shift, guess=q)
        minus = robot.forward(q.actuation, wrench - shift, guess=q)
        np.testing.assert_allclose(
            _twist(minus.tip, plus.tip, step),
            compliance[:, j],
            atol=1e-6 * np.abs(compliance).max(),
        )
    integral = robot.compliance(q, method='integral')
    assert np.abs(integral - integral.T).max() < 1e-15
    assert np.abs(integral - compliance).max() > 1e-4 * np.abs(compliance).max()


def test_unloaded_compliance_is_symmetric_and_of_rank_three(robot):
    q = robot.forward([5e4, 0.0, 2e4])
    compliance = robot.compliance(q)
    values = np.linalg.eigvalsh(compliance)
    assert np.abs(compliance - compliance.T).max() < 1e-12 * values[-1]
    assert values[3] > 1e-5 * values[-1]
    assert np.abs(values[:3]).max() < 1e-12 * values[-1]
    assert q.status.stability is Stability.STABLE


def test_weight_is_the_gradient_of_its_energy():
    weight = np.array([0.3, -0.2, -2.0])

    def energy(x):
        middle = 0.0
        nodes, weights = np.polynomial.legendre.leggauss(12)
        for node, share in zip(nodes, weights, strict=True):
            pose = np.empty((4, 4))
            kernels.arc_pose(*(0.5 * (node + 1.0) * x), pose)
            middle += 0.5 * share * (weight @ pose[:3, 3])
        return middle

    for x in (np.array([0.0, 0.0, 0.2]), np.array([0.4, -1.4, 0.21]), np.array([1e-9, 0, 0.2])):
        force = kernels.weight_force(x, weight)
        for j in range(3):
            shift = np.eye(3)[j] * 1e-5
            slope = (energy(x + shift) - energy(x - shift)) / 2e-5
            assert force[j] == pytest.approx(slope, abs=1e-9)


def test_local_load_turns_with_the_arm(robot):
    follower = Load(np.array([0.5, 0.0, 0.0, 0, 0, 0]), 'backbone', 0.1716, LoadAxes.LOCAL)
    q = robot.forward([9e4, 0.0, 0.0], loads=[follower])
    dead = robot.forward([9e4, 0.0, 0.0], [*(q.tip[:3, :3] @ [0.5, 0, 0]), 0, 0, 0])
    np.testing.assert_allclose(q.tip, dead.tip, atol=1e-12)


def test_loaded_inverse_meets_the_target(robot):
    wrench = [0.2, 0.1, -0.5, 0, 0, 0]
    q = robot.forward([6e4, 4e4, 5e4], wrench)
    s = robot.inverse(q.tip[:3, 3], wrench)
    assert s.status.code is Code.NONE
    np.testing.assert_allclose(s.actuation, q.actuation, rtol=1e-9)


def test_pose_whose_turn_does_not_fit_is_not_called_reached(robot):
    q = robot.forward([6e4, 0.0, 0.0])
    target = q.tip.copy()
    target[:3, :3] = target[:3, :3] @ np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])
    assert robot.inverse(target, task=Task.POSITION_AND_AXIS).status.code is Code.NONE
    assert robot.inverse(target).status.code is not Code.NONE


def test_without_stiffness_loads_and_compliance_are_refused(robot):
    description = robot.description
    arm = replace(description.structure['constant_curvature'], axial_stiffness=None)
    rigid = Robot(replace(description, structure={'constant_curvature': arm}))
    q = rigid.forward([5e4, 0, 0])
    assert q.status.code is Code.NONE
    with pytest.raises(InvalidInput) as caught:
        rigid.forward([5e4, 0, 0], [1.0, 0, 0, 0, 0, 0])
    assert caught.value.code is Code.UNSUPPORTED
    with pytest.raises(InvalidInput):
        rigid.compliance(q)


def test_workspace_of_the_paper():
    angles = np.radians([90.0, 210.0, 330.0])
    study = length_workspace(0.2, 0.038, angles, 0.05, 20000)
    assert study.points.shape == (20008, 3)
    assert np.all((study.lengths[:-8] > 0.1) & (study.lengths[:-8] < 0.3))
    assert len(np.unique(study.lengths[-8:], axis=0)) == 8
    np.testing.assert_allclose(np.ptp(study.lengths[-8:], axis=0), 0.2)
    reached = study.points[study.feasible]
    # the straight extremes bound the height, and three-fold symmetry holds
    assert reached[:, 2].max() == pytest.approx(0.3, abs=1e-12)
    turned = study.lengths[:, [2, 0, 1]]
    again = poses_of(_arc(load_robot('spatial_cc')), turned)[:, :3, 3]
    np.testing.assert_allclose(again[:, 2], study.points[:, 2], atol=1e-12)
    assert 0 < np.count_nonzero(study.struck) < 20000
    bends = np.hypot(
        *(
            np.linalg.inv(
                np.column_stack([-0.038 * np.cos(angles), -0.038 * np.sin(angles), np.ones(3)])
            )
            @ study.lengths.T
        )[:2]
    )
    assert bends[study.feasible].max() < np.pi
    with pytest.raises(InvalidInput):
        length_workspace(0.2, 0.038, angles, 0.05, 0)


@pytest.fixture(scope='module')
def by_length(robot):
    """Return an arm of the paper's workspace study, lengths in (100, 300) mm, but thicker."""
    description = robot.description
    arm = replace(
        description.structure['constant_curvature'],
        rest_length=0.2,
        shortest=0.1,
        longest=0.3,
        pressure_map=None,
        radius=0.06,
    )
    actuators = tuple(
        replace(a, quantity='length', minimum=0.1, maximum=0.3, rest=0.2)
        for a in description.actuators
    )
    structure = {'constant_curvature': arm}
    return Robot(replace(description, structure=structure, actuators=actuators))


@pytest.mark.parametrize(
    ('lengths', 'why'),
    [
        ([0.299, 0.101, 0.101], 'bent by 199 deg'),
        ([0.101, 0.299, 0.299], 'half a turn'),
        ([0.101, 0.101, 0.260], 'radius of curvature, 55.2 mm'),
    ],
)
def test_an_arm_that_geometry_excludes_is_out_of_range(by_length, lengths, why):
    q = by_length.forward(lengths)
    assert q.status.code is Code.OUT_OF_RANGE and why in q.status.message
    assert np.all(np.isfinite(q.tip))
    s = by_length.inverse(q.tip[:3, 3])
    assert s.status.code is Code.OUT_OF_RANGE and why in s.status.message
    found = sample_workspace(by_length, [lengths, [0.2, 0.2, 0.2]])
    assert list(found.codes) == [int(Code.OUT_OF_RANGE), int(Code.NONE)]
    np.testing.assert_array_equal(found.solved, [False, True])


def test_forward_and_the_study_of_the_workspace_exclude_the_same_arms(by_length):
    arm = by_length.description.structure['constant_curvature']
    study = length_workspace(0.2, arm.offset, arm.angles, arm.radius, 2000, seed=5)
    inside = slice(0, 2000)  # the corners are no actuator's length: the cube is open
    codes = sample_workspace(by_length, study.lengths[inside]).codes
    np.testing.assert_array_equal(codes == int(Code.NONE), study.feasible[inside])
    assert 0 < np.count_nonzero(codes) < 2000
    assert 0 < np.count_nonzero(study.folded[inside] & ~study.struck[inside])


@pytest.mark.parametrize(
    ('change', 'place'),
    [
        ({'chambers[1].angle': '90 deg'}, 'chambers'),
        ({'longest_length': '100 mm'}, 'longest_length'),
        ({'lenght': '1 mm'}, 'lenght'),
        ({'axial_stiffness': REMOVED}, 'linear_density'),
        ({'elongation': REMOVED}, 'elongation'),
    ],
)
def test_wrong_arcs_are_refused(change, place):
    changes = {f'body.segments[0].{key}': value for key, value in change.items()}
    heavy = {'models': {'constant_curvature': {}}, 'body.tip': REMOVED}
    with pytest.raises(RobotFileError) as caught:
        describe_robot(with_changes('spatial_cc', {**heavy, **changes}), 'bad.yaml')
    assert caught.value.path == f'body.segments[0].{place}'
