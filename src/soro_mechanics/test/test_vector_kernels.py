# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Vectors in kernels, against numpy."""

import numpy as np
import pytest

from soro_mechanics.numerics import vector_kernels as kernels

A, B, C = np.random.default_rng(0).normal(size=(3, 3)).tolist()
R = np.random.default_rng(1).normal(size=(3, 3))
NINE = tuple(R.ravel().tolist())

CASES = {
    'plus': (kernels.plus, (A, B), np.add(A, B)),
    'minus': (kernels.minus, (A, B), np.subtract(A, B)),
    'times': (kernels.times, (3.0, A), np.multiply(3.0, A)),
    'each': (kernels.each, (A, B), np.multiply(A, B)),
    'dot': (kernels.dot, (A, B), np.dot(A, B)),
    'plus_dot': (kernels.plus_dot, (3.0, A, B), 3.0 + np.dot(A, B)),
    'cross': (kernels.cross, (A, B), np.cross(A, B)),
    'plus_cross': (kernels.plus_cross, (A, B, C), A + np.cross(B, C)),
    'turned': (kernels.turned, (NINE, A), R @ A),
    'turned_back': (kernels.turned_back, (NINE, A), R.T @ A),
}


@pytest.mark.parametrize('name', CASES)
def test_algebra(name):
    kernel, arguments, expected = CASES[name]
    vectors = [tuple(x) if isinstance(x, list) else x for x in arguments]
    assert np.allclose(kernel(*vectors), expected, rtol=1e-14)


def test_places_in_arrays():
    flat, matrix = np.arange(30.0), np.arange(30.0).reshape(5, 6)
    assert kernels.vector_at(flat, 2, 8) == (2.0, 10.0, 18.0)
    assert kernels.number_at(flat, 7) == 7.0
    assert kernels.row_at(matrix, 2, 1) == tuple(matrix[2, 1:4])
    assert kernels.column_at(matrix, 1, 4) == tuple(matrix[1:4, 4])
    kernels.put_vector(flat, 3, 2, (-1.0, -2.0, -3.0))
    kernels.put_number(flat, 9, -4.0)
    assert flat[3:10].tolist() == [-1.0, 4.0, -2.0, 6.0, -3.0, 8.0, -4.0]


def test_hat_is_the_matrix_of_a_cross_product():
    matrix = np.ones((5, 6))
    kernels.add_hat(matrix, 1, 2, tuple(A))
    block = matrix[1:4, 2:5] - 1.0
    assert np.allclose(block @ B, np.cross(A, B), rtol=1e-14)
    matrix[1:4, 2:5] = 1.0
    assert (matrix == 1.0).all()
