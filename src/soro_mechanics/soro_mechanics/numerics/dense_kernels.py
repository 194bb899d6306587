# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small dense solvers: no allocation, in place; and the largest of residuals.

Source: Golub and Van Loan, Matrix Computations; checked by numpy in test_network_kernels.py.
"""

import math

import numpy as np
from numpy.linalg import LinAlgError

from soro_mechanics.compilation.kernels import fused_kernel, kernel, merged_kernel
from soro_mechanics.numerics.vector_kernels import (
    cross,
    dot,
    dot_six,
    put_vector,
    row_at,
    six_in_column,
    six_in_row,
    times,
)

EPSILON = 2.0**-52
MAX_SWEEPS = 30  # of rotations; few rows take four to eight
DEPENDENT = 1e-12  # squared sine of a column's angle to those before it, where it adds nothing


@fused_kernel
def solve_in_place(a, n, b, columns):
    """Replace the first columns of b (n, columns) by a^-1 b; a (n, n) is destroyed.

    Gaussian elimination with row exchange. Returns the sign of the determinant, 0 where a is
    singular.
    """
    sign = 1
    for i in range(n):
        p = i
        best = abs(a[i, i])
        for r in range(i + 1, n):
            if abs(a[r, i]) > best:
                best = abs(a[r, i])
                p = r
        if not best > 0.0:
            return 0
        if p != i:
            sign = -sign
            for j in range(i, n):
                a[i, j], a[p, j] = a[p, j], a[i, j]
            for j in range(columns):
                b[i, j], b[p, j] = b[p, j], b[i, j]
        if a[i, i] < 0.0:
            sign = -sign
        pivot = 1.0 / a[i, i]
        for r in range(i + 1, n):
            f = a[r, i] * pivot
            if f != 0.0:
                for j in range(i + 1, n):
                    a[r, j] -= f * a[i, j]
                for j in range(columns):
                    b[r, j] -= f * b[i, j]
    for i in range(n - 1, -1, -1):
        pivot = 1.0 / a[i, i]
        for j in range(columns):
            b[i, j] *= pivot
        for r in range(i):
            f = a[r, i]
            if f != 0.0:
                for j in range(columns):
                    b[r, j] -= f * b[i, j]
    return sign


@kernel
def cholesky(a, lower, first):
    """Factor a = lower lower^T (n, n), from row `first` on; whether a is positive definite.

    Cholesky; lower (n, n): out, zero above its diagonal; rows before `first` are given.
    """
    for i in range(first, a.shape[0]):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            if j < i:
                lower[i, j] = s / lower[j, j]
                lower[j, i] = 0.0
            elif not s > 0.0:
                return False
            else:
                lower[i, i] = np.sqrt(s)
    return True


@kernel
def solve_lower(lower, b):
    """Overwrite b (n,) with lower^-1 b; lower (n, n)."""
    for i in range(lower.shape[0]):
        s = b[i]
        for k in range(i):
            s -= lower[i, k] * b[k]
        b[i] = s / lower[i, i]


@kernel
def solve_upper(lower, b):
    """Overwrite b (n,) with lower^-T b; lower (n, n)."""
    for i in range(lower.shape[0] - 1, -1, -1):
        s = b[i]
        for k in range(i + 1, lower.shape[0]):
            s -= lower[k, i] * b[k]
        b[i] = s / lower[i, i]


@kernel
def solve_triangle(upper, b):
    """Overwrite b (n,) with upper^-1 b; upper (n or more, n or more)."""
    for i in range(b.shape[0] - 1, -1, -1):
        b[i] = (b[i] - inner(upper[i, i + 1 : b.shape[0]], b[i + 1 :])) / upper[i, i]


@kernel
def triangularise(a, n):
    """Overwrite the first n columns of a by R of their QR factors, what follows by Q^T of it.

    Householder's reflections H = 1 - 2 v v^T / v^2; a (m, n or more) keeps parts of v below R.
    """
    rows, columns = a.shape
    for k in range(n):
        s = 0.0
        for i in range(k, rows):
            s += a[i, k] * a[i, k]
        length = np.sqrt(s)
        if length == 0.0:
            continue
        diagonal = -length if a[k, k] > 0.0 else length
        head = a[k, k] - diagonal
        # v = (head, column below): H = 1 - v v^T / (length * |head|)
        factor = 1.0 / (length * abs(head))
        for j in range(k + 1, columns):
            t = head * a[k, j]
            for i in range(k + 1, rows):
                t += a[i, k] * a[i, j]
            t *= factor
            a[k, j] -= t * head
            for i in range(k + 1, rows):
                a[i, j] -= t * a[i, k]
        a[k, k] = diagonal


@kernel
def invert_upper(matrix, n, out):
    """Write the inverse of the upper triangle of matrix (n, n) to out (n, n)."""
    for j in range(n):
        for i in range(n):
            out[i, j] = 0.0
        out[j, j] = 1.0 / matrix[j, j]
        for i in range(j - 1, -1, -1):
            s = 0.0
            for k in range(i + 1, j + 1):
                s += matrix[i, k] * out[k, j]
            out[i, j] = -s / matrix[i, i]


@kernel
def least_squares(a, x):
    """Write the x (n,) that leaves the least of a[:, :n] x - a[:, n]; a (m, n + 1) is destroyed.

    Returns False where a column depends on others: x is not written then.
    """
    n = x.shape[0]
    size = np.zeros(n)
    for j in range(n):
        for i in range(a.shape[0]):
            size[j] += a[i, j] ** 2
    if a.shape[0] < n:
        return False
    triangularise(a, n)
    for j in range(n):
        if not a[j, j] ** 2 > DEPENDENT * size[j]:
            return False
    x[:] = a[:n, n]
    solve_triangle(a, x)
    return True


@fused_kernel
def negative_pivots(a, n, work):
    """Count the negative eigenvalues of the symmetric part of a (n, n), by inertia (Sylvester).

    Pivots of L D L^T, work (n, n) scratch. A zero counts as negative: it is a critical state.
    """
    for i in range(n):
        for j in range(i + 1):
            work[i, j] = 0.5 * (a[i, j] + a[j, i])
    count = 0
    for i in range(n):
        d = work[i, i]
        if not d > 0.0:
            count += 1
        if d == 0.0:
            continue
        pivot = 1.0 / d
        for r in range(i + 1, n):
            f = work[r, i] * pivot
            for c in range(i + 1, r + 1):
                work[r, c] -= f * work[c, i]
    return count


@fused_kernel
def extreme_eigenvalues(a, unit):
    """Return least and largest eigenvalue of the symmetric part of a * unit, both (n, n)."""
    n = a.shape[0]
    m = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            m[i, j] = 0.5 * (a[i, j] * unit[i, j] + a[j, i] * unit[j, i])
    _diagonalise(m, np.empty((n, 0)))
    least = largest = m[0, 0]
    for i in range(1, n):
        least, largest = min(least, m[i, i]), max(largest, m[i, i])
    return least, largest


@fused_kernel
def convex(h):
    """Return the symmetric part of h (n, n) with its eigenvalues below zero set to zero."""
    n = h.shape[0]
    m, vectors, out = 0.5 * (h + h.T), np.eye(n), np.zeros((n, n))
    _diagonalise(m, vectors)
    for k in range(n):
        for i in range(n if m[k, k] > 0.0 else 0):
            for j in range(n):
                out[i, j] += m[k, k] * vectors[k, i] * vectors[k, j]
    return out


@fused_kernel
def _diagonalise(m, vectors):
    """Make a symmetric m (n, n) diagonal; rows of `vectors` become its vectors if they were units.

    Jacobi's rotations: for six rows half the time that the way to LAPACK takes, and as exact. Of
    thirty LAPACK makes the threads of BLAS wait for each other, milliseconds where they are busy.
    """
    n = m.shape[0]
    size = 0.0
    for i in range(n):
        for j in range(n):
            size += m[i, j] ** 2
    if not size < math.inf:
        raise LinAlgError  # as LAPACK's do
    for _ in range(MAX_SWEEPS):
        left = 0.0  # of what is beside the diagonal, squared
        for p in range(n):
            for q in range(p + 1, n):
                off = m[p, q]
                if off == 0.0:
                    continue
                left += off * off
                ratio = 0.5 * (m[q, q] - m[p, p]) / off
                t = math.copysign(1.0, ratio) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
                c = 1.0 / math.sqrt(t * t + 1.0)
                s = t * c
                for k in range(n):
                    m[k, p], m[k, q] = c * m[k, p] - s * m[k, q], s * m[k, p] + c * m[k, q]
                for rows in (m, vectors):
                    for k in range(rows.shape[1]):
                        a, b = rows[p, k], rows[q, k]
                        rows[p, k], rows[q, k] = c * a - s * b, s * a + c * b
        if not left > (EPSILON * n) ** 2 * size:
            break


@fused_kernel
def factorise_six(d, b):
    """Replace d (6, 6 or more) by its factors L U, rows of b exchanged like those of d.

    The diagonal is left as its reciprocal. Further columns of d are exchanged along: row numbers
    there tell the order afterwards. Returns 0 where the (6, 6) part is singular.
    """
    for i in range(6):
        p = i
        best = abs(d[i, i])
        for r in range(i + 1, 6):
            if abs(d[r, i]) > best:
                best = abs(d[r, i])
                p = r
        if not best > 0.0:
            return 0
        if p != i:
            for j in range(d.shape[1]):
                d[i, j], d[p, j] = d[p, j], d[i, j]
            for j in range(b.shape[1]):
                b[i, j], b[p, j] = b[p, j], b[i, j]
        pivot = 1.0 / d[i, i]
        d[i, i] = pivot
        for r in range(i + 1, 6):
            f = d[r, i] * pivot
            d[r, i] = f
            for j in range(i + 1, 6):
                d[r, j] -= f * d[i, j]
    return 1


@merged_kernel
def substitute_six(d, b, first, lanes):
    """Replace so many columns of b, from `first`, by d^-1 of them, d as `factorise_six` left it.

    One pass over the columns, so that they become lanes of vector instructions.
    """
    for j in range(lanes):
        x0 = b[0, first + j]
        x1 = b[1, first + j] - d[1, 0] * x0
        x2 = b[2, first + j] - d[2, 0] * x0 - d[2, 1] * x1
        x3 = b[3, first + j] - d[3, 0] * x0 - d[3, 1] * x1 - d[3, 2] * x2
        x4 = b[4, first + j] - d[4, 0] * x0 - d[4, 1] * x1 - d[4, 2] * x2 - d[4, 3] * x3
        x5 = b[5, first + j] - d[5, 0] * x0 - d[5, 1] * x1 - d[5, 2] * x2 - d[5, 3] * x3
        x5 = (x5 - d[5, 4] * x4) * d[5, 5]
        x4 = (x4 - d[4, 5] * x5) * d[4, 4]
        x3 = (x3 - d[3, 4] * x4 - d[3, 5] * x5) * d[3, 3]
        x2 = (x2 - d[2, 3] * x3 - d[2, 4] * x4 - d[2, 5] * x5) * d[2, 2]
        x1 = (x1 - d[1, 2] * x2 - d[1, 3] * x3 - d[1, 4] * x4 - d[1, 5] * x5) * d[1, 1]
        x0 = x0 - d[0, 1] * x1 - d[0, 2] * x2 - d[0, 3] * x3
        x0 = (x0 - d[0, 4] * x4 - d[0, 5] * x5) * d[0, 0]
        b[0, first + j] = x0
        b[1, first + j] = x1
        b[2, first + j] = x2
        b[3, first + j] = x3
        b[4, first + j] = x4
        b[5, first + j] = x5


@kernel
def invert_three(p, out):
    """Write the inverse of symmetric p (3, 3), out; return the number of negative eigenvalues."""
    a, b, c = row_at(p, 0, 0), row_at(p, 1, 0), row_at(p, 2, 0)
    x, y, z = cross(b, c), cross(c, a), cross(a, b)
    det = dot(a, x)
    put_vector(out[0], 0, 1, times(1.0 / det, x))
    put_vector(out[1], 0, 1, times(1.0 / det, y))
    put_vector(out[2], 0, 1, times(1.0 / det, z))
    return int(a[0] < 0.0) + int(z[2] * a[0] < 0.0) + int(det * z[2] < 0.0)


@kernel
def inner(a, b):
    """Return a . b, shapes (n,)."""
    s = 0.0
    for i in range(a.shape[0]):
        s += a[i] * b[i]
    return s


@kernel
def add_scaled(x, factor, y):
    """Write x + factor y to x, shapes (n,)."""
    for i in range(x.shape[0]):
        x[i] += factor * y[i]


@merged_kernel
def row_times(c, i, first, b, row):
    """Write row i of c, from column `first`, times b (6, n) into row (n,)."""
    left = six_in_row(c, i, first)
    for j in range(b.shape[1]):
        row[j] = dot_six(left, six_in_column(b, 0, j))


@fused_kernel
def largest_part(x):
    """Return the largest of numbers x (n,), signs apart; for few in a fifth of numpy's time."""
    worst = 0.0
    for i in range(x.shape[0]):
        worst = larger(worst, abs(x[i]))
    return worst


@fused_kernel
def larger(worst, value):
    """Return the larger of worst and value, NaN where one is: a residual with NaN is not small."""
    return worst if worst >= value or worst != worst else value
