# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Robots from files: derivatives against re-solving, published numbers, inverse, statuses."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
import pickle

import numpy as np
import pytest

from soro_mechanics import Code, InvalidInput, Load, load_robot, Stability, Task
from soro_mechanics.numerics import lie
from soro_mechanics.robot import Robot

EXAMPLES = Path(__file__).parents[3] / 'config' / 'robots' / 'examples'
ROBOTS = {
    'planar_chain': ([-0.3, 0.5], EXAMPLES / 'planar_chain.yaml'),
    'crank_platform': (np.linspace(-0.3, 0.5, 6), EXAMPLES / 'crank_platform.yaml'),
    'tendon_arm': ([6.0, 1.0, 0.0, 3.0, 0.5, 0.0], EXAMPLES / 'tendon_arm.yaml'),
    'stewart_gough': ([0.41, 0.42, 0.41, 0.43, 0.41, 0.42], 'stewart_gough'),
}
WRENCH = np.array([0.1, 0.05, -0.2, 0.002, 0.0, 0.001])


@pytest.fixture(scope='module', params=list(ROBOTS))
def solved(request):
    actuation, file = ROBOTS[request.param]
    robot = load_robot(file)
    q = robot.forward(actuation, WRENCH)
    assert q.status.code is Code.NONE
    assert q.status.stability is Stability.STABLE
    return robot, q


@pytest.fixture(scope='module')
def stewart():
    return load_robot('stewart_gough')


def twist_between(ahead, behind, step):
    turn = lie.so3_log(ahead[:3, :3] @ behind[:3, :3].T)
    return np.concatenate([(ahead - behind)[:3, 3], turn]) / (2.0 * step)


def level(position):
    pose = np.eye(4)
    pose[:3, 3] = position
    return pose


def test_jacobian_against_forward(solved):
    robot, q = solved
    jacobian = robot.jacobian(q)
    for i in range(len(q.actuation)):
        step = 1e-5 * np.eye(len(q.actuation))[i]
        ends = [robot.forward(q.actuation + s * step, WRENCH, guess=q).tip for s in (1, -1)]
        slope = twist_between(*ends, 1e-5)
        np.testing.assert_allclose(jacobian[:, i], slope, atol=1e-4 * np.abs(jacobian).max())


def test_compliance_against_forward(solved):
    robot, q = solved
    compliance = robot.compliance(q)
    for i in range(6):
        size = 1e-4
        step = size * np.eye(6)[i]
        ends = [robot.forward(q.actuation, WRENCH + s * step, guess=q).tip for s in (1, -1)]
        slope = twist_between(*ends, size)
        np.testing.assert_allclose(compliance[:, i], slope, atol=1e-5 * np.abs(compliance).max())


def test_dead_moment_makes_the_stated_asymmetry(solved):
    robot, q = solved
    stiffness = np.linalg.inv(robot.compliance(q))
    scale = np.abs(stiffness[3:, 3:]).max()
    skew = stiffness[3:, 3:] - stiffness[3:, 3:].T
    np.testing.assert_allclose(skew, -lie.hat3(WRENCH[3:]), atol=1e-5 * scale)
    free = robot.forward(q.actuation, [*WRENCH[:3], 0, 0, 0], guess=q)
    c = robot.compliance(free)
    np.testing.assert_allclose(c, c.T, atol=1e-5 * np.abs(c).max())
    assert np.linalg.eigvalsh(0.5 * (c + c.T))[0] > 0.0


def test_compliance_along_against_a_load_there(solved):
    robot, q = solved
    rod, station = min(1, len(q.backbones) - 1), 9
    name = q.backbone_names[rod]
    fraction = q.arc_lengths[rod][station] / q.arc_lengths[rod][-1]
    at = fraction * robot.model_object.spec.rods[rod].length
    found = robot.compliance_along(q)[rod][station]

    def pose(wrench):
        moved = robot.forward(q.actuation, WRENCH, loads=[Load(wrench, name, at)])
        assert moved.status.code is Code.NONE
        fractions = moved.arc_lengths[rod] / moved.arc_lengths[rod][-1]
        return moved.backbones[rod][np.argmin(np.abs(fractions - fraction))]

    for i in range(6):
        size = 1e-3 if i < 3 else 1e-4
        step = size * np.eye(6)[i]
        slope = twist_between(pose(step), pose(-step), size)
        np.testing.assert_allclose(found[:, i], slope, atol=2e-4 * np.abs(found).max())


@pytest.mark.parametrize('at', [0.0, 1e-12, 1e-10])
def test_a_load_at_the_beginning_of_a_rod_is_refused(stewart, at):
    """A rod carries no load at its first node; within rounding of it there is no other."""
    with pytest.raises(InvalidInput, match='put it on a body') as error:
        stewart.forward(np.full(6, 0.42), loads=[Load(WRENCH, 'rod_1', at)])
    assert error.value.field == 'loads.arc_length'


