# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Small dense convex quadratic programs, solved without allocation in a few microseconds.

For the haptic loop: at most a dozen unknowns, every tick, inside one compiled function that
releases the interpreter lock. Everything else (calibration, offline work) uses cvxpy.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from soro_mechanics.core.array_input import bound_array, finite_array
from soro_mechanics.core.configuration import Array
from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.core.status import Code
from soro_mechanics.numerics import qp_kernels as kernels

SYMMETRY = 1e-9  # of the largest entry of h: round-off of products like J.T W J
CODES = {
    kernels.OPTIMAL: Code.NONE,
    kernels.INFEASIBLE: Code.UNREACHABLE,
    kernels.NOT_CONVEX: Code.UNSTABLE,
    kernels.ITERATION_LIMIT: Code.NOT_CONVERGED,
    kernels.NOT_FINITE: Code.NOT_FINITE,
}


@dataclass(frozen=True)
class QpSolution:
    """A solution, with the multipliers that prove it."""

    x: Array  # (n,)
    # (m,) ``h x + g = c.T multiplier``; positive where the lower bound holds x, negative the upper
    multiplier: Array
    # NONE; UNREACHABLE: the bounds contradict each other; UNSTABLE: h is not positive definite;
    # NOT_CONVERGED
    code: Code
    iterations: int


def solve_qp(
    h: ArrayLike,
    g: ArrayLike,
    c: ArrayLike | None = None,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
) -> QpSolution:
    """Minimise ``1/2 x.h.x + g.x`` subject to ``low <= c x <= high``.

    Parameters
    ----------
    h : array_like, shape (n, n)
        Symmetric positive definite.
    g : array_like, shape (n,)
    c : array_like, shape (m, n), optional
        No rows when omitted.
    low, high : array_like, shape (m,), optional
        May be infinite; unbounded when omitted.

    Raises
    ------
    InvalidInput
        Shapes that do not fit, numbers that are not finite, or an h that is not symmetric.
    """
    n = np.size(g)
    objective, gradient = finite_array('h', h, (n, n)), finite_array('g', g, (n,))
    if np.abs(objective - objective.T).max(initial=0.0) > SYMMETRY * np.abs(objective).max():
        raise InvalidInput('h', h, 'a symmetric matrix: write 0.5 (h + h.T)')
    m = 0 if c is None else np.shape(c)[0]
    rows = finite_array('c', np.zeros((0, n)) if c is None else c, (m, n))
    lower = bound_array('low', np.full(m, -np.inf) if low is None else low, m)
    upper = bound_array('high', np.full(m, np.inf) if high is None else high, m)
    x, multiplier = np.full(n, np.nan), np.zeros(m)
    work, index = np.zeros(kernels.workspace_size(n, m)), np.zeros(n, np.int64)
    status, iterations = kernels.solve_qp(
        objective, gradient, kernels.Bounds(rows, lower, upper), x, multiplier, work, index
    )
    return QpSolution(x, multiplier, CODES[status], iterations)
