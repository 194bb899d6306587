# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The ANCF element against equations (5), (25)-(27) integrated independently, and differences."""

import numpy as np
import pytest

from soro_mechanics.models.ancf.element_kernels import add_constraints, add_element, constraints
from soro_mechanics.models.ancf.shape_kernels import station, station_motion

EI, GI, EA, ALPHA = 0.0025, 0.0016, 68.4, 8.0


def _shapes(x, length):
    """Return the eight shape functions (7) on the centreline and their first two derivatives."""
    le = length
    s = [
        1 - 3 * x**2 / le**2 + 2 * x**3 / le**3,
        x - 2 * x**2 / le + x**3 / le**2,
        3 * x**2 / le**2 - 2 * x**3 / le**3,
        -(x**2) / le + x**3 / le**2,
    ]
    d = [
        -6 * x / le**2 + 6 * x**2 / le**3,
        1 - 4 * x / le + 3 * x**2 / le**2,
        6 * x / le**2 - 6 * x**2 / le**3,
        -2 * x / le + 3 * x**2 / le**2,
    ]
    dd = [
        -6 / le**2 + 12 * x / le**3,
        -4 / le + 6 * x / le**2,
        6 / le**2 - 12 * x / le**3,
        -2 / le + 6 * x / le**2,
    ]
    return s, d, dd


def energy(q, length):
    """Bending, torsion and stretch of (27) by twenty Gauss points, straight from the paper."""
    q1, q2 = q[:12], q[12:]
    parts = [q1[:3], q1[3:6], q2[:3], q2[3:6]]
    total = 0.0
    for node, weight in zip(*np.polynomial.legendre.leggauss(20), strict=True):
        x = 0.5 * (node + 1) * length
        _, d, dd = _shapes(x, length)
        rx = sum(c * p for c, p in zip(d, parts, strict=True))
        rxx = sum(c * p for c, p in zip(dd, parts, strict=True))
        y = (1 - x / length) * q1[6:9] + x / length * q2[6:9]
        z = (1 - x / length) * q1[9:12] + x / length * q2[9:12]
        dy, dz = (q2[6:9] - q1[6:9]) / length, (q2[9:12] - q1[9:12]) / length
        spin = 0.5 * (z @ dy - y @ dz)  # skew part of R^T R' in (25)
        strain = 0.5 * (rx @ rx - 1)
        density = EI * rxx @ rxx + GI * spin**2 + EA * strain**2
        total += 0.5 * weight * 0.5 * length * density
    return total


def penalty(q, length):
    """Return alpha L |F|^2 of one interior node, F of (24)."""
    x, y, z = q[3:6], q[6:9], q[9:12]
    flaw = np.array([y @ y - 1, z @ z - 1, y @ z, *(np.cross(y, z) - x)])
    return ALPHA * length * flaw @ flaw


def _rows():
    return np.zeros((12, 26)), np.zeros((12, 26))


def _element(q, length):
    first, second = _rows()
    work = (np.empty((3, 3)), np.empty((3, 3)), np.empty((3, 3, 3, 3)))
    add_element(q[:12].copy(), q[12:].copy(), length, (EI, GI, EA), first, second, work)
    gradient = np.concatenate([first[:, 24], second[:, 24]])
    by_length = np.concatenate([first[:, 25], second[:, 25]])
    hessian = np.block([[first[:, :12], first[:, 12:24]], [first[:, 12:24].T, second[:, :12]]])
    return gradient, hessian, by_length


def _node(q, length):
    row, _ = _rows()
    add_constraints(q.copy(), length, ALPHA, row, np.empty(6))
    return row[:, 24], row[:, :12], row[:, 25]


def random_element(seed, length):
    """Return a strongly deformed element, off its constraints."""
    rng = np.random.default_rng(seed)
    frame = [1, 0, 0, 0, 1, 0, 0, 0, 1]
    q = np.array([0, 0, 0, *frame, length, 0, 0, *frame], dtype=float)
    return q + rng.normal(0, 1, 24) * np.tile([0.2 * length] * 3 + [0.3] * 9, 2)


