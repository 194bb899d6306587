# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The rod and muscle kernels against differences and closed forms."""

import numpy as np
import pytest

from soro_mechanics import load_robot
from soro_mechanics.models.kirchhoff import muscle_kernels as muscles
from soro_mechanics.models.kirchhoff import rod_kernels as rods
from soro_mechanics.models.kirchhoff.reach_kernels import make_rod_work

STIFFNESS = np.array([0.12, 0.15, 0.09])
ELEMENTS, MODULES = 8, 2
H = 1.0 / ELEMENTS


@pytest.fixture
def shape():
    """Return a wildly bent and twisted rod with loads and internal forces."""
    rng = np.random.default_rng(8)
    q = np.zeros((ELEMENTS + 1, 4))
    q[:, 0] = 1.0
    for node in q[1:]:
        rods.turn_quaternion(node, rng.normal(0.0, 0.4, 3))
    dead = 0.05 * rng.normal(size=(ELEMENTS + 1, 3))
    return q, dead, rng.normal(size=(MODULES, 3))


def energy(q, dead, force):
    """Return elastic energy minus the work of loads and multipliers, by the definitions."""
    rho = np.empty((MODULES, 3))
    rods.module_vectors(q, H, MODULES, rho)
    total = -float(np.sum(force * rho))
    rotation = np.empty((3, 3))
    for node, load in zip(q, dead, strict=True):
        rods.rotation_of(node, rotation)
        total -= load @ rotation[:, 2]
    for a, b in zip(q[:-1], q[1:], strict=True):
        relative = _product(a * [1, -1, -1, -1], b)
        w = 2.0 * relative[1:] / H
        total += 0.5 * H * float(w @ (STIFFNESS * w))
    return total


def _product(a, b):
    return np.array(
        [a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))]
    )


def _turned(q, changes):
    moved = q.copy()
    for node, change in changes.items():
        rods.turn_quaternion(moved[node], change)
    return moved


def test_gradient_and_lever_match_differences(shape):
    q, dead, force = shape
    work = make_rod_work(ELEMENTS + 1)
    gradient, diagonal, coupling, lever, _, _ = work
    rods.rod_system(q, STIFFNESS, H, dead, force, work)
    step = 1e-5
    for n in range(ELEMENTS + 1):
        for k in range(3):
            turn = step * np.eye(3)[k]
            rise = energy(_turned(q, {n: turn}), dead, force) - energy(
                _turned(q, {n: -turn}), dead, force
            )
            assert gradient[n, k] == pytest.approx(rise / (2 * step), abs=1e-8)
    more = make_rod_work(ELEMENTS + 1)
    rods.rod_system(q, STIFFNESS, H, dead, force + [[1, 0, 0], [0, 0, 0]], more)
    np.testing.assert_allclose(more[0][2] - gradient[2], lever[2][:, 0], atol=1e-12)


def test_hessian_matches_second_differences(shape):
    q, dead, force = shape
    work = make_rod_work(ELEMENTS + 1)
    gradient, diagonal, coupling, lever, _, _ = work
    rods.rod_system(q, STIFFNESS, H, dead, force, work)
    step = 1e-4
    unit = step * np.eye(3)

    def second(a, b, i, j):
        total = 0.0
        for sign_a in (1, -1):
            for sign_b in (1, -1):
                change = (
                    {a: sign_a * unit[i] + sign_b * unit[j]}
                    if a == b
                    else {a: sign_a * unit[i], b: sign_b * unit[j]}
                )
                total += sign_a * sign_b * energy(_turned(q, change), dead, force)
        return total / (4 * step * step)

    for n in (0, 3, 4, 8):
        got = [[second(n, n, i, j) for j in range(3)] for i in range(3)]
        np.testing.assert_allclose(diagonal[n], got, atol=1e-6)
    for n in (0, 3, 4, 7):
        got = [[second(n, n + 1, i, j) for j in range(3)] for i in range(3)]
        np.testing.assert_allclose(coupling[n], got, atol=1e-6)


