# Copyright 2026 soro contributors
# SPDX-License-Identifier: Apache-2.0
"""Tangents of single pieces against finite differences, and the symmetry they must have."""

from functools import partial
from typing import NamedTuple

from lie_jacobians import jacobian
import numpy as np
from numpy.testing import assert_allclose
import pytest

from soro_mechanics import load_robot
from soro_mechanics.models.network.kernels import (
    element_flexibility_kernels as flexibility_kernels,
)
from soro_mechanics.models.network.kernels import element_kernels, element_strain_kernels
from soro_mechanics.models.network.kernels import element_lane_kernels as elements
from soro_mechanics.models.network.kernels.element_strain_kernels import LANES
from soro_mechanics.models.network.kernels.system_kernels import (
    back_substitute,
    condense,
    evaluate,
    residual,
    solve_bodies,
)
from soro_mechanics.numerics import lie
from soro_mechanics.numerics.dense_kernels import (
    cholesky,
    convex,
    extreme_eigenvalues,
    factorise_six,
    invert_three,
    invert_upper,
    larger,
    least_squares,
    negative_pivots,
    row_times,
    solve_in_place,
    solve_lower,
    solve_triangle,
    solve_upper,
    substitute_six,
    triangularise,
)

ANGLES = (0.0, 1e-9, 1e-3, 0.3, 1.2, 1.999, 2.001, 2.7)


def bracket(f):
    """B(f): what T - T' must be on the diagonal blocks."""
    out = np.zeros((6, 6))
    out[:3, 3:] = out[3:, :3] = lie.hat3(f[:3])
    out[3:, 3:] = lie.hat3(f[3:])
    return out


class Taken(NamedTuple):
    """What `take_elements` writes, of eight elements."""

    twist: np.ndarray
    closure: np.ndarray
    strain: np.ndarray
    tangent: np.ndarray
    force: np.ndarray
    raw: np.ndarray


class Elements:
    """Eight two-node elements."""

    def __init__(self):
        self.arrays = elements.new_element_lanes()

    def fill(self, lane, ga, gb, rest, stiffness, length, held=None):
        """Put an element into a lane."""
        stress = np.zeros(0) if held is None else held
        ends = self.arrays.ends
        element_strain_kernels.fill_element(ga, gb, length, rest, stiffness, stress, lane, ends)

    def compute(self):
        """Compute all."""
        elements.compute_elements(self.arrays, np.zeros((5, 6)), LANES)

    def take(self, lane):
        """Return d, gap, tangent, force and the force of the held stress."""
        sizes = (6,), (6,), (6, 12), (12, 12), (12,), (12,)
        taken = Taken(*(np.zeros((8, *size)) for size in sizes))
        places = np.arange(8)[::-1].copy()
        elements.take_elements(8, self.arrays, places, taken)
        p = places[lane]
        return taken.twist[p], taken.closure[p], taken.tangent[p], taken.force[p], taken.raw[p]


def stiffness_of(rng):
    """Return a full stiffness: symmetric, positive definite."""
    root = np.diag(rng.uniform(0.7, 1.4, 6)) + 0.2 * rng.normal(size=(6, 6))
    return root @ root.T


def element(ga, gb, rest, stiffness, length, held=None, lane=3):
    """Return energy, force, tangent, force of the held stress, and the gap."""
    eight = Elements()
    eight.fill(lane, ga, gb, rest, stiffness, length, held)
    eight.compute()
    d, gap, tangent, force, raw = eight.take(lane)
    apart = d - length * rest
    energy = 0.5 * apart @ stiffness @ apart
    return energy, force, tangent, raw, gap


@pytest.mark.parametrize('angle', ANGLES)
def test_element_force_and_tangent(angle):
    rng = np.random.default_rng(3)
    d = rng.normal(size=6)
    d[3:] *= angle / np.linalg.norm(d[3:])
    ga = lie.se3_exp(rng.normal(size=6))
    gb = ga @ lie.se3_exp(d)
    rest, stiffness = 0.1 * rng.normal(size=6), stiffness_of(rng)

    def at(eta):
        a, b = ga @ lie.se3_exp(eta[:6]), gb @ lie.se3_exp(eta[6:])
        return element(a, b, rest, stiffness, 0.7)

    _, force, tangent, _, _ = at(np.zeros(12))
    h = 1e-6
    for j in range(12):
        step = h * np.eye(12)[j]
        (up, fp, *_), (down, fm, *_) = at(step), at(-step)
        assert (up - down) / (2 * h) == pytest.approx(force[j], abs=2e-8)
        np.testing.assert_allclose((fp - fm) / (2 * h), tangent[:, j], atol=2e-8)
    expected = np.zeros((12, 12))
    expected[:6, :6], expected[6:, 6:] = bracket(force[:6]), bracket(force[6:])
    np.testing.assert_allclose(tangent - tangent.T, expected, atol=1e-12)


