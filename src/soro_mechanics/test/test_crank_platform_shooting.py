# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The crank platform against shooting that shares no code: six legs, two kinds of joints, motors.

Cosserat rods with their weight are integrated from the spherical joints under the platform (place
known, no moment; force and rotation sought) down to the universal joints on the cranks (place,
perpendicular axes, no moment about either); with the platform's balance that is 42 equations.
"""

import numpy as np
import pytest
from shooting import hat, turned

from soro_mechanics import load_robot
from soro_mechanics.robot_file.catalogue import EXAMPLES

STEPS, LENGTH, RADIUS, YOUNG, POISSON, DENSITY = 60, 0.26, 1.5e-3, 60e9, 0.3, 1800.0
SHEAR, AREA, SECOND = YOUNG / (2 * (1 + POISSON)), np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
STRETCH = np.array([SHEAR * AREA, SHEAR * AREA, YOUNG * AREA])
BEND = np.array([YOUNG * SECOND, YOUNG * SECOND, 2 * SHEAR * SECOND])
GRAVITY = np.array([0.0, 0.0, -9.81])
MASS, CENTRE = 0.12, np.array([0.0, 0.0, 5e-3])
AT = np.deg2rad(60.0 * np.arange(6))
TOP = np.deg2rad([20, 40, 140, 160, 260, 280])
JOINTS = 0.07 * np.stack([np.cos(TOP), np.sin(TOP), 0 * TOP], axis=1)  # in the platform
AXES = np.stack([-np.sin(AT), np.cos(AT), 0 * AT], axis=1)  # of the motors
OUT = np.stack([np.cos(AT), np.sin(AT), 0 * AT], axis=1)


def rates(turn, force, moment):
    """Return d/ds of place, rotation and moment, base axes."""

    def seen(v):
        return np.einsum('...ji,...j->...i', turn, v)

    ahead = np.einsum('...ij,...j->...i', turn, np.array([0, 0, 1.0]) + seen(force) / STRETCH)
    return ahead, turn @ hat(seen(moment) / BEND), -np.cross(ahead, force)


def lacking(z, angles, start, push):
    """Return what each row of unknowns (n, 42) leaves of the equations (n, 42)."""
    n, h, weight = len(z), -LENGTH / STEPS, DENSITY * AREA * GRAVITY
    legs = z[:, 6:].reshape(n, 6, 6)
    frame = turned(z[:, 3:6]) @ start[:3, :3]
    arm = np.einsum('nij,kj->nki', frame, JOINTS)
    top, force = start[:3, 3] + z[:, None, :3] + arm, legs[..., :3]
    y = [top, turned(legs[..., 3:]), np.zeros((n, 6, 3))]
    for step in range(STEPS):

        def after(rate, part, y=y):
            return [a + part * h * b for a, b in zip(y, rate, strict=True)]

        below = [force + weight * (-h) * (step + part) for part in (0.0, 0.5, 1.0)]
        k1 = rates(y[1], below[0], y[2])
        k2 = rates(after(k1, 0.5)[1], below[1], after(k1, 0.5)[2])
        k3 = rates(after(k2, 0.5)[1], below[1], after(k2, 0.5)[2])
        k4 = rates(after(k3, 1.0)[1], below[2], after(k3, 1.0)[2])
        sums = zip(k1, k2, k3, k4, strict=True)
        y = after([(a + 2 * b + 2 * c + d) / 6.0 for a, b, c, d in sums], 1.0)
    crank = turned(angles[:, None] * AXES)
    base = 0.08 * OUT + np.einsum('kij,kj->ki', crank, 0.04 * OUT)
    first, second, moment = crank[:, :, 0], y[1][..., 1], y[2]
    joint = [(first * second).sum(-1), (first * moment).sum(-1), (second * moment).sum(-1)]
    centre = np.einsum('nij,j->ni', frame, CENTRE) + start[:3, 3] + z[:, :3]
    held = MASS * GRAVITY + push - force.sum(1)
    tip = np.einsum('nij,j->ni', frame, [0, 0, 0.01]) + start[:3, 3] + z[:, :3]
    turn = np.cross(centre, MASS * GRAVITY) + np.cross(tip, push) - np.cross(top, force).sum(1)
    inner = np.concatenate([1e3 * (y[0] - base), np.stack(joint, axis=-1)], axis=-1)
    return np.concatenate([held, 10.0 * turn, inner.reshape(n, 36)], axis=1)


@pytest.mark.parametrize('push', [[0.0, 0.0, 0.0], [0.6, -0.4, -1.0]])
def test_the_pose_is_that_of_shooting(push):
    robot = load_robot(EXAMPLES / 'crank_platform.yaml')
    angles = np.array([0.1, -0.05, 0.2, 0.0, -0.1, 0.15])
    q = robot.forward(angles, [*push, 0.0, 0.0, 0.0])
    start = q.tip.copy()
    start[:3, 3] += start[:3, :3] @ [0.0, 0.0, -0.01] + [1e-3, -1e-3, 5e-4]  # not the solution
    z = np.zeros(42)
    legs = z[6:].reshape(6, 6)
    legs[:, 2] = MASS * GRAVITY[2] / 6.0
    for leg, rod in zip(legs, q.backbones, strict=True):  # turned as rods that lead straight up
        along = rod[-1, :3, 3] - rod[0, :3, 3]
        axis = np.cross([0.0, 0.0, 1.0], along / np.linalg.norm(along))
        leg[3:] = axis * np.arcsin(np.linalg.norm(axis)) / np.linalg.norm(axis)
    for _ in range(12):
        sides = z + 1e-6 * np.concatenate([np.zeros((1, 42)), np.eye(42), -np.eye(42)])
        found = lacking(sides, angles, start, np.array(push))
        step = np.linalg.solve((found[1:43] - found[43:]).T / 2e-6, -found[0])
        z += step * min(1.0, 0.3 / np.abs(step[[*range(6), *range(9, 12)]]).max())
        if np.abs(found[0]).max() < 1e-10:
            break
    assert np.abs(found[0]).max() < 1e-8
    place = start[:3, 3] + z[:3]
    turn = turned(z[3:6]) @ start[:3, :3]
    np.testing.assert_allclose(place + turn @ [0, 0, 0.01], q.tip[:3, 3], atol=1e-7)
    np.testing.assert_allclose(turn, q.tip[:3, :3], atol=1e-6)
    assert np.linalg.norm(z[:3] + [1e-3, -1e-3, 5e-4]) < 1e-7
