# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The muscle-driven backbone: forward from lengths, and what it refuses."""

from dataclasses import replace

from changed_robots import REMOVED, with_changes
from kirchhoff_cases import changed, pose_at
import numpy as np
import pytest
from scipy.optimize import minimize

from soro_mechanics import (
    Code,
    InvalidInput,
    Load,
    load_robot,
    LoadAxes,
    Robot,
    RobotFileError,
    Stability,
)
from soro_mechanics.core.configuration import LoadCase
from soro_mechanics.models.kirchhoff import steps
from soro_mechanics.models.kirchhoff.model import Kirchhoff
from soro_mechanics.models.kirchhoff.muscle_kernels import bends_of, muscle_lengths
from soro_mechanics.models.kirchhoff.rod_kernels import (
    module_vectors,
    rotation_of,
    turn_quaternion,
)
from soro_mechanics.robot_file.reader import describe_robot


@pytest.fixture(scope='module')
def robot():
    return load_robot('pam_continuum')


def test_straight_robot(robot):
    q = robot.forward(np.full(30, 0.1))
    np.testing.assert_allclose(q.tip, pose_at([0.0, 0.0, 1.0]), atol=1e-12)
    assert q.status.stability is Stability.STABLE
    assert len(q.bodies) == 11
    assert q.backbones[0].shape == (41, 4, 4)


def test_equal_bends_without_weight_make_an_arc(robot):
    light = changed(robot, mass=0.0, muscle_stiffness=np.inf)
    model = Kirchhoff(light.description)
    theta = 1.3
    angle = np.linspace(0.0, theta, 201)
    q = np.column_stack([np.cos(angle / 2), np.zeros(201), np.sin(angle / 2), np.zeros(201)])
    lengths = model.rod.lengths_of(q)
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


@pytest.mark.parametrize('stiffness_of_muscles', [np.inf, 2e4, 300.0])
def test_forward_is_the_minimum_of_the_energy(robot, stiffness_of_muscles):
    """A small robot against a general optimiser that knows only energy and muscle lengths."""
    actuators = robot.description.actuators[:6]
    small = Robot(
        replace(
            changed(
                robot,
                modules=2,
                elements=8,
                length=0.4,
                mass=0.2,
                stations_per_module=1,
                muscle_radius=0.03,
                muscle_stiffness=stiffness_of_muscles,
            ).description,
            actuators=actuators,
        )
    )
    model = Kirchhoff(small.description)
    lengths = np.array([0.21, 0.195, 0.2, 0.205, 0.198, 0.196])
    wrench = np.array([0.1, -0.2, 0.3, 0.0, 0.0, 0.0])
    got = small.forward(lengths, wrench)
    wanted = np.array(
        [bends_of(row, model.rod.combine[t]) for t, row in enumerate(lengths.reshape(2, 3))]
    )
    dead, _ = model._loads(LoadCase(wrench, (), small.gravity))
    h, stiffness = model.rod.element, model.backbone.stiffness

    def shape(x):
        q = np.zeros((9, 4))
        q[:, 0] = 1.0
        for node, turn in zip(q[1:], x.reshape(8, 3), strict=True):
            turn_quaternion(node, turn)
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
            muscle_lengths(rho[t], start, end, model.rod.combine[t], 0.03, out)
            found += bends_of(out, model.rod.combine[t])
        return (np.array(found) - wanted.reshape(-1)) * 100.0

    def springs(x):
        # Three muscles of which the mean is free: 3/2 k for each of the two bends.
        spring = 1.5 * stiffness_of_muscles / 0.2
        return 0.5 * spring * float(np.sum((0.01 * bends(x)) ** 2))

    rigid = np.isinf(stiffness_of_muscles)
    best = minimize(
        energy if rigid else lambda x: energy(x) + springs(x),
        np.zeros(24),
        constraints={'type': 'eq', 'fun': bends} if rigid else (),
        method='SLSQP',
        options={'ftol': 1e-14, 'maxiter': 500},
    )
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


def test_loads_that_do_not_exist_are_refused(robot):
    lengths = np.full(30, 0.1)
    with pytest.raises(InvalidInput):
        robot.forward(lengths, loads=[Load(np.ones(6), 'leg_1')])
    with pytest.raises(InvalidInput):
        robot.forward(lengths, loads=[Load(np.array([1.0, 0, 0, 0, 0, 0]), 'backbone', 2.0)])
    for load in (Load(np.ones(6), 'backbone', 0.5), Load(np.ones(6), '', 0.0, LoadAxes.LOCAL)):
        with pytest.raises(InvalidInput) as caught:
            robot.forward(lengths, loads=[load])
        assert caught.value.code is Code.UNSUPPORTED
    with pytest.raises(InvalidInput):
        robot.compliance(robot.forward(lengths), method='integral')


@pytest.mark.parametrize(
    ('path', 'value', 'place'),
    [
        ('body.modules', 9, 'drives'),
        ('models.kirchhoff.elements', 201, ''),
        ('models.kirchhoff.stations_per_module', 3, ''),
        ('body.backbone.material', 'steel', ''),
        ('body.backbone.length', '1000', ''),
    ],
)
def test_wrong_backbones_are_refused(path, value, place):
    data = with_changes('pam_continuum', {'models.network': REMOVED, path: value})
    with pytest.raises(RobotFileError) as caught:
        describe_robot(data, 'bad.yaml')
    assert caught.value.path == (place or path)


def test_a_way_that_leads_nowhere_is_left_soon(robot, monkeypatch):
    monkeypatch.setattr(
        steps,
        'hold_newton',
        lambda *args: (args[0], None, None, (False, args[5], 1.0, 0)),  # no equilibrium anywhere
    )
    q = robot.forward(np.linspace(0.09, 0.11, 30))
    assert q.status.code is Code.NOT_CONVERGED
    assert q.status.iterations < 200  # 375 with as many Newton steps on every part of the way


def test_a_way_that_is_hard_is_not_left(robot):
    # Ten Newton steps are too few for its parts: halved nine times it was called no equilibrium.
    lengths = [0.12 if muscle == 'l' else 0.08 for muscle in 'slslllssssslslsssssssslllsssll']
    q = robot.forward(lengths)
    assert q.status.code is Code.NONE and q.status.stability is Stability.STABLE
