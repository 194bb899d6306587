# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Kernel of the small dense quadratic program of the haptic loop; wrapper and words in `qp`.

Dual active set in the coordinates y = L^T x, h = L L^T, in which the objective is a distance. The
Gram matrix of the active rows is factorised row by row: one that comes adds its own, one that goes
renews those after it, so that no rounding accumulates. c: Climb, `count` rows active.

Source: Goldfarb and Idnani (1983), Mathematical Programming 27; checked by the conditions of
optimality and cvxpy in test_qp.py.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from soro_mechanics.compilation.kernels import kernel, makes_arrays
from soro_mechanics.numerics.dense_kernels import (
    add_scaled,
    cholesky,
    inner,
    solve_lower,
    solve_triangle,
    solve_upper,
)

OPTIMAL = 0
INFEASIBLE = 1
NOT_CONVEX = 2
ITERATION_LIMIT = 3
NOT_FINITE = 4

# Violation of a row that counts as none, relative to the sizes of the terms that are subtracted:
# about a thousand roundings, the price of two triangular solves.
ROUNDING = 2e-13
# Squared sine of the angle to the span of the active rows below which a row depends on them.
DEPENDENT = 1e-12

Floats = NDArray[np.float64]


class Bounds(NamedTuple):
    """Rows ``low <= rows @ x <= high``; the bounds may be infinite."""

    rows: Floats  # (m, n)
    low: Floats  # (m,)
    high: Floats  # (m,)


class Climb(NamedTuple):
    """The problem where the objective is a distance, and the point so far."""

    rows: Floats  # (m, n)
    norm: Floats  # (m,) of the rows
    low: Floats
    high: Floats
    free: Floats  # (n,) where nothing bounds it
    y: Floats  # (n,) the point
    z: Floats  # (n,) its direction
    r: Floats  # (n,) change of the active rows' forces
    u: Floats  # (n,) these forces
    sign: Floats  # (n,) 1 where `low` holds
    gram: Floats  # (n, n)
    factor: Floats  # (n, n) of it
    active: NDArray[np.int64]  # (n,) rows


@kernel
def _factor_active(c, first, count):
    """Write Gram matrix and factor of c's count active rows, from `first` on; whether definite."""
    for i in range(first, count):
        for j in range(i + 1):
            dot = inner(c.rows[c.active[i]], c.rows[c.active[j]])
            c.gram[i, j] = c.sign[i] * c.sign[j] * dot
    return cholesky(c.gram[:count, :count], c.factor[:count, :count], first)


@kernel
def _worst(c, count):
    """Return the row violated most (its distance in the metric of the objective), and its side.

    The distance is (bound - row y) / |row|, c's count active rows left out; row -1 where none is.
    """
    size = np.sqrt(inner(c.y, c.y))
    worst = -1
    side = 1.0
    gap = 0.0
    for i in range(c.rows.shape[0]):
        held = False
        for k in range(count):
            held = held or c.active[k] == i
        if held or c.norm[i] == 0.0:
            continue
        value = inner(c.rows[i], c.y)
        slack = ROUNDING * c.norm[i] * size
        for s in (1.0, -1.0):
            bound = c.low[i] if s > 0.0 else c.high[i]
            excess = s * (bound - value)
            if excess > slack + ROUNDING * abs(bound) and excess / c.norm[i] > gap:
                worst, side, gap = i, s, excess / c.norm[i]
    return worst, side


@kernel
def workspace_size(n, m):
    """Return the length of the workspace of `solve_qp` of n unknowns, m rows."""
    return 3 * n * n + m * n + m + 6 * n


