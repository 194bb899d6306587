# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Check SO(3) and SE(3) against scipy's matrix functions, power series and identities."""

from lie_jacobians import jacobian as lie_jacobian
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

from soro_mechanics import InvalidInput
from soro_mechanics.numerics import lie, lie_kernels
from soro_mechanics.numerics.lie_kernels import SERIES_BELOW

AXIS = np.array([0.36, -0.48, 0.8])
LINEAR = np.array([0.3, -1.1, 0.7])
SWITCH = np.sqrt(SERIES_BELOW)
ANGLES = (0.0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-5, 1e-3, 0.1, 1.0, np.nextafter(SWITCH, 0.0),
          SWITCH, 2.5, 3.1, np.pi - 1e-9, np.pi)  # fmt: skip


def twist_matrix(xi):
    out = np.zeros((4, 4))
    out[:3, :3] = lie.hat3(xi[3:])
    out[:3, 3] = xi[:3]
    return out


def twists():
    return [np.concatenate([LINEAR, a * AXIS]) for a in ANGLES]


@pytest.mark.parametrize('angle', ANGLES)
def test_exp_is_the_matrix_exponential(angle):
    w = angle * AXIS
    np.testing.assert_allclose(lie.so3_exp(w), expm(lie.hat3(w)), atol=4e-15)
    xi = np.concatenate([LINEAR, w])
    np.testing.assert_allclose(lie.se3_exp(xi), expm(twist_matrix(xi)), atol=4e-15)


@pytest.mark.parametrize('angle', [a for a in ANGLES if a < np.pi])
def test_log_inverts_exp(angle):
    w = angle * AXIS
    # Near pi the rotation matrix itself determines the axis only to its own rounding.
    np.testing.assert_allclose(lie.so3_log(lie.so3_exp(w)), w, rtol=2e-13, atol=1e-308)
    xi = np.concatenate([LINEAR, w])
    np.testing.assert_allclose(lie.se3_log(lie.se3_exp(xi)), xi, rtol=1e-12, atol=1e-308)


@pytest.mark.parametrize('axis', [AXIS, -AXIS, [1, 0, 0], [0, -1, 0], [0, 0, 1], [0.6, -0.8, 0]])
@pytest.mark.parametrize('gap', [0.0, 1e-15, 1e-9, 1e-4, 0.3])
def test_log_is_right_near_half_a_turn(axis, gap):
    rotation = Rotation.from_rotvec((np.pi - gap) * np.asarray(axis)).as_matrix()
    w = lie.so3_log(rotation)
    assert np.linalg.norm(w) == pytest.approx(np.pi - gap, abs=4e-15)
    np.testing.assert_allclose(lie.so3_exp(w), rotation, atol=2e-15)


def test_log_agrees_with_scipy_on_random_rotations():
    for rotation in Rotation.random(200, random_state=7):
        np.testing.assert_allclose(
            lie.so3_log(rotation.as_matrix()), rotation.as_rotvec(), atol=1e-12
        )


@pytest.mark.parametrize('angle', [*ANGLES, 4.0, 5.5])
def test_inverse_jacobian_is_that_of_the_series(angle):
    w, out = angle * AXIS, np.empty((3, 3))
    lie_kernels.so3_right_jacobian_inverse(w, out)
    whole = lie_jacobian('so3_right_jacobian', w)
    np.testing.assert_allclose(out @ whole, np.eye(3), atol=4e-13)


def test_left_jacobian_is_the_finite_difference_of_exp():
    step = 1e-6
    for xi in twists():
        g_inverse = lie.inverse(lie.se3_exp(xi))
        jacobian = lie_jacobian('se3_left_jacobian', xi)
        for i, direction in enumerate(np.eye(6)):
            ahead = lie.se3_log(lie.compose(lie.se3_exp(xi + step * direction), g_inverse))
            behind = lie.se3_log(lie.compose(lie.se3_exp(xi - step * direction), g_inverse))
            np.testing.assert_allclose((ahead - behind) / (2 * step), jacobian[:, i], atol=2e-9)


def test_adjoint_moves_a_twist_and_small_adjoint_generates_it():
    for xi in twists():
        g = lie.se3_exp(xi)
        other = np.array([0.2, 0.5, -0.3, 0.4, -0.1, 0.9])
        moved = g @ twist_matrix(other) @ lie.inverse(g)
        np.testing.assert_allclose(twist_matrix(lie.adjoint(g) @ other), moved, atol=1e-14)
        np.testing.assert_allclose(lie.adjoint(g), expm(lie.small_adjoint(xi)), atol=1e-14)
        np.testing.assert_allclose(lie.adjoint(g) @ lie.adjoint_inverse(g), np.eye(6), atol=1e-14)


def test_wrappers_refuse_what_is_not_a_pose():
    with pytest.raises(InvalidInput, match='rotation matrix'):
        lie.so3_log(2.0 * np.eye(3))
    with pytest.raises(InvalidInput, match='rigid transform'):
        lie.adjoint(np.ones((4, 4)))
    with pytest.raises(InvalidInput, match='finite'):
        lie.se3_exp([np.nan, 0, 0, 0, 0, 0])
