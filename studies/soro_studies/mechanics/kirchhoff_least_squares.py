# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The paper's own solution: nonlinear least squares over quaternions by Levenberg-Marquardt.

Rows, eqs (36)-(39), (44), (48)-(51) of Chen 2022: Kirchhoff's equations at the interior nodes by
finite differences, no moment at the free end, unit norms, the end point and its attitude where
they are prescribed. As published, the reaction at a prescribed end point is not an unknown, so
that the sum of squares trades equilibrium against the constraints; `with_reaction` adds the three
unknowns that let both hold. The weight of constraints against equilibrium is not published.
"""

from __future__ import annotations

from dataclasses import dataclass
import time

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat, csr_matrix, diags, hstack, identity, vstack
from scipy.sparse.linalg import spsolve

from soro_mechanics.core.errors import InvalidInput
from soro_mechanics.numerics.lie import so3_log

Array = NDArray[np.float64]

_COLOURS = 3  # a node's rows see three neighbouring nodes
_STEP = 1e-30


@dataclass(frozen=True)
class LeastSquaresShape:
    """A minimum of the sum of squares.

    Attributes
    ----------
    quaternions : ndarray, shape (n, 4)
        Scalar first; unit norm as far as the least squares keep it.
    reaction : ndarray, shape (3,) [N]
        Zero where it was not an unknown.
    end : ndarray, shape (3,) [m]
    equilibrium, norm, missed : float
        Largest residual of Kirchhoff's equations over A / L^2, of the unit norms, and the distance
        from the prescribed end point [m].
    cost : float
        Half the sum of squares.
    iterations : int
    seconds : float
    """

    quaternions: Array
    reaction: Array
    end: Array
    equilibrium: float
    norm: float
    missed: float
    cost: float
    iterations: int
    seconds: float


@dataclass(frozen=True)
class LeastSquaresProblem:
    """The rod and what is asked of it.

    Attributes
    ----------
    stiffness : ndarray, shape (3,) [N m^2]
    length : float [m]
    force : ndarray, shape (n, 3) [N]
        Known force beyond every node: tip load, and what weight lies further out.
    target : ndarray, shape (3,), or None [m]
    end_rotation : ndarray, shape (3, 3), or None
    with_reaction : bool
    constraint_weight : float
        Of the unit norms and of the end rows, in units of the weight of the rod rows (EI / L^2).
    """

    stiffness: Array
    length: float
    force: Array
    target: Array | None = None
    end_rotation: Array | None = None
    with_reaction: bool = False
    constraint_weight: float = 1e4


def solve_least_squares(
    problem: LeastSquaresProblem,
    quaternions: Array,
    reaction: Array | None = None,
    limit: int = 100,
    tolerance: float = 1e-12,
) -> LeastSquaresShape:
    """Minimise (51) by Levenberg-Marquardt from a given shape.

    Parameters
    ----------
    quaternions : ndarray, shape (n, 4)
        First shape, n odd; node 0 is the clamped base and stays.
    limit : int
        Largest number of steps.
    tolerance : float
        Ends when the cost falls by less than this share.
    """
    if len(quaternions) % 2 == 0 or len(quaternions) != len(problem.force):
        expected = f'an odd number of nodes, {len(problem.force)} as in `force`'
        raise InvalidInput('quaternions', quaternions.shape, expected)
    start = time.perf_counter()
    known = np.zeros(3) if reaction is None else reaction
    x = np.concatenate([quaternions[1:].reshape(-1), known if problem.with_reaction else []])
    base = quaternions[0]
    rows = _rows(problem, base, x)
    cost, damping = 0.5 * float(rows @ rows), 1e-12
    dense = len(rows) - 4 * (len(quaternions) - 1)
    jacobian = _jacobian(problem, base, x)
    used = 0
    while used < limit:
        used += 1
        trial = x + _step(jacobian, rows, damping, dense)
        trial_rows = _rows(problem, base, trial)
        trial_cost = 0.5 * float(trial_rows @ trial_rows)
        if trial_cost < cost:
            done = cost - trial_cost <= tolerance * cost
            x, rows, cost = trial, trial_rows, trial_cost
            damping = max(0.01 * damping, 1e-18)
            if done or cost < 1e-26:
                break
            jacobian = _jacobian(problem, base, x)
        else:
            damping *= 100.0
            if damping > 1e8:
                break
    return _result(problem, base, x, rows, cost, used, time.perf_counter() - start)


def _step(jacobian: csr_matrix, rows: Array, damping: float, dense: int) -> Array:
    """Return the Levenberg-Marquardt step; the last `dense` rows stay out of the normal matrix.

    With y = E s + e for those rows, N s + E^T y = -J^T r keeps the matrix sparse.
    """
    split = jacobian.shape[0] - dense
    local, ends = jacobian[:split], jacobian[split:]
    normal = local.T @ local
    scale = normal.diagonal() + np.asarray(ends.multiply(ends).sum(axis=0)).reshape(-1)
    damped = normal + damping * diags(scale)
    matrix = bmat([[damped, ends.T], [ends, -identity(dense)]]) if dense else damped
    right = np.concatenate([-(local.T @ rows[:split]), -rows[split:]])
    return spsolve(matrix.tocsc(), right)[: jacobian.shape[1]]


def _split(problem: LeastSquaresProblem, base: Array, x: Array) -> tuple[Array, Array]:
    size = 4 * (len(problem.force) - 1)
    q = np.vstack([base.astype(x.dtype), x[:size].reshape(-1, 4)])
    return q, x[size:] if problem.with_reaction else np.zeros(3)


def _local_rows(problem: LeastSquaresProblem, q: Array, reaction: Array) -> Array:
    """Return Kirchhoff rows (n - 1, 3) of nodes 1 .. n - 1, scaled by L^2 / A, and norm rows."""
    h = problem.length / (len(q) - 1)
    d = problem.stiffness
    forward = (q[2:] - q[1:-1]) / h
    second = (q[2:] - 2.0 * q[1:-1] + q[:-2]) / (h * h)
    w = 2.0 * _vector_product(q[1:-1], forward)
    moment_rate = d * 2.0 * _vector_product(q[1:-1], second)
    moment = d * w
    f = _to_body(q[1:-1], problem.force[1:-1] + reaction)
    balance = moment_rate + np.cross(w, moment)
    balance[:, 0] -= f[:, 1]
    balance[:, 1] += f[:, 0]
    # three-point difference at the free end: no moment there
    last = (3.0 * q[-1] - 4.0 * q[-2] + q[-3]) / (2.0 * h)
    free = 2.0 * d * _vector_product(q[-1:], last[None])
    scale = problem.length**2 / d[0]
    norms = np.sum(q[1:] * q[1:], axis=1) - 1.0
    return np.hstack(
        [
            scale * np.vstack([balance, free / problem.length]),
            problem.constraint_weight * norms[:, None],
        ]
    )


def _end_rows(problem: LeastSquaresProblem, q: Array) -> Array:
    rows = []
    if problem.target is not None:
        end = _simpson(len(q), problem.length) @ _tangents(q)
        rows.append(problem.constraint_weight * (end - problem.target) / problem.length)
    if problem.end_rotation is not None:
        wanted = _quaternion_of(problem.end_rotation)
        turn = 2.0 * _vector_product(wanted[None], q[-1:])[0]
        rows.append(problem.constraint_weight * turn)
    return np.concatenate(rows) if rows else np.zeros(0, dtype=q.dtype)


def _rows(problem: LeastSquaresProblem, base: Array, x: Array) -> Array:
    q, reaction = _split(problem, base, x)
    return np.concatenate([_local_rows(problem, q, reaction).reshape(-1), _end_rows(problem, q)])


def _jacobian(problem: LeastSquaresProblem, base: Array, x: Array) -> csr_matrix:
    """Return d rows / d x by complex steps: exact, as every row is a polynomial.

    Every third node is moved at a time: no row sees two of them.
    """
    count = len(problem.force)
    q, reaction = _split(problem, base, x)
    row_nodes = np.arange(1, count)
    first = np.minimum(row_nodes - 1, count - 3)  # the free end looks back two nodes
    rows, columns, values = [], [], []
    for colour in range(_COLOURS):
        seen = first + (colour - first) % _COLOURS
        moves = seen > 0
        for part in range(4):
            shifted = q.astype(complex)
            shifted[colour::_COLOURS, part] += 1j * _STEP
            shifted[0] = q[0]
            change = _local_rows(problem, shifted, reaction).imag[moves] / _STEP
            rows.append((4 * (row_nodes[moves] - 1)[:, None] + np.arange(4)).reshape(-1))
            columns.append(np.repeat(4 * (seen[moves] - 1) + part, 4))
            values.append(change.reshape(-1))
    size = 4 * (count - 1)
    local = csr_matrix(
        (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
        shape=(size, size),
    )
    blocks = vstack([local, csr_matrix(_end_jacobian(problem, q))])
    if not problem.with_reaction:
        return blocks.tocsr()
    by_reaction = np.zeros((blocks.shape[0], 3))
    for part in range(3):
        shifted = reaction.astype(complex)
        shifted[part] += 1j * _STEP
        change = _local_rows(problem, q.astype(complex), shifted).imag / _STEP
        by_reaction[:size, part] = change.reshape(-1)
    return hstack([blocks, csr_matrix(by_reaction)]).tocsr()


def _end_jacobian(problem: LeastSquaresProblem, q: Array) -> Array:
    """Return the rows of the end point and attitude, dense: (0, 3 or 6, 4 (n - 1))."""
    count = len(q)
    out = []
    if problem.target is not None:
        weights = _simpson(count, problem.length)[1:] / problem.length
        weights = problem.constraint_weight * weights
        block = np.zeros((3, count - 1, 4))
        for part in range(4):
            shifted = q.astype(complex)
            shifted[:, part] += 1j * _STEP
            block[:, :, part] = (weights[:, None] * _tangents(shifted).imag[1:] / _STEP).T
        out.append(block.reshape(3, -1))
    if problem.end_rotation is not None:
        wanted = _quaternion_of(problem.end_rotation)
        block = np.zeros((3, count - 1, 4))
        for part in range(4):
            unit = np.zeros(4)
            unit[part] = 1.0
            turn = 2.0 * _vector_product(wanted[None], unit[None])[0]
            block[:, -1, part] = problem.constraint_weight * turn
        out.append(block.reshape(3, -1))
    return np.vstack(out) if out else np.zeros((0, 4 * (count - 1)))


def _result(
    problem: LeastSquaresProblem,
    base: Array,
    x: Array,
    rows: Array,
    cost: float,
    used: int,
    seconds: float,
) -> LeastSquaresShape:
    q, reaction = _split(problem, base, x)
    local = rows[: 4 * (len(q) - 1)].reshape(-1, 4)
    end = _simpson(len(q), problem.length) @ _tangents(q)
    missed = 0.0 if problem.target is None else float(np.linalg.norm(end - problem.target))
    return LeastSquaresShape(
        q,
        reaction.copy(),
        end,
        float(np.abs(local[:, :3]).max()),
        float(np.abs(local[:, 3]).max()) / problem.constraint_weight,
        missed,
        cost,
        used,
        seconds,
    )


def _vector_product(a: Array, b: Array) -> Array:
    """Return vec(a* b) of rows of quaternions."""
    scalar_a, vector_a = a[:, :1], a[:, 1:]
    scalar_b, vector_b = b[:, :1], b[:, 1:]
    return scalar_a * vector_b - scalar_b * vector_a - np.cross(vector_a, vector_b)


def _tangents(q: Array) -> Array:
    """Return R e3 of every node, eq (42)."""
    w, x, y, z = q.T
    return np.column_stack(
        [2.0 * (x * z + w * y), 2.0 * (y * z - w * x), w * w - x * x - y * y + z * z]
    )


def _to_body(q: Array, force: Array) -> Array:
    """Return R^T f of every node."""
    w, x, y, z = q.T
    a, b, c = force.T
    ww, xx, yy, zz = w * w, x * x, y * y, z * z
    return np.column_stack(
        [
            (ww + xx - yy - zz) * a + 2.0 * (x * y + w * z) * b + 2.0 * (x * z - w * y) * c,
            2.0 * (x * y - w * z) * a + (ww - xx + yy - zz) * b + 2.0 * (y * z + w * x) * c,
            2.0 * (x * z + w * y) * a + 2.0 * (y * z - w * x) * b + (ww - xx - yy + zz) * c,
        ]
    )


def _simpson(count: int, length: float) -> Array:
    weights = np.full(count, 2.0)
    weights[1::2] = 4.0
    weights[[0, -1]] = 1.0
    return weights * length / (3.0 * (count - 1))


def _quaternion_of(rotation: Array) -> Array:
    angle = so3_log(rotation)
    half = 0.5 * float(np.linalg.norm(angle))
    return np.array([np.cos(half), *(0.5 * np.sinc(half / np.pi) * angle)])
