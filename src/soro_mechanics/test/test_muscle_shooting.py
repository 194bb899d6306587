# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Pose and stiffness of pam_continuum by shooting: an inextensible rod, muscles that give way.

Of every module two combinations of lengths are prescribed (their mean moves nothing), by
multipliers: the muscles, springs, push with forces T_i along their lines. In a module the rod
bears what lies beyond and all T_i; at its disks it takes their moments. Sought are the moment at
the base and of every module the multipliers, sum of T_i, and their moment at its first disk.
Numbers are those that the paper and the file's notes print, not read from the robot file.
"""

from kirchhoff_cases import changed
import numpy as np
from shooting import hat

from soro_mechanics import Code, load_robot

MODULES, LENGTH, STEPS = 10, 0.1, 12  # of a module [m], of the integration in it
BEND = np.pi * 2.5e-3**4 / 64.0 * np.array([62e9, 62e9, 2.0 * 24e9])
SPRING = 2e4 / LENGTH  # of a muscle [N/m]
LINE = np.array([0.0, 0.0, 9.81 * 0.4077])  # weight per length, hanging
ANGLES = np.radians([[120.0 * i + 60.0 * ((t + 1) % 2) for i in range(3)] for t in range(MODULES)])
WAYS = 2.0 / 3.0 * np.stack([np.cos(ANGLES), np.sin(ANGLES)], axis=1)  # (modules, 2, 3)


def advanced(y, force, h):
    """Return place, rotation and moment a step on, under a force that changes with the weight."""

    def rates(y, part):
        turn, bends = y[1], np.einsum('nji,nj->ni', y[1], y[2]) / BEND
        n = force - part * h * LINE
        return turn[..., 2], turn @ hat(bends), -np.cross(turn[..., 2], n)

    def after(rate, part):
        return [a + part * h * b for a, b in zip(y, rate, strict=True)]

    k = [rates(y, 0.0)]
    for part in (0.5, 0.5, 1.0):
        k.append(rates(after(k[-1], part), part))
    return after([(a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(*k, strict=True)], 1.0)


def shot(z, bends, wrench):
    """Return the tip (place, rotation) of unknowns (n, 3 + 8 modules), and what they leave."""
    n = len(z)
    y = [np.zeros((n, 3)), np.broadcast_to(np.eye(3), (n, 3, 3)), z[:, :3]]
    left = []
    for t in range(MODULES):
        own = z[:, 3 + 8 * t : 11 + 8 * t]
        pushes, sum_of, first = own[:, :2] @ WAYS[t], own[:, 2:5], own[:, 5:]
        arms = 0.012 * np.stack([np.cos(ANGLES[t]), np.sin(ANGLES[t]), np.zeros(3)], axis=1)
        begin = np.einsum('nij,kj->nki', y[1], arms)
        start = y[0][:, None] + begin
        y[2] = y[2] + first
        for k in range(STEPS):
            beyond = (MODULES - t - k / STEPS) * LENGTH
            y = advanced(y, wrench[:3] + beyond * LINE + sum_of, LENGTH / STEPS)
        end = np.einsum('nij,kj->nki', y[1], arms)
        lines = y[0][:, None] + end - start
        lengths = np.linalg.norm(lines, axis=-1)
        forces = (pushes / lengths)[..., None] * lines
        y[2] = y[2] - np.cross(end, forces).sum(1)
        told = lengths + pushes / SPRING  # what is pressed is shorter
        left += [1e4 * (told @ WAYS[t].T - bends[t]), sum_of - forces.sum(1)]
        left += [1e2 * (first - np.cross(begin, forces).sum(1))]
    return y[:2], np.concatenate([1e2 * (y[2] - wrench[3:]), *left], axis=1)


def solved(z, bends, wrench):
    """Return unknowns that leave nothing, by Newton's method with differences, and the tip."""
    step = 1e-6 * np.ones(len(z))
    for _ in range(30):
        rows = np.concatenate([z[None], z + np.diag(step), z - np.diag(step)])
        tip, left = shot(rows, bends, wrench)
        if np.abs(left[0]).max() < 1e-8:
            return z, [part[0] for part in tip]
        plus, minus = left[1 : 1 + len(z)], left[1 + len(z) :]
        change = np.linalg.solve((plus - minus).T / (2.0 * step), -left[0])
        z = z + change * min(1.0, 1.0 / np.abs(change).max())
    raise AssertionError(f'not solved: {np.abs(left[0]).max()}')


def test_a_robot_of_muscles_is_that_of_shooting():
    change = 2e-3 * np.sin(1.3 * np.arange(30.0) + 0.4).reshape(MODULES, 3)
    bends = np.einsum('tki,ti->tk', WAYS, LENGTH + change)
    z, wrench = np.zeros(3 + 8 * MODULES), np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.002])
    for part in (0.25, 0.5, 0.75, 1.0):
        z, tip = solved(z, part * bends, part * wrench)
    soft = np.empty((6, 6))
    for k in range(6):
        small = np.eye(6)[k] * (1e-3 if k < 3 else 1e-4)
        (_, plus), (_, minus) = (solved(z, bends, wrench + sign * small) for sign in (1.0, -1.0))
        turn = plus[1] @ minus[1].T
        twist = [turn[j, i] - turn[i, j] for i, j in ((1, 2), (2, 0), (0, 1))]
        soft[:, k] = np.append(plus[0] - minus[0], 0.5 * np.array(twist)) / (2.0 * small[k])
    scale, robot = np.repeat([1.0, 20.0], 3), load_robot('pam_continuum')
    wanted, errors = np.linalg.inv(soft * np.outer(scale, scale)), []
    for elements in (200, 400):  # the file's own mesh, and half as long ones
        of = changed(robot, elements=elements)
        q = of.forward((LENGTH + change).ravel(), wrench)
        assert q.status.code is Code.NONE
        np.testing.assert_allclose(q.tip[:3, 3], tip[0], rtol=0.0, atol=5e-6)
        np.testing.assert_allclose(q.tip[:3, :3], tip[1], rtol=0.0, atol=5e-5)
        np.testing.assert_allclose(np.diag(of.compliance(q)), np.diag(soft), rtol=5e-4)
        stiff = np.linalg.inv(of.compliance(q) * np.outer(scale, scale))
        errors.append(np.abs(stiff - wanted).max() / np.abs(wanted).max())
    assert errors[0] < 3e-3 and errors[1] < 7e-4
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.05)