@kernel
def solve_qp(h, g, bounds, x, multiplier, work, index):
    """Minimise 1/2 x.h.x + g.x subject to bounds; return (status, iterations).

    h (n, n) positive definite; g (n,); bounds: Bounds; x (n,), multiplier (m,): out, ``h x + g =
    rows.T multiplier``, positive where `low` holds, negative where `high`; work
    (workspace_size(n, m),) float64, index (n,) int64: scratch.
    """
    c, low, high = bounds.rows, bounds.low, bounds.high
    n, m = g.shape[0], c.shape[0]
    edge = n * n
    factor = work[:edge].reshape((n, n))
    gram = work[edge : 2 * edge].reshape((n, n))
    chol = work[2 * edge : 3 * edge].reshape((n, n))
    rows = work[3 * edge : 3 * edge + m * n].reshape((m, n))
    rest = work[3 * edge + m * n :]
    norm, vectors = rest[:m], rest[m : m + 6 * n].reshape((6, n))
    free, y, z = vectors[0], vectors[1], vectors[2]
    r, u, sign = vectors[3], vectors[4], vectors[5]
    multiplier[:] = 0.0
    if not (np.isfinite(inner(g, g)) and np.isfinite(np.sum(h)) and np.isfinite(np.sum(c))):
        return NOT_FINITE, 0
    if not cholesky(h, factor, 0):
        return NOT_CONVEX, 0
    for i in range(n):
        free[i] = -g[i]
    solve_lower(factor, free)
    y[:] = free
    for i in range(m):
        if np.isnan(low[i]) or np.isnan(high[i]):
            return NOT_FINITE, 0
        if low[i] > high[i]:
            return INFEASIBLE, 0
        rows[i] = c[i]
        solve_lower(factor, rows[i])
        norm[i] = np.sqrt(inner(rows[i], rows[i]))
        if norm[i] == 0.0 and (low[i] > 0.0 or high[i] < 0.0):
            return INFEASIBLE, 0
    climb = Climb(rows, norm, low, high, free, y, z, r, u, sign, gram, chol, index)
    status, count, iterations = _climb(climb)
    if status != OPTIMAL:
        return status, iterations
    for k in range(count):
        multiplier[index[k]] = sign[k] * u[k]
    x[:] = y
    solve_upper(factor, x)
    return OPTIMAL, iterations


@kernel
def solved(h, g, c, low, high):
    """Return status, x, multiplier of `solve_qp` of h, g, Bounds(c, low, high), in new arrays."""
    x, multiplier, index = np.full(g.size, np.nan), np.zeros(low.size), np.zeros(g.size, np.int64)
    work = np.zeros(workspace_size(g.size, low.size))
    return solve_qp(h, g, Bounds(c, low, high), x, multiplier, work, index)[0], x, multiplier


@kernel
def _limited(rows, i, z):
    """Return ``rows[i] @ z``; the first rows are z itself."""
    return z[i] if i < z.size else inner(rows[i], z)


@kernel
def step_bounds(rows, z, low, high, trust):
    """Return low, high less rows z for `rows @ step`; the first rows, z itself, within `trust`."""
    least, most = np.empty(low.size), np.empty(low.size)
    for i in range(low.size):
        value, far = _limited(rows, i, z), trust if i < z.size else np.inf
        least[i], most[i] = max(low[i] - value, -far), min(high[i] - value, far)
    return least, most


@kernel
def upper_of(h):
    """Return upper, h (n, n) = upper.T @ upper, empty where h is not positive definite."""
    lower = np.empty(h.shape)
    return lower.T.copy() if cholesky(h, lower, 0) else np.empty((0, 0))


@kernel
def _meeting(upper, g, task, residual, x, force):
    """Write step x and multipliers force of independent rows; whether they alone say it.

    x = h^-1 (task^T force - g), task x = residual. `upper`: of the Hessian h, see `upper_of`.
    """
    n, count = g.size, residual.size
    gram, lower = np.empty((count, count)), np.empty((count, count))
    along = np.empty((count + 1, n))  # rows and -g where the energy is a distance
    along[:count], along[count] = task, -g
    for k in range(n if upper.size else 0):
        for row in along:
            row[k] /= upper[k, k]
            add_scaled(row[k + 1 :], -row[k], upper[k, k + 1 :])
    for i in range(count):
        for j in range(i + 1):
            gram[i, j] = inner(along[i], along[j])
        force[i] = residual[i] - inner(along[i], along[count])
    met = upper.size > 0 and cholesky(gram, lower, 0)
    for i in range(count):
        met = met and lower[i, i] * lower[i, i] > DEPENDENT * gram[i, i]
    if met:
        solve_lower(lower, force)
        solve_upper(lower, force)
        x[:] = along[count]
        for j in range(count):
            add_scaled(x, force[j], along[j])
        solve_triangle(upper, x)
    return met and np.isfinite(inner(x, x))


