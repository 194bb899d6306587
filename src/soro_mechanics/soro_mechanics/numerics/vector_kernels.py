# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Vectors (3,) as tuples, merged into loops that become vector instructions.

A rotation is nine numbers, row by row. In arrays the numbers of a vector are `step` apart. Twists
and wrenches are six numbers: two vectors, one after the other.

Places are not negative: to the compiler they are unsigned, as it could not see that everywhere.

Source: textbook algebra; checked by numpy in test_vector_kernels.py.
"""

import numpy as np

from soro_mechanics.compilation.kernels import merged_kernel


@merged_kernel
def number_at(array, at):
    """Return the number at a place of a flat array."""
    return array[np.uint64(at)]


@merged_kernel
def put_number(array, at, a):
    """Write a number a to a place `at` of a flat array."""
    array[np.uint64(at)] = a


@merged_kernel
def vector_at(array, at, step):
    """Return the vector that begins `at` a place of a flat array, numbers a step apart."""
    i, j, k = np.uint64(at), np.uint64(at + step), np.uint64(at + 2 * step)
    return array[i], array[j], array[k]


@merged_kernel
def pair_at(array, at):
    """Return linear and angular part of the six numbers that begin at a place of a flat array."""
    return vector_at(array, at, 1), vector_at(array, at + 3, 1)


@merged_kernel
def put_vector(array, at, step, a):
    """Write a vector to a place `at` of a flat array, numbers a step apart."""
    i, j, k = np.uint64(at), np.uint64(at + step), np.uint64(at + 2 * step)
    array[i], array[j], array[k] = a


@merged_kernel
def row_at(matrix, i, j):
    """Return the vector in row i of a matrix from column j on."""
    k, a, b, c = np.uint64(i), np.uint64(j), np.uint64(j + 1), np.uint64(j + 2)
    return matrix[k, a], matrix[k, b], matrix[k, c]


@merged_kernel
def column_at(matrix, i, j):
    """Return the vector in column j of a matrix from row i on."""
    k, a, b, c = np.uint64(j), np.uint64(i), np.uint64(i + 1), np.uint64(i + 2)
    return matrix[a, k], matrix[b, k], matrix[c, k]


@merged_kernel
def six_in_row(matrix, i, j):
    """Return the six numbers in row i of a matrix from column j on."""
    return row_at(matrix, i, j) + row_at(matrix, i, j + 3)


@merged_kernel
def six_in_column(matrix, i, j):
    """Return the six numbers in column j of a matrix from row i on."""
    return column_at(matrix, i, j) + column_at(matrix, i + 3, j)


@merged_kernel
def dot_six(a, b):
    """Return a . b of six numbers."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]


@merged_kernel
def add_hat(matrix, i, j, a):
    """Add the matrix of a x to the block (3, 3) that begins at (i, j)."""
    matrix[i, j + 1] -= a[2]
    matrix[i, j + 2] += a[1]
    matrix[i + 1, j] += a[2]
    matrix[i + 1, j + 2] -= a[0]
    matrix[i + 2, j] -= a[1]
    matrix[i + 2, j + 1] += a[0]


@merged_kernel
def plus(a, b):
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@merged_kernel
def minus(a, b):
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@merged_kernel
def times(s, a):
    """Return s a of a number and a vector."""
    return s * a[0], s * a[1], s * a[2]


@merged_kernel
def each(a, b):
    """Return the products of the numbers of two vectors: a diagonal matrix times b."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@merged_kernel
def dot(a, b):
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@merged_kernel
def plus_dot(s, a, b):
    """Return s + a . b."""
    return s + a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@merged_kernel
def cross(a, b):
    """Return a x b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@merged_kernel
def plus_cross(a, b, c):
    """Return a + b x c."""
    return (
        a[0] + b[1] * c[2] - b[2] * c[1],
        a[1] + b[2] * c[0] - b[0] * c[2],
        a[2] + b[0] * c[1] - b[1] * c[0],
    )


@merged_kernel
def in_axes(g, a):
    """Return a vector a of space in the axes of a frame: R' a, R of g (3, 3) or larger."""
    return dot(column_at(g, 0, 0), a), dot(column_at(g, 0, 1), a), dot(column_at(g, 0, 2), a)


@merged_kernel
def out_of_axes(g, a):
    """Return a vector a of a frame in the axes of space: R a, R of g (3, 3) or larger."""
    return dot(row_at(g, 0, 0), a), dot(row_at(g, 1, 0), a), dot(row_at(g, 2, 0), a)


@merged_kernel
def turned(r, a):
    """Return R a, r = R row by row."""
    return (
        r[0] * a[0] + r[1] * a[1] + r[2] * a[2],
        r[3] * a[0] + r[4] * a[1] + r[5] * a[2],
        r[6] * a[0] + r[7] * a[1] + r[8] * a[2],
    )


@merged_kernel
def turned_back(r, a):
    """Return R' a, r = R row by row."""
    return (
        r[0] * a[0] + r[3] * a[1] + r[6] * a[2],
        r[1] * a[0] + r[4] * a[1] + r[7] * a[2],
        r[2] * a[0] + r[5] * a[1] + r[8] * a[2],
    )
