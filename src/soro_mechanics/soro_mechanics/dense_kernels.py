# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small dense linear systems inside kernels."""

from soro_mechanics.lie_kernels import kernel


@kernel
def solve_dense(a, b):
    """Solve a x = b in place for a (n, n) and b (n, columns); False when a is singular."""
    n = a.shape[0]
    for i in range(n):
        pivot = i
        for r in range(i + 1, n):
            if abs(a[r, i]) > abs(a[pivot, i]):
                pivot = r
        if not abs(a[pivot, i]) > 0.0:
            return False
        for c in range(n):
            a[i, c], a[pivot, c] = a[pivot, c], a[i, c]
        for c in range(b.shape[1]):
            b[i, c], b[pivot, c] = b[pivot, c], b[i, c]
        for r in range(n):
            if r != i:
                t = a[r, i] / a[i, i]
                for c in range(i, n):
                    a[r, c] -= t * a[i, c]
                for c in range(b.shape[1]):
                    b[r, c] -= t * b[i, c]
    for i in range(n):
        for c in range(b.shape[1]):
            b[i, c] /= a[i, i]
    return True