def test_a_held_stress_makes_force_gap_and_tangent_consistent():
    rng = np.random.default_rng(5)
    ga, d = lie.se3_exp(rng.normal(size=6)), 0.3 * rng.normal(size=6)
    rest, stiffness = 0.1 * rng.normal(size=6), stiffness_of(rng)
    held, length, h = rng.normal(size=6), 0.7, 1e-6

    def at(eta):
        a, b = ga @ lie.se3_exp(eta[:6]), ga @ lie.se3_exp(d) @ lie.se3_exp(eta[6:])
        return element(a, b, rest, stiffness, length, held)

    _, force, tangent, raw, gap = at(np.zeros(12))
    # B from the gap, which is K (d - h e0) - held over the diagonal of K; at fixed stress
    own = stiffness @ (d - length * rest)
    np.testing.assert_allclose(gap, (own - held) / np.diag(stiffness), atol=1e-12)
    twist = np.linalg.solve(stiffness, np.diag(np.diag(stiffness)))  # per gap
    for j in range(12):
        step = h * np.eye(12)[j]
        (_, _, _, rp, gp), (_, _, _, rm, gm) = at(step), at(-step)
        geometric = (rp - rm) / (2 * h)
        by_gap = twist @ (gp - gm) / (2 * h)  # = B e_j
        strain = np.array(
            [
                twist @ (at(h * np.eye(12)[i])[4] - at(-h * np.eye(12)[i])[4]) / (2 * h)
                for i in range(12)
            ]
        )
        material = strain @ stiffness @ by_gap
        np.testing.assert_allclose(material + geometric, tangent[:, j], atol=1e-7)
    strain_force = np.linalg.norm(force - raw)
    assert strain_force > 0.1


def test_eight_elements_do_not_see_each_other():
    rng, eight, alone = np.random.default_rng(6), Elements(), []
    for k in range(LANES):
        # the turns reach beyond those that all lanes take together
        a, b = lie.se3_exp(0.2 * rng.normal(size=6)), lie.se3_exp(0.2 * (1 + k) * np.ones(6))
        rest, stiffness, length = rng.normal(size=6), stiffness_of(rng), 0.5 + k
        eight.fill(k, a, b, rest, stiffness, length)
        alone.append(element(a, b, rest, stiffness, length, lane=(k + 1) % LANES))
    eight.compute()
    for k, (_, force, tangent, raw, _) in enumerate(alone):
        _, _, t, f, r = eight.take(k)
        np.testing.assert_array_equal(t, tangent)
        np.testing.assert_array_equal(f, force)
        np.testing.assert_array_equal(r, raw)


@pytest.mark.parametrize('angle', [0.0, 1e-9, 1e-3, 0.1, 0.49, 0.499, 0.501, 0.51, 1.0, 3.0])
def test_relative_twist_of_an_element_has_full_precision(angle):
    rng = np.random.default_rng(7)
    twist = rng.normal(size=6)
    twist[3:] *= angle / np.linalg.norm(twist[3:])
    a = lie.se3_exp(rng.normal(size=6))
    eight = Elements()
    eight.fill(0, a, a @ lie.se3_exp(twist), np.zeros(6), np.eye(6), 1.0)
    eight.compute()
    np.testing.assert_allclose(eight.take(0)[0], twist, atol=4e-15 * (1.0 + angle**2))


def test_log_coefficients_join_and_match_differences():
    h = 1e-5
    for x in (1e-12, 0.01, 1.0, 3.999999, 4.000001, 6.0):
        b, db, ddb = element_kernels.log_coefficients(x)
        angle = np.sqrt(x)
        if x > 1e-3:
            closed = 1.0 / x - (1.0 + np.cos(angle)) / (2.0 * angle * np.sin(angle))
            assert b == pytest.approx(closed, rel=1e-10)
        if x > h:
            up, down = (element_kernels.log_coefficients(x + s * h) for s in (1.0, -1.0))
            assert db == pytest.approx((up[0] - down[0]) / (2 * h), rel=1e-6)
            assert ddb == pytest.approx((up[1] - down[1]) / (2 * h), rel=1e-5)