@makes_arrays
@kernel
def least_energy(energy, task, residual, within, x, force):
    """Write the step x of least energy that meets a task within `step_bounds`, and multipliers.

    x.h.x / 2 + (z - rest).x least, task x = residual. `energy`: Hessian h, its `upper_of`, and
    rest; within: arguments of `step_bounds`; force: multipliers. Returns the status, how large
    they are, and whether the task alone says the step, as it mostly does.
    """
    (h, upper, rest), (rows, z, low, high, trust) = energy, within
    g = z - rest
    low, high = step_bounds(rows, z, low, high, trust)
    alone = _meeting(upper, g, task, residual, x, force)
    for i in range(rows.shape[0]):
        alone = alone and low[i] <= _limited(rows, i, x) <= high[i]
    status = OPTIMAL
    if not alone:
        ends = np.concatenate((residual, low)), np.concatenate((residual, high))
        status, x[:], both = solved(h, g, np.concatenate((task, rows)), *ends)
        force[:] = both[: residual.size]
    return status, np.sqrt(inner(force, force)), alone


@kernel
def _climb(c):
    """Add violated rows one by one, dropping rows whose force would turn round.

    A row a of c moves y by z = a - A^T r per force, A's by -r, r = (A A^T)^-1 A a; rows by sign.
    """
    n, m = c.y.shape[0], c.rows.shape[0]
    count, iterations, limit = 0, 0, 20 * (n + m)
    factored = True
    while iterations < limit:
        new, side = _worst(c, count)
        if new < 0:
            return OPTIMAL, count, iterations
        bound = c.low[new] if side > 0.0 else c.high[new]
        force = 0.0
        while iterations < limit:
            iterations += 1
            if not factored:
                return NOT_CONVEX, count, iterations
            for k in range(count):
                c.r[k] = c.sign[k] * side * inner(c.rows[c.active[k]], c.rows[new])
            solve_lower(c.factor[:count, :count], c.r[:count])
            solve_upper(c.factor[:count, :count], c.r[:count])
            for i in range(n):
                c.z[i] = side * c.rows[new, i]
            for k in range(count):
                for i in range(n):
                    c.z[i] -= c.r[k] * c.sign[k] * c.rows[c.active[k], i]
            # The active rows' forces change by -r, the point moves by z, per unit of new force.
            partial, leaving = np.inf, -1
            for k in range(count):
                if c.r[k] > 0.0 and c.u[k] / c.r[k] < partial:
                    partial, leaving = c.u[k] / c.r[k], k
            slope = inner(c.z, c.z)
            full = np.inf
            if count < n and slope > DEPENDENT * c.norm[new] * c.norm[new]:
                full = side * (bound - inner(c.rows[new], c.y)) / slope
            step = min(partial, full)
            if step == np.inf:
                return INFEASIBLE, count, iterations
            force += step
            for k in range(count):
                c.u[k] -= step * c.r[k]
            if full < np.inf:
                for i in range(n):
                    c.y[i] += step * c.z[i]
            if full <= partial:
                c.active[count], c.sign[count], c.u[count] = new, side, force
                count += 1
                factored = _settle(c, count)
                break
            for k in range(leaving, count - 1):
                c.active[k], c.sign[k], c.u[k] = c.active[k + 1], c.sign[k + 1], c.u[k + 1]
            count -= 1
            factored = _factor_active(c, leaving, count)
    return ITERATION_LIMIT, count, iterations


@kernel
def _settle(c, count):
    """Recompute forces and point from the active rows, so that no rounding accumulates.

    u = (A A^T)^-1 (b - A free), y = free + A^T u in c: A, b count active rows, bounds, signed.
    """
    if not _factor_active(c, count - 1, count):
        return False
    for k in range(count):
        bound = c.low[c.active[k]] if c.sign[k] > 0.0 else c.high[c.active[k]]
        c.u[k] = c.sign[k] * (bound - inner(c.rows[c.active[k]], c.free))
    solve_lower(c.factor[:count, :count], c.u[:count])
    solve_upper(c.factor[:count, :count], c.u[:count])
    for i in range(c.y.shape[0]):
        c.y[i] = c.free[i]
        for k in range(count):
            c.y[i] += c.u[k] * c.sign[k] * c.rows[c.active[k], i]
    return True
