# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tangents of single pieces against finite differences, and the symmetry they must have."""

import numpy as np
import pytest
from soro_mechanics.network import element_kernels, lane_kernels, piece_kernels
from soro_mechanics.network.dense_kernels import negative_pivots, solve_in_place

from soro_mechanics import lie

ANGLES = (0.0, 1e-9, 1e-3, 0.3, 1.2, 1.999, 2.001, 2.7)


def bracket(f):
    """B(f): what T - T' must be on the diagonal blocks."""
    out = np.zeros((6, 6))
    out[:3, 3:] = out[3:, :3] = lie.hat3(f[:3])
    out[3:, 3:] = lie.hat3(f[3:])
    return out


def element(ga, gb, rest, flexibility, length):
    force, raw, gap = np.zeros(12), np.zeros(12), np.zeros(6)
    tangent, twist, strain = np.zeros((12, 12)), np.zeros(6), np.zeros((6, 12))
    element_kernels.element(
        ga, gb, length, rest, flexibility, np.zeros(0), force, raw, gap, tangent, twist, strain,
        np.zeros((40, 6)),
    )  # fmt: skip
    energy = 0.5 * length * np.sum((twist / length - rest) ** 2 / flexibility)
    return energy, force, tangent


@pytest.mark.parametrize('angle', ANGLES)
def test_element_force_and_tangent(angle):
    rng = np.random.default_rng(3)
    d = rng.normal(size=6)
    d[3:] *= angle / np.linalg.norm(d[3:])
    ga = lie.se3_exp(rng.normal(size=6))
    gb = ga @ lie.se3_exp(d)
    rest, flexibility = 0.1 * rng.normal(size=6), rng.uniform(0.5, 2.0, 6)

    def at(eta):
        a, b = ga @ lie.se3_exp(eta[:6]), gb @ lie.se3_exp(eta[6:])
        return element(a, b, rest, flexibility, 0.7)

    _, force, tangent = at(np.zeros(12))
    h = 1e-6
    for j in range(12):
        step = h * np.eye(12)[j]
        (up, fp, _), (down, fm, _) = at(step), at(-step)
        assert (up - down) / (2 * h) == pytest.approx(force[j], abs=2e-8)
        np.testing.assert_allclose((fp - fm) / (2 * h), tangent[:, j], atol=2e-8)
    expected = np.zeros((12, 12))
    expected[:6, :6], expected[6:, 6:] = bracket(force[:6]), bracket(force[6:])
    np.testing.assert_allclose(tangent - tangent.T, expected, atol=1e-12)


def test_log_coefficients_join_and_match_differences():
    h = 1e-5
    for x in (1e-12, 0.01, 1.0, 3.999999, 4.000001, 6.0):
        b, db, ddb = element_kernels.log_coefficients(x)
        angle = np.sqrt(x)
        if x > 1e-3:
            closed = 1.0 / x - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
            assert b == pytest.approx(closed, rel=1e-10)
        if x > h:
            up, down = (element_kernels.log_coefficients(x + s * h) for s in (1.0, -1.0))
            assert db == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6)
            assert ddb == pytest.approx((up[1] - down[1]) / (2 * h), rel=1e-5)


def lanes(wrench, weight, steps=40, length=0.5):
    """Integrate one piece (lane 0) and return its state, load and table."""
    load = np.zeros((lane_kernels.LOAD, 8))
    load[:6] = wrench[:, None]
    load[6:9] = weight[:, None]
    load[9] = length / steps
    table = np.zeros((2 * steps + 1, lane_kernels.TABLE, 8))
    table[:, 2] = 1.0
    table[:, 3] = 0.4
    table[:, 6:9] = np.array([1e-3, 2e-3, 5e-4])[:, None]
    table[:, 9:12] = np.array([30.0, 20.0, 40.0])[:, None]
    table[:, 12] = 0.1
    drive = lane_kernels.unit_drive(True, 0)
    work = np.zeros((4, lane_kernels.work_size(9)))
    load, table = load.ravel(), table.reshape(2 * steps + 1, -1)
    lane_kernels.integrate_lanes(
        load, table, steps, 9, drive, np.zeros(9 * 48), True, work, np.zeros((steps + 1, 0)), 8
    )
    return work[0], load, table


def condensed(ga, gb, wrench, gravity):
    """Force and tangent of a heavy integrated piece, its wrench iterated to closure."""
    h = np.linalg.inv(ga) @ gb
    c, force, raw = np.zeros(6), np.zeros(12), np.zeros(12)
    tangent, params = np.zeros((12, 12)), np.zeros((12, 1))
    for _ in range(12):
        y, load, table = lanes(wrench, ga[:3, :3].T @ gravity)
        piece_kernels.condense_piece(
            y, load, table[-1], 0, h, True, 0, 1.0, np.zeros((64, 32)), c, force, tangent, params
        )
        piece_kernels.end_forces(y, load, 0, h, np.zeros((1, 6)), raw)
        wrench = -force[:6]
    assert np.abs(c).max() < 1e-12
    return wrench, raw.copy(), tangent


def test_integrated_piece_force_balance_and_tangent():
    """The condensed tangent is that of the forces with the closure kept, weight included."""
    rng = np.random.default_rng(5)
    gravity = np.array([3.0, -6.0, -20.0])
    ga = lie.se3_exp(rng.normal(size=6))
    start = np.array([0.2, -0.1, 0.3, 0.01, 0.03, -0.02])
    y, _, _ = lanes(start, ga[:3, :3].T @ gravity)
    h = np.eye(4)
    h[:3, :3], h[:3, 3] = y[:72].reshape(9, 8)[:, 0].reshape(3, 3), y[72:96].reshape(3, 8)[:, 0]
    gb = ga @ h
    wrench, force, tangent = condensed(ga, gb, start, gravity)
    np.testing.assert_allclose(wrench, start, atol=1e-10)
    step = 1e-6
    for j in range(12):
        eta = step * np.eye(12)[j]
        up = condensed(ga @ lie.se3_exp(eta[:6]), gb @ lie.se3_exp(eta[6:]), wrench, gravity)
        down = condensed(ga @ lie.se3_exp(-eta[:6]), gb @ lie.se3_exp(-eta[6:]), wrench, gravity)
        slope = (up[1] - down[1]) / (2 * step)
        # the variation is integrated by the same RK4, not differentiated: fourth order apart
        np.testing.assert_allclose(slope, tangent[:, j], atol=2e-5 * np.abs(tangent).max())
    # both ends carry the weight
    total = ga[:3, :3] @ force[:3] + gb[:3, :3] @ force[6:9]
    np.testing.assert_allclose(total, -0.1 * 0.5 * gravity, atol=1e-9)


def test_small_elimination():
    rng = np.random.default_rng(0)
    for n in (1, 3, 6):
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 4))
        x = b.copy()
        sign = solve_in_place(a.copy(), n, x, 4)
        np.testing.assert_allclose(a @ x, b, atol=1e-9)
        assert sign == np.sign(np.linalg.det(a))
        q, _ = np.linalg.qr(a)
        eigenvalues = np.arange(n) - 1.5
        symmetric = q @ np.diag(eigenvalues) @ q.T
        assert negative_pivots(symmetric, n, np.zeros((n, n))) == np.sum(eigenvalues < 0.0)
    assert solve_in_place(np.zeros((3, 3)), 3, np.ones((3, 1)), 1) == 0
