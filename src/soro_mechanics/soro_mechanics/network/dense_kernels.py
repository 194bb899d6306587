# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small dense elimination for the network: no allocation, in place."""

from soro_mechanics.lie_kernels import kernel


@kernel
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
def negative_pivots(a, n, work):
    """Count the negative eigenvalues of the symmetric part of a (n, n), by inertia (Sylvester).

    A zero pivot counts as negative: it is a critical state.
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
        for r in range(i + 1, n):
            f = work[r, i] / d
            for c in range(i + 1, r + 1):
                work[r, c] -= f * work[c, i]
    return count