@pytest.mark.parametrize('seed', [0, 1, 2])
def test_gradient_is_the_derivative_of_the_published_energy(seed):
    length = 0.037
    q = random_element(seed, length)
    gradient, _, _ = _element(q, length)
    scale = np.tile([length] * 3 + [1.0] * 9, 2)
    for j in range(24):
        shift = np.eye(24)[j] * 1e-5 * scale[j]
        slope = (energy(q + shift, length) - energy(q - shift, length)) / (2e-5 * scale[j])
        assert gradient[j] * scale[j] == pytest.approx(slope * scale[j], abs=1e-8)


@pytest.mark.parametrize('seed', [0, 1, 2])
def test_hessian_and_length_derivative_match_differences(seed):
    length = 0.037
    q = random_element(seed, length)
    _, hessian, by_length = _element(q, length)
    scale = np.tile([length] * 3 + [1.0] * 9, 2)
    for j in range(24):
        shift = np.eye(24)[j] * 1e-6 * scale[j]
        rise = _element(q + shift, length)[0] - _element(q - shift, length)[0]
        np.testing.assert_allclose(
            hessian[:, j] * scale * scale[j], rise / 2e-6 * scale, atol=2e-8
        )
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12 * np.abs(hessian).max())
    step = 1e-7
    rise = _element(q, length + step)[0] - _element(q, length - step)[0]
    np.testing.assert_allclose(by_length * scale, rise / (2 * step) * scale, rtol=1e-6, atol=1e-6)


def test_constraint_penalty_matches_its_definition_and_differences():
    length = 0.031
    q = random_element(4, length)[:12]
    gradient, hessian, by_length = _node(q, length)
    for j in range(12):
        shift = np.eye(12)[j] * 1e-6
        slope = (penalty(q + shift, length) - penalty(q - shift, length)) / 2e-6
        assert gradient[j] == pytest.approx(slope, abs=1e-8)
        rise = _node(q + shift, length)[0] - _node(q - shift, length)[0]
        np.testing.assert_allclose(hessian[:, j], rise / 2e-6, atol=1e-8)
    rise = _node(q, length + 1e-6)[0] - _node(q, length - 1e-6)[0]
    np.testing.assert_allclose(by_length, rise / 2e-6, atol=1e-6)


def test_a_rigid_node_keeps_the_constraints():
    flaw = np.empty(6)
    angle = 0.7
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    constraints(np.concatenate([[0.1, 0.2, 0.3], turn.T.reshape(9)]), flaw)
    np.testing.assert_allclose(flaw, 0.0, atol=1e-15)


def test_energy_is_objective():
    length = 0.03
    q = random_element(5, length)
    angle = 1.1
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    moved = (q.reshape(8, 3) @ turn.T).reshape(24)
    moved[:3] += [1.0, -2.0, 0.5]
    moved[12:15] += [1.0, -2.0, 0.5]
    gradient, _, by_length = _element(q, length)
    turned, _, by_length_turned = _element(moved, length)
    np.testing.assert_allclose(turned.reshape(8, 3), gradient.reshape(8, 3) @ turn.T, atol=1e-10)
    np.testing.assert_allclose(
        by_length_turned.reshape(8, 3), by_length.reshape(8, 3) @ turn.T, atol=1e-8
    )


@pytest.mark.parametrize('place', [0.0, 0.3, 1.0])
def test_station_motion_is_the_derivative_of_the_station(place):
    length = 0.05
    q = random_element(6, length)
    motion = np.empty((6, 24))
    station_motion(q[:12].copy(), q[12:].copy(), length, place, motion)
    pose, plus, minus = np.empty((4, 4)), np.empty((4, 4)), np.empty((4, 4))
    station(q[:12], q[12:], length, place, pose)
    np.testing.assert_allclose(pose[:3, :3].T @ pose[:3, :3], np.eye(3), atol=1e-14)
    for j in range(24):
        shift = np.eye(24)[j] * 1e-7
        station((q + shift)[:12], (q + shift)[12:], length, place, plus)
        station((q - shift)[:12], (q - shift)[12:], length, place, minus)
        rate = (plus - minus) / 2e-7
        spin = rate[:3, :3] @ pose[:3, :3].T
        want = [*rate[:3, 3], spin[2, 1], spin[0, 2], spin[1, 0]]
        np.testing.assert_allclose(motion[:, j], want, atol=3e-6)