def test_threads_may_ask_one_configuration_at_the_same_time(stewart):
    q = stewart.forward(ROBOTS['stewart_gough'][0], WRENCH)
    alone = np.concatenate(stewart.compliance_along(q))
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: stewart.compliance_along(q), range(200)):
            np.testing.assert_array_equal(np.concatenate(found), alone)


def test_deflection_by_the_jacobian_is_right_to_second_order(solved):
    robot, q = solved
    compliance = robot.compliance(q)
    direction = np.array([1.0, 0.5, -0.5, 0.0, 0.0, 0.0])
    errors = []
    for size in (0.02, 0.01):
        moved = robot.forward(q.actuation, WRENCH + size * direction, guess=q).tip
        errors.append(np.abs((moved - q.tip)[:3, 3] - size * (compliance @ direction)[:3]).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


@pytest.mark.parametrize('name', ['planar_chain', 'crank_platform'])
def test_motor_torques_and_condensed_ports(name):
    actuation, file = ROBOTS[name]
    robot = load_robot(file)
    force = np.array([*WRENCH[:3], 0.0, 0.0, 0.0])
    q = robot.forward(actuation, force)
    ports = robot.model_object.ports(q)
    m = len(q.actuation)
    for i in range(m):
        step = 1e-5 * np.eye(m)[i]
        torques = [
            robot.model_object.ports(robot.forward(q.actuation + s * step, force, guess=q)).torque
            for s in (1, -1)
        ]
        slope = (torques[0] - torques[1]) / 2e-5
        scale = np.abs(ports.stiffness_aa).max()
        np.testing.assert_allclose(ports.stiffness_aa[:, i], slope, atol=1e-4 * scale)
    np.testing.assert_allclose(ports.jacobian, robot.jacobian(q), atol=1e-9)
    np.testing.assert_allclose(ports.compliance_held, robot.compliance(q), atol=1e-9)


@pytest.mark.parametrize(('height', 'ratio'), [(0.40, 72.9), (0.49, 110.0)])
def test_stewart_gough_compliance_ratio(stewart, height, ratio):
    s = stewart.inverse(level([0.0, 0.0, height]))
    assert s.status.code is Code.NONE
    c = stewart.compliance(s.configuration)
    assert c[0, 0] == pytest.approx(c[1, 1], rel=1e-6)
    assert c[0, 0] / c[2, 2] == pytest.approx(ratio, rel=5e-3)


def test_stewart_gough_path_there_and_back_is_the_converged_solution(stewart):
    """Against solves of single poses."""
    fine = load_robot('stewart_gough')
    network = fine.description.structure['network']
    fine = Robot(replace(fine.description, structure={'network': network}))
    steps = 1e-3 * np.array([*range(101), *range(99, -1, -1)])
    path = [level([0.0, 0.02 + k, 0.48 + k]) for k in steps]
    s, lengths = None, []
    for target in path:
        s = stewart.inverse(target, guess=s)
        assert s.status.code is Code.NONE
        assert s.status.stability is Stability.STABLE
        lengths.append(s.actuation)
    for k in (0, 40, 100):
        exact = fine.inverse(path[k])
        np.testing.assert_allclose(lengths[k], exact.actuation, atol=1e-6)
        np.testing.assert_allclose(lengths[200 - k], exact.actuation, atol=1e-6)
    back = stewart.forward(s.actuation)
    np.testing.assert_allclose(back.tip, path[-1], atol=1e-6)
    np.testing.assert_allclose(s.configuration.backbones[2], back.backbones[2], atol=1e-5)
    np.testing.assert_allclose(
        stewart.compliance(s.configuration), stewart.compliance(back), atol=1e-7
    )


def test_inverse_under_load_of_a_turned_pose(stewart):
    target = lie.se3_exp([0.01, 0.02, 0.42, 0.2, -0.1, 0.3])
    s = stewart.inverse(target, wrench=WRENCH)
    assert s.status.code is Code.NONE
    np.testing.assert_allclose(stewart.forward(s.actuation, WRENCH).tip, target, atol=1e-6)


def test_redundant_inverse_takes_the_least_energy(stewart):
    """Among the lengths that reach a point, no neighbour stores less elastic energy."""
    s = stewart.inverse([0.05, 0.0, 0.4])
    assert s.status.code is Code.NONE
    np.testing.assert_allclose(s.configuration.tip[:3, 3], [0.05, 0.0, 0.4], atol=1e-6)
    jacobian = stewart.jacobian(s.configuration)[:3]
    free = np.linalg.svd(jacobian)[2][3:]

    def energy(actuation):
        q = stewart.forward(actuation, guess=s.configuration)
        stress, x = q.state.state.wrench, q.state.inputs
        return 0.5 * np.einsum('pi,pij,pj->', stress, np.linalg.inv(x.stiffness), stress)

    least = energy(s.actuation)
    for direction in free:
        for sign in (1.0, -1.0):
            moved = s.actuation + sign * 1e-3 * direction
            near = stewart.inverse(
                [0.05, 0.0, 0.4], guess=stewart.forward(moved, guess=s.configuration)
            )
            np.testing.assert_allclose(near.actuation, s.actuation, atol=2e-5)
            assert energy(moved) > least - 1e-6


def test_unreachable_target_says_so_and_goes_near(stewart):
    s = stewart.inverse(level([0.0, 0.0, 1.2]))
    assert s.status.code in (Code.AT_LIMIT, Code.UNREACHABLE)
    assert s.position_error > 0.3
    assert np.all(s.actuation <= stewart.limits[:, 1] + 1e-9)
    assert s.configuration.status.converged
    assert 'misses by' in s.status.message


def test_a_search_whose_numbers_grow_beyond_all_bounds_goes_on(stewart):
    """From rest the step of such a search was made of infinite numbers, and refused the target."""
    lengths = [0.59666376, 0.4191032, 0.55930779, 0.49889643, 0.43065002, 0.47730086]
    q = stewart.forward(lengths)
    assert q.status.code is Code.NONE
    found = stewart.inverse(q.tip[:3, 3], multistart=False)
    assert found.status.code in (Code.NONE, Code.UNREACHABLE, Code.AT_LIMIT), found.status
    assert np.isfinite(found.actuation).all()


def test_task_with_axis_only(stewart):
    target = lie.se3_exp([0.0, 0.0, 0.42, 0.15, 0.1, 0.0])
    s = stewart.inverse(target, task=Task.POSITION_AND_AXIS)
    assert s.status.code is Code.NONE
    np.testing.assert_allclose(s.configuration.tip[:3, 2], target[:3, 2], atol=1e-5)
    np.testing.assert_allclose(s.configuration.tip[:3, 3], target[:3, 3], atol=1e-6)


def test_pressed_robot_is_unstable(stewart):
    """The tilted pairs hold the platform sideways, so the rods buckle between clamped ends."""
    q = stewart.forward(np.full(6, 0.405))
    load = 0.0
    while q.status.code is Code.NONE and load < 60.0:
        load += 2.0
        q = stewart.forward(q.actuation, [0, 0, -load, 0, 0, 0], guess=q)
    assert q.status.code in (Code.UNSTABLE, Code.NOT_CONVERGED)
    euler = 6 * 4 * np.pi**2 * 207e9 * np.pi / 4 * 0.65e-3**4 / 0.405**2
    assert 0.8 * euler < load < 1.1 * euler


def test_strain_driven_network():
    """Eccentric pressure: derivative and inverse on the soft segment."""
    robot = load_robot('stiff_flop', 'network')
    q = robot.forward([4e4, 2e4, 1e4], WRENCH)
    jacobian = robot.jacobian(q)
    for i in range(3):
        step = 20.0 * np.eye(3)[i]
        ends = [robot.forward(q.actuation + s * step, WRENCH, guess=q).tip for s in (1, -1)]
        slope = twist_between(*ends, 20.0)
        np.testing.assert_allclose(jacobian[:, i], slope, atol=1e-5 * np.abs(jacobian).max())
    s = robot.inverse(q.tip[:3, 3], WRENCH)
    np.testing.assert_allclose(s.actuation, q.actuation, atol=1.0)
    # without load it is the published Cosserat rod up to what "per length" means
    plain, other = (robot.with_model(m).forward(np.zeros(3)) for m in ('network', 'lcm'))
    np.testing.assert_allclose(plain.tip, other.tip, atol=2e-6)


@pytest.mark.parametrize('followed', [False, True])
def test_a_configuration_goes_to_another_process_and_is_as_good_there(stewart, followed):
    away = 1e-2 * np.array([0.3, -0.5, 0.2, 0.4, -0.1, 0.6])  # no symmetry, no entry that is zero
    q = stewart.forward(away + [a.rest for a in stewart.actuators])
    if followed:  # what an inverse along a path keeps
        pose = q.tip.copy()
        pose[0, 3] += 1e-3
        q = stewart.inverse(pose, guess=stewart.inverse(q.tip, guess=q)).configuration
    robot, there = pickle.loads(pickle.dumps((stewart, q)))  # noqa: S301 - our own
    np.testing.assert_allclose(robot.jacobian(there), stewart.jacobian(q), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(robot.compliance(there), stewart.compliance(q), rtol=1e-9)
    again = robot.forward(there.actuation, guess=there)
    np.testing.assert_allclose(again.tip, q.tip, atol=1e-9)