def test_small_elimination():
    rng = np.random.default_rng(0)
    for n in (1, 3, 6):
        a, b = rng.normal(size=(n, n)), rng.normal(size=(n, 4))
        x = b.copy()
        sign = solve_in_place(a.copy(), n, x, 4)
        np.testing.assert_allclose(a @ x, b, atol=1e-9)
        assert sign == np.sign(np.linalg.det(a))
        q, _ = np.linalg.qr(a)
        eigenvalues = np.arange(n) - 1.5
        symmetric = q @ np.diag(eigenvalues) @ q.T
        assert negative_pivots(symmetric, n, np.zeros((n, n))) == np.sum(eigenvalues < 0.0)
    assert solve_in_place(np.zeros((3, 3)), 3, np.ones((3, 1)), 1) == 0


def test_triangles_solve_and_invert_as_numpy_does():
    rng = np.random.default_rng(5)
    for n in (1, 3, 6):
        a, b = rng.normal(size=(n + 3, n + 2)), rng.normal(size=n)
        h, kept = a[:, :n].T @ a[:, :n], a.copy()
        lower, inverse, x, y, z = np.full((n, n), np.nan), np.empty((n, n)), *np.array([b, b, b])
        assert cholesky(h, lower, 0)
        np.testing.assert_allclose(lower, np.linalg.cholesky(h), atol=1e-13)
        solve_lower(lower, x)
        solve_upper(lower, y)
        solve_triangle(lower.T.copy(), z)
        np.testing.assert_allclose(lower @ x, b, atol=1e-11)
        np.testing.assert_allclose(lower.T @ y, b, atol=1e-11)
        np.testing.assert_allclose(z, y, rtol=1e-11)
        triangularise(a, n)
        r = np.triu(a[:n, :n])
        np.testing.assert_allclose(r.T @ r, h, atol=1e-12)
        rest = a[n:, n:]  # of what is carried along, orthogonal to the columns
        gone = kept[:, n:] - kept[:, :n] @ np.linalg.lstsq(kept[:, :n], kept[:, n:], rcond=None)[0]
        np.testing.assert_allclose(rest.T @ rest, gone.T @ gone, atol=1e-12)
        invert_upper(a, n, inverse)
        np.testing.assert_allclose(inverse @ r, np.eye(n), atol=1e-11)
        assert not cholesky(-h, lower, 0)


def test_an_inverse_of_three_rows_counts_its_negative_eigenvalues():
    rng, inverse = np.random.default_rng(6), np.empty((3, 3))
    for _ in range(20):
        a = rng.normal(size=(3, 3))
        a += a.T
        assert invert_three(a, inverse) == np.sum(np.linalg.eigvalsh(a) < 0.0)
        np.testing.assert_allclose(inverse, np.linalg.inv(a), rtol=1e-9, atol=1e-9)


def test_least_squares_leave_what_the_decomposition_leaves():
    rng = np.random.default_rng(2)
    for m, n in ((3, 3), (6, 3), (6, 6), (5, 1)):
        a, b = rng.normal(size=(m, n)) * 10.0 ** np.arange(n), rng.normal(size=m)
        x = np.empty(n)
        assert least_squares(np.column_stack([a, b]), x)
        np.testing.assert_allclose(x, np.linalg.lstsq(a, b, rcond=None)[0], rtol=1e-8)
    a[:] = 0.0  # nothing moves
    assert not least_squares(np.column_stack([a, b]), np.empty(1))
    a = rng.normal(size=(6, 3))
    a[:, 2] = a[:, 0] - 2.0 * a[:, 1] + 1e-8 * a[:, 2]  # two actuators do what a third does
    assert not least_squares(np.column_stack([a, b[:1].repeat(6)]), np.empty(3))