def test_elimination_equals_the_dense_system(shape):
    q, dead, force = shape
    work = make_rod_work(ELEMENTS + 1)
    gradient, diagonal, coupling, lever, factor, step = work
    force = force[:1]
    rods.rod_system(q, STIFFNESS, H, dead, force, work)
    matrix, right = np.empty((9, 9)), np.empty(9)
    negative = rods.eliminate_module(0, ELEMENTS, work, matrix, right)
    inner = range(1, ELEMENTS)
    size = 3 * (ELEMENTS - 1)
    full = np.zeros((size, size))
    border = np.zeros((size, 9))
    for n in inner:
        at = 3 * (n - 1)
        full[at : at + 3, at : at + 3] = diagonal[n]
        border[at : at + 3, 6:] = lever[n]
        if n + 1 < ELEMENTS:
            full[at : at + 3, at + 3 : at + 6] = coupling[n]
            full[at + 3 : at + 6, at : at + 3] = coupling[n].T
    border[:3, :3] = coupling[0].T
    border[-3:, 3:6] = coupling[ELEMENTS - 1]
    direct = np.zeros((9, 9))
    direct[:3, 6:], direct[3:6, 6:] = lever[0], lever[-1]
    direct += direct.T
    rows = gradient[1:-1].reshape(-1)
    np.testing.assert_allclose(
        matrix, direct - border.T @ np.linalg.solve(full, border), atol=1e-10
    )
    np.testing.assert_allclose(right, -border.T @ np.linalg.solve(full, rows), atol=1e-10)
    assert negative == np.count_nonzero(np.linalg.eigvalsh(full) < 0.0)
    ends = np.array([0.1, 0.2, -0.1, 0.3, 0.1, 0.0, -0.5, 0.2, 0.4])
    rods.back_substitute(0, ELEMENTS, factor, ends[:3], ends[3:6], ends[6:], step)
    want = np.linalg.solve(full, -rows - border @ ends)
    np.testing.assert_allclose(step[1:-1].reshape(-1), want, atol=1e-10)


def test_positions_agree_with_the_module_sums(shape):
    q, _, _ = shape
    rho, points = np.empty((MODULES, 3)), np.empty((ELEMENTS + 1, 3))
    rods.module_vectors(q, H, MODULES, rho)
    rods.positions(q, H, points)
    np.testing.assert_allclose(points[4], rho[0], atol=1e-15)
    np.testing.assert_allclose(points[8], rho[0] + rho[1], atol=1e-15)


@pytest.mark.parametrize('angle', [0.0, 1e-12, 1e-7, 0.3, 3.0])
def test_turning_a_quaternion_is_the_exponential(angle):
    from soro_mechanics.numerics.lie import so3_exp

    axis = np.array([0.6, -0.48, 0.64])
    q = np.array([0.5, -0.5, 0.5, 0.5])
    before, after = np.empty((3, 3)), np.empty((3, 3))
    rods.rotation_of(q, before)
    rods.turn_quaternion(q, angle * axis)
    rods.rotation_of(q, after)
    np.testing.assert_allclose(after, before @ so3_exp(angle * axis), atol=1e-14)


def test_muscle_constraints_match_differences():
    from soro_mechanics.numerics.lie import so3_exp

    rho = np.array([0.012, -0.008, 0.097])
    start, end = so3_exp([0.1, 0.2, -0.3]), so3_exp([0.25, 0.05, -0.2])
    multiplier = np.array([3.0, -2.0])
    radius, module = 0.012, 3
    lengths, slope, second = np.empty(3), np.empty((2, 9)), np.empty((9, 9))
    angles = np.radians(120.0 * np.arange(3) + 60.0 * ((module + 1) % 2))
    combine = 2.0 / 3.0 * np.array([np.cos(angles), np.sin(angles)])
    out = slope, second
    muscles.bend_constraints(rho, start, end, combine, radius, multiplier, lengths, out)

    def bends(x):
        out = np.empty(3)
        muscles.muscle_lengths(
            rho + x[:3], start @ so3_exp(x[3:6]), end @ so3_exp(x[6:9]), combine, radius, out
        )
        return np.array(muscles.bends_of(out, combine))

    for i in range(3):
        u = radius * np.array([np.cos(angles[i]), np.sin(angles[i]), 0.0])
        assert lengths[i] == pytest.approx(np.linalg.norm(rho + end @ u - start @ u), rel=1e-14)
    step = 1e-5
    unit = step * np.eye(9)
    for j in range(9):
        rise = (bends(unit[j]) - bends(-unit[j])) / (2 * step)
        np.testing.assert_allclose(slope[:, j], rise, atol=1e-10)
        for k in range(9):
            mixed = (
                bends(unit[j] + unit[k])
                - bends(unit[j] - unit[k])
                - bends(unit[k] - unit[j])
                + bends(-unit[j] - unit[k])
            ) / (4 * step * step)
            assert second[j, k] == pytest.approx(multiplier @ mixed, abs=2e-5)


def test_modules_are_turned_by_sixty_degrees():
    backbone = load_robot('pam_continuum').description.structure['kirchhoff']
    first, second, *_ = np.degrees(backbone.muscle_angles)
    np.testing.assert_allclose(first, [60.0, 180.0, 300.0])  # module 1: t mod 2 = 1
    np.testing.assert_allclose(second, [0.0, 120.0, 240.0])
