# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The numbers that stewart_gough is held against, from a rod solver that shares no code with it.

Six Cosserat rods by shooting: RK4 on rotation matrices, one Newton for all rods and lengths,
derivatives by the complex step. Geometry as the papers print it, not read from the robot file.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from soro_mechanics import Code, load_robot, Robot
from soro_mechanics.models.network.rod_loads import refined
from soro_studies.validation import stewart_gough as rows

RADIUS, YOUNG, POISSON, CIRCLE = 0.65e-3, 207e9, 0.305, 0.087
PAIRS = np.radians([100.0, 20.0])
ODD, EVEN = 2 * ((np.arange(6) + 1) // 2), 2 * (np.arange(6) // 2)
BASE = 0.5 * (-PAIRS[1] + ODD * PAIRS[1] + EVEN * PAIRS[0])
TOP = 0.5 * (-PAIRS[0] + ODD * PAIRS[0] + EVEN * PAIRS[1])
SHEAR = YOUNG / (2.0 * (1.0 + POISSON))
STRETCH = np.pi * RADIUS**2 * np.array([SHEAR, SHEAR, YOUNG])
BEND = 0.25 * np.pi * RADIUS**4 * np.array([YOUNG, YOUNG, 2.0 * SHEAR])
STEPS = 40


def ring(angles):
    return CIRCLE * np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])


def hat(u):
    out = np.zeros((*u.shape, 3), u.dtype)
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -u[..., 2], u[..., 1], -u[..., 0]
    return out - np.swapaxes(out, -1, -2)


def times(matrix, vector):
    return (matrix @ vector[..., None])[..., 0]


def rates(turn, moment, force):
    """Return d/ds of place, turn and moment of a rod in base axes; the force is constant."""
    back = np.swapaxes(turn, -1, -2)
    ahead = times(turn, times(back, force) / STRETCH + [0.0, 0.0, 1.0])
    return ahead, turn @ hat(times(back, moment) / BEND), -np.cross(ahead, force)


def shoot(wrench, length):
    """Integrate rods from their base wrench (..., 6, 6); return every step's (p, R, m)."""
    force = wrench[..., :3]
    h = length[..., None] / STEPS
    y = [ring(BASE) + 0.0 * force, np.eye(3) + 0.0 * force[..., None], wrench[..., 3:]]

    def moved(rate, share):
        sizes = (h, h[..., None], h)
        return [a + share * size * b for a, size, b in zip(y, sizes, rate, strict=True)]

    path = [y]
    for _ in range(STEPS):
        k1 = rates(*y[1:], force)
        k2 = rates(*moved(k1, 0.5)[1:], force)
        k3 = rates(*moved(k2, 0.5)[1:], force)
        k4 = rates(*moved(k3, 1.0)[1:], force)
        mean = [(a + 2 * b + 2 * c + d) / 6.0 for a, b, c, d in zip(k1, k2, k3, k4, strict=True)]
        y = moved(mean, 1.0)
        path.append(y)
    return path


def residual(x, place, turn, top):
    """Return what is missing at the six joints, and the platform's balance, (..., 42).

    x (..., 42): base wrenches of the rods, lengths. A joint holds place and direction, and
    transmits no torsion.
    """
    wrench = x[..., :36].reshape(*x.shape[:-1], 6, 6)
    p, r, m = shoot(wrench, x[..., 36:])[-1]
    holes = ring(top) @ np.swapaxes(turn, -1, -2) + place[..., None, :]
    torsion = np.sum(m * r[..., 2], -1, keepdims=True)
    joints = np.concatenate([p - holes, (r[..., 2] @ turn)[..., :2], torsion], -1)
    moments = np.cross(p - place[..., None, :], wrench[..., :3]) + m
    balance = [wrench[..., :3].sum(-2), moments.sum(-2)]
    return np.concatenate([joints.reshape(*x.shape[:-1], 36), *balance], -1)


def system(x, place, turn, top):
    """Return the residual and its derivatives by x and by the platform's twist, (42, 48)."""
    z = np.concatenate([x, np.zeros(6)]) + np.vstack([1e-30j * np.eye(48), np.zeros(48)])
    turned = turn + hat(z[:, 45:]) @ turn
    found = residual(z[:, :42], place + z[:, 42:45], turned, top)
    return found[-1].real, found[:-1].imag.T / 1e-30