def test_extreme_eigenvalues_are_exact_also_where_they_lie_close_together():
    rng = np.random.default_rng(3)
    for k in range(400):
        n = 1 + k % 9
        some = (
            rng.normal(size=n),
            10.0 ** rng.uniform(-8.0, 8.0, n),
            3.0 + 1e-9 * rng.normal(size=n),
        )
        values = (*some, np.where(np.arange(n) == 0, 1.0, 0.0), np.arange(n) // 2 - 1.0)[k % 5]
        q, _ = np.linalg.qr(rng.normal(size=(n, n)))
        scale = np.exp(rng.normal(size=n))
        skew = rng.normal(size=(n, n))  # only the symmetric part counts
        a = (q @ np.diag(values) @ q.T + skew - skew.T) / np.outer(scale, scale)
        found = extreme_eigenvalues(a, np.outer(scale, scale))
        size = np.abs(values).max() + np.abs(skew).max()
        np.testing.assert_allclose(found, [values.min(), values.max()], atol=1e-14 * n * size)
    for wrong in (np.nan, np.inf, 1e200):  # of the last the squares are not finite
        with pytest.raises(np.linalg.LinAlgError):
            extreme_eigenvalues(np.full((6, 6), wrong), np.ones((6, 6)))
        with pytest.raises(np.linalg.LinAlgError):
            convex(np.full((6, 6), wrong))


@pytest.mark.parametrize('n', [1, 3, 6, 30])
def test_convex_sets_negative_eigenvalues_to_zero(n):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(6, n))
    for bend in (0.0, 1.0, 1e3):  # the first: as many zeros as the rank leaves
        h = rows.T @ rows - bend * np.outer(rows[0], rows[0] + 0.1 * rows[1])
        values, vectors = np.linalg.eigh(0.5 * (h + h.T))
        wanted = (vectors * np.maximum(values, 0.0)) @ vectors.T
        np.testing.assert_allclose(convex(h), wanted, atol=1e-14 * n * np.abs(values).max())


def dense_elimination(s, w, r):
    """Return stiffness, force and first parameter of a rod's end nodes, its inner ones free."""
    pieces = range(s.rod_piece[r], s.rod_piece[r + 1])
    size = 6 * len(pieces) + 6
    k, right = np.zeros((size, size)), np.zeros((size, 2))
    for at, p in enumerate(pieces):
        own = slice(6 * at, 6 * at + 12)
        k[own, own] += w.tangent[p]
        right[own, 0] += w.force[p]
        right[own, 1] += w.params[p, :, 0]
    ends = np.r_[:6, size - 6 : size]
    inner = np.arange(6, size - 6)
    follow = k[np.ix_(ends, inner)] @ np.linalg.inv(k[np.ix_(inner, inner)])
    return (
        k[np.ix_(ends, ends)] - follow @ k[np.ix_(inner, ends)],
        right[ends] - follow @ right[inner],
    )


@pytest.mark.parametrize(
    ('name', 'motors', 'driven'),
    [
        ('haptic_5dof', True, False),  # a motor turns the first node
        ('stewart_gough', False, True),  # of which the length is a drive
        ('soft_parallel', False, True),
    ],
)
def test_a_rod_held_at_its_first_end_is_eliminated_as_all_of_its_matrix_is(name, motors, driven):
    robot = load_robot(name, 'network')
    low, high = robot.limits.T
    q = robot.forward(low + 0.3 * (high - low), [0.05, 0.02, -0.04, 1e-3, 2e-3, -1e-3])
    solution = q.state
    layout, x, state = solution.equilibrium.layout, solution.inputs, solution.state
    s, w = layout.structure, layout.work()
    evaluate(s, x, state, w, True, True, LANES)
    for gradient, inspect in ((False, False), (False, True), (True, True)):
        negative = condense(s, x, state, w, gradient, inspect)
        assert negative == 0
        for r in range(s.counts.rods):
            stiffness, right = dense_elimination(s, w, r)
            out, same = w.super[r], partial(assert_allclose, atol=1e-9 * np.abs(stiffness).max())
            same(out[6:, 6:12], stiffness[6:, 6:])
            same(out[6:, 12], right[6:, 0])
            if gradient and driven:
                same(out[6:, 13], right[6:, 1])
            if gradient and motors:
                m = w.basis[r, 0, :, 6]
                same(out[6:, :6] @ m, stiffness[6:, :6] @ m)
                same(m @ out[:6, :6] @ m, m @ stiffness[:6, :6] @ m)
                same(m @ out[:6, 6:12], m @ stiffness[:6, 6:])
                same(m @ out[:6, 12], m @ right[:6, 0])


