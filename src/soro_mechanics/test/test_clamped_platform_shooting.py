# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pose and stiffness of whole platforms on clamped rods at their own mesh, by `shooting`.

Numbers are those that papers and fits print, not read from the robot files.
"""

import numpy as np
from shooting import Clamped, turned

from soro_mechanics import Code, load_robot

GRAVITY = np.array([0.0, 0.0, -9.81])
UNIT = np.repeat([1.0, 20.0], 3)  # of a wrench: the compliances compare


def pose(place, turn):
    out = np.eye(4)
    out[:3, 3], out[:3, :3] = place, turn
    return out


def about(axis, angle):
    return pose(np.zeros(3), turned(angle * np.eye(3)['xyz'.index(axis)]))


def compare(robot, q, platform, wrench, position, rotation):
    away = pose([1e-3, -1e-3, 5e-4], turned(np.array([0.01, 0.0, -0.01])))
    found, soft = platform.solved(q.tip @ away, wrench)
    np.testing.assert_allclose(q.tip[:3, 3], found[:3, 3], rtol=0.0, atol=position)
    np.testing.assert_allclose(q.tip[:3, :3], found[:3, :3], rtol=0.0, atol=rotation)
    scale = np.outer(UNIT, UNIT)
    stiff, wanted = (np.linalg.inv(c * scale) for c in (robot.compliance(q), soft))
    assert np.abs(stiff - wanted).max() < 2e-3 * np.abs(wanted).max()
    np.testing.assert_allclose(np.diag(stiff), np.diag(wanted), rtol=2e-3)


def test_the_haptic_device_is_that_of_shooting():
    young, thin, wide, density = 76.4e6, 4e-3, 10e-3, 1040.0
    shear, area = young / (2 * 1.48), thin * wide
    odd = np.arange(1, 40, 2)
    series = (np.tanh(odd * np.pi * wide / (2 * thin)) / odd**5).sum()  # Saint-Venant's torsion
    torsion = wide * thin**3 * (1 / 3 - 64 / np.pi**5 * thin / wide * series)
    thirds = np.radians([0.0, 120.0, 240.0])
    legs = [about('z', a) for a in thirds]
    legs += [about('z', a) @ about('y', np.pi) for a in thirds - 2 * np.pi / 3]
    angles = np.array([0.15, -0.1, 0.2, 0.05, -0.12, 0.1])
    first, last = pose([0.15, 0.0, -0.055], np.eye(3)), pose([0.01, 0.0, 0.04], np.eye(3))
    straight, quarter = np.zeros(3), np.array([0.0, -1.0 / 0.06, 0.0])
    device = Clamped(
        np.array([g @ first @ about('y', a) for g, a in zip(legs, angles, strict=True)]),
        np.array([g @ last @ about('y', -np.pi / 2) for g in legs]),
        tuple(
            (np.full(6, length), steps, rest)
            for length, steps, rest in (
                (0.035, 8, straight),
                (0.03 * np.pi, 24, quarter),
                (0.08, 14, straight),
            )
        ),
        area * np.array([0.85 * shear, 0.85 * shear, young]),
        np.array([young * thin * wide**3 / 12, young * wide * thin**3 / 12, shear * torsion]),
        np.tile(density * area * GRAVITY, (6, 1)),
        8e-3 * GRAVITY,
    )
    robot, wrench = load_robot('haptic_5dof'), np.array([0.5, -0.3, 0.4, 0.01, -0.02, 0.005])
    q = robot.forward(angles, wrench)
    assert q.status.code is Code.NONE
    compare(robot, q, device, wrench, 2e-5, 2e-4)


def test_the_soft_parallel_robot_is_that_of_shooting():
    length, axial = 0.153, 68.4
    driven = length * np.array([1.1078, 1.3181, 1.0431])  # at points of the published curves
    around = [about('z', a) for a in np.radians([0.0, 120.0, 240.0])]
    places = [[g[:3, :3] @ [r, 0.0, 0.0] for g in around] for r in (length / 3**0.5, 0.04)]
    base, attach = (np.array([pose(p, np.eye(3)) for p in of]) for of in places)
    stretch, bend = np.array([1e3 * axial, 1e3 * axial, axial]), np.array([2.5e-3, 2.5e-3, 1.6e-3])
    line = 0.028 / driven[:, None] * GRAVITY
    parts = ((driven, 40, np.zeros(3)),)
    platform = Clamped(base, attach, parts, stretch, bend, line, 0.03 * GRAVITY)
    robot, wrench = load_robot('soft_parallel', 'network'), np.array([0.1, -0.1, 0.2, 0, 0.01, 0])
    q = robot.forward([60e3, 120e3, 30e3], wrench)
    assert q.status.code is Code.NONE
    compare(robot, q, platform, wrench, 1e-6, 1e-5)
