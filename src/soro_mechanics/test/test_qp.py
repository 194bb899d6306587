# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""The small quadratic program: KKT conditions, cvxpy as the second opinion, edge cases."""

import cvxpy
from kkt import kkt_residuals
import numpy as np
import pytest

from soro_mechanics.numerics import qp_kernels
from soro_mechanics.numerics.qp import solve_qp
from soro_mechanics.numerics.qp_kernels import INFEASIBLE, NOT_CONVEX, OPTIMAL


def random_problem(rng, n, m, tight):
    root = rng.normal(size=(n, n))
    h = root @ root.T + 0.05 * np.eye(n)
    g = rng.normal(size=n) * 3.0
    c = rng.normal(size=(m, n))
    inside = c @ rng.normal(size=n)
    low = inside - tight * rng.random(m)
    high = inside + tight * rng.random(m)
    low[rng.random(m) < 0.3] = -np.inf
    high[rng.random(m) < 0.3] = np.inf
    return h, g, c, low, high


def assert_optimal(solution, h, g, c, low, high):
    """The three KKT residuals, and signs by construction: these conditions are sufficient."""
    status, x, multiplier = solution
    assert status == OPTIMAL
    scale = np.abs(h).max() * max(1.0, np.abs(x).max()) + np.abs(g).max()
    found = kkt_residuals(h, g, c, low, high, x, multiplier)
    stationarity, infeasibility, complementarity = found
    assert stationarity < 1e-11 * scale
    assert infeasibility < 1e-10
    assert complementarity < 1e-9 * max(1.0, np.abs(multiplier).max(initial=0.0))


def test_kkt_of_many_random_problems():
    rng = np.random.default_rng(0)
    active = 0
    for _ in range(400):
        n, m = rng.integers(1, 13), rng.integers(0, 25)
        problem = random_problem(rng, n, m, 0.5)
        solution = solve_qp(*problem)
        assert_optimal(solution, *problem)
        active += np.count_nonzero(solution[2])
    assert active > 800  # the problems do exercise the active set


@pytest.mark.parametrize('seed', range(8))
def test_against_cvxpy(seed):
    rng = np.random.default_rng(seed)
    h, g, c, low, high = random_problem(rng, 11, 17, 0.3)
    x = cvxpy.Variable(11)
    finite_low, finite_high = np.isfinite(low), np.isfinite(high)
    problem = cvxpy.Problem(
        cvxpy.Minimize(0.5 * cvxpy.quad_form(x, cvxpy.psd_wrap(h)) + g @ x),
        [c[finite_low] @ x >= low[finite_low], c[finite_high] @ x <= high[finite_high]],
    )
    problem.solve(solver=cvxpy.CLARABEL)
    _, found, _ = solve_qp(h, g, c, low, high)
    np.testing.assert_allclose(found, x.value, atol=2e-6)
    assert 0.5 * found @ h @ found + g @ found <= problem.value + 1e-9


def test_ill_conditioned_objective():
    """As in the rendering problem: rank five of six, plus a regularisation 1e-6 as large."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        w = rng.normal(size=(5, 6))
        h = w.T @ w + 1e-6 * np.eye(6)
        bound = np.full(6, 0.3)
        problem = h, w.T @ rng.normal(size=5), np.eye(6), -bound, bound
        status, x, multiplier = solve_qp(*problem)
        assert status == OPTIMAL
        stationarity, infeasibility, _ = kkt_residuals(*problem, x, multiplier)
        assert stationarity < 1e-9
        # What rounding does to any solution: 1e-10 here, in one run more, in another less, as
        # the products above are rounded.
        assert infeasibility < np.finfo(float).eps * np.linalg.cond(h) < 1e-7


def test_equality_and_redundant_rows():
    c = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 0.0], [1.0, 0.0]])
    low, high = np.array([1.0, 2.0, -1.0, -1.0]), np.array([1.0, 2.0, 0.75, 0.75])
    problem = np.eye(2), np.array([-3.0, 0.0]), c, low, high
    solution = solve_qp(*problem)
    np.testing.assert_allclose(solution[1], [0.75, 0.25], atol=1e-12)
    assert_optimal(solution, *problem)


def test_the_step_of_least_energy_is_that_of_the_program():
    """Directly where independent rows alone say it, else as any program."""
    rng = np.random.default_rng(4)
    h, g, task, _, _ = random_problem(rng, 6, 3, 0.5)
    missing, eye, zero = rng.normal(size=3), np.eye(6), np.zeros(6)

    def step(rows, residual, most):
        within = eye, zero, np.full(6, -most), np.full(6, most), np.inf
        energy, x, force = (h, qp_kernels.upper_of(h), -g), np.zeros(6), np.zeros(len(rows))
        status, _, alone = qp_kernels.least_energy(energy, rows, residual, within, x, force)
        return status, x, force, alone

    _, x, force = solve_qp(h, g, task, missing, missing)
    far = np.abs(x).max()
    twice, again = np.vstack([task, task[:1]]), np.append(missing, missing[:1])
    for status, found, pull, alone in (
        step(task, missing, 1.1 * far),
        step(twice, again, 1.1 * far),
    ):
        assert status == OPTIMAL and alone == (pull.size == 3)
        np.testing.assert_allclose(found, x, rtol=1e-9)
        np.testing.assert_allclose(pull[1:3], force[1:], rtol=1e-9)
    status, found, _, alone = step(task, missing, 0.95 * far)
    rows, ends = np.vstack([task, eye]), np.full(6, 0.95 * far)
    bounds = np.append(missing, -ends), np.append(missing, ends)
    assert status == solve_qp(h, g, rows, *bounds)[0] == OPTIMAL and not alone
    np.testing.assert_allclose(found, solve_qp(h, g, rows, *bounds)[1], rtol=1e-9)
    assert step(twice, np.append(missing, missing[:1] + 1.0), 1.1 * far)[0] == INFEASIBLE


def test_outcomes_are_told_apart():
    eye, zero = np.eye(2), np.zeros(2)

    def outcome(h, rows, low, high):
        return solve_qp(h, zero, np.array(rows), np.array(low), np.array(high))[0]

    crossed = [1.0, -np.inf], [np.inf, 0.5]
    assert outcome(eye, [[1.0, 0.0], [1.0, 0.0]], *crossed) == INFEASIBLE
    assert outcome(eye, [[1.0, 0.0]], [1.0], [0.0]) == INFEASIBLE
    assert outcome(eye, [[0.0, 0.0]], [1.0], [2.0]) == INFEASIBLE
    assert outcome(-eye, [[1.0, 0.0]], [-1.0], [1.0]) == NOT_CONVEX
    triangle = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    assert outcome(eye, triangle, [1.0, 1.0, -np.inf], [9.0, 9.0, 1.9]) == INFEASIBLE


def test_kernel_reports_numbers_that_are_not_finite():
    x, multiplier = np.zeros(2), np.zeros(1)
    work, index = np.zeros(qp_kernels.workspace_size(2, 1)), np.zeros(2, np.int64)
    eye, row, bound = np.eye(2), np.ones((1, 2)), np.ones(1)
    bad = np.array([np.nan, 0.0])
    args = (x, multiplier, work, index)
    bounds = qp_kernels.Bounds(row, -bound, bound)
    assert qp_kernels.solve_qp(eye, bad, bounds, *args)[0] == qp_kernels.NOT_FINITE
    nan = np.array([np.nan])
    bounds = bounds._replace(low=nan)
    assert qp_kernels.solve_qp(eye, x, bounds, *args)[0] == qp_kernels.NOT_FINITE