@pytest.mark.parametrize('name', ['stewart_gough', 'haptic_5dof'])
def test_a_solve_that_went_astray_leaves_nothing_to_the_next(name):
    """Scratch that a solve has left full of NaN is no start of another one's steps."""
    robot = load_robot(name, 'network')
    solution = robot.forward(robot.limits.mean(axis=1)).state
    s, x, state = solution.equilibrium.layout.structure, solution.inputs, solution.state
    w = solution.equilibrium.layout.work()
    for poisoned in (w.scratch, w.joints, w.chain[:, :, :14], w.factor, w.dense):
        poisoned[...] = np.nan
    evaluate(s, x, state, w, False, False, LANES)
    condense(s, x, state, w, False, False)
    assert solve_bodies(w) != 0
    back_substitute(s, x, state, w, 0, w.slots, 1.0)
    for step in (w.step_body, w.step_node, w.step_joint, w.step_wrench):
        assert np.isfinite(step).all()


def test_elimination_of_six_by_column_lanes():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(6, 6)), rng.normal(size=(6, 16))
    a[0, 0] = 0.0  # rows have to be exchanged
    d, x = np.hstack([a, np.zeros((6, 2))]), b.copy()
    assert factorise_six(d, x) == 1
    substitute_six(d, x, 3, 13)
    np.testing.assert_allclose(a @ x[:, 3:], b[:, 3:], atol=1e-12)
    row = np.zeros(16)
    row_times(a, 2, 0, b, row)
    np.testing.assert_allclose(row, a[2] @ b, atol=1e-14)
    assert factorise_six(np.zeros((6, 6)), x) == 0


def test_flexibility_of_an_element_is_that_of_its_piece_of_rod():
    """Its closed form against the linear response of the piece, by integration: order 4 in h."""
    rng = np.random.default_rng(8)
    soft, strain = rng.uniform(0.5, 1.5, 6), np.array([0.0, 0.0, 1.0, *rng.normal(size=3)])
    slopes = 0.5 * rng.normal(size=12) * np.append(np.ones(6), soft)
    slopes[:3] = 0.0
    apart = []
    for h in (0.4, 0.2, 0.1):
        section, wanted = piece_flexibility(strain, soft, slopes, h)
        found = np.empty((6, 6))
        for j in range(6):
            powers, unit = flexibility_kernels.powers_of(h), np.eye(6)[j]
            stress = tuple(unit[:3]), tuple(unit[3:])
            twist = flexibility_kernels.flexible_twist(section, h * slopes, powers, stress)
            found[:, j] = np.concatenate(twist)
        apart.append(np.abs(found - wanted).max() / h)
    np.testing.assert_array_less(14.0, np.array(apart[:-1]) / apart[1:])


def piece_flexibility(strain, soft, slopes, h, parts=200):
    """Return section (13,) of a piece at rest and its twist per stress (6, 6), by midpoints."""
    pose, total = np.eye(4), np.zeros((6, 6))
    for k in range(parts):
        at = h * ((k + 0.5) / parts - 0.5)
        half = lie.se3_exp(0.5 * h / parts * (strain + at * slopes[:6]))
        pose = pose @ half
        ad = lie.adjoint(pose)
        total += h / parts * ad @ np.diag(soft + at * slopes[6:]) @ ad.T
        pose = pose @ half
    twist = lie.se3_log(pose)
    back = jacobian('se3_left_jacobian_inverse', twist)
    return np.concatenate([twist / h, soft, [0.0]]), back @ total @ back.T


def test_no_residual_with_a_value_that_is_not_a_number_is_small():
    nan = float('nan')
    assert all(np.isnan([larger(nan, 1.0), larger(1.0, nan), larger(nan, nan)]))
    assert (larger(1.0, 2.0), larger(2.0, 1.0)) == (2.0, 2.0)
    robot = load_robot('stewart_gough')
    linear = robot.model_object.linearise(robot.forward([0.25] * 6))
    s, x, state, w = linear.layout.structure, linear.inputs, linear.state, linear.work
    assert evaluate(s, x, state, w, True, True, LANES) < 1e-6
    w.closure[:] = np.nan
    assert np.isnan(residual(s, x, state, w))
    for place in np.ndindex(s.counts.pieces, 6):
        w.closure[:] = 0.0
        w.closure[place] = np.nan
        assert np.isnan(residual(s, x, state, w)), place
    w.closure[:] = 0.0
    for place in np.ndindex(s.counts.pieces, 6):
        kept, w.raw[place[0], 6 + place[1]] = w.raw[place[0], 6 + place[1]], np.nan
        assert np.isnan(residual(s, x, state, w)), place
        w.raw[place[0], 6 + place[1]] = kept
