# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The conventions of upstream: quaternions x, y, z, w; static xyz Euler angles."""

import numpy as np
import tf_transformations as tft


def test_quarter_turn_about_z_has_known_numbers():
    half = np.sqrt(0.5)
    np.testing.assert_allclose(tft.quaternion_about_axis(np.pi / 2, [0, 0, 1]), [0, 0, half, half])
    rotation = tft.quaternion_matrix([0, 0, half, half])
    np.testing.assert_allclose(rotation @ [1, 0, 0, 1], [0, 1, 0, 1], atol=1e-15)


def test_product_composes_rotations_in_matrix_order():
    first = tft.quaternion_from_euler(0.3, -0.2, 0.9)
    second = tft.quaternion_about_axis(1.1, [1, 2, -1])
    product = tft.quaternion_matrix(tft.quaternion_multiply(first, second))
    expected = tft.quaternion_matrix(first) @ tft.quaternion_matrix(second)
    np.testing.assert_allclose(product, expected, atol=1e-14)
    identity = tft.quaternion_multiply(first, tft.quaternion_inverse(first))
    np.testing.assert_allclose(identity, [0, 0, 0, 1], atol=1e-15)


def test_static_xyz_euler_angles_apply_x_first():
    x, y, z = 0.4, -0.7, 1.2
    matrix = (
        tft.rotation_matrix(z, [0, 0, 1])
        @ tft.rotation_matrix(y, [0, 1, 0])
        @ tft.rotation_matrix(x, [1, 0, 0])
    )
    np.testing.assert_allclose(tft.euler_from_matrix(matrix), [x, y, z], atol=1e-14)
    quaternion = tft.quaternion_from_matrix(matrix)
    np.testing.assert_allclose(tft.euler_from_quaternion(quaternion), [x, y, z], atol=1e-14)


def test_half_of_a_turn_is_a_turn_by_half_whatever_the_signs():
    first, axis = tft.quaternion_from_euler(0.3, -0.2, 0.9), [1, 2, -1]
    last = tft.quaternion_multiply(first, tft.quaternion_about_axis(1.2, axis))
    between = tft.quaternion_multiply(first, tft.quaternion_about_axis(0.3, axis))
    for sign in (1.0, -1.0):
        np.testing.assert_allclose(tft.quaternion_slerp(first, sign * last, 0.25), between)
    np.testing.assert_allclose(tft.quaternion_slerp(first, first, 0.4), first)


def test_rotation_about_a_point_keeps_it():
    point = np.array([0.1, -0.2, 0.3, 1.0])
    matrix = tft.rotation_matrix(0.8, [1, 1, 0], point)
    np.testing.assert_allclose(matrix @ point, point, atol=1e-15)
    np.testing.assert_allclose(
        tft.translation_from_matrix(tft.translation_matrix([1, 2, 3])), [1, 2, 3]
    )