def settle(x, place, turn, top=TOP):
    for _ in range(20):
        missing, slopes = system(x, place, turn, top)
        if np.abs(missing).max() < 1e-10:
            return x, slopes
        x = x - np.linalg.lstsq(slopes[:, :42], missing, rcond=1e-12)[0]
    raise AssertionError(f'no equilibrium at {place}')


def tilted(angle):
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


@cache
def rods_at(point, angle):
    """Return (wrenches and lengths, slopes): upright rods twisted first, then moved to a pose."""
    above = np.array([0.0, 0.0, 0.4])
    x = np.concatenate([np.zeros(36), np.full(6, 0.41)])
    for share in (0.25, 0.5, 0.75, 1.0):
        x, slopes = settle(x, above, np.eye(3), BASE + share * (TOP - BASE))
    for share in np.linspace(0.0, 1.0, 7):
        place = above + share * (np.array(point) - above)
        x, slopes = settle(x, place, tilted(share * angle))
    return x, slopes


def tangent(slopes):
    """Return the compliance (6, 6) of the platform with the lengths held."""
    held = np.delete(slopes, np.s_[36:42], axis=1)
    return np.linalg.solve(held, np.eye(42)[:, 36:])[36:]


def integral(x, place):
    """Return the compliance (6, 6) of rods in parallel, each the integral of its sections'."""
    path = shoot(x[:36].reshape(6, 6), x[36:])
    weights = np.array([1.0, *[4.0, 2.0] * (STEPS // 2 - 1), 4.0, 1.0]) / (3.0 * STEPS)
    section = np.diag(1.0 / np.concatenate([STRETCH, BEND]))
    total = np.zeros((6, 6))
    for i in range(6):
        rod = np.zeros((6, 6))
        for (p, r, _), weight in zip(path, weights, strict=True):
            arm = np.block([[r[i], -hat(place - p[i]) @ r[i]], [np.zeros((3, 3)), r[i]]])
            rod += weight * x[36 + i] * arm @ section @ arm.T
        stiff = np.linalg.inv(rod)
        p, axis = path[-1][0][i], path[-1][1][i][:, 2]
        hinge = np.concatenate([np.cross(axis, place - p), axis])
        free = stiff @ hinge
        total += stiff - np.outer(free, free) / (hinge @ free)
    return np.linalg.inv(total)


@pytest.mark.parametrize('pose', rows.POSES)
def test_the_reference_numbers_are_those_of_the_shooting(pose):
    reference = rows.REFERENCE[pose]
    point, angle = rows.POSES[pose]
    x, slopes = rods_at(point, angle)
    for name, c in (('tangent', tangent(slopes)), ('integral', integral(x, np.array(point)))):
        known = getattr(reference, name)
        assert c[0, 0] / c[2, 2] == pytest.approx(known.x_over_z, rel=1e-3)
        assert c[0, 0] / c[1, 1] == pytest.approx(known.x_over_y, rel=1e-3)
        greatest = 1e3 * np.linalg.eigvalsh(c[:3, :3])[-1]
        assert greatest == pytest.approx(known.greatest, rel=1e-3)


@pytest.mark.parametrize('pose', rows.POSES)
def test_the_network_is_the_shooting(pose):
    robot = load_robot('stewart_gough')
    structure = {'network': refined(robot.description.structure['network'], 4)}
    robot = Robot(replace(robot.description, structure=structure))
    point, angle = rows.POSES[pose]
    x, slopes = rods_at(point, angle)
    target = np.eye(4)
    target[:3, 3], target[:3, :3] = point, tilted(angle)
    s = robot.inverse(target)
    assert s.status.code is Code.NONE
    np.testing.assert_allclose(s.actuation, x[36:], atol=1e-6)
    c = tangent(slopes)
    scale = np.repeat([1.0, CIRCLE], 3)
    scale = np.outer(scale, scale)
    apart = (robot.compliance(s.configuration) - c) * scale
    assert np.abs(apart).max() < 1e-3 * np.abs(c * scale).max()


def test_the_shooting_is_converged_and_reciprocal(monkeypatch):
    _, slopes = rods_at(*rows.POSES['bent'])
    c = tangent(slopes)
    assert np.abs(c - c.T).max() < 1e-6 * np.abs(c).max()
    monkeypatch.setitem(globals(), 'STEPS', 20)
    coarse = tangent(rods_at.__wrapped__(*rows.POSES['bent'])[1])
    assert np.abs(coarse - c).max() < 1e-4 * np.abs(c).max()
